/* SPDX-License-Identifier: Apache-2.0 */
#include "core/util/base64.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"

static void the_published_examples_hold(void **state) {
    (void)state;
    static const struct {
        const char *data;
        const char *text;
    } rows[] = {{"", ""},
                {"f", "Zg=="},
                {"fo", "Zm8="},
                {"foo", "Zm9v"},
                {"foob", "Zm9vYg=="},
                {"fooba", "Zm9vYmE="},
                {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < AL_COUNT(rows); i++) {
        al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
        al_auto(al_buf_free) al_buf back = AL_BUF_INIT;
        al_base64_append(&text, rows[i].data, strlen(rows[i].data));
        assert_string_equal(al_buf_str(&text), rows[i].text);
        assert_int_equal(al_base64_decode_append(rows[i].text, strlen(rows[i].text), &back), 0);
        assert_string_equal(al_buf_str(&back), rows[i].data);
    }
}

static void all_bytes_of_all_sizes_survive(void **state) {
    (void)state;
    for (size_t size = 0; size < 300; size++) {
        al_autofree unsigned char *data = malloc(size + 1);
        assert_non_null(data);
        for (size_t i = 0; i < size; i++)
            data[i] = (unsigned char)(i * 151 + size);
        size_t text_size = al_base64_encoded_size(size);
        al_autofree char *text = malloc(text_size + 1);
        assert_non_null(text);
        al_base64_encode(data, size, text);
        assert_true(al_base64_decoded_size_max(text_size) >= size);
        al_autofree unsigned char *back = malloc(size + 3);
        assert_non_null(back);
        size_t back_size = 0;
        assert_int_equal(al_base64_decode(text, text_size, back, &back_size), 0);
        assert_int_equal(back_size, size);
        assert_true(size == 0 || memcmp(back, data, size) == 0);
    }
}

static void only_the_one_right_text_is_read(void **state) {
    (void)state;
    static const char *const rows[] = {
        "Z",       "Zg",   "Zg=",    "Zg===",    "====",     "=g==",     "Z===",    "Zh==",
        "Zm9=",    "Zm8",  "Zm9v\n", "Zm9v====", "Zm 9",     "Zm-_",     "Zm9vZg=", "Zg==Zm9v",
        "Zm9\xc3", "Zg=v", "Zm=v",   "Z\0==",    "Zm9vZm9@", "@m9vZm9v", " Zm9",    "Zm9v Zm9"};
    for (size_t i = 0; i < AL_COUNT(rows); i++) {
        al_auto(al_buf_free) al_buf out = AL_BUF_INIT;
        al_buf_append_str(&out, "kept");
        size_t size = strlen(rows[i]);
        if (al_base64_decode_append(rows[i], size, &out) != EINVAL)
            fail_msg("'%s' was read", rows[i]);
        assert_int_equal(out.size, 4);
        assert_string_equal(out.data, "kept");
    }
    char bytes[8];
    size_t size = 99;
    assert_int_equal(al_base64_decode("Z\0==", 4, bytes, &size), EINVAL);
    assert_int_equal(size, 99);
}

static void the_limit_of_the_buffer_holds_to_the_byte(void **state) {
    (void)state;
    al_auto(al_buf_free) al_buf text = {.max_size = 8};
    al_base64_append(&text, "fooba", 5);
    assert_int_equal(text.error, 0);
    al_base64_append(&text, "f", 1);
    assert_int_equal(text.error, EFBIG);
    al_auto(al_buf_free) al_buf back = {.max_size = 5};
    assert_int_equal(al_base64_decode_append("Zm9vYmE=", 8, &back), 0);
    assert_int_equal(al_base64_decode_append("Zg==", 4, &back), EFBIG);
    assert_string_equal(back.data, "fooba");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_examples_hold),
        cmocka_unit_test(all_bytes_of_all_sizes_survive),
        cmocka_unit_test(only_the_one_right_text_is_read),
        cmocka_unit_test(the_limit_of_the_buffer_holds_to_the_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
