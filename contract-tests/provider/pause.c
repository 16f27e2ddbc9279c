/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes that stand still for a while. */
#include "contract.h"

#include <stdlib.h>
#include <string.h>

static int32_t note_state(void *user, const alineo_sandbox_info *info) {
    *(alineo_sandbox_state *)user = info->state;
    return 0;
}

static alineo_sandbox_state state_of(contract *c, alineo_sandbox *sandbox) {
    alineo_sandbox_state state = ALINEO_STATE_UNKNOWN;
    alineo_error *err = NULL;
    CHECK_OK(c,
             alineo_sandbox_inspect(contract_client(c), alineo_sandbox_id(sandbox), NULL,
                                    note_state, &state, &err),
             err);
    return state;
}

static void pause_it(contract *c, alineo_sandbox *sandbox) {
    alineo_error *err = NULL;
    CHECK_OK(c, alineo_sandbox_pause(sandbox, NULL, &err), err);
}

static void unpause_it(contract *c, alineo_sandbox *sandbox) {
    alineo_error *err = NULL;
    CHECK_OK(c, alineo_sandbox_unpause(sandbox, NULL, &err), err);
}

static void it_is_paused_and_runs_on(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    pause_it(c, sandbox);
    CHECK(c, state_of(c, sandbox) == ALINEO_STATE_PAUSED);
    pause_it(c, sandbox);
    unpause_it(c, sandbox);
    CHECK(c, state_of(c, sandbox) == ALINEO_STATE_RUNNING);
    unpause_it(c, sandbox);
    CHECK_PRINTS(c, sandbox, "echo on", "on\n");
}

static void files_stay(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    char *folder = contract_folder(c, sandbox);
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.cwd = folder;
    contract_expect_output(c, sandbox, "echo kept > file", &options, "", 0);
    pause_it(c, sandbox);
    unpause_it(c, sandbox);
    contract_expect_output(c, sandbox, "cat file", &options, "kept\n", 5);
    free(folder);
}

static void nothing_starts_in_it(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    pause_it(c, sandbox);
    CHECK_CODE(c, ALINEO_SANDBOX_PAUSED, alineo_sandbox_exec(sandbox, "true", NULL, &exec, &err),
               err);
    CHECK_CODE(c, ALINEO_SANDBOX_PAUSED,
               alineo_file_read(sandbox, "/etc/passwd", NULL, &bytes, &err), err);
    CHECK_CODE(c, ALINEO_SANDBOX_PAUSED, alineo_file_write(sandbox, "/tmp/x", "x", 1, NULL, &err),
               err);
    unpause_it(c, sandbox);
    CHECK_PRINTS(c, sandbox, "test ! -e /tmp/x && echo none", "none\n");
}

/* Output comes, or none does for so long. */
static bool says_something(contract *c, alineo_exec *exec, int64_t timeout_ms) {
    alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
    alineo_error *err = NULL;
    CHECK_OK(c, alineo_exec_next(exec, timeout_ms, &event, &err), err);
    CHECK(c, event.type != ALINEO_EXEC_EXIT);
    return event.type != ALINEO_EXEC_NONE;
}

static void what_runs_stands_still_children_and_forks_too(contract *c) {
    if (!contract_is(c, ALINEO_CAP_PAUSE, "processes"))
        contract_skip(c, "pausing ends the processes here");
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    /* It forks all the time, and its child is of another session. */
    CHECK_OK(c,
             alineo_sandbox_exec(sandbox,
                                 "setsid sh -c 'while echo child; do sleep 0.01 & wait; done' &"
                                 " while echo parent; do sleep 0.01; done",
                                 NULL, &exec, &err),
             err);
    for (int i = 0; i < 5; i++) {
        CHECK(c, says_something(c, exec, 10000));
        pause_it(c, sandbox);
        /* What it said before is still on its way. */
        int64_t limit_ms = contract_now_ms() + 5000;
        while (says_something(c, exec, 200))
            CHECK(c, contract_now_ms() < limit_ms);
        CHECK(c, !says_something(c, exec, 300));
        unpause_it(c, sandbox);
        CHECK(c, says_something(c, exec, 10000));
    }
    alineo_exec_free(exec);
}

