/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/json.h"
#include "core/util/str.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/test.h"

struct refusal {
    const char *text;
    size_t size; /* 0: as a string */
    size_t line;
    size_t column;
    const char *message; /* what it must contain */
};

static void check_refused(const struct refusal *row, int expected_rc,
                          const al_json_limits *limits) {
    size_t size = row->size != 0 ? row->size : strlen(row->text);
    /* Memory of exactly this size, so that a look past the end is found. */
    al_autofree char *text = malloc(size + (size == 0));
    assert_non_null(text);
    memcpy(text, row->text, size);
    al_json *document = (al_json *)(void *)text; /* must stay untouched */
    al_json_error error = {0};
    int rc = al_json_parse(text, size, limits, &document, &error);
    if (rc != expected_rc || strstr(error.message, row->message) == NULL ||
        error.line != row->line || error.column != row->column)
        fail_msg("'%s' gave %d at %zu:%zu: %s", row->text, rc, error.line, error.column,
                 error.message);
    assert_ptr_equal(document, text);
    assert_int_equal(al_json_parse(text, size, limits, &document, NULL), expected_rc);
}

static void check_all_refused(const struct refusal *rows, size_t count) {
    for (size_t i = 0; i < count; i++)
        check_refused(&rows[i], EBADMSG, NULL);
}

static void other_encodings_are_refused_by_name(void **state) {
    (void)state;
    static const struct refusal rows[] = {
        {"", 0, 1, 1, "empty"},
        {"\xef\xbb\xbf{}", 0, 1, 1, "begins with a byte order mark"},
        {"{\n \xef\xbb\xbf}", 0, 2, 2, "byte order mark within"},
        {"\xef\xbb\xbf\xef\xbb\xbf{}", 0, 1, 1, "byte order mark"},
        {"{}\xef\xbb\xbf", 0, 1, 3, "behind the end"},
        {"[1\xef\xbb\xbf]", 0, 1, 3, "byte order mark within"},
        {"\xff\xfe{\0}\0", 6, 1, 1, "UTF-16"},
        {"\xfe\xff\0{\0}", 6, 1, 1, "UTF-16"},
        {"{\0}\0", 4, 1, 1, "UTF-16"},
        {"\0{\0}", 4, 1, 1, "UTF-16"},
    };
    check_all_refused(rows, AL_COUNT(rows));
}

static void invalid_utf8_is_refused_with_its_place(void **state) {
    (void)state;
    static const struct refusal rows[] = {
        {"{\"a\":\n\"x\xc0\xaf\"}", 0, 2, 3, "byte 0xc0"},
        {"\"\xed\xa0\x80\"", 0, 1, 2, "byte 0xed"},
        {"\"\xc3\xa4\xf4\x90\x80\x80\"", 0, 1, 3, "byte 0xf4"},
        {"\"\xe2\x82\"", 0, 1, 2, "byte 0xe2"},
        {"{\"\xff\":1}", 0, 1, 3, "byte 0xff"},
        {"\xc3", 0, 1, 1, "byte 0xc3"},
    };
    check_all_refused(rows, AL_COUNT(rows));
}

static void lone_surrogates_are_refused(void **state) {
    (void)state;
    static const struct refusal rows[] = {
        {"\"\\ud800\"", 0, 1, 2, "surrogate"},
        {"\"ab\\udc00\"", 0, 1, 4, "surrogate"},
        {"\"\\ud83d\\ud83d\\ude00\"", 0, 1, 2, "surrogate"},
        {"\"\\ud83dx\"", 0, 1, 2, "surrogate"},
        {"\"\\ud83d\\n\"", 0, 1, 2, "surrogate"},
        {"\"\\\\\\ud83d\"", 0, 1, 4, "surrogate"},
        {"\"\\ud83d\\u0041\"", 0, 1, 2, "surrogate"},
        {"\"\\ud83d\\ude00\\ude00\"", 0, 1, 14, "surrogate"},
        {"[0,{\"\\uDBFF\":1}]", 0, 1, 6, "surrogate"},
        {"\"\\ud83d\\u1\"", 0, 1, 8, "four hexadecimal digits"},
        {"\"\\ud83d\\u\"", 0, 1, 8, "four hexadecimal digits"},
    };
    check_all_refused(rows, AL_COUNT(rows));
}

