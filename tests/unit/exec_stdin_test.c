/* SPDX-License-Identifier: Apache-2.0 */
/* What goes into a command. */
#include "support/exec_world.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/io.h"
#include "core/util/json.h"

static alineo_exec_options with_bytes(const void *data, size_t size) {
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.stdin_kind = ALINEO_STDIN_BYTES;
    options.stdin_data = data;
    options.stdin_size = size;
    return options;
}

static alineo_exec_options with_fd(int fd) {
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.stdin_kind = ALINEO_STDIN_FD;
    options.stdin_fd = fd;
    return options;
}

static alineo_exec_options with_pipe(void) {
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.stdin_kind = ALINEO_STDIN_PIPE;
    return options;
}

/* Consumes, asserts success and what came, frees. */
static void finish(alineo_exec *exec, const void *data, size_t size) {
    alineo_output output = ALINEO_OUTPUT_INIT;
    assert_int_equal(alineo_exec_output(exec, 0, &output, NULL, NULL), ALINEO_OK);
    assert_int_equal(output.stdout_size, size);
    if (size > 0)
        assert_memory_equal(output.stdout_data, data, size);
    alineo_output_clear(&output);
    alineo_exec_free(exec);
}

static void without_stdin_a_read_ends_at_once(void **state) {
    exec_world *world = *state;
    exec_gives(world, "cat; echo end", NULL, "end\n", 4);
}

static void bytes_arrive_and_then_the_end(void **state) {
    exec_world *world = *state;
    for (int i = 0; i < (exec_is_slow() ? 5 : 100); i++) {
        alineo_exec_options none = with_bytes(NULL, 0);
        alineo_exec_options three = with_bytes("abc", 3);
        exec_gives(world, "wc -c", &none, "0\n", 2);
        exec_gives(world, "wc -c", &three, "3\n", 2);
    }
    alineo_exec_options odd = with_bytes("\x00\x01\x02\xff\x0a", 5);
    exec_gives(world, "od -An -tx1", &odd, " 00 01 02 ff 0a\n", 16);
}

/* More than any pipe holds, both ways at once. */
static void many_bytes_go_through_a_command_unchanged(void **state) {
    exec_world *world = *state;
    size_t size = exec_is_slow() ? 500000 : 5000000;
    al_autofree char *data = malloc(size);
    assert_non_null(data);
    for (size_t i = 0; i < size; i++)
        data[i] = (char)(i * 7 + i / 251);
    alineo_exec_options options = with_bytes(data, size);
    finish(exec_start(world, "cat", &options), data, size);
    finish(exec_start(world, "cat >copy", &options), NULL, 0);
    finish(exec_start(world, "cat copy", NULL), data, size);
}

static void a_command_that_does_not_read_its_bytes_ends_as_it_likes(void **state) {
    exec_world *world = *state;
    size_t size = 1000000;
    al_autofree char *data = calloc(1, size);
    alineo_exec_options options = with_bytes(data, size);
    finish(exec_start(world, "echo x", &options), "x\n", 2);
    finish(exec_start(world, "head -c 3 >/dev/null; exec <&-; sleep 0.1; echo y", &options), "y\n",
           2);
}

static void a_descriptor_is_read_to_its_end(void **state) {
    exec_world *world = *state;
    int fds[2];
    assert_int_equal(al_pipe(&fds[0], &fds[1]), 0);
    assert_int_equal(al_write_full(fds[1], "some bytes", 10), 0);
    alineo_exec_options options = with_fd(fds[0]);
    alineo_exec *exec = exec_start(world, "cat", &options);
    alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
    assert_int_equal(alineo_exec_next(exec, ALINEO_FOREVER, &event, NULL), ALINEO_OK);
    assert_int_equal(event.data_size, 10);
    assert_int_equal(al_write_full(fds[1], " more", 5), 0);
    assert_int_equal(alineo_exec_next(exec, ALINEO_FOREVER, &event, NULL), ALINEO_OK);
    assert_memory_equal(event.data, " more", 5);
    assert_int_equal(close(fds[1]), 0);
    finish(exec, NULL, 0);
    assert_int_equal(close(fds[0]), 0);
}

