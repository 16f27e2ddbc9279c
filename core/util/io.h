/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_IO_H
#define ALINEO_UTIL_IO_H

/* Reading, writing and waiting on descriptors. EINTR is handled in all of them. */

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "compiler.h"

/* Writes all bytes, waiting as long as it takes, on non-blocking descriptors too. On failure some
 * may have been written. Never raises SIGPIPE: a reader that went away is EPIPE. */
AL_MUST_CHECK int al_write_full(int fd, const void *data, size_t size);

/* Reads until SIZE bytes are there or the end comes; *READ_SIZE says how many (less than SIZE only
 * at the end), also on failure. Waits as long as it takes, on non-blocking descriptors too. */
AL_MUST_CHECK int al_read_full(int fd, void *data, size_t size, size_t *read_size);

/* One read(), *READ_SIZE 0 at the end of the stream. EAGAIN on a non-blocking descriptor without
 * data. */
AL_MUST_CHECK int al_read_some(int fd, void *data, size_t size, size_t *read_size);

/* One write() that never raises SIGPIPE; *WRITTEN may be less than SIZE. EAGAIN, EPIPE as they
 * come. */
AL_MUST_CHECK int al_write_some(int fd, const void *data, size_t size, size_t *written);

/* Keeps SIGPIPE from this thread between block and restore, for calls that write by themselves; a
 * SIGPIPE raised meanwhile is taken away, one that was pending before stays pending. The state is
 * filled by block. */
typedef struct al_sigpipe {
    sigset_t old_mask;
    bool was_blocked;
    bool was_pending;
} al_sigpipe;
void al_sigpipe_block(al_sigpipe *state);
void al_sigpipe_restore(const al_sigpipe *state);

AL_MUST_CHECK int al_fd_set_nonblock(int fd, bool on);
AL_MUST_CHECK int al_fd_set_cloexec(int fd, bool on);

/* A copy with close-on-exec and a number of at least 3, so that it is never taken for a standard
 * stream. */
AL_MUST_CHECK int al_fd_dup(int fd, int *copy);

/* Waits until one of EVENTS (POLLIN, ...) holds, an error or a hang-up; *REVENTS (may be NULL) gets
 * what holds. ETIMEDOUT when the deadline passes first; a passed deadline still looks once. */
AL_MUST_CHECK int al_poll_fd(int fd, short events, al_deadline deadline, short *revents);

/* An eventfd (non-blocking): a counter that is readable while above 0. Signal makes it readable,
 * any number of times and from any thread or signal handler; drain makes it unreadable again. */
AL_MUST_CHECK int al_event_new(int *fd);
void al_event_signal(int fd);
void al_event_drain(int fd);

/* A pipe, both ends close-on-exec. */
AL_MUST_CHECK int al_pipe(int *read_fd, int *write_fd);

#endif
