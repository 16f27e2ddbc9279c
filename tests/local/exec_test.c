/* SPDX-License-Identifier: Apache-2.0 */
/* test: timeout=300 */
/* Running commands in sandboxes of the local provider: what goes in, comes out, how it ends. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/io.h"
#include "core/util/str.h"
#include "tests/support/folder.h"
#include "tests/support/local_fixture.h"
#include "tests/support/test.h"

static local_fixture f;
static char id[129];

static int set_up(void **state) {
    (void)state;
    local_fixture_open(&f);
    local_fixture_create(&f, NULL, id);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    if (f.self != NULL)
        local_fixture_close(&f);
    f.self = NULL;
    return 0;
}

static alineo_code start_code(const alineo_exec_request *request, alineo_error **err) {
    alineo_exec_io io = ALINEO_EXEC_IO_INIT;
    alineo_code code = f.table->exec_start(f.self, id, request, &io, err);
    if (code == ALINEO_OK)
        local_let_go(&f, &io);
    return code;
}

/* --- streams -----------------------------------------------------------------------------------*/

static void a_command_runs_and_says_what_it_has_to_say(void **state) {
    (void)state;
    local_ran ran;
    local_sh(&f, id, "printf 'one\\ntwo'; printf three >&2; exit 7", &ran);
    assert_int_equal(ran.status.outcome, ALINEO_OUTCOME_EXITED);
    assert_int_equal(ran.status.exit_code, 7);
    assert_string_equal(al_buf_str(&ran.out), "one\ntwo");
    assert_string_equal(al_buf_str(&ran.err), "three");
    local_ran_clear(&f, &ran);
}

static void bytes_come_as_they_were_written(void **state) {
    (void)state;
    static const struct {
        const char *command;
        const char *bytes;
        size_t size;
    } cases[] = {
        {"printf 'a\\n\\nb'", "a\n\nb", 4},
        {"printf '\\n'", "\n", 1},
        {"printf 'x\\r\\n\\r\\ny'", "x\r\n\r\ny", 6},
        {"printf x", "x", 1},
        {"true", "", 0},
        {"printf '\\377\\376\\200A'", "\377\376\200A", 4},
        {"printf 'a\\0b\\0'", "a\0b\0", 4},
    };
    for (size_t i = 0; i < AL_COUNT(cases); i++) {
        local_ran ran;
        local_sh(&f, id, cases[i].command, &ran);
        assert_int_equal(ran.status.exit_code, 0);
        assert_int_equal(ran.out.size, cases[i].size);
        if (cases[i].size > 0)
            assert_memory_equal(ran.out.data, cases[i].bytes, cases[i].size);
        local_ran_clear(&f, &ran);
    }
}

static void much_output_comes_whole_and_in_order(void **state) {
    (void)state;
    local_ran ran;
    local_sh(&f, id, "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done", &ran);
    const char *at = al_buf_str(&ran.out);
    for (int i = 0; i < 20000; i++) {
        char line[32];
        int size = snprintf(line, sizeof(line), "line %d\n", i);
        assert_memory_equal(at, line, (size_t)size);
        at += size;
    }
    assert_string_equal(at, "");
    local_ran_clear(&f, &ran);
}

static void a_command_that_closes_its_output_runs_on(void **state) {
    (void)state;
    local_ran ran;
    local_sh(&f, id, "exec >&- 2>&-; sleep 0.2; exit 3", &ran);
    assert_int_equal(ran.status.exit_code, 3);
    assert_int_equal(ran.out.size, 0);
    local_ran_clear(&f, &ran);
}

/* --- stdin -------------------------------------------------------------------------------------*/

static void without_stdin_reads_find_their_end_at_once(void **state) {
    (void)state;
    char *text = local_output(&f, id, "wc -c; cat; test -t 0 || echo none");
    assert_string_equal(text, "0\nnone\n");
    free(text);
}

static void stdin_is_what_was_written(void **state) {
    (void)state;
    const char *argv[] = {"/bin/sh", "-c", "wc -c; echo tail", NULL};
    alineo_exec_request request = {
        .size = sizeof(request), .exec_id = "in", .argv = argv, .want_stdin = 1};
    static const struct {
        const char *input;
        const char *output;
    } cases[] = {{"", "0\ntail\n"}, {"abc", "3\ntail\n"}};
    for (size_t i = 0; i < AL_COUNT(cases) * 20; i++) {
        local_ran ran;
        local_run(&f, id, &request, cases[i % 2].input, &ran);
        assert_string_equal(al_buf_str(&ran.out), cases[i % 2].output);
        local_ran_clear(&f, &ran);
    }
}

