/* SPDX-License-Identifier: Apache-2.0 */
/* What a command prints arrives to the byte; what it is given, it gets. */
#include "contract.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void newlines_are_kept_exactly(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    CHECK_PRINTS(c, sandbox, "printf 'a\\n\\nb'", "a\n\nb");
    CHECK_PRINTS(c, sandbox, "printf '\\n'", "\n");
    CHECK_PRINTS(c, sandbox, "printf 'x\\r\\n\\r\\ny'", "x\r\n\r\ny");
}

static void a_last_line_without_newline_is_kept(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    CHECK_PRINTS(c, sandbox, "printf 'one\\ntwo'", "one\ntwo");
    CHECK_PRINTS(c, sandbox, "printf x", "x");
}

static void a_command_without_output_ends_once(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
    CHECK_OK(c, alineo_sandbox_exec(sandbox, "true", NULL, &exec, &err), err);
    CHECK_OK(c, alineo_exec_next(exec, 30000, &event, &err), err);
    CHECK(c,
          event.type == ALINEO_EXEC_EXIT && event.result != NULL && event.result->exit_code == 0);
    CHECK_OK(c, alineo_exec_next(exec, 0, &event, &err), err);
    CHECK(c, event.type == ALINEO_EXEC_NONE);
    alineo_exec_free(exec);
}

static void any_bytes_survive(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    contract_run run;
    unsigned char expected[256];
    for (size_t i = 0; i < sizeof(expected); i++)
        expected[i] = (unsigned char)i;
    CHECK_PRINTS(c, sandbox, "printf '\\377\\376\\200A'", "\377\376\200A");
    CHECK_PRINTS(c, sandbox, "printf 'a\\0b\\0'", "a\0b\0");
    contract_exec(
        c, sandbox,
        "i=0; while [ $i -lt 256 ]; do printf \"\\\\$(printf %03o $i)\"; i=$((i+1)); done", NULL,
        &run);
    CHECK(c, run.output.stdout_size == 256 && memcmp(run.output.stdout_data, expected, 256) == 0);
    contract_run_clear(&run);
}

static void a_mebibyte_arrives_whole(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    contract_run run;
    contract_exec(c, sandbox, "yes 0123456789abcde | head -c 1048576", NULL, &run);
    CHECK_SAYING(c, run.output.stdout_size == 1048576, "%zu bytes came", run.output.stdout_size);
    for (size_t i = 0; i < run.output.stdout_size; i += 16)
        CHECK(c, memcmp(run.output.stdout_data + i, "0123456789abcde\n", 16) == 0);
    CHECK(c, run.result.stdout_bytes == 1048576);
    contract_run_clear(&run);
}

static void many_lines_arrive_in_order(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    contract_run run;
    contract_exec(c, sandbox, "i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done", NULL,
                  &run);
    char *at = run.output.stdout_data;
    for (long i = 0; i < 20000; i++) {
        CHECK_SAYING(c, at != NULL && strtol(at, &at, 10) == i && *at == '\n',
                     "line %ld is not in its place", i);
        at++;
    }
    contract_run_clear(&run);
}

static void stdout_and_stderr_are_apart(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    contract_run run;
    contract_exec(c, sandbox, "echo out; echo err >&2; echo out2; echo err2 >&2", NULL, &run);
    CHECK(c, run.output.stdout_size == 9 && memcmp(run.output.stdout_data, "out\nout2\n", 9) == 0);
    CHECK(c, run.output.stderr_size == 9 && memcmp(run.output.stderr_data, "err\nerr2\n", 9) == 0);
    contract_run_clear(&run);
}

static void split_characters_are_put_together(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    CHECK_PRINTS(
        c, sandbox,
        "printf '\\303'; sleep 0.2; printf '\\244'; printf '\\360\\237'; sleep 0.1; printf '\\230\\200'",
        "\303\244\360\237\230\200");
}

