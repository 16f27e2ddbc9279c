/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that run on when nobody looks. */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static alineo_exec *start(contract *c, alineo_sandbox *sandbox, const char *command,
                          int64_t output_limit, char id[64]) {
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    options.background = 1;
    options.output_limit = output_limit;
    CHECK_OK(c, alineo_sandbox_exec(sandbox, command, &options, &exec, &err), err);
    (void)snprintf(id, 64, "%s", alineo_exec_id(exec));
    return exec;
}

/* Starts it and lets it go. */
static void start_detached(contract *c, alineo_sandbox *sandbox, const char *command,
                           int64_t output_limit, char id[64]) {
    alineo_exec *exec = start(c, sandbox, command, output_limit, id);
    alineo_error *err = NULL;
    CHECK_OK(c, alineo_exec_detach(exec, &err), err);
    alineo_exec_free(exec);
}

static alineo_exec *attach(contract *c, alineo_sandbox *sandbox, const char *id, uint64_t offset,
                           uint64_t *gap) {
    alineo_attach_options options = ALINEO_ATTACH_OPTIONS_INIT;
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    options.strict = ALINEO_NO;
    options.stdout_offset = offset;
    CHECK_OK(c, alineo_background_attach(sandbox, id, &options, &exec, gap, NULL, &err), err);
    return exec;
}

/* What an attached exec gives, to its end. */
static void expect_rest(contract *c, alineo_exec *exec, const char *expected, int32_t exit_code) {
    alineo_output output = ALINEO_OUTPUT_INIT;
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    alineo_error *err = NULL;
    CHECK_OK(c, alineo_exec_output(exec, 0, &output, &result, &err), err);
    const char *got = output.stdout_data != NULL ? output.stdout_data : "";
    CHECK_SAYING(c, strcmp(got, expected) == 0, "got \"%s\" and not \"%s\"", got, expected);
    CHECK(c, result.exit_code == exit_code);
    alineo_output_clear(&output);
    alineo_exec_free(exec);
}

typedef struct seen {
    const char *id;
    int count;
    alineo_outcome outcome;
    int32_t exit_code;
    uint64_t stdout_size;
} seen;

static int32_t look(void *user, const alineo_background_info *info) {
    seen *self = user;
    if (strcmp(info->exec_id, self->id) != 0)
        return 0;
    self->count++;
    self->outcome = info->status.outcome;
    self->exit_code = info->status.exit_code;
    self->stdout_size = info->stdout_size;
    return 0;
}

static seen find(contract *c, alineo_sandbox *sandbox, const char *id) {
    seen found = {.id = id};
    alineo_error *err = NULL;
    CHECK_OK(c, alineo_background_list(sandbox, NULL, look, &found, &err), err);
    return found;
}

static seen wait_for_end(contract *c, alineo_sandbox *sandbox, const char *id) {
    int64_t limit_ms = contract_now_ms() + 20000;
    for (;;) {
        seen found = find(c, sandbox, id);
        CHECK(c, found.count == 1);
        if (found.outcome != ALINEO_OUTCOME_RUNNING)
            return found;
        CHECK(c, contract_now_ms() < limit_ms);
        contract_sleep_ms(50);
    }
}

static void without_detaching_it_is_a_command_like_any_other(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    char id[64];
    alineo_exec *exec = start(c, sandbox, "echo out; echo err >&2; exit 3", 0, id);
    alineo_output output = ALINEO_OUTPUT_INIT;
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    alineo_error *err = NULL;
    CHECK_CODE(c, ALINEO_COMMAND_FAILED, alineo_exec_output(exec, 0, &output, &result, &err), err);
    CHECK(c, result.outcome == ALINEO_OUTCOME_EXITED && result.exit_code == 3);
    CHECK(c, output.stdout_size == 4 && output.stderr_size == 4);
    alineo_output_clear(&output);
    alineo_exec_free(exec);
    /* Freeing one that runs and was not detached ends it. */
    exec = start(c, sandbox, "sleep 1000", 0, id);
    alineo_exec_free(exec);
    CHECK(c, wait_for_end(c, sandbox, id).outcome == ALINEO_OUTCOME_CANCELLED);
}

