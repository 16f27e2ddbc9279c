/* SPDX-License-Identifier: Apache-2.0 */
#include "core/util/num.h"

#include <errno.h>

#include "tests/support/test.h"

struct row {
    const char *text;
    int rc;
    int64_t value;
};

static const int64_t untouched = -12345;

static void check(int (*parse)(const char *, int64_t *), const struct row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        int64_t value = untouched;
        int rc = parse(rows[i].text, &value);
        int64_t expected = rows[i].rc == 0 ? rows[i].value : untouched;
        if (rc != rows[i].rc || value != expected)
            fail_msg("'%s' gave %d and %lld", rows[i].text != NULL ? rows[i].text : "(null)", rc,
                     (long long)value);
    }
}

static void integers_are_exact_or_refused(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"0", 0, 0},
        {"-0", 0, 0},
        {"007", 0, 7},
        {"9007199254740993", 0, INT64_C(9007199254740993)},
        {"9223372036854775807", 0, INT64_MAX},
        {"-9223372036854775808", 0, INT64_MIN},
        {"9223372036854775808", ERANGE, 0},
        {"-9223372036854775809", ERANGE, 0},
        {"99999999999999999999999999", ERANGE, 0},
        {NULL, EINVAL, 0},
        {"", EINVAL, 0},
        {"-", EINVAL, 0},
        {"--1", EINVAL, 0},
        {"+1", EINVAL, 0},
        {" 1", EINVAL, 0},
        {"1 ", EINVAL, 0},
        {"10abc", EINVAL, 0},
        {"99999999999999999999x", EINVAL, 0},
        {"0x10", EINVAL, 0},
        {"1.0", EINVAL, 0},
        {"1e3", EINVAL, 0},
        {"1\n", EINVAL, 0},
    };
    check(al_parse_int64, rows, AL_COUNT(rows));
}

static void unsigned_integers_have_no_sign(void **state) {
    (void)state;
    uint64_t value = 5;
    assert_int_equal(al_parse_uint64("18446744073709551615", &value), 0);
    assert_true(value == UINT64_MAX);
    value = 5;
    assert_int_equal(al_parse_uint64("18446744073709551616", &value), ERANGE);
    assert_int_equal(al_parse_uint64("-1", &value), EINVAL);
    assert_int_equal(al_parse_uint64("-0", &value), EINVAL);
    assert_int_equal(al_parse_uint64(NULL, &value), EINVAL);
    assert_int_equal(al_parse_uint64("", &value), EINVAL);
    assert_int_equal(value, 5);
}

static void a_range_is_kept(void **state) {
    (void)state;
    int64_t value = untouched;
    assert_int_equal(al_parse_int64_in("0", 1, 10, &value), ERANGE);
    assert_int_equal(al_parse_int64_in("11", 1, 10, &value), ERANGE);
    assert_int_equal(al_parse_int64_in("x", 1, 10, &value), EINVAL);
    assert_int_equal(value, untouched);
    assert_int_equal(al_parse_int64_in("10", 1, 10, &value), 0);
    assert_int_equal(value, 10);
    assert_int_equal(al_parse_int64_in("-1", INT64_MIN, 0, &value), 0);
    assert_int_equal(value, -1);
}

static void durations_name_their_units(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"500ms", 0, 500},
        {"10s", 0, 10000},
        {"5m", 0, 300000},
        {"1h30m", 0, 5400000},
        {"2d", 0, 172800000},
        {"1d1h1m1s1ms", 0, 90061001},
        {"0s", 0, 0},
        {"90m", 0, 5400000},
        {"2147483648ms", 0, INT64_C(2147483648)},
        {"9223372036854775807ms", 0, INT64_MAX},
        {"9223372036854775808ms", ERANGE, 0},
        {"9223372036854775807s", ERANGE, 0},
        {"9223372036854775s808ms", ERANGE, 0},
        {"106751991167d7h12m55s807ms", 0, INT64_MAX},
        {"106751991167d7h12m55s808ms", ERANGE, 0},
        {"99999999999999999999d", ERANGE, 0},
        {"99999999999999999999x", EINVAL, 0},
        {NULL, EINVAL, 0},
        {"", EINVAL, 0},
        {"5", EINVAL, 0},
        {"0", EINVAL, 0},
        {"s", EINVAL, 0},
        {"-1s", EINVAL, 0},
        {"1.5s", EINVAL, 0},
        {"1s ", EINVAL, 0},
        {" 1s", EINVAL, 0},
        {"1 s", EINVAL, 0},
        {"30m1h", EINVAL, 0},
        {"1h1h", EINVAL, 0},
        {"1w", EINVAL, 0},
        {"1S", EINVAL, 0},
        {"1h30", EINVAL, 0},
        {"1msx", EINVAL, 0},
    };
    check(al_parse_duration_ms, rows, AL_COUNT(rows));
}

