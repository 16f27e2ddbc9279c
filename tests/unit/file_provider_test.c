/* SPDX-License-Identifier: Apache-2.0 */
/* test: tsan */
/* What is asked of a provider that has file functions. */
#include "tests/support/test.h"

#include "core/fail.h"
#include "core/util/str.h"
#include "tests/support/counting_files.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/world.h"

#include <string.h>

typedef struct files {
    world world;
    alineo_sandbox *sandbox;
} files;

static int setup(void **state) {
    files *self = calloc(1, sizeof(*self));
    assert_non_null(self);
    world_open(&self->world, NULL);
    self->sandbox = world_sandbox(&self->world);
    *state = self;
    return 0;
}

static int teardown(void **state) {
    files *self = *state;
    alineo_sandbox_free(self->sandbox);
    world_close(&self->world);
    free(self);
    return 0;
}

static const counting_file *at(files *self, const char *path) {
    return counting_file_at(&self->world.provider, path);
}

static void streams_move_bytes_with_descriptors_and_without(void **state) {
    files *self = *state;
    for (int by_calls = 0; by_calls < 2; by_calls++) {
        self->world.provider.files_by_calls = by_calls;
        alineo_file_stream *stream = NULL;
        assert_int_equal(alineo_file_open_write(self->sandbox, "/d/x", NULL, &stream, NULL),
                         ALINEO_OK);
        assert_true(alineo_file_stream_bytes(stream) == UINT64_MAX);
        assert_int_equal(alineo_file_stream_write(stream, "0123", 4, NULL), ALINEO_OK);
        assert_int_equal(alineo_file_stream_write(stream, NULL, 0, NULL), ALINEO_OK);
        assert_int_equal(alineo_file_stream_write(stream, "456789", 6, NULL), ALINEO_OK);
        assert_int_equal(alineo_file_stream_finish(stream, NULL), ALINEO_OK);
        alineo_file_stream_free(stream);
        assert_int_equal(at(self, "/d/x")->size, 10);

        alineo_file_options options = ALINEO_FILE_OPTIONS_INIT;
        options.offset = 2;
        options.length = 5;
        assert_int_equal(alineo_file_open_read(self->sandbox, "/d/x", &options, &stream, NULL),
                         ALINEO_OK);
        assert_int_equal(alineo_file_stream_bytes(stream), 5);
        char buffer[8];
        size_t used = 0;
        size_t size = 0;
        do {
            assert_int_equal(
                alineo_file_stream_read(stream, buffer + size, sizeof(buffer) - size, &used, NULL),
                ALINEO_OK);
            size += used;
        } while (used > 0);
        assert_int_equal(size, 5);
        assert_memory_equal(buffer, "23456", 5);
        alineo_file_stream_free(stream);
    }
}

static void a_stream_outlives_the_handles_that_it_came_from(void **state) {
    files *self = *state;
    alineo_file_stream *stream = NULL;
    assert_int_equal(alineo_file_open_write(self->sandbox, "/x", NULL, &stream, NULL), ALINEO_OK);
    alineo_sandbox_free(self->sandbox);
    self->sandbox = NULL;
    assert_int_equal(alineo_file_stream_write(stream, "x", 1, NULL), ALINEO_OK);
    assert_int_equal(alineo_file_stream_finish(stream, NULL), ALINEO_OK);
    alineo_file_stream_free(stream);
    assert_int_equal(at(self, "/x")->size, 1);
}

static void what_is_wanted_of_a_write_is_asked_for(void **state) {
    files *self = *state;
    alineo_file_options options = ALINEO_FILE_OPTIONS_INIT;
    options.append = ALINEO_YES;
    options.exclusive = ALINEO_YES;
    options.parents = ALINEO_NO;
    options.mode = 01;
    assert_int_equal(alineo_file_write(self->sandbox, "/x", "a", 1, &options, NULL), ALINEO_OK);
    assert_int_equal(at(self, "/x")->flags,
                     ALINEO_FILE_APPEND | ALINEO_FILE_EXCLUSIVE | ALINEO_FILE_MODE);
    options.exclusive = ALINEO_NO;
    assert_int_equal(alineo_file_write(self->sandbox, "/x", "b", 1, &options, NULL), ALINEO_OK);
    assert_int_equal(at(self, "/x")->size, 2);
}