static void much_output_comes_whole(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    char id[64];
    alineo_exec *exec = start(c, sandbox, "head -c 5000000 /dev/zero", 65536, id);
    alineo_output output = ALINEO_OUTPUT_INIT;
    alineo_error *err = NULL;
    CHECK_OK(c, alineo_exec_output(exec, 0, &output, NULL, &err), err);
    CHECK_SAYING(c, output.stdout_size == 5000000, "of 5000000 bytes came %zu", output.stdout_size);
    alineo_output_clear(&output);
    alineo_exec_free(exec);
}

static void it_runs_on_and_is_found_with_all_it_printed(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    char id[64];
    start_detached(c, sandbox, "echo one; sleep 0.5; echo two; exit 4", 0, id);
    CHECK(c, find(c, sandbox, id).outcome == ALINEO_OUTCOME_RUNNING);
    expect_rest(c, attach(c, sandbox, id, 0, NULL), "one\ntwo\n", 4);
    seen ended = wait_for_end(c, sandbox, id);
    CHECK(c, ended.outcome == ALINEO_OUTCOME_EXITED && ended.exit_code == 4);
    CHECK(c, ended.stdout_size == 8);
    /* And once more, after its end, from the middle. */
    expect_rest(c, attach(c, sandbox, id, 4, NULL), "two\n", 4);
    expect_rest(c, attach(c, sandbox, id, 1000, NULL), "", 4);
}

static void found_by_another_handle(contract *c, const char *sandbox_id, const char *id) {
    alineo_sandbox *sandbox = NULL;
    alineo_error *err = NULL;
    CHECK_OK(c, alineo_sandbox_connect(contract_client(c), sandbox_id, NULL, &sandbox, &err), err);
    expect_rest(c, attach(c, sandbox, id, 0, NULL), "here\nlater\n", 0);
    alineo_sandbox_free(sandbox);
}

static void two_may_be_attached_and_leave_again(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    char id[64];
    start_detached(c, sandbox, "echo here; sleep 1; echo later", 0, id);
    alineo_exec *first = attach(c, sandbox, id, 0, NULL);
    alineo_exec *second = attach(c, sandbox, id, 0, NULL);
    alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
    alineo_error *err = NULL;
    CHECK_OK(c, alineo_exec_next(first, 10000, &event, &err), err);
    CHECK(c, event.type == ALINEO_EXEC_STDOUT);
    alineo_exec_free(first);
    expect_rest(c, second, "here\nlater\n", 0);
    found_by_another_handle(c, alineo_sandbox_id(sandbox), id);
}

static void what_is_not_kept_is_a_gap(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    char id[64];
    start_detached(c, sandbox,
                   "sleep 0.3; i=0; while [ $i -lt 100000 ]; do echo 123456789;"
                   " i=$((i+1)); done",
                   8192, id);
    CHECK(c, wait_for_end(c, sandbox, id).stdout_size == 1000000);
    uint64_t gap = 0;
    alineo_exec *exec = attach(c, sandbox, id, 0, &gap);
    alineo_output output = ALINEO_OUTPUT_INIT;
    alineo_error *err = NULL;
    CHECK_OK(c, alineo_exec_output(exec, 0, &output, NULL, &err), err);
    CHECK(c, gap > 0 && gap + output.stdout_size == 1000000);
    CHECK(c, output.stdout_size >= 10);
    CHECK(c, memcmp(output.stdout_data + output.stdout_size - 10, "123456789\n", 10) == 0);
    alineo_output_clear(&output);
    alineo_exec_free(exec);
}

