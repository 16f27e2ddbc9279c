/* SPDX-License-Identifier: Apache-2.0 */
#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static int wait_for(int fd, short events) {
    return al_poll_fd(fd, events, AL_DEADLINE_NONE, NULL);
}

static bool is_not_ready(int rc) {
    return rc == EAGAIN || rc == EWOULDBLOCK;
}

int al_read_some(int fd, void *data, size_t size, size_t *read_size) {
    ssize_t got;
    do {
        got = read(fd, data, size);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return errno;
    *read_size = (size_t)got;
    return 0;
}

int al_read_full(int fd, void *data, size_t size, size_t *read_size) {
    char *at = data;
    int rc = 0;
    *read_size = 0;
    while (*read_size < size) {
        size_t got = 0;
        rc = al_read_some(fd, at + *read_size, size - *read_size, &got);
        if (is_not_ready(rc))
            rc = wait_for(fd, POLLIN);
        else if (got == 0)
            break;
        if (rc != 0)
            break;
        *read_size += got;
    }
    return rc;
}

static sigset_t only_sigpipe(void) {
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGPIPE);
    return set;
}

void al_sigpipe_block(al_sigpipe *state) {
    sigset_t set = only_sigpipe();
    /* Neither call can fail with arguments like these. */
    (void)pthread_sigmask(SIG_BLOCK, &set, &state->old_mask);
    state->was_blocked = sigismember(&state->old_mask, SIGPIPE) == 1;
    state->was_pending = false;
    if (state->was_blocked) {
        /* Only a signal that is blocked can be pending, so this is rarely asked. */
        sigset_t pending;
        (void)sigpending(&pending);
        state->was_pending = sigismember(&pending, SIGPIPE) == 1;
    }
}

/* Takes away the SIGPIPE that was raised since al_sigpipe_block, if one was. */
static void take_sigpipe(const al_sigpipe *state) {
    if (state->was_pending)
        return;
    sigset_t set = only_sigpipe();
    const struct timespec at_once = {0, 0};
    while (sigtimedwait(&set, NULL, &at_once) < 0 && errno == EINTR)
        ;
}

void al_sigpipe_restore(const al_sigpipe *state) {
    take_sigpipe(state);
    if (!state->was_blocked)
        (void)pthread_sigmask(SIG_SETMASK, &state->old_mask, NULL);
}

static int write_once(int fd, const void *data, size_t size, size_t *written) {
    ssize_t put;
    do {
        put = write(fd, data, size);
    } while (put < 0 && errno == EINTR);
    if (put < 0)
        return errno;
    *written = (size_t)put;
    return 0;
}

/* As al_sigpipe_restore, but only a write that failed so can have raised the signal. */
static void end_write(const al_sigpipe *state, int rc) {
    if (rc == EPIPE)
        take_sigpipe(state);
    if (!state->was_blocked)
        (void)pthread_sigmask(SIG_SETMASK, &state->old_mask, NULL);
}

int al_write_some(int fd, const void *data, size_t size, size_t *written) {
    al_sigpipe sigpipe;
    al_sigpipe_block(&sigpipe);
    int rc = write_once(fd, data, size, written);
    end_write(&sigpipe, rc);
    return rc;
}

int al_write_full(int fd, const void *data, size_t size) {
    const char *at = data;
    int rc = 0;
    al_sigpipe sigpipe;
    al_sigpipe_block(&sigpipe);
    while (rc == 0 && size > 0) {
        size_t written = 0;
        rc = write_once(fd, at, size, &written);
        if (is_not_ready(rc))
            rc = wait_for(fd, POLLOUT);
        at += written;
        size -= written;
    }
    end_write(&sigpipe, rc);
    return rc;
}

int al_fd_set_nonblock(int fd, bool on) {
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0)
        return errno;
    int wanted = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
    return wanted == flags || fcntl(fd, F_SETFL, wanted) == 0 ? 0 : errno;
}

int al_fd_set_cloexec(int fd, bool on) {
    return fcntl(fd, F_SETFD, on ? FD_CLOEXEC : 0) == 0 ? 0 : errno;
}

int al_fd_dup(int fd, int *copy) {
    int new_fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (new_fd < 0)
        return errno;
    *copy = new_fd;
    return 0;
}

int al_poll_fd(int fd, short events, al_deadline deadline, short *revents) {
    struct pollfd entry = {.fd = fd, .events = events};
    while (true) {
        int timeout_ms = al_deadline_poll_ms(deadline);
        int ready = poll(&entry, 1, timeout_ms);
        if (ready > 0)
            break;
        if (ready < 0 && errno != EINTR)
            return errno;
        if (ready == 0 && al_deadline_passed(deadline))
            return ETIMEDOUT;
    }
    if ((entry.revents & POLLNVAL) != 0)
        return EBADF;
    if (revents != NULL)
        *revents = entry.revents;
    return 0;
}

int al_event_new(int *fd) {
    int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event < 0)
        return errno;
    *fd = event;
    return 0;
}

/* A full counter answers EAGAIN: it is readable, which is all that is asked. */
void al_event_signal(int fd) {
    const uint64_t one = 1;
    int saved_errno = errno;
    while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
    errno = saved_errno;
}

void al_event_drain(int fd) {
    uint64_t count;
    int saved_errno = errno;
    while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR)
        ;
    errno = saved_errno;
}

int al_pipe(int *read_fd, int *write_fd) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    *read_fd = ends[0];
    *write_fd = ends[1];
    return 0;
}
