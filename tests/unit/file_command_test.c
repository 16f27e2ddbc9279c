/* SPDX-License-Identifier: Apache-2.0 */
/* test: tsan timeout=300 */
/* Contents of files by commands in the sandbox. */
#include "support/file_world.h"

#include "core/util/clock.h"
#include "core/util/random.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void any_bytes_of_any_size_come_back_exactly(void **state) {
    file_world *world = *state;
    static const size_t sizes[] = {0, 1, 100, 65536, 204800, 5 << 20};
    alineo_error *err = NULL;
    char *data = malloc(5 << 20);
    assert_int_equal(al_random_bytes(data, 5 << 20), 0);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        FILE_OK(
            alineo_file_write(world->sandbox, file_path(world, "x"), data, sizes[i], NULL, &err));
        file_holds(world, "x", data, sizes[i]);
        file_reads(world, "x", data, sizes[i]);
    }
    free(data);
}

static void names_are_taken_literally(void **state) {
    file_world *world = *state;
    static const char *const names[] = {"$HOME.txt", "~x",        "a b",  "%2F+#?", "'quote\"",
                                        "-rf",       "new\nline", "\xff", "$(id)",  "*"};
    alineo_error *err = NULL;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        FILE_OK(alineo_file_write(world->sandbox, file_path(world, names[i]), names[i],
                                  strlen(names[i]), NULL, &err));
        file_holds(world, names[i], names[i], strlen(names[i]));
        file_reads(world, names[i], names[i], strlen(names[i]));
    }
    assert_int_equal(file_count(world), sizeof(names) / sizeof(names[0]));
}

static void odd_slashes_and_dots_lead_to_the_same_file(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    char path[256];
    file_put(world, "a", "x", 1, 0600);
    (void)snprintf(path, sizeof(path), "//%s//./nothing/..//a", world->folder.path + 1);
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    assert_int_equal(mkdir(file_path(world, "nothing"), 0700), 0);
    FILE_OK(alineo_file_read(world->sandbox, path, NULL, &bytes, &err));
    assert_string_equal(bytes.data, "x");
    alineo_bytes_clear(&bytes);
}

static void modes_are_exact_and_missing_folders_made(void **state) {
    file_world *world = *state;
    static const uint32_t modes[] = {0600, 0755, 04755, 0444};
    alineo_error *err = NULL;
    alineo_file_options options = ALINEO_FILE_OPTIONS_INIT;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        options.mode = modes[i];
        FILE_OK(
            alineo_file_write(world->sandbox, file_path(world, "n/e/w"), "x", 1, &options, &err));
        assert_int_equal(file_mode(world, "n/e/w"), modes[i]);
        file_holds(world, "n/e/w", "x", 1);
    }
    assert_int_equal(file_mode(world, "n"), 0755);
    assert_int_equal(file_mode(world, "n/e"), 0755);
    FILE_OK(alineo_file_write(world->sandbox, file_path(world, "plain"), "x", 1, NULL, &err));
    assert_int_equal(file_mode(world, "plain"), 0644);
    file_put(world, "kept", "long content", 12, 0640);
    FILE_OK(alineo_file_write(world->sandbox, file_path(world, "kept"), "x", 1, NULL, &err));
    assert_int_equal(file_mode(world, "kept"), 0640);
    file_holds(world, "kept", "x", 1);
    options.mode = 0;
    options.parents = ALINEO_NO;
    FILE_FAILS(ALINEO_FILE_NOT_FOUND,
               alineo_file_write(world->sandbox, file_path(world, "o/x"), "x", 1, &options, &err));
    assert_false(file_is_there(world, "o"));
}

