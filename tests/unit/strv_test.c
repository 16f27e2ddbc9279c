/* SPDX-License-Identifier: Apache-2.0 */
#include "core/util/strv.h"

#include <stdlib.h>
#include <string.h>

#include "core/util/str.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/test.h"

static void a_list_is_always_closed_by_null(void **state) {
    (void)state;
    al_auto(al_strv_free) al_strv list = AL_STRV_INIT;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(al_strv_take(&list, al_strf("%d", i)), 0);
        assert_int_equal(list.count, (size_t)i + 1);
        assert_null(list.items[list.count]);
    }
    assert_string_equal(list.items[99], "99");
    assert_true(al_strv_has(&list, "57"));
    assert_false(al_strv_has(&list, "x"));
}

static void splitting_counts_empty_parts(void **state) {
    (void)state;
    al_auto(al_strv_free) al_strv list = AL_STRV_INIT;
    assert_int_equal(al_strv_split(&list, "a::b:", ':'), 0);
    assert_int_equal(list.count, 4);
    assert_string_equal(list.items[0], "a");
    assert_string_equal(list.items[1], "");
    assert_string_equal(list.items[2], "b");
    assert_string_equal(list.items[3], "");
    assert_int_equal(al_strv_split(&list, "", ':'), 0);
    assert_int_equal(list.count, 5);
}

static void removing_keeps_the_order_of_the_rest(void **state) {
    (void)state;
    al_auto(al_strv_free) al_strv list = AL_STRV_INIT;
    assert_int_equal(al_strv_split(&list, "c,a,b", ','), 0);
    al_strv_remove(&list, 1);
    assert_string_equal(list.items[0], "c");
    assert_string_equal(list.items[1], "b");
    assert_null(list.items[2]);
    al_strv_sort(&list);
    assert_string_equal(list.items[0], "b");
    al_strv_remove(&list, 1);
    al_strv_remove(&list, 0);
    al_strv_sort(&list);
    assert_null(list.items[0]);
}

static void a_joined_text_keeps_its_bound(void **state) {
    (void)state;
    al_auto(al_strv_free) al_strv list = AL_STRV_INIT;
    assert_int_equal(al_strv_split(&list, "one,two,three", ','), 0);
    static const struct {
        size_t max_size;
        const char *text;
    } rows[] = {{0, "one, two, three"},
                {15, "one, two, three"},
                {14, "one, two, ..."},
                {13, "one, two, ..."},
                {12, "one, ..."},
                {7, "..."},
                {3, "..."},
                {2, ".."},
                {1, "."}};
    for (size_t i = 0; i < AL_COUNT(rows); i++) {
        al_autofree char *text = al_strv_join(&list, ", ", rows[i].max_size);
        assert_string_equal(text, rows[i].text);
    }
    al_strv none = AL_STRV_INIT;
    al_autofree char *nothing = al_strv_join(&none, ", ", 5);
    assert_string_equal(nothing, "");
}

static void a_stolen_list_goes_to_execve(void **state) {
    (void)state;
    al_strv list = AL_STRV_INIT;
    assert_int_equal(al_strv_append(&list, "ls"), 0);
    assert_int_equal(al_strv_append_n(&list, "-lx", 2), 0);
    char **items = al_strv_steal(&list);
    assert_string_equal(items[1], "-l");
    assert_null(items[2]);
    assert_int_equal(list.count, 0);
    free(items[0]);
    free(items[1]);
    free(items);
    char **none = al_strv_steal(&list);
    assert_null(none[0]);
    free(none);
}

static void add_all_or_nothing(void *state) {
    al_strv *list = state;
    static const char *const many[] = {"1", "2", "3", "4", "5", "6", "7", "8", "9", NULL};
    size_t before = list->count;
    int rc = al_strv_append_all(list, many);
    assert_int_equal(rc, fail_alloc_happened() ? ENOMEM : 0);
    assert_int_equal(list->count, before + (rc == 0 ? 9 : 0));
    size_t between = list->count;
    rc = al_strv_split(list, "a,b,c", ',');
    assert_int_equal(list->count, between + (rc == 0 ? 3 : 0));
    assert_int_equal(al_strv_take(list, NULL), ENOMEM);
    assert_true(list->items == NULL || list->items[list->count] == NULL);
}

static void appending_several_is_all_or_nothing(void **state) {
    (void)state;
    al_auto(al_strv_free) al_strv list = AL_STRV_INIT;
    assert_int_equal(al_strv_append_all(&list, NULL), 0);
    assert_true(fail_alloc_each(add_all_or_nothing, &list) > 9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_always_closed_by_null),
        cmocka_unit_test(splitting_counts_empty_parts),
        cmocka_unit_test(removing_keeps_the_order_of_the_rest),
        cmocka_unit_test(a_joined_text_keeps_its_bound),
        cmocka_unit_test(a_stolen_list_goes_to_execve),
        cmocka_unit_test(appending_several_is_all_or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
