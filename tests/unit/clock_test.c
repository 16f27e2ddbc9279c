/* SPDX-License-Identifier: Apache-2.0 */
#include "core/util/clock.h"

#include <limits.h>
#include <time.h>

#include "tests/support/test.h"

static void clocks_run_forwards_and_agree_in_their_units(void **state) {
    (void)state;
    int64_t (*const clocks[][2])(void) = {
        {al_clock_monotonic_ns, al_clock_monotonic_ms},
        {al_clock_boottime_ns, al_clock_boottime_ms},
        {al_clock_realtime_ns, al_clock_realtime_ms},
    };
    for (size_t i = 0; i < AL_COUNT(clocks); i++) {
        int64_t before_ns = clocks[i][0]();
        int64_t ms = clocks[i][1]();
        int64_t after_ns = clocks[i][0]();
        assert_true(before_ns / 1000000 <= ms && ms <= after_ns / 1000000);
    }
    assert_true(al_clock_realtime_ms() / 1000 - time(NULL) <= 1);
    int64_t monotonic_ns = al_clock_monotonic_ns();
    assert_true(al_clock_boottime_ns() >= monotonic_ns);
}

static void zero_has_passed_and_negative_is_none(void **state) {
    (void)state;
    al_deadline now = al_deadline_after_ms(0);
    assert_true(al_deadline_passed(now));
    assert_int_equal(al_deadline_left_ms(now), 0);
    assert_int_equal(al_deadline_poll_ms(now), 0);
    static const int64_t negative[] = {-1, -2, INT64_MIN};
    for (size_t i = 0; i < AL_COUNT(negative); i++) {
        al_deadline none = al_deadline_after_ms(negative[i]);
        assert_true(al_deadline_is_none(none));
        assert_false(al_deadline_passed(none));
        assert_int_equal(al_deadline_left_ms(none), -1);
        assert_int_equal(al_deadline_poll_ms(none), -1);
    }
}

static void a_time_out_is_never_cut_short(void **state) {
    (void)state;
    static const int64_t timeouts[] = {1,
                                       1000,
                                       INT64_C(2147483647),
                                       INT64_C(2147483648),
                                       INT64_C(4294967296),
                                       INT64_C(1000000000000)};
    for (size_t i = 0; i < AL_COUNT(timeouts); i++) {
        int64_t before = al_clock_monotonic_ns();
        al_deadline deadline = al_deadline_after_ms(timeouts[i]);
        assert_true(deadline.at_ns - before >= timeouts[i] * 1000000);
        assert_true(al_deadline_left_ms(deadline) <= timeouts[i]);
        assert_true(al_deadline_poll_ms(deadline) >= 0);
    }
    assert_int_equal(al_deadline_poll_ms(al_deadline_after_ms(INT64_C(2147483648) * 2)), INT_MAX);
    assert_true(al_deadline_is_none(al_deadline_after_ms(INT64_MAX)));
    assert_true(al_deadline_is_none(al_deadline_after_ms(INT64_MAX / 1000000)));
    assert_true(al_deadline_is_none(al_deadline_after_ms(INT64_MAX / 1000000 + 1)));
}

static void time_left_is_rounded_up(void **state) {
    (void)state;
    al_deadline deadline = {al_clock_monotonic_ns() + INT64_C(3600000) * 1000000 + 1};
    assert_true(al_deadline_left_ms(deadline) <= 3600001);
    assert_true(al_deadline_left_ms(deadline) > 3590000);
    al_deadline passed = {al_clock_monotonic_ns() - 1};
    assert_int_equal(al_deadline_left_ms(passed), 0);
    /* Half a millisecond left must wait a whole one, for as long as it is left. */
    al_deadline soon = {al_clock_monotonic_ns() + 500000};
    int64_t left = al_deadline_left_ms(soon);
    assert_true(left == 1 || al_deadline_passed(soon));
}

static void the_earlier_deadline_counts(void **state) {
    (void)state;
    al_deadline one = al_deadline_after_ms(1000);
    al_deadline two = al_deadline_after_ms(2000);
    assert_true(al_deadline_earlier(one, two).at_ns == one.at_ns);
    assert_true(al_deadline_earlier(two, one).at_ns == one.at_ns);
    assert_true(al_deadline_earlier(AL_DEADLINE_NONE, one).at_ns == one.at_ns);
    assert_true(al_deadline_is_none(al_deadline_earlier(AL_DEADLINE_NONE, AL_DEADLINE_NONE)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_run_forwards_and_agree_in_their_units),
        cmocka_unit_test(zero_has_passed_and_negative_is_none),
        cmocka_unit_test(a_time_out_is_never_cut_short),
        cmocka_unit_test(time_left_is_rounded_up),
        cmocka_unit_test(the_earlier_deadline_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
