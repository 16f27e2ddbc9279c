/* SPDX-License-Identifier: Apache-2.0 */
#include "utf8.h"

#include <string.h>

/* What the first byte of a character says: how many bytes follow, and between which values the next
 * one lies. The limits on that one byte keep out overlong forms (e0, f0), surrogates (ed) and what
 * is above U+10FFFF (f4). */
struct lead {
    uint8_t following;
    uint8_t low;
    uint8_t high;
};

static bool read_lead(uint8_t byte, struct lead *out) {
    if (byte >= 0xc2 && byte <= 0xdf) {
        *out = (struct lead){1, 0x80, 0xbf};
    } else if (byte >= 0xe0 && byte <= 0xef) {
        *out = (struct lead){2, byte == 0xe0 ? 0xa0 : 0x80, byte == 0xed ? 0x9f : 0xbf};
    } else if (byte >= 0xf0 && byte <= 0xf4) {
        *out = (struct lead){3, byte == 0xf0 ? 0x90 : 0x80, byte == 0xf4 ? 0x8f : 0xbf};
    } else {
        return false;
    }
    return true;
}

/* How many of the bytes at P, up to SIZE, belong to a character that is right so far; *WHOLE is its
 * full size. A byte that begins none gives 0. */
static size_t check_character(const uint8_t *p, size_t size, size_t *whole) {
    struct lead lead;
    if (!read_lead(p[0], &lead))
        return 0;
    *whole = (size_t)lead.following + 1;
    if (size > 1 && (p[1] < lead.low || p[1] > lead.high))
        return 0;
    size_t good = size > 1 ? 2 : 1;
    while (good < *whole && good < size && (p[good] & 0xc0) == 0x80)
        good++;
    return good == *whole || good == size ? good : 0;
}

static size_t skip_ascii(const uint8_t *p, size_t at, size_t size) {
    enum {
        STEP = 4 * sizeof(uint64_t)
    };
    while (size - at >= STEP) {
        uint64_t words[4];
        memcpy(words, p + at, sizeof(words));
        if (((words[0] | words[1] | words[2] | words[3]) & UINT64_C(0x8080808080808080)) != 0)
            break;
        at += STEP;
    }
    while (at < size && p[at] < 0x80)
        at++;
    return at;
}

size_t al_utf8_valid_size(const void *data, size_t size) {
    const uint8_t *p = data;
    size_t at = 0;
    while (true) {
        at = skip_ascii(p, at, size);
        while (at < size && p[at] >= 0x80) {
            size_t whole = 0;
            size_t good = check_character(p + at, size - at, &whole);
            if (good == 0 || good < whole)
                return at;
            at += whole;
        }
        if (at == size)
            return size;
    }
}

bool al_utf8_valid(const void *data, size_t size) {
    return al_utf8_valid_size(data, size) == size;
}

bool al_utf8_is_text(const void *data, size_t size) {
    return size == 0 || (memchr(data, '\0', size) == NULL && al_utf8_valid(data, size));
}

size_t al_utf8_tail(const void *data, size_t size) {
    const uint8_t *p = data;
    for (size_t tail = 1; tail <= 3 && tail <= size; tail++) {
        const uint8_t *lead = p + size - tail;
        if ((*lead & 0xc0) == 0x80)
            continue;
        size_t whole = 0;
        size_t good = check_character(lead, tail, &whole);
        return good == tail && good < whole ? tail : 0;
    }
    return 0;
}

size_t al_utf8_encode(uint32_t character, char out[4]) {
    if (character < 0x80) {
        out[0] = (char)character;
        return 1;
    }
    if (character < 0x800) {
        out[0] = (char)(0xc0 | character >> 6);
        out[1] = (char)(0x80 | (character & 0x3f));
        return 2;
    }
    if (character >= 0xd800 && character <= 0xdfff)
        return 0;
    if (character < 0x10000) {
        out[0] = (char)(0xe0 | character >> 12);
        out[1] = (char)(0x80 | (character >> 6 & 0x3f));
        out[2] = (char)(0x80 | (character & 0x3f));
        return 3;
    }
    if (character > 0x10ffff)
        return 0;
    out[0] = (char)(0xf0 | character >> 18);
    out[1] = (char)(0x80 | (character >> 12 & 0x3f));
    out[2] = (char)(0x80 | (character >> 6 & 0x3f));
    out[3] = (char)(0x80 | (character & 0x3f));
    return 4;
}

bool al_name_valid(const char *text, size_t size) {
    if (size < 1 || size > 255 || !al_utf8_valid(text, size))
        return false;
    const uint8_t *p = (const uint8_t *)text;
    for (size_t i = 0; i < size; i++) {
        /* U+0080 to U+009F are c2 80 to c2 9f, and c2 is never within a character. */
        bool is_c1 = p[i] == 0xc2 && p[i + 1] < 0xa0;
        if (p[i] < 0x20 || p[i] == 0x7f || is_c1)
            return false;
    }
    return true;
}
