/* SPDX-License-Identifier: Apache-2.0 */
/* test: tsan */
#include "tests/support/test.h"

#include "core/slots.h"

#include "core/call_private.h"
#include "core/fail.h"
#include "tests/support/fail_alloc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static al_slots *new_slots(size_t limit) {
    al_slots *slots = NULL;
    assert_int_equal(al_slots_new(limit, &slots, NULL), ALINEO_OK);
    return slots;
}

static alineo_call *new_call(int64_t timeout_ms) {
    alineo_call_options options = ALINEO_CALL_OPTIONS_INIT;
    options.timeout_ms = timeout_ms;
    alineo_call *call = NULL;
    assert_int_equal(alineo_call_new(&options, &call, NULL), ALINEO_OK);
    return call;
}

/* A thread that wants a slot. */
typedef struct wanting {
    al_slots *slots;
    alineo_call *call;
    pthread_t thread;
    atomic_int waits; /* it reported that it waits */
    atomic_int done;
    alineo_code code;
    int place; /* how many had one before it */
    atomic_int *served;
} wanting;

static void note_waiting(void *user, const char *stage, uint64_t done, uint64_t total,
                         const char *text) {
    (void)done;
    (void)total;
    (void)text;
    assert_string_equal(stage, "slot");
    atomic_store(&((wanting *)user)->waits, 1);
}

static void *want(void *argument) {
    wanting *self = argument;
    self->code = al_slots_take(self->slots, self->call, NULL);
    if (self->code == ALINEO_OK && self->served != NULL)
        self->place = atomic_fetch_add(self->served, 1);
    atomic_store(&self->done, 1);
    return NULL;
}

/* Returns once the thread stands in the queue. */
static void start_wanting(wanting *self, al_slots *slots, int64_t timeout_ms) {
    alineo_call_options options = ALINEO_CALL_OPTIONS_INIT;
    options.timeout_ms = timeout_ms;
    options.progress = note_waiting;
    options.progress_user = self;
    self->slots = slots;
    assert_int_equal(alineo_call_new(&options, &self->call, NULL), ALINEO_OK);
    assert_int_equal(pthread_create(&self->thread, NULL, want, self), 0);
    while (!atomic_load(&self->waits) && !atomic_load(&self->done))
        (void)usleep(1000);
    assert_int_equal(atomic_load(&self->done), 0);
}

static void end_wanting(wanting *self) {
    assert_int_equal(pthread_join(self->thread, NULL), 0);
    alineo_call_free(self->call);
}

