/* SPDX-License-Identifier: Apache-2.0 */
/* Output to descriptors of the caller: of any kind, blocking or not, and that may fail. */
#include "support/exec_world.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/digest.h"
#include "core/util/io.h"

/* Reads a descriptor to its end on a thread of its own, with pauses at first. */
typedef struct reader {
    int fd;
    useconds_t pause_us;
    al_buf got;
    pthread_t thread;
} reader;

static void *read_all(void *argument) {
    reader *r = argument;
    for (;;) {
        if (r->got.size < 300000)
            (void)usleep(r->pause_us);
        char *room = al_buf_reserve(&r->got, 65536);
        size_t used = 0;
        if (room == NULL || al_read_full(r->fd, room, r->pause_us > 0 ? 1000 : 65536, &used) != 0)
            abort();
        al_buf_commit(&r->got, used);
        if (used == 0)
            return NULL;
    }
}

static void start_reader(reader *r, int fd, useconds_t pause_us) {
    *r = (reader){.fd = fd, .pause_us = pause_us};
    assert_int_equal(pthread_create(&r->thread, NULL, read_all, r), 0);
}

static void end_reader(reader *r) {
    assert_int_equal(pthread_join(r->thread, NULL), 0);
    assert_int_equal(close(r->fd), 0);
}

static void both_streams_go_to_their_descriptors(void **state) {
    exec_world *world = *state;
    int out[2], err[2];
    assert_int_equal(al_pipe(&out[0], &out[1]), 0);
    assert_int_equal(al_pipe(&err[0], &err[1]), 0);
    alineo_exec *exec = exec_start(world, "echo out; echo err >&2; exit 3", NULL);
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    assert_int_equal(alineo_exec_pipe(exec, out[1], err[1], &result, NULL), ALINEO_COMMAND_FAILED);
    assert_int_equal(result.exit_code, 3);
    char text[16] = "";
    assert_int_equal(read(out[0], text, 15), 4);
    assert_memory_equal(text, "out\n", 4);
    assert_int_equal(read(err[0], text, 15), 4);
    assert_memory_equal(text, "err\n", 4);
    /* A second time it answers the same, and gives nothing more. */
    assert_int_equal(alineo_exec_pipe(exec, out[1], err[1], &result, NULL), ALINEO_COMMAND_FAILED);
    alineo_exec_free(exec);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(close(out[i]), 0);
        assert_int_equal(close(err[i]), 0);
    }
}

static void one_descriptor_may_serve_for_both_and_none_drops(void **state) {
    exec_world *world = *state;
    int out[2];
    assert_int_equal(al_pipe(&out[0], &out[1]), 0);
    const char *command = "echo one; sleep 0.1; echo two >&2; sleep 0.1; echo three";
    alineo_exec *exec = exec_start(world, command, NULL);
    assert_int_equal(alineo_exec_pipe(exec, out[1], out[1], NULL, NULL), ALINEO_OK);
    alineo_exec_free(exec);
    exec = exec_start(world, command, NULL);
    assert_int_equal(alineo_exec_pipe(exec, -1, out[1], NULL, NULL), ALINEO_OK);
    alineo_exec_free(exec);
    assert_int_equal(close(out[1]), 0);
    char text[32] = "";
    size_t used = 0;
    assert_int_equal(al_read_full(out[0], text, sizeof(text) - 1, &used), 0);
    assert_string_equal(text, "one\ntwo\nthree\ntwo\n");
    assert_int_equal(close(out[0]), 0);
}

/* Through a slow reader, with a descriptor that blocks and one that does not. */
static void moves_all(exec_world *world, int read_end, int write_end, bool nonblock) {
    size_t size = exec_is_slow() ? 400000 : 3000000;
    assert_int_equal(al_fd_set_nonblock(write_end, nonblock), 0);
    reader r;
    start_reader(&r, read_end, 100);
    char command[64];
    (void)snprintf(command, sizeof(command), "head -c %zu /dev/urandom", size);
    alineo_exec *exec = exec_start(world, command, NULL);
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    assert_int_equal(alineo_exec_pipe(exec, write_end, -1, &result, NULL), ALINEO_OK);
    int flags = fcntl(write_end, F_GETFL);
    assert_int_equal((flags & O_NONBLOCK) != 0, nonblock);
    assert_int_equal(close(write_end), 0);
    end_reader(&r);
    assert_int_equal(r.got.size, size);
    uint8_t digest[AL_SHA256_SIZE];
    assert_int_equal(al_sha256_of(r.got.data, r.got.size, digest), 0);
    assert_memory_equal(digest, result.stdout_sha256, AL_SHA256_SIZE);
    exec_ledger_holds(world, result.seq, "stdout", r.got.data, r.got.size);
    al_buf_free(&r.got);
    alineo_exec_free(exec);
}

