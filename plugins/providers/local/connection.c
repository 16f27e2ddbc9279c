/* SPDX-License-Identifier: Apache-2.0 */
/* Connections to supervisors. A call takes one for itself, so calls on one sandbox go on side by
 * side; afterwards it waits for the next. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/cleanup.h"
#include "core/util/str.h"
#include "plugins/providers/local/local.h"

enum {
    IDLE_MAX = 64,     /* in all */
    SEND_MS = 10000,   /* a supervisor takes no longer to read */
    ANSWER_MS = 120000 /* nor to answer: what takes long goes another way */
};

struct local_connection *local_connection_new(const char *id, int fd) {
    struct local_connection *connection = calloc(1, sizeof(*connection));
    if (connection == NULL) {
        al_close(fd);
        return NULL;
    }
    al_list_init(&connection->link);
    connection->fd = fd;
    (void)al_str_copy(connection->id, sizeof(connection->id), id);
    return connection;
}

void local_connection_drop(struct local_connection *connection) {
    if (connection == NULL)
        return;
    al_close(connection->fd);
    local_message_free(&connection->in);
    free(connection);
}

void local_connection_give(alineo_provider *self, struct local_connection *connection) {
    struct local_connection *oldest = NULL;
    local_message_clear(&connection->in);
    connection->is_fresh = false;
    {
        al_autolock(&self->lock);
        if (self->idle_count == IDLE_MAX) {
            oldest = AL_CONTAINER(al_list_take_first(&self->idle), struct local_connection, link);
            self->idle_count--;
        }
        al_list_append(&self->idle, &connection->link);
        self->idle_count++;
    }
    local_connection_drop(oldest);
}

static struct local_connection *take_idle(alineo_provider *self, const char *id) {
    al_autolock(&self->lock);
    AL_LIST_FOREACH(link, &self->idle) {
        struct local_connection *connection = AL_CONTAINER(link, struct local_connection, link);
        if (id != NULL && strcmp(connection->id, id) != 0)
            continue;
        al_list_remove(&connection->link);
        self->idle_count--;
        return connection;
    }
    return NULL;
}

void local_connections_forget(alineo_provider *self, const char *id) {
    struct local_connection *connection;
    while ((connection = take_idle(self, id)) != NULL)
        local_connection_drop(connection);
}

/* What is to be said of a sandbox that nobody answers for. */
static alineo_code fail_unanswered(alineo_provider *self, const char *id, alineo_error **err) {
    al_autofd int entries = -1;
    al_autofd int entry = -1;
    bool is_held = false;
    local_connections_forget(self, id);
    if (local_folder_open(self->run_dir, LOCAL_SANDBOXES, &entries) != 0 ||
        local_entry_open(entries, id, &entry, &is_held) != 0)
        return local_fail_gone(self, err, id);
    if (is_held)
        return LOCAL_FAIL(self, err, ALINEO_SANDBOX_NOT_FOUND, NULL,
                          "the sandbox %s is ending at this moment", id);
    /* Its supervisor was killed: what it left is taken away, and the reason noted. */
    alineo_code code = local_clean(self, id, err);
    return code == ALINEO_OK ? local_fail_gone(self, err, id) : code;
}

static alineo_code connect_to(alineo_provider *self, const char *id,
                              struct local_connection **connection, alineo_error **err) {
    al_autofd int entries = -1;
    al_autofd int entry = -1;
    bool is_held = false;
    if (!local_id_is_valid(id))
        return local_fail_gone(self, err, id);
    int rc = local_folder_open(self->run_dir, LOCAL_SANDBOXES, &entries);
    if (rc == 0)
        rc = local_entry_open(entries, id, &entry, &is_held);
    if (rc == ENOENT)
        return local_fail_gone(self, err, id);
    if (rc != 0)
        return local_fail_errno(self, err, rc, "open the sandbox's entry");
    int fd = -1;
    rc = is_held ? local_control_connect(entry, &fd) : ECONNREFUSED;
    if (rc == ECONNREFUSED || rc == ENOENT || rc == ECONNRESET)
        return fail_unanswered(self, id, err);
    if (rc != 0)
        return local_fail_errno(self, err, rc, "connect to the sandbox's supervisor");
    *connection = local_connection_new(id, fd);
    if (*connection == NULL)
        return local_fail_errno(self, err, ENOMEM, "connect to the sandbox's supervisor");
    (*connection)->is_fresh = true;
    return ALINEO_OK;
}

static alineo_code take(alineo_provider *self, const char *id, struct local_connection **connection,
                        alineo_error **err) {
    *connection = take_idle(self, id);
    return *connection != NULL ? ALINEO_OK : connect_to(self, id, connection, err);
}

static bool is_gone(int rc) {
    return rc == EPIPE || rc == ECONNRESET || rc == ENOTCONN;
}

/* Sends the request on a connection that works. An idle one may have ended since; what could not be
 * sent was not read either, so it can go by another. */
static alineo_code send_request(alineo_provider *self, const char *id, uint32_t type,
                                const void *request, const int *fds, size_t fd_count,
                                struct local_connection **connection, alineo_error **err) {
    for (;;) {
        alineo_code code = take(self, id, connection, err);
        if (code != ALINEO_OK)
            return code;
        int rc = local_link_send((*connection)->fd, type, 0, request, fds, fd_count,
                                 al_deadline_after_ms(SEND_MS));
        if (rc == 0)
            return ALINEO_OK;
        bool is_fresh = (*connection)->is_fresh;
        local_connection_drop(*connection);
        if (is_gone(rc) && !is_fresh)
            continue;
        if (is_gone(rc))
            return fail_unanswered(self, id, err);
        if (rc == E2BIG)
            return LOCAL_FAIL(self, err, ALINEO_TOO_LARGE, NULL,
                              "ask the sandbox's supervisor: the request is too large");
        return local_fail_errno(self, err, rc, "ask the sandbox's supervisor");
    }
}

alineo_code local_ask(alineo_provider *self, const char *id, uint32_t type, const void *request,
                      const int *fds, size_t fd_count, const alineo_call *call,
                      struct local_connection **connection, alineo_error **err) {
    struct local_connection *used;
    alineo_code code = send_request(self, id, type, request, fds, fd_count, &used, err);
    if (code != ALINEO_OK)
        return code;
    code = local_wait(self, used->fd, call, al_deadline_after_ms(ANSWER_MS),
                      "wait for the sandbox's supervisor", err);
    if (code != ALINEO_OK) {
        local_connection_drop(used);
        return code;
    }
    int rc =
        local_link_receive(used->fd, &local_link_trusted, &used->in, al_deadline_after_ms(SEND_MS));
    if (rc == 0)
        code = used->in.type == LOCAL_ANSWER ? local_fail_answer(self, err, &used->in) : ALINEO_OK;
    else if (is_gone(rc))
        code = fail_unanswered(self, id, err);
    else
        code = rc == EBADMSG ? local_fail_garbled(self, err)
                             : local_fail_errno(self, err, rc, "hear the sandbox's supervisor");
    if (rc != 0) {
        local_connection_drop(used);
    } else if (code != ALINEO_OK) {
        local_connection_give(self, used);
    } else {
        *connection = used;
    }
    return code;
}