static void variables_go_in_as_they_are(contract *c) {
    static const char *const env[] = {"A", "x y",        "B", "$(id)", "C", "it's \"q\"",
                                      "D", "two\nlines", "E", "",      NULL};
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.env = env;
    static const char expected[] = "x y|$(id)|it's \"q\"|two\nlines||set";
    contract_expect_output(
        c, sandbox, "printf '%s|%s|%s|%s|%s|%s' \"$A\" \"$B\" \"$C\" \"$D\" \"$E\" \"${E+set}\"",
        &options, expected, sizeof(expected) - 1);
}

static void path_and_home_stay_when_variables_are_added(contract *c) {
    static const char *const env[] = {"A", "1", NULL};
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.env = env;
    contract_expect_output(
        c, sandbox, "test -n \"$PATH\" && test -n \"$HOME\" && ls / >/dev/null && echo \"$A\"",
        &options, "1\n", 2);
}

static void a_folder_with_blanks_and_quotes_is_a_working_directory(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    char *folder = contract_folder(c, sandbox);
    char command[512];
    char expected[512];
    snprintf(command, sizeof(command), "mkdir \"%s/a b'c\"", folder);
    CHECK_PRINTS(c, sandbox, command, "");
    snprintf(command, sizeof(command), "%s/a b'c", folder);
    int size = snprintf(expected, sizeof(expected), "%s\n", command);
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.cwd = command;
    contract_expect_output(c, sandbox, "pwd", &options, expected, (size_t)size);
    free(folder);
}

static void a_missing_working_directory_is_told_before_the_command_runs(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    options.cwd = "/no/such/folder";
    CHECK_CODE(c, ALINEO_FILE_NOT_FOUND,
               alineo_sandbox_exec(sandbox, "true", &options, &exec, &err), err);
}

static void an_argv_runs_without_a_shell(contract *c) {
    static const char *const argv[] = {"printf", "%s|", "a b", "$HOME", "'\"", "", NULL};
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.argv = argv;
    contract_run run;
    contract_exec(c, sandbox, NULL, &options, &run);
    static const char expected[] = "a b|$HOME|'\"||";
    CHECK(c, run.output.stdout_size == sizeof(expected) - 1 &&
                 memcmp(run.output.stdout_data, expected, sizeof(expected) - 1) == 0);
    contract_run_clear(&run);
}

static void a_script_of_many_lines_runs(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    CHECK_PRINTS(c, sandbox,
                 "#!/bin/sh\nset -eu\nx=1\nif [ $x = 1 ]; then\n  echo yes\nfi\ncat <<'E'\n$x\nE\n",
                 "yes\n$x\n");
}

static void long_commands_run(contract *c) {
    static const size_t sizes[] = {140000, 1048576};
    alineo_sandbox *sandbox = contract_sandbox(c);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char *command = malloc(sizes[i] + 64);
        CHECK(c, command != NULL);
        memset(command, ' ', sizes[i]);
        memcpy(command, "x=1\n: '", 7);
        memcpy(command + sizes[i], "'\necho $x end\n", 15);
        CHECK_PRINTS(c, sandbox, command, "1 end\n");
        free(command);
    }
}

static void commands_in_a_row_are_all_complete(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    for (int i = 0; i < 100; i++)
        CHECK_PRINTS(c, sandbox, "echo x", "x\n");
}

typedef struct parallel {
    contract *c;
    alineo_sandbox *sandbox;
    int number;
    bool good;
} parallel;

