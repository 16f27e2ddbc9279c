/* SPDX-License-Identifier: Apache-2.0 */
#include "core/util/hash.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/fail_alloc.h"
#include "tests/support/test.h"

static void the_hash_is_siphash(void **state) {
    (void)state;
    /* The published values of SipHash-1-3 for the key 00 01 .. 0f and the messages "", 00, 00 01,
     * ... */
    const uint64_t seed[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    assert_true(al_hash_bytes(seed, "", 0) == UINT64_C(0xabac0158050fc4dc));
    assert_true(al_hash_bytes(seed, "\0", 1) == UINT64_C(0xc9f49bf37d57ca93));
}

static void an_empty_map_holds_nothing(void **state) {
    (void)state;
    al_hash map = AL_HASH_INIT;
    size_t position = 0;
    assert_null(al_hash_get(&map, "x"));
    assert_null(al_hash_remove(&map, "x"));
    assert_false(al_hash_next(&map, &position, NULL, NULL));
    al_hash_free(&map);
}

static void entries_are_found_replaced_and_removed(void **state) {
    (void)state;
    enum {
        COUNT = 3000
    };
    static int values[COUNT];
    al_auto(al_hash_free) al_hash map = AL_HASH_INIT;
    char key[32];
    void *old = &map;
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(key, sizeof(key), "key-%d", i);
        assert_int_equal(al_hash_set(&map, key, &values[i], &old), 0);
        assert_null(old);
    }
    assert_int_equal(al_hash_set(&map, "key-5", &values[0], &old), 0);
    assert_ptr_equal(old, &values[5]);
    assert_int_equal(map.count, COUNT);
    for (int i = 0; i < COUNT; i += 2) {
        (void)snprintf(key, sizeof(key), "key-%d", i);
        assert_ptr_equal(al_hash_remove(&map, key), &values[i]);
        assert_null(al_hash_remove(&map, key));
    }
    assert_int_equal(map.count, COUNT / 2);
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(key, sizeof(key), "key-%d", i);
        void *expected = i % 2 == 0 ? NULL : i == 5 ? &values[0] : &values[i];
        assert_ptr_equal(al_hash_get(&map, key), expected);
    }
    size_t position = 0;
    size_t seen = 0;
    const char *found = NULL;
    void *value = NULL;
    while (al_hash_next(&map, &position, &found, &value)) {
        assert_ptr_equal(al_hash_get(&map, found), value);
        seen++;
    }
    assert_int_equal(seen, COUNT / 2);
}

static void set_under_failing_allocations(void *state) {
    (void)state;
    al_auto(al_hash_free) al_hash map = AL_HASH_INIT;
    size_t entered = 0;
    for (int i = 0; i < 40; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "%d", i);
        if (al_hash_set(&map, key, &map, NULL) == 0)
            entered++;
        assert_int_equal(map.count, entered);
        assert_int_equal(al_hash_get(&map, key) != NULL,
                         map.count > 0 && entered == map.count && al_hash_get(&map, key) == &map);
    }
    assert_true(fail_alloc_happened() || entered == 40);
}

static void a_lack_of_memory_leaves_the_map_as_it_was(void **state) {
    (void)state;
    assert_true(fail_alloc_each(set_under_failing_allocations, NULL) > 40);
    /* Setting what is there needs none, even when the map is as full as it gets. */
    al_auto(al_hash_free) al_hash map = AL_HASH_INIT;
    char key[16];
    for (int i = 0; i < 12; i++) {
        (void)snprintf(key, sizeof(key), "%d", i);
        assert_int_equal(al_hash_set(&map, key, &map, NULL), 0);
    }
    fail_alloc_from(1);
    for (int i = 0; i < 12; i++) {
        (void)snprintf(key, sizeof(key), "%d", i);
        assert_int_equal(al_hash_set(&map, key, key, NULL), 0);
    }
    fail_alloc_at(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hash_is_siphash),
        cmocka_unit_test(an_empty_map_holds_nothing),
        cmocka_unit_test(entries_are_found_replaced_and_removed),
        cmocka_unit_test(a_lack_of_memory_leaves_the_map_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
