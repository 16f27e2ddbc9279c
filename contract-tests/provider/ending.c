/* SPDX-License-Identifier: Apache-2.0 */
/* How commands end: exit codes, signals, timeouts, cancels, and what they leave. */
#include "contract.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void exit_codes_are_true(contract *c) {
    static const int codes[] = {0, 1, 2, 42, 124, 127, 200, 255};
    alineo_sandbox *sandbox = contract_sandbox(c);
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        char command[32];
        contract_run run;
        snprintf(command, sizeof(command), "exit %d", codes[i]);
        contract_exec(c, sandbox, command, NULL, &run);
        CHECK_SAYING(
            c, run.result.outcome == ALINEO_OUTCOME_EXITED && run.result.exit_code == codes[i],
            "exit %d gave outcome %d, exit code %d", codes[i], (int)run.result.outcome,
            (int)run.result.exit_code);
        contract_run_clear(&run);
    }
}

static void strict_is_a_failure_that_keeps_the_exit_code(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    CHECK_OK(c, alineo_sandbox_exec(sandbox, "exit 42", NULL, &exec, &err), err);
    alineo_code code = alineo_exec_wait(exec, &result, &err);
    CHECK(c, code == ALINEO_COMMAND_FAILED && err != NULL && alineo_error_exit_code(err) == 42);
    CHECK(c, result.exit_code == 42 && result.outcome == ALINEO_OUTCOME_EXITED);
    alineo_error_free(err);
    alineo_exec_free(exec);
}

static void signals_are_told_apart_from_exit_codes(contract *c) {
    static const struct {
        const char *command;
        int signal;
    } ends[] = {{"kill -TERM $$; echo alive", SIGTERM},
                {"kill -9 $$", SIGKILL},
                {"kill -ABRT $$", SIGABRT}};
    alineo_sandbox *sandbox = contract_sandbox(c);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        contract_run run;
        contract_exec(c, sandbox, ends[i].command, NULL, &run);
        CHECK_SAYING(c, run.result.exit_code == 128 + ends[i].signal, "'%s' gave exit code %d",
                     ends[i].command, (int)run.result.exit_code);
        CHECK(c, run.result.outcome == ALINEO_OUTCOME_SIGNALLED &&
                     run.result.signal == ends[i].signal);
        CHECK(c, run.output.stdout_size == 0);
        contract_run_clear(&run);
    }
}

static void run_argv(contract *c, alineo_sandbox *sandbox, const char *program, int32_t expected) {
    const char *const argv[] = {program, NULL};
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    contract_run run;
    options.argv = argv;
    contract_exec(c, sandbox, NULL, &options, &run);
    CHECK_SAYING(c, run.result.outcome == ALINEO_OUTCOME_EXITED && run.result.exit_code == expected,
                 "%s gave outcome %d, exit code %d, not %d", program, (int)run.result.outcome,
                 (int)run.result.exit_code, (int)expected);
    contract_run_clear(&run);
}

static void a_missing_program_is_127_and_one_that_cannot_run_126(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    char *folder = contract_folder(c, sandbox);
    char command[512];
    snprintf(command, sizeof(command), "echo text > %s/plain; chmod 644 %s/plain", folder, folder);
    CHECK_PRINTS(c, sandbox, command, "");
    run_argv(c, sandbox, "no-such-program-anywhere", 127);
    run_argv(c, sandbox, "/no/such/program", 127);
    snprintf(command, sizeof(command), "%s/plain", folder);
    run_argv(c, sandbox, command, 126);
    run_argv(c, sandbox, folder, 126);
    free(folder);
}

static void an_empty_argv_is_an_argument_error(contract *c) {
    static const char *const argv[] = {NULL};
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    options.argv = argv;
    CHECK_CODE(c, ALINEO_INVALID_ARGUMENT,
               alineo_sandbox_exec(sandbox, NULL, &options, &exec, &err), err);
    CHECK_CODE(c, ALINEO_INVALID_ARGUMENT, alineo_sandbox_exec(sandbox, NULL, NULL, &exec, &err),
               err);
}

