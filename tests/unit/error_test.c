/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include "core/fail.h"
#include "core/util/str.h"
#include "tests/support/fail_alloc.h"

#include <errno.h>
#include <string.h>

static void an_error_says_what_it_was_made_with(void **state) {
    (void)state;
    alineo_error *error = NULL;
    alineo_code code =
        al_fail(&error, ALINEO_IO, "free some space", "write %s: %d bytes", "/a/b", 7);
    assert_int_equal(code, ALINEO_IO);
    assert_int_equal(alineo_error_code(error), ALINEO_IO);
    assert_string_equal(alineo_error_message(error), "write /a/b: 7 bytes");
    assert_string_equal(alineo_error_hint(error), "free some space");
    alineo_error_free(error);
}

static void details_that_do_not_apply_are_absent(void **state) {
    (void)state;
    alineo_error *error = NULL;
    (void)al_fail(&error, ALINEO_IO, NULL, "x");
    assert_null(alineo_error_hint(error));
    assert_null(alineo_error_sandbox_id(error));
    assert_null(alineo_error_command(error));
    assert_null(alineo_error_provider(error));
    assert_null(alineo_error_plugin(error));
    assert_int_equal(alineo_error_exit_code(error), -1);
    assert_int_equal(alineo_error_http_status(error), -1);
    alineo_error_free(error);
}

static void details_are_copied_and_the_last_one_holds(void **state) {
    (void)state;
    alineo_error *error = NULL;
    (void)al_fail(&error, ALINEO_COMMAND_FAILED, NULL, "x");
    char id[] = "box-1";
    al_error_set_sandbox(&error, id);
    id[0] = '!';
    al_error_set_command(&error, "false", 1);
    al_error_set_provider(&error, "old");
    al_error_set_provider(&error, "new");
    al_error_set_plugin(&error, "provider/new");
    al_error_set_http_status(&error, 502);
    assert_string_equal(alineo_error_sandbox_id(error), "box-1");
    assert_string_equal(alineo_error_command(error), "false");
    assert_int_equal(alineo_error_exit_code(error), 1);
    assert_string_equal(alineo_error_provider(error), "new");
    assert_string_equal(alineo_error_plugin(error), "provider/new");
    assert_int_equal(alineo_error_http_status(error), 502);
    alineo_error_free(error);
}

static void context_goes_in_front_and_the_code_stays(void **state) {
    (void)state;
    alineo_error *error = NULL;
    (void)al_fail(&error, ALINEO_NO_SPACE, "h", "open a.db: full");
    assert_int_equal(al_wrap(&error, "open storage %s", "x"), ALINEO_NO_SPACE);
    assert_string_equal(alineo_error_message(error), "open storage x: open a.db: full");
    assert_string_equal(alineo_error_hint(error), "h");
    alineo_error_free(error);
}

static void a_caller_who_wants_no_error_still_gets_the_code(void **state) {
    (void)state;
    assert_int_equal(al_fail(NULL, ALINEO_CONFLICT, "h", "m"), ALINEO_CONFLICT);
    assert_int_equal(al_fail_errno(NULL, ALINEO_IO, EACCES, NULL, "m"), ALINEO_IO);
    assert_int_equal(al_fail_memory(NULL), ALINEO_NO_MEMORY);
    assert_int_equal(al_wrap(NULL, "m"), ALINEO_INTERNAL);
    al_error_set_sandbox(NULL, "x");
    al_error_set_command(NULL, "x", 0);
    al_error_set_http_status(NULL, 1);
}

static void an_errno_value_is_told_in_words(void **state) {
    (void)state;
    alineo_error *error = NULL;
    assert_int_equal(al_fail_errno(&error, ALINEO_IO, EACCES, NULL, "open %s", "/x"), ALINEO_IO);
    assert_string_equal(alineo_error_message(error), "open /x: Permission denied");
    alineo_error_free(error);
    error = NULL;
    assert_int_equal(al_fail_errno(&error, ALINEO_IO, ENOMEM, NULL, "open %s", "/x"),
                     ALINEO_NO_MEMORY);
    alineo_error_free(error);
    assert_string_equal(al_errno_text(123456), "Unknown error");
}

