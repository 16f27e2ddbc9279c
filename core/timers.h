/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_TIMERS_H
#define ALINEO_CORE_TIMERS_H

/**
 * The timers of a client: functions called later on one thread of their own, so that a timeout
 * works also when nobody consumes an exec. The thread starts with the first timer. Any thread may
 * call these functions.
 */

#include <alineo/error.h>

#include "core/util/list.h"

#include <stdint.h>

typedef struct al_timers al_timers;

/** A timer is part of what it belongs to; all-zero is one that is not set. */
typedef struct al_timer {
    al_list link;
    int64_t at_ns;
    /* Called on the thread of the timers, which is set again by a return value above 0: so many
     * milliseconds later. May block, though other timers wait then. Must not stop itself. */
    int64_t (*fire)(struct al_timer *timer);
    int set;
} al_timer;

alineo_code al_timers_new(al_timers **out, alineo_error **err);

/** No timer may be set any more. Takes NULL. */
void al_timers_free(al_timers *timers);

/** In a forked child: frees the memory, takes no lock. Takes NULL. */
void al_timers_forget(al_timers *timers);

/** Sets `timer` (which is not set) to fire after after_ms. */
alineo_code al_timer_start(al_timers *timers, al_timer *timer, int64_t after_ms,
                           alineo_error **err);

/** When it returns, `timer` does not fire any more and its function does not run; waits for that. A
 * timer that is not set is fine. */
void al_timer_stop(al_timers *timers, al_timer *timer);

#endif