static void expect_timeout(contract *c, alineo_sandbox *sandbox, const char *command) {
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    contract_run run;
    options.timeout_ms = 500;
    int64_t start = contract_now_ms();
    contract_exec(c, sandbox, command, &options, &run);
    int64_t took = contract_now_ms() - start;
    CHECK_SAYING(c,
                 run.code == ALINEO_TIMEOUT && run.result.outcome == ALINEO_OUTCOME_TIMED_OUT &&
                     run.result.exit_code == 124,
                 "'%s' gave %s, outcome %d, exit code %d", command, alineo_code_name(run.code),
                 (int)run.result.outcome, (int)run.result.exit_code);
    CHECK_SAYING(c, took >= 450 && took < 10000, "'%s' took %lld ms", command, (long long)took);
    contract_run_clear(&run);
}

static void a_timeout_ends_the_command_in_time(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    expect_timeout(c, sandbox, "sleep 60");
    expect_timeout(c, sandbox, "trap '' TERM; sleep 60; sleep 60");
}

static void a_timeout_ends_the_whole_tree(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    char *folder = contract_folder(c, sandbox);
    char command[512];
    snprintf(command, sizeof(command),
             "(sleep 2; touch %s/late1) & setsid sh -c 'sleep 2; touch %s/late2' & sleep 60; :",
             folder, folder);
    expect_timeout(c, sandbox, command);
    contract_sleep_ms(2500);
    snprintf(command, sizeof(command), "ls %s", folder);
    CHECK_PRINTS(c, sandbox, command, "");
    free(folder);
}

static void a_cancel_ends_the_command(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    CHECK_OK(c, alineo_sandbox_exec(sandbox, "sleep 60", NULL, &exec, &err), err);
    CHECK_OK(c, alineo_exec_cancel(exec, &err), err);
    CHECK_OK(c, alineo_exec_cancel(exec, &err), err);
    int64_t start = contract_now_ms();
    CHECK_CODE(c, ALINEO_CANCELLED, alineo_exec_wait(exec, &result, &err), err);
    CHECK(c, result.outcome == ALINEO_OUTCOME_CANCELLED);
    CHECK(c, contract_now_ms() - start < 10000);
    alineo_exec_free(exec);
    CHECK_PRINTS(c, sandbox, "echo goes on", "goes on\n");
}

static void a_child_left_in_the_background_does_not_hold_the_command(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    int64_t start = contract_now_ms();
    CHECK_PRINTS(c, sandbox, "sleep 30 & echo done", "done\n");
    CHECK_SAYING(c, contract_now_ms() - start < 10000, "it took %lld ms",
                 (long long)(contract_now_ms() - start));
}

static void a_child_left_in_the_background_lives_on(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    char *folder = contract_folder(c, sandbox);
    char command[512];
    /* It prints far more than a pipe holds, after the command ended: nobody may end it for that. */
    snprintf(command, sizeof(command),
             "(sleep 0.3; yes | head -c 300000; echo $? > %s/status) & echo started", folder);
    CHECK_PRINTS(c, sandbox, command, "started\n");
    snprintf(command, sizeof(command),
             "for i in $(seq 100); do test -s %s/status && break; sleep 0.1; done; cat %s/status",
             folder, folder);
    CHECK_PRINTS(c, sandbox, command, "0\n");
    free(folder);
}

static void a_command_that_closes_its_output_runs_on(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    contract_run run;
    contract_exec(c, sandbox, "echo before; exec >&- 2>&-; sleep 0.3; exit 7", NULL, &run);
    CHECK(c, run.result.exit_code == 7 && run.output.stdout_size == 7);
    contract_run_clear(&run);
}