static void a_written_file_stays_the_same_file(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    struct stat before;
    struct stat after;
    file_put(world, "real", "old", 3, 0600);
    assert_int_equal(symlink("real", file_path(world, "link")), 0);
    assert_int_equal(stat(file_path(world, "real"), &before), 0);
    FILE_OK(alineo_file_write(world->sandbox, file_path(world, "link"), "new", 3, NULL, &err));
    assert_int_equal(stat(file_path(world, "real"), &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    file_holds(world, "real", "new", 3);
}

static void parts_are_read_by_offset_and_length(void **state) {
    file_world *world = *state;
    static const struct {
        uint64_t offset, length;
        const char *expected;
    } parts[] = {{0, 0, "0123456789"}, {4, 0, "456789"}, {4, 3, "456"}, {0, 1, "0"},
                 {9, 5, "9"},          {10, 0, ""},      {50, 4, ""}};
    alineo_error *err = NULL;
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    file_put(world, "x", "0123456789", 10, 0600);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        alineo_file_options options = ALINEO_FILE_OPTIONS_INIT;
        options.offset = parts[i].offset;
        options.length = parts[i].length;
        FILE_OK(alineo_file_read(world->sandbox, file_path(world, "x"), &options, &bytes, &err));
        assert_string_equal(bytes.data, parts[i].expected);
        assert_int_equal(bytes.data_size, strlen(parts[i].expected));
    }
    alineo_file_options options = ALINEO_FILE_OPTIONS_INIT;
    options.max_bytes = 9;
    FILE_FAILS(ALINEO_TOO_LARGE,
               alineo_file_read(world->sandbox, file_path(world, "x"), &options, &bytes, &err));
    options.max_bytes = 10;
    FILE_OK(alineo_file_read(world->sandbox, file_path(world, "x"), &options, &bytes, &err));
    options.max_bytes = 4;
    options.length = 4;
    FILE_OK(alineo_file_read(world->sandbox, file_path(world, "x"), &options, &bytes, &err));
    assert_int_equal(bytes.data_size, 4);
    alineo_bytes_clear(&bytes);
}

static void a_part_behind_holes_is_read(void **state) {
    file_world *world = *state;
    const uint64_t at = UINT64_C(300) << 20;
    alineo_error *err = NULL;
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    file_put(world, "sparse", "", 0, 0600);
    assert_int_equal(truncate(file_path(world, "sparse"), (off_t)at), 0);
    alineo_file_options options = ALINEO_FILE_OPTIONS_INIT;
    options.append = ALINEO_YES;
    FILE_OK(
        alineo_file_write(world->sandbox, file_path(world, "sparse"), "end", 3, &options, &err));
    options.append = ALINEO_DEFAULT;
    options.offset = at - 1;
    FILE_OK(alineo_file_read(world->sandbox, file_path(world, "sparse"), &options, &bytes, &err));
    assert_int_equal(bytes.data_size, 4);
    assert_memory_equal(bytes.data, "\0end", 4);
    alineo_bytes_clear(&bytes);
}

static void a_file_flows_through_streams(void **state) {
    file_world *world = *state;
    enum {
        PIECE = 100001,
        PIECES = 20
    };
    alineo_error *err = NULL;
    alineo_file_stream *stream = NULL;
    char *data = malloc(PIECE * PIECES);
    char *back = malloc(PIECE * PIECES + 1);
    assert_int_equal(al_random_bytes(data, PIECE * PIECES), 0);
    FILE_OK(alineo_file_open_write(world->sandbox, file_path(world, "x"), NULL, &stream, &err));
    for (size_t i = 0; i < PIECES; i++)
        FILE_OK(alineo_file_stream_write(stream, data + i * PIECE, PIECE, &err));
    FILE_OK(alineo_file_stream_finish(stream, &err));
    FILE_FAILS(ALINEO_INVALID_ARGUMENT, alineo_file_stream_write(stream, "x", 1, &err));
    FILE_FAILS(ALINEO_INVALID_ARGUMENT, alineo_file_stream_finish(stream, &err));
    alineo_file_stream_free(stream);
    file_holds(world, "x", data, PIECE * PIECES);

    FILE_OK(alineo_file_open_read(world->sandbox, file_path(world, "x"), NULL, &stream, &err));
    size_t size = 0;
    for (size_t used = 1; used > 0; size += used)
        FILE_OK(
            alineo_file_stream_read(stream, back + size, PIECE * PIECES + 1 - size, &used, &err));
    size_t used = 1;
    FILE_OK(alineo_file_stream_read(stream, back, 1, &used, &err));
    assert_int_equal(used, 0);
    FILE_FAILS(ALINEO_INVALID_ARGUMENT, alineo_file_stream_write(stream, "x", 1, &err));
    alineo_file_stream_free(stream);
    assert_int_equal(size, PIECE * PIECES);
    assert_memory_equal(data, back, size);
    free(data);
    free(back);
}

static void a_stream_may_be_left_at_any_point(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    alineo_file_stream *stream = NULL;
    char byte[1];
    size_t used = 0;
    file_put(world, "x", "", 0, 0600);
    assert_int_equal(truncate(file_path(world, "x"), 64 << 20), 0);
    FILE_OK(alineo_file_open_read(world->sandbox, file_path(world, "x"), NULL, &stream, &err));
    FILE_OK(alineo_file_stream_read(stream, byte, 1, &used, &err));
    alineo_file_stream_free(stream);
    FILE_OK(alineo_file_open_write(world->sandbox, file_path(world, "y"), NULL, &stream, &err));
    FILE_OK(alineo_file_stream_write(stream, "part", 4, &err));
    alineo_file_stream_free(stream);
    FILE_OK(alineo_file_open_write(world->sandbox, file_path(world, "z"), NULL, &stream, &err));
    alineo_file_stream_free(stream);
}

static void appended_bytes_come_behind_what_is_there(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    alineo_file_options options = ALINEO_FILE_OPTIONS_INIT;
    options.append = ALINEO_YES;
    FILE_OK(alineo_file_write(world->sandbox, file_path(world, "new/x"), "a", 1, &options, &err));
    FILE_OK(alineo_file_write(world->sandbox, file_path(world, "new/x"), "b", 1, &options, &err));
    FILE_OK(alineo_file_write(world->sandbox, file_path(world, "new/x"), "", 0, &options, &err));
    file_holds(world, "new/x", "ab", 2);
}

typedef struct appender {
    file_world *world;
    const char *path;
    char byte;
} appender;

static void *append_records(void *argument) {
    const appender *self = argument;
    char record[1000];
    alineo_file_options options = ALINEO_FILE_OPTIONS_INIT;
    options.append = ALINEO_YES;
    memset(record, self->byte, sizeof(record));
    record[sizeof(record) - 1] = '\n';
    for (int i = 0; i < 5; i++)
        assert_int_equal(alineo_file_write(self->world->sandbox, self->path, record, sizeof(record),
                                           &options, NULL),
                         ALINEO_OK);
    return NULL;
}

static void of_two_that_append_at_once_both_are_there(void **state) {
    file_world *world = *state;
    char path[128];
    pthread_t threads[2];
    appender appenders[] = {{world, path, 'a'}, {world, path, 'b'}};
    (void)snprintf(path, sizeof(path), "%s", file_path(world, "x"));
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, append_records, &appenders[i]), 0);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    assert_int_equal(alineo_file_read(world->sandbox, path, NULL, &bytes, NULL), ALINEO_OK);
    assert_int_equal(bytes.data_size, 10000);
    int of_a = 0;
    for (size_t i = 0; i < 10; i++) {
        const char *record = bytes.data + i * 1000;
        assert_true(record[0] == 'a' || record[0] == 'b');
        of_a += record[0] == 'a';
        for (size_t j = 1; j < 999; j++)
            assert_int_equal(record[j], record[0]);
    }
    assert_int_equal(of_a, 5);
    alineo_bytes_clear(&bytes);
}

