/* SPDX-License-Identifier: Apache-2.0 */
#include "hex.h"

#include <errno.h>

void al_hex_encode(const void *data, size_t size, char *out) {
    static const char digits[] = "0123456789abcdef";
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = '\0';
}

/* The value of a digit, or -1. */
static int digit_value(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int al_hex_decode(const char *text, void *out, size_t size) {
    const char *end = text;
    while (digit_value(*end) >= 0 && (size_t)(end - text) < 2 * size)
        end++;
    if (*end != '\0' || (size_t)(end - text) != 2 * size)
        return EINVAL;
    unsigned char *bytes = out;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(digit_value(text[2 * i]) << 4 | digit_value(text[2 * i + 1]));
    return 0;
}