static void a_file_is_read_from_where_it_stands(void **state) {
    exec_world *world = *state;
    size_t size = 3000000;
    al_autofree char *data = malloc(size);
    for (size_t i = 0; i < size; i++)
        data[i] = (char)(i * 31 + i / 177);
    char path[] = "/tmp/alineo-stdin.XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(al_write_full(fd, data, size), 0);
    assert_int_equal(lseek(fd, 1000, SEEK_SET), 1000);
    alineo_exec_options options = with_fd(fd);
    finish(exec_start(world, "cat", &options), data + 1000, size - 1000);
    assert_int_equal(close(fd), 0);
    fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    options = with_fd(fd);
    finish(exec_start(world, "cat; echo end", &options), "end\n", 4);
    assert_int_equal(close(fd), 0);
}

/* Its end does not wait for an input that never ends. */
static void a_command_ends_though_its_stdin_is_open(void **state) {
    exec_world *world = *state;
    int fds[2];
    assert_int_equal(al_pipe(&fds[0], &fds[1]), 0);
    alineo_exec_options options = with_fd(fds[0]);
    finish(exec_start(world, "echo x", &options), "x\n", 2);
    options = with_pipe();
    finish(exec_start(world, "echo x", &options), "x\n", 2);
    assert_int_equal(close(fds[0]), 0);
    assert_int_equal(close(fds[1]), 0);
}

static void a_descriptor_that_cannot_be_read_is_refused(void **state) {
    exec_world *world = *state;
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int bad[] = {-1, 9999, fd};
    for (size_t i = 0; i < AL_COUNT(bad); i++) {
        alineo_exec_options options = with_fd(bad[i]);
        alineo_exec *exec = NULL;
        assert_int_equal(alineo_sandbox_exec(world->sandbox, "cat", &options, &exec, NULL),
                         ALINEO_INVALID_ARGUMENT);
    }
    assert_int_equal(close(fd), 0);
    assert_int_equal(exec_event_count(world, 1, "exec_start"), 0);
}

static void what_is_written_as_it_runs_arrives(void **state) {
    exec_world *world = *state;
    alineo_exec_options options = with_pipe();
    alineo_exec *exec = exec_start(world, "cat; sleep 0.1; echo tail", &options);
    size_t written = 99;
    assert_int_equal(alineo_exec_write_stdin(exec, "x", 1, ALINEO_FOREVER, &written, NULL),
                     ALINEO_OK);
    assert_int_equal(written, 1);
    assert_int_equal(alineo_exec_write_stdin(exec, "", 0, 0, NULL, NULL), ALINEO_OK);
    assert_int_equal(alineo_exec_close_stdin(exec, NULL), ALINEO_OK);
    assert_int_equal(alineo_exec_close_stdin(exec, NULL), ALINEO_OK);
    assert_int_equal(alineo_exec_write_stdin(exec, "y", 1, 0, &written, NULL), ALINEO_IO);
    assert_int_equal(written, 0);
    finish(exec, "xtail\n", 6);
}

static void a_write_that_is_not_taken_comes_back_in_time(void **state) {
    exec_world *world = *state;
    size_t size = 1000000;
    al_autofree char *data = calloc(1, size);
    alineo_exec_options options = with_pipe();
    alineo_exec *exec = exec_start(world, "sleep 60", &options);
    size_t written = 0;
    int64_t begun = al_clock_monotonic_ms();
    assert_int_equal(alineo_exec_write_stdin(exec, data, size, 150, &written, NULL),
                     ALINEO_TIMEOUT);
    assert_true(al_clock_monotonic_ms() - begun >= 150);
    assert_true(written > 0 && written < size);
    alineo_exec_free(exec);
}

