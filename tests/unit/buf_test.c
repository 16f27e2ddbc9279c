/* SPDX-License-Identifier: Apache-2.0 */
#include "core/util/buf.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/fail_alloc.h"
#include "tests/support/test.h"

static void an_empty_buffer_reads_as_the_empty_string(void **state) {
    (void)state;
    al_buf buf = AL_BUF_INIT;
    assert_string_equal(al_buf_str(&buf), "");
    al_buf_append(&buf, NULL, 0);
    al_buf_truncate(&buf, 0);
    al_buf_consume(&buf, 5);
    al_buf_clear(&buf);
    assert_int_equal(buf.size, 0);
    size_t size = 1;
    char *text = al_buf_steal(&buf, &size);
    assert_string_equal(text, "");
    assert_int_equal(size, 0);
    free(text);
    al_buf_free(&buf);
}

static void what_is_appended_stands_there_with_a_nul_behind(void **state) {
    (void)state;
    al_auto(al_buf_free) al_buf buf = AL_BUF_INIT;
    for (int i = 0; i < 1000; i++) {
        al_buf_append(&buf, "a\0b", 3);
        al_buf_append_str(&buf, "text");
        al_buf_append_char(&buf, (char)i);
        assert_int_equal(buf.data[buf.size], '\0');
        assert_true(buf.capacity > buf.size);
    }
    assert_int_equal(buf.error, 0);
    assert_int_equal(buf.size, 8000);
    for (int i = 0; i < 1000; i++) {
        assert_memory_equal(buf.data + 8 * (size_t)i, "a\0btext", 7);
        assert_int_equal(buf.data[8 * (size_t)i + 7], (char)i);
    }
}

static void printf_appends_texts_of_any_length(void **state) {
    (void)state;
    al_auto(al_buf_free) al_buf buf = AL_BUF_INIT;
    al_buf_append_str(&buf, "x");
    al_buf_printf(&buf, "%d-%s", 42, "y");
    assert_string_equal(buf.data, "x42-y");
    al_buf_printf(&buf, "%*d", 100000, 7);
    assert_int_equal(buf.size, 100005);
    assert_int_equal(buf.data[100004], '7');
    assert_int_equal(buf.data[100005], '\0');
}

static void past_its_limit_nothing_is_appended_any_more(void **state) {
    (void)state;
    al_auto(al_buf_free) al_buf buf = {.max_size = 4};
    al_buf_append_str(&buf, "abcd");
    assert_int_equal(buf.error, 0);
    al_buf_append_char(&buf, 'e');
    assert_int_equal(buf.error, EFBIG);
    assert_string_equal(buf.data, "abcd");
    al_buf_truncate(&buf, 1);
    al_buf_append_char(&buf, 'f');
    assert_string_equal(buf.data, "a");
    al_buf_clear(&buf);
    assert_int_equal(buf.error, 0);
    al_buf_printf(&buf, "%d", 12345);
    assert_int_equal(buf.error, EFBIG);
    assert_string_equal(buf.data, "");
    al_buf_free(&buf);
    assert_int_equal(buf.max_size, 4);
}

static void a_limit_set_below_the_present_size_stops_growth(void **state) {
    (void)state;
    al_auto(al_buf_free) al_buf buf = AL_BUF_INIT;
    al_buf_append_str(&buf, "abcdef");
    buf.max_size = 3;
    al_buf_append_char(&buf, 'g');
    assert_int_equal(buf.error, EFBIG);
    assert_string_equal(buf.data, "abcdef");
}

static void a_size_beyond_the_address_space_is_refused(void **state) {
    (void)state;
    al_auto(al_buf_free) al_buf buf = AL_BUF_INIT;
    al_buf_append_str(&buf, "abc");
    assert_null(al_buf_reserve(&buf, SIZE_MAX));
    assert_int_equal(buf.error, EFBIG);
    al_buf_clear(&buf);
    assert_null(al_buf_reserve(&buf, SIZE_MAX - 2));
    assert_int_equal(buf.error, EFBIG);
}

static void after_a_steal_with_error_there_is_nothing(void **state) {
    (void)state;
    al_buf buf = {.max_size = 1};
    al_buf_append_str(&buf, "ab");
    assert_null(al_buf_steal(&buf, NULL));
    assert_int_equal(buf.error, 0);
    assert_null(buf.data);
}

static void room_counts_only_when_it_is_committed(void **state) {
    (void)state;
    al_auto(al_buf_free) al_buf buf = AL_BUF_INIT;
    al_buf_append_str(&buf, "ab");
    char *room = al_buf_reserve(&buf, 1000);
    assert_non_null(room);
    memset(room, 'x', 1000);
    assert_int_equal(buf.size, 2);
    al_buf_commit(&buf, 3);
    assert_string_equal(buf.data, "abxxx");
    al_buf_commit(&buf, 0);
    assert_string_equal(buf.data, "abxxx");
}

static void consuming_keeps_what_is_behind(void **state) {
    (void)state;
    al_auto(al_buf_free) al_buf buf = AL_BUF_INIT;
    al_buf_append_str(&buf, "abcdef");
    al_buf_consume(&buf, 4);
    assert_string_equal(buf.data, "ef");
    al_buf_consume(&buf, 10);
    assert_string_equal(buf.data, "");
}

static void wiping_overwrites_before_it_frees(void **state) {
    (void)state;
    al_buf buf = AL_BUF_INIT;
    al_buf_append_str(&buf, "secret");
    al_buf_wipe(&buf);
    assert_null(buf.data);
    al_buf_wipe(&buf);
}

static void append_under_failing_allocations(void *state) {
    (void)state;
    al_auto(al_buf_free) al_buf buf = AL_BUF_INIT;
    for (int i = 0; i < 100; i++)
        al_buf_printf(&buf, "%09d ", i);
    char *text = al_buf_steal(&buf, NULL);
    if (fail_alloc_happened()) {
        assert_null(text);
    } else {
        assert_int_equal(strlen(text), 1000);
    }
    free(text);
}

static void a_failed_allocation_is_found_at_the_end(void **state) {
    (void)state;
    assert_true(fail_alloc_each(append_under_failing_allocations, NULL) > 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_buffer_reads_as_the_empty_string),
        cmocka_unit_test(what_is_appended_stands_there_with_a_nul_behind),
        cmocka_unit_test(printf_appends_texts_of_any_length),
        cmocka_unit_test(past_its_limit_nothing_is_appended_any_more),
        cmocka_unit_test(a_limit_set_below_the_present_size_stops_growth),
        cmocka_unit_test(a_size_beyond_the_address_space_is_refused),
        cmocka_unit_test(after_a_steal_with_error_there_is_nothing),
        cmocka_unit_test(room_counts_only_when_it_is_committed),
        cmocka_unit_test(consuming_keeps_what_is_behind),
        cmocka_unit_test(wiping_overwrites_before_it_frees),
        cmocka_unit_test(a_failed_allocation_is_found_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