static void an_exclusive_write_leaves_what_is_there(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    alineo_file_options options = ALINEO_FILE_OPTIONS_INIT;
    options.exclusive = ALINEO_YES;
    FILE_OK(alineo_file_write(world->sandbox, file_path(world, "x"), "a", 1, &options, &err));
    FILE_FAILS(ALINEO_FILE_EXISTS,
               alineo_file_write(world->sandbox, file_path(world, "x"), "b", 1, &options, &err));
    options.append = ALINEO_YES;
    FILE_FAILS(ALINEO_FILE_EXISTS,
               alineo_file_write(world->sandbox, file_path(world, "x"), "b", 1, &options, &err));
    assert_int_equal(symlink("nowhere", file_path(world, "link")), 0);
    FILE_FAILS(ALINEO_FILE_EXISTS,
               alineo_file_write(world->sandbox, file_path(world, "link"), "b", 1, &options, &err));
    file_holds(world, "x", "a", 1);
    assert_false(file_is_there(world, "nowhere"));
}

static void folders_are_no_files(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    assert_int_equal(mkdir(file_path(world, "d"), 0700), 0);
    file_put(world, "d/x", "x", 1, 0600);
    file_put(world, "f", "f", 1, 0600);
    FILE_FAILS(ALINEO_IS_A_DIRECTORY,
               alineo_file_read(world->sandbox, file_path(world, "d"), NULL, &bytes, &err));
    FILE_FAILS(ALINEO_IS_A_DIRECTORY,
               alineo_file_write(world->sandbox, file_path(world, "d"), "x", 1, NULL, &err));
    FILE_FAILS(ALINEO_NOT_A_DIRECTORY,
               alineo_file_read(world->sandbox, file_path(world, "f/x"), NULL, &bytes, &err));
    FILE_FAILS(ALINEO_NOT_A_DIRECTORY,
               alineo_file_write(world->sandbox, file_path(world, "f/x"), "x", 1, NULL, &err));
    FILE_FAILS(ALINEO_NOT_A_DIRECTORY,
               alineo_file_write(world->sandbox, file_path(world, "f/x/y"), "x", 1, NULL, &err));
    file_holds(world, "d/x", "x", 1);
    file_holds(world, "f", "f", 1);
}

