/* SPDX-License-Identifier: Apache-2.0 */
#include "core/util/io.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "tests/support/test.h"

static void make_pipe(int *read_fd, int *write_fd) {
    assert_int_equal(al_pipe(read_fd, write_fd), 0);
    assert_int_equal(fcntl(*read_fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(*write_fd, F_GETFD), FD_CLOEXEC);
}

enum {
    LARGE = 1 << 20
};

static void *write_large(void *fd) {
    char *data = malloc(LARGE);
    memset(data, 'x', LARGE);
    int rc = al_write_full(*(int *)fd, data, LARGE);
    free(data);
    al_close(*(int *)fd);
    return (void *)(intptr_t)rc;
}

static void full_reads_and_writes_go_through_non_blocking_pipes(void **state) {
    (void)state;
    al_autofd int read_fd = -1;
    int write_fd = -1;
    make_pipe(&read_fd, &write_fd);
    assert_int_equal(al_fd_set_nonblock(read_fd, true), 0);
    assert_int_equal(al_fd_set_nonblock(write_fd, true), 0);
    pthread_t writer;
    assert_int_equal(pthread_create(&writer, NULL, write_large, &write_fd), 0);
    al_autofree char *data = malloc(LARGE + 10);
    size_t size = 0;
    assert_int_equal(al_read_full(read_fd, data, 10, &size), 0);
    assert_int_equal(size, 10);
    assert_int_equal(al_read_full(read_fd, data + 10, LARGE, &size), 0);
    assert_int_equal(size, LARGE - 10);
    void *rc;
    assert_int_equal(pthread_join(writer, &rc), 0);
    assert_null(rc);
    assert_int_equal(al_read_some(read_fd, data, 1, &size), 0);
    assert_int_equal(size, 0);
}

static void a_non_blocking_read_without_data_says_so(void **state) {
    (void)state;
    al_autofd int read_fd = -1;
    al_autofd int write_fd = -1;
    make_pipe(&read_fd, &write_fd);
    assert_int_equal(al_fd_set_nonblock(read_fd, true), 0);
    char byte;
    size_t size = 7;
    assert_int_equal(al_read_some(read_fd, &byte, 1, &size), EAGAIN);
    assert_int_equal(size, 7);
    assert_int_equal(al_fd_set_nonblock(read_fd, false), 0);
    assert_int_equal(fcntl(read_fd, F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(al_read_some(-1, &byte, 1, &size), EBADF);
}

static bool sigpipe_is_pending(void) {
    sigset_t pending;
    assert_int_equal(sigpending(&pending), 0);
    return sigismember(&pending, SIGPIPE) == 1;
}

static bool sigpipe_is_blocked(void) {
    sigset_t mask;
    assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
    return sigismember(&mask, SIGPIPE) == 1;
}

static void a_reader_that_went_away_is_an_error_and_no_signal(void **state) {
    (void)state;
    /* The default action of SIGPIPE would end this program. */
    assert_int_equal(signal(SIGPIPE, SIG_DFL) == SIG_ERR, 0);
    al_autofd int read_fd = -1;
    al_autofd int write_fd = -1;
    make_pipe(&read_fd, &write_fd);
    al_close(al_steal_fd(&read_fd));
    size_t written;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(al_write_full(write_fd, "x", 1), EPIPE);
        assert_int_equal(al_write_some(write_fd, "x", 1, &written), EPIPE);
        assert_false(sigpipe_is_pending());
        assert_false(sigpipe_is_blocked());
    }
    al_sigpipe guard;
    al_sigpipe_block(&guard);
    assert_true(write(write_fd, "x", 1) < 0);
    assert_true(sigpipe_is_pending());
    al_sigpipe_restore(&guard);
    assert_false(sigpipe_is_pending() || sigpipe_is_blocked());
}

static void a_signal_that_was_pending_before_stays_pending(void **state) {
    (void)state;
    al_autofd int read_fd = -1;
    al_autofd int write_fd = -1;
    make_pipe(&read_fd, &write_fd);
    al_close(al_steal_fd(&read_fd));
    al_sigpipe outer;
    al_sigpipe_block(&outer);
    /* Blocked by the caller, nothing pending: it stays blocked, and ours is taken. */
    assert_int_equal(al_write_full(write_fd, "x", 1), EPIPE);
    assert_true(sigpipe_is_blocked());
    assert_false(sigpipe_is_pending());
    assert_int_equal(pthread_kill(pthread_self(), SIGPIPE), 0);
    assert_int_equal(al_write_full(write_fd, "x", 1), EPIPE);
    assert_true(sigpipe_is_pending());
    al_sigpipe_restore(&outer);
    assert_false(sigpipe_is_pending() || sigpipe_is_blocked());
}

static void a_write_that_fits_in_part_says_how_much(void **state) {
    (void)state;
    al_autofd int read_fd = -1;
    al_autofd int write_fd = -1;
    make_pipe(&read_fd, &write_fd);
    assert_int_equal(al_fd_set_nonblock(write_fd, true), 0);
    al_autofree char *data = calloc(1, LARGE);
    size_t written = 0;
    assert_int_equal(al_write_some(write_fd, data, LARGE, &written), 0);
    assert_in_range(written, 1, LARGE - 1);
    assert_int_equal(al_write_some(write_fd, data, LARGE, &written), EAGAIN);
}

static void waiting_ends_with_an_event_or_at_the_deadline(void **state) {
    (void)state;
    al_autofd int read_fd = -1;
    al_autofd int write_fd = -1;
    make_pipe(&read_fd, &write_fd);
    short revents = 0;
    assert_int_equal(al_poll_fd(read_fd, POLLIN, al_deadline_after_ms(0), &revents), ETIMEDOUT);
    int64_t before = al_clock_monotonic_ns();
    assert_int_equal(al_poll_fd(read_fd, POLLIN, al_deadline_after_ms(20), NULL), ETIMEDOUT);
    assert_true(al_clock_monotonic_ns() - before >= 20000000);
    assert_int_equal(al_write_full(write_fd, "x", 1), 0);
    assert_int_equal(al_poll_fd(read_fd, POLLIN, al_deadline_after_ms(0), &revents), 0);
    assert_int_equal(revents, POLLIN);
    al_close(al_steal_fd(&write_fd));
    assert_int_equal(al_poll_fd(read_fd, POLLIN, AL_DEADLINE_NONE, &revents), 0);
    assert_int_not_equal(revents & POLLHUP, 0);
    assert_int_equal(al_poll_fd(1000000, POLLIN, AL_DEADLINE_NONE, NULL), EBADF);
}

static void an_event_is_signalled_any_number_of_times(void **state) {
    (void)state;
    al_autofd int fd = -1;
    assert_int_equal(al_event_new(&fd), 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(al_poll_fd(fd, POLLIN, al_deadline_after_ms(0), NULL), ETIMEDOUT);
    errno = ENOENT;
    al_event_drain(fd);
    for (int i = 0; i < 5; i++)
        al_event_signal(fd);
    assert_int_equal(al_poll_fd(fd, POLLIN, al_deadline_after_ms(0), NULL), 0);
    al_event_drain(fd);
    assert_int_equal(al_poll_fd(fd, POLLIN, al_deadline_after_ms(0), NULL), ETIMEDOUT);
    /* A counter at its top would make the next write fail or wait; it is readable, and that is
     * enough. */
    const uint64_t top = UINT64_MAX - 1;
    assert_int_equal(write(fd, &top, sizeof(top)), (ssize_t)sizeof(top));
    al_event_signal(fd);
    assert_int_equal(al_poll_fd(fd, POLLIN, al_deadline_after_ms(0), NULL), 0);
    assert_int_equal(errno, ENOENT);
}

static void a_copied_descriptor_is_no_standard_stream(void **state) {
    (void)state;
    al_autofd int copy = -1;
    assert_int_equal(al_fd_dup(STDIN_FILENO, &copy), 0);
    assert_true(copy > STDERR_FILENO);
    assert_int_equal(fcntl(copy, F_GETFD), FD_CLOEXEC);
    assert_int_equal(al_fd_set_cloexec(copy, false), 0);
    assert_int_equal(fcntl(copy, F_GETFD), 0);
    assert_int_equal(al_fd_set_cloexec(copy, true), 0);
    assert_int_equal(fcntl(copy, F_GETFD), FD_CLOEXEC);
    int none = -1;
    assert_int_equal(al_fd_dup(1000000, &none), EBADF);
    assert_int_equal(al_fd_set_cloexec(1000000, true), EBADF);
    assert_int_equal(al_fd_set_nonblock(1000000, true), EBADF);
    assert_int_equal(none, -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_reads_and_writes_go_through_non_blocking_pipes),
        cmocka_unit_test(a_non_blocking_read_without_data_says_so),
        cmocka_unit_test(a_reader_that_went_away_is_an_error_and_no_signal),
        cmocka_unit_test(a_signal_that_was_pending_before_stays_pending),
        cmocka_unit_test(a_write_that_fits_in_part_says_how_much),
        cmocka_unit_test(waiting_ends_with_an_event_or_at_the_deadline),
        cmocka_unit_test(an_event_is_signalled_any_number_of_times),
        cmocka_unit_test(a_copied_descriptor_is_no_standard_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
