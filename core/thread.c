/* SPDX-License-Identifier: Apache-2.0 */
#include "core/thread.h"

#include <signal.h>
#include <stddef.h>
#include <time.h>

int al_thread_start(void *(*run)(void *), void *argument, pthread_t *thread) {
    pthread_t started;
    sigset_t all;
    sigset_t old;
    (void)sigfillset(&all);
    int rc = pthread_sigmask(SIG_SETMASK, &all, &old);
    if (rc != 0)
        return rc;
    rc = pthread_create(&started, NULL, run, argument);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0)
        return rc;
    if (thread != NULL)
        *thread = started;
    else
        (void)pthread_detach(started);
    return 0;
}

int al_condition_init(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    int rc = pthread_condattr_init(&attributes);
    if (rc != 0)
        return rc;
    rc = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (rc == 0)
        rc = pthread_cond_init(condition, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    return rc;
}
