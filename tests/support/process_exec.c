/* SPDX-License-Identifier: Apache-2.0 */
#include "support/process_provider_private.h"

#include <assert.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/io.h"
#include "core/util/proc.h"
#include "core/util/str.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

process_exec *process_exec_new(process_provider *provider, const char *id, const char *exec_id) {
    process_exec *exec = calloc(1, sizeof(*exec));
    if (exec == NULL)
        return NULL;
    exec->provider = provider;
    assert(al_str_copy(exec->sandbox_id, sizeof(exec->sandbox_id), id));
    assert(al_str_copy(exec->exec_id, sizeof(exec->exec_id), exec_id));
    exec->status = (alineo_exec_status)ALINEO_EXEC_STATUS_INIT;
    exec->pidfd = exec->stdin_fd = exec->stdout_fd = exec->stderr_fd = -1;
    al_list_init(&exec->link);
    assert(pthread_mutex_init(&exec->lock, NULL) == 0);
    assert(al_event_new(&exec->end_fd) == 0);
    return exec;
}

void process_exec_drop(process_exec *exec) {
    if (exec->has_waiter)
        (void)pthread_join(exec->waiter, NULL);
    al_close(exec->pidfd);
    al_close(exec->end_fd);
    al_close(exec->stdin_fd);
    al_close(exec->stdout_fd);
    al_close(exec->stderr_fd);
    (void)pthread_mutex_destroy(&exec->lock);
    free(exec);
}

/* --- the outcome ------------------------------------------------------------------------------ */

static void note_end(process_exec *exec, const siginfo_t *info) {
    alineo_exec_status *status = &exec->status;
    exec->reaped = true;
    if (info->si_code == CLD_EXITED) {
        status->outcome = ALINEO_OUTCOME_EXITED;
        status->exit_code = info->si_status;
    } else if (info->si_status == SIGKILL && exec->timed_out) {
        status->outcome = ALINEO_OUTCOME_TIMED_OUT;
    } else if (info->si_status == SIGKILL && exec->cancelled) {
        status->outcome = ALINEO_OUTCOME_CANCELLED;
    } else {
        status->outcome = ALINEO_OUTCOME_SIGNALLED;
        status->signal = info->si_status;
        status->exit_code = 128 + info->si_status;
    }
}

bool process_exec_reap(process_exec *exec) {
    al_autolock(&exec->lock);
    siginfo_t info;
    memset(&info, 0, sizeof(info));
    if (!exec->reaped && exec->pidfd >= 0 &&
        waitid(P_PIDFD, (id_t)exec->pidfd, &info, WEXITED | WNOHANG) == 0 && info.si_pid != 0)
        note_end(exec, &info);
    return exec->reaped;
}

