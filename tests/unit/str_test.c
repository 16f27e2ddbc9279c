/* SPDX-License-Identifier: Apache-2.0 */
#include "core/util/str.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/cleanup.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/test.h"

static void copies_are_whole_and_null_stays_null(void **state) {
    (void)state;
    assert_null(al_strdup(NULL));
    assert_null(al_strndup(NULL, 3));
    assert_null(al_memdup(NULL, 3));
    assert_null(al_memdup("", SIZE_MAX));
    al_autofree char *whole = al_strdup("text");
    al_autofree char *part = al_strndup("text", 2);
    al_autofree char *bytes = al_memdup("a\0b", 3);
    assert_string_equal(whole, "text");
    assert_string_equal(part, "te");
    assert_memory_equal(bytes, "a\0b", 4);
}

static void a_formatted_string_that_fails_is_null(void **state) {
    (void)state;
    al_autofree char *text = al_strf("%s-%d", "x", 3);
    assert_string_equal(text, "x-3");
    fail_alloc_at(1);
    assert_null(al_strf("%d", 1));
    fail_alloc_at(0);
}

static void a_replaced_string_may_be_its_own_source(void **state) {
    (void)state;
    al_autofree char *slot = NULL;
    assert_int_equal(al_str_replace(&slot, "one two"), 0);
    assert_int_equal(al_str_replace(&slot, slot + 4), 0);
    assert_string_equal(slot, "two");
    fail_alloc_at(1);
    assert_int_equal(al_str_replace(&slot, "three"), ENOMEM);
    fail_alloc_at(0);
    assert_string_equal(slot, "two");
    assert_int_equal(al_str_replace(&slot, NULL), 0);
    assert_null(slot);
}

static void a_bounded_copy_says_when_it_cut(void **state) {
    (void)state;
    char out[4];
    assert_true(al_str_copy(out, sizeof(out), "abc"));
    assert_string_equal(out, "abc");
    assert_false(al_str_copy(out, sizeof(out), "abcd"));
    assert_string_equal(out, "abc");
    assert_false(al_str_copy(out, 1, "abcd"));
    assert_string_equal(out, "");
    assert_true(al_str_copy(out, 1, ""));
}

static void prefixes_and_suffixes_are_found(void **state) {
    (void)state;
    assert_true(al_str_starts("provider/acme", "provider/"));
    assert_string_equal(al_str_after("provider/acme", "provider/"), "acme");
    assert_null(al_str_after("prov", "provider/"));
    assert_true(al_str_ends("a.so", ".so"));
    assert_false(al_str_ends("so", ".so"));
    assert_true(al_str_starts("", "") && al_str_ends("", ""));
    assert_true(al_str_equal(NULL, NULL) && al_str_equal("a", "a"));
    assert_false(al_str_equal("a", NULL) || al_str_equal(NULL, "a") || al_str_equal("a", "b"));
    assert_true(al_str_empty(NULL) && al_str_empty("") && !al_str_empty("x"));
}

static void distance_counts_single_edits(void **state) {
    (void)state;
    static const struct {
        const char *a;
        const char *b;
        size_t distance;
    } rows[] = {{"", "", 0},
                {"abc", "abc", 0},
                {"", "abc", 3},
                {"abc", "", 3},
                {"abc", "abd", 1},
                {"abc", "ab", 1},
                {"abc", "xabc", 1},
                {"abcd", "abdc", 1},
                {"ca", "abc", 3},
                {"kitten", "sitting", 3},
                {"provider", "provdier", 1}};
    for (size_t i = 0; i < AL_COUNT(rows); i++) {
        assert_int_equal(al_str_distance(rows[i].a, rows[i].b), rows[i].distance);
        assert_int_equal(al_str_distance(rows[i].b, rows[i].a), rows[i].distance);
    }
    char longest[64];
    memset(longest, 'a', 63);
    longest[63] = '\0';
    assert_int_equal(al_str_distance(longest, "a"), 62);
    assert_int_equal(al_str_distance("a", longest), 62);
    char too_long[65];
    memset(too_long, 'a', 64);
    too_long[64] = '\0';
    assert_true(al_str_distance(too_long, too_long) == SIZE_MAX);
}

static void the_nearest_word_is_near_or_none(void **state) {
    (void)state;
    static const char *const words[] = {"provider", NULL, "storage", "defaults", "stores"};
    assert_string_equal(al_str_nearest("provder", words, 5), "provider");
    assert_string_equal(al_str_nearest("storag", words, 5), "storage");
    assert_string_equal(al_str_nearest("stores", words, 5), "stores");
    assert_null(al_str_nearest("egress", words, 5));
    assert_null(al_str_nearest("", words, 5));
    assert_null(al_str_nearest("x", words, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_whole_and_null_stays_null),
        cmocka_unit_test(a_formatted_string_that_fails_is_null),
        cmocka_unit_test(a_replaced_string_may_be_its_own_source),
        cmocka_unit_test(a_bounded_copy_says_when_it_cut),
        cmocka_unit_test(prefixes_and_suffixes_are_found),
        cmocka_unit_test(distance_counts_single_edits),
        cmocka_unit_test(the_nearest_word_is_near_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
