/* SPDX-License-Identifier: Apache-2.0 */
/* Commands with a terminal. */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static alineo_exec_options with_terminal(void) {
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.pty = 1;
    options.strict = ALINEO_NO;
    return options;
}

/* Runs it to its end with a terminal and compares what came of it. */
static void expect(contract *c, alineo_sandbox *sandbox, const char *command,
                   const alineo_exec_options *options, const char *expected) {
    contract_run run;
    contract_exec(c, sandbox, command, options, &run);
    CHECK(c, run.code == ALINEO_OK && run.result.exit_code == 0);
    CHECK_SAYING(c,
                 run.output.stdout_size == strlen(expected) &&
                     memcmp(run.output.stdout_data, expected, run.output.stdout_size) == 0,
                 "%s gave %s", command,
                 run.output.stdout_data != NULL ? run.output.stdout_data : "nothing");
    CHECK(c, run.output.stderr_size == 0);
    contract_run_clear(&run);
}

/* Reads on until `text` was there; gives false when the command ended before. */
static bool read_until(contract *c, alineo_exec *exec, const char *text) {
    char seen[8192] = "";
    size_t used = 0;
    alineo_error *err = NULL;
    for (;;) {
        alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
        CHECK_OK(c, alineo_exec_next(exec, 20000, &event, &err), err);
        CHECK_SAYING(c, event.type != ALINEO_EXEC_NONE, "waited for \"%s\", got \"%s\"", text,
                     seen);
        if (event.type == ALINEO_EXEC_EXIT)
            return false;
        for (size_t i = 0; i < event.data_size && used < sizeof(seen) - 1; i++)
            if (((const char *)event.data)[i] != '\0')
                seen[used++] = ((const char *)event.data)[i];
        seen[used] = '\0';
        if (strstr(seen, text) != NULL)
            return true;
    }
}

static alineo_exec *start(contract *c, alineo_sandbox *sandbox, const char *command,
                          const alineo_exec_options *options) {
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    CHECK_OK(c, alineo_sandbox_exec(sandbox, command, options, &exec, &err), err);
    return exec;
}

static void type(contract *c, alineo_exec *exec, const char *text) {
    alineo_error *err = NULL;
    CHECK_OK(c, alineo_exec_write_stdin(exec, text, strlen(text), 10000, NULL, &err), err);
}

static void all_three_are_one_terminal_of_the_size_asked_for(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec_options options = with_terminal();
    expect(c, sandbox, "test -t 0 && test -t 1 && test -t 2 && echo yes >&2", &options, "yes\r\n");
    expect(c, sandbox, "stty size", &options, "24 80\r\n");
    options.rows = 50;
    options.columns = 132;
    expect(c, sandbox, "stty size", &options, "50 132\r\n");
}

static void all_output_comes_before_the_end(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec_options options = with_terminal();
    for (int i = 0; i < 100; i++)
        expect(c, sandbox, "printf done", &options, "done");
    for (int i = 0; i < 5; i++) {
        contract_run run;
        contract_exec(c, sandbox, "head -c 102400 /dev/zero | tr '\\0' x", &options, &run);
        CHECK_SAYING(c, run.output.stdout_size == 102400, "of 102400 bytes came %zu",
                     run.output.stdout_size);
        contract_run_clear(&run);
    }
}

static void what_is_typed_arrives(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec_options options = with_terminal();
    alineo_exec *exec =
        start(c, sandbox, "stty -echo; echo ready; read line; echo \"<$line>\"", &options);
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    alineo_error *err = NULL;
    CHECK(c, read_until(c, exec, "ready\r\n"));
    type(c, exec, "some words\n");
    CHECK(c, read_until(c, exec, "<some words>\r\n"));
    CHECK_OK(c, alineo_exec_wait(exec, &result, &err), err);
    CHECK(c, result.exit_code == 0);
    alineo_exec_free(exec);
}

static void the_end_of_the_input_is_typed(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec_options options = with_terminal();
    options.stdin_kind = ALINEO_STDIN_BYTES;
    options.stdin_data = "one\ntwo";
    options.stdin_size = 7;
    expect(c, sandbox, "wc -c | tr -d ' '", &options, "one\r\ntwo7\r\n");
    options = with_terminal();
    alineo_exec *exec = start(c, sandbox, "stty -echo; echo ready; cat; echo end", &options);
    alineo_error *err = NULL;
    CHECK(c, read_until(c, exec, "ready\r\n"));
    type(c, exec, "x");
    CHECK_OK(c, alineo_exec_close_stdin(exec, &err), err);
    CHECK(c, read_until(c, exec, "xend\r\n"));
    CHECK_OK(c, alineo_exec_wait(exec, NULL, &err), err);
    alineo_exec_free(exec);
}

