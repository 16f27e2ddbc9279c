/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_CALL_PRIVATE_H
#define ALINEO_CORE_CALL_PRIVATE_H

/** What the core does with a caller's call object. `call` may be NULL everywhere: it is then never
 * cancelled and has no deadline. */

#include <alineo/call.h>

/** ALINEO_OK while the work may go on; else CANCELLED or TIMEOUT saying what was being done. */
alineo_code al_call_check(const alineo_call *call, const char *doing, alineo_error **err);

/** Reports progress to whoever asked for it; any thread. */
void al_call_progress(const alineo_call *call, const char *stage, uint64_t done, uint64_t total,
                      const char *text);

/**
 * Waits until `fd` (an eventfd, or -1 = none) is readable, the call is cancelled or its deadline
 * passes, or timeout_ms (ALINEO_FOREVER = none) is over. Gives 0 when fd is readable, ECANCELED,
 * ETIME (the call's deadline) or ETIMEDOUT (timeout_ms).
 */
int al_call_wait_fd(const alineo_call *call, int fd, int64_t timeout_ms);

#endif