static void *wait_for_end(void *argument) {
    process_exec *exec = argument;
    siginfo_t info;
    memset(&info, 0, sizeof(info));
    /* Nobody else may have its number while somebody could still send it a signal. */
    while (waitid(P_PID, (id_t)exec->pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR)
        ;
    al_autolock(&exec->lock);
    (void)waitid(P_PID, (id_t)exec->pid, &info, WEXITED);
    note_end(exec, &info);
    al_event_signal(exec->end_fd);
    return NULL;
}

int process_exec_watch(process_exec *exec) {
    int rc = al_pidfd_open(exec->pid, &exec->pidfd);
    if (rc != ENOSYS)
        return rc;
    rc = pthread_create(&exec->waiter, NULL, wait_for_end, exec);
    exec->has_waiter = rc == 0;
    return rc;
}

int process_exec_end_fd(const process_exec *exec) {
    return exec->pidfd >= 0 ? exec->pidfd : exec->end_fd;
}

static bool has_outcome(process_exec *exec) {
    if (exec->provider->behaviour.never_tells)
        return false;
    bool reaped = process_exec_reap(exec);
    al_autolock(&exec->lock);
    return reaped || exec->lost;
}

alineo_code process_exec_wait(alineo_provider *self, alineo_provider_exec *handle,
                              int64_t timeout_ms, alineo_exec_status *status, alineo_error **err) {
    process_provider *provider = (process_provider *)self;
    process_exec *exec = (process_exec *)handle;
    al_deadline deadline = al_deadline_after_ms(timeout_ms);
    atomic_fetch_add(&provider->calls.waits, 1);
    while (!has_outcome(exec)) {
        if (al_deadline_passed(deadline))
            return provider->host->fail(provider->host, err, ALINEO_TIMEOUT, NULL, "it still runs");
        bool mute = provider->behaviour.never_tells || provider->behaviour.tells_early;
        struct pollfd fds[] = {{.fd = mute ? -1 : process_exec_end_fd(exec), .events = POLLIN},
                               {.fd = mute ? -1 : exec->end_fd, .events = POLLIN}};
        int slice = al_deadline_poll_ms(deadline);
        (void)poll(fds, 2, slice < 0 || slice > 50 ? 50 : slice);
    }
    al_autolock(&exec->lock);
    size_t size = status->size;
    *status = exec->status;
    status->size = size;
    if (exec->lost) {
        status->outcome = ALINEO_OUTCOME_LOST;
        status->exit_code = -1;
    }
    if (exec->detail[0] != '\0') {
        status->detail = provider->host->alloc(provider->host, sizeof(exec->detail));
        if (status->detail != NULL)
            memcpy(status->detail, exec->detail, sizeof(exec->detail));
    }
    return ALINEO_OK;
}

alineo_code process_exec_cancel(alineo_provider *self, alineo_provider_exec *handle,
                                alineo_error **err) {
    process_provider *provider = (process_provider *)self;
    process_exec *exec = (process_exec *)handle;
    atomic_fetch_add(&provider->calls.cancels, 1);
    if (provider->behaviour.cancel_failure != ALINEO_OK)
        return provider->host->fail(provider->host, err, provider->behaviour.cancel_failure, NULL,
                                    "told to fail the cancel");
    al_autolock(&exec->lock);
    if (exec->reaped || exec->pid == 0 || provider->behaviour.ignores_cancel)
        return ALINEO_OK;
    exec->cancelled = true;
    (void)kill(-exec->pid, SIGKILL);
    process_kill_marked("ALINEO_EXEC_ID", exec->exec_id);
    return ALINEO_OK;
}

alineo_code process_exec_signal(alineo_provider *self, alineo_provider_exec *handle, int32_t signal,
                                alineo_error **err) {
    process_provider *provider = (process_provider *)self;
    process_exec *exec = (process_exec *)handle;
    atomic_fetch_add(&provider->calls.signals, 1);
    al_autolock(&exec->lock);
    if (exec->reaped || kill(-exec->pid, signal) != 0)
        return provider->host->fail(provider->host, err, ALINEO_EXEC_NOT_FOUND, NULL,
                                    "the command has ended");
    return ALINEO_OK;
}

/* The keeper has it from now on, for what is left of it. */
void process_exec_free(alineo_provider *self, alineo_provider_exec *handle) {
    process_provider *provider = (process_provider *)self;
    process_exec *exec = (process_exec *)handle;
    atomic_fetch_add(&provider->calls.frees, 1);
    al_close(al_steal_fd(&exec->stdin_fd));
    {
        al_autolock(&provider->lock);
        al_list_remove(&exec->link);
        al_list_append(&provider->leftovers, &exec->link);
    }
    al_event_signal(provider->wake_fd);
}

/* --- without descriptors ---------------------------------------------------------------------- */

static alineo_code lose(process_exec *exec, alineo_error **err) {
    const alineo_host *host = exec->provider->host;
    {
        al_autolock(&exec->lock);
        exec->lost = true;
    }
    al_event_signal(exec->end_fd);
    return host->fail(host, err, ALINEO_EXEC_LOST, NULL, "told to lose the link");
}

/* What the command itself wrote is in the pipes now; what comes later is not its. */
static void note_left(process_exec *exec) {
    int fds[] = {exec->stdout_fd, exec->stderr_fd};
    for (size_t i = 0; i < 2 && !exec->end_noted; i++) {
        int size = 0;
        exec->left[i] = fds[i] >= 0 && ioctl(fds[i], FIONREAD, &size) == 0 ? size : 0;
    }
    exec->end_noted = true;
}

/* Reads from one of the two, if it has something; closes it at its end. */
static bool read_one(process_exec *exec, int which, void *buffer, size_t capacity, size_t *used) {
    int *fd = which == 0 ? &exec->stdout_fd : &exec->stderr_fd;
    if (exec->end_noted && (int64_t)capacity > exec->left[which])
        capacity = (size_t)exec->left[which];
    if (*fd < 0 || capacity == 0 || al_poll_fd(*fd, POLLIN, al_deadline_after_ms(0), NULL) != 0)
        return false;
    if (al_read_some(*fd, buffer, capacity, used) != 0 || *used == 0) {
        al_close(al_steal_fd(fd));
        return false;
    }
    if (exec->end_noted)
        exec->left[which] -= (int64_t)*used;
    return true;
}

static size_t capacity_of(const process_exec *exec, size_t capacity) {
    const process_behaviour *how = &exec->provider->behaviour;
    if (how->read_max != 0 && capacity > how->read_max)
        capacity = how->read_max;
    if (how->lose_after != 0 && capacity > (size_t)(how->lose_after - exec->given))
        capacity = (size_t)(how->lose_after - exec->given);
    return capacity;
}

alineo_code process_exec_read(alineo_provider *self, alineo_provider_exec *handle, void *buffer,
                              size_t capacity, alineo_stream *stream, size_t *used,
                              alineo_error **err) {
    process_provider *provider = (process_provider *)self;
    process_exec *exec = (process_exec *)handle;
    const process_behaviour *how = &provider->behaviour;
    if (how->read_delay_ms > 0)
        (void)usleep((useconds_t)how->read_delay_ms * 1000);
    if (how->lose_after != 0 && exec->given >= how->lose_after)
        return lose(exec, err);
    capacity = capacity_of(exec, capacity);
    for (;;) {
        bool has_ended = exec->pid == 0 || process_exec_reap(exec);
        if (has_ended)
            note_left(exec);
        if (read_one(exec, 0, buffer, capacity, used)) {
            *stream = ALINEO_STREAM_STDOUT;
        } else if (read_one(exec, 1, buffer, capacity, used)) {
            *stream = ALINEO_STREAM_STDERR;
        } else if (has_ended || (exec->stdout_fd < 0 && exec->stderr_fd < 0)) {
            *used = 0;
            return ALINEO_OK;
        } else {
            struct pollfd fds[] = {{.fd = exec->stdout_fd, .events = POLLIN},
                                   {.fd = exec->stderr_fd, .events = POLLIN},
                                   {.fd = process_exec_end_fd(exec), .events = POLLIN}};
            (void)poll(fds, 3, -1);
            continue;
        }
        exec->given += (int64_t)*used;
        return ALINEO_OK;
    }
}

alineo_code process_exec_write(alineo_provider *self, alineo_provider_exec *handle,
                               const void *data, size_t data_size, size_t *used,
                               alineo_error **err) {
    process_provider *provider = (process_provider *)self;
    process_exec *exec = (process_exec *)handle;
    const alineo_host *host = provider->host;
    for (;;) {
        struct pollfd fds[] = {{.fd = exec->stdin_fd, .events = POLLOUT},
                               {.fd = process_exec_end_fd(exec), .events = POLLIN}};
        if (exec->stdin_fd < 0)
            return host->fail(host, err, ALINEO_IO, NULL, "stdin is closed");
        (void)poll(fds, 2, -1);
        if (fds[1].revents != 0)
            return host->fail(host, err, ALINEO_IO, NULL, "the command has ended");
        /* Little enough that a pipe which takes any of it takes all: this does not block. */
        int rc = al_write_some(exec->stdin_fd, data, data_size < 4096 ? data_size : 4096, used);
        if (rc == 0)
            return ALINEO_OK;
        if (rc != EAGAIN)
            return host->fail(host, err, ALINEO_IO, NULL, "write to stdin: %s", strerror(rc));
    }
}

alineo_code process_exec_close_stdin(alineo_provider *self, alineo_provider_exec *handle,
                                     alineo_error **err) {
    (void)self;
    (void)err;
    process_exec *exec = (process_exec *)handle;
    al_close(al_steal_fd(&exec->stdin_fd));
    return ALINEO_OK;
}
