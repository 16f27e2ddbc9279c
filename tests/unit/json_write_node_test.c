/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/util/json_write.h"
#include "tests/support/test.h"

static al_json *parse(const char *text, size_t size, const al_json_limits *limits) {
    al_json *document = NULL;
    assert_int_equal(al_json_parse(text, size, limits, &document, NULL), 0);
    return document;
}

static void check_copy(const char *text, bool sorted, const char *expected) {
    al_auto(al_json_free) al_json *document = parse(text, strlen(text), NULL);
    al_auto(al_buf_free) al_buf out = AL_BUF_INIT;
    al_json_writer w;
    al_json_write_init(&w, &out);
    al_json_write_node(&w, al_json_root(document), sorted);
    assert_int_equal(al_json_write_finish(&w), 0);
    assert_string_equal(out.data, expected);
}

static void a_copy_keeps_order_and_the_spelling_of_numbers(void **state) {
    (void)state;
    check_copy(" { \"b\" : [ 1.0 , 1e400 , -0 , { } , [ ] , null ] , \"a\" : { \"\\u0041\" : "
               "\"\\u0000\\/\" , \"x\" : true } } ",
               false, "{\"b\":[1.0,1e400,-0,{},[],null],\"a\":{\"A\":\"\\u0000/\",\"x\":true}}");
    check_copy("[]", false, "[]");
    check_copy("{}", true, "{}");
    check_copy("7", false, "7");
    check_copy("[[[1]],{\"a\":{}},2]", true, "[[[1]],{\"a\":{}},2]");
}

static void sorted_keys_make_equal_values_equal_bytes(void **state) {
    (void)state;
    const char *expected = "{\"\":0,\"a\":[{\"x\":1,\"y\":{\"b\":1,\"c\":2}},3],\"aa\":2,\"b\":1}";
    check_copy("{\"b\":1,\"aa\":2,\"a\":[{\"y\":{\"c\":2,\"b\":1},\"x\":1},3],\"\":0}", true,
               expected);
    check_copy(expected, true, expected);
}

static void large_objects_sort_too(void **state) {
    (void)state;
    enum {
        COUNT = 100
    };
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    al_auto(al_buf_free) al_buf expected = AL_BUF_INIT;
    for (int i = 0; i < COUNT; i++) {
        int key = i * 37 % COUNT;
        al_buf_printf(&text, "%c\"%03d\":{\"k\":%d}", i == 0 ? '{' : ',', key, key);
        al_buf_printf(&expected, "%c\"%03d\":{\"k\":%d}", i == 0 ? '{' : ',', i, i);
    }
    al_buf_append_char(&text, '}');
    al_buf_append_char(&expected, '}');
    check_copy(al_buf_str(&text), true, al_buf_str(&expected));
}

static void a_part_is_copied_alone(void **state) {
    (void)state;
    static const char text[] = "{\"a\":1,\"b\":{\"z\":[1,2],\"c\":3},\"d\":4}";
    al_auto(al_json_free) al_json *document = parse(text, sizeof(text) - 1, NULL);
    const al_json_node *root = al_json_root(document);
    al_auto(al_buf_free) al_buf out = AL_BUF_INIT;
    al_json_writer w;
    al_json_write_init(&w, &out);
    al_json_write_object_begin(&w);
    al_json_put_node(&w, "copy", al_json_member(root, "b"), true);
    al_json_put_node(&w, "one", al_json_member(root, "a"), false);
    al_json_put_node(&w, "none", NULL, false);
    al_json_write_object_end(&w);
    assert_int_equal(al_json_write_finish(&w), 0);
    assert_string_equal(out.data, "{\"copy\":{\"c\":3,\"z\":[1,2]},\"one\":1,\"none\":null}");
}

static void what_is_nested_too_deep_for_a_reader_is_not_written(void **state) {
    (void)state;
    char text[2 * 100];
    memset(text, '[', 100);
    memset(text + 100, ']', 100);
    const al_json_limits deep = {.max_depth = 100};
    al_auto(al_json_free) al_json *document = parse(text, sizeof(text), &deep);
    al_auto(al_buf_free) al_buf out = AL_BUF_INIT;
    al_json_writer w;
    al_json_write_init(&w, &out);
    al_json_write_node(&w, al_json_root(document), false);
    assert_int_equal(al_json_write_finish(&w), EINVAL);
    assert_int_equal(out.size, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_keeps_order_and_the_spelling_of_numbers),
        cmocka_unit_test(sorted_keys_make_equal_values_equal_bytes),
        cmocka_unit_test(large_objects_sort_too),
        cmocka_unit_test(a_part_is_copied_alone),
        cmocka_unit_test(what_is_nested_too_deep_for_a_reader_is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