static void a_command_ends_while_its_stdin_is_open(void **state) {
    (void)state;
    const char *argv[] = {"true", NULL};
    alineo_exec_request request = {
        .size = sizeof(request), .exec_id = "in", .argv = argv, .want_stdin = 1};
    alineo_exec_io io = ALINEO_EXEC_IO_INIT;
    alineo_exec_status status = ALINEO_EXEC_STATUS_INIT;
    alineo_error *err = NULL;
    local_assert_ok(f.table->exec_start(f.self, id, &request, &io, &err), &err);
    local_assert_ok(f.table->exec_wait(f.self, io.exec, 10000, &status, &err), &err);
    assert_int_equal(status.outcome, ALINEO_OUTCOME_EXITED);
    assert_int_equal(status.exit_code, 0);
    local_let_go(&f, &io);
}

/* --- what runs, and where ----------------------------------------------------------------------*/

static void a_missing_program_is_127_and_one_that_cannot_run_126(void **state) {
    (void)state;
    free(local_output(&f, id, "echo data > /tmp/plain; mkdir -p /tmp/folder"));
    static const struct {
        const char *program;
        int code;
    } cases[] = {{"no-such-bin", 127},
                 {"/no/such/bin", 127},
                 {"/tmp/plain", 126},
                 {"/tmp/folder", 126},
                 {"", 127}};
    for (size_t i = 0; i < AL_COUNT(cases); i++) {
        const char *argv[] = {cases[i].program, NULL};
        alineo_exec_request request = {.size = sizeof(request), .exec_id = "none", .argv = argv};
        local_ran ran;
        local_run(&f, id, &request, NULL, &ran);
        assert_int_equal(ran.status.outcome, ALINEO_OUTCOME_EXITED);
        assert_int_equal(ran.status.exit_code, cases[i].code);
        assert_non_null(ran.status.detail);
        assert_non_null(strstr(ran.status.detail, cases[i].program));
        local_ran_clear(&f, &ran);
    }
}

static void an_empty_argv_is_refused(void **state) {
    (void)state;
    const char *argv[] = {NULL};
    alineo_exec_request request = {.size = sizeof(request), .exec_id = "none", .argv = argv};
    alineo_error *err = NULL;
    local_assert_code(start_code(&request, &err), &err, ALINEO_INVALID_ARGUMENT);
}

static void a_bad_working_folder_is_an_error_and_nothing_runs(void **state) {
    (void)state;
    free(local_output(&f, id, "echo data > /tmp/plain"));
    static const struct {
        const char *cwd;
        alineo_code code;
    } cases[] = {
        {"/no/such/folder", ALINEO_FILE_NOT_FOUND},
        {"/tmp/plain", ALINEO_NOT_A_DIRECTORY},
        {"relative", ALINEO_INVALID_ARGUMENT},
    };
    const char *argv[] = {"touch", "/tmp/it-ran", NULL};
    for (size_t i = 0; i < AL_COUNT(cases); i++) {
        alineo_exec_request request = {
            .size = sizeof(request), .exec_id = "cwd", .argv = argv, .cwd = cases[i].cwd};
        alineo_error *err = NULL;
        local_assert_code(start_code(&request, &err), &err, cases[i].code);
    }
    free(local_output(&f, id, "test ! -e /tmp/it-ran"));
}

static void a_descriptor_of_the_host_is_no_working_folder(void **state) {
    (void)state;
    /* A folder of the host, under a number that a careless start would hand down. */
    assert_int_equal(dup2(STDERR_FILENO, 2000), 2000);
    for (int fd = 3; fd < 16; fd++) {
        char cwd[32];
        (void)snprintf(cwd, sizeof(cwd), "/proc/self/fd/%d", fd);
        const char *argv[] = {"true", NULL};
        alineo_exec_request request = {
            .size = sizeof(request), .exec_id = "cwd", .argv = argv, .cwd = cwd};
        alineo_error *err = NULL;
        alineo_code code = start_code(&request, &err);
        assert_int_not_equal(code, ALINEO_OK);
        alineo_error_free(err);
    }
    char *fds = local_output(&f, id, "exec ls /proc/self/fd");
    assert_string_equal(fds, "0\n1\n2\n3\n"); /* the last one is what ls reads */
    free(fds);
    (void)close(2000);
}

