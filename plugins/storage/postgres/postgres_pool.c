/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/postgres/postgres_store.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/io.h"
#include "core/util/random.h"

enum {
    PAUSE_FIRST_MS = 50,
    PAUSE_LONGEST_MS = 2000,
    ATTEMPTS = 4
};

int postgres_pool_init(postgres_pool *pool, size_t limit) {
    pthread_condattr_t attributes;
    pool->limit = limit;
    int rc = pthread_mutex_init(&pool->lock, NULL);
    if (rc != 0)
        return rc;
    rc = pthread_condattr_init(&attributes);
    if (rc == 0) {
        (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        rc = pthread_cond_init(&pool->changed, &attributes);
        (void)pthread_condattr_destroy(&attributes);
    }
    if (rc != 0)
        (void)pthread_mutex_destroy(&pool->lock);
    return rc;
}

static void disconnect_all(postgres_connection *list) {
    while (list != NULL) {
        postgres_connection *next = list->next;
        postgres_disconnect(list);
        list = next;
    }
}

void postgres_pool_free(postgres_pool *pool) {
    disconnect_all(pool->idle);
    disconnect_all(pool->listening);
    (void)pthread_cond_destroy(&pool->changed);
    (void)pthread_mutex_destroy(&pool->lock);
}

bool postgres_is_own_process(const alineo_storage *self, alineo_error **err) {
    if (getpid() == self->pid)
        return true;
    (void)self->host->fail(self->host, err, ALINEO_CLIENT_FORKED,
                           "open the ledger anew in the child",
                           "use storage postgres: it was opened by another process");
    return false;
}

/* --- connecting with pauses ------------------------------------------------------------------- */

static int64_t pause_left_ms(postgres_pool *pool) {
    al_autolock(&pool->lock);
    return pool->retry_at_ms - al_clock_monotonic_ms();
}

/* After the server was away each attempt waits for its turn, longer every time. */
static alineo_code wait_for_turn(alineo_storage *self, alineo_call *call, alineo_error **err) {
    const alineo_host *host = self->host;
    int64_t left = pause_left_ms(&self->pool);
    if (left <= 0)
        return ALINEO_OK;
    struct pollfd fd = {host->call_fd(host, call), POLLIN, 0};
    (void)poll(&fd, 1, (int)left);
    if (!host->call_cancelled(host, call))
        return ALINEO_OK;
    return host->fail(host, err, ALINEO_CANCELLED, NULL, "connect to %s: cancelled", self->target);
}

static void note_attempt(postgres_pool *pool, bool is_connected) {
    uint8_t chance = 0;
    (void)!al_random_bytes(&chance, sizeof(chance));
    al_autolock(&pool->lock);
    pool->failures = is_connected ? 0 : pool->failures + 1;
    if (is_connected)
        return;
    int64_t pause = PAUSE_LONGEST_MS;
    if (pool->failures < 6)
        pause = (int64_t)PAUSE_FIRST_MS << (pool->failures - 1);
    /* A quarter more or less, so that many processes do not come all at once. */
    pause += pause * (chance - 128) / 512;
    pool->retry_at_ms = al_clock_monotonic_ms() + pause;
}

alineo_code postgres_connect_patiently(alineo_storage *self, alineo_call *call,
                                       postgres_connection **out, alineo_error **err) {
    alineo_code code = wait_for_turn(self, call, err);
    if (code != ALINEO_OK)
        return code;
    code = postgres_connect(self, false, out, err);
    note_attempt(&self->pool, code == ALINEO_OK);
    return code;
}

/* --- taking and giving back ------------------------------------------------------------------- */

/* Whether the server has closed it meanwhile, or said that it is about to. */
static bool is_stale(postgres_connection *connection) {
    struct pollfd fd = {PQsocket(connection->db), POLLIN, 0};
    if (poll(&fd, 1, 0) == 0)
        return false;
    return PQconsumeInput(connection->db) == 0 || PQstatus(connection->db) != CONNECTION_OK;
}

/* An idle one, or the right to make one (*out NULL). */
static alineo_code reserve(alineo_storage *self, postgres_connection **out, alineo_error **err) {
    postgres_pool *pool = &self->pool;
    int64_t until_ns = al_clock_monotonic_ns() + POSTGRES_ANSWER_MS * INT64_C(1000000);
    struct timespec until = {until_ns / 1000000000, (long)(until_ns % 1000000000)};
    al_autolock(&pool->lock);
    while (pool->idle == NULL && pool->count >= pool->limit)
        if (pthread_cond_timedwait(&pool->changed, &pool->lock, &until) == ETIMEDOUT)
            return self->host->fail(
                self->host, err, ALINEO_STORAGE_UNAVAILABLE, "raise storage.poolSize",
                "use %s: all %zu connections are busy", self->target, pool->limit);
    *out = pool->idle;
    if (*out != NULL)
        pool->idle = (*out)->next;
    else
        pool->count++;
    return ALINEO_OK;
}

static void release(postgres_pool *pool) {
    al_autolock(&pool->lock);
    pool->count--;
    (void)pthread_cond_signal(&pool->changed);
}

static alineo_code take(alineo_storage *self, alineo_call *call, postgres_connection **out,
                        alineo_error **err) {
    postgres_connection *connection = NULL;
    for (;;) {
        alineo_code code = reserve(self, &connection, err);
        if (code != ALINEO_OK)
            return code;
        if (connection == NULL || !is_stale(connection))
            break;
        postgres_disconnect(connection);
        release(&self->pool);
    }
    if (connection == NULL) {
        alineo_code code = postgres_connect_patiently(self, call, &connection, err);
        if (code != ALINEO_OK) {
            release(&self->pool);
            return code;
        }
    }
    connection->call = call;
    connection->may_repeat = false;
    *out = connection;
    return ALINEO_OK;
}

static void give_back(postgres_connection *connection) {
    postgres_pool *pool = &connection->store->pool;
    connection->call = NULL;
    connection->is_used = true;
    postgres_rollback(connection);
    if (connection->is_lost) {
        postgres_disconnect(connection);
        release(pool);
        return;
    }
    al_autolock(&pool->lock);
    connection->next = pool->idle;
    pool->idle = connection;
    (void)pthread_cond_signal(&pool->changed);
}

alineo_code postgres_do(alineo_storage *self, alineo_call *call, postgres_work *work, void *user,
                        alineo_error **err) {
    if (!postgres_is_own_process(self, err))
        return ALINEO_CLIENT_FORKED;
    for (int attempt = 1;; attempt++) {
        postgres_connection *connection = NULL;
        alineo_error *error = NULL;
        alineo_code code = take(self, call, &connection, err);
        if (code != ALINEO_OK)
            return code;
        code = work(connection, user, &error);
        /* One that was lost at its first use tells that the server is away, not that it was. */
        bool repeats = code != ALINEO_OK && connection->may_repeat && attempt < ATTEMPTS &&
                       (!connection->is_lost || connection->is_used);
        give_back(connection);
        if (!repeats) {
            if (err != NULL)
                *err = error;
            else
                self->host->drop_error(self->host, error);
            return code;
        }
        self->host->drop_error(self->host, error);
    }
}
