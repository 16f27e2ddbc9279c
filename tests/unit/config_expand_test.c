/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config_private.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/environment.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/test.h"

/* The values are under a provider's section, which is not looked into before the plugin is opened.
 * */
static alineo_config *parse(const char *value) {
    char json[512];
    int size = snprintf(json, sizeof(json), "{\"providers\": {\"a\": {\"v\": %s}}}", value);
    alineo_config *config = NULL;
    alineo_error *error = NULL;
    if (alineo_config_parse(json, (size_t)size, "c.json", &config, &error) != ALINEO_OK)
        fail_msg("%s", alineo_error_message(error));
    return config;
}

static const al_json_node *value_of(const alineo_config *config) {
    const al_json_node *providers = al_json_member(al_json_root(config->document), "providers");
    return al_json_member(al_json_member(providers, "a"), "v");
}

static void check_expanded(const char *value, const char *wanted) {
    al_auto(alineo_config_free) alineo_config *config = parse(value);
    al_autofree char *text = NULL;
    assert_int_equal(al_config_expand(config, value_of(config), &text, NULL), ALINEO_OK);
    assert_string_equal(text, wanted);
}

static void check_refused(const char *value, const char *says) {
    al_auto(alineo_config_free) alineo_config *config = parse(value);
    al_autofree char *text = NULL;
    al_auto(alineo_error_free) alineo_error *error = NULL;
    assert_int_equal(al_config_expand(config, value_of(config), &text, &error),
                     ALINEO_CONFIG_INVALID);
    assert_null(text);
    assert_non_null(strstr(alineo_error_message(error), "c.json:1:22: providers.a.v: "));
    if (strstr(alineo_error_message(error), says) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", alineo_error_message(error), says);
}

static void a_variable_is_replaced_by_its_value(void **state) {
    (void)state;
    test_setenv("AL_TEST_A", "one two");
    test_setenv("AL_TEST_B", "${AL_TEST_A}$$");
    test_setenv("AL_TEST_EMPTY", "");
    check_expanded("\"${AL_TEST_A}\"", "one two");
    check_expanded("\"<${AL_TEST_A}|${AL_TEST_A}>\"", "<one two|one two>");
    check_expanded("\"${AL_TEST_EMPTY}\"", "");
    check_expanded("\"\\u0024{AL_TEST_A}\"", "one two");
    /* What a variable holds is not looked at again. */
    check_expanded("\"${AL_TEST_B}\"", "${AL_TEST_A}$$");
}

static void two_dollars_are_one_and_one_alone_stays(void **state) {
    (void)state;
    test_setenv("AL_TEST_A", "x");
    check_expanded("\"$$\"", "$");
    check_expanded("\"$$$$\"", "$$");
    check_expanded("\"$${AL_TEST_A}\"", "${AL_TEST_A}");
    check_expanded("\"$$${AL_TEST_A}\"", "$x");
    check_expanded("\"$AL_TEST_A\"", "$AL_TEST_A");
    check_expanded("\"a$\"", "a$");
    check_expanded("\"\"", "");
}

static void an_unset_variable_is_refused_by_name(void **state) {
    (void)state;
    test_setenv("AL_TEST_UNSET", NULL);
    check_refused("\"${AL_TEST_UNSET}\"", "${AL_TEST_UNSET}, which is not set");
}

static void a_malformed_variable_is_refused(void **state) {
    (void)state;
    static const char *const values[] = {"\"${\"",     "\"${}\"",     "\"${A\"",
                                         "\"${A-B}\"", "\"${1A}\"",   "\"${A:-b}\"",
                                         "\"${ A}\"",  "\"x${A b}\"", "\"${${A}}\""};
    for (size_t i = 0; i < AL_COUNT(values); i++)
        check_refused(values[i], "not followed by a name");
}

static void a_name_that_is_too_long_is_refused(void **state) {
    (void)state;
    char value[400] = "\"${";
    memset(value + 3, 'A', 300);
    memcpy(value + 303, "}\"", 3);
    check_refused(value, "not followed by a name");
}

static void a_value_that_is_not_utf8_is_refused_and_never_shown(void **state) {
    (void)state;
    test_setenv("AL_TEST_BAD", "secret\xff\xfe");
    check_refused("\"${AL_TEST_BAD}\"", "not valid UTF-8");
    al_auto(alineo_config_free) alineo_config *config = parse("\"${AL_TEST_BAD}\"");
    al_autofree char *text = NULL;
    al_auto(alineo_error_free) alineo_error *error = NULL;
    (void)al_config_expand(config, value_of(config), &text, &error);
    assert_null(strstr(alineo_error_message(error), "secret"));
}

static void a_nul_character_in_a_text_is_refused(void **state) {
    (void)state;
    check_refused("\"a\\u0000b\"", "U+0000");
}

static void json_values_keep_their_shape_with_every_string_expanded(void **state) {
    (void)state;
    test_setenv("AL_TEST_A", "q\"\\\n");
    static const struct {
        const char *value;
        const char *wanted;
    } rows[] = {
        {"{\"a\": [1, 2.50, true, null, \"${AL_TEST_A}\", []], \"b\": {}, \"${AL_TEST_A}\": {\"c\":"
         " \"$$\"}}",
         "{\"a\":[1,2.50,true,null,\"q\\\"\\\\\\n\",[]],\"b\":{},\"${AL_TEST_A}\":{\"c\":\"$\"}}"},
        {"[]", "[]"},
        {"[[[\"x\"]], \"y\"]", "[[[\"x\"]],\"y\"]"},
        {"\"${AL_TEST_A}\"", "\"q\\\"\\\\\\n\""},
        {"12345678901234567890", "12345678901234567890"},
    };
    for (size_t i = 0; i < AL_COUNT(rows); i++) {
        al_auto(alineo_config_free) alineo_config *config = parse(rows[i].value);
        al_autofree char *text = NULL;
        assert_int_equal(al_config_expand_json(config, value_of(config), &text, NULL), ALINEO_OK);
        assert_string_equal(text, rows[i].wanted);
    }
}

static void what_is_not_in_use_is_expanded_by_a_check_only(void **state) {
    (void)state;
    test_setenv("AL_TEST_UNSET", NULL);
    al_auto(alineo_config_free) alineo_config *config = parse("[{\"k\": \"${AL_TEST_UNSET}\"}]");
    al_auto(alineo_error_free) alineo_error *error = NULL;
    assert_int_equal(al_config_expand_all(config, &error), ALINEO_CONFIG_INVALID);
    assert_non_null(
        strstr(alineo_error_message(error), "providers.a.v[0].k: uses ${AL_TEST_UNSET}"));
}

static void a_walk_meets_every_node_once(void **state) {
    (void)state;
    al_auto(alineo_config_free) alineo_config *config =
        parse("{\"a\": [1, [2, []], {\"b\": 3}], \"c\": {}}");
    const al_json_node *root = value_of(config);
    size_t count = 0;
    for (const al_json_node *node = root; node != NULL; node = al_config_walk(root, node))
        count++;
    assert_int_equal(count, 9);
}

static void variables_are_told_from_escaped_dollars(void **state) {
    (void)state;
    assert_true(al_config_has_variable("a${B}", 5));
    assert_true(al_config_has_variable("$$${", 4));
    assert_false(al_config_has_variable("$${B}", 5));
    assert_false(al_config_has_variable("$", 1));
    assert_false(al_config_has_variable("", 0));
    assert_false(al_config_has_variable("a$b{", 4));
}

static void expand_value(void *state) {
    alineo_config *config = state;
    al_autofree char *text = NULL;
    alineo_code code = al_config_expand_json(config, value_of(config), &text, NULL);
    assert_true(code == ALINEO_OK || code == ALINEO_NO_MEMORY);
    assert_true(code == ALINEO_OK || fail_alloc_happened());
    if (code == ALINEO_OK)
        assert_string_equal(text, "[{\"a\":\"xx\"},\"y\"]");
}

static void every_allocation_may_fail_while_a_value_is_expanded(void **state) {
    (void)state;
    test_setenv("AL_TEST_A", "x");
    al_auto(alineo_config_free) alineo_config *config =
        parse("[{\"a\": \"${AL_TEST_A}${AL_TEST_A}\"}, \"y\"]");
    assert_true(fail_alloc_each(expand_value, config) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_variable_is_replaced_by_its_value),
        cmocka_unit_test(two_dollars_are_one_and_one_alone_stays),
        cmocka_unit_test(an_unset_variable_is_refused_by_name),
        cmocka_unit_test(a_malformed_variable_is_refused),
        cmocka_unit_test(a_name_that_is_too_long_is_refused),
        cmocka_unit_test(a_value_that_is_not_utf8_is_refused_and_never_shown),
        cmocka_unit_test(a_nul_character_in_a_text_is_refused),
        cmocka_unit_test(json_values_keep_their_shape_with_every_string_expanded),
        cmocka_unit_test(what_is_not_in_use_is_expanded_by_a_check_only),
        cmocka_unit_test(a_walk_meets_every_node_once),
        cmocka_unit_test(variables_are_told_from_escaped_dollars),
        cmocka_unit_test(every_allocation_may_fail_while_a_value_is_expanded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
