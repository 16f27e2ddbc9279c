/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/interrupt.h"

#include "core/util/cleanup.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static alineo_exec *watched; /* guarded by lock */
static alineo_call *watched_call;
static atomic_int came;

static sigset_t signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    return set;
}

static void *wait_for_signals(void *unused) {
    (void)unused;
    sigset_t set = signals();
    for (;;) {
        int signal = 0;
        if (sigwait(&set, &signal) != 0)
            continue;
        if (atomic_load(&came) != 0)
            _exit(128 + signal);
        atomic_store(&came, signal);
        alineo_call_cancel(watched_call);
        pthread_mutex_lock(&lock);
        if (watched != NULL)
            (void)alineo_exec_cancel(watched, NULL);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int cli_interrupt_start(alineo_call *call) {
    sigset_t set = signals();
    int rc = pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (rc != 0)
        return rc;
    watched_call = call;
    pthread_t thread;
    rc = pthread_create(&thread, NULL, wait_for_signals, NULL);
    return rc != 0 ? rc : pthread_detach(thread);
}

void cli_interrupt_watch(alineo_exec *exec) {
    pthread_mutex_lock(&lock);
    watched = exec;
    bool late = exec != NULL && atomic_load(&came) != 0;
    pthread_mutex_unlock(&lock);
    if (late)
        (void)alineo_exec_cancel(exec, NULL);
}

int cli_interrupted(void) {
    return atomic_load(&came);
}
