/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include "core/replacer.h"

#include <string.h>

static void gives(const char *text, const char *find, const char *with, const char *expected,
                  uint64_t count) {
    for (size_t piece = 1; piece <= strlen(text) + 1; piece++) {
        al_auto(al_buf_free) al_buf out = AL_BUF_INIT;
        al_auto(al_replacer_clear) al_replacer replacer = {.find = find,
                                                           .find_size = strlen(find),
                                                           .replacement = with,
                                                           .replacement_size = strlen(with)};
        for (size_t at = 0; at < strlen(text); at += piece) {
            size_t left = strlen(text) - at;
            assert_int_equal(
                al_replacer_feed(&replacer, text + at, left < piece ? left : piece, &out), 0);
        }
        assert_int_equal(al_replacer_end(&replacer, &out), 0);
        assert_string_equal(al_buf_str(&out), expected);
        assert_int_equal(replacer.count, count);
    }
}

static void each_occurrence_is_replaced_however_the_text_is_cut(void **state) {
    (void)state;
    gives("", "a", "b", "", 0);
    gives("a", "a", "", "", 1);
    gives("xaxbxc", "x", "yy", "yyayybyyc", 3);
    gives("aaaaa", "aa", "b", "bba", 2);
    gives("abcab", "abc", "-", "-ab", 1);
    gives("ababac", "abac", "!", "ab!", 1);
    gives("same", "same", "same", "same", 1);
    gives("short", "longer than it", "x", "short", 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_occurrence_is_replaced_however_the_text_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