static void names_are_changed_as_asked_for(void **state) {
    files *self = *state;
    alineo_sandbox *sandbox = self->sandbox;
    alineo_file_change_options options = ALINEO_FILE_CHANGE_OPTIONS_INIT;
    assert_int_equal(alineo_file_mkdir(sandbox, "/a/b", NULL, NULL), ALINEO_OK);
    options.mode = 0700;
    options.parents = ALINEO_NO;
    assert_int_equal(alineo_file_mkdir(sandbox, "/a/c", &options, NULL), ALINEO_OK);
    assert_int_equal(at(self, "/a/c")->mode, 0700);
    assert_int_equal(alineo_file_mkdir(sandbox, "/a/c", &options, NULL), ALINEO_FILE_EXISTS);
    assert_int_equal(alineo_file_write(sandbox, "/a/b/x", "x", 1, NULL, NULL), ALINEO_OK);
    assert_int_equal(alineo_file_move(sandbox, "/a/b/x", "/n/y", NULL, NULL), ALINEO_OK);
    assert_non_null(at(self, "/n/y"));
    assert_int_equal(alineo_file_symlink(sandbox, "/m/link", "../n/y", NULL, NULL), ALINEO_OK);
    assert_string_equal(at(self, "/m/link")->data, "../n/y");
    assert_int_equal(alineo_file_chmod(sandbox, "/m/link", 04750, NULL, NULL), ALINEO_OK);
    assert_int_equal(at(self, "/n/y")->mode, 04750);
    assert_int_equal(alineo_file_chown(sandbox, "/n/y", "me", NULL, NULL, NULL), ALINEO_OK);
    assert_string_equal(at(self, "/n/y")->owner, "me");
    assert_string_equal(at(self, "/n/y")->group, "root");
    assert_int_equal(alineo_file_remove(sandbox, "/n", NULL, NULL), ALINEO_IS_A_DIRECTORY);
    options = (alineo_file_change_options)ALINEO_FILE_CHANGE_OPTIONS_INIT;
    options.recursive = ALINEO_NO;
    assert_int_equal(alineo_file_rmdir(sandbox, "/n", &options, NULL), ALINEO_DIRECTORY_NOT_EMPTY);
    assert_int_equal(alineo_file_rmdir(sandbox, "/n", NULL, NULL), ALINEO_OK);
    assert_null(at(self, "/n/y"));
    uint64_t count = 0;
    assert_int_equal(alineo_file_write(sandbox, "/x", "abc", 3, NULL, NULL), ALINEO_OK);
    assert_int_equal(alineo_file_replace(sandbox, "/x", "b", 1, NULL, 0, NULL, &count, NULL),
                     ALINEO_OK);
    assert_int_equal(count, 1);
}

static int32_t count_one(void *user, const alineo_file_info *info) {
    (void)info;
    ++*(int *)user;
    return 0;
}

static void lists_and_searches_hand_on_what_is_told(void **state) {
    files *self = *state;
    int count = 0;
    assert_int_equal(alineo_file_write(self->sandbox, "/d/e/x.c", "", 0, NULL, NULL), ALINEO_OK);
    assert_int_equal(alineo_file_list(self->sandbox, "/d", NULL, count_one, &count, NULL),
                     ALINEO_OK);
    assert_int_equal(count, 1);
    alineo_file_list_options options = ALINEO_FILE_LIST_OPTIONS_INIT;
    options.depth = 2;
    assert_int_equal(alineo_file_list(self->sandbox, "/d", &options, count_one, &count, NULL),
                     ALINEO_OK);
    assert_int_equal(count, 3);
    assert_int_equal(alineo_file_search(self->sandbox, "*.c", NULL, NULL, count_one, &count, NULL),
                     ALINEO_OK);
    assert_int_equal(count, 4);
    assert_int_equal(alineo_file_stat(self->sandbox, "/d", NULL, count_one, &count, NULL),
                     ALINEO_OK);
    assert_int_equal(count, 5);
}

