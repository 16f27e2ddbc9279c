/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_THREAD_H
#define ALINEO_CORE_THREAD_H

#include <pthread.h>

/** Starts a thread with all signals blocked, so that the host program's handlers never run on it.
 * `thread` NULL: detached. Gives 0 or an errno value. */
int al_thread_start(void *(*run)(void *), void *argument, pthread_t *thread);

/** A condition variable whose timed waits go by the monotonic clock. 0 or an errno value. */
int al_condition_init(pthread_cond_t *condition);

#endif