static void pipes_and_sockets_that_block_or_not_get_all(void **state) {
    exec_world *world = *state;
    for (int i = 0; i < 4; i++) {
        int fds[2];
        if (i < 2)
            assert_int_equal(al_pipe(&fds[0], &fds[1]), 0);
        else
            assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        moves_all(world, fds[0], fds[1], i % 2 == 0);
    }
}

static void a_file_gets_all(void **state) {
    exec_world *world = *state;
    char path[] = "/tmp/alineo-pipe.XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    alineo_exec *exec = exec_start(world, "yes 0123456 | head -c 4000000", NULL);
    assert_int_equal(alineo_exec_pipe(exec, fd, fd, NULL, NULL), ALINEO_OK);
    alineo_exec_free(exec);
    assert_int_equal(lseek(fd, 0, SEEK_END), 4000000);
    assert_int_equal(close(fd), 0);
}

/* Counts the lines that come out of a terminal, in a process of its own; it exits with 0 at the
 * last. */
static pid_t count_lines(int master, size_t wanted) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0)
        return child;
    char text[4096];
    for (size_t lines = 0; lines < wanted;) {
        ssize_t n = read(master, text, sizeof(text));
        if (n <= 0)
            _exit(1);
        for (ssize_t i = 0; i < n; i++)
            lines += text[i] == '\n';
    }
    _exit(0);
}

static void a_terminal_gets_all(void **state) {
    exec_world *world = *state;
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(master >= 0);
    assert_int_equal(grantpt(master), 0);
    assert_int_equal(unlockpt(master), 0);
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(slave >= 0);
    pid_t child = count_lines(master, 20000);
    alineo_exec *exec = exec_start(world, "seq 1 20000", NULL);
    assert_int_equal(alineo_exec_pipe(exec, slave, -1, NULL, NULL), ALINEO_OK);
    alineo_exec_free(exec);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(close(slave), 0);
    assert_int_equal(close(master), 0);
}

/* --- descriptors that fail -------------------------------------------------------------------- */

static atomic_int sigpipe_count;
static void count_sigpipe(int signal_number) {
    (void)signal_number;
    atomic_fetch_add(&sigpipe_count, 1);
}

static void a_reader_that_went_away_is_io_and_the_command_goes_on(void **state) {
    exec_world *world = *state;
    struct sigaction action = {.sa_handler = count_sigpipe};
    struct sigaction before;
    assert_int_equal(sigaction(SIGPIPE, &action, &before), 0);
    int out[2];
    assert_int_equal(al_pipe(&out[0], &out[1]), 0);
    assert_int_equal(close(out[0]), 0);
    alineo_exec *exec = exec_start(world, "seq 1 100000; echo end >&2; touch done; exit 3", NULL);
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    alineo_error *err = NULL;
    assert_int_equal(alineo_exec_pipe(exec, out[1], -1, &result, &err), ALINEO_IO);
    assert_non_null(strstr(alineo_error_message(err), "Broken pipe"));
    alineo_error_free(err);
    assert_int_equal(result.exit_code, 3);
    assert_int_equal(result.stdout_bytes, 588895);
    assert_int_equal(result.stderr_bytes, 4);
    alineo_exec_free(exec);
    assert_int_equal(close(out[1]), 0);
    exec_gives(world, "test -e done && echo done", NULL, "done\n", 5);
    assert_int_equal(atomic_load(&sigpipe_count), 0);
    sigset_t pending;
    assert_int_equal(sigpending(&pending), 0);
    assert_int_equal(sigismember(&pending, SIGPIPE), 0);
    assert_int_equal(sigaction(SIGPIPE, &before, NULL), 0);
}

