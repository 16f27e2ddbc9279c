/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include "core/pairs.h"

#include <stdlib.h>
#include <string.h>

static alineo_code check_env(const char *const *env) {
    alineo_error *error = NULL;
    alineo_code code = al_env_check(env, &error);
    assert_int_equal(code, alineo_error_code(error));
    alineo_error_free(error);
    return code;
}

static alineo_code check_metadata(const char *const *metadata) {
    alineo_error *error = NULL;
    alineo_code code = al_metadata_check(metadata, &error);
    assert_int_equal(code, alineo_error_code(error));
    alineo_error_free(error);
    return code;
}

static void pairs_are_counted_and_found_by_name(void **state) {
    (void)state;
    const char *const pairs[] = {"a", "1", "b", "a", NULL};
    assert_int_equal(al_pairs_count(pairs), 4);
    assert_int_equal(al_pairs_count(NULL), 0);
    assert_string_equal(al_pairs_get(pairs, "b"), "a");
    assert_null(al_pairs_get(pairs, "1"));
    assert_null(al_pairs_get(NULL, "a"));
}

static void names_that_no_variable_can_have_are_refused(void **state) {
    (void)state;
    const char *const names[] = {"A;touch /data/p", "",         "A=B", "A\nB", "1A", "A B",
                                 "A\x01",           "\xc3\xa4", "$A"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *const env[] = {names[i], "v", NULL};
        assert_int_equal(check_env(env), ALINEO_INVALID_ARGUMENT);
    }
}

static void usual_names_and_any_value_pass(void **state) {
    (void)state;
    const char *const env[] = {
        "PATH",   "/bin",          "_", "",           "npm.config-x", "a=b",
        "NL",     "two\nlines",    "q", "it's \"q\"", "BYTES",        "\xff\xfe",
        "a1_B.c", "$(id) `x` \\ ", NULL};
    assert_int_equal(check_env(env), ALINEO_OK);
    assert_int_equal(check_env(NULL), ALINEO_OK);
}

static void a_name_without_a_value_is_refused(void **state) {
    (void)state;
    const char *const pairs[] = {"A", "1", "B", NULL};
    assert_int_equal(check_env(pairs), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(check_metadata(pairs), ALINEO_INVALID_ARGUMENT);
}

static void a_name_that_comes_twice_is_refused(void **state) {
    (void)state;
    const char *const pairs[] = {"A", "1", "B", "2", "A", "3", NULL};
    assert_int_equal(check_env(pairs), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(check_metadata(pairs), ALINEO_INVALID_ARGUMENT);
}

static void an_entry_past_what_a_kernel_takes_is_too_large_and_not_shown(void **state) {
    (void)state;
    char *value = malloc(131072);
    assert_non_null(value);
    memset(value, 's', 131071);
    value[131069] = '\0'; /* "A=" and 131,069 bytes */
    const char *const env[] = {"A", value, NULL};
    assert_int_equal(check_env(env), ALINEO_OK);
    value[131069] = 's';
    value[131070] = '\0';
    alineo_error *error = NULL;
    assert_int_equal(al_env_check(env, &error), ALINEO_TOO_LARGE);
    assert_null(strstr(alineo_error_message(error), "sss"));
    alineo_error_free(error);
    free(value);
}

static void metadata_names_of_the_library_are_refused(void **state) {
    (void)state;
    const char *const own[] = {"alineo-create", "x", NULL};
    assert_int_equal(check_metadata(own), ALINEO_INVALID_ARGUMENT);
    const char *const near[] = {"alineo", "x", "Alineo-create", "y", NULL};
    assert_int_equal(check_metadata(near), ALINEO_OK);
}

static void metadata_that_cannot_be_kept_is_refused(void **state) {
    (void)state;
    const char *const control[] = {"a\nb", "x", NULL};
    assert_int_equal(check_metadata(control), ALINEO_INVALID_ARGUMENT);
    const char *const empty[] = {"", "x", NULL};
    assert_int_equal(check_metadata(empty), ALINEO_INVALID_ARGUMENT);
    const char *const bytes[] = {"a", "\xff", NULL};
    assert_int_equal(check_metadata(bytes), ALINEO_INVALID_ARGUMENT);
    char large[4098];
    memset(large, 'x', sizeof(large));
    large[4097] = '\0';
    const char *const long_value[] = {"a", large, NULL};
    assert_int_equal(check_metadata(long_value), ALINEO_INVALID_ARGUMENT);
    large[4096] = '\0';
    assert_int_equal(check_metadata(long_value), ALINEO_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_counted_and_found_by_name),
        cmocka_unit_test(names_that_no_variable_can_have_are_refused),
        cmocka_unit_test(usual_names_and_any_value_pass),
        cmocka_unit_test(a_name_without_a_value_is_refused),
        cmocka_unit_test(a_name_that_comes_twice_is_refused),
        cmocka_unit_test(an_entry_past_what_a_kernel_takes_is_too_large_and_not_shown),
        cmocka_unit_test(metadata_names_of_the_library_are_refused),
        cmocka_unit_test(metadata_that_cannot_be_kept_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
