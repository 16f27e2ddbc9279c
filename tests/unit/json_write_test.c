/* SPDX-License-Identifier: Apache-2.0 */
#include "core/util/json_write.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "tests/support/fail_alloc.h"
#include "tests/support/locale.h"
#include "tests/support/test.h"

static void values_of_every_type_are_written(void **state) {
    (void)state;
    al_auto(al_buf_free) al_buf out = AL_BUF_INIT;
    al_buf_append_str(&out, "before:");
    al_json_writer w;
    al_json_write_init(&w, &out);
    al_json_write_object_begin(&w);
    al_json_put_str(&w, "s", "x\xc3\xa4");
    al_json_put_str(&w, "none", NULL);
    al_json_put_str_n(&w, "bytes", "a\0b", 3);
    al_json_put_int(&w, "min", INT64_MIN);
    al_json_put_uint(&w, "max", UINT64_MAX);
    al_json_put_double(&w, "d", 1.5);
    al_json_put_bool(&w, "yes", true);
    al_json_put_null(&w, "null");
    al_json_put_array_begin(&w, "list");
    al_json_write_int(&w, 1);
    al_json_write_bool(&w, false);
    al_json_write_object_begin(&w);
    al_json_write_object_end(&w);
    al_json_write_array_begin(&w);
    al_json_write_array_end(&w);
    al_json_write_base64(&w, "abcd", 4);
    al_json_write_raw(&w, "[7]", 3);
    al_json_write_array_end(&w);
    al_json_put_object_begin(&w, "o");
    al_json_write_key_n(&w, "keyrest", 3);
    al_json_write_null(&w);
    al_json_write_object_end(&w);
    al_json_write_object_end(&w);
    assert_int_equal(al_json_write_finish(&w), 0);
    assert_string_equal(out.data,
                        "before:{\"s\":\"x\xc3\xa4\",\"none\":null,\"bytes\":\"a\\u0000b\","
                        "\"min\":-9223372036854775808,\"max\":18446744073709551615,\"d\":1.5,"
                        "\"yes\":true,\"null\":null,\"list\":[1,false,{},[],\"YWJjZA==\",[7]],"
                        "\"o\":{\"key\":null}}");
}

