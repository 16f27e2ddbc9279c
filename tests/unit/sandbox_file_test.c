/* SPDX-License-Identifier: Apache-2.0 */
/* test: tsan */
#include "tests/support/test.h"

#include "core/fail.h"
#include "core/util/random.h"
#include "tests/support/counting_files.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/world.h"

#include <stdlib.h>
#include <string.h>

static alineo_code read_file(alineo_sandbox *sandbox, const char *path, uint64_t offset,
                             uint64_t max_bytes, alineo_bytes *out) {
    alineo_file_options options = ALINEO_FILE_OPTIONS_INIT;
    options.offset = offset;
    options.max_bytes = max_bytes;
    alineo_error *error = NULL;
    alineo_code code = alineo_file_read(sandbox, path, &options, out, &error);
    assert_int_equal(code, alineo_error_code(error));
    if (code != ALINEO_OK && code != ALINEO_INVALID_ARGUMENT)
        assert_non_null(strstr(alineo_error_message(error), path));
    alineo_error_free(error);
    return code;
}

/* Writes and reads sizes around the borders of the pieces. */
static void round_trip(int by_calls) {
    world self;
    world_open(&self, NULL);
    self.provider.files_by_calls = by_calls;
    alineo_sandbox *sandbox = world_sandbox(&self);
    const size_t sizes[] = {0, 1, 5, 65536, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20};
    char *data = malloc(3 << 20);
    assert_non_null(data);
    assert_int_equal(al_random_bytes(data, 3 << 20), 0);
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        assert_int_equal(alineo_file_write(sandbox, "/a b'c", data, sizes[i], NULL, NULL),
                         ALINEO_OK);
        assert_int_equal(alineo_file_read(sandbox, "/a b'c", NULL, &bytes, NULL), ALINEO_OK);
        assert_int_equal(bytes.data_size, sizes[i]);
        assert_memory_equal(bytes.data, data, sizes[i]);
        assert_int_equal(bytes.data[sizes[i]], '\0');
    }
    alineo_bytes_clear(&bytes);
    free(data);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void any_bytes_of_any_size_come_back_exactly(void **state) {
    (void)state;
    round_trip(0);
    round_trip(1);
}

