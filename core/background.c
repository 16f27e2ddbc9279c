/* SPDX-License-Identifier: Apache-2.0 */
/* Background commands: letting go, finding again. */
#include <alineo/background.h>

#include "core/exec_private.h"

#include "core/check.h"
#include "core/struct.h"

void alineo_attach_options_init(alineo_attach_options *options) {
    *options = (alineo_attach_options)ALINEO_ATTACH_OPTIONS_INIT;
}

alineo_code alineo_exec_detach(alineo_exec *exec, alineo_error **err) {
    alineo_code code = al_client_enter(exec->sandbox->client, err);
    if (code != ALINEO_OK)
        return code;
    if (!exec->is_background)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "start it with options.background",
                       "detach: this is no background command: %s", exec->command);
    if (exec->phase == AL_EXEC_RUNNING) {
        al_exec_outcome_lose(exec, "detached");
        al_exec_streams_give_up(exec);
        code = al_exec_finish(exec, err);
        if (code != ALINEO_OK)
            return code;
    }
    al_exec_chunk chunk;
    al_step step;
    do
        step = al_exec_step(exec, -1, &chunk, err);
    while (step == AL_STEP_IDLE || step == AL_STEP_CHUNK);
    if (step == AL_STEP_FAILED)
        return exec->failed_code;
    return step == AL_STEP_DONE ? ALINEO_OK : al_exec_fail_storage(exec, err);
}

/* At the door: the sandbox is open, and its provider keeps background commands. */
static alineo_code enter(alineo_sandbox *sandbox, alineo_call *call, const char *doing,
                         const char *exec_id, alineo_error **err) {
    alineo_op_options given = ALINEO_OP_OPTIONS_INIT;
    alineo_op_options read;
    given.call = call;
    if (exec_id == NULL || exec_id[0] == '\0')
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "pass what alineo_exec_id gave",
                       "%s: there is no id of a command", doing);
    return al_sandbox_op_enter(sandbox, &given, doing, ALINEO_CAP_BACKGROUND, &read, err);
}

alineo_code alineo_background_list(alineo_sandbox *sandbox, const alineo_op_options *given,
                                   alineo_background_info_fn *found, void *user,
                                   alineo_error **err) {
    static const char DOING[] = "list background commands of";
    alineo_op_options options;
    if (found == NULL)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "list: `found` is NULL");
    alineo_code code =
        al_sandbox_op_enter(sandbox, given, DOING, ALINEO_CAP_BACKGROUND, &options, err);
    if (code != ALINEO_OK)
        return code;
    const al_provider_binding *provider = sandbox->client->provider;
    alineo_error *failure = NULL;
    code = provider->table->background_list(provider->self, sandbox->state->id, options.call, found,
                                            user, &failure);
    code = al_from_plugin(code, provider->plugin, "background_list", &failure);
    return code == ALINEO_OK ? code : al_sandbox_op_fail(sandbox, DOING, &failure, err);
}

alineo_code alineo_background_kill(alineo_sandbox *sandbox, const char *exec_id,
                                   const alineo_op_options *given, alineo_error **err) {
    static const char DOING[] = "end a background command of";
    alineo_op_options options;
    alineo_code code = AL_STRUCT_READ(&options, given, "op options", err);
    if (code == ALINEO_OK)
        code = enter(sandbox, options.call, DOING, exec_id, err);
    if (code != ALINEO_OK)
        return code;
    const al_provider_binding *provider = sandbox->client->provider;
    alineo_error *failure = NULL;
    code = provider->table->background_kill(provider->self, sandbox->state->id, exec_id,
                                            options.call, &failure);
    code = al_from_plugin(code, provider->plugin, "background_kill", &failure);
    return code == ALINEO_OK ? code : al_sandbox_op_fail(sandbox, DOING, &failure, err);
}

/* What an attached exec is made of: no stdin, and its id for people. */
static void make_plan(const char *exec_id, const alineo_attach_options *options,
                      const char *argv[2], al_exec_plan *plan) {
    argv[0] = exec_id;
    argv[1] = NULL;
    *plan = (al_exec_plan){.options = ALINEO_EXEC_OPTIONS_INIT};
    plan->options.strict = options->strict;
    plan->argv = argv;
}

static alineo_code ask_provider(alineo_exec *exec, const char *exec_id,
                                const alineo_attach_options *options, uint64_t gaps[2],
                                alineo_error **err) {
    const al_provider_binding *provider = exec->sandbox->client->provider;
    alineo_exec_io io = ALINEO_EXEC_IO_INIT;
    alineo_error *failure = NULL;
    alineo_code code = provider->table->background_attach(
        provider->self, exec->sandbox->state->id, exec_id, options->stdout_offset,
        options->stderr_offset, options->call, &io, &gaps[0], &gaps[1], &failure);
    code = al_from_plugin(code, provider->plugin, "background_attach", &failure);
    if (code == ALINEO_OK && io.exec == NULL)
        code = al_fail(&failure, ALINEO_INTERNAL, "tell its author",
                       "provider %s said that it attached, and gave no exec", provider->id);
    if (code != ALINEO_OK)
        return al_sandbox_op_fail(exec->sandbox, "attach to a command of", &failure, err);
    exec->is_attached = true;
    return al_exec_take(exec, &io, err);
}

alineo_code alineo_background_attach(alineo_sandbox *sandbox, const char *exec_id,
                                     const alineo_attach_options *given, alineo_exec **out,
                                     uint64_t *stdout_gap, uint64_t *stderr_gap,
                                     alineo_error **err) {
    alineo_attach_options options;
    alineo_code code = AL_STRUCT_READ(&options, given, "attach options", err);
    if (code == ALINEO_OK)
        code = al_choice_check("attach: strict", options.strict, err);
    if (code == ALINEO_OK)
        code = enter(sandbox, options.call, "attach to a command of", exec_id, err);
    if (code != ALINEO_OK)
        return code;
    if (out == NULL)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "attach: `out` is NULL");
    al_exec_plan plan;
    const char *argv[2];
    alineo_exec *exec = NULL;
    uint64_t gaps[2] = {0, 0};
    make_plan(exec_id, &options, argv, &plan);
    code = al_exec_new(sandbox, &plan, &exec, err);
    if (code == ALINEO_OK)
        code = ask_provider(exec, exec_id, &options, gaps, err);
    if (code != ALINEO_OK) {
        alineo_exec_free(exec);
        return code;
    }
    *out = exec;
    if (stdout_gap != NULL)
        *stdout_gap = gaps[0];
    if (stderr_gap != NULL)
        *stderr_gap = gaps[1];
    return ALINEO_OK;
}
