/* SPDX-License-Identifier: Apache-2.0 */
#include "json_escape.h"

#include <stdint.h>
#include <string.h>

/* Text is worked on in pieces whose escaped form surely fits in a block on the stack, so that the
 * buffer is asked for exactly what it gets and its limit holds to the byte. */
enum {
    PIECE_SIZE = 512,
    ESCAPE_SIZE_MAX = 6,
    BLOCK_SIZE = PIECE_SIZE * ESCAPE_SIZE_MAX + 8
};

/* A word with the high bit set in each byte of WORD that must be escaped, and perhaps in bytes
 * after (in memory) the first such one: good for finding the first. */
static uint64_t find_escapes(uint64_t word) {
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t quote = word ^ ones * '"';
    uint64_t backslash = word ^ ones * '\\';
    uint64_t control = (word - ones * 0x20) & ~word;
    return (control | ((quote - ones) & ~quote) | ((backslash - ones) & ~backslash)) & ones * 0x80;
}

static size_t write_escape(uint8_t byte, char *out) {
    static const char digits[] = "0123456789abcdef";
    static const char letters[256] = {['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
                                      ['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't'};
    out[0] = '\\';
    if (letters[byte] != '\0') {
        out[1] = letters[byte];
        return 2;
    }
    memcpy(out + 1, "u00", 3);
    out[4] = digits[byte >> 4];
    out[5] = digits[byte & 15];
    return ESCAPE_SIZE_MAX;
}

static bool needs_escape(uint8_t byte) {
    return byte < 0x20 || byte == '"' || byte == '\\';
}

/* The escaped size. OUT has room for BLOCK_SIZE. */
static size_t escape_piece(const char *text, size_t size, char *out) {
    char *at = out;
    size_t i = 0;
    while (size - i >= sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, text + i, sizeof(word));
        /* Copied whole; what is past an escape is written over. */
        memcpy(at, &word, sizeof(word));
        uint64_t found = find_escapes(word);
        if (found == 0) {
            at += sizeof(word);
            i += sizeof(word);
            continue;
        }
        size_t plain = (size_t)__builtin_ctzll(found) / 8;
        at += plain;
        i += plain;
        at += write_escape((uint8_t)text[i++], at);
    }
    for (; i < size; i++) {
        if (needs_escape((uint8_t)text[i]))
            at += write_escape((uint8_t)text[i], at);
        else
            *at++ = text[i];
    }
    return (size_t)(at - out);
}

void al_json_append_string(al_buf *out, const char *text, size_t size) {
    char block[BLOCK_SIZE];
    al_buf_append_char(out, '"');
    while (size > 0) {
        size_t piece = size < PIECE_SIZE ? size : PIECE_SIZE;
        al_buf_append(out, block, escape_piece(text, piece, block));
        text += piece;
        size -= piece;
    }
    al_buf_append_char(out, '"');
}
