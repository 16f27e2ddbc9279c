/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "core/util/clock.h"
#include "tests/support/test.h"

static void times_are_written_as_utc_with_milliseconds(void **state) {
    (void)state;
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {INT64_C(951782400000), "2000-02-29T00:00:00.000Z"},
        {INT64_C(1709251199123), "2024-02-29T23:59:59.123Z"},
        {INT64_C(4107542400000), "2100-03-01T00:00:00.000Z"},
        {INT64_C(253402300799999), "9999-12-31T23:59:59.999Z"},
        {INT64_C(253402300800000), "9999-12-31T23:59:59.999Z"},
        {INT64_MAX, "9999-12-31T23:59:59.999Z"},
        {INT64_C(-62167219200000), "0000-01-01T00:00:00.000Z"},
        {INT64_MIN, "0000-01-01T00:00:00.000Z"},
    };
    for (size_t i = 0; i < AL_COUNT(rows); i++) {
        char text[AL_TIME_TEXT_SIZE];
        al_time_format(rows[i].ms, text);
        assert_string_equal(text, rows[i].text);
    }
}

static void every_day_is_the_one_the_c_library_names(void **state) {
    (void)state;
    static const int64_t first = INT64_C(-62167219200);
    static const int64_t last = INT64_C(253402300799);
    for (int64_t seconds = first; seconds <= last; seconds += 86400 * 3 + 12345) {
        time_t at = (time_t)seconds;
        struct tm tm;
        assert_non_null(gmtime_r(&at, &tm));
        char expected[64];
        (void)snprintf(expected, sizeof(expected), "%04d-%02d-%02dT%02d:%02d:%02d.007Z",
                       tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
                       tm.tm_sec);
        char text[AL_TIME_TEXT_SIZE];
        al_time_format(seconds * 1000 + 7, text);
        assert_string_equal(text, expected);
        int64_t back = 0;
        assert_int_equal(al_time_parse(text, &back), 0);
        assert_true(back == seconds * 1000 + 7);
    }
}

static void other_spellings_of_a_time_are_read(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {
        {"1970-01-01T00:00:00Z", 0},      {"1970-01-01t00:00:00z", 0},
        {"1970-01-01 00:00:00.5Z", 500},  {"1970-01-01T00:00:00.123456789Z", 123},
        {"1970-01-01T01:00:00+01:00", 0}, {"1969-12-31T16:30:00-07:30", 0},
        {"1970-01-01T00:00:00-00:00", 0}, {"2016-12-31T23:59:60Z", INT64_C(1483228800000)},
    };
    for (size_t i = 0; i < AL_COUNT(rows); i++) {
        int64_t ms = -1;
        assert_int_equal(al_time_parse(rows[i].text, &ms), 0);
        assert_true(ms == rows[i].ms);
    }
}

static void what_is_no_time_is_refused(void **state) {
    (void)state;
    static const char *const rows[] = {
        "",
        "1970",
        "1970-01-01",
        "1970-01-01T00:00:00",
        "1970-01-01T00:00Z",
        "1970-01-01T00:00:00Zx",
        "1970-01-01T00:00:00 Z",
        "1970-01-01T00:00:00.Z",
        "1970-00-01T00:00:00Z",
        "1970-13-01T00:00:00Z",
        "1970-01-00T00:00:00Z",
        "2023-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2024-02-30T00:00:00Z",
        "1970-01-01T24:00:00Z",
        "1970-01-01T00:60:00Z",
        "1970-01-01T00:00:61Z",
        "1970-01-01T00:00:00+24:00",
        "1970-01-01T00:00:00+0100",
        "-1970-01-01T00:00:00Z",
        " 1970-01-01T00:00:00Z",
        "19700-01-01T00:00:00Z",
    };
    for (size_t i = 0; i < AL_COUNT(rows); i++) {
        int64_t ms = -7;
        if (al_time_parse(rows[i], &ms) != EINVAL || ms != -7)
            fail_msg("'%s' was read", rows[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_written_as_utc_with_milliseconds),
        cmocka_unit_test(every_day_is_the_one_the_c_library_names),
        cmocka_unit_test(other_spellings_of_a_time_are_read),
        cmocka_unit_test(what_is_no_time_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