static void *run_parallel(void *argument) {
    parallel *p = argument;
    char command[128];
    char expected[64];
    snprintf(command, sizeof(command), "i=0; while [ $i -lt 50 ]; do echo %d; i=$((i+1)); done",
             p->number);
    int line = snprintf(expected, sizeof(expected), "%d\n", p->number);
    alineo_exec *exec = NULL;
    alineo_output output = ALINEO_OUTPUT_INIT;
    alineo_error *err = NULL;
    p->good = alineo_sandbox_exec(p->sandbox, command, NULL, &exec, &err) == ALINEO_OK &&
              alineo_exec_output(exec, 0, &output, NULL, &err) == ALINEO_OK &&
              output.stdout_size == (size_t)line * 50;
    for (size_t i = 0; p->good && i < 50; i++)
        p->good = memcmp(output.stdout_data + i * (size_t)line, expected, (size_t)line) == 0;
    alineo_error_free(err);
    alineo_output_clear(&output);
    alineo_exec_free(exec);
    return NULL;
}

static void sixteen_commands_at_once_keep_their_output_apart(contract *c) {
    enum {
        COUNT = 16
    };
    alineo_sandbox *sandbox = contract_sandbox(c);
    parallel work[COUNT];
    pthread_t threads[COUNT];
    for (int i = 0; i < COUNT; i++) {
        work[i] = (parallel){c, sandbox, 1000 + i, false};
        CHECK(c, pthread_create(&threads[i], NULL, run_parallel, &work[i]) == 0);
    }
    for (int i = 0; i < COUNT; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < COUNT; i++)
        CHECK_SAYING(c, work[i].good, "command %d did not give its own output, whole", i);
}

static void a_poll_loop_sees_all_of_it(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    uint64_t bytes = 0;
    bool ended = false;
    CHECK_OK(c,
             alineo_sandbox_exec(sandbox, "for i in 1 2 3; do echo $i; sleep 0.1; done", NULL,
                                 &exec, &err),
             err);
    for (int rounds = 0; !ended && rounds < 10000; rounds++) {
        alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
        struct pollfd wait = {alineo_exec_poll_fd(exec), POLLIN, 0};
        CHECK(c, poll(&wait, 1, 30000) == 1);
        CHECK_OK(c, alineo_exec_next(exec, 0, &event, &err), err);
        if (event.type == ALINEO_EXEC_STDOUT)
            bytes += event.data_size;
        ended = event.type == ALINEO_EXEC_EXIT;
    }
    CHECK(c, ended && bytes == 6);
    alineo_exec_free(exec);
}

const contract_case contract_exec_cases[] = {
    {"exec/newlines are kept exactly", "bytes", newlines_are_kept_exactly, 0},
    {"exec/a last line without newline is kept", "bytes", a_last_line_without_newline_is_kept, 0},
    {"exec/a command without output ends once", "", a_command_without_output_ends_once, 0},
    {"exec/any bytes survive", "bytes", any_bytes_survive, 0},
    {"exec/a mebibyte arrives whole", "", a_mebibyte_arrives_whole, 0},
    {"exec/many lines arrive in order", "", many_lines_arrive_in_order, 0},
    {"exec/stdout and stderr are apart", "streams", stdout_and_stderr_are_apart, 0},
    {"exec/split characters are put together", "bytes", split_characters_are_put_together, 0},
    {"exec/variables go in as they are", "", variables_go_in_as_they_are, 0},
    {"exec/PATH and HOME stay when variables are added", "",
     path_and_home_stay_when_variables_are_added, 0},
    {"exec/a folder with blanks and quotes is a working directory", "",
     a_folder_with_blanks_and_quotes_is_a_working_directory, 0},
    {"exec/a missing working directory is told before the command runs", "",
     a_missing_working_directory_is_told_before_the_command_runs, 0},
    {"exec/an argv runs without a shell", "", an_argv_runs_without_a_shell, 0},
    {"exec/a script of many lines runs", "", a_script_of_many_lines_runs, 0},
    {"exec/long commands run", "", long_commands_run, 0},
    {"exec/commands in a row are all complete", "", commands_in_a_row_are_all_complete, 0},
    {"exec/sixteen commands at once keep their output apart", "",
     sixteen_commands_at_once_keep_their_output_apart, 0},
    {"exec/a poll loop sees all of it", "", a_poll_loop_sees_all_of_it, 0},
    {NULL, NULL, NULL, 0},
};
