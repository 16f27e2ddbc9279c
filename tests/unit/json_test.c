/* SPDX-License-Identifier: Apache-2.0 */
#include "core/util/json.h"

#include <errno.h>
#include <string.h>

#include "tests/support/test.h"

static al_json *parse(const char *text) {
    al_json *document = NULL;
    al_json_error error = {0};
    int rc = al_json_parse(text, strlen(text), NULL, &document, &error);
    if (rc != 0)
        fail_msg("%s: %d, line %zu, column %zu: %s", text, rc, error.line, error.column,
                 error.message);
    return document;
}

static void values_of_every_type_are_read(void **state) {
    (void)state;
    al_auto(al_json_free) al_json *document =
        parse(" {\"a\": null, \"b\": [true, false], \"c\": \"x\\u00e4\\ud83d\\ude00\\n\","
              " \"d\": -12, \"\": {}} ");
    const al_json_node *root = al_json_root(document);
    assert_int_equal(al_json_type_of(root), AL_JSON_OBJECT);
    assert_int_equal(al_json_count(root), 5);
    assert_int_equal(al_json_type_of(al_json_member(root, "a")), AL_JSON_NULL);
    const al_json_node *list = al_json_member(root, "b");
    bool truth = false;
    assert_true(al_json_get_bool(al_json_item(list, 0), &truth) && truth);
    assert_true(al_json_get_bool(al_json_item(list, 1), &truth) && !truth);
    assert_null(al_json_item(list, 2));
    const char *text = NULL;
    assert_true(al_json_get_str(al_json_member(root, "c"), &text));
    assert_string_equal(text, "x\xc3\xa4\xf0\x9f\x98\x80\n");
    int64_t number = 0;
    assert_true(al_json_get_int(al_json_member(root, "d"), &number));
    assert_int_equal(number, -12);
    assert_int_equal(al_json_count(al_json_member(root, "")), 0);
    assert_null(al_json_member(root, "e"));
    assert_ptr_equal(al_json_parent(list), root);
    assert_null(al_json_parent(root));
}

static void a_single_value_is_a_document(void **state) {
    (void)state;
    static const char *const rows[] = {"1", "-0.5e+3", "true", "null", "\"\"", "[]", "{}", " 42 "};
    for (size_t i = 0; i < AL_COUNT(rows); i++)
        al_json_free(parse(rows[i]));
    al_json_free(NULL);
}

static void missing_nodes_are_of_no_type(void **state) {
    (void)state;
    al_auto(al_json_free) al_json *document = parse("{\"a\": 1, \"s\": \"x\"}");
    const al_json_node *root = al_json_root(document);
    const al_json_node *none = al_json_member(al_json_member(root, "x"), "y");
    assert_null(none);
    assert_int_equal(al_json_type_of(none), AL_JSON_NONE);
    assert_string_equal(al_json_type_name(al_json_type_of(none)), "nothing");
    bool truth;
    int64_t number = 7;
    uint64_t natural;
    double real;
    const char *text = "kept";
    size_t size;
    assert_false(al_json_get_bool(none, &truth));
    assert_false(al_json_get_int(none, &number));
    assert_false(al_json_get_uint(none, &natural));
    assert_false(al_json_get_double(none, &real));
    assert_false(al_json_get_str(none, &text));
    assert_false(al_json_get_bytes(none, &text, &size));
    assert_false(al_json_get_number_text(none, &text));
    assert_int_equal(al_json_count(none), 0);
    assert_null(al_json_first(none));
    assert_null(al_json_next(none));
    assert_null(al_json_item(none, 0));
    assert_null(al_json_key(none, NULL));
    assert_int_equal(al_json_line(none), 0);
    assert_int_equal(al_json_column(none), 0);
    assert_false(al_json_get_int(al_json_member(root, "s"), &number));
    assert_false(al_json_get_str(al_json_member(root, "a"), &text));
    assert_null(al_json_member(al_json_member(root, "a"), "b"));
    assert_int_equal(number, 7);
    assert_string_equal(text, "kept");
}

static void numbers_are_exact_or_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool is_int;
        int64_t value;
        bool is_uint;
        uint64_t natural;
    } rows[] = {
        {"0", true, 0, true, 0},
        {"-0", true, 0, true, 0},
        {"9007199254740993", true, INT64_C(9007199254740993), true, UINT64_C(9007199254740993)},
        {"-9007199254740993", true, INT64_C(-9007199254740993), false, 0},
        {"9223372036854775807", true, INT64_MAX, true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN, false, 0},
        {"9223372036854775808", false, 0, true, UINT64_C(9223372036854775808)},
        {"-9223372036854775809", false, 0, false, 0},
        {"18446744073709551615", false, 0, true, UINT64_MAX},
        {"18446744073709551616", false, 0, false, 0},
        {"1.0", false, 0, false, 0},
        {"1e3", false, 0, false, 0},
        {"1e400", false, 0, false, 0},
        {"1.5", false, 0, false, 0},
    };
    for (size_t i = 0; i < AL_COUNT(rows); i++) {
        al_auto(al_json_free) al_json *document = parse(rows[i].text);
        const al_json_node *root = al_json_root(document);
        int64_t value = 0;
        uint64_t natural = 0;
        const char *text = NULL;
        assert_int_equal(al_json_get_int(root, &value), rows[i].is_int);
        assert_true(value == rows[i].value);
        assert_int_equal(al_json_get_uint(root, &natural), rows[i].is_uint);
        assert_true(natural == rows[i].natural);
        assert_true(al_json_get_number_text(root, &text));
        assert_string_equal(text, rows[i].text);
    }
}

