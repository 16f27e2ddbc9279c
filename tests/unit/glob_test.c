/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "core/util/cleanup.h"
#include "core/util/str.h"
#include "tests/support/test.h"

struct row {
    const char *pattern;
    const char *text;
};

static void patterns_match_the_whole_text(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"", ""},          {"*", ""},           {"*", "a/b"},          {"**", "x"},
        {"abc", "abc"},    {"a?c", "abc"},      {"a*c", "ac"},         {"a*c", "abcbc"},
        {"*.so", "x.so"},  {"*a*b*", "xxaybz"}, {"[a-c]", "b"},        {"[!a-c]", "d"},
        {"[^a-c]", "d"},   {"[]]", "]"},        {"[!]]", "a"},         {"[a-]", "-"},
        {"\\*", "*"},      {"[\\]]", "]"},      {"[a", "[a"},          {"a\\", "a\\"},
        {"*[0-9]", "x12"}, {".*", ".hidden"},   {"\xc3*", "\xc3\xa4"}, {"[\xc0-\xff]", "\xc3"},
        {"[a-z-9]", "-"},
    };
    for (size_t i = 0; i < AL_COUNT(rows); i++) {
        if (!al_str_glob(rows[i].pattern, rows[i].text))
            fail_msg("'%s' should match '%s'", rows[i].pattern, rows[i].text);
    }
}

static void other_texts_do_not_match(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"", "a"},       {"?", ""},      {"a", ""},       {"a", "ab"},    {"ab", "a"},
        {"a*c", "abcd"}, {"[a-c]", "d"}, {"[!a-c]", "b"}, {"[]", "a"},    {"\\*", "a"},
        {"*.so", "so"},  {"[a-c]", ""},  {"A", "a"},      {"[b-a]", "a"}, {"?", "\xc3\xa4"},
    };
    for (size_t i = 0; i < AL_COUNT(rows); i++) {
        if (al_str_glob(rows[i].pattern, rows[i].text))
            fail_msg("'%s' should not match '%s'", rows[i].pattern, rows[i].text);
    }
}

static void a_pattern_of_many_stars_takes_no_exponential_time(void **state) {
    (void)state;
    enum {
        SIZE = 20000
    };
    al_autofree char *text = malloc(SIZE + 1);
    assert_non_null(text);
    memset(text, 'a', SIZE);
    text[SIZE] = '\0';
    assert_false(al_str_glob("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", text));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_match_the_whole_text),
        cmocka_unit_test(other_texts_do_not_match),
        cmocka_unit_test(a_pattern_of_many_stars_takes_no_exponential_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