static void escapes_that_only_look_like_surrogates_are_read(void **state) {
    (void)state;
    static const char *const rows[] = {"\"\\\\ud800\"", "\"\\\\\\\\udc00\"", "\"\\ud7ff\\ue000\"",
                                       "\"\\ud800\\udc00\\udbff\\udfff\""};
    for (size_t i = 0; i < AL_COUNT(rows); i++) {
        al_json *document = NULL;
        assert_int_equal(al_json_parse(rows[i], strlen(rows[i]), NULL, &document, NULL), 0);
        al_json_free(document);
    }
}

static void a_key_that_repeats_is_refused_with_its_place(void **state) {
    (void)state;
    static const struct refusal rows[] = {
        {"{\"default\":\"deny\",\n \"default\":\"allow\"}", 0, 2, 2, "key default is repeated"},
        {"{\"a\":{\"b\":1},\"c\":{},\"a\":{\"b\":2}}", 0, 1, 21, "key a is repeated"},
        {"{\"x\":[{\"a\":1,\"\\u0061\":2}]}", 0, 1, 14, "key x[0].a is repeated (first in line 1)"},
        {"{\"\":1,\"\":2}", 0, 1, 7, "[\"\"] is repeated"},
    };
    check_all_refused(rows, AL_COUNT(rows));
}

static void a_key_that_repeats_among_many_is_refused_too(void **state) {
    (void)state;
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    al_buf_append_char(&text, '{');
    for (int i = 0; i < 100000; i++)
        al_buf_printf(&text, "\"k%d\":0,\n", i);
    al_buf_append_str(&text, "\"k77\":1,\n\"k9\":1}");
    const struct refusal row = {al_buf_str(&text), text.size, 100001, 1,
                                "key k77 is repeated (first in line 78)"};
    check_refused(&row, EBADMSG, NULL);
}

static void a_key_with_nul_is_refused(void **state) {
    (void)state;
    static const struct refusal rows[] = {
        {"{\"a\\u0000b\":1}", 0, 1, 2, "U+0000"},
        {"{\"x\":1,\"\\u0000\":1}", 0, 1, 8, "U+0000"},
    };
    check_all_refused(rows, AL_COUNT(rows));
}

