/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/caller_fd.h"
#include "core/util/io.h"

static char block[300000];

/* Fills it until it takes no more, without ever waiting; gives what went in. */
static size_t fill(al_caller_fd *caller) {
    size_t all = 0;
    for (;;) {
        size_t used = 0;
        int rc = al_caller_fd_write(caller, block, sizeof(block), &used);
        if (rc == EAGAIN)
            return all;
        assert_int_equal(rc, 0);
        all += used;
    }
}

static void neither_end_of_a_pipe_or_socket_waits(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        int fds[2];
        if (i < 2)
            assert_int_equal(al_pipe(&fds[0], &fds[1]), 0);
        else
            assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        assert_int_equal(al_fd_set_nonblock(fds[0], i % 2 == 0), 0);
        assert_int_equal(al_fd_set_nonblock(fds[1], i % 2 == 0), 0);
        al_caller_fd in, out;
        assert_int_equal(al_caller_fd_init(&in, fds[0], false), 0);
        assert_int_equal(al_caller_fd_init(&out, fds[1], true), 0);
        size_t used = 0;
        assert_int_equal(al_caller_fd_read(&in, block, sizeof(block), &used), EAGAIN);
        size_t all = fill(&out);
        assert_true(all >= 4096);
        while (all > 0) {
            assert_int_equal(al_caller_fd_read(&in, block, sizeof(block), &used), 0);
            all -= used;
        }
        assert_int_equal(al_caller_fd_read(&in, block, sizeof(block), &used), EAGAIN);
        al_caller_fd_end(&out);
        assert_int_equal(close(fds[1]), 0);
        used = 1;
        assert_int_equal(al_caller_fd_read(&in, block, sizeof(block), &used), 0);
        assert_int_equal(used, 0);
        al_caller_fd_end(&in);
        assert_int_equal(close(fds[0]), 0);
    }
}

static void a_terminal_that_is_stopped_does_not_make_it_wait(void **state) {
    (void)state;
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_int_equal(grantpt(master) + unlockpt(master), 0);
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    al_caller_fd out;
    assert_int_equal(al_caller_fd_init(&out, slave, true), 0);
    assert_true(fill(&out) >= 1);
    size_t used = 0;
    al_caller_fd in;
    assert_int_equal(al_caller_fd_init(&in, slave, false), 0);
    assert_int_equal(al_caller_fd_read(&in, block, 10, &used), EAGAIN);
    al_caller_fd_end(&in);
    al_caller_fd_end(&out);
    al_caller_fd_end(&out);
    assert_int_equal(close(slave), 0);
    assert_int_equal(close(master), 0);
}

static void files_and_devices_take_all(void **state) {
    (void)state;
    char path[] = "/tmp/alineo-caller.XXXXXX";
    int file = mkostemp(path, O_CLOEXEC);
    assert_int_equal(unlink(path), 0);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int fds[] = {file, null};
    for (int i = 0; i < 2; i++) {
        al_caller_fd out;
        size_t used = 0;
        assert_int_equal(al_caller_fd_init(&out, fds[i], true), 0);
        assert_int_equal(al_caller_fd_write(&out, block, sizeof(block), &used), 0);
        assert_int_equal(used, sizeof(block));
        al_caller_fd_end(&out);
        assert_int_equal(close(fds[i]), 0);
    }
}

static void what_is_not_open_for_it_is_refused(void **state) {
    (void)state;
    al_caller_fd caller;
    int to_read = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int to_write = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int path = open("/tmp", O_PATH | O_CLOEXEC);
    assert_int_equal(al_caller_fd_init(&caller, -1, true), 0);
    assert_int_equal(caller.fd, -1);
    assert_int_equal(al_caller_fd_init(&caller, 9999, true), EBADF);
    assert_int_equal(al_caller_fd_init(&caller, to_read, true), EBADF);
    assert_int_equal(al_caller_fd_init(&caller, to_write, false), EBADF);
    assert_int_equal(al_caller_fd_init(&caller, path, false), EBADF);
    assert_int_equal(close(to_read) + close(to_write) + close(path), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neither_end_of_a_pipe_or_socket_waits),
        cmocka_unit_test(a_terminal_that_is_stopped_does_not_make_it_wait),
        cmocka_unit_test(files_and_devices_take_all),
        cmocka_unit_test(what_is_not_open_for_it_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