static void a_write_to_a_command_that_reads_no_more_fails_without_a_signal(void **state) {
    exec_world *world = *state;
    alineo_exec_options options = with_pipe();
    size_t size = 1000000;
    al_autofree char *data = calloc(1, size);
    alineo_exec *exec = exec_start(world, "exec <&-; echo closed; sleep 20", &options);
    alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
    assert_int_equal(alineo_exec_next(exec, ALINEO_FOREVER, &event, NULL), ALINEO_OK);
    assert_int_equal(alineo_exec_write_stdin(exec, data, size, 10000, NULL, NULL), ALINEO_IO);
    alineo_exec_free(exec);
}

typedef struct writer {
    alineo_exec *exec;
    const char *data;
    size_t size;
    size_t written;
    alineo_code code;
} writer;

static void *write_stdin(void *argument) {
    writer *w = argument;
    w->code = alineo_exec_write_stdin(w->exec, w->data, w->size, ALINEO_FOREVER, &w->written, NULL);
    return NULL;
}

/* Each write lands in one piece, however many threads write. */
static void writers_of_several_threads_take_turns(void **state) {
    exec_world *world = *state;
    enum {
        COUNT = 4,
        SIZE = 200000
    };
    alineo_exec_options options = with_pipe();
    alineo_exec *exec = exec_start(world, "cat", &options);
    writer writers[COUNT];
    pthread_t threads[COUNT];
    char *pieces[COUNT];
    for (int i = 0; i < COUNT; i++) {
        pieces[i] = malloc(SIZE);
        assert_non_null(pieces[i]);
        memset(pieces[i], 'a' + i, SIZE);
        writers[i] = (writer){.exec = exec, .data = pieces[i], .size = SIZE};
        assert_int_equal(pthread_create(&threads[i], NULL, write_stdin, &writers[i]), 0);
    }
    al_auto(al_buf_free) al_buf got = AL_BUF_INIT;
    alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
    while (got.size < (size_t)COUNT * SIZE) {
        assert_int_equal(alineo_exec_next(exec, ALINEO_FOREVER, &event, NULL), ALINEO_OK);
        assert_int_equal(event.type, ALINEO_EXEC_STDOUT);
        al_buf_append(&got, event.data, event.data_size);
    }
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(writers[i].code, ALINEO_OK);
        assert_int_equal(writers[i].written, SIZE);
        for (size_t k = 1; k < SIZE; k++)
            assert_int_equal(got.data[(size_t)i * SIZE + k], got.data[(size_t)i * SIZE]);
        free(pieces[i]);
    }
    assert_int_equal(alineo_exec_close_stdin(exec, NULL), ALINEO_OK);
    finish(exec, NULL, 0);
}

static void closing_stdin_brings_a_writer_back(void **state) {
    exec_world *world = *state;
    size_t size = 1000000;
    al_autofree char *data = calloc(1, size);
    alineo_exec_options options = with_pipe();
    alineo_exec *exec = exec_start(world, "sleep 60", &options);
    writer w = {.exec = exec, .data = data, .size = size};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, write_stdin, &w), 0);
    (void)usleep(50000);
    assert_int_equal(alineo_exec_close_stdin(exec, NULL), ALINEO_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(w.code, ALINEO_IO);
    alineo_exec_free(exec);
}

/* Nobody consumes the exec, and something in the background holds its stdin open. */
static void the_end_of_the_command_brings_a_writer_back(void **state) {
    exec_world *world = *state;
    size_t size = 1000000;
    al_autofree char *data = calloc(1, size);
    alineo_exec_options options = with_pipe();
    alineo_exec *exec = exec_start(world, "sleep 30 <&0 & sleep 0.2", &options);
    writer w = {.exec = exec, .data = data, .size = size};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, write_stdin, &w), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(w.code, ALINEO_IO);
    finish(exec, NULL, 0);
}

