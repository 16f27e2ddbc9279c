/* SPDX-License-Identifier: Apache-2.0 */
/* A connection to a port inside: two sockets, one of the host's network and one of the sandbox's,
 * and the bytes that go between them. Each direction ends by itself, so a client may close its half
 * and still read the answer. What one side does not take is kept, up to one piece, and no more is
 * read from the other. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/util/io.h"
#include "plugins/providers/local/helper/supervise.h"

enum {
    PIECE_SIZE = 64 * 1024,
    PIECES_AT_ONCE = 4 /* then the others have their turn */
};

/* Bytes of one direction. */
struct local_half {
    char *pending; /* what was read and not yet taken; NULL = nothing */
    size_t pending_size;
    size_t offset;
    bool is_at_end; /* nothing more comes */
    bool is_shut;   /* and that was passed on */
};

struct local_relay {
    al_list link;
    struct local_supervisor *supervisor;
    struct local_watch outside;
    struct local_watch inside;
    struct local_half in; /* from outside to inside */
    struct local_half out;
    uint16_t port;
    bool is_connected;
    bool has_tried_v6;
};

static void outside_ready(struct local_watch *watch, uint32_t events);
static void inside_ready(struct local_watch *watch, uint32_t events);

static void relay_end(struct local_relay *relay) {
    struct local_supervisor *supervisor = relay->supervisor;
    local_watch_end(&relay->outside);
    local_watch_end(&relay->inside);
    free(relay->in.pending);
    free(relay->out.pending);
    al_list_remove(&relay->link);
    free(relay);
    supervisor->relay_count--;
    local_ports_go_on(supervisor);
}