static void what_is_not_there_is_said_so_with_its_path(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    assert_int_equal(symlink("nowhere", file_path(world, "link")), 0);
    alineo_code code =
        alineo_file_read(world->sandbox, file_path(world, "nope"), NULL, &bytes, &err);
    assert_int_equal(code, ALINEO_FILE_NOT_FOUND);
    assert_non_null(strstr(alineo_error_message(err), file_path(world, "nope")));
    assert_string_equal(alineo_error_sandbox_id(err), alineo_sandbox_id(world->sandbox));
    assert_null(alineo_error_command(err));
    alineo_error_free(err);
    err = NULL;
    FILE_FAILS(ALINEO_FILE_NOT_FOUND,
               alineo_file_read(world->sandbox, file_path(world, "no/pe"), NULL, &bytes, &err));
    FILE_FAILS(ALINEO_FILE_NOT_FOUND,
               alineo_file_read(world->sandbox, file_path(world, "link"), NULL, &bytes, &err));
    assert_null(bytes.data);
}

static void a_fifo_or_device_does_not_make_anybody_wait(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    assert_int_equal(mkfifo(file_path(world, "fifo"), 0600), 0);
    FILE_FAILS(ALINEO_INVALID_ARGUMENT,
               alineo_file_read(world->sandbox, file_path(world, "fifo"), NULL, &bytes, &err));
    FILE_FAILS(ALINEO_INVALID_ARGUMENT,
               alineo_file_write(world->sandbox, file_path(world, "fifo"), "x", 1, NULL, &err));
    FILE_FAILS(ALINEO_INVALID_ARGUMENT,
               alineo_file_read(world->sandbox, "/dev/zero", NULL, &bytes, &err));
    FILE_FAILS(ALINEO_INVALID_ARGUMENT,
               alineo_file_write(world->sandbox, "/dev/null", "x", 1, NULL, &err));
}

static void the_ledger_and_the_numbers_know_nothing_of_it(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    alineo_output output = ALINEO_OUTPUT_INIT;
    assert_int_equal(exec_run(&world->exec, "true", NULL, &output, &result), ALINEO_OK);
    assert_int_equal(result.seq, 1);
    FILE_OK(alineo_file_write(world->sandbox, file_path(world, "x"), "x", 1, NULL, &err));
    file_reads(world, "x", "x", 1);
    assert_int_equal(exec_run(&world->exec, "true", NULL, &output, &result), ALINEO_OK);
    assert_int_equal(result.seq, 2);
    for (int32_t seq = 1; seq < 10; seq++)
        assert_int_equal(exec_event_count(&world->exec, seq, "exec_start"), seq <= 2);
    alineo_output_clear(&output);
}