static void it_is_killed(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    char id[64];
    alineo_error *err = NULL;
    start_detached(c, sandbox, "sleep 1000 & sleep 1000", 0, id);
    CHECK_OK(c, alineo_background_kill(sandbox, id, NULL, &err), err);
    CHECK(c, wait_for_end(c, sandbox, id).outcome == ALINEO_OUTCOME_CANCELLED);
    CHECK_OK(c, alineo_background_kill(sandbox, id, NULL, &err), err);
    start_detached(c, sandbox, "sleep 1000", 0, id);
    alineo_exec *exec = attach(c, sandbox, id, 0, NULL);
    CHECK_OK(c, alineo_exec_cancel(exec, &err), err);
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    (void)alineo_exec_wait(exec, &result, NULL);
    CHECK(c, result.outcome == ALINEO_OUTCOME_CANCELLED);
    alineo_exec_free(exec);
}

static void one_that_there_is_not_is_not_found(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    CHECK_CODE(c, ALINEO_EXEC_NOT_FOUND,
               alineo_background_attach(sandbox, "never-was", NULL, &exec, NULL, NULL, &err), err);
    CHECK_CODE(c, ALINEO_EXEC_NOT_FOUND, alineo_background_kill(sandbox, "never-was", NULL, &err),
               err);
}

static void it_lives_through_a_pause(contract *c) {
    if (!contract_is(c, ALINEO_CAP_PAUSE, "processes"))
        contract_skip(c, "no processes live through a pause here");
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_error *err = NULL;
    char id[64];
    start_detached(c, sandbox, "sleep 1000", 0, id);
    CHECK_OK(c, alineo_sandbox_pause(sandbox, NULL, &err), err);
    CHECK_OK(c, alineo_sandbox_unpause(sandbox, NULL, &err), err);
    CHECK(c, find(c, sandbox, id).outcome == ALINEO_OUTCOME_RUNNING);
    CHECK_OK(c, alineo_background_kill(sandbox, id, NULL, &err), err);
    CHECK(c, wait_for_end(c, sandbox, id).outcome == ALINEO_OUTCOME_CANCELLED);
}

static void only_what_was_started_so_is_detached(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    CHECK_OK(c, alineo_sandbox_exec(sandbox, "exit 0", NULL, &exec, &err), err);
    CHECK_CODE(c, ALINEO_INVALID_ARGUMENT, alineo_exec_detach(exec, &err), err);
    CHECK_OK(c, alineo_exec_wait(exec, NULL, &err), err);
    alineo_exec_free(exec);
}

static void it_is_refused_where_it_is_denied(contract *c) {
    if (contract_has(c, ALINEO_CAP_BACKGROUND))
        contract_skip(c, "the provider has background commands");
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    options.background = 1;
    CHECK_CODE(c, ALINEO_CAPABILITY_UNSUPPORTED,
               alineo_sandbox_exec(sandbox, "true", &options, &exec, &err), err);
    CHECK_CODE(c, ALINEO_CAPABILITY_UNSUPPORTED, alineo_background_kill(sandbox, "any", NULL, &err),
               err);
}

const contract_case contract_background_cases[] = {
    {"background/without detaching it is a command like any other", "background",
     without_detaching_it_is_a_command_like_any_other, 0},
    {"background/much output comes whole", "background", much_output_comes_whole, 0},
    {"background/it runs on, and is found with all it printed", "background",
     it_runs_on_and_is_found_with_all_it_printed, 0},
    {"background/two may be attached, and leave again", "background",
     two_may_be_attached_and_leave_again, 0},
    {"background/what is not kept is a gap", "background", what_is_not_kept_is_a_gap, 0},
    {"background/it is killed", "background", it_is_killed, 0},
    {"background/one that there is not is not found", "background",
     one_that_there_is_not_is_not_found, 0},
    {"background/it lives through a pause", "background pause", it_lives_through_a_pause, 0},
    {"background/only what was started so is detached", "", only_what_was_started_so_is_detached,
     0},
    {"background/it is refused where it is denied", "", it_is_refused_where_it_is_denied, 0},
    {NULL, NULL, NULL, 0},
};