static void doubles_beyond_their_range_are_refused(void **state) {
    (void)state;
    al_auto(al_json_free) al_json *document = parse("[1.5, 1e3, 1e400, -1e400, 1e-400, 7]");
    const al_json_node *root = al_json_root(document);
    double value = 0;
    assert_true(al_json_get_double(al_json_item(root, 0), &value) && value == 1.5);
    assert_true(al_json_get_double(al_json_item(root, 1), &value) && value == 1000);
    assert_false(al_json_get_double(al_json_item(root, 2), &value));
    assert_false(al_json_get_double(al_json_item(root, 3), &value));
    assert_true(al_json_get_double(al_json_item(root, 4), &value) && value == 0);
    assert_true(al_json_get_double(al_json_item(root, 5), &value) && value == 7);
}

static void a_nul_in_a_value_is_kept_and_never_cuts_it(void **state) {
    (void)state;
    al_auto(al_json_free) al_json *document = parse("{\"a\": \"x\\u0000y\"}");
    const al_json_node *node = al_json_member(al_json_root(document), "a");
    const char *data = NULL;
    size_t size = 0;
    assert_false(al_json_get_str(node, &data));
    assert_true(al_json_get_bytes(node, &data, &size));
    assert_int_equal(size, 3);
    assert_memory_equal(data, "x\0y", 4);
}

static void every_member_of_a_large_object_is_found(void **state) {
    (void)state;
    enum {
        COUNT = 1000
    };
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    for (int i = 0; i < COUNT; i++)
        al_buf_printf(&text, "%c\"key%d\":%d", i == 0 ? '{' : ',', i * 7919 % COUNT, i);
    al_buf_append_char(&text, '}');
    al_auto(al_json_free) al_json *document = parse(al_buf_str(&text));
    const al_json_node *root = al_json_root(document);
    for (int i = 0; i < COUNT; i++) {
        char key[32];
        (void)snprintf(key, sizeof(key), "key%d", i * 7919 % COUNT);
        int64_t value = -1;
        assert_true(al_json_get_int(al_json_member(root, key), &value));
        assert_int_equal(value, i);
    }
    assert_null(al_json_member(root, "key"));
    assert_null(al_json_member(root, "key1000"));
    assert_null(al_json_member(root, ""));
    assert_null(al_json_member(root, "zzz"));
    int seen = 0;
    for (const al_json_node *n = al_json_first(root); n != NULL; n = al_json_next(n)) {
        int64_t value = -1;
        assert_true(al_json_get_int(n, &value));
        assert_int_equal(value, seen++);
    }
    assert_int_equal(seen, COUNT);
}

static void nodes_know_their_place_and_path(void **state) {
    (void)state;
    al_auto(al_json_free) al_json *document = parse("{\n"
                                                    "  \"providers\": {\"\xc3\xa4\": {\n"
                                                    "    \"image\": [0, \"\\u00e4\\n\", 2]}},\n"
                                                    "\t\"a.b\" : {\"\\\"\": -1.5}\n"
                                                    "}");
    const al_json_node *root = al_json_root(document);
    const al_json_node *umlaut = al_json_member(al_json_member(root, "providers"), "\xc3\xa4");
    const al_json_node *list = al_json_member(umlaut, "image");
    const al_json_node *odd = al_json_member(al_json_member(root, "a.b"), "\"");
    static const struct {
        size_t line;
        size_t column;
        const char *path;
    } rows[] = {
        {1, 1, ""},
        {2, 3, "providers"},
        {2, 17, "providers[\"\xc3\xa4\"]"},
        {3, 5, "providers[\"\xc3\xa4\"].image"},
        {3, 15, "providers[\"\xc3\xa4\"].image[0]"},
        {3, 18, "providers[\"\xc3\xa4\"].image[1]"},
        {3, 30, "providers[\"\xc3\xa4\"].image[2]"},
        {4, 2, "[\"a.b\"]"},
        {4, 11, "[\"a.b\"][\"\\\"\"]"},
    };
    const al_json_node *const nodes[] = {root,
                                         al_json_member(root, "providers"),
                                         umlaut,
                                         list,
                                         al_json_item(list, 0),
                                         al_json_item(list, 1),
                                         al_json_item(list, 2),
                                         al_json_member(root, "a.b"),
                                         odd};
    for (size_t i = 0; i < AL_COUNT(rows); i++) {
        al_auto(al_buf_free) al_buf path = AL_BUF_INIT;
        al_json_path(nodes[i], &path);
        assert_string_equal(al_buf_str(&path), rows[i].path);
        assert_int_equal(al_json_line(nodes[i]), rows[i].line);
        assert_int_equal(al_json_column(nodes[i]), rows[i].column);
    }
    size_t size = 0;
    assert_string_equal(al_json_key(umlaut, &size), "\xc3\xa4");
    assert_int_equal(size, 2);
    assert_null(al_json_key(al_json_item(list, 0), NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_every_type_are_read),
        cmocka_unit_test(a_single_value_is_a_document),
        cmocka_unit_test(missing_nodes_are_of_no_type),
        cmocka_unit_test(numbers_are_exact_or_refused),
        cmocka_unit_test(doubles_beyond_their_range_are_refused),
        cmocka_unit_test(a_nul_in_a_value_is_kept_and_never_cuts_it),
        cmocka_unit_test(every_member_of_a_large_object_is_found),
        cmocka_unit_test(nodes_know_their_place_and_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