static void a_cancelled_call_ends_a_write_that_is_under_way(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    alineo_file_stream *stream = NULL;
    alineo_file_options options = ALINEO_FILE_OPTIONS_INIT;
    alineo_call_options call_options = ALINEO_CALL_OPTIONS_INIT;
    assert_int_equal(alineo_call_new(&call_options, &options.call, NULL), ALINEO_OK);
    FILE_OK(alineo_file_open_write(world->sandbox, file_path(world, "x"), &options, &stream, &err));
    FILE_OK(alineo_file_stream_write(stream, "x", 1, &err));
    alineo_call_cancel(options.call);
    FILE_FAILS(ALINEO_CANCELLED, alineo_file_stream_finish(stream, &err));
    alineo_file_stream_free(stream);
    FILE_FAILS(ALINEO_CANCELLED,
               alineo_file_write(world->sandbox, file_path(world, "x"), "y", 1, &options, &err));
    alineo_call_free(options.call);
}

static void a_closed_sandbox_refuses(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    alineo_file_stream *stream = NULL;
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    FILE_OK(alineo_file_open_write(world->sandbox, file_path(world, "x"), NULL, &stream, &err));
    FILE_OK(alineo_sandbox_close(world->sandbox, NULL, &err));
    FILE_FAILS(ALINEO_SANDBOX_CLOSED, alineo_file_stream_write(stream, "x", 1, &err));
    FILE_FAILS(ALINEO_SANDBOX_CLOSED,
               alineo_file_read(world->sandbox, file_path(world, "x"), NULL, &bytes, &err));
    alineo_file_stream_free(stream);
    alineo_sandbox_free(world->sandbox);
    world->exec.sandbox = NULL;
}

static void no_descriptor_is_left_open(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    FILE_OK(alineo_file_write(world->sandbox, file_path(world, "x"), "x", 1, NULL, &err));
    size_t before = test_count_fds();
    for (int i = 0; i < 10; i++) {
        FILE_OK(alineo_file_write(world->sandbox, file_path(world, "x"), "x", 1, NULL, &err));
        file_reads(world, "x", "x", 1);
        FILE_FAILS(ALINEO_FILE_NOT_FOUND,
                   alineo_file_read(world->sandbox, file_path(world, "no"), NULL, &bytes, &err));
    }
    /* Those that threads of a pump hold go as the threads do. */
    for (int i = 0; i < 100 && test_count_fds() > before; i++)
        (void)usleep(10000);
    assert_true(test_count_fds() <= before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FILE_TEST(any_bytes_of_any_size_come_back_exactly),
        FILE_TEST(names_are_taken_literally),
        FILE_TEST(odd_slashes_and_dots_lead_to_the_same_file),
        FILE_TEST(modes_are_exact_and_missing_folders_made),
        FILE_TEST(a_written_file_stays_the_same_file),
        FILE_TEST(parts_are_read_by_offset_and_length),
        FILE_TEST(a_part_behind_holes_is_read),
        FILE_TEST(a_file_flows_through_streams),
        FILE_TEST(a_stream_may_be_left_at_any_point),
        FILE_TEST(appended_bytes_come_behind_what_is_there),
        FILE_TEST(of_two_that_append_at_once_both_are_there),
        FILE_TEST(an_exclusive_write_leaves_what_is_there),
        FILE_TEST(folders_are_no_files),
        FILE_TEST(what_is_not_there_is_said_so_with_its_path),
        FILE_TEST(a_fifo_or_device_does_not_make_anybody_wait),
        FILE_TEST(the_ledger_and_the_numbers_know_nothing_of_it),
        FILE_TEST(a_cancelled_call_ends_a_write_that_is_under_way),
        FILE_TEST(a_closed_sandbox_refuses),
        FILE_TEST(no_descriptor_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