static void options_for_other_calls_are_refused(void **state) {
    files *self = *state;
    alineo_sandbox *sandbox = self->sandbox;
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    alineo_file_stream *stream = NULL;
    const alineo_file_options none = ALINEO_FILE_OPTIONS_INIT;
    alineo_file_options odd[9] = {none, none, none, none, none, none, none, none, none};
    odd[0].mode = 0600;
    odd[1].parents = ALINEO_NO;
    odd[2].append = ALINEO_YES;
    odd[3].exclusive = ALINEO_YES;
    odd[4].offset = UINT64_MAX;
    odd[5].length = 1;
    odd[6].max_bytes = 1;
    odd[7].offset = 1;
    odd[8].append = 3;
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(alineo_file_read(sandbox, "/x", &odd[i], &bytes, NULL),
                         ALINEO_INVALID_ARGUMENT);
    assert_int_equal(alineo_file_open_read(sandbox, "/x", &odd[6], &stream, NULL),
                     ALINEO_INVALID_ARGUMENT);
    for (size_t i = 4; i < 9; i++)
        assert_int_equal(alineo_file_write(sandbox, "/x", "", 0, &odd[i], NULL),
                         ALINEO_INVALID_ARGUMENT);
    const alineo_file_change_options plain = ALINEO_FILE_CHANGE_OPTIONS_INIT;
    alineo_file_change_options change = plain;
    change.mode = 0600;
    assert_int_equal(alineo_file_remove(sandbox, "/x", &change, NULL), ALINEO_INVALID_ARGUMENT);
    change = plain;
    change.parents = ALINEO_YES;
    assert_int_equal(alineo_file_rmdir(sandbox, "/x", &change, NULL), ALINEO_INVALID_ARGUMENT);
    change = plain;
    change.replace = ALINEO_YES;
    assert_int_equal(alineo_file_mkdir(sandbox, "/x", &change, NULL), ALINEO_INVALID_ARGUMENT);
    change = plain;
    change.recursive = ALINEO_NO;
    assert_int_equal(alineo_file_move(sandbox, "/x", "/y", &change, NULL), ALINEO_INVALID_ARGUMENT);
    change.recursive = 7;
    assert_int_equal(alineo_file_rmdir(sandbox, "/x", &change, NULL), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(alineo_file_move(sandbox, "/x", "y", NULL, NULL), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(alineo_file_open_write(sandbox, "/x", NULL, NULL, NULL),
                     ALINEO_INVALID_ARGUMENT);
    assert_int_equal(alineo_file_stream_write(NULL, "x", 1, NULL), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(alineo_file_stream_finish(NULL, NULL), ALINEO_INVALID_ARGUMENT);
    assert_true(alineo_file_stream_bytes(NULL) == UINT64_MAX);
    alineo_file_stream_free(NULL);
    assert_int_equal(alineo_file_list(sandbox, "/", NULL, NULL, NULL, NULL),
                     ALINEO_INVALID_ARGUMENT);
    alineo_file_list_options deep = ALINEO_FILE_LIST_OPTIONS_INIT;
    deep.depth = 1;
    int count = 0;
    assert_int_equal(alineo_file_stat(sandbox, "/", &deep, count_one, &count, NULL),
                     ALINEO_INVALID_ARGUMENT);
    assert_int_equal(self->world.provider.file_count, 0);
}

static void whatever_fails_names_path_and_sandbox(void **state) {
    files *self = *state;
    alineo_error *err = NULL;
    int count = 0;
    assert_int_equal(alineo_file_stat(self->sandbox, "/no/pe", NULL, count_one, &count, &err),
                     ALINEO_FILE_NOT_FOUND);
    assert_non_null(strstr(alineo_error_message(err), "/no/pe"));
    assert_string_equal(alineo_error_sandbox_id(err), alineo_sandbox_id(self->sandbox));
    alineo_error_free(err);
}

/* --- memory ----------------------------------------------------------------------------------- */

static void stream_without_memory(void *user) {
    alineo_file_stream *stream = NULL;
    alineo_error *error = NULL;
    alineo_code code = alineo_file_open_read(user, "/x", NULL, &stream, &error);
    assert_int_equal(code, alineo_error_code(error));
    assert_true(code == ALINEO_OK || fail_alloc_happened());
    alineo_error_free(error);
    alineo_file_stream_free(stream);
}

static void without_memory_there_is_an_error_and_no_leak(void **state) {
    files *self = *state;
    assert_int_equal(alineo_file_write(self->sandbox, "/x", "abc", 3, NULL, NULL), ALINEO_OK);
    self->world.provider.files_by_calls = 1;
    assert_true(fail_alloc_each(stream_without_memory, self->sandbox) > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(streams_move_bytes_with_descriptors_and_without),
        TEST(a_stream_outlives_the_handles_that_it_came_from),
        TEST(what_is_wanted_of_a_write_is_asked_for),
        TEST(names_are_changed_as_asked_for),
        TEST(lists_and_searches_hand_on_what_is_told),
        TEST(options_for_other_calls_are_refused),
        TEST(whatever_fails_names_path_and_sandbox),
        TEST(without_memory_there_is_an_error_and_no_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