static void stdin_of_a_program_that_cannot_run_is_closed(void **state) {
    exec_world *world = *state;
    const char *argv[] = {"no-such-bin", NULL};
    alineo_exec_options kinds[] = {with_bytes("abc", 3), with_pipe()};
    for (size_t i = 0; i < AL_COUNT(kinds); i++) {
        kinds[i].argv = argv;
        alineo_exec *exec = exec_start(world, NULL, &kinds[i]);
        alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
        assert_int_equal(alineo_exec_wait(exec, &result, NULL), ALINEO_COMMAND_FAILED);
        assert_int_equal(result.exit_code, 127);
        if (i == 1)
            assert_int_equal(alineo_exec_write_stdin(exec, "x", 1, 0, NULL, NULL), ALINEO_IO);
        alineo_exec_free(exec);
    }
}

static void the_kind_of_stdin_decides_who_may_write(void **state) {
    exec_world *world = *state;
    alineo_exec *exec = exec_start(world, "cat", NULL);
    assert_int_equal(alineo_exec_write_stdin(exec, "x", 1, 0, NULL, NULL), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(alineo_exec_close_stdin(exec, NULL), ALINEO_OK);
    finish(exec, NULL, 0);
    alineo_exec_options options = with_bytes("x", 1);
    exec = exec_start(world, "cat", &options);
    assert_int_equal(alineo_exec_close_stdin(exec, NULL), ALINEO_INVALID_ARGUMENT);
    finish(exec, "x", 1);
}

static void the_ledger_has_stdin_unless_it_is_secret(void **state) {
    exec_world *world = *state;
    alineo_exec_options options = with_bytes("tok-4711", 8);
    exec_gives(world, "wc -c", &options, "8\n", 2);
    options.stdin_secret = 1;
    exec_gives(world, "wc -c", &options, "8\n", 2);
    al_auto(al_json_free) al_json *open = exec_event(world, 1, "exec_start");
    al_auto(al_json_free) al_json *secret = exec_event(world, 2, "exec_start");
    const char *text = NULL;
    assert_true(al_json_get_str(al_json_member(al_json_member(al_json_root(open), "stdin"), "text"),
                                &text));
    assert_string_equal(text, "tok-4711");
    const al_json_node *stdin_node = al_json_member(al_json_root(secret), "stdin");
    assert_null(al_json_member(stdin_node, "text"));
    assert_null(al_json_member(stdin_node, "data"));
    int64_t size = 0;
    assert_true(al_json_get_int(al_json_member(stdin_node, "size"), &size));
    assert_int_equal(size, 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        EXEC_TEST_BOTH(without_stdin_a_read_ends_at_once),
        EXEC_TEST_BOTH(bytes_arrive_and_then_the_end),
        EXEC_TEST_BOTH(many_bytes_go_through_a_command_unchanged),
        EXEC_TEST_BOTH(a_command_that_does_not_read_its_bytes_ends_as_it_likes),
        EXEC_TEST_BOTH(a_descriptor_is_read_to_its_end),
        EXEC_TEST_BOTH(a_file_is_read_from_where_it_stands),
        EXEC_TEST_BOTH(a_command_ends_though_its_stdin_is_open),
        EXEC_TEST(a_descriptor_that_cannot_be_read_is_refused),
        EXEC_TEST_BOTH(what_is_written_as_it_runs_arrives),
        EXEC_TEST_BOTH(a_write_that_is_not_taken_comes_back_in_time),
        EXEC_TEST_BOTH(a_write_to_a_command_that_reads_no_more_fails_without_a_signal),
        EXEC_TEST_BOTH(writers_of_several_threads_take_turns),
        EXEC_TEST_BOTH(closing_stdin_brings_a_writer_back),
        EXEC_TEST_BOTH(the_end_of_the_command_brings_a_writer_back),
        EXEC_TEST_BOTH(stdin_of_a_program_that_cannot_run_is_closed),
        EXEC_TEST(the_kind_of_stdin_decides_who_may_write),
        EXEC_TEST(the_ledger_has_stdin_unless_it_is_secret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
