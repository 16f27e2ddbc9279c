/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/postgres/postgres_store.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/cleanup.h"
#include "core/util/str.h"
#include "plugins/storage/postgres/postgres_locks.h"

/*
 * A follower has a connection of its own, which goes on listening between two calls: what is
 * appended while the caller reads wakes the next call. A new one has missed something perhaps, so
 * the call that made it returns at once.
 */

enum {
    /* Other software appends to the tables without a word: it is found by looking now and then. */
    FOLLOW_LONGEST_MS = 500,
    KEPT_COUNT = 8
};

static const char doing[] = "follow";

static const char *const WATCH_ONE =
    "SELECT pg_advisory_lock_shared(" POSTGRES_LOCK_FOLLOWER ", " POSTGRES_BUCKET("$1") ")";
static const char *const WATCH_ALL = "SELECT count(pg_advisory_lock_shared(" POSTGRES_LOCK_FOLLOWER
                                     ", b)) FROM generate_series(0, 63) b WHERE $1 = ''";

/* --- listening connections -------------------------------------------------------------------- */

/* An idle one that listens for this; NULL = none. */
static postgres_connection *take_kept(alineo_storage *self, const char *wanted) {
    postgres_pool *pool = &self->pool;
    al_autolock(&pool->lock);
    for (postgres_connection **at = &pool->listening; *at != NULL; at = &(*at)->next) {
        postgres_connection *connection = *at;
        if (strcmp(connection->followed, wanted) != 0)
            continue;
        *at = connection->next;
        pool->listening_count--;
        return connection;
    }
    return NULL;
}

/* Keeps the last ones; the eldest makes room. */
static void keep(postgres_connection *connection) {
    postgres_pool *pool = &connection->store->pool;
    postgres_connection *eldest = NULL;
    (void)al_lock(&pool->lock);
    connection->next = pool->listening;
    pool->listening = connection;
    if (++pool->listening_count > KEPT_COUNT) {
        postgres_connection **at = &pool->listening;
        while ((*at)->next != NULL)
            at = &(*at)->next;
        eldest = *at;
        *at = NULL;
        pool->listening_count--;
    }
    (void)pthread_mutex_unlock(&pool->lock);
    postgres_disconnect(eldest);
}

/* Takes the lock, which waits for appends under way that take no notice of us. */
static alineo_code listen_for(alineo_storage *self, const char *wanted, alineo_call *call,
                              postgres_connection **out, alineo_error **err) {
    postgres_connection *connection = NULL;
    alineo_code code = postgres_connect_patiently(self, call, &connection, err);
    if (code != ALINEO_OK)
        return code;
    connection->call = call;
    connection->followed = al_strdup(wanted);
    postgres_step steps[] = {{"LISTEN " POSTGRES_CHANNEL, 0, {NULL}, NULL},
                             {*wanted != '\0' ? WATCH_ONE : WATCH_ALL, 1, {wanted}, NULL}};
    code = connection->followed != NULL ? postgres_pipeline(connection, POSTGRES_ANSWER_MS, steps,
                                                            AL_COUNT(steps), doing, err)
                                        : postgres_no_memory(self, doing, err);
    postgres_clear(steps, AL_COUNT(steps));
    if (code != ALINEO_OK)
        postgres_disconnect(connection);
    else
        *out = connection;
    return code;
}

/* --- waiting ---------------------------------------------------------------------------------- */

/* Takes all that came; whether some of it is for this one. */
static bool take_notices(postgres_connection *connection) {
    bool is_ours = false;
    for (PGnotify *notice = PQnotifies(connection->db); notice != NULL;
         notice = PQnotifies(connection->db)) {
        if (connection->followed[0] == '\0' || strcmp(notice->extra, connection->followed) == 0)
            is_ours = true;
        PQfreemem(notice);
    }
    return is_ours;
}

static alineo_code check_call(alineo_storage *self, const alineo_call *call, alineo_error **err) {
    const alineo_host *host = self->host;
    if (host->call_cancelled(host, call))
        return host->fail(host, err, ALINEO_CANCELLED, NULL, "follow %s: cancelled", self->target);
    if (host->call_remaining_ms(host, call) == 0)
        return host->fail(host, err, ALINEO_TIMEOUT, NULL, "follow %s: out of time", self->target);
    return ALINEO_OK;
}

/* Until a notice comes, the time is over, or the call is. */
static alineo_code wait_for_notice(postgres_connection *connection, al_deadline deadline,
                                   alineo_call *call, alineo_error **err) {
    alineo_storage *self = connection->store;
    for (;;) {
        if (PQconsumeInput(connection->db) == 0)
            return postgres_fail_lost(connection, doing, err);
        alineo_code code = check_call(self, call, err);
        if (code != ALINEO_OK || take_notices(connection) || al_deadline_passed(deadline))
            return code;
        struct pollfd fds[2] = {{PQsocket(connection->db), POLLIN, 0},
                                {self->host->call_fd(self->host, call), POLLIN, 0}};
        if (poll(fds, 2, al_deadline_poll_ms(deadline)) < 0 && errno != EINTR)
            return postgres_fail_lost(connection, doing, err);
    }
}

static al_deadline deadline_of(const alineo_storage *self, int64_t timeout_ms,
                               const alineo_call *call) {
    if (timeout_ms < 0 || timeout_ms > FOLLOW_LONGEST_MS)
        timeout_ms = FOLLOW_LONGEST_MS;
    al_deadline deadline = al_deadline_after_ms(timeout_ms);
    int64_t left = call != NULL ? self->host->call_remaining_ms(self->host, call) : -1;
    return left >= 0 ? al_deadline_earlier(deadline, al_deadline_after_ms(left)) : deadline;
}

alineo_code postgres_follow(alineo_storage *self, const char *sandbox_id, int64_t timeout_ms,
                            alineo_call *call, alineo_error **err) {
    if (!postgres_is_own_process(self, err))
        return ALINEO_CLIENT_FORKED;
    const char *wanted = sandbox_id != NULL ? sandbox_id : "";
    al_deadline deadline = deadline_of(self, timeout_ms, call);
    postgres_connection *connection = take_kept(self, wanted);
    bool is_new = connection == NULL;
    alineo_code code = ALINEO_OK;
    if (is_new)
        code = listen_for(self, wanted, call, &connection, err);
    if (code != ALINEO_OK)
        return code;
    if (!is_new)
        code = wait_for_notice(connection, deadline, call, err);
    connection->call = NULL;
    if (connection->is_lost)
        postgres_disconnect(connection);
    else
        keep(connection);
    return code;
}
