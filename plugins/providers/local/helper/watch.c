/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/helper/watch.h"

#include <errno.h>
#include <stdlib.h>

#include "core/util/cleanup.h"

int local_watch_begin(struct local_watch *watch, int epoll_fd, int fd, uint32_t events,
                      void (*ready)(struct local_watch *watch, uint32_t events)) {
    struct epoll_event event = {.events = events, .data.ptr = watch};
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
        int error = errno;
        al_close(fd);
        return error;
    }
    watch->fd = fd;
    watch->epoll_fd = epoll_fd;
    watch->ready = ready;
    return 0;
}

void local_watch_change(struct local_watch *watch, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = watch};
    /* Cannot fail for a descriptor that is in the set, and none else gets here. */
    if (watch->epoll_fd >= 0 && epoll_ctl(watch->epoll_fd, EPOLL_CTL_MOD, watch->fd, &event) != 0)
        abort();
}

int local_watch_release(struct local_watch *watch) {
    if (watch->epoll_fd >= 0)
        (void)epoll_ctl(watch->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
    watch->epoll_fd = -1;
    return al_steal_fd(&watch->fd);
}

void local_watch_end(struct local_watch *watch) {
    /* A copy of the descriptor elsewhere would keep it in the set, so closing is not enough. */
    al_close(local_watch_release(watch));
}

int local_watch_next(int epoll_fd) {
    struct epoll_event event;
    int count = epoll_wait(epoll_fd, &event, 1, -1);
    if (count < 0)
        return errno == EINTR ? 0 : errno;
    if (count == 1) {
        struct local_watch *watch = event.data.ptr;
        watch->ready(watch, event.events);
    }
    return 0;
}
