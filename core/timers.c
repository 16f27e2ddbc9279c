/* SPDX-License-Identifier: Apache-2.0 */
#include "core/timers.h"

#include "core/fail.h"
#include "core/thread.h"
#include "core/util/cleanup.h"
#include "core/util/clock.h"

#include <pthread.h>
#include <stdbool.h>

/* `lock` guards all of it, and the members of every timer that is set. */
struct al_timers {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* for the thread: another first timer, or stopping */
    pthread_cond_t idle;    /* for al_timer_stop: a function has returned */
    al_list set;            /* the next to fire first */
    al_timer *firing;
    pthread_t thread;
    bool has_thread;
    bool stopping;
};

alineo_code al_timers_new(al_timers **out, alineo_error **err) {
    al_timers *timers = calloc(1, sizeof(*timers));
    if (timers == NULL)
        return al_fail(err, ALINEO_NO_MEMORY, NULL, "make the timers: out of memory");
    al_list_init(&timers->set);
    if (pthread_mutex_init(&timers->lock, NULL) != 0)
        goto no_lock;
    if (al_condition_init(&timers->changed) != 0)
        goto no_changed;
    if (al_condition_init(&timers->idle) != 0)
        goto no_idle;
    *out = timers;
    return ALINEO_OK;

no_idle:
    (void)pthread_cond_destroy(&timers->changed);
no_changed:
    (void)pthread_mutex_destroy(&timers->lock);
no_lock:
    free(timers);
    return al_fail(err, ALINEO_NO_MEMORY, NULL, "make the timers: no lock can be made");
}

void al_timers_free(al_timers *timers) {
    if (timers == NULL)
        return;
    if (timers->has_thread) {
        (void)al_lock(&timers->lock);
        timers->stopping = true;
        (void)pthread_cond_signal(&timers->changed);
        (void)pthread_mutex_unlock(&timers->lock);
        (void)pthread_join(timers->thread, NULL);
    }
    (void)pthread_cond_destroy(&timers->idle);
    (void)pthread_cond_destroy(&timers->changed);
    (void)pthread_mutex_destroy(&timers->lock);
    free(timers);
}

void al_timers_forget(al_timers *timers) {
    free(timers);
}

/* Puts a timer in its place by time. */
static void insert(al_timers *timers, al_timer *timer) {
    al_list *before = &timers->set;
    AL_LIST_FOREACH(link, &timers->set) {
        if (AL_CONTAINER(link, al_timer, link)->at_ns > timer->at_ns) {
            before = link;
            break;
        }
    }
    al_list_append(before, &timer->link); /* at the end of the ring that begins there */
    timer->set = 1;
}

static void set_after(al_timers *timers, al_timer *timer, int64_t after_ms) {
    timer->at_ns = al_deadline_after_ms(after_ms).at_ns;
    insert(timers, timer);
    if (timers->set.next == &timer->link)
        (void)pthread_cond_signal(&timers->changed);
}

/* Waits until the first timer is due or something changed; the lock is held. */
static void wait_for_change(al_timers *timers) {
    if (al_list_empty(&timers->set)) {
        (void)pthread_cond_wait(&timers->changed, &timers->lock);
        return;
    }
    int64_t at_ns = AL_CONTAINER(timers->set.next, al_timer, link)->at_ns;
    struct timespec at = {.tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000};
    (void)pthread_cond_timedwait(&timers->changed, &timers->lock, &at);
}

static void *run(void *argument) {
    al_timers *timers = argument;
    (void)al_lock(&timers->lock);
    while (!timers->stopping) {
        if (al_list_empty(&timers->set) ||
            AL_CONTAINER(timers->set.next, al_timer, link)->at_ns > al_clock_monotonic_ns()) {
            wait_for_change(timers);
            continue;
        }
        al_timer *timer = AL_CONTAINER(al_list_take_first(&timers->set), al_timer, link);
        timers->firing = timer;
        (void)pthread_mutex_unlock(&timers->lock);
        int64_t again_ms = timer->fire(timer);
        (void)al_lock(&timers->lock);
        timers->firing = NULL;
        /* Not set any more: it was stopped meanwhile. */
        if (timer->set && again_ms > 0)
            set_after(timers, timer, again_ms);
        else
            timer->set = 0;
        (void)pthread_cond_broadcast(&timers->idle);
    }
    (void)pthread_mutex_unlock(&timers->lock);
    return NULL;
}

alineo_code al_timer_start(al_timers *timers, al_timer *timer, int64_t after_ms,
                           alineo_error **err) {
    al_autolock(&timers->lock);
    if (!timers->has_thread)
        timers->has_thread = al_thread_start(run, timers, &timers->thread) == 0;
    if (!timers->has_thread)
        return al_fail(err, ALINEO_NO_MEMORY, "raise the limit of threads",
                       "start the thread for timeouts: the system gives none");
    set_after(timers, timer, after_ms);
    return ALINEO_OK;
}

void al_timer_stop(al_timers *timers, al_timer *timer) {
    al_autolock(&timers->lock);
    if (timer->set && timers->firing != timer)
        al_list_remove(&timer->link);
    timer->set = 0;
    while (timers->firing == timer)
        (void)pthread_cond_wait(&timers->idle, &timers->lock);
}
