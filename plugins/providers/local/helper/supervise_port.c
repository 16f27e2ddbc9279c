/* SPDX-License-Identifier: Apache-2.0 */
/* Ports of the sandbox, as seen from the host: for each a port of 127.0.0.1 that is listened on for
 * as long as the sandbox lives. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plugins/providers/local/helper/supervise.h"

enum {
    PORTS_MAX = 256,
    BACKLOG = 256
};

/* A port inside and the one on the host that leads there. */
struct local_port {
    al_list link;
    struct local_supervisor *supervisor;
    struct local_watch listener;
    uint16_t inside;
    uint16_t outside;
};

static void listener_ready(struct local_watch *watch, uint32_t events) {
    (void)events;
    struct local_port *port = AL_CONTAINER(watch, struct local_port, listener);
    struct local_supervisor *supervisor = port->supervisor;
    bool is_full = supervisor->relay_count >= LOCAL_RELAYS_MAX;
    int fd = is_full ? -1 : accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        local_relay_begin(supervisor, fd, port->inside);
    } else if (supervisor->relay_count > 0 && (is_full || errno == EMFILE || errno == ENFILE)) {
        /* Whoever comes now waits in the kernel until one of the others goes. */
        supervisor->are_ports_held = true;
        local_watch_change(watch, 0);
    }
}

void local_ports_go_on(struct local_supervisor *supervisor) {
    if (!supervisor->are_ports_held)
        return;
    supervisor->are_ports_held = false;
    AL_LIST_FOREACH(link, &supervisor->ports) {
        local_watch_change(&AL_CONTAINER(link, struct local_port, link)->listener, EPOLLIN);
    }
}

static int listen_on_loopback(int *out, uint16_t *number) {
    al_autofd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        return errno;
    *number = ntohs(address.sin_port);
    *out = al_steal_fd(&fd);
    return 0;
}

/* The port that leads to NUMBER inside, made if there is none. */
static int port_find(struct local_supervisor *supervisor, uint16_t number,
                     struct local_port **out) {
    size_t count = 0;
    AL_LIST_FOREACH(link, &supervisor->ports) {
        *out = AL_CONTAINER(link, struct local_port, link);
        if ((*out)->inside == number)
            return 0;
        count++;
    }
    if (count == PORTS_MAX)
        return ENOSPC;
    struct local_port *port = calloc(1, sizeof(*port));
    if (port == NULL)
        return ENOMEM;
    port->supervisor = supervisor;
    port->inside = number;
    int fd = -1;
    int rc = listen_on_loopback(&fd, &port->outside);
    if (rc == 0)
        rc = local_watch_begin(&port->listener, supervisor->epoll_fd, fd, EPOLLIN, listener_ready);
    if (rc != 0) {
        free(port);
        return rc;
    }
    al_list_append(&supervisor->ports, &port->link);
    *out = port;
    return 0;
}

void local_port_request(struct local_client *client, const struct local_message *message) {
    struct local_supervisor *supervisor = client->supervisor;
    struct local_endpoint endpoint;
    if (local_message_decode(message, LOCAL_ENDPOINT, &endpoint) != 0 || endpoint.port == 0) {
        local_client_end(client);
        return;
    }
    /* A sandbox in the host's network listens on the host's ports. */
    if (supervisor->create.is_host_network == 0) {
        struct local_port *port;
        int rc = port_find(supervisor, (uint16_t)endpoint.port, &port);
        if (rc != 0) {
            local_client_answer(client, rc == ENOMEM ? ALINEO_NO_MEMORY : ALINEO_IO, NULL,
                                "listen for port %u of the sandbox %s: %s", (unsigned)endpoint.port,
                                supervisor->create.id,
                                rc == ENOSPC ? "it has too many endpoints" : strerror(rc));
            return;
        }
        endpoint.port = port->outside;
    }
    local_client_send(client, LOCAL_ENDPOINT, &endpoint, NULL, 0);
}

void local_ports_end(struct local_supervisor *supervisor) {
    al_list *link;
    while ((link = al_list_take_first(&supervisor->ports)) != NULL) {
        struct local_port *port = AL_CONTAINER(link, struct local_port, link);
        local_watch_end(&port->listener);
        free(port);
    }
    local_relays_end(supervisor);
}
