/* SPDX-License-Identifier: Apache-2.0 */
#include "support/fail_alloc.h"
#include "support/test.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "core/timers.h"
#include "core/util/clock.h"

typedef struct counter {
    al_timer timer;
    atomic_int count;
    int64_t again_ms;
    int again_times;
    useconds_t takes_us;
    atomic_bool is_inside;
    atomic_llong at_ms;
} counter;

static int64_t count(al_timer *timer) {
    counter *c = AL_CONTAINER(timer, counter, timer);
    c->is_inside = true;
    c->at_ms = al_clock_monotonic_ms();
    if (c->takes_us > 0)
        (void)usleep(c->takes_us);
    int n = atomic_fetch_add(&c->count, 1) + 1;
    c->is_inside = false;
    return n <= c->again_times ? c->again_ms : 0;
}

static al_timers *make(void) {
    al_timers *timers = NULL;
    assert_int_equal(al_timers_new(&timers, NULL), ALINEO_OK);
    return timers;
}

static void wait_for_count(counter *c, int wanted) {
    for (int i = 0; i < 1000 && atomic_load(&c->count) < wanted; i++)
        (void)usleep(5000);
    assert_int_equal(atomic_load(&c->count), wanted);
}

static void a_timer_fires_once_and_not_before_its_time(void **state) {
    (void)state;
    al_timers *timers = make();
    counter c = {.timer = {.fire = count}};
    int64_t begun = al_clock_monotonic_ms();
    assert_int_equal(al_timer_start(timers, &c.timer, 50, NULL), ALINEO_OK);
    wait_for_count(&c, 1);
    assert_true(c.at_ms - begun >= 49);
    (void)usleep(100000);
    assert_int_equal(atomic_load(&c.count), 1);
    al_timer_stop(timers, &c.timer);
    al_timers_free(timers);
}

static void the_nearest_fires_first_whatever_was_set_first(void **state) {
    (void)state;
    al_timers *timers = make();
    counter late = {.timer = {.fire = count}};
    counter soon = {.timer = {.fire = count}};
    counter never = {.timer = {.fire = count}};
    assert_int_equal(al_timer_start(timers, &never.timer, INT64_MAX, NULL), ALINEO_OK);
    assert_int_equal(al_timer_start(timers, &late.timer, 120, NULL), ALINEO_OK);
    assert_int_equal(al_timer_start(timers, &soon.timer, 20, NULL), ALINEO_OK);
    wait_for_count(&late, 1);
    assert_int_equal(atomic_load(&soon.count), 1);
    assert_true(soon.at_ms <= late.at_ms);
    al_timer_stop(timers, &never.timer);
    assert_int_equal(atomic_load(&never.count), 0);
    al_timers_free(timers);
}

static void a_timer_can_ask_to_be_set_again(void **state) {
    (void)state;
    al_timers *timers = make();
    counter c = {.timer = {.fire = count}, .again_ms = 5, .again_times = 3};
    assert_int_equal(al_timer_start(timers, &c.timer, 1, NULL), ALINEO_OK);
    wait_for_count(&c, 4);
    (void)usleep(50000);
    assert_int_equal(atomic_load(&c.count), 4);
    al_timer_stop(timers, &c.timer);
    al_timers_free(timers);
}

static void stopping_waits_for_a_function_that_runs(void **state) {
    (void)state;
    al_timers *timers = make();
    counter c = {.timer = {.fire = count}, .again_ms = 1, .again_times = 1000, .takes_us = 100000};
    assert_int_equal(al_timer_start(timers, &c.timer, 0, NULL), ALINEO_OK);
    for (int i = 0; i < 1000 && !c.is_inside; i++)
        (void)usleep(1000);
    assert_true(c.is_inside);
    al_timer_stop(timers, &c.timer);
    assert_false(c.is_inside);
    int fired = atomic_load(&c.count);
    (void)usleep(50000);
    assert_int_equal(atomic_load(&c.count), fired);
    al_timers_free(timers);
}

static void stopping_what_is_not_set_is_fine(void **state) {
    (void)state;
    al_timers *timers = make();
    counter c = {.timer = {.fire = count}};
    al_timer_stop(timers, &c.timer);
    assert_int_equal(al_timer_start(timers, &c.timer, 60000, NULL), ALINEO_OK);
    al_timer_stop(timers, &c.timer);
    al_timer_stop(timers, &c.timer);
    al_timers_free(timers);
    al_timers_free(NULL);
    al_timers_forget(NULL);
}

static void many_timers_fire_in_order(void **state) {
    (void)state;
    al_timers *timers = make();
    counter counters[100];
    memset(counters, 0, sizeof(counters));
    for (int i = 0; i < 100; i++) {
        counters[i].timer.fire = count;
        assert_int_equal(al_timer_start(timers, &counters[i].timer, (i * 37) % 100, NULL),
                         ALINEO_OK);
    }
    for (int i = 0; i < 100; i++)
        wait_for_count(&counters[i], 1);
    al_timers_free(timers);
}

static void make_one(void *state) {
    (void)state;
    al_timers *timers = NULL;
    alineo_code code = al_timers_new(&timers, NULL);
    assert_int_equal(code, fail_alloc_happened() ? ALINEO_NO_MEMORY : ALINEO_OK);
    al_timers_free(timers);
}

static void without_memory_there_are_none(void **state) {
    (void)state;
    assert_true(fail_alloc_each(make_one, NULL) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timer_fires_once_and_not_before_its_time),
        cmocka_unit_test(the_nearest_fires_first_whatever_was_set_first),
        cmocka_unit_test(a_timer_can_ask_to_be_set_again),
        cmocka_unit_test(stopping_waits_for_a_function_that_runs),
        cmocka_unit_test(stopping_what_is_not_set_is_fine),
        cmocka_unit_test(many_timers_fire_in_order),
        cmocka_unit_test(without_memory_there_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
