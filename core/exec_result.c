/* SPDX-License-Identifier: Apache-2.0 */
/* What the caller gets: structs, and the one code that says it all. */
#include "core/exec_private.h"

#include <stdio.h>
#include <string.h>

void alineo_bytes_init(alineo_bytes *bytes) {
    *bytes = (alineo_bytes)ALINEO_BYTES_INIT;
}

void alineo_bytes_clear(alineo_bytes *bytes) {
    if (bytes == NULL)
        return;
    free(bytes->data);
    bytes->data = NULL;
    bytes->data_size = 0;
}

void alineo_exec_options_init(alineo_exec_options *options) {
    *options = (alineo_exec_options)ALINEO_EXEC_OPTIONS_INIT;
}

void alineo_exec_result_init(alineo_exec_result *result) {
    *result = (alineo_exec_result)ALINEO_EXEC_RESULT_INIT;
}

void alineo_output_init(alineo_output *output) {
    *output = (alineo_output)ALINEO_OUTPUT_INIT;
}

void alineo_output_clear(alineo_output *output) {
    if (output == NULL)
        return;
    free(output->stdout_data);
    free(output->stderr_data);
    output->stdout_data = output->stderr_data = NULL;
    output->stdout_size = output->stderr_size = 0;
}

void alineo_exec_event_init(alineo_exec_event *event) {
    *event = (alineo_exec_event)ALINEO_EXEC_EVENT_INIT;
}

void al_exec_give(void *given, const void *own, size_t own_size) {
    size_t size;
    memcpy(&size, given, sizeof(size));
    if (size > sizeof(size))
        memcpy((char *)given + sizeof(size), (const char *)own + sizeof(size),
               (size < own_size ? size : own_size) - sizeof(size));
}

/* Each with the command behind it. */
static alineo_code fail(alineo_exec *exec, alineo_error **err, alineo_code code, const char *hint,
                        const char *what) {
    code = al_fail(err, code, hint, "%s: %s", what, exec->command);
    al_error_set_sandbox(err, exec->sandbox->state->id);
    al_error_set_command(err, exec->command, exec->result.exit_code);
    al_error_set_provider(err, exec->sandbox->client->provider->id);
    return code;
}

static alineo_code fail_lost(alineo_exec *exec, alineo_error **err) {
    al_auto(al_buf_free) al_buf what = AL_BUF_INIT;
    al_buf_printf(&what, "The outcome of the command is not known: %s",
                  exec->detail == NULL ? "the link to it broke" : exec->detail);
    return fail(exec, err, ALINEO_EXEC_LOST,
                exec->may_still_run == ALINEO_NO
                    ? "it does not run any more; look at what it did before running it again"
                    : "it may still run; look in the sandbox before running it again",
                al_buf_str(&what));
}

static alineo_code fail_timeout(alineo_exec *exec, alineo_error **err) {
    char what[80];
    (void)snprintf(what, sizeof(what), "Command timed out after %lld ms",
                   (long long)exec->timeout_ms);
    return fail(exec, err, ALINEO_TIMEOUT, "give it a longer timeout_ms", what);
}

static alineo_code fail_command(alineo_exec *exec, alineo_error **err) {
    char what[80];
    char hint[80];
    (void)snprintf(what, sizeof(what), "Command exited with code %d", exec->result.exit_code);
    if (exec->result.signal != 0)
        (void)snprintf(hint, sizeof(hint), "it was ended by signal %d", exec->result.signal);
    if (exec->result.oom)
        return fail(exec, err, ALINEO_COMMAND_FAILED,
                    "it was killed because the sandbox had no memory left; give it more", what);
    return fail(exec, err, ALINEO_COMMAND_FAILED, exec->result.signal != 0 ? hint : exec->detail,
                what);
}

alineo_code al_exec_fail_storage(alineo_exec *exec, alineo_error **err) {
    alineo_error *error = NULL;
    alineo_code code = al_journal_error(exec->sandbox->client->journal, &error);
    if (code == ALINEO_OK)
        code = al_fail(&error, ALINEO_STORAGE_UNAVAILABLE, NULL, "the ledger cannot be written");
    (void)al_wrap(&error, exec->result.outcome == ALINEO_OUTCOME_RUNNING
                              ? "the command is held, since its output cannot be stored"
                              : "the command has ended, and that cannot be stored");
    al_error_set_sandbox(&error, exec->sandbox->state->id);
    al_error_set_command(&error, exec->command, exec->result.exit_code);
    return al_error_give(&error, err);
}

alineo_code al_exec_answer(alineo_exec *exec, al_step step, alineo_exec_result *result,
                           alineo_error **err) {
    exec->result.stdout_bytes = exec->streams[0].bytes;
    exec->result.stderr_bytes = exec->streams[1].bytes;
    if (result != NULL)
        al_exec_give(result, &exec->result, sizeof(exec->result));
    if (step == AL_STEP_FAILED)
        return exec->failed_code;
    if (exec->result.outcome == ALINEO_OUTCOME_RUNNING)
        return al_exec_fail_storage(exec, err);
    switch (exec->result.outcome) {
    case ALINEO_OUTCOME_LOST:
        return fail_lost(exec, err);
    case ALINEO_OUTCOME_TIMED_OUT:
        return fail_timeout(exec, err);
    case ALINEO_OUTCOME_CANCELLED:
        return fail(exec, err, ALINEO_CANCELLED, NULL, "Command was cancelled");
    default:
        break;
    }
    if (exec->sink_error != 0)
        return al_fail_errno(err, ALINEO_IO, exec->sink_error, NULL,
                             "write the output of the command to the caller's descriptor");
    if (exec->collect_failed)
        return al_fail_memory(err);
    if (exec->is_too_large)
        return fail(exec, err, ALINEO_TOO_LARGE, "raise max_bytes, or take it piece by piece",
                    "The output is larger than what may be collected");
    if (exec->strict && exec->result.exit_code != 0)
        return fail_command(exec, err);
    return step == AL_STEP_DONE ? ALINEO_OK : al_exec_fail_storage(exec, err);
}