static void the_environment_is_what_was_given_to_the_byte(void **state) {
    (void)state;
    const char *env[] = {"A", "x y", "B",    "$(id)",         "C", "it's \"q\"", "D", "l\nm",
                         "E", "",    "PATH", "/usr/bin:/bin", NULL};
    const char *argv[] = {"env", "-0", NULL};
    alineo_exec_request request = {
        .size = sizeof(request), .exec_id = "exec-7", .argv = argv, .env = env, .cwd = "/tmp"};
    static const char expected[] = "PATH=/usr/bin:/bin\0HOME=/root\0A=x y\0B=$(id)\0C=it's \"q\"\0"
                                   "D=l\nm\0E=\0ALINEO_EXEC_ID=exec-7";
    local_ran ran;
    local_run(&f, id, &request, NULL, &ran);
    assert_int_equal(ran.out.size, sizeof(expected));
    assert_memory_equal(ran.out.data, expected, sizeof(expected));
    local_ran_clear(&f, &ran);
}

static void a_variable_that_cannot_be_is_refused(void **state) {
    (void)state;
    const char *const bad[] = {"", "A=B"};
    const char *argv[] = {"true", NULL};
    for (size_t i = 0; i < AL_COUNT(bad); i++) {
        const char *env[] = {bad[i], "x", NULL};
        alineo_exec_request request = {
            .size = sizeof(request), .exec_id = "env", .argv = argv, .env = env};
        alineo_error *err = NULL;
        local_assert_code(start_code(&request, &err), &err, ALINEO_INVALID_ARGUMENT);
    }
}

static char *filled(size_t size) {
    char *text = malloc(size + 1);
    assert_non_null(text);
    memset(text, 'x', size);
    text[size] = '\0';
    return text;
}

static void arguments_go_up_to_the_kernels_limit_and_no_further(void **state) {
    (void)state;
    al_autofree char *fits = filled(131071);
    al_autofree char *too_long = filled(131072);
    const char *argv[] = {"sh", "-c", "printf %s \"$1\" | wc -c", "sh", fits, NULL};
    alineo_exec_request request = {.size = sizeof(request), .exec_id = "long", .argv = argv};
    local_ran ran;
    local_run(&f, id, &request, NULL, &ran);
    assert_string_equal(al_buf_str(&ran.out), "131071\n");
    local_ran_clear(&f, &ran);

    alineo_error *err = NULL;
    argv[4] = too_long;
    local_assert_code(start_code(&request, &err), &err, ALINEO_TOO_LARGE);
}

static void a_script_is_found_on_descriptor_9(void **state) {
    (void)state;
    size_t size = 3 * 1024 * 1024;
    al_autofree char *script = filled(size);
    const char *argv[] = {"sh", "-c", "wc -c <&9; exec 9<&-; echo out", NULL};
    alineo_exec_request request = {.size = sizeof(request),
                                   .exec_id = "script",
                                   .argv = argv,
                                   .script = script,
                                   .script_size = size};
    local_ran ran;
    local_run(&f, id, &request, NULL, &ran);
    assert_string_equal(al_buf_str(&ran.out), "3145728\nout\n");
    local_ran_clear(&f, &ran);
}

static void a_command_runs_as_the_user_that_was_asked_for(void **state) {
    (void)state;
    free(local_output(
        &f, id,
        "echo 'ann:x:2000:2001:Ann:/home/ann:/bin/sh' >> /etc/passwd;"
        "echo 'extra:x:77:bob,ann' >> /etc/group; echo 'annex:x:2001:' >> /etc/group"));
    static const struct {
        const char *user;
        const char *output;
    } cases[] = {
        {"ann", "2000 2001 2001 77 /home/ann\n"},
        {"2000", "2000 2001 2001 77 /home/ann\n"},
        {"ann:extra", "2000 77 77 /home/ann\n"},
        {"1234:5678", "1234 5678 5678 /\n"},
        {"0", "0 0 0 /root\n"},
    };
    const char *argv[] = {"sh", "-c", "echo $(id -u) $(id -g) $(id -G) $HOME", NULL};
    for (size_t i = 0; i < AL_COUNT(cases); i++) {
        alineo_exec_request request = {
            .size = sizeof(request), .exec_id = "user", .argv = argv, .user = cases[i].user};
        local_ran ran;
        local_run(&f, id, &request, NULL, &ran);
        assert_string_equal(al_buf_str(&ran.out), cases[i].output);
        local_ran_clear(&f, &ran);
    }
    alineo_error *err = NULL;
    alineo_exec_request request = {
        .size = sizeof(request), .exec_id = "user", .argv = argv, .user = "nobody-of-that-name"};
    local_assert_code(start_code(&request, &err), &err, ALINEO_INVALID_ARGUMENT);
}

/* --- ends --------------------------------------------------------------------------------------*/

