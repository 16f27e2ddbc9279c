/* SPDX-License-Identifier: Apache-2.0 */
#include "core/exec_private.h"

#include "core/util/io.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
    EVENTS_MAX = 8 /* one for each AL_READY_* */
};

static alineo_code cannot(const char *what, int error, alineo_error **err) {
    return al_fail(err, error == ENOMEM ? ALINEO_NO_MEMORY : ALINEO_IO,
                   error == EMFILE || error == ENFILE ? "raise the limit of open files" : NULL,
                   "exec: %s: %s", what, strerror(error));
}

alineo_code al_exec_events_init(alineo_exec *exec, alineo_error **err) {
    exec->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (exec->epoll_fd < 0)
        return cannot("make an epoll set", errno, err);
    int rc = al_event_new(&exec->wake_fd);
    if (rc != 0)
        return cannot("make an eventfd", rc, err);
    exec->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (exec->timer_fd < 0)
        return cannot("make a timer", errno, err);
    rc = al_exec_arm(exec, exec->wake_fd, AL_READY_WAKE);
    if (rc == 0)
        rc = al_exec_arm(exec, exec->timer_fd, AL_READY_TICK);
    return rc == 0 ? ALINEO_OK : cannot("watch a descriptor", rc, err);
}

int al_exec_arm(alineo_exec *exec, int fd, unsigned bit) {
    struct epoll_event event = {.events = bit == AL_READY_STDIN ? EPOLLOUT : EPOLLIN,
                                .data = {.u32 = bit}};
    if (epoll_ctl(exec->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0 && errno != EEXIST)
        return errno;
    return 0;
}

/* Taken out and not merely silenced: a hang-up would be told all the same. */
void al_exec_disarm(alineo_exec *exec, int fd) {
    if (fd >= 0)
        (void)epoll_ctl(exec->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

unsigned al_exec_events_wait(alineo_exec *exec, int timeout_ms) {
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(exec->epoll_fd, events, EVENTS_MAX, timeout_ms);
    unsigned ready = 0;
    for (int i = 0; i < count; i++)
        ready |= events[i].data.u32;
    if (ready & AL_READY_WAKE)
        al_event_drain(exec->wake_fd);
    if (ready & AL_READY_TICK) {
        uint64_t expirations;
        ssize_t n = read(exec->timer_fd, &expirations, sizeof(expirations));
        (void)n; /* EAGAIN: it was set anew meanwhile */
    }
    return ready;
}

static void set_ticks(alineo_exec *exec, bool on) {
    struct itimerspec every = {{0}, {0}};
    if (on)
        every.it_value.tv_nsec = every.it_interval.tv_nsec = AL_EXEC_TICK_MS * 1000000L;
    (void)timerfd_settime(exec->timer_fd, 0, &every, NULL);
}

void al_exec_tick(alineo_exec *exec, bool on) {
    al_autolock(&exec->lock);
    bool is_ending = exec->link != NULL && (exec->lost_ns != 0 || exec->closing_ns != 0);
    set_ticks(exec, on || is_ending);
}

void al_exec_tick_to_the_end(alineo_exec *exec) {
    al_autolock(&exec->lock);
    if (exec->link != NULL)
        set_ticks(exec, true);
}
