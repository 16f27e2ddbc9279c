/* SPDX-License-Identifier: Apache-2.0 */
#include "core/util/random.h"

#include <string.h>

#include "tests/support/test.h"

static void ids_are_lower_case_hex_of_the_asked_length(void **state) {
    (void)state;
    char id[65];
    for (size_t length = 0; length <= 64; length++) {
        memset(id, 'Z', sizeof(id));
        assert_int_equal(al_random_id(id, length), 0);
        assert_int_equal(strlen(id), length);
        assert_int_equal(strspn(id, "0123456789abcdef"), length);
    }
}

static void ids_differ_and_use_every_digit(void **state) {
    (void)state;
    char a[257];
    char b[257];
    assert_int_equal(al_random_id(a, 256), 0);
    assert_int_equal(al_random_id(b, 256), 0);
    assert_string_not_equal(a, b);
    /* The chance that a digit is lacking among 512 is below 1 to 10^13. */
    for (const char *digit = "0123456789abcdef"; *digit != '\0'; digit++)
        assert_true(strchr(a, *digit) != NULL || strchr(b, *digit) != NULL);
}

static void large_blocks_are_filled(void **state) {
    (void)state;
    static unsigned char block[1 << 20];
    assert_int_equal(al_random_bytes(block, sizeof(block)), 0);
    size_t ones = 0;
    for (size_t i = 0; i < sizeof(block); i++)
        ones += (size_t)__builtin_popcount(block[i]);
    assert_in_range(ones, 4 * sizeof(block) - 20000, 4 * sizeof(block) + 20000);
    assert_int_equal(al_random_bytes(block, 0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_lower_case_hex_of_the_asked_length),
        cmocka_unit_test(ids_differ_and_use_every_digit),
        cmocka_unit_test(large_blocks_are_filled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