static void a_signal_that_ends_a_command_is_its_outcome(void **state) {
    (void)state;
    static const int signals[] = {SIGTERM, SIGKILL, SIGABRT, SIGSEGV};
    for (size_t i = 0; i < AL_COUNT(signals); i++) {
        char command[64];
        (void)snprintf(command, sizeof(command), "kill -%d $$; echo alive", signals[i]);
        local_ran ran;
        local_sh(&f, id, command, &ran);
        assert_int_equal(ran.status.outcome, ALINEO_OUTCOME_SIGNALLED);
        assert_int_equal(ran.status.signal, signals[i]);
        assert_int_equal(ran.status.exit_code, 128 + signals[i]);
        assert_int_equal(ran.out.size, 0);
        local_ran_clear(&f, &ran);
    }
}

static void signals_reach_the_commands_group(void **state) {
    (void)state;
    alineo_exec_io io;
    alineo_error *err = NULL;
    char ready;
    local_start(&f, id, "trap 'echo got; exit 5' USR1; echo .; while :; do sleep 0.01; done", 0,
                &io);
    assert_int_equal(read(io.stdout_fd, &ready, 1), 1);
    local_assert_ok(f.table->exec_signal(f.self, io.exec, SIGUSR1, &err), &err);
    alineo_exec_status status = ALINEO_EXEC_STATUS_INIT;
    local_assert_ok(f.table->exec_wait(f.self, io.exec, 10000, &status, &err), &err);
    assert_int_equal(status.exit_code, 5);
    local_assert_code(f.table->exec_signal(f.self, io.exec, SIGUSR1, &err), &err,
                      ALINEO_EXEC_NOT_FOUND);
    err = NULL;
    local_assert_code(f.table->exec_signal(f.self, io.exec, 65, &err), &err,
                      ALINEO_INVALID_ARGUMENT);
    local_let_go(&f, &io);
}

/* How many processes of the sandbox match PATTERN, which must not match itself. */
static void assert_running(const char *pattern, const char *count) {
    al_autofree char *command = al_strf("sleep 0.1; pgrep -fc '%s'; true", pattern);
    assert_non_null(command);
    al_autofree char *found = local_output(&f, id, command);
    assert_string_equal(found, count);
}

/* Runs COMMAND under a time limit and asserts that nothing of its tree outlives it. */
static void assert_tree_times_out(const char *command) {
    int64_t before = al_clock_monotonic_ms();
    alineo_exec_io io;
    alineo_error *err = NULL;
    alineo_exec_status status = ALINEO_EXEC_STATUS_INIT;
    local_start(&f, id, command, 300, &io);
    local_assert_ok(f.table->exec_wait(f.self, io.exec, 20000, &status, &err), &err);
    assert_int_equal(status.outcome, ALINEO_OUTCOME_TIMED_OUT);
    assert_int_equal(status.exit_code, 124);
    assert_true(al_clock_monotonic_ms() - before >= 300);
    local_let_go(&f, &io);
    assert_running("[s]leep [1-9]", "0\n");
}

static void a_time_limit_ends_the_whole_tree(void **state) {
    (void)state;
    assert_tree_times_out("sleep 40 & sleep 20; :");
    assert_tree_times_out("(sleep 40 | cat) & wait");
    assert_tree_times_out("setsid sleep 60 & sleep 60");
    assert_tree_times_out("(setsid sh -c 'sleep 60 & sleep 60' &) ; sleep 60");
    assert_tree_times_out("trap '' TERM INT HUP; while :; do sleep 1; done");
}

static void a_command_that_ends_in_time_leaves_no_late_kill(void **state) {
    (void)state;
    alineo_exec_io io;
    alineo_error *err = NULL;
    alineo_exec_status status = ALINEO_EXEC_STATUS_INIT;
    local_start(&f, id, "sleep 31 & exit 4", 200, &io);
    local_assert_ok(f.table->exec_wait(f.self, io.exec, 20000, &status, &err), &err);
    assert_int_equal(status.outcome, ALINEO_OUTCOME_EXITED);
    assert_int_equal(status.exit_code, 4);
    local_let_go(&f, &io);
    free(local_output(&f, id, "sleep 0.3"));
    assert_running("[s]leep 31", "1\n");
    free(local_output(&f, id, "pkill -f '[s]leep 31'"));
}