static void without_a_limit_nobody_waits(void **state) {
    (void)state;
    al_slots *slots = new_slots(0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(al_slots_take(slots, NULL, NULL), ALINEO_OK);
    al_slots_give(slots);
    al_slots_free(slots);
}

static void a_full_house_is_a_timeout_that_says_what_to_do(void **state) {
    (void)state;
    al_slots *slots = new_slots(2);
    assert_int_equal(al_slots_take(slots, NULL, NULL), ALINEO_OK);
    assert_int_equal(al_slots_take(slots, NULL, NULL), ALINEO_OK);
    alineo_call *call = new_call(20);
    alineo_error *error = NULL;
    assert_int_equal(al_slots_take(slots, call, &error), ALINEO_TIMEOUT);
    assert_non_null(strstr(alineo_error_message(error), "one of 2 slots"));
    assert_non_null(strstr(alineo_error_hint(error), "maxConcurrency"));
    alineo_error_free(error);
    alineo_call_free(call);

    al_slots_give(slots);
    assert_int_equal(al_slots_take(slots, NULL, NULL), ALINEO_OK);
    al_slots_free(slots);
}

static void a_cancelled_wait_holds_nothing(void **state) {
    (void)state;
    al_slots *slots = new_slots(1);
    assert_int_equal(al_slots_take(slots, NULL, NULL), ALINEO_OK);
    wanting waiter = {0};
    start_wanting(&waiter, slots, 0);
    alineo_call_cancel(waiter.call);
    end_wanting(&waiter);
    assert_int_equal(waiter.code, ALINEO_CANCELLED);

    al_slots_give(slots);
    assert_int_equal(al_slots_take(slots, NULL, NULL), ALINEO_OK);
    alineo_call *call = new_call(10);
    assert_int_equal(al_slots_take(slots, call, NULL), ALINEO_TIMEOUT);
    alineo_call_free(call);
    al_slots_free(slots);
}

static void a_slot_granted_to_one_who_cancels_at_that_moment_is_not_lost(void **state) {
    (void)state;
    al_slots *slots = new_slots(1);
    assert_int_equal(al_slots_take(slots, NULL, NULL), ALINEO_OK);
    int cancelled = 0;
    for (int i = 0; i < 200; i++) {
        wanting waiter = {0};
        start_wanting(&waiter, slots, 0);
        al_slots_give(slots);
        alineo_call_cancel(waiter.call);
        end_wanting(&waiter);
        if (waiter.code == ALINEO_OK)
            continue;
        cancelled++;
        alineo_call *call = new_call(5000);
        assert_int_equal(al_slots_take(slots, call, NULL), ALINEO_OK);
        alineo_call_free(call);
    }
    assert_true(cancelled > 0);
    al_slots_free(slots);
}

static void who_came_first_is_served_first(void **state) {
    (void)state;
    enum {
        COUNT = 8
    };
    al_slots *slots = new_slots(1);
    assert_int_equal(al_slots_take(slots, NULL, NULL), ALINEO_OK);
    atomic_int served = 0;
    wanting waiters[COUNT] = {0};
    for (int i = 0; i < COUNT; i++) {
        waiters[i].served = &served;
        start_wanting(&waiters[i], slots, 0);
        /* It has said that it waits; it stands in the queue before it says so. */
    }
    for (int i = 0; i < COUNT; i++) {
        al_slots_give(slots);
        end_wanting(&waiters[i]);
        assert_int_equal(waiters[i].code, ALINEO_OK);
        assert_int_equal(waiters[i].place, i);
    }
    al_slots_free(slots);
}

static void a_newcomer_does_not_overtake_the_queue(void **state) {
    (void)state;
    al_slots *slots = new_slots(1);
    assert_int_equal(al_slots_take(slots, NULL, NULL), ALINEO_OK);
    wanting waiter = {0};
    start_wanting(&waiter, slots, 0);
    al_slots_give(slots);
    alineo_call *call = new_call(10);
    assert_int_equal(al_slots_take(slots, call, NULL), ALINEO_TIMEOUT);
    end_wanting(&waiter);
    assert_int_equal(waiter.code, ALINEO_OK);
    alineo_call_free(call);
    al_slots_free(slots);
}

static void twenty_waiters_that_time_out_leave_the_limit_as_it_was(void **state) {
    (void)state;
    enum {
        COUNT = 20,
        LIMIT = 3
    };
    al_slots *slots = new_slots(LIMIT);
    for (int i = 0; i < LIMIT; i++)
        assert_int_equal(al_slots_take(slots, NULL, NULL), ALINEO_OK);
    wanting waiters[COUNT] = {0};
    for (int i = 0; i < COUNT; i++)
        start_wanting(&waiters[i], slots, 500);
    for (int i = 0; i < COUNT; i++) {
        end_wanting(&waiters[i]);
        assert_int_equal(waiters[i].code, ALINEO_TIMEOUT);
    }

    for (int i = 0; i < LIMIT; i++)
        al_slots_give(slots);
    for (int i = 0; i < LIMIT; i++)
        assert_int_equal(al_slots_take(slots, NULL, NULL), ALINEO_OK);
    alineo_call *call = new_call(10);
    assert_int_equal(al_slots_take(slots, call, NULL), ALINEO_TIMEOUT);
    alineo_call_free(call);
    al_slots_free(slots);
}

typedef struct crowd {
    al_slots *slots;
    atomic_int inside;
    atomic_int most;
    atomic_int had;
} crowd;

static void *push(void *argument) {
    crowd *self = argument;
    for (int i = 0; i < 50; i++) {
        /* Some give up, at all moments. */
        alineo_call *call = new_call(i % 5 == 0 ? 1 : 0);
        if (al_slots_take(self->slots, call, NULL) == ALINEO_OK) {
            int inside = atomic_fetch_add(&self->inside, 1) + 1;
            int most = atomic_load(&self->most);
            while (inside > most && !atomic_compare_exchange_weak(&self->most, &most, inside))
                continue;
            (void)usleep(200);
            atomic_fetch_sub(&self->inside, 1);
            atomic_fetch_add(&self->had, 1);
            al_slots_give(self->slots);
        }
        alineo_call_free(call);
    }
    return NULL;
}

static void in_a_crowd_there_are_never_more_than_the_limit(void **state) {
    (void)state;
    crowd self = {.slots = new_slots(3)};
    pthread_t threads[8];
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, push, &self), 0);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_in_range(atomic_load(&self.most), 1, 3);
    assert_true(atomic_load(&self.had) >= 8 * 40);
    for (int i = 0; i < 3; i++)
        assert_int_equal(al_slots_take(self.slots, NULL, NULL), ALINEO_OK);
    alineo_call *call = new_call(10);
    assert_int_equal(al_slots_take(self.slots, call, NULL), ALINEO_TIMEOUT);
    alineo_call_free(call);
    al_slots_free(self.slots);
}

static void make_without_memory(void *state) {
    (void)state;
    al_slots *slots = NULL;
    alineo_error *error = NULL;
    alineo_code code = al_slots_new(1, &slots, &error);
    assert_int_equal(code, slots != NULL ? ALINEO_OK : ALINEO_NO_MEMORY);
    assert_true(code == ALINEO_OK || fail_alloc_happened());
    alineo_error_free(error);
    al_slots_free(slots);
}

static void without_memory_there_is_an_error_and_no_leak(void **state) {
    (void)state;
    assert_true(fail_alloc_each(make_without_memory, NULL) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_limit_nobody_waits),
        cmocka_unit_test(a_full_house_is_a_timeout_that_says_what_to_do),
        cmocka_unit_test(a_cancelled_wait_holds_nothing),
        cmocka_unit_test(a_slot_granted_to_one_who_cancels_at_that_moment_is_not_lost),
        cmocka_unit_test(who_came_first_is_served_first),
        cmocka_unit_test(a_newcomer_does_not_overtake_the_queue),
        cmocka_unit_test(twenty_waiters_that_time_out_leave_the_limit_as_it_was),
        cmocka_unit_test(in_a_crowd_there_are_never_more_than_the_limit),
        cmocka_unit_test(without_memory_there_is_an_error_and_no_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
