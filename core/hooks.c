/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hooks.h"

#include "core/struct.h"

void alineo_hooks_init(alineo_hooks *hooks) {
    *hooks = (alineo_hooks)ALINEO_HOOKS_INIT;
}

alineo_code al_hooks_add(al_hooks *hooks, const alineo_hooks *given, alineo_error **err) {
    if (given == NULL)
        return ALINEO_OK;
    if (hooks->count == AL_HOOKS_MAX)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "more than %d sets of hooks",
                       AL_HOOKS_MAX);
    alineo_hooks own;
    alineo_code code = AL_STRUCT_READ(&own, given, "hooks", err);
    if (code != ALINEO_OK)
        return code;
    hooks->set[hooks->count++] = own;
    return ALINEO_OK;
}

#define CALL_EACH(hooks, member, ...)                                                              \
    do {                                                                                           \
        for (size_t i = 0; i < (hooks)->count; i++)                                                \
            if ((hooks)->set[i].member != NULL)                                                    \
                (hooks)->set[i].member((hooks)->set[i].user, __VA_ARGS__);                         \
    } while (0)

void al_hooks_sandbox_created(const al_hooks *hooks, const char *sandbox_id, const char *name) {
    CALL_EACH(hooks, sandbox_created, sandbox_id, name);
}

void al_hooks_sandbox_closed(const al_hooks *hooks, const char *sandbox_id) {
    CALL_EACH(hooks, sandbox_closed, sandbox_id);
}

void al_hooks_sandbox_failed(const al_hooks *hooks, const char *sandbox_id,
                             const alineo_error *error) {
    CALL_EACH(hooks, sandbox_failed, sandbox_id, error);
}

void al_hooks_sandbox_paused(const al_hooks *hooks, const char *sandbox_id) {
    CALL_EACH(hooks, sandbox_paused, sandbox_id);
}

void al_hooks_sandbox_resumed(const al_hooks *hooks, const char *sandbox_id) {
    CALL_EACH(hooks, sandbox_resumed, sandbox_id);
}

void al_hooks_exec_start(const al_hooks *hooks, const char *sandbox_id, int32_t seq,
                         const char *command) {
    CALL_EACH(hooks, exec_start, sandbox_id, seq, command);
}

void al_hooks_exec_complete(const al_hooks *hooks, const char *sandbox_id, int32_t seq,
                            const alineo_exec_result *result) {
    CALL_EACH(hooks, exec_complete, sandbox_id, seq, result);
}

void al_hooks_checkpoint(const al_hooks *hooks, const char *sandbox_id, const char *snapshot_id,
                         const char *name) {
    CALL_EACH(hooks, checkpoint, sandbox_id, snapshot_id, name);
}
