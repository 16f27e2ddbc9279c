/* SPDX-License-Identifier: Apache-2.0 */
#include "base64.h"

#include <errno.h>
#include <stdint.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t al_base64_encoded_size(size_t size) {
    return (size / 3 + (size % 3 != 0)) * 4;
}

void al_base64_encode(const void *data, size_t size, char *out) {
    const uint8_t *in = data;
    for (; size >= 3; size -= 3, in += 3, out += 4) {
        uint32_t group = (uint32_t)in[0] << 16 | (uint32_t)in[1] << 8 | in[2];
        out[0] = alphabet[group >> 18];
        out[1] = alphabet[group >> 12 & 63];
        out[2] = alphabet[group >> 6 & 63];
        out[3] = alphabet[group & 63];
    }
    if (size == 0)
        return;
    uint32_t group = (uint32_t)in[0] << 16 | (size == 2 ? (uint32_t)in[1] << 8 : 0);
    out[0] = alphabet[group >> 18];
    out[1] = alphabet[group >> 12 & 63];
    out[2] = size == 2 ? alphabet[group >> 6 & 63] : '=';
    out[3] = '=';
}

void al_base64_append(al_buf *out, const void *data, size_t size) {
    size_t encoded = al_base64_encoded_size(size);
    char *room = al_buf_reserve(out, encoded);
    if (room == NULL)
        return;
    al_base64_encode(data, size, room);
    al_buf_commit(out, encoded);
}

size_t al_base64_decoded_size_max(size_t size) {
    return size / 4 * 3;
}

/* The six bits of each byte of the alphabet, counted from 1, so that all others are 0. */
static const uint8_t numbers[256] = {
    ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,  ['H'] = 8,
    ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
    ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
    ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
    ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
    ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
    ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
    ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64,
};

/* Reads COUNT (2 to 4) digits into the high end of 24 bits. A byte outside the alphabet becomes a
 * number with the bits above those 24 set. */
static uint32_t read_group(const char *text, size_t count) {
    uint32_t group = 0;
    uint32_t invalid = 0;
    for (size_t i = 0; i < 4; i++) {
        uint32_t number = i < count ? numbers[(uint8_t)text[i]] : 1u;
        invalid |= number - 1;
        group = group << 6 | ((number - 1) & 63);
    }
    return group | (invalid & 0xff000000);
}

/* The last group, which may be padded. Its size in bytes, or 0 when it is refused. */
static size_t decode_last(const char *text, uint8_t *out) {
    size_t digits = text[3] != '=' ? 4 : text[2] != '=' ? 3 : 2;
    uint32_t group = read_group(text, digits);
    size_t bytes = digits - 1;
    if (group > 0xffffff || (group & (0xffffffu >> (8 * bytes))) != 0)
        return 0;
    for (size_t i = 0; i < bytes; i++)
        out[i] = (uint8_t)(group >> (16 - 8 * i));
    return bytes;
}

int al_base64_decode(const char *text, size_t size, void *out, size_t *out_size) {
    if (size % 4 != 0)
        return EINVAL;
    uint8_t *at = out;
    if (size == 0) {
        *out_size = 0;
        return 0;
    }
    for (size_t i = 0; i + 4 < size; i += 4, at += 3) {
        uint32_t group = read_group(text + i, 4);
        if (group > 0xffffff)
            return EINVAL;
        at[0] = (uint8_t)(group >> 16);
        at[1] = (uint8_t)(group >> 8);
        at[2] = (uint8_t)group;
    }
    size_t last = decode_last(text + size - 4, at);
    if (last == 0)
        return EINVAL;
    *out_size = (size_t)(at - (uint8_t *)out) + last;
    return 0;
}

int al_base64_decode_append(const char *text, size_t size, al_buf *out) {
    if (size % 4 != 0)
        return EINVAL;
    size_t padding = size > 0 ? (size_t)(text[size - 1] == '=') + (text[size - 2] == '=') : 0;
    char *room = al_buf_reserve(out, al_base64_decoded_size_max(size) - padding);
    if (room == NULL)
        return out->error;
    size_t decoded = 0;
    int rc = al_base64_decode(text, size, room, &decoded);
    al_buf_commit(out, decoded);
    return rc;
}