static void control_characters_reach_the_command_in_front(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec_options options = with_terminal();
    alineo_exec *exec = start(
        c, sandbox, "trap 'echo interrupted; exit 5' INT; echo ready; sleep 30 & wait", &options);
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    CHECK(c, read_until(c, exec, "ready\r\n"));
    type(c, exec, "\003");
    CHECK(c, read_until(c, exec, "interrupted\r\n"));
    (void)alineo_exec_wait(exec, &result, NULL);
    CHECK(c, result.outcome == ALINEO_OUTCOME_EXITED && result.exit_code == 5);
    alineo_exec_free(exec);
}

static void it_is_resized_and_told_so(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec_options options = with_terminal();
    alineo_exec *exec = start(c, sandbox,
                              "trap 'stty size; exit 0' WINCH; echo ready;"
                              " while :; do sleep 0.1; done",
                              &options);
    alineo_error *err = NULL;
    CHECK(c, read_until(c, exec, "ready\r\n"));
    CHECK_CODE(c, ALINEO_INVALID_ARGUMENT, alineo_exec_resize(exec, 0, 10, &err), err);
    CHECK_OK(c, alineo_exec_resize(exec, 40, 100, &err), err);
    CHECK(c, read_until(c, exec, "40 100\r\n"));
    CHECK_OK(c, alineo_exec_wait(exec, NULL, &err), err);
    CHECK_CODE(c, ALINEO_EXEC_NOT_FOUND, alineo_exec_resize(exec, 40, 100, &err), err);
    CHECK_CODE(c, ALINEO_IO, alineo_exec_write_stdin(exec, "x", 1, 1000, NULL, &err), err);
    alineo_exec_free(exec);
}

static void a_command_without_one_is_not_resized_nor_disturbed(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    alineo_exec *exec = start(c, sandbox, "sleep 1; echo ok", &options);
    alineo_output output = ALINEO_OUTPUT_INIT;
    alineo_error *err = NULL;
    CHECK_CODE(c, ALINEO_INVALID_ARGUMENT, alineo_exec_resize(exec, 40, 100, &err), err);
    CHECK_OK(c, alineo_exec_output(exec, 0, &output, NULL, &err), err);
    CHECK(c, output.stdout_size == 3 && memcmp(output.stdout_data, "ok\n", 3) == 0);
    alineo_output_clear(&output);
    alineo_exec_free(exec);
}

static void one_that_nobody_reads_is_cancelled_at_once(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec_options options = with_terminal();
    alineo_exec *exec = start(c, sandbox, "yes", &options);
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    contract_sleep_ms(1000);
    int64_t before = contract_now_ms();
    CHECK(c, alineo_exec_cancel(exec, NULL) == ALINEO_OK);
    (void)alineo_exec_wait(exec, &result, NULL);
    CHECK(c, result.outcome == ALINEO_OUTCOME_CANCELLED);
    CHECK(c, contract_now_ms() - before < 5000);
    alineo_exec_free(exec);
}

static void it_has_an_exit_code_and_a_timeout(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec_options options = with_terminal();
    contract_run run;
    contract_exec(c, sandbox, "exit 9", &options, &run);
    CHECK(c, run.result.outcome == ALINEO_OUTCOME_EXITED && run.result.exit_code == 9);
    contract_run_clear(&run);
    options.timeout_ms = 300;
    contract_exec(c, sandbox, "sleep 30", &options, &run);
    CHECK(c, run.result.outcome == ALINEO_OUTCOME_TIMED_OUT && run.result.exit_code == 124);
    contract_run_clear(&run);
}

static void it_is_refused_before_the_command_where_it_is_denied(contract *c) {
    if (contract_has(c, ALINEO_CAP_PTY))
        contract_skip(c, "the provider has terminals");
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec_options options = with_terminal();
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    CHECK_CODE(c, ALINEO_CAPABILITY_UNSUPPORTED,
               alineo_sandbox_exec(sandbox, "true", &options, &exec, &err), err);
}

const contract_case contract_pty_cases[] = {
    {"pty/all three are one terminal, of the size asked for", "pty",
     all_three_are_one_terminal_of_the_size_asked_for, 0},
    {"pty/all output comes before the end", "pty", all_output_comes_before_the_end, 0},
    {"pty/what is typed arrives", "pty", what_is_typed_arrives, 0},
    {"pty/the end of the input is typed", "pty", the_end_of_the_input_is_typed, 0},
    {"pty/control characters reach the command in front", "pty",
     control_characters_reach_the_command_in_front, 0},
    {"pty/it is resized and told so", "pty", it_is_resized_and_told_so, 0},
    {"pty/a command without one is not resized, nor disturbed", "",
     a_command_without_one_is_not_resized_nor_disturbed, 0},
    {"pty/one that nobody reads is cancelled at once", "pty",
     one_that_nobody_reads_is_cancelled_at_once, 0},
    {"pty/it has an exit code and a timeout", "pty", it_has_an_exit_code_and_a_timeout, 0},
    {"pty/it is refused before the command where it is denied", "",
     it_is_refused_before_the_command_where_it_is_denied, 0},
    {NULL, NULL, NULL, 0},
};
