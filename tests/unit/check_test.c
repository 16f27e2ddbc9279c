/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include "core/check.h"

#include <string.h>

static void a_choice_is_default_yes_or_no(void **state) {
    (void)state;
    assert_int_equal(al_choice_check("x", ALINEO_DEFAULT, NULL), ALINEO_OK);
    assert_int_equal(al_choice_check("x", ALINEO_YES, NULL), ALINEO_OK);
    assert_int_equal(al_choice_check("x", ALINEO_NO, NULL), ALINEO_OK);
    assert_int_equal(al_choice_check("x", 3, NULL), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(al_choice_check("x", -1, NULL), ALINEO_INVALID_ARGUMENT);
}

static void an_id_has_1_to_128_plain_characters(void **state) {
    (void)state;
    char id[130];
    memset(id, 'a', sizeof(id));
    id[129] = '\0';
    assert_false(al_sandbox_id_valid(id));
    id[128] = '\0';
    assert_true(al_sandbox_id_valid(id));
    assert_true(al_sandbox_id_valid("A.z_0-9"));
    const char *const bad[] = {"", "a/b", "../x", "a b", "a\n", "\xc3\xa4", "a%"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(al_sandbox_id_valid(bad[i]));
    assert_int_equal(al_sandbox_id_check(NULL, NULL), ALINEO_INVALID_ARGUMENT);
    alineo_error *error = NULL;
    assert_int_equal(al_sandbox_id_check("a/b", &error), ALINEO_INVALID_ARGUMENT);
    assert_string_equal(alineo_error_message(error), "\"a/b\" is no sandbox id");
    alineo_error_free(error);
}

static void a_path_is_absolute_and_has_at_most_4095_bytes(void **state) {
    (void)state;
    char path[4097];
    memset(path, 'a', sizeof(path));
    path[0] = '/';
    path[4096] = '\0';
    assert_int_equal(al_path_check("path", path, NULL), ALINEO_INVALID_ARGUMENT);
    path[4095] = '\0';
    assert_int_equal(al_path_check("path", path, NULL), ALINEO_OK);
    assert_int_equal(al_path_check("path", "tmp/a", NULL), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(al_path_check("path", "", NULL), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(al_path_check("path", NULL, NULL), ALINEO_INVALID_ARGUMENT);
}

static void a_name_may_be_left_out_and_has_no_control_characters(void **state) {
    (void)state;
    assert_int_equal(al_name_check("name", NULL, NULL), ALINEO_OK);
    assert_int_equal(al_name_check("name", "\xc3\xa4 b", NULL), ALINEO_OK);
    assert_int_equal(al_name_check("name", "", NULL), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(al_name_check("name", "a\x1b[2J", NULL), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(al_text_check("image", "abc", 2, NULL), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(al_text_check("image", "abc", 3, NULL), ALINEO_OK);
    assert_int_equal(al_text_check("image", "a\n", 3, NULL), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(al_text_check("image", "\xff", 3, NULL), ALINEO_INVALID_ARGUMENT);
}

static void odd_text_is_not_repeated_in_the_message(void **state) {
    (void)state;
    alineo_error *error = NULL;
    assert_int_equal(al_name_check("name", "a\x1b[2J", &error), ALINEO_INVALID_ARGUMENT);
    assert_null(strchr(alineo_error_message(error), '\x1b'));
    alineo_error_free(error);
}

static void a_lifetime_is_not_negative_but_for_ever(void **state) {
    (void)state;
    assert_int_equal(al_lifetime_check(0, NULL), ALINEO_OK);
    assert_int_equal(al_lifetime_check(ALINEO_FOREVER, NULL), ALINEO_OK);
    assert_int_equal(al_lifetime_check(INT64_MAX, NULL), ALINEO_OK);
    assert_int_equal(al_lifetime_check(-2, NULL), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(al_lifetime_check(INT64_MIN, NULL), ALINEO_INVALID_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_choice_is_default_yes_or_no),
        cmocka_unit_test(an_id_has_1_to_128_plain_characters),
        cmocka_unit_test(a_path_is_absolute_and_has_at_most_4095_bytes),
        cmocka_unit_test(a_name_may_be_left_out_and_has_no_control_characters),
        cmocka_unit_test(odd_text_is_not_repeated_in_the_message),
        cmocka_unit_test(a_lifetime_is_not_negative_but_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