static void each_slip_gets_its_own_sentence(void **state) {
    (void)state;
    static const struct refusal rows[] = {
        {"  \n ", 0, 2, 2, "no value"},
        {"{\n// x\n}", 0, 2, 1, "no comments"},
        {"{/* x */}", 0, 1, 2, "no comments"},
        {"{\"a\":1 # x\n}", 0, 1, 8, "no comments"},
        {"{} // x", 0, 1, 4, "no comments"},
        {"# x\n{}", 0, 1, 1, "no comments"},
        {"[1,2,]", 0, 1, 5, "comma before \"]\""},
        {"{\"a\":1,\n}", 0, 1, 7, "comma before \"}\""},
        {"[,1]", 0, 1, 2, "a value is missing before \",\""},
        {"[1,,2]", 0, 1, 4, "a value is missing before \",\""},
        {"{\"a\":}", 0, 1, 6, "a value is missing before \"}\""},
        {"{\"a\":1,,\"b\":2}", 0, 1, 8, "key in double quotes is missing"},
        {"{\"a\" 1}", 0, 1, 6, "\":\" is missing"},
        {"{\"a\"", 0, 1, 5, "ends within an object that began in line 1, column 1"},
        {"{a:1}", 0, 1, 2, "key in double quotes is missing"},
        {"{1:1}", 0, 1, 2, "key in double quotes is missing"},
        {"{'a':1}", 0, 1, 2, "key in double quotes is missing"},
        {"['a']", 0, 1, 2, "double quotes"},
        {"[1 2]", 0, 1, 4, "\",\" or \"]\" is missing"},
        {"[1}", 0, 1, 3, "\",\" or \"]\" is missing"},
        {"{\"a\":1]", 0, 1, 7, "\",\" or \"}\" is missing"},
        {"{} x", 0, 1, 4, "behind the end"},
        {"{}{}", 0, 1, 3, "behind the end"},
        {"1 2", 0, 1, 3, "behind the end"},
        {"1 \"", 0, 1, 3, "behind the end"},
        {"{}\"abc", 0, 1, 3, "behind the end"},
        {"\"x\"\n\"\\", 0, 2, 1, "behind the end"},
        {"1,", 0, 1, 2, "behind the end"},
        {"1 :", 0, 1, 3, "behind the end"},
        {"1 tru", 0, 1, 3, "behind the end"},
        {"1 -", 0, 1, 3, "behind the end"},
        {"]", 0, 1, 1, "a value is missing before \"]\""},
        {"{\n\"a\": [1,\n", 0, 3, 1, "ends within an array that began in line 2, column 1"},
        {"[\"abc", 0, 1, 2, "not closed"},
        {"[\"abc\\", 0, 1, 6, "an escape"},
        {"[\"abc\\\"]", 0, 1, 2, "not closed"},
        {"[\"a\nb\"]", 0, 1, 4, "control character (U+000A)"},
        {"[\"a\x01\"]", 0, 1, 4, "control character (U+0001)"},
        {"[\"a\0\"]", 6, 1, 4, "control character (U+0000)"},
        {"[\"\\x41\"]", 0, 1, 3, "an escape in a string may be"},
        {"[\"\\u00g0\"]", 0, 1, 3, "four hexadecimal digits"},
        {"[01]", 0, 1, 3, "\",\" or \"]\" is missing"},
        {"[-]", 0, 1, 2, "\"-\" is not a number"},
        {"[1.]", 0, 1, 2, "\"1.\" is not a number"},
        {"[.5]", 0, 1, 2, "\".5\" is not a number"},
        {"[+1]", 0, 1, 2, "\"+1\" is not a number"},
        {"[1e]", 0, 1, 2, "\"1e\" is not a number"},
        {"[1.e3]", 0, 1, 2, "\"1.e3\" is not a number"},
        {"-", 0, 1, 1, "\"-\" is not a number"},
        {"[True]", 0, 1, 2, "the word True is unknown"},
        {"nul", 0, 1, 1, "the word nul is unknown"},
        {"[NaN]", 0, 1, 2, "the word NaN is unknown"},
        {"[\xc3\xa4]", 0, 1, 2, "\"\xc3\xa4\" is not expected"},
        {"[\x0b"
         "1]",
         0, 1, 2, "control character U+000B"},
        {"[1\0]", 4, 1, 3, "\",\" or \"]\" is missing"},
        {"{\"a\":\f1}", 0, 1, 6, "control character U+000C"},
        {"[1\f]", 0, 1, 3, "control character U+000C"},
        {"[]\f", 0, 1, 3, "control character U+000C"},
        {"[]\n\v ", 0, 2, 1, "control character U+000B"},
        {"\f", 0, 1, 1, "control character U+000C"},
        {"1\v", 0, 1, 2, "control character U+000B"},
        {"\xe2\x80\xa8[]", 0, 1, 1, "is not expected"},
    };
    check_all_refused(rows, AL_COUNT(rows));
}

static void long_keys_are_cut_in_messages_between_characters(void **state) {
    (void)state;
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    al_buf_append_str(&text, "{\"a\":[");
    al_buf_append_str(&text, "{\"");
    for (int i = 0; i < 1000; i++)
        al_buf_append_str(&text, "\xe2\x82\xac");
    al_buf_append_str(&text, "\":1,");
    al_autofree char *key = al_memdup(text.data + 7, 3002);
    assert_non_null(key);
    al_buf_append(&text, key, 3002);
    al_buf_append_str(&text, ":2}]}");
    al_json *document;
    al_json_error error;
    assert_int_equal(al_json_parse(text.data, text.size, NULL, &document, &error), EBADMSG);
    assert_non_null(strstr(error.message, "repeated"));
    for (const char *c = error.message; *c != '\0'; c++) {
        if (*c == '\xe2')
            assert_memory_equal(c, "\xe2\x82\xac", 3);
    }
}

static al_json *nested(size_t depth, const al_json_limits *limits, int *rc, al_json_error *error) {
    al_autofree char *text = malloc(2 * depth);
    assert_non_null(text);
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    al_json *document = NULL;
    *rc = al_json_parse(text, 2 * depth, limits, &document, error);
    return document;
}

static void *parse_deep_text(void *unused) {
    (void)unused;
    al_json_error error = {0};
    int rc;
    assert_null(nested(50000, NULL, &rc, &error));
    assert_int_equal(rc, E2BIG);
    assert_int_equal(error.column, 65);
    assert_non_null(strstr(error.message, "64 levels"));
    /* Where a caller allows it, depth costs no stack. */
    const al_json_limits deep = {.max_depth = 1000000};
    al_auto(al_json_free) al_json *document = nested(500000, &deep, &rc, &error);
    assert_int_equal(rc, 0);
    const al_json_node *node = al_json_root(document);
    size_t depth = 1;
    while ((node = al_json_first(node)) != NULL)
        depth++;
    assert_int_equal(depth, 500000);
    return NULL;
}