static void a_cancel_ends_the_tree_and_says_so(void **state) {
    (void)state;
    alineo_exec_io io;
    alineo_error *err = NULL;
    alineo_exec_status status = ALINEO_EXEC_STATUS_INIT;
    local_start(&f, id, "setsid sleep 300 & sleep 300", 0, &io);
    local_assert_code(f.table->exec_wait(f.self, io.exec, 0, &status, &err), &err, ALINEO_TIMEOUT);
    local_assert_ok(f.table->exec_cancel(f.self, io.exec, &err), &err);
    local_assert_ok(f.table->exec_cancel(f.self, io.exec, &err), &err);
    for (int i = 0; i < 2; i++) {
        status = (alineo_exec_status)ALINEO_EXEC_STATUS_INIT;
        local_assert_ok(f.table->exec_wait(f.self, io.exec, 20000, &status, &err), &err);
        assert_int_equal(status.outcome, ALINEO_OUTCOME_CANCELLED);
    }
    local_assert_ok(f.table->exec_cancel(f.self, io.exec, &err), &err);
    local_let_go(&f, &io);
    assert_running("[s]leep 300", "0\n");
}

static void a_command_that_is_let_go_runs_on(void **state) {
    (void)state;
    alineo_exec_io io;
    local_start(&f, id, "sleep 0.2; yes | head -c 1000000; echo done > /tmp/let-go", 0, &io);
    local_let_go(&f, &io);
    free(local_output(&f, id,
                      "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do "
                      "test -e /tmp/let-go && exit 0; sleep 0.1; done; exit 1"));
}

static void what_a_command_leaves_running_never_meets_a_broken_or_full_pipe(void **state) {
    (void)state;
    char *started = local_output(&f, id,
                                 "(trap 'echo broken > /tmp/pipe' PIPE; sleep 0.2;"
                                 " head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2;"
                                 " echo fine > /tmp/pipe) & echo started");
    assert_string_equal(started, "started\n");
    free(started);
    char *result = local_output(&f, id,
                                "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do "
                                "test -s /tmp/pipe && break; sleep 0.1; done; cat /tmp/pipe");
    assert_string_equal(result, "fine\n");
    free(result);
}

static void two_hundred_commands_leave_no_descriptor(void **state) {
    (void)state;
    free(local_output(&f, id, "true"));
    size_t before = test_count_fds();
    for (int i = 0; i < 100; i++) {
        char *text = local_output(&f, id, "echo x");
        assert_string_equal(text, "x\n");
        free(text);
        const char *argv[] = {"no-such-bin", NULL};
        alineo_exec_request request = {.size = sizeof(request), .exec_id = "none", .argv = argv};
        local_ran ran;
        local_run(&f, id, &request, NULL, &ran);
        assert_int_equal(ran.status.exit_code, 127);
        local_ran_clear(&f, &ran);
    }
    assert_int_equal(test_count_fds(), before);
}

static void what_is_not_offered_is_refused_by_name(void **state) {
    (void)state;
    const char *argv[] = {"true", NULL};
    alineo_error *err = NULL;
    alineo_exec_request request = {.size = sizeof(request), .exec_id = "no", .argv = argv};
    request.background = 1;
    request.want_pty = 1;
    local_assert_code(start_code(&request, &err), &err, ALINEO_CAPABILITY_UNSUPPORTED);
    request.background = request.want_pty = 0;
    request.shell_id = "shell";
    local_assert_code(start_code(&request, &err), &err, ALINEO_CAPABILITY_UNSUPPORTED);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        TEST(a_command_runs_and_says_what_it_has_to_say),
        TEST(bytes_come_as_they_were_written),
        TEST(much_output_comes_whole_and_in_order),
        TEST(a_command_that_closes_its_output_runs_on),
        TEST(without_stdin_reads_find_their_end_at_once),
        TEST(stdin_is_what_was_written),
        TEST(a_command_ends_while_its_stdin_is_open),
        TEST(a_missing_program_is_127_and_one_that_cannot_run_126),
        TEST(an_empty_argv_is_refused),
        TEST(a_bad_working_folder_is_an_error_and_nothing_runs),
        TEST(a_descriptor_of_the_host_is_no_working_folder),
        TEST(the_environment_is_what_was_given_to_the_byte),
        TEST(a_variable_that_cannot_be_is_refused),
        TEST(arguments_go_up_to_the_kernels_limit_and_no_further),
        TEST(a_script_is_found_on_descriptor_9),
        TEST(a_command_runs_as_the_user_that_was_asked_for),
        TEST(a_signal_that_ends_a_command_is_its_outcome),
        TEST(signals_reach_the_commands_group),
        TEST(a_time_limit_ends_the_whole_tree),
        TEST(a_command_that_ends_in_time_leaves_no_late_kill),
        TEST(a_cancel_ends_the_tree_and_says_so),
        TEST(a_command_that_is_let_go_runs_on),
        TEST(what_a_command_leaves_running_never_meets_a_broken_or_full_pipe),
        TEST(two_hundred_commands_leave_no_descriptor),
        TEST(what_is_not_offered_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
