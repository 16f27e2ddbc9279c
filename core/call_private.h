/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_CALL_PRIVATE_H
#define ALINEO_CORE_CALL_PRIVATE_H

/** What the core does with a caller's call object. `call` may be NULL everywhere: it is then never
 * cancelled and has no deadline. */

#include <alineo/call.h>

#include "core/util/cleanup.h"
#include "core/util/clock.h"

/** al_auto(alineo_call_free) drops a call at the end of the scope. */
AL_CLEANUP(alineo_call *, alineo_call_free);

/** ALINEO_OK while the work may go on; else CANCELLED or TIMEOUT saying what was being done. */
alineo_code al_call_check(const alineo_call *call, const char *doing, alineo_error **err);

/** Reports progress to whoever asked for it; any thread. */
void al_call_progress(const alineo_call *call, const char *stage, uint64_t done, uint64_t total,
                      const char *text);

/** The deadline on the monotonic clock. */
al_deadline al_call_deadline(const alineo_call *call);

/**
 * Waits until `fd` (an eventfd, or -1 = none) is readable, the call is cancelled or its deadline
 * passes, or timeout_ms (ALINEO_FOREVER = none) is over. Gives 0 when fd is readable, ECANCELED,
 * ETIME (the call's deadline) or ETIMEDOUT (timeout_ms). Cancelling goes before what is readable,
 * that before a deadline.
 */
int al_call_wait_fd(const alineo_call *call, int fd, int64_t timeout_ms);

/**
 * A call for a part of what `parent` (may be NULL) is for: it ends with the parent, and after
 * timeout_ms. Progress goes to the parent's function. Cancelling it cancels the parent. Free it
 * before the parent.
 */
alineo_code al_call_derive(alineo_call *parent, int64_t timeout_ms, alineo_call **out,
                           alineo_error **err);

#endif
