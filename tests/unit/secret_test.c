/* SPDX-License-Identifier: Apache-2.0 */
#include "core/util/secret.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"

static void wiped_memory_is_zero(void **state) {
    (void)state;
    char text[16] = "secret secret s";
    al_wipe(text, sizeof(text));
    static const char zeros[16];
    assert_memory_equal(text, zeros, sizeof(text));
    al_wipe(NULL, 0);
    al_secret_free(NULL);
    al_auto(al_secret_free) char *owned = strdup("secret");
    assert_non_null(owned);
}

static void a_difference_anywhere_is_found(void **state) {
    (void)state;
    char a[64];
    char b[64];
    memset(a, 'x', sizeof(a));
    memset(b, 'x', sizeof(b));
    assert_true(al_secret_equal(a, b, sizeof(a)));
    assert_true(al_secret_equal(a, "", 0));
    for (size_t i = 0; i < sizeof(a); i++) {
        b[i] = (char)0x80;
        assert_false(al_secret_equal(a, b, sizeof(a)));
        assert_true(al_secret_equal(a, b, i));
        b[i] = 'x';
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wiped_memory_is_zero),
        cmocka_unit_test(a_difference_anywhere_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