static void nesting_is_limited_and_uses_no_stack(void **state) {
    (void)state;
    int rc;
    al_json_free(nested(64, NULL, &rc, NULL));
    assert_int_equal(rc, 0);
    assert_null(nested(65, NULL, &rc, NULL));
    assert_int_equal(rc, E2BIG);
    pthread_attr_t attributes;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, 256u << 10), 0);
    assert_int_equal(pthread_create(&thread, &attributes, parse_deep_text, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(pthread_attr_destroy(&attributes), 0);
}

static void opening_brackets_alone_are_refused(void **state) {
    (void)state;
    enum {
        SIZE = 1000000
    };
    al_autofree char *text = malloc(SIZE);
    assert_non_null(text);
    for (size_t i = 0; i < SIZE; i++)
        text[i] = '[';
    al_json *document;
    assert_int_equal(al_json_parse(text, SIZE, NULL, &document, NULL), E2BIG);
}

static void size_and_number_of_values_are_limited(void **state) {
    (void)state;
    const al_json_limits small = {.max_size = 10};
    const struct refusal too_long = {"[1,2,3,4,5]", 0, 1, 1, "11 bytes are more than the 10"};
    check_refused(&too_long, E2BIG, &small);
    /* The size is looked at before anything else: this is not even read. */
    al_json *document;
    assert_int_equal(al_json_parse("", SIZE_MAX, NULL, &document, NULL), E2BIG);
    const al_json_limits few = {.max_count = 3};
    const struct refusal too_many = {"[1,2,3]", 0, 1, 6, "more than the 3 values"};
    check_refused(&too_many, E2BIG, &few);
    al_auto(al_json_free) al_json *just = NULL;
    assert_int_equal(al_json_parse("[1,2]", 5, &few, &just, NULL), 0);
}

static void parse_under_failing_allocations(void *state) {
    const char *text = state;
    al_json *document = NULL;
    al_json_error error = {0};
    int rc = al_json_parse(text, strlen(text), NULL, &document, &error);
    if (fail_alloc_happened() && rc != 0) {
        assert_int_equal(rc, ENOMEM);
        assert_null(document);
        assert_string_equal(error.message, "memory is lacking");
    } else {
        assert_int_equal(rc, 0);
    }
    al_json_free(document);
}

static void a_lack_of_memory_at_any_point_is_an_error(void **state) {
    (void)state;
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    al_buf_append_str(&text, "[\"\\n");
    for (int i = 0; i < 5000; i++)
        al_buf_append_char(&text, 'x');
    al_buf_append_str(&text, "\"");
    for (int i = 0; i < 60; i++)
        al_buf_append_str(&text, ",[{\"k\":1}");
    for (int i = 0; i < 60; i++)
        al_buf_append_char(&text, ']');
    al_buf_append_str(&text, ",{\"0\":0");
    for (int i = 1; i < 500; i++)
        al_buf_printf(&text, ",\"%d\":%d", i, i);
    al_buf_append_str(&text, "}]");
    assert_int_equal(text.error, 0);
    assert_true(fail_alloc_each(parse_under_failing_allocations, text.data) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_encodings_are_refused_by_name),
        cmocka_unit_test(invalid_utf8_is_refused_with_its_place),
        cmocka_unit_test(lone_surrogates_are_refused),
        cmocka_unit_test(escapes_that_only_look_like_surrogates_are_read),
        cmocka_unit_test(a_key_that_repeats_is_refused_with_its_place),
        cmocka_unit_test(a_key_that_repeats_among_many_is_refused_too),
        cmocka_unit_test(a_key_with_nul_is_refused),
        cmocka_unit_test(each_slip_gets_its_own_sentence),
        cmocka_unit_test(long_keys_are_cut_in_messages_between_characters),
        cmocka_unit_test(nesting_is_limited_and_uses_no_stack),
        cmocka_unit_test(opening_brackets_alone_are_refused),
        cmocka_unit_test(size_and_number_of_values_are_limited),
        cmocka_unit_test(a_lack_of_memory_at_any_point_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
