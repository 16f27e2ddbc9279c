/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_WATCH_H
#define ALINEO_LOCAL_WATCH_H

/* Descriptors that the supervisor waits for. A watch is a member of what it belongs to and owns its
 * descriptor. Events are handled one at a time, so a handler may close and free any watch. */

#include <stdint.h>
#include <sys/epoll.h>

#include "core/util/compiler.h"

struct local_watch {
    int fd;       /* -1 = none */
    int epoll_fd; /* -1 = not waited for */
    void (*ready)(struct local_watch *watch, uint32_t events);
};

#define LOCAL_WATCH_NONE                                                                           \
    { -1, -1, NULL }

/* Takes FD and waits for EVENTS (EPOLLIN, ...; 0 = only its end). On failure FD is closed. */
AL_MUST_CHECK int local_watch_begin(struct local_watch *watch, int epoll_fd, int fd,
                                    uint32_t events,
                                    void (*ready)(struct local_watch *watch, uint32_t events));

/* Waits for other events. */
void local_watch_change(struct local_watch *watch, uint32_t events);

/* Stops waiting and hands over the descriptor, -1 if there is none. */
int local_watch_release(struct local_watch *watch);

/* Stops waiting and closes the descriptor, if there is one. */
void local_watch_end(struct local_watch *watch);

/* Waits for the next event, without a limit of time, and handles it. */
AL_MUST_CHECK int local_watch_next(int epoll_fd);

#endif