static void accessors_and_free_take_null(void **state) {
    (void)state;
    assert_int_equal(alineo_error_code(NULL), ALINEO_OK);
    assert_null(alineo_error_message(NULL));
    assert_null(alineo_error_hint(NULL));
    assert_int_equal(alineo_error_exit_code(NULL), -1);
    assert_int_equal(alineo_error_http_status(NULL), -1);
    alineo_error_free(NULL);
}

static void an_error_is_handed_over_or_dropped(void **state) {
    (void)state;
    alineo_error *from = NULL;
    alineo_error *to = NULL;
    (void)al_fail(&from, ALINEO_TIMEOUT, NULL, "slow");
    assert_int_equal(al_error_give(&from, &to), ALINEO_TIMEOUT);
    assert_null(from);
    assert_string_equal(alineo_error_message(to), "slow");
    assert_int_equal(al_error_give(&to, NULL), ALINEO_TIMEOUT);
    assert_null(to);
    alineo_error *kept = (alineo_error *)&from;
    assert_int_equal(al_error_give(&from, &kept), ALINEO_OK);
    assert_ptr_equal(kept, &from);
}

/* --- what plugins answer ---------------------------------------------------------------------- */

static void a_plugin_that_keeps_to_the_rules_is_believed(void **state) {
    (void)state;
    alineo_error *error = NULL;
    assert_int_equal(al_from_plugin(ALINEO_OK, "provider/x", "get", &error), ALINEO_OK);
    assert_null(error);
    (void)al_fail(&error, ALINEO_SANDBOX_NOT_FOUND, NULL, "no such sandbox");
    assert_int_equal(al_from_plugin(ALINEO_SANDBOX_NOT_FOUND, "provider/x", "get", &error),
                     ALINEO_SANDBOX_NOT_FOUND);
    assert_string_equal(alineo_error_message(error), "no such sandbox");
    assert_string_equal(alineo_error_plugin(error), "provider/x");
    alineo_error_free(error);
}

static void an_error_beside_success_is_dropped(void **state) {
    (void)state;
    alineo_error *error = NULL;
    (void)al_fail(&error, ALINEO_IO, NULL, "m");
    assert_int_equal(al_from_plugin(ALINEO_OK, "provider/x", "get", &error), ALINEO_OK);
    assert_null(error);
}

static void check_internal(alineo_error *error, const char *says) {
    assert_int_equal(alineo_error_code(error), ALINEO_INTERNAL);
    assert_non_null(strstr(alineo_error_message(error), "plugin provider/x: create "));
    assert_non_null(strstr(alineo_error_message(error), says));
    assert_string_equal(alineo_error_plugin(error), "provider/x");
    alineo_error_free(error);
}

static void garbage_in_place_of_a_code_is_the_plugins_fault(void **state) {
    (void)state;
    static const alineo_code garbage[] = {-1, 9, 99, 4711, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
        alineo_error *error = NULL;
        assert_int_equal(al_from_plugin(garbage[i], "provider/x", "create", &error),
                         ALINEO_INTERNAL);
        check_internal(error, "is no code");
        error = NULL;
        (void)al_fail(&error, garbage[i], NULL, "the plugin's words");
        assert_int_equal(al_from_plugin(garbage[i], "provider/x", "create", &error),
                         ALINEO_INTERNAL);
        check_internal(error, "the plugin's words");
    }
}

static void a_code_without_an_error_is_the_plugins_fault(void **state) {
    (void)state;
    alineo_error *error = NULL;
    assert_int_equal(al_from_plugin(ALINEO_NO_SPACE, "provider/x", "create", &error),
                     ALINEO_INTERNAL);
    check_internal(error, "NO_SPACE without an error");
}

