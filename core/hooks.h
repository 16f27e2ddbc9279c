/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_HOOKS_H
#define ALINEO_CORE_HOOKS_H

/** Calling hooks: each of a chain, in order, on the calling thread. */

#include <alineo/exec.h>
#include <alineo/hooks.h>

#define AL_HOOKS_MAX 4
typedef struct al_hooks {
    alineo_hooks set[AL_HOOKS_MAX];
    size_t count;
} al_hooks;

/** Appends a copy; `given` NULL: nothing. INVALID_ARGUMENT for a size that cannot be. */
alineo_code al_hooks_add(al_hooks *hooks, const alineo_hooks *given, alineo_error **err);

void al_hooks_sandbox_created(const al_hooks *hooks, const char *sandbox_id, const char *name);
void al_hooks_sandbox_closed(const al_hooks *hooks, const char *sandbox_id);
void al_hooks_sandbox_failed(const al_hooks *hooks, const char *sandbox_id,
                             const alineo_error *error);
void al_hooks_sandbox_paused(const al_hooks *hooks, const char *sandbox_id);
void al_hooks_sandbox_resumed(const al_hooks *hooks, const char *sandbox_id);
void al_hooks_exec_start(const al_hooks *hooks, const char *sandbox_id, int32_t seq,
                         const char *command);
void al_hooks_exec_complete(const al_hooks *hooks, const char *sandbox_id, int32_t seq,
                            const alineo_exec_result *result);
void al_hooks_checkpoint(const al_hooks *hooks, const char *sandbox_id, const char *snapshot_id,
                         const char *name);

#endif
