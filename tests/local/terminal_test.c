/* SPDX-License-Identifier: Apache-2.0 */
/* test: timeout=300 */
/* Terminals of sandboxes of the local provider. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/io.h"
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

static void start(const char *command, const char *user, alineo_exec_io *io) {
    const char *argv[] = {"/bin/sh", "-c", command, NULL};
    alineo_exec_request request = {.size = sizeof(request),
                                   .exec_id = "terminal",
                                   .argv = argv,
                                   .user = user,
                                   .want_pty = 1,
                                   .rows = 30,
                                   .columns = 90};
    *io = (alineo_exec_io)ALINEO_EXEC_IO_INIT;
    alineo_error *err = NULL;
    local_assert_ok(f.table->exec_start(f.self, id, &request, io, &err), &err);
    assert_true(io->pty_fd >= 0);
    assert_int_equal(io->stdin_fd, -1);
    assert_int_equal(io->stdout_fd, -1);
    assert_int_equal(io->stderr_fd, -1);
}

/* Reads to the end of the stream, which is EIO. */
static void read_all(int fd, al_buf *out) {
    for (;;) {
        char *room = al_buf_reserve(out, 65536);
        assert_non_null(room);
        size_t used = 0;
        int rc = al_read_some(fd, room, 65536, &used);
        if (rc == EIO)
            return;
        assert_int_equal(rc, 0);
        assert_true(used > 0);
        al_buf_commit(out, used);
    }
}

static void read_until(int fd, const char *text) {
    al_auto(al_buf_free) al_buf seen = AL_BUF_INIT;
    while (strstr(al_buf_str(&seen), text) == NULL) {
        assert_int_equal(al_poll_fd(fd, POLLIN, al_deadline_after_ms(20000), NULL), 0);
        char *room = al_buf_reserve(&seen, 4096);
        assert_non_null(room);
        size_t used = 0;
        assert_int_equal(al_read_some(fd, room, 4096, &used), 0);
        al_buf_commit(&seen, used);
    }
}

static alineo_exec_status wait_for(alineo_exec_io *io) {
    alineo_exec_status status = ALINEO_EXEC_STATUS_INIT;
    alineo_error *err = NULL;
    local_assert_ok(f.table->exec_wait(f.self, io->exec, 20000, &status, &err), &err);
    f.host.host.free(&f.host.host, status.detail);
    status.detail = NULL;
    return status;
}

/* Asserts that a command with a terminal prints this. */
static void prints(const char *command, const char *user, const char *expected) {
    alineo_exec_io io;
    al_auto(al_buf_free) al_buf out = AL_BUF_INIT;
    start(command, user, &io);
    read_all(io.pty_fd, &out);
    assert_int_equal(wait_for(&io).exit_code, 0);
    assert_string_equal(al_buf_str(&out), expected);
    local_let_go(&f, &io);
}

static void all_output_comes_before_the_end_every_time(void **state) {
    (void)state;
    for (int i = 0; i < 300; i++)
        prints("printf done", NULL, "done");
    alineo_exec_io io;
    al_auto(al_buf_free) al_buf out = AL_BUF_INIT;
    start("head -c 102400 /dev/zero | tr '\\0' x", NULL, &io);
    read_all(io.pty_fd, &out);
    assert_int_equal(out.size, 102400);
    local_let_go(&f, &io);
}

static void it_is_the_controlling_terminal_of_a_session_of_its_own(void **state) {
    (void)state;
    prints("tty; echo over > /dev/tty; test $$ = $(ps -o sid= -p $$ | tr -d ' ') && echo leads",
           NULL, "/dev/pts/0\r\nover\r\nleads\r\n");
}

static void its_size_is_set_before_the_program_starts(void **state) {
    (void)state;
    prints("stty size", NULL, "30 90\r\n");
}