static void time_limits_of_commands_stand_still(contract *c) {
    if (!contract_is(c, ALINEO_CAP_PAUSE, "processes"))
        contract_skip(c, "pausing ends the processes here");
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    alineo_output output = ALINEO_OUTPUT_INIT;
    options.timeout_ms = 2000;
    CHECK_OK(c,
             alineo_sandbox_exec(sandbox,
                                 "i=0; while [ $i -lt 10 ]; do sleep 0.1; i=$((i+1)); done;"
                                 " echo in time",
                                 &options, &exec, &err),
             err);
    pause_it(c, sandbox);
    contract_sleep_ms(2500);
    unpause_it(c, sandbox);
    CHECK_OK(c, alineo_exec_output(exec, 0, &output, NULL, &err), err);
    CHECK(c, output.stdout_size == 8 && memcmp(output.stdout_data, "in time\n", 8) == 0);
    alineo_output_clear(&output);
    alineo_exec_free(exec);
}

static bool is_gone(contract *c, alineo_sandbox *sandbox) {
    alineo_sandbox_state state = ALINEO_STATE_UNKNOWN;
    alineo_code code = alineo_sandbox_inspect(contract_client(c), alineo_sandbox_id(sandbox), NULL,
                                              note_state, &state, NULL);
    return code == ALINEO_SANDBOX_NOT_FOUND || state == ALINEO_STATE_TERMINATED ||
           state == ALINEO_STATE_STOPPING;
}

static void its_lifetime_runs_on_and_ends_it(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_error *err = NULL;
    alineo_code code = alineo_sandbox_renew(sandbox, 1500, NULL, NULL, &err);
    if (code == ALINEO_INVALID_ARGUMENT)
        contract_skip(c, "the provider has no lifetime as short as this");
    CHECK_OK(c, code, err);
    pause_it(c, sandbox);
    int64_t limit_ms = contract_now_ms() + 15000;
    while (!is_gone(c, sandbox) && contract_now_ms() < limit_ms)
        contract_sleep_ms(100);
    CHECK(c, is_gone(c, sandbox));
}

static void it_can_be_closed_and_unpaused_by_another_client(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_sandbox *other = NULL;
    alineo_error *err = NULL;
    alineo_connect_options options = ALINEO_CONNECT_OPTIONS_INIT;
    const char *id = alineo_sandbox_id(sandbox);
    pause_it(c, sandbox);
    CHECK_CODE(c, ALINEO_SANDBOX_NOT_RUNNING,
               alineo_sandbox_connect(contract_client(c), id, &options, &other, &err), err);
    options.paused_too = 1;
    CHECK_OK(c, alineo_sandbox_connect(contract_client(c), id, &options, &other, &err), err);
    unpause_it(c, other);
    CHECK_PRINTS(c, sandbox, "echo on", "on\n");
    pause_it(c, other);
    CHECK_OK(c, alineo_sandbox_close(other, NULL, &err), err);
    alineo_sandbox_free(other);
}

static void it_is_refused_where_it_is_denied(contract *c) {
    if (contract_has(c, ALINEO_CAP_PAUSE))
        contract_skip(c, "the provider can pause");
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_error *err = NULL;
    CHECK_CODE(c, ALINEO_CAPABILITY_UNSUPPORTED, alineo_sandbox_pause(sandbox, NULL, &err), err);
    CHECK_CODE(c, ALINEO_CAPABILITY_UNSUPPORTED, alineo_sandbox_unpause(sandbox, NULL, &err), err);
}

const contract_case contract_pause_cases[] = {
    {"pause/it is paused, and runs on", "pause", it_is_paused_and_runs_on, 0},
    {"pause/files stay", "pause", files_stay, 0},
    {"pause/nothing starts in it", "pause", nothing_starts_in_it, 0},
    {"pause/what runs stands still, children and forks too", "pause",
     what_runs_stands_still_children_and_forks_too, 0},
    {"pause/time limits of commands stand still", "pause", time_limits_of_commands_stand_still, 0},
    {"pause/its lifetime runs on and ends it", "pause renew", its_lifetime_runs_on_and_ends_it, 0},
    {"pause/it can be unpaused and closed by another client", "pause",
     it_can_be_closed_and_unpaused_by_another_client, 0},
    {"pause/it is refused where it is denied", "", it_is_refused_where_it_is_denied, 0},
    {NULL, NULL, NULL, 0},
};