static void sizes_are_whole_bytes(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"0", 0, 0},
        {"1500", 0, 1500},
        {"1500k", 0, 1500000},
        {"1G", 0, 1000000000},
        {"1Gi", 0, INT64_C(1) << 30},
        {"512Mi", 0, INT64_C(512) << 20},
        {"1.5Gi", 0, (INT64_C(3) << 30) / 2},
        {"0.5Ki", 0, 512},
        {"1.000", 0, 1},
        {"0.001k", 0, 1},
        {"0.125Ei", 0, INT64_C(1) << 57},
        {"7Ei", 0, INT64_C(7) << 60},
        {"9E", 0, INT64_C(9000000000000000000)},
        {"9223372036854775807", 0, INT64_MAX},
        {"8Ei", ERANGE, 0},
        {"7.999Ei", EINVAL, 0},
        {"9.999E", ERANGE, 0},
        {"10E", ERANGE, 0},
        {"9223372036854775808", ERANGE, 0},
        {"99999999999999999999999", ERANGE, 0},
        {NULL, EINVAL, 0},
        {"", EINVAL, 0},
        {"-1", EINVAL, 0},
        {"1.5", EINVAL, 0},
        {"0.001Ki", EINVAL, 0},
        {"0.0001k", EINVAL, 0},
        {"1.k", EINVAL, 0},
        {".5k", EINVAL, 0},
        {"1K", EINVAL, 0},
        {"1ki", EINVAL, 0},
        {"1m", EINVAL, 0},
        {"1MB", EINVAL, 0},
        {"1 M", EINVAL, 0},
        {"1e3", EINVAL, 0},
        {"Mi", EINVAL, 0},
        {"1Mi1", EINVAL, 0},
    };
    check(al_parse_size, rows, AL_COUNT(rows));
}

static void processors_are_whole_thousandths(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"500m", 0, 500},
        {"2", 0, 2000},
        {"0.5", 0, 500},
        {"0.001", 0, 1},
        {"1.25", 0, 1250},
        {"0", 0, 0},
        {"9223372036854775m", 0, INT64_C(9223372036854775)},
        {"9223372036854775807m", 0, INT64_MAX},
        {"9223372036854775.807", 0, INT64_MAX},
        {"9223372036854775.808", ERANGE, 0},
        {"9223372036854776", ERANGE, 0},
        {"99999999999999999999m", ERANGE, 0},
        {NULL, EINVAL, 0},
        {"", EINVAL, 0},
        {"m", EINVAL, 0},
        {"-1", EINVAL, 0},
        {"0.0005", EINVAL, 0},
        {"1.5m", EINVAL, 0},
        {"1.m", EINVAL, 0},
        {"1.", EINVAL, 0},
        {".5", EINVAL, 0},
        {"2 ", EINVAL, 0},
        {"2mm", EINVAL, 0},
        {"2k", EINVAL, 0},
        {"1,5", EINVAL, 0},
    };
    check(al_parse_cpu, rows, AL_COUNT(rows));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_exact_or_refused),
        cmocka_unit_test(unsigned_integers_have_no_sign),
        cmocka_unit_test(a_range_is_kept),
        cmocka_unit_test(durations_name_their_units),
        cmocka_unit_test(sizes_are_whole_bytes),
        cmocka_unit_test(processors_are_whole_thousandths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
