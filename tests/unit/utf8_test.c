/* SPDX-License-Identifier: Apache-2.0 */
#include "core/util/utf8.h"

#include <stdlib.h>
#include <string.h>

#include "core/util/cleanup.h"
#include "tests/support/test.h"

/* How many bytes a character takes that begins with this one; 0 for a byte that begins none. */
static size_t length_by_first_byte(uint8_t first) {
    if (first < 0x80)
        return 1;
    if (first < 0xc0)
        return 0;
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf8 ? 4 : 0;
}

/* By the definition: decode bit by bit and compare with what must have been encoded. Slow and
 * simple. */
static size_t valid_size_by_definition(const uint8_t *p, size_t size) {
    size_t at = 0;
    while (at < size) {
        size_t whole = length_by_first_byte(p[at]);
        if (whole == 0 || whole > size - at)
            return at;
        uint32_t character = whole == 1 ? p[at] : p[at] & (0x7fu >> whole);
        for (size_t i = 1; i < whole; i++) {
            if ((p[at + i] & 0xc0) != 0x80)
                return at;
            character = character << 6 | (p[at + i] & 0x3f);
        }
        static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
        if (character < least[whole] || character > 0x10ffff ||
            (character >= 0xd800 && character <= 0xdfff))
            return at;
        at += whole;
    }
    return size;
}

static void every_short_sequence_is_judged_by_the_definition(void **state) {
    (void)state;
    /* Every second byte, and for third and fourth bytes those at the borders of their ranges. */
    static const uint8_t borders[] = {0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff};
    for (unsigned a = 0; a < 256; a++) {
        for (unsigned b = 0; b < 256; b++) {
            for (size_t c = 0; c < AL_COUNT(borders); c++) {
                for (size_t d = 0; d < AL_COUNT(borders); d++) {
                    uint8_t text[4] = {(uint8_t)a, (uint8_t)b, borders[c], borders[d]};
                    for (size_t size = 1; size <= 4; size++) {
                        size_t expected = valid_size_by_definition(text, size);
                        if (al_utf8_valid_size(text, size) != expected ||
                            al_utf8_valid(text, size) != (expected == size))
                            fail_msg("%02x %02x %02x %02x", text[0], text[1], text[2], text[3]);
                    }
                }
            }
        }
    }
}

static void every_character_is_valid_at_every_place_of_a_word(void **state) {
    (void)state;
    uint8_t text[100];
    static const uint32_t characters[] = {0x80,   0x7ff,  0x800,   0xd7ff,
                                          0xe000, 0xffff, 0x10000, 0x10ffff};
    for (size_t before = 0; before < 70; before++) {
        for (size_t i = 0; i < AL_COUNT(characters); i++) {
            memset(text, 'a', sizeof(text));
            size_t size = al_utf8_encode(characters[i], (char *)text + before);
            assert_true(size >= 2);
            assert_true(al_utf8_valid(text, sizeof(text)));
            text[before + size - 1] = 'a';
            assert_int_equal(al_utf8_valid_size(text, sizeof(text)), before);
        }
    }
}

static void encoding_refuses_what_is_no_character(void **state) {
    (void)state;
    char out[4];
    for (uint32_t c = 0; c <= 0x110000; c += 13) {
        size_t size = al_utf8_encode(c, out);
        bool is_character = (c < 0xd800 || c > 0xdfff) && c <= 0x10ffff;
        assert_int_equal(size != 0, is_character);
        if (is_character)
            assert_true(al_utf8_valid(out, size));
    }
    assert_int_equal(al_utf8_encode(UINT32_MAX, out), 0);
}

static void text_is_valid_and_without_nul(void **state) {
    (void)state;
    assert_true(al_utf8_is_text("", 0));
    assert_true(al_utf8_is_text(NULL, 0));
    assert_true(al_utf8_valid("a\0b", 3));
    assert_false(al_utf8_is_text("a\0b", 3));
    assert_true(al_utf8_is_text("\xc3\xa4", 2));
    assert_false(al_utf8_is_text("\xc3", 1));
}

static void a_chunk_cut_before_its_tail_splits_no_character(void **state) {
    (void)state;
    static const char text[] = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z\xed\x9f\xbf\xf4\x8f\xbf\xbf";
    size_t size = sizeof(text) - 1;
    for (size_t cut = 0; cut <= size; cut++) {
        size_t tail = al_utf8_tail(text, cut);
        assert_true(tail <= 3);
        assert_true(al_utf8_valid(text, cut - tail));
        assert_true(al_utf8_valid(text + cut - tail, size - cut + tail));
    }
}

static void what_can_never_become_valid_is_no_tail(void **state) {
    (void)state;
    static const char *const rows[] = {
        "\x80", "\xc0", "\xc1",         "\xe0\x80", "\xed\xa0",     "\xf0\x80",     "\xf4\x90",
        "\xf5", "\xff", "\x80\x80\x80", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x80\x80", "a"};
    for (size_t i = 0; i < AL_COUNT(rows); i++)
        assert_int_equal(al_utf8_tail(rows[i], strlen(rows[i])), 0);
    assert_int_equal(al_utf8_tail("", 0), 0);
    assert_int_equal(al_utf8_tail("\xc3", 1), 1);
    assert_int_equal(al_utf8_tail("x\xe2\x82", 3), 2);
    assert_int_equal(al_utf8_tail("\xf0\x9f\x98", 3), 3);
    assert_int_equal(al_utf8_tail("\xf0\x9f", 2), 2);
}

static void names_are_short_and_printable(void **state) {
    (void)state;
    char longest[256];
    memset(longest, 'n', sizeof(longest));
    assert_true(al_name_valid(longest, 255));
    assert_false(al_name_valid(longest, 256));
    assert_false(al_name_valid("", 0));
    assert_true(al_name_valid("a b/c: \xc3\xa4\xf0\x9f\x98\x80", 13));
    assert_true(al_name_valid("\xc2\xa0", 2));
    static const char *const bad[] = {"a\n",       "\t",       "\x7f", "\x1f",
                                      "a\xc2\x80", "\xc2\x9f", "\xc3", "\xed\xa0\x80"};
    for (size_t i = 0; i < AL_COUNT(bad); i++)
        assert_false(al_name_valid(bad[i], strlen(bad[i])));
    assert_false(al_name_valid("a\0b", 3));
}

static void nothing_is_read_behind_the_end(void **state) {
    (void)state;
    for (size_t size = 1; size < 80; size++) {
        al_autofree char *text = malloc(size);
        assert_non_null(text);
        memset(text, 'a', size);
        text[size - 1] = '\xc2';
        assert_int_equal(al_utf8_valid_size(text, size), size - 1);
        assert_int_equal(al_utf8_tail(text, size), 1);
        assert_false(al_name_valid(text, size));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_short_sequence_is_judged_by_the_definition),
        cmocka_unit_test(every_character_is_valid_at_every_place_of_a_word),
        cmocka_unit_test(encoding_refuses_what_is_no_character),
        cmocka_unit_test(text_is_valid_and_without_nul),
        cmocka_unit_test(a_chunk_cut_before_its_tail_splits_no_character),
        cmocka_unit_test(what_can_never_become_valid_is_no_tail),
        cmocka_unit_test(names_are_short_and_printable),
        cmocka_unit_test(nothing_is_read_behind_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