static void closing_the_sandbox_ends_its_commands(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    CHECK_OK(c, alineo_sandbox_exec(sandbox, "sleep 60", NULL, &exec, &err), err);
    CHECK_OK(c, alineo_sandbox_close(sandbox, NULL, &err), err);
    CHECK_CODE(c, ALINEO_CANCELLED, alineo_exec_wait(exec, &result, &err), err);
    CHECK(c, result.outcome == ALINEO_OUTCOME_CANCELLED);
    alineo_exec_free(exec);
}

static void a_signal_reaches_the_command(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
    CHECK_OK(c,
             alineo_sandbox_exec(
                 sandbox, "trap 'echo got; exit 3' USR1; echo ready; while :; do sleep 0.05; done",
                 NULL, &exec, &err),
             err);
    CHECK_OK(c, alineo_exec_next(exec, 30000, &event, &err), err);
    CHECK(c, event.type == ALINEO_EXEC_STDOUT);
    CHECK_OK(c, alineo_exec_signal(exec, SIGUSR1, &err), err);
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    CHECK_CODE(c, ALINEO_COMMAND_FAILED, alineo_exec_wait(exec, &result, &err), err);
    CHECK(c, result.exit_code == 3);
    alineo_exec_free(exec);
}

static void a_command_killed_for_memory_is_told_so(contract *c) {
    alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
    contract_run run;
    options.memory = "64Mi";
    alineo_sandbox *sandbox = contract_sandbox_with(c, &options);
    contract_exec(c, sandbox, "head -c 300000000 /dev/zero | tail -c 299999999 | wc -c", NULL,
                  &run);
    CHECK_SAYING(
        c, run.result.exit_code != 0 || strtoul(run.output.stdout_data, NULL, 10) != 299999999,
        "300 MB were held below a limit of 64 MiB");
    contract_run_clear(&run);
    contract_exec(c, sandbox, "x=$(head -c 300000000 /dev/zero | tr '\\0' a); echo ${#x}", NULL,
                  &run);
    CHECK_SAYING(c, run.result.outcome == ALINEO_OUTCOME_SIGNALLED && run.result.oom != 0,
                 "outcome %d, exit code %d, oom %d", (int)run.result.outcome,
                 (int)run.result.exit_code, (int)run.result.oom);
    contract_run_clear(&run);
    CHECK_PRINTS(c, sandbox, "echo goes on", "goes on\n");
}

const contract_case contract_ending_cases[] = {
    {"ending/exit codes are true", "", exit_codes_are_true, 0},
    {"ending/strict is a failure that keeps the exit code", "",
     strict_is_a_failure_that_keeps_the_exit_code, 0},
    {"ending/signals are told apart from exit codes", "", signals_are_told_apart_from_exit_codes,
     0},
    {"ending/a missing program is 127 and one that cannot run 126", "",
     a_missing_program_is_127_and_one_that_cannot_run_126, 0},
    {"ending/an empty argv is an argument error", "", an_empty_argv_is_an_argument_error, 0},
    {"ending/a timeout ends the command in time", "", a_timeout_ends_the_command_in_time, 0},
    {"ending/a timeout ends the whole tree", "kill_tree", a_timeout_ends_the_whole_tree, 0},
    {"ending/a cancel ends the command", "", a_cancel_ends_the_command, 0},
    {"ending/a child left in the background does not hold the command", "",
     a_child_left_in_the_background_does_not_hold_the_command, 0},
    {"ending/a child left in the background lives on", "", a_child_left_in_the_background_lives_on,
     0},
    {"ending/a command that closes its output runs on", "",
     a_command_that_closes_its_output_runs_on, 0},
    {"ending/closing the sandbox ends its commands", "", closing_the_sandbox_ends_its_commands, 0},
    {"ending/a signal reaches the command", "signals", a_signal_reaches_the_command, 0},
    {"ending/a command killed for memory is told so", "limits.memory",
     a_command_killed_for_memory_is_told_so, 0},
    {NULL, NULL, NULL, 0},
};
