/* SPDX-License-Identifier: Apache-2.0 */
#include "clock.h"

#include <limits.h>
#include <stdlib.h>
#include <time.h>

enum {
    NS_PER_MS = 1000000
};
static const int64_t ns_per_s = 1000000000;

/* Fails only for a clock the kernel does not know; all of these are older than any kernel we run
 * on. */
static int64_t read_clock(clockid_t id) {
    struct timespec now;
    if (clock_gettime(id, &now) != 0)
        abort();
    return (int64_t)now.tv_sec * ns_per_s + now.tv_nsec;
}

int64_t al_clock_monotonic_ns(void) {
    return read_clock(CLOCK_MONOTONIC);
}

int64_t al_clock_monotonic_ms(void) {
    return al_clock_monotonic_ns() / NS_PER_MS;
}

int64_t al_clock_boottime_ns(void) {
    return read_clock(CLOCK_BOOTTIME);
}

int64_t al_clock_boottime_ms(void) {
    return al_clock_boottime_ns() / NS_PER_MS;
}

int64_t al_clock_realtime_ns(void) {
    return read_clock(CLOCK_REALTIME);
}

int64_t al_clock_realtime_ms(void) {
    return al_clock_realtime_ns() / NS_PER_MS;
}

al_deadline al_deadline_after_ms(int64_t timeout_ms) {
    int64_t at_ns;
    if (timeout_ms < 0 || __builtin_mul_overflow(timeout_ms, NS_PER_MS, &at_ns) ||
        __builtin_add_overflow(at_ns, al_clock_monotonic_ns(), &at_ns))
        return AL_DEADLINE_NONE;
    return (al_deadline){at_ns};
}

bool al_deadline_is_none(al_deadline deadline) {
    return deadline.at_ns == INT64_MAX;
}

bool al_deadline_passed(al_deadline deadline) {
    return !al_deadline_is_none(deadline) && al_clock_monotonic_ns() >= deadline.at_ns;
}

int64_t al_deadline_left_ms(al_deadline deadline) {
    if (al_deadline_is_none(deadline))
        return -1;
    int64_t left_ns = deadline.at_ns - al_clock_monotonic_ns();
    return left_ns <= 0 ? 0 : left_ns / NS_PER_MS + (left_ns % NS_PER_MS != 0);
}

int al_deadline_poll_ms(al_deadline deadline) {
    int64_t left_ms = al_deadline_left_ms(deadline);
    return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

al_deadline al_deadline_earlier(al_deadline a, al_deadline b) {
    return a.at_ns <= b.at_ns ? a : b;
}
