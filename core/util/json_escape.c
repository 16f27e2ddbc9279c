/* SPDX-License-Identifier: Apache-2.0 */
#include "json_escape.h"

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* Text is worked on in pieces whose escaped form surely fits in a block on the stack, so that the
 * buffer is asked for exactly what it gets and its limit holds to the byte. */
enum {
    PIECE_SIZE = 512,
    ESCAPE_SIZE_MAX = 6,
    STEP = 16,
    BLOCK_SIZE = PIECE_SIZE * ESCAPE_SIZE_MAX + STEP
};

static bool needs_escape(uint8_t byte) {
    return byte < 0x20 || byte == '"' || byte == '\\';
}

/* A bit for each of the STEP bytes at TEXT that must be escaped. */
#if defined(__SSE2__)
static unsigned find_escapes(const char *text) {
    const __m128i last_control = _mm_set1_epi8(0x1f);
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)text);
    __m128i found = _mm_cmpeq_epi8(_mm_min_epu8(bytes, last_control), bytes);
    found = _mm_or_si128(found, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
    found = _mm_or_si128(found, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
    return (unsigned)_mm_movemask_epi8(found);
}
#else
static unsigned find_in_word(const char *text) {
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint64_t low = ones * 0x7f;
    uint64_t word;
    memcpy(&word, text, sizeof(word));
    uint64_t quote = word ^ ones * '"';
    uint64_t backslash = word ^ ones * '\\';
    uint64_t above_control = word & ones * 0xe0;
    /* The high bit of each byte that is not 0, without a carry into the next. */
    quote |= (quote & low) + low;
    backslash |= (backslash & low) + low;
    above_control |= (above_control & low) + low;
    uint64_t found = ~(quote & backslash & above_control) >> 7 & ones;
    /* Moves bit 8 * i to bit 56 + i. */
    return (unsigned)(found * UINT64_C(0x0102040810204080) >> 56);
}

static unsigned find_escapes(const char *text) {
    return find_in_word(text) | find_in_word(text + STEP / 2) << STEP / 2;
}
#endif

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

/* Writes the STEP bytes at TEXT; the end of what was written. So many are copied each time, and
 * what is past an escape is written over: as many again can be read behind them. */
static char *escape_step(const char *text, char *at) {
    const char *end = text + STEP;
    for (unsigned found = find_escapes(text); found != 0;) {
        unsigned plain = (unsigned)__builtin_ctz(found);
        memcpy(at, text, STEP);
        at += plain;
        text += plain;
        at += write_escape((uint8_t)*text++, at);
        found >>= plain + 1;
    }
    memcpy(at, text, STEP);
    return at + (end - text);
}

/* The escaped size of SIZE bytes of the READABLE ones. OUT has room for BLOCK_SIZE. */
static size_t escape_piece(const char *text, size_t size, size_t readable, char *out) {
    char *at = out;
    size_t i = 0;
    for (; size - i >= STEP && readable - i >= (size_t)2 * STEP; i += STEP)
        at = escape_step(text + i, at);
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
        al_buf_append(out, block, escape_piece(text, piece, size, block));
        text += piece;
        size -= piece;
    }
    al_buf_append_char(out, '"');
}
