/* SPDX-License-Identifier: Apache-2.0 */
/* test: tsan */
/* Copies out of a sandbox that tells what is not so, by a provider with file functions. */
#include "tests/support/test.h"

#include "core/fail.h"
#include "core/util/buf.h"
#include "core/util/file.h"
#include "tests/support/counting_files.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/folder.h"
#include "tests/support/world.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct files {
    world world;
    alineo_sandbox *sandbox;
    test_folder folder;
} files;

static int setup(void **state) {
    files *self = calloc(1, sizeof(*self));
    assert_non_null(self);
    world_open(&self->world, NULL);
    self->sandbox = world_sandbox(&self->world);
    test_folder_make(&self->folder);
    *state = self;
    return 0;
}

static int teardown(void **state) {
    files *self = *state;
    alineo_sandbox_free(self->sandbox);
    world_close(&self->world);
    test_folder_remove(&self->folder);
    free(self);
    return 0;
}

static void put(files *self, const char *path, alineo_file_type type, const char *data) {
    counting_put(&self->world.provider, path, type, data, strlen(data), 0);
}

static alineo_code download(files *self, const char *name) {
    alineo_error *err = NULL;
    alineo_code code =
        alineo_file_download(self->sandbox, "/t", test_path(&self->folder, name), NULL, NULL, &err);
    assert_int_equal(code, alineo_error_code(err));
    alineo_error_free(err);
    return code;
}

static void holds(files *self, const char *name, const char *text) {
    al_auto(al_buf_free) al_buf bytes = AL_BUF_INIT;
    assert_int_equal(al_file_read(test_path(&self->folder, name), 1000, &bytes), 0);
    assert_string_equal(al_buf_str(&bytes), text);
}

static bool is_there(files *self, const char *name) {
    struct stat status;
    return lstat(test_path(&self->folder, name), &status) == 0;
}

static void an_honest_tree_arrives(void **state) {
    files *self = *state;
    put(self, "/t", ALINEO_FILE_DIRECTORY, "");
    put(self, "/t/d", ALINEO_FILE_DIRECTORY, "");
    put(self, "/t/d/x", ALINEO_FILE_REGULAR, "x");
    put(self, "/t/link", ALINEO_FILE_SYMLINK, "d/x");
    put(self, "/t/fifo", ALINEO_FILE_OTHER, "");
    put(self, "/tea", ALINEO_FILE_REGULAR, "not in it");
    for (int by_calls = 0; by_calls < 2; by_calls++) {
        self->world.provider.files_by_calls = by_calls;
        assert_int_equal(download(self, by_calls ? "b" : "a"), ALINEO_OK);
        holds(self, by_calls ? "b/d/x" : "a/d/x", "x");
        holds(self, by_calls ? "b/link" : "a/link", "x");
        assert_false(is_there(self, by_calls ? "b/fifo" : "a/fifo"));
    }
}

static void names_that_lead_out_are_refused(void **state) {
    files *self = *state;
    static const char *const names[] = {"/t/../../evil", "/t/d/../../evil", "/t/..", "/t/d/../.."};
    put(self, "/t", ALINEO_FILE_DIRECTORY, "");
    put(self, "/t/d", ALINEO_FILE_DIRECTORY, "");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        self->world.provider.tells_also = names[i];
        assert_int_equal(download(self, "a"), ALINEO_IO);
        assert_false(is_there(self, "evil"));
    }
    self->world.provider.tells_also = "/elsewhere";
    assert_int_equal(download(self, "a"), ALINEO_IO);
    self->world.provider.tells_also = "/tea";
    assert_int_equal(download(self, "a"), ALINEO_IO);
    self->world.provider.tells_also = "/t";
    assert_int_equal(download(self, "a"), ALINEO_IO);
}

