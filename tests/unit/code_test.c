/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include <alineo/code.h>

#include <string.h>

static const struct {
    alineo_code code;
    const char *name;
} all_codes[] = {
#define ROW(name, value, cls, status) {ALINEO_##name, #name},
    ALINEO_CODES(ROW)
#undef ROW
};

static void every_code_has_its_name_and_is_found_by_it(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(all_codes) / sizeof(all_codes[0]); i++) {
        assert_string_equal(alineo_code_name(all_codes[i].code), all_codes[i].name);
        assert_int_equal(alineo_code_from_name(all_codes[i].name), all_codes[i].code);
    }
}

static void no_two_codes_share_a_value_and_all_lie_below_the_end(void **state) {
    (void)state;
    size_t count = sizeof(all_codes) / sizeof(all_codes[0]);
    for (size_t i = 0; i < count; i++) {
        assert_in_range(all_codes[i].code, 0, ALINEO_CODE_RANGE_END - 1);
        for (size_t j = i + 1; j < count; j++)
            assert_int_not_equal(all_codes[i].code, all_codes[j].code);
    }
}

static void a_value_that_is_no_code_is_called_unknown(void **state) {
    (void)state;
    static const alineo_code strange[] = {-1, 9, ALINEO_CODE_RANGE_END, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
        assert_string_equal(alineo_code_name(strange[i]), "UNKNOWN");
        assert_int_equal(alineo_code_class(strange[i]), ALINEO_CLASS_CLIENT);
        assert_int_equal(alineo_code_status(strange[i]), 500);
    }
}

static void a_name_that_is_no_code_gives_minus_one(void **state) {
    (void)state;
    assert_int_equal(alineo_code_from_name(NULL), -1);
    assert_int_equal(alineo_code_from_name(""), -1);
    assert_int_equal(alineo_code_from_name("UNKNOWN"), -1);
    assert_int_equal(alineo_code_from_name("timeout"), -1);
    assert_int_equal(alineo_code_from_name("TIMEOUT "), -1);
}

static void classes_and_statuses_are_those_of_the_original(void **state) {
    (void)state;
    assert_int_equal(alineo_code_class(ALINEO_OK), ALINEO_CLASS_NONE);
    assert_int_equal(alineo_code_status(ALINEO_OK), 200);
    assert_int_equal(alineo_code_class(ALINEO_COMMAND_FAILED), ALINEO_CLASS_COMMAND);
    assert_int_equal(alineo_code_class(ALINEO_SANDBOX_CLOSED), ALINEO_CLASS_SANDBOX);
    assert_int_equal(alineo_code_class(ALINEO_EXEC_LOST), ALINEO_CLASS_EXEC_CONNECTION);
    assert_int_equal(alineo_code_class(ALINEO_EXEC_NOT_READY), ALINEO_CLASS_EXEC_CONNECTION);
    assert_int_equal(alineo_code_class(ALINEO_CONFIG_INVALID), ALINEO_CLASS_CLIENT);
    assert_int_equal(alineo_code_status(ALINEO_SANDBOX_NOT_FOUND), 404);
    assert_int_equal(alineo_code_status(ALINEO_SANDBOX_NOT_RUNNING), 409);
    assert_int_equal(alineo_code_status(ALINEO_CAPABILITY_UNSUPPORTED), 501);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_its_name_and_is_found_by_it),
        cmocka_unit_test(no_two_codes_share_a_value_and_all_lie_below_the_end),
        cmocka_unit_test(a_value_that_is_no_code_is_called_unknown),
        cmocka_unit_test(a_name_that_is_no_code_gives_minus_one),
        cmocka_unit_test(classes_and_statuses_are_those_of_the_original),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
