/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of plugins. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/util/msg.h"
#include "plugins/providers/local/helper/keep.h"
#include "plugins/providers/local/helper/supervise.h"

enum {
    CLIENTS_MAX = 4096
};

static const al_deadline at_once = {0}; /* has passed: nothing here waits */

static void client_ready(struct local_watch *watch, uint32_t events);

int local_client_begin(struct local_supervisor *supervisor, int fd, struct local_client **out) {
    struct local_client *client = calloc(1, sizeof(*client));
    if (client == NULL) {
        al_close(fd);
        return ENOMEM;
    }
    int rc = local_watch_begin(&client->watch, supervisor->epoll_fd, fd, EPOLLIN, client_ready);
    if (rc != 0) {
        free(client);
        return rc;
    }
    client->supervisor = supervisor;
    client->serial = supervisor->next_serial++;
    al_list_append(&supervisor->clients, &client->link);
    *out = client;
    return 0;
}

void local_client_end(struct local_client *client) {
    struct local_supervisor *supervisor = client->supervisor;
    if (client->starting != NULL) {
        client->starting->client = NULL;
        client->starting->is_cancelled = true;
        local_run_kill(client->starting);
    }
    if (supervisor->creator == client) {
        /* Its end stays open until we are gone: the creator waits for that. */
        supervisor->creator = NULL;
        supervisor->given_up_fd = local_watch_release(&client->watch);
        local_supervisor_end(supervisor, false, "its creation was given up");
    }
    local_watch_end(&client->watch);
    al_list_remove(&client->link);
    free(client);
}

struct local_client *local_client_find(struct local_supervisor *supervisor, uint64_t serial) {
    AL_LIST_FOREACH(link, &supervisor->clients) {
        struct local_client *client = AL_CONTAINER(link, struct local_client, link);
        if (client->serial == serial)
            return client;
    }
    return NULL;
}

void local_client_hold(struct local_client *client) {
    local_watch_change(&client->watch, EPOLLRDHUP);
}

void local_client_send(struct local_client *client, uint32_t type, const void *message,
                       const int *fds, size_t count) {
    client->starting = NULL;
    client->awaits_pid1 = false;
    client->awaits_end = false;
    int rc = local_link_send(client->watch.fd, type, 0, message, fds, count, at_once);
    local_watch_change(&client->watch, EPOLLIN);
    /* Its end is then an event like any other. */
    if (rc != 0)
        (void)shutdown(client->watch.fd, SHUT_RDWR);
}

void local_client_answer(struct local_client *client, alineo_code code, const char *hint,
                         const char *format, ...) {
    char text[LOCAL_MESSAGE_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    struct local_answer answer = {code, text, hint};
    local_client_send(client, LOCAL_ANSWER, &answer, NULL, 0);
}

static void commit(struct local_client *client) {
    struct local_supervisor *supervisor = client->supervisor;
    if (supervisor->creator != client)
        return;
    supervisor->creator = NULL;
    supervisor->is_committed = true;
    if (supervisor->create.is_bound == 0)
        local_watch_end(&supervisor->owner);
}

static void destroy(struct local_client *client) {
    client->awaits_end = true;
    local_client_hold(client);
    local_supervisor_end(client->supervisor, false, "the sandbox was closed");
}

static void dispatch(struct local_client *client, struct local_message *message) {
    switch (message->type) {
    case LOCAL_COMMIT:
        commit(client);
        break;
    case LOCAL_EXEC:
        local_run_request(client, message);
        break;
    case LOCAL_SIGNAL:
        local_pid1_signal(client, message);
        break;
    case LOCAL_FILE:
        local_pid1_file(client, message);
        break;
    case LOCAL_BACKGROUND_LIST:
        local_keep_list(client, message);
        break;
    case LOCAL_ATTACH:
        local_keep_attach(client, message);
        break;
    case LOCAL_BACKGROUND_KILL:
        local_keep_kill(client, message);
        break;
    case LOCAL_METRICS:
        local_supervisor_measure(client);
        break;
    case LOCAL_ENDPOINT:
        local_port_request(client, message);
        break;
    case LOCAL_RENEW:
        local_supervisor_renew(client, message);
        break;
    case LOCAL_METADATA:
        local_supervisor_patch(client, message);
        break;
    case LOCAL_PAUSE:
        local_supervisor_pause(client);
        break;
    case LOCAL_UNPAUSE:
        local_supervisor_unpause(client);
        break;
    case LOCAL_DESTROY:
        destroy(client);
        break;
    default:
        local_client_end(client);
        break;
    }
}

static void client_ready(struct local_watch *watch, uint32_t events) {
    struct local_client *client = AL_CONTAINER(watch, struct local_client, watch);
    struct local_message *in = &client->supervisor->in;
    bool is_waiting = client->starting != NULL || client->awaits_pid1 || client->awaits_end;
    if (is_waiting || (events & EPOLLIN) == 0) {
        local_client_end(client);
        return;
    }
    /* Whoever is gone by now gave up what is to be begun; what is to be kept or ended is done. */
    bool is_gone = (events & EPOLLHUP) != 0;
    if (local_link_receive(watch->fd, &local_link_trusted, in, at_once) != 0 ||
        (is_gone && (in->type == LOCAL_EXEC || in->type == LOCAL_FILE)))
        local_client_end(client);
    else
        dispatch(client, in);
    local_message_clear(in);
}

/* The user that runs the sandbox, and root. */
static bool is_allowed(int fd) {
    al_peer peer;
    return al_msg_peer(fd, &peer) == 0 && (peer.uid == 0 || peer.uid == geteuid());
}

void local_listener_ready(struct local_watch *watch, uint32_t events) {
    (void)events;
    struct local_supervisor *supervisor = AL_CONTAINER(watch, struct local_supervisor, listener);
    al_autofd int fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0 || !is_allowed(fd))
        return;
    size_t count = 0;
    AL_LIST_FOREACH(link, &supervisor->clients) {
        count++;
    }
    if (count >= CLIENTS_MAX)
        return;
    struct local_client *client;
    if (local_client_begin(supervisor, al_steal_fd(&fd), &client) != 0)
        return; /* it finds the connection closed */
}
