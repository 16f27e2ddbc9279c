/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include <string.h>

#include "core/lossy_text.h"
#include "core/util/cleanup.h"
#include "core/words.h"

static void words_are_quoted_where_a_shell_needs_it(void **state) {
    (void)state;
    const char *argv[] = {"ls", "-l", "/a/b.c", "", "a b", "it's", "$x", "*", "a=b", "~", NULL};
    al_auto(al_buf_free) al_buf out = AL_BUF_INIT;
    al_words_append(&out, argv);
    assert_string_equal(al_buf_str(&out), "ls -l /a/b.c '' 'a b' 'it'\\''s' '$x' '*' a=b '~'");
}

static void gives(const void *data, size_t size, size_t max_size, const char *expected) {
    al_auto(al_buf_free) al_buf out = AL_BUF_INIT;
    al_lossy_append(&out, data, size, max_size);
    assert_string_equal(al_buf_str(&out), expected);
    assert_int_equal(out.size, strlen(expected));
}

static void bytes_become_text_that_shows_what_was_wrong(void **state) {
    (void)state;
    gives("", 0, 10, "");
    gives("plain \xc3\xa4", 8, 100, "plain \xc3\xa4");
    gives("a\xff\xfe"
          "b",
          4, 100,
          "a\xef\xbf\xbd\xef\xbf\xbd"
          "b");
    gives("a\0b", 3, 100,
          "a\xef\xbf\xbd"
          "b");
    gives("\xc3", 1, 100, "\xef\xbf\xbd");
}

static void a_cut_does_not_split_a_character(void **state) {
    (void)state;
    gives("abcdef", 6, 6, "abcdef");
    gives("abcdef", 6, 5, "abcde...");
    gives("ab\xc3\xa4z", 5, 3, "ab...");
    gives("ab\xc3\xa4z", 5, 4, "ab\xc3\xa4...");
    gives("\xf0\x9f\x8c\x8d!", 5, 3, "...");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_quoted_where_a_shell_needs_it),
        cmocka_unit_test(bytes_become_text_that_shows_what_was_wrong),
        cmocka_unit_test(a_cut_does_not_split_a_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