/* Whoever is on the other side of FD hears that it went wrong, not that all is said. */
static void reset(int fd) {
    struct linger at_once = {1, 0};
    if (fd >= 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

static void relay_break(struct local_relay *relay) {
    reset(relay->outside.fd);
    reset(relay->inside.fd);
    relay_end(relay);
}

/* --- waiting -----------------------------------------------------------------------------------*/

/* A socket that is waited for nothing leaves the set: it would tell of a hang-up all the time. */
static int want(struct local_relay *relay, struct local_watch *watch, uint32_t events,
                void (*ready)(struct local_watch *, uint32_t)) {
    if (events != 0 && watch->epoll_fd >= 0) {
        local_watch_change(watch, events);
    } else if (events != 0) {
        int fd = al_steal_fd(&watch->fd);
        return local_watch_begin(watch, relay->supervisor->epoll_fd, fd, events, ready);
    } else if (watch->epoll_fd >= 0) {
        watch->fd = local_watch_release(watch);
    }
    return 0;
}

static uint32_t interest(const struct local_half *from, const struct local_half *to) {
    uint32_t events = from->pending == NULL && !from->is_at_end ? EPOLLIN : 0;
    return to->pending != NULL ? events | EPOLLOUT : events;
}

static int wait_on(struct local_relay *relay) {
    if (!relay->is_connected) {
        int rc = want(relay, &relay->outside, 0, outside_ready);
        return rc == 0 ? want(relay, &relay->inside, EPOLLOUT, inside_ready) : rc;
    }
    int rc = want(relay, &relay->outside, interest(&relay->in, &relay->out), outside_ready);
    if (rc == 0)
        rc = want(relay, &relay->inside, interest(&relay->out, &relay->in), inside_ready);
    return rc;
}

/* --- carrying ----------------------------------------------------------------------------------*/

/* What is left of DATA goes as soon as it is taken. */
static int keep(struct local_half *half, const char *data, size_t size) {
    half->pending = malloc(size);
    if (half->pending == NULL)
        return ENOMEM;
    memcpy(half->pending, data, size);
    half->pending_size = size;
    half->offset = 0;
    return 0;
}

static int send_some(int fd, const char *data, size_t size, size_t *sent) {
    ssize_t n = send(fd, data, size, MSG_NOSIGNAL);
    *sent = n > 0 ? (size_t)n : 0;
    return n >= 0 || errno == EAGAIN || errno == EINTR ? 0 : errno;
}

/* False: it still waits for the other side. */
static int flush(struct local_half *half, int to, bool *is_empty) {
    size_t sent = 0;
    int rc = 0;
    if (half->pending != NULL)
        rc = send_some(to, half->pending + half->offset, half->pending_size - half->offset, &sent);
    half->offset += sent;
    *is_empty = half->pending == NULL || half->offset == half->pending_size;
    if (*is_empty) {
        free(half->pending);
        half->pending = NULL;
    }
    return rc;
}

/* Moves one piece. *IS_MORE: there may be another. */
static int move_piece(struct local_half *half, int from, int to, bool *is_more) {
    static char piece[PIECE_SIZE];
    size_t size;
    *is_more = false;
    int rc = al_read_some(from, piece, sizeof(piece), &size);
    if (rc != 0)
        return rc == EAGAIN ? 0 : rc;
    if (size == 0) {
        half->is_at_end = true;
        return 0;
    }
    size_t sent = 0;
    rc = send_some(to, piece, size, &sent);
    if (rc == 0 && sent < size)
        return keep(half, piece + sent, size - sent);
    *is_more = rc == 0;
    return rc;
}

static int carry(struct local_half *half, int from, int to) {
    bool is_empty;
    int rc = flush(half, to, &is_empty);
    bool is_more = is_empty && !half->is_at_end;
    for (int i = 0; rc == 0 && is_more && i < PIECES_AT_ONCE; i++)
        rc = move_piece(half, from, to, &is_more);
    if (rc == 0 && half->is_at_end && half->pending == NULL && !half->is_shut) {
        half->is_shut = true;
        /* The other side may be gone altogether. */
        if (shutdown(to, SHUT_WR) != 0 && errno != ENOTCONN)
            rc = errno;
    }
    return rc;
}

static void carry_both(struct local_relay *relay) {
    int rc = carry(&relay->in, relay->outside.fd, relay->inside.fd);
    if (rc == 0)
        rc = carry(&relay->out, relay->inside.fd, relay->outside.fd);
    if (rc == 0 && relay->in.is_shut && relay->out.is_shut) {
        relay_end(relay);
        return;
    }
    if (rc == 0)
        rc = wait_on(relay);
    if (rc != 0)
        relay_break(relay);
}

/* --- connecting --------------------------------------------------------------------------------*/

/* The address on which a server inside can be reached, by its loopback. */
static int connect_inside(struct local_relay *relay, bool is_v6) {
    struct sockaddr_in v4 = {.sin_family = AF_INET,
                             .sin_port = htons(relay->port),
                             .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
                              .sin6_port = htons(relay->port),
                              .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const struct sockaddr *address = is_v6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4;
    socklen_t size = is_v6 ? sizeof(v6) : sizeof(v4);
    int fd = -1;
    int rc = local_box_socket(&relay->supervisor->box, is_v6 ? AF_INET6 : AF_INET, &fd);
    if (rc == ENOTRECOVERABLE)
        local_supervisor_end(relay->supervisor, true, "its supervisor lost the host's network");
    if (rc != 0)
        return rc;
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (connect(fd, address, size) != 0 && errno != EINPROGRESS) {
        rc = errno;
        al_close(fd);
        return rc;
    }
    return local_watch_begin(&relay->inside, relay->supervisor->epoll_fd, fd, EPOLLOUT,
                             inside_ready);
}

static int connect_again(struct local_relay *relay) {
    relay->has_tried_v6 = true;
    local_watch_end(&relay->inside);
    return connect_inside(relay, true);
}

static void inside_ready(struct local_watch *watch, uint32_t events) {
    (void)events;
    struct local_relay *relay = AL_CONTAINER(watch, struct local_relay, inside);
    if (!relay->is_connected) {
        int error = 0;
        socklen_t size = sizeof(error);
        if (getsockopt(watch->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
            error = errno;
        if (error == ECONNREFUSED && !relay->has_tried_v6) {
            if (connect_again(relay) != 0)
                relay_break(relay);
            return;
        }
        if (error != 0) {
            relay_break(relay);
            return;
        }
        relay->is_connected = true;
    }
    carry_both(relay);
}

static void outside_ready(struct local_watch *watch, uint32_t events) {
    (void)events;
    carry_both(AL_CONTAINER(watch, struct local_relay, outside));
}

void local_relay_begin(struct local_supervisor *supervisor, int fd, uint16_t port) {
    static const struct local_watch none = LOCAL_WATCH_NONE;
    struct local_relay *relay = calloc(1, sizeof(*relay));
    if (relay == NULL) {
        al_close(fd);
        return;
    }
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    relay->supervisor = supervisor;
    relay->port = port;
    relay->outside = relay->inside = none;
    relay->outside.fd = fd;
    al_list_append(&supervisor->relays, &relay->link);
    supervisor->relay_count++;
    int rc = connect_inside(relay, false);
    if (rc == ECONNREFUSED)
        rc = connect_again(relay);
    if (rc != 0)
        relay_break(relay);
}

void local_relays_end(struct local_supervisor *supervisor) {
    while (!al_list_empty(&supervisor->relays))
        relay_break(AL_CONTAINER(supervisor->relays.next, struct local_relay, link));
}
