/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/cleanup.h"
#include "core/util/num.h"
#include "tests/support/locale.h"
#include "tests/support/test.h"

static void only_json_numbers_are_read(void **state) {
    (void)state;
    static const char *const refused[] = {"",    "-",   "+1",  ".5",   "1.",  "1.e3",    "01",
                                          "-01", "1e",  "1e+", "0x10", "inf", "nan",     " 1",
                                          "1 ",  "1,5", "--1", "1e3x", "1_0", "infinity"};
    for (size_t i = 0; i < AL_COUNT(refused); i++) {
        double value = 7;
        if (al_parse_double(refused[i], strlen(refused[i]), &value) != EINVAL || value != 7)
            fail_msg("'%s' was read", refused[i]);
    }
    double value = 7;
    assert_int_equal(al_parse_double(NULL, 0, &value), EINVAL);
    assert_int_equal(al_parse_double("1\0", 2, &value), EINVAL);
    static const struct {
        const char *text;
        double value;
    } rows[] = {
        {"0", 0},          {"-0", 0},    {"1.5", 1.5},  {"-1.5e3", -1500},
        {"1E+2", 100},     {"0.1", 0.1}, {"1e-400", 0}, {"9007199254740993", 9007199254740992.0},
        {"5e-324", 5e-324}};
    for (size_t i = 0; i < AL_COUNT(rows); i++) {
        assert_int_equal(al_parse_double(rows[i].text, strlen(rows[i].text), &value), 0);
        assert_true(value == rows[i].value);
    }
    assert_int_equal(al_parse_double("1.25junk", 4, &value), 0);
    assert_true(value == 1.25);
}

static void what_no_double_can_hold_is_out_of_range(void **state) {
    (void)state;
    double value = 7;
    assert_int_equal(al_parse_double("1e400", 5, &value), ERANGE);
    assert_int_equal(al_parse_double("-1e309", 6, &value), ERANGE);
    assert_true(value == 7);
    char digits[400];
    memset(digits, '9', sizeof(digits));
    assert_int_equal(al_parse_double(digits, sizeof(digits), &value), ERANGE);
    assert_int_equal(al_parse_double(digits, 300, &value), 0);
    assert_true(value == 1e300);
}

static void a_written_double_reads_back_the_same(void **state) {
    (void)state;
    static const struct {
        double value;
        const char *text;
    } rows[] = {{0, "0"},
                {5, "5"},
                {0.1, "0.1"},
                {-1.5, "-1.5"},
                {1e300, "1e+300"},
                {1e-7, "1e-07"},
                {1.0 / 3, "0.3333333333333333"},
                {0.1 + 0.2, "0.30000000000000004"}};
    char text[AL_DOUBLE_TEXT_SIZE];
    for (size_t i = 0; i < AL_COUNT(rows); i++) {
        assert_int_equal(al_format_double(rows[i].value, text), 0);
        assert_string_equal(text, rows[i].text);
    }
    const double extremes[] = {DBL_MAX,      -DBL_MAX,      DBL_MIN,
                               DBL_TRUE_MIN, -DBL_TRUE_MIN, DBL_EPSILON};
    for (size_t i = 0; i < AL_COUNT(extremes); i++) {
        double back = 0;
        assert_int_equal(al_format_double(extremes[i], text), 0);
        assert_int_equal(al_parse_double(text, strlen(text), &back), 0);
        assert_true(back == extremes[i]);
    }
    assert_int_equal(al_format_double(INFINITY, text), EDOM);
    assert_int_equal(al_format_double(-INFINITY, text), EDOM);
    assert_int_equal(al_format_double(NAN, text), EDOM);
}

static void a_host_with_decimal_commas_changes_nothing(void **state) {
    (void)state;
    if (!use_comma_locale())
        skip();
    char by_libc[32];
    (void)snprintf(by_libc, sizeof(by_libc), "%.1f", 1.5);
    assert_string_equal(by_libc, "1,5");
    double value = 0;
    assert_int_equal(al_parse_double("1.5", 3, &value), 0);
    assert_true(value == 1.5);
    assert_int_equal(al_parse_double("1,5", 3, &value), EINVAL);
    char text[AL_DOUBLE_TEXT_SIZE];
    assert_int_equal(al_format_double(1.5, text), 0);
    assert_string_equal(text, "1.5");
    (void)snprintf(by_libc, sizeof(by_libc), "%.1f", 1.5);
    assert_string_equal(by_libc, "1,5");
    use_c_locale();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_json_numbers_are_read),
        cmocka_unit_test(what_no_double_can_hold_is_out_of_range),
        cmocka_unit_test(a_written_double_reads_back_the_same),
        cmocka_unit_test(a_host_with_decimal_commas_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
