/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time as text, without the C library's time zone and locale machinery. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"

static const int64_t ms_per_day = 86400000;

struct date {
    int64_t year;
    int64_t month; /* 1 to 12 */
    int64_t day;   /* 1 to 31 */
};

static bool is_leap_year(int64_t year) {
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int64_t days_of_month(int64_t year, int64_t month) {
    static const int8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap_year(year));
}

/* Days from 0000-01-01 to the first of January of YEAR (0 to 9999): leap days of the years before
 * it are counted, and year 0 is one. */
static int64_t days_before_year(int64_t year) {
    if (year == 0)
        return 0;
    int64_t last = year - 1;
    return year * 365 + last / 4 - last / 100 + last / 400 + 1;
}

enum {
    DAYS_BEFORE_1970 = 719528
};

static int64_t days_since_1970(struct date date) {
    int64_t days = days_before_year(date.year) - DAYS_BEFORE_1970 + date.day - 1;
    for (int64_t month = 1; month < date.month; month++)
        days += days_of_month(date.year, month);
    return days;
}

static struct date date_of_day(int64_t days_from_1970) {
    int64_t days = days_from_1970 + DAYS_BEFORE_1970;
    struct date date = {.year = days * 400 / 146097, .month = 1, .day = 1};
    /* The quotient may be one off at either side of a new year. */
    while (days_before_year(date.year + 1) <= days)
        date.year++;
    while (days_before_year(date.year) > days)
        date.year--;
    days -= days_before_year(date.year);
    while (days >= days_of_month(date.year, date.month)) {
        days -= days_of_month(date.year, date.month);
        date.month++;
    }
    date.day += days;
    return date;
}

static int64_t clamp(int64_t value, int64_t min, int64_t max) {
    return value < min ? min : value > max ? max : value;
}

void al_time_format(int64_t realtime_ms, char out[AL_TIME_TEXT_SIZE]) {
    const int64_t first = days_since_1970((struct date){0, 1, 1}) * ms_per_day;
    const int64_t last = (days_since_1970((struct date){9999, 12, 31}) + 1) * ms_per_day - 1;
    realtime_ms = clamp(realtime_ms, first, last);
    int64_t ms = realtime_ms % ms_per_day;
    if (ms < 0)
        ms += ms_per_day;
    struct date date = date_of_day((realtime_ms - ms) / ms_per_day);
    /* Remainders tell the compiler, which checks the size of the text, how long each number is. */
    (void)snprintf(out, AL_TIME_TEXT_SIZE, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ",
                   (unsigned)date.year % 10000, (unsigned)date.month % 100,
                   (unsigned)date.day % 100, (unsigned)(ms / 3600000) % 100,
                   (unsigned)(ms / 60000) % 60, (unsigned)(ms / 1000) % 60, (unsigned)ms % 1000);
}

/* Reads exactly COUNT digits at *AT; the value must be from MIN to MAX. */
static bool read_number(const char **at, int count, int64_t min, int64_t max, int64_t *out) {
    int64_t value = 0;
    for (int i = 0; i < count; i++, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        value = value * 10 + (**at - '0');
    }
    *out = value;
    return min <= value && value <= max;
}

static bool read_char(const char **at, const char *accepted) {
    if (**at == '\0' || strchr(accepted, **at) == NULL)
        return false;
    (*at)++;
    return true;
}

static bool read_date(const char **at, struct date *date) {
    return read_number(at, 4, 0, 9999, &date->year) && read_char(at, "-") &&
           read_number(at, 2, 1, 12, &date->month) && read_char(at, "-") &&
           read_number(at, 2, 1, days_of_month(date->year, date->month), &date->day);
}

/* Milliseconds since midnight. */
static bool read_time(const char **at, int64_t *ms) {
    int64_t hour;
    int64_t minute;
    int64_t second;
    if (!read_number(at, 2, 0, 23, &hour) || !read_char(at, ":") ||
        !read_number(at, 2, 0, 59, &minute) || !read_char(at, ":") ||
        !read_number(at, 2, 0, 60, &second))
        return false;
    *ms = ((hour * 60 + minute) * 60 + second) * 1000;
    if (!read_char(at, "."))
        return true;
    if (**at < '0' || **at > '9')
        return false;
    for (int64_t weight = 100; **at >= '0' && **at <= '9'; (*at)++, weight /= 10)
        *ms += (**at - '0') * weight;
    return true;
}

/* What is to be taken off to get UTC. */
static bool read_offset(const char **at, int64_t *ms) {
    *ms = 0;
    if (read_char(at, "Zz"))
        return true;
    bool negative = **at == '-';
    int64_t hour;
    int64_t minute;
    if (!read_char(at, "+-") || !read_number(at, 2, 0, 23, &hour) || !read_char(at, ":") ||
        !read_number(at, 2, 0, 59, &minute))
        return false;
    *ms = (hour * 60 + minute) * 60000;
    if (negative)
        *ms = -*ms;
    return true;
}

int al_time_parse(const char *text, int64_t *realtime_ms) {
    struct date date;
    int64_t time_ms;
    int64_t offset_ms;
    if (!read_date(&text, &date) || !read_char(&text, "Tt ") || !read_time(&text, &time_ms) ||
        !read_offset(&text, &offset_ms) || *text != '\0')
        return EINVAL;
    *realtime_ms = days_since_1970(date) * ms_per_day + time_ms - offset_ms;
    return 0;
}
