/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_CLOCK_H
#define ALINEO_UTIL_CLOCK_H

/* Clocks, deadlines, and points in time as text. */

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"

/* Monotonic: for measuring and waiting; stands still while the machine sleeps. Boottime: the same,
 * but runs on: for lifetimes. Realtime: since 1970 in UTC; may jump, so only for display and
 * storage. They cannot fail. */
int64_t al_clock_monotonic_ns(void);
int64_t al_clock_monotonic_ms(void);
int64_t al_clock_boottime_ns(void);
int64_t al_clock_boottime_ms(void);
int64_t al_clock_realtime_ns(void);
int64_t al_clock_realtime_ms(void);

/* A point on the monotonic clock by which something must be done. Copy it freely. */
typedef struct al_deadline {
    int64_t at_ns; /* INT64_MAX = none */
} al_deadline;

#define AL_DEADLINE_NONE ((al_deadline){INT64_MAX})

/* TIMEOUT_MS from now: 0 has passed at once (look, do not wait), negative is none; a time beyond
 * the clock's range is none, never a shorter one. */
al_deadline al_deadline_after_ms(int64_t timeout_ms);

bool al_deadline_is_none(al_deadline deadline);
bool al_deadline_passed(al_deadline deadline);

/* Time left, rounded up so that waiting that long is never too short: 0 when it has passed, -1 when
 * there is none. */
int64_t al_deadline_left_ms(al_deadline deadline);

/* The same for poll() and epoll_wait(): cut to INT_MAX, so loop until al_deadline_passed. */
int al_deadline_poll_ms(al_deadline deadline);

al_deadline al_deadline_earlier(al_deadline a, al_deadline b);

/* "2024-02-29T23:59:59.123Z". Years 0000 to 9999; times outside are cut to that range. */
enum {
    AL_TIME_TEXT_SIZE = 25
};
void al_time_format(int64_t realtime_ms, char out[AL_TIME_TEXT_SIZE]);

/* Reads the ISO 8601 form above (RFC 3339): 'T', 't' or a blank between, any number of fraction
 * digits or none (those beyond the millisecond are dropped), 'Z' or an offset like "+01:00", which
 * must be there. EINVAL for all else, 30 February and hour 24 included; second 60 counts as the
 * second after 59. */
AL_MUST_CHECK int al_time_parse(const char *text, int64_t *realtime_ms);

#endif