static void a_link_is_no_folder_for_what_is_told_behind_it(void **state) {
    files *self = *state;
    assert_int_equal(mkdir(test_path(&self->folder, "precious"), 0755), 0);
    put(self, "/t", ALINEO_FILE_DIRECTORY, "");
    put(self, "/t/d", ALINEO_FILE_SYMLINK, "../precious");
    put(self, "/precious", ALINEO_FILE_DIRECTORY, "");
    put(self, "/t/d/evil", ALINEO_FILE_REGULAR, "evil");
    assert_int_equal(download(self, "a"), ALINEO_NOT_A_DIRECTORY);
    assert_false(is_there(self, "precious/evil"));
    /* Nor when it takes the place of a folder. */
    put(self, "/t/dd", ALINEO_FILE_DIRECTORY, "");
    assert_int_equal(download(self, "b"), ALINEO_NOT_A_DIRECTORY);
    assert_false(is_there(self, "precious/evil"));
}

static void a_file_that_vanished_is_passed_over(void **state) {
    files *self = *state;
    alineo_file_copy_result result = ALINEO_FILE_COPY_RESULT_INIT;
    put(self, "/t", ALINEO_FILE_DIRECTORY, "");
    put(self, "/t/x", ALINEO_FILE_REGULAR, "x");
    self->world.provider.tells_also = "/t/gone";
    assert_int_equal(alineo_file_download(self->sandbox, "/t", test_path(&self->folder, "a"), NULL,
                                          &result, NULL),
                     ALINEO_OK);
    assert_int_equal(result.files, 1);
    assert_int_equal(result.skipped, 1);
}

static void a_file_goes_from_one_sandbox_to_another(void **state) {
    files *self = *state;
    world other;
    world_open(&other, NULL);
    alineo_sandbox *to = world_sandbox(&other);
    counting_put(&self->world.provider, "/x", ALINEO_FILE_REGULAR, "bundle", 6, 0751);
    assert_int_equal(alineo_file_transfer(self->sandbox, "/x", to, NULL, NULL, NULL, NULL),
                     ALINEO_OK);
    const counting_file *copy = counting_file_at(&other.provider, "/x");
    assert_int_equal(copy->size, 6);
    assert_int_equal(copy->mode, 0751);
    assert_int_equal(alineo_file_transfer(self->sandbox, "/x", to, "/n/y", NULL, NULL, NULL),
                     ALINEO_OK);
    assert_non_null(counting_file_at(&other.provider, "/n/y"));
    alineo_sandbox_free(to);
    world_close(&other);
}

typedef struct attempt {
    files *self;
    bool in;
} attempt;

static void copy_without_memory(void *user) {
    const attempt *one = user;
    files *self = one->self;
    alineo_error *err = NULL;
    alineo_file_copy_result result = ALINEO_FILE_COPY_RESULT_INIT;
    alineo_code code =
        one->in ? alineo_file_upload(self->sandbox, test_path(&self->folder, "src"), "/copy", NULL,
                                     &result, &err)
                : alineo_file_download(self->sandbox, "/t", test_path(&self->folder, "out"), NULL,
                                       &result, &err);
    assert_int_equal(code, alineo_error_code(err));
    assert_true(code == ALINEO_OK || fail_alloc_happened());
    alineo_error_free(err);
}

static void without_memory_there_is_an_error_and_no_leak(void **state) {
    files *self = *state;
    put(self, "/t", ALINEO_FILE_DIRECTORY, "");
    put(self, "/t/x", ALINEO_FILE_REGULAR, "x");
    put(self, "/t/link", ALINEO_FILE_SYMLINK, "x");
    assert_int_equal(mkdir(test_path(&self->folder, "src"), 0755), 0);
    attempt out = {self, false};
    assert_true(fail_alloc_each(copy_without_memory, &out) > 0);
    holds(self, "out/x", "x");
    assert_int_equal(unlink(test_path(&self->folder, "out/link")), 0);
    attempt in = {self, true};
    assert_true(fail_alloc_each(copy_without_memory, &in) > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(an_honest_tree_arrives),
        TEST(names_that_lead_out_are_refused),
        TEST(a_link_is_no_folder_for_what_is_told_behind_it),
        TEST(a_file_that_vanished_is_passed_over),
        TEST(a_file_goes_from_one_sandbox_to_another),
        TEST(without_memory_there_is_an_error_and_no_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
