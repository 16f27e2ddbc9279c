/* SPDX-License-Identifier: Apache-2.0 */
/* test: tsan */
#include "tests/support/storage_cases.h"

#include <stdlib.h>

extern const alineo_plugin alineo_plugin_storage_memory;

static int set_up(void **state) {
    storage_test *test = malloc(sizeof(*test));
    assert_non_null(test);
    storage_test_open(test, &alineo_plugin_storage_memory, NULL);
    *state = test;
    return 0;
}

static int tear_down(void **state) {
    storage_test_close(*state);
    free(*state);
    return 0;
}

static void it_says_that_nothing_of_it_lasts(void **state) {
    (void)state;
    const alineo_storage_descriptor *descriptor = alineo_plugin_storage_memory.descriptor;
    assert_int_equal(descriptor->durable, 0);
    assert_int_equal(descriptor->shared, 0);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down),
    const struct CMUnitTest tests[] = {STORAGE_CASES(CASE)
                                           cmocka_unit_test(it_says_that_nothing_of_it_lasts)};
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
