/* SPDX-License-Identifier: Apache-2.0 */
#include "core/util/hex.h"

#include <errno.h>
#include <string.h>

#include "tests/support/test.h"

static void bytes_survive_as_digits(void **state) {
    (void)state;
    unsigned char bytes[256];
    unsigned char back[256];
    char text[513];
    for (unsigned i = 0; i < 256; i++)
        bytes[i] = (unsigned char)i;
    al_hex_encode(bytes, sizeof(bytes), text);
    assert_int_equal(strlen(text), 512);
    assert_memory_equal(text, "000102030405060708090a0b0c", 26);
    assert_int_equal(al_hex_decode(text, back, sizeof(back)), 0);
    assert_memory_equal(back, bytes, sizeof(bytes));
    assert_int_equal(al_hex_decode("AbCd", back, 2), 0);
    assert_memory_equal(back, "\xab\xcd", 2);
    al_hex_encode("", 0, text);
    assert_string_equal(text, "");
}

static void anything_else_is_refused(void **state) {
    (void)state;
    unsigned char out[2] = {1, 2};
    static const char *const rows[] = {"",     "abc",  "abcde", "abcdef",
                                       "ab d", "abcg", "0xab",  "abc\n"};
    for (size_t i = 0; i < AL_COUNT(rows); i++)
        assert_int_equal(al_hex_decode(rows[i], out, sizeof(out)), EINVAL);
    assert_memory_equal(out, "\x01\x02", 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_survive_as_digits),
        cmocka_unit_test(anything_else_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