static void it_belongs_to_the_user_of_the_command(void **state) {
    (void)state;
    prints("stat -c '%u %a' $(tty); echo by name > $(tty)", "1234", "1234 620\r\nby name\r\n");
}

static void nothing_can_be_typed_into_it_from_inside(void **state) {
    (void)state;
    prints("python3 -c 'import fcntl,termios\ntry:\n fcntl.ioctl(0,termios.TIOCSTI,b\"x\")\n"
           "except OSError as e: print(e.errno)'",
           NULL, "1\r\n");
}

static void terminals_of_sandboxes_are_apart(void **state) {
    (void)state;
    alineo_exec_io io;
    start("echo ready; sleep 20", NULL, &io);
    read_until(io.pty_fd, "ready");
    char other[129];
    local_fixture_create(&f, NULL, other);
    char *text = local_output(&f, other, "ls /dev/pts");
    assert_string_equal(text, "ptmx\n");
    free(text);
    local_let_go(&f, &io);
}

static void it_is_resized(void **state) {
    (void)state;
    alineo_exec_io io;
    alineo_error *err = NULL;
    start("trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.1; done", NULL, &io);
    read_until(io.pty_fd, "ready");
    local_assert_ok(f.table->exec_resize(f.self, io.exec, 41, 101, &err), &err);
    read_until(io.pty_fd, "41 101");
    local_let_go(&f, &io);
    local_start(&f, id, "sleep 20", 0, &io);
    local_assert_code(f.table->exec_resize(f.self, io.exec, 41, 101, &err), &err,
                      ALINEO_INVALID_ARGUMENT);
    local_let_go(&f, &io);
}

static void a_program_that_is_not_there_is_an_outcome(void **state) {
    (void)state;
    const char *argv[] = {"no-such-program", NULL};
    alineo_exec_request request = {
        .size = sizeof(request), .exec_id = "missing", .argv = argv, .want_pty = 1};
    alineo_exec_io io = ALINEO_EXEC_IO_INIT;
    alineo_error *err = NULL;
    local_assert_ok(f.table->exec_start(f.self, id, &request, &io, &err), &err);
    assert_int_equal(wait_for(&io).exit_code, 127);
    local_let_go(&f, &io);
    request.cwd = "/no/such/folder";
    local_assert_code(f.table->exec_start(f.self, id, &request, &io, &err), &err,
                      ALINEO_FILE_NOT_FOUND);
}

static bool has_grown(void *user) {
    char *text = local_output(&f, id, "wc -l < /tmp/ticks");
    bool has = strtol(text, NULL, 10) > *(long *)user;
    free(text);
    return has;
}

static void a_child_left_behind_can_still_write_to_it(void **state) {
    (void)state;
    alineo_exec_io io;
    start("(trap '' HUP; while echo tick; do echo x >> /tmp/ticks; sleep 0.02; done) & sleep 0.3",
          NULL, &io);
    assert_int_equal(wait_for(&io).exit_code, 0);
    local_let_go(&f, &io);
    long before = 40;
    assert_true(local_eventually(has_grown, &before));
}

static void one_that_nobody_reads_is_cancelled(void **state) {
    (void)state;
    alineo_exec_io io;
    alineo_error *err = NULL;
    start("yes", NULL, &io);
    usleep(300000);
    local_assert_ok(f.table->exec_cancel(f.self, io.exec, &err), &err);
    assert_int_equal(wait_for(&io).outcome, ALINEO_OUTCOME_CANCELLED);
    local_let_go(&f, &io);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_output_comes_before_the_end_every_time, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(it_is_the_controlling_terminal_of_a_session_of_its_own,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(its_size_is_set_before_the_program_starts, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(it_belongs_to_the_user_of_the_command, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_can_be_typed_into_it_from_inside, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(terminals_of_sandboxes_are_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_is_resized, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_program_that_is_not_there_is_an_outcome, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_child_left_behind_can_still_write_to_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(one_that_nobody_reads_is_cancelled, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