static void a_full_disk_is_io(void **state) {
    exec_world *world = *state;
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    alineo_exec *exec = exec_start(world, "echo x", NULL);
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    assert_int_equal(alineo_exec_pipe(exec, fd, -1, &result, NULL), ALINEO_IO);
    assert_int_equal(result.outcome, ALINEO_OUTCOME_EXITED);
    assert_int_equal(result.exit_code, 0);
    alineo_exec_free(exec);
    assert_int_equal(close(fd), 0);
}

static void a_descriptor_that_cannot_be_written_is_refused(void **state) {
    exec_world *world = *state;
    alineo_exec *exec = exec_start(world, "echo x", NULL);
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(alineo_exec_pipe(exec, fd, -1, NULL, NULL), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(alineo_exec_pipe(exec, -1, 9999, NULL, NULL), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(alineo_exec_wait(exec, NULL, NULL), ALINEO_OK);
    alineo_exec_free(exec);
    assert_int_equal(close(fd), 0);
}

static void *cancel_soon(void *argument) {
    (void)usleep(200000);
    if (alineo_exec_cancel(argument, NULL) != ALINEO_OK)
        abort();
    return NULL;
}

/* The descriptor is full and nobody reads it: a cancel still comes through. */
static void a_cancel_works_while_the_reader_has_stopped(void **state) {
    exec_world *world = *state;
    for (int i = 0; i < 2; i++) {
        int out[2];
        assert_int_equal(al_pipe(&out[0], &out[1]), 0);
        assert_int_equal(al_fd_set_nonblock(out[1], i == 1), 0);
        alineo_exec *exec = exec_start(world, "yes", NULL);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, cancel_soon, exec), 0);
        int64_t begun = al_clock_monotonic_ms();
        assert_int_equal(alineo_exec_pipe(exec, out[1], -1, NULL, NULL), ALINEO_CANCELLED);
        assert_true(al_clock_monotonic_ms() - begun < 8000);
        assert_int_equal(pthread_join(thread, NULL), 0);
        alineo_exec_free(exec);
        assert_int_equal(close(out[0]), 0);
        assert_int_equal(close(out[1]), 0);
    }
}

/* --- much ------------------------------------------------------------------------------------- */

static long resident_kib(void) {
    al_autofile FILE *file = fopen("/proc/self/statm", "re");
    long total = 0, resident = 0;
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld %ld", &total, &resident), 2);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* The ledger of this test forgets, so that what is measured is what the library holds. */
static void much_output_needs_little_memory(void **state) {
    exec_world *world = *state;
    uint64_t size = UINT64_C(64) << 20;
    if (getenv("ALINEO_TEST_FULL") != NULL)
        size = UINT64_C(4) << 30;
    if (exec_is_slow())
        size = UINT64_C(4) << 20;
    world->drops = true;
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    long before = resident_kib();
    char command[64];
    (void)snprintf(command, sizeof(command), "head -c %llu /dev/zero", (unsigned long long)size);
    alineo_exec *exec = exec_start(world, command, NULL);
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    assert_int_equal(alineo_exec_pipe(exec, fd, -1, &result, NULL), ALINEO_OK);
    assert_int_equal(result.stdout_bytes, size);
    alineo_exec_free(exec);
    if (!exec_is_slow())
        assert_true(resident_kib() - before < 100 * 1024);
    assert_int_equal(close(fd), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        EXEC_TEST_BOTH(both_streams_go_to_their_descriptors),
        EXEC_TEST_BOTH(one_descriptor_may_serve_for_both_and_none_drops),
        EXEC_TEST_BOTH(pipes_and_sockets_that_block_or_not_get_all),
        EXEC_TEST(a_file_gets_all),
        EXEC_TEST(a_terminal_gets_all),
        EXEC_TEST_BOTH(a_reader_that_went_away_is_io_and_the_command_goes_on),
        EXEC_TEST(a_full_disk_is_io),
        EXEC_TEST(a_descriptor_that_cannot_be_written_is_refused),
        EXEC_TEST_BOTH(a_cancel_works_while_the_reader_has_stopped),
        EXEC_TEST_BOTH(much_output_needs_little_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
