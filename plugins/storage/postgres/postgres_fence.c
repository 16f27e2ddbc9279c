/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/postgres/postgres_store.h"

#include <string.h>
#include <time.h>

#include "plugins/storage/postgres/postgres_locks.h"

/*
 * Ids are given to rows in the order of their inserts, but rows appear in the order of commits. So
 * a reader that has seen a row must know that none with a smaller id is still on its way.
 *
 * Every insert holds a RowExclusiveLock on the table from before it takes ids until its rows can be
 * seen, whoever makes it. So: ask for the last id given, then for the holders of that lock; once
 * these have ended, all ids up to the one asked for are decided, and what is read then is whole.
 * Holders that come later take larger ids, and are not waited for.
 *
 * Our own appends to one session come one after the other (POSTGRES_LOCK_SESSION): for a reader of
 * one session only inserts by others count. Nobody is ever blocked by a reader.
 */

enum {
    PATIENCE_MS = 5000
};

#define HOLDERS(but)                                                                               \
    "WITH l AS MATERIALIZED (SELECT locktype, relation, classid, virtualtransaction AS v, pid, "   \
    "mode FROM pg_locks WHERE granted AND database = (SELECT oid FROM pg_database WHERE "          \
    "datname = current_database())) SELECT l.v, l.pid FROM l WHERE l.locktype = 'relation' "       \
    "AND l.relation = 'alineo_events'::regclass AND l.mode = 'RowExclusiveLock' "                  \
    "AND l.pid IS DISTINCT FROM pg_backend_pid() AND NOT EXISTS (SELECT 1 FROM l a "               \
    "WHERE a.locktype = 'advisory' AND a.v = l.v AND a.classid IN (" but "))"
static const char *const HOLDERS_OF_ALL = HOLDERS(POSTGRES_LOCK_REMOVAL);
static const char *const HOLDERS_OF_OTHERS =
    HOLDERS(POSTGRES_LOCK_REMOVAL ", " POSTGRES_LOCK_SESSION);

void postgres_fence_ask(const alineo_storage *self, bool one_session,
                        postgres_step steps[POSTGRES_FENCE_STEPS]) {
    steps[0] = (postgres_step){.text = self->numbers};
    steps[1] = (postgres_step){.text = one_session ? HOLDERS_OF_OTHERS : HOLDERS_OF_ALL};
}

/* The first of those that is among them still; NULL = none. */
static const char *first_left(const PGresult *before, const PGresult *now, const char **pid) {
    for (int i = 0; i < PQntuples(now); i++)
        for (int j = 0; j < PQntuples(before); j++)
            if (strcmp(PQgetvalue(now, i, 0), PQgetvalue(before, j, 0)) == 0) {
                *pid = PQgetisnull(now, i, 1) ? "of a prepared transaction" : PQgetvalue(now, i, 1);
                return PQgetvalue(now, i, 0);
            }
    return NULL;
}

static alineo_code fail_to_settle(postgres_connection *connection, const char *pid,
                                  alineo_error **err) {
    const alineo_host *host = connection->store->host;
    return host->fail(host, err, ALINEO_STORAGE_UNAVAILABLE,
                      "let it commit or roll back, or end it: SELECT pg_terminate_backend(PID)",
                      "read %s: a transaction that has added to alineo_events is open for more "
                      "than %d s, in the server's process %s",
                      connection->store->target, PATIENCE_MS / 1000, pid);
}

/* One more look at the holders. *is_over: none of `before` is left. */
static alineo_code look_again(postgres_connection *connection, const char *text,
                              const PGresult *before, bool is_last, bool *is_over,
                              alineo_error **err) {
    PGresult *now = NULL;
    postgres_step step = {.text = text};
    alineo_code code = postgres_run(connection, POSTGRES_ANSWER_MS, &step, "read", &now, err);
    if (code != ALINEO_OK)
        return code;
    const char *pid = NULL;
    *is_over = first_left(before, now, &pid) == NULL;
    if (!*is_over && is_last)
        code = fail_to_settle(connection, pid, err);
    PQclear(now);
    return code;
}

alineo_code postgres_fence_settle(postgres_connection *connection,
                                  const postgres_step steps[POSTGRES_FENCE_STEPS], int64_t *bound,
                                  bool *waited, alineo_error **err) {
    const PGresult *before = steps[1].result;
    al_deadline deadline = al_deadline_after_ms(PATIENCE_MS);
    alineo_code code = ALINEO_OK;
    bool is_over = PQntuples(before) == 0;
    *waited = !is_over;
    for (int64_t nap_us = 200; code == ALINEO_OK && !is_over; nap_us *= 2) {
        /* Most have only to commit. */
        nap_us = nap_us < 50000 ? nap_us : 50000;
        struct timespec nap = {0, (long)nap_us * 1000};
        (void)nanosleep(&nap, NULL);
        code = look_again(connection, steps[1].text, before, al_deadline_passed(deadline), &is_over,
                          err);
    }
    if (code == ALINEO_OK)
        *bound = postgres_int64(steps[0].result, 0, 0);
    return code;
}
