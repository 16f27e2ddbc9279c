/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/interrupt.h"

#include "cli/terminal.h"

#include "core/util/cleanup.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/signalfd.h>
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
    sigaddset(&set, SIGWINCH);
    sigaddset(&set, SIGCONT);
    return set;
}

static void cancel_all(int reason) {
    atomic_store(&came, reason);
    alineo_call_cancel(watched_call);
    pthread_mutex_lock(&lock);
    if (watched != NULL)
        (void)alineo_exec_cancel(watched, NULL);
    pthread_mutex_unlock(&lock);
}

/* Our terminal has another size, or we were stopped and its modes are somebody else's. */
static void follow_terminal(void) {
    uint16_t rows = 0, columns = 0;
    cli_terminal_again();
    cli_terminal_size(&rows, &columns);
    pthread_mutex_lock(&lock);
    /* A command without a terminal, or one that ended, refuses it, which is all the same here. */
    if (watched != NULL && rows > 0 && columns > 0)
        (void)alineo_exec_resize(watched, rows, columns, NULL);
    pthread_mutex_unlock(&lock);
}

static void take_signal(int signal) {
    if (signal == SIGWINCH || signal == SIGCONT) {
        follow_terminal();
        return;
    }
    if (atomic_load(&came) != 0) {
        cli_terminal_end();
        _exit(128 + signal);
    }
    cancel_all(signal);
}

/* Whoever reads our output may go away before the command prints again: then nobody wants it to run
 * on. */
static void *wait_for_signals(void *argument) {
    struct pollfd waits[2] = {{(int)(intptr_t)argument, POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
    for (;;) {
        struct signalfd_siginfo signal;
        if (poll(waits, 2, -1) <= 0)
            continue;
        if (waits[0].revents != 0 &&
            read(waits[0].fd, &signal, sizeof(signal)) == (ssize_t)sizeof(signal))
            take_signal((int)signal.ssi_signo);
        if (waits[1].revents != 0) {
            waits[1].fd = -1;
            if (atomic_load(&came) == 0)
                cancel_all(SIGPIPE);
        }
    }
    return NULL;
}

int cli_interrupt_start(alineo_call *call) {
    sigset_t set = signals();
    int rc = pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (rc != 0)
        return rc;
    watched_call = call;
    int fd = signalfd(-1, &set, SFD_CLOEXEC);
    if (fd < 0)
        return errno;
    pthread_t thread;
    rc = pthread_create(&thread, NULL, wait_for_signals, (void *)(intptr_t)fd);
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