static void parents_and_mode_are_asked_for(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    assert_int_equal(alineo_file_write(sandbox, "/d/x", NULL, 0, NULL, NULL), ALINEO_OK);
    assert_int_equal(counting_file_at(&self.provider, "/d/x")->flags, ALINEO_FILE_PARENTS);
    assert_int_equal(counting_file_at(&self.provider, "/d/x")->mode, 0);
    alineo_file_options options = ALINEO_FILE_OPTIONS_INIT;
    options.mode = 04755;
    options.parents = ALINEO_NO;
    assert_int_equal(alineo_file_write(sandbox, "/y", "", 0, &options, NULL), ALINEO_OK);
    assert_int_equal(counting_file_at(&self.provider, "/y")->flags, ALINEO_FILE_MODE);
    assert_int_equal(counting_file_at(&self.provider, "/y")->mode, 04755);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void names_are_taken_literally(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    const char *const paths[] = {"/$HOME.txt", "/~x", "/a\nb", "/%2F+#?", "/\xff"};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(alineo_file_write(sandbox, paths[i], "x", 1, NULL, NULL), ALINEO_OK);
        assert_non_null(counting_file_at(&self.provider, paths[i]));
    }
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void a_part_is_read_and_more_than_the_limit_refused(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    assert_int_equal(alineo_file_write(sandbox, "/x", "0123456789", 10, NULL, NULL), ALINEO_OK);
    for (int by_calls = 0; by_calls < 2; by_calls++) {
        self.provider.files_by_calls = by_calls;
        alineo_bytes bytes = ALINEO_BYTES_INIT;
        assert_int_equal(read_file(sandbox, "/x", 4, 0, &bytes), ALINEO_OK);
        assert_int_equal(bytes.data_size, 6);
        assert_string_equal(bytes.data, "456789");
        assert_int_equal(read_file(sandbox, "/x", 0, 10, &bytes), ALINEO_OK);
        assert_int_equal(bytes.data_size, 10);
        assert_int_equal(read_file(sandbox, "/x", 0, UINT64_MAX, &bytes), ALINEO_OK);
        assert_int_equal(read_file(sandbox, "/x", 0, 9, &bytes), ALINEO_TOO_LARGE);
        assert_int_equal(bytes.data_size, 10); /* untouched */
        assert_int_equal(read_file(sandbox, "/x", 10, 0, &bytes), ALINEO_OK);
        assert_int_equal(bytes.data_size, 0);
        alineo_bytes_clear(&bytes);
    }
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void what_is_not_there_is_said_with_its_path(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    assert_int_equal(read_file(sandbox, "/nope", 0, 0, &bytes), ALINEO_FILE_NOT_FOUND);
    assert_null(bytes.data);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void odd_arguments_are_refused(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    const char *const paths[] = {"", "x", NULL};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(alineo_file_write(sandbox, paths[i], "", 0, NULL, NULL),
                         ALINEO_INVALID_ARGUMENT);
        assert_int_equal(alineo_file_read(sandbox, paths[i], NULL, &bytes, NULL),
                         ALINEO_INVALID_ARGUMENT);
    }
    assert_int_equal(alineo_file_write(sandbox, "/x", NULL, 1, NULL, NULL),
                     ALINEO_INVALID_ARGUMENT);
    assert_int_equal(alineo_file_read(sandbox, "/x", NULL, NULL, NULL), ALINEO_INVALID_ARGUMENT);
    const alineo_file_options good = ALINEO_FILE_OPTIONS_INIT;
    alineo_file_options odd = good;
    odd.mode = 010000;
    assert_int_equal(alineo_file_write(sandbox, "/x", "", 0, &odd, NULL), ALINEO_INVALID_ARGUMENT);
    odd = good;
    odd.parents = 5;
    assert_int_equal(alineo_file_write(sandbox, "/x", "", 0, &odd, NULL), ALINEO_INVALID_ARGUMENT);
    odd = good;
    odd.offset = 1;
    assert_int_equal(alineo_file_write(sandbox, "/x", "", 0, &odd, NULL), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(atomic_load(&self.provider.writes), 0);
    assert_int_equal(atomic_load(&self.provider.reads), 0);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void a_cancelled_call_moves_nothing(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    alineo_file_options options = ALINEO_FILE_OPTIONS_INIT;
    options.call = world_call(0);
    alineo_call_cancel(options.call);
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    assert_int_equal(alineo_file_write(sandbox, "/x", "a", 1, &options, NULL), ALINEO_CANCELLED);
    assert_int_equal(alineo_file_read(sandbox, "/x", &options, &bytes, NULL), ALINEO_CANCELLED);
    assert_int_equal(atomic_load(&self.provider.writes), 0);
    alineo_call_free(options.call);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void without_files_and_without_streams_it_is_refused(void **state) {
    (void)state;
    world self;
    world_prepare(&self);
    static const alineo_capability *const none[] = {NULL};
    self.provider.descriptor.capabilities = none;
    alineo_provider_table bare = {.size = offsetof(alineo_provider_table, probe)};
    memcpy((char *)&bare + sizeof(size_t), (char *)&self.provider.table + sizeof(size_t),
           bare.size - sizeof(size_t));
    self.provider.own.table = &bare;
    self.client = world_client(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    alineo_error *error = NULL;
    assert_int_equal(alineo_file_write(sandbox, "/x", "a", 1, NULL, &error),
                     ALINEO_CAPABILITY_UNSUPPORTED);
    assert_non_null(strstr(alineo_error_message(error), "files"));
    alineo_error_free(error);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void read_without_memory(void *user) {
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    alineo_error *error = NULL;
    alineo_code code = alineo_file_read(user, "/x", NULL, &bytes, &error);
    assert_int_equal(code, alineo_error_code(error));
    assert_true(code == ALINEO_OK || fail_alloc_happened());
    alineo_error_free(error);
    alineo_bytes_clear(&bytes);
}

static void without_memory_there_is_an_error_and_no_leak(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    assert_int_equal(alineo_file_write(sandbox, "/x", "abc", 3, NULL, NULL), ALINEO_OK);
    self.provider.files_by_calls = 1;
    assert_true(fail_alloc_each(read_without_memory, sandbox) > 0);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_bytes_of_any_size_come_back_exactly),
        cmocka_unit_test(parents_and_mode_are_asked_for),
        cmocka_unit_test(names_are_taken_literally),
        cmocka_unit_test(a_part_is_read_and_more_than_the_limit_refused),
        cmocka_unit_test(what_is_not_there_is_said_with_its_path),
        cmocka_unit_test(odd_arguments_are_refused),
        cmocka_unit_test(a_cancelled_call_moves_nothing),
        cmocka_unit_test(without_files_and_without_streams_it_is_refused),
        cmocka_unit_test(without_memory_there_is_an_error_and_no_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
