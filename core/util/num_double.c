/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "num.h"

/* The "C" locale object costs nothing with glibc: it is a constant there, and freeing it does
 * nothing. */
static locale_t c_locale(void) {
    return newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static size_t count_digits(const char *text, size_t size) {
    size_t count = 0;
    while (count < size && text[count] >= '0' && text[count] <= '9')
        count++;
    return count;
}

/* -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)? and nothing else: strtod would take more. */
static bool is_json_number(const char *text, size_t size) {
    size_t at = size > 0 && text[0] == '-';
    size_t whole = count_digits(text + at, size - at);
    if (whole == 0 || (whole > 1 && text[at] == '0'))
        return false;
    at += whole;
    if (at < size && text[at] == '.') {
        size_t places = count_digits(text + at + 1, size - at - 1);
        if (places == 0)
            return false;
        at += 1 + places;
    }
    if (at < size && (text[at] == 'e' || text[at] == 'E')) {
        at++;
        at += at < size && (text[at] == '+' || text[at] == '-');
        size_t digits = count_digits(text + at, size - at);
        if (digits == 0)
            return false;
        at += digits;
    }
    return at == size;
}

static int convert(const char *text, double *out) {
    locale_t locale = c_locale();
    if (locale == (locale_t)0)
        return ENOMEM;
    double value = strtod_l(text, NULL, locale);
    freelocale(locale);
    if (isinf(value))
        return ERANGE;
    *out = value;
    return 0;
}

int al_parse_double(const char *text, size_t size, double *out) {
    if (text == NULL || !is_json_number(text, size))
        return EINVAL;
    char small[64];
    if (size < sizeof(small)) {
        memcpy(small, text, size);
        small[size] = '\0';
        return convert(small, out);
    }
    char *copy = strndup(text, size);
    if (copy == NULL)
        return ENOMEM;
    int rc = convert(copy, out);
    free(copy);
    return rc;
}

int al_format_double(double value, char out[AL_DOUBLE_TEXT_SIZE]) {
    if (!isfinite(value))
        return EDOM;
    locale_t locale = c_locale();
    if (locale == (locale_t)0)
        return ENOMEM;
    locale_t before = uselocale(locale);
    /* 15 digits always survive the way to a double and back, 17 always name one. */
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(out, AL_DOUBLE_TEXT_SIZE, "%.*g", digits, value);
        if (strtod_l(out, NULL, locale) == value)
            break;
    }
    (void)uselocale(before);
    freelocale(locale);
    return 0;
}
