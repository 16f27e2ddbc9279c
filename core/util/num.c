/* SPDX-License-Identifier: Apache-2.0 */
#include "num.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Reads the digits at *AT and moves behind them: EINVAL when there is none, ERANGE when they are
 * too many. */
static int read_digits(const char **at, uint64_t *out) {
    const char *p = *at;
    uint64_t value = 0;
    bool fits = true;
    if (!is_digit(*p))
        return EINVAL;
    for (; is_digit(*p); p++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
            fits = false;
    }
    *at = p;
    if (!fits)
        return ERANGE;
    *out = value;
    return 0;
}

int al_parse_uint64(const char *text, uint64_t *out) {
    if (text == NULL)
        return EINVAL;
    uint64_t value = 0;
    int rc = read_digits(&text, &value);
    if (*text != '\0')
        return EINVAL;
    if (rc == 0)
        *out = value;
    return rc;
}

int al_parse_int64(const char *text, int64_t *out) {
    if (text == NULL)
        return EINVAL;
    bool negative = *text == '-';
    uint64_t value;
    int rc = al_parse_uint64(text + negative, &value);
    if (rc != 0)
        return rc;
    if (value > (uint64_t)INT64_MAX + negative)
        return ERANGE;
    /* The largest magnitude has no positive counterpart, so it goes one lower and back. */
    *out = negative && value > 0 ? -(int64_t)(value - 1) - 1 : (int64_t)value;
    return 0;
}

int al_parse_int64_in(const char *text, int64_t min, int64_t max, int64_t *out) {
    int64_t value;
    int rc = al_parse_int64(text, &value);
    if (rc != 0)
        return rc;
    if (value < min || value > max)
        return ERANGE;
    *out = value;
    return 0;
}

struct unit {
    const char *name;
    int64_t factor;
};

/* The index of the unit that *AT begins with, COUNT when there is none; moves behind it. A unit's
 * name ends where a digit or the text's end is, so "m" is not found in "ms". */
static size_t read_unit(const char **at, const struct unit *units, size_t count) {
    size_t size = strcspn(*at, "0123456789");
    for (size_t i = 0; i < count; i++) {
        if (strlen(units[i].name) == size && memcmp(units[i].name, *at, size) == 0) {
            *at += size;
            return i;
        }
    }
    return count;
}

int al_parse_duration_ms(const char *text, int64_t *ms) {
    static const struct unit units[] = {
        {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
    if (text == NULL || *text == '\0')
        return EINVAL;
    int64_t total = 0;
    bool fits = true;
    size_t next = 0; /* units from here on may still come */
    while (*text != '\0') {
        uint64_t number = 0;
        int rc = read_digits(&text, &number);
        if (rc == EINVAL)
            return EINVAL;
        size_t unit = read_unit(&text, units, AL_COUNT(units));
        if (unit == AL_COUNT(units) || unit < next)
            return EINVAL;
        next = unit + 1;
        int64_t part;
        if (rc == ERANGE || __builtin_mul_overflow(number, units[unit].factor, &part) ||
            __builtin_add_overflow(total, part, &total))
            fits = false;
    }
    if (!fits)
        return ERANGE;
    *ms = total;
    return 0;
}

/* A decimal number with at most three places, apart: the whole part and thousandths. */
static int read_decimal(const char **at, uint64_t *whole, uint64_t *thousandths) {
    int rc = read_digits(at, whole);
    *thousandths = 0;
    if (rc == EINVAL || **at != '.')
        return rc;
    const char *digits = ++*at;
    int fraction_rc = read_digits(at, thousandths);
    if (fraction_rc != 0 || *at - digits > 3)
        return EINVAL;
    for (size_t places = (size_t)(*at - digits); places < 3; places++)
        *thousandths *= 10;
    return rc;
}

int al_parse_size(const char *text, int64_t *size) {
    static const struct unit units[] = {
        {"", 1},
        {"k", 1000},
        {"M", 1000000},
        {"G", 1000000000},
        {"T", 1000000000000},
        {"P", 1000000000000000},
        {"E", 1000000000000000000},
        {"Ki", INT64_C(1) << 10},
        {"Mi", INT64_C(1) << 20},
        {"Gi", INT64_C(1) << 30},
        {"Ti", INT64_C(1) << 40},
        {"Pi", INT64_C(1) << 50},
        {"Ei", INT64_C(1) << 60},
    };
    if (text == NULL)
        return EINVAL;
    uint64_t whole = 0;
    uint64_t thousandths;
    int rc = read_decimal(&text, &whole, &thousandths);
    if (rc == EINVAL)
        return EINVAL;
    size_t unit = read_unit(&text, units, AL_COUNT(units));
    if (unit == AL_COUNT(units) || *text != '\0')
        return EINVAL;
    /* Thousandths of a unit: factor * thousandths / 1000, without leaving 64 bits. */
    int64_t factor = units[unit].factor;
    int64_t rest = factor % 1000 * (int64_t)thousandths;
    if (rest % 1000 != 0)
        return EINVAL;
    int64_t fraction = factor / 1000 * (int64_t)thousandths + rest / 1000;
    int64_t total;
    if (rc == ERANGE || __builtin_mul_overflow(whole, factor, &total) ||
        __builtin_add_overflow(total, fraction, &total))
        return ERANGE;
    *size = total;
    return 0;
}

int al_parse_cpu(const char *text, int64_t *millicores) {
    if (text == NULL)
        return EINVAL;
    uint64_t whole = 0;
    uint64_t thousandths;
    const char *number = text;
    int rc = read_decimal(&text, &whole, &thousandths);
    if (rc == EINVAL)
        return EINVAL;
    bool milli = *text == 'm';
    if (text[milli] != '\0' || (milli && memchr(number, '.', (size_t)(text - number)) != NULL))
        return EINVAL;
    int64_t total;
    if (rc == ERANGE || __builtin_mul_overflow(whole, milli ? 1 : 1000, &total) ||
        __builtin_add_overflow(total, (int64_t)thousandths, &total))
        return ERANGE;
    *millicores = total;
    return 0;
}