static void every_character_survives_writing_and_reading(void **state) {
    (void)state;
    /* Each byte of ASCII at each place of a word, and at the ends of the pieces that long texts are
     * cut in. */
    for (size_t before = 0; before < 1100; before = before < 20 ? before + 1 : before + 61) {
        char text[1400];
        memset(text, 'x', before);
        for (int c = 0; c < 128; c++)
            text[before + (size_t)c] = (char)c;
        memcpy(text + before + 128, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xc3\xa4", 11);
        size_t size = before + 128 + 11;
        al_auto(al_buf_free) al_buf out = AL_BUF_INIT;
        al_json_writer w;
        al_json_write_init(&w, &out);
        al_json_write_str_n(&w, text, size);
        assert_int_equal(al_json_write_finish(&w), 0);
        al_auto(al_json_free) al_json *document = NULL;
        assert_int_equal(al_json_parse(out.data, out.size, NULL, &document, NULL), 0);
        const char *back = NULL;
        size_t back_size = 0;
        assert_true(al_json_get_bytes(al_json_root(document), &back, &back_size));
        assert_int_equal(back_size, size);
        assert_memory_equal(back, text, size);
    }
}

static void invalid_utf8_is_refused_and_leaves_nothing(void **state) {
    (void)state;
    static const char *const rows[] = {"\xc0\xaf", "\xed\xa0\x80", "\xff", "abc\xe2\x82"};
    for (size_t i = 0; i < AL_COUNT(rows); i++) {
        al_auto(al_buf_free) al_buf out = AL_BUF_INIT;
        al_buf_append_str(&out, "kept");
        al_json_writer w;
        al_json_write_init(&w, &out);
        al_json_write_object_begin(&w);
        al_json_put_str(&w, "good", "x");
        if (i % 2 == 0)
            al_json_put_str(&w, "bad", rows[i]);
        else
            al_json_put_int(&w, rows[i], 1);
        al_json_write_object_end(&w);
        assert_int_equal(al_json_write_finish(&w), EILSEQ);
        assert_string_equal(out.data, "kept");
    }
}

/* One letter a call: { } [ ] begin and end, k key, v value. */
static int write_calls(const char *calls) {
    al_auto(al_buf_free) al_buf out = AL_BUF_INIT;
    al_json_writer w;
    al_json_write_init(&w, &out);
    for (; *calls != '\0'; calls++) {
        switch (*calls) {
        case '{':
            al_json_write_object_begin(&w);
            break;
        case '}':
            al_json_write_object_end(&w);
            break;
        case '[':
            al_json_write_array_begin(&w);
            break;
        case ']':
            al_json_write_array_end(&w);
            break;
        case 'k':
            al_json_write_key(&w, "k");
            break;
        default:
            al_json_write_int(&w, 1);
            break;
        }
    }
    int rc = al_json_write_finish(&w);
    assert_int_equal(out.size > 0, rc == 0);
    return rc;
}

static void unbalanced_calls_are_found(void **state) {
    (void)state;
    static const char *const good[] = {"v", "{}", "[]", "{kv}", "[vv]", "{k{}kv}", "[[][{kv}]]"};
    for (size_t i = 0; i < AL_COUNT(good); i++)
        assert_int_equal(write_calls(good[i]), 0);
    static const char *const bad[] = {"",      "vv",  "{",    "[",   "}",   "]",    "{]",  "[}",
                                      "k",     "{v}", "{kk}", "{k}", "[k]", "[kv]", "{}v", "v{}",
                                      "{kvv}", "[]]", "{}}",  "v]",  "[v}", "{k]",  "[{]}"};
    for (size_t i = 0; i < AL_COUNT(bad); i++) {
        if (write_calls(bad[i]) != EINVAL)
            fail_msg("%s was taken", bad[i]);
    }
}

static void depth_ends_where_reading_ends(void **state) {
    (void)state;
    char calls[2 * 65 + 1];
    memset(calls, '[', 64);
    memset(calls + 64, ']', 64);
    calls[128] = '\0';
    assert_int_equal(write_calls(calls), 0);
    memset(calls, '[', 65);
    memset(calls + 65, ']', 65);
    calls[130] = '\0';
    assert_int_equal(write_calls(calls), EINVAL);
}

static void a_double_must_be_finite(void **state) {
    (void)state;
    const double bad[] = {INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < AL_COUNT(bad); i++) {
        al_auto(al_buf_free) al_buf out = AL_BUF_INIT;
        al_json_writer w;
        al_json_write_init(&w, &out);
        al_json_write_double(&w, bad[i]);
        assert_int_equal(al_json_write_finish(&w), EDOM);
        assert_int_equal(out.size, 0);
    }
}

static void the_limit_of_the_buffer_holds_to_the_byte(void **state) {
    (void)state;
    for (size_t max = 1; max < 12; max++) {
        al_auto(al_buf_free) al_buf out = {.max_size = max};
        al_json_writer w;
        al_json_write_init(&w, &out);
        al_json_write_str(&w, "ab\ncd\x01"); /* 14 bytes */
        assert_int_equal(al_json_write_finish(&w), EFBIG);
        assert_int_equal(out.size, 0);
    }
    al_auto(al_buf_free) al_buf out = {.max_size = 14};
    al_json_writer w;
    al_json_write_init(&w, &out);
    al_json_write_str(&w, "ab\ncd\x01");
    assert_int_equal(al_json_write_finish(&w), 0);
    assert_string_equal(out.data, "\"ab\\ncd\\u0001\"");
}

static void a_host_with_decimal_commas_changes_nothing(void **state) {
    (void)state;
    if (!use_comma_locale())
        skip();
    al_auto(al_buf_free) al_buf out = AL_BUF_INIT;
    al_json_writer w;
    al_json_write_init(&w, &out);
    al_json_write_array_begin(&w);
    al_json_write_double(&w, 1.5);
    al_json_write_int(&w, 1234567);
    al_json_write_array_end(&w);
    assert_int_equal(al_json_write_finish(&w), 0);
    assert_string_equal(out.data, "[1.5,1234567]");
    al_auto(al_json_free) al_json *document = NULL;
    assert_int_equal(al_json_parse(out.data, out.size, NULL, &document, NULL), 0);
    double value = 0;
    assert_true(al_json_get_double(al_json_first(al_json_root(document)), &value));
    assert_true(value == 1.5);
    use_c_locale();
}

static void write_under_failing_allocations(void *state) {
    (void)state;
    al_auto(al_buf_free) al_buf out = AL_BUF_INIT;
    al_json_writer w;
    al_json_write_init(&w, &out);
    al_json_write_array_begin(&w);
    for (int i = 0; i < 100; i++)
        al_json_write_str(&w, "some text\n");
    al_json_write_array_end(&w);
    int rc = al_json_write_finish(&w);
    assert_int_equal(rc, fail_alloc_happened() ? ENOMEM : 0);
    assert_int_equal(out.size, rc == 0 ? 2 + 99 + 100 * 13 : 0);
}

static void a_lack_of_memory_is_found_at_the_end(void **state) {
    (void)state;
    assert_true(fail_alloc_each(write_under_failing_allocations, NULL) > 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_every_type_are_written),
        cmocka_unit_test(every_character_survives_writing_and_reading),
        cmocka_unit_test(invalid_utf8_is_refused_and_leaves_nothing),
        cmocka_unit_test(unbalanced_calls_are_found),
        cmocka_unit_test(depth_ends_where_reading_ends),
        cmocka_unit_test(a_double_must_be_finite),
        cmocka_unit_test(the_limit_of_the_buffer_holds_to_the_byte),
        cmocka_unit_test(a_host_with_decimal_commas_changes_nothing),
        cmocka_unit_test(a_lack_of_memory_is_found_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
