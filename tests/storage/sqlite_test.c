/* SPDX-License-Identifier: Apache-2.0 */
/* test: tsan */
#include "tests/support/storage_cases.h"

#include <stdlib.h>

#include "tests/support/folder.h"

extern const alineo_plugin alineo_plugin_storage_sqlite;

typedef struct file_test {
    storage_test test; /* first: what the cases are given */
    test_folder folder;
} file_test;

static int set_up_file(void **state) {
    file_test *file = calloc(1, sizeof(*file));
    assert_non_null(file);
    test_folder_make(&file->folder);
    const char *pairs[] = {"path", test_path(&file->folder, "a/b/ledger.db"), "sync", "normal",
                           NULL};
    storage_test_open(&file->test, &alineo_plugin_storage_sqlite, pairs);
    *state = file;
    return 0;
}

static int tear_down_file(void **state) {
    file_test *file = *state;
    storage_test_close(&file->test);
    test_folder_remove(&file->folder);
    free(file);
    return 0;
}

static int set_up_memory(void **state) {
    storage_test *test = calloc(1, sizeof(*test));
    assert_non_null(test);
    static const char *const pairs[] = {"path", ":memory:", NULL};
    storage_test_open(test, &alineo_plugin_storage_sqlite, pairs);
    *state = test;
    return 0;
}

static int tear_down_memory(void **state) {
    storage_test_close(*state);
    free(*state);
    return 0;
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up_file, tear_down_file),
    const struct CMUnitTest in_a_file[] = {STORAGE_CASES(CASE)};
#undef CASE
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up_memory, tear_down_memory),
    const struct CMUnitTest in_memory[] = {STORAGE_CASES(CASE)};
#undef CASE
    int failed = cmocka_run_group_tests_name("in a file", in_a_file, NULL, NULL);
    return failed + cmocka_run_group_tests_name("in memory", in_memory, NULL, NULL);
}
