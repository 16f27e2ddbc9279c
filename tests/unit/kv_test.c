/* SPDX-License-Identifier: Apache-2.0 */
#include "core/util/kv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/fail_alloc.h"
#include "tests/support/test.h"

static void keys_keep_the_order_in_which_they_came(void **state) {
    (void)state;
    al_auto(al_kv_free) al_kv map = AL_KV_INIT;
    assert_int_equal(al_kv_set(&map, "z", "1"), 0);
    assert_int_equal(al_kv_set(&map, "a", ""), 0);
    assert_int_equal(al_kv_set(&map, "m", "3"), 0);
    assert_int_equal(al_kv_set(&map, "z", "4"), 0);
    assert_int_equal(map.count, 3);
    assert_string_equal(map.items[0].key, "z");
    assert_string_equal(map.items[0].value, "4");
    assert_string_equal(map.items[2].key, "m");
    assert_string_equal(al_kv_get(&map, "a"), "");
    assert_null(al_kv_get(&map, "x"));
    assert_true(al_kv_has(&map, "m") && !al_kv_has(&map, ""));
}

static void many_entries_are_found_and_removed_in_order(void **state) {
    (void)state;
    enum {
        COUNT = 200
    };
    al_auto(al_kv_free) al_kv map = AL_KV_INIT;
    char key[16];
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(key, sizeof(key), "%d", i);
        assert_int_equal(al_kv_set(&map, key, key), 0);
    }
    for (int i = 0; i < COUNT; i += 3) {
        (void)snprintf(key, sizeof(key), "%d", i);
        assert_true(al_kv_remove(&map, key));
        assert_false(al_kv_remove(&map, key));
    }
    int previous = -1;
    for (size_t i = 0; i < map.count; i++) {
        int number = 0;
        assert_int_equal(sscanf(map.items[i].key, "%d", &number), 1);
        assert_true(number > previous && number % 3 != 0);
        previous = number;
        assert_ptr_equal(al_kv_get(&map, map.items[i].key), map.items[i].value);
    }
    while (map.count > 0)
        assert_true(al_kv_remove(&map, map.items[map.count / 2].key));
    assert_int_equal(al_kv_set(&map, "again", "1"), 0);
    assert_string_equal(al_kv_get(&map, "again"), "1");
}

static void an_assignment_needs_a_name(void **state) {
    (void)state;
    al_auto(al_kv_free) al_kv map = AL_KV_INIT;
    assert_int_equal(al_kv_set_assignment(&map, "A=b=c"), 0);
    assert_string_equal(al_kv_get(&map, "A"), "b=c");
    assert_int_equal(al_kv_set_assignment(&map, "E="), 0);
    assert_string_equal(al_kv_get(&map, "E"), "");
    assert_int_equal(al_kv_set_assignment(&map, "=x"), EINVAL);
    assert_int_equal(al_kv_set_assignment(&map, "x"), EINVAL);
    assert_int_equal(al_kv_set_assignment(&map, ""), EINVAL);
    assert_int_equal(map.count, 2);
}

static void equality_does_not_mind_order(void **state) {
    (void)state;
    al_auto(al_kv_free) al_kv a = AL_KV_INIT;
    al_auto(al_kv_free) al_kv b = AL_KV_INIT;
    assert_true(al_kv_equal(&a, &b));
    assert_int_equal(al_kv_set(&a, "x", "1"), 0);
    assert_int_equal(al_kv_set(&a, "y", "2"), 0);
    assert_int_equal(al_kv_set(&b, "y", "2"), 0);
    assert_false(al_kv_equal(&a, &b));
    assert_int_equal(al_kv_set(&b, "x", "3"), 0);
    assert_false(al_kv_equal(&a, &b));
    assert_int_equal(al_kv_merge(&b, &a), 0);
    assert_true(al_kv_equal(&a, &b));
    assert_string_equal(b.items[0].key, "y");
}

static void set_under_failing_allocations(void *state) {
    (void)state;
    al_auto(al_kv_free) al_kv map = AL_KV_INIT;
    size_t entered = 0;
    for (int i = 0; i < 40; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "%d", i);
        int rc = al_kv_set(&map, key, "v");
        assert_true(rc == 0 || (rc == ENOMEM && fail_alloc_happened()));
        entered += rc == 0;
        assert_int_equal(map.count, entered);
        assert_int_equal(al_kv_has(&map, key), rc == 0);
    }
    for (size_t i = 0; i < map.count; i++)
        assert_ptr_equal(al_kv_get(&map, map.items[i].key), map.items[i].value);
}

static void a_lack_of_memory_leaves_the_map_as_it_was(void **state) {
    (void)state;
    assert_true(fail_alloc_each(set_under_failing_allocations, NULL) > 80);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_keep_the_order_in_which_they_came),
        cmocka_unit_test(many_entries_are_found_and_removed_in_order),
        cmocka_unit_test(an_assignment_needs_a_name),
        cmocka_unit_test(equality_does_not_mind_order),
        cmocka_unit_test(a_lack_of_memory_leaves_the_map_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