static void an_error_with_another_code_is_the_plugins_fault(void **state) {
    (void)state;
    alineo_error *error = NULL;
    (void)al_fail(&error, ALINEO_TIMEOUT, NULL, "too slow");
    assert_int_equal(al_from_plugin(ALINEO_CONFLICT, "provider/x", "create", &error),
                     ALINEO_INTERNAL);
    check_internal(error, "CONFLICT with an error that says TIMEOUT: too slow");
}

/* --- without memory --------------------------------------------------------------------------- */

static void make_wrap_and_detail(void *state) {
    (void)state;
    alineo_error *error = NULL;
    alineo_code code = al_fail(&error, ALINEO_CONFLICT, "a hint", "a %s", "message");
    assert_non_null(error);
    assert_int_equal(code, alineo_error_code(error));
    assert_true(code == ALINEO_CONFLICT || code == ALINEO_NO_MEMORY);
    if (!fail_alloc_happened())
        assert_int_equal(code, ALINEO_CONFLICT);
    assert_int_equal(al_wrap(&error, "open %d", 5), code);
    assert_non_null(alineo_error_message(error));
    al_error_set_sandbox(&error, "id");
    al_error_set_command(&error, "cmd", 3);
    alineo_code from = al_from_plugin(code, "provider/x", "create", &error);
    assert_int_equal(from, alineo_error_code(error));
    alineo_error_free(error);
}

static void errors_are_made_even_without_memory(void **state) {
    (void)state;
    assert_true(fail_alloc_each(make_wrap_and_detail, NULL) > 0);
}

static void the_error_for_want_of_memory_keeps_no_details(void **state) {
    (void)state;
    alineo_error *error = NULL;
    assert_int_equal(al_fail_memory(&error), ALINEO_NO_MEMORY);
    al_error_set_sandbox(&error, "one user's");
    al_error_set_http_status(&error, 500);
    (void)al_wrap(&error, "context");
    alineo_error *other = NULL;
    (void)al_fail_memory(&other);
    assert_null(alineo_error_sandbox_id(other));
    assert_int_equal(alineo_error_http_status(other), -1);
    assert_string_equal(alineo_error_message(other), "out of memory");
    alineo_error_free(error);
    alineo_error_free(other);
}

static void a_message_is_utf8_whatever_bytes_a_name_has(void **state) {
    (void)state;
    alineo_error *error = NULL;
    assert_int_equal(al_fail(&error, ALINEO_IO, NULL, "read %s", "/a\xff\xc3\xa9"), ALINEO_IO);
    assert_string_equal(alineo_error_message(error), "read /a\xef\xbf\xbd\xc3\xa9");
    assert_int_equal(al_wrap(&error, "in %s", "\x80"), ALINEO_IO);
    assert_string_equal(alineo_error_message(error),
                        "in \xef\xbf\xbd: read /a\xef\xbf\xbd\xc3\xa9");
    alineo_error_free(error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_is_utf8_whatever_bytes_a_name_has),
        cmocka_unit_test(an_error_says_what_it_was_made_with),
        cmocka_unit_test(details_that_do_not_apply_are_absent),
        cmocka_unit_test(details_are_copied_and_the_last_one_holds),
        cmocka_unit_test(context_goes_in_front_and_the_code_stays),
        cmocka_unit_test(a_caller_who_wants_no_error_still_gets_the_code),
        cmocka_unit_test(an_errno_value_is_told_in_words),
        cmocka_unit_test(accessors_and_free_take_null),
        cmocka_unit_test(an_error_is_handed_over_or_dropped),
        cmocka_unit_test(a_plugin_that_keeps_to_the_rules_is_believed),
        cmocka_unit_test(an_error_beside_success_is_dropped),
        cmocka_unit_test(garbage_in_place_of_a_code_is_the_plugins_fault),
        cmocka_unit_test(a_code_without_an_error_is_the_plugins_fault),
        cmocka_unit_test(an_error_with_another_code_is_the_plugins_fault),
        cmocka_unit_test(errors_are_made_even_without_memory),
        cmocka_unit_test(the_error_for_want_of_memory_keeps_no_details),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
