/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/postgres/postgres_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/num.h"
#include "plugins/storage/postgres/postgres_locks.h"
#include "plugins/storage/postgres/postgres_statements.h"

/* --- one session ------------------------------------------------------------------------------ */

static const char *const LOCK =
    "SELECT pg_advisory_xact_lock_shared(" POSTGRES_LOCK_REMOVAL ", 0), "
    "pg_advisory_xact_lock(" POSTGRES_LOCK_SESSION ", hashtext($1))";
#define DROP "DELETE FROM alineo_events WHERE " POSTGRES_ID("") " = $1"

typedef struct removal {
    const char *name; /* NULL = whatever it is called */
    const char *sandbox_id;
    const char *doing;
    uint64_t removed;
} removal;

static alineo_code drop_session(postgres_connection *connection, void *user, alineo_error **err) {
    removal *what = user;
    postgres_step steps[] = {
        {LOCK, 1, {what->sandbox_id}, NULL},
        {what->name != NULL ? DROP " AND name = $2" : DROP,
         what->name != NULL ? 2 : 1,
         {what->sandbox_id, what->name},
         NULL},
    };
    alineo_code code = postgres_pipeline(connection, POSTGRES_ANSWER_ANY, steps, AL_COUNT(steps),
                                         what->doing, err);
    if (code != ALINEO_OK)
        return code;
    (void)!al_parse_uint64(PQcmdTuples(steps[1].result), &what->removed);
    postgres_clear(steps, AL_COUNT(steps));
    return ALINEO_OK;
}

alineo_code postgres_session_delete(alineo_storage *self, const char *name, const char *sandbox_id,
                                    uint64_t *removed, alineo_error **err) {
    removal what = {name, sandbox_id, "delete a session from", 0};
    alineo_code code = postgres_do(self, NULL, drop_session, &what, err);
    if (code == ALINEO_OK)
        *removed = what.removed;
    return code;
}

/* --- prune ------------------------------------------------------------------------------------ */

/* Sessions whose last close in either dialect lies before $1, so many at a time. */
static const char *const CLOSED =
    "SELECT sandbox_id, name FROM alineo_events WHERE " POSTGRES_IS_CLOSED(
        "") " GROUP BY sandbox_id, name HAVING max(ts) < $1 LIMIT 256";

typedef struct pruning {
    int64_t before_ms;
    PGresult *closed;
} pruning;

static alineo_code find_closed(postgres_connection *connection, void *user, alineo_error **err) {
    pruning *prune = user;
    char before[24];
    (void)snprintf(before, sizeof(before), "%" PRId64, prune->before_ms);
    postgres_step step = {CLOSED, 1, {before}, NULL};
    return postgres_run(connection, POSTGRES_ANSWER_ANY, &step, "prune", &prune->closed, err);
}

/* Lets freed space be used again, and gives back what lies at the end of the files. Who may not do
 * so leaves it to the server, which does it by itself some time. */
static alineo_code vacuum(postgres_connection *connection, void *user, alineo_error **err) {
    (void)user;
    return postgres_exec(connection, POSTGRES_ANSWER_ANY, "VACUUM alineo_events", "prune", err);
}

static void give_back_space(alineo_storage *self, alineo_call *call) {
    alineo_error *ignored = NULL;
    (void)postgres_do(self, call, vacuum, NULL, &ignored);
    self->host->drop_error(self->host, ignored);
}

/* One round: up to 256 sessions, a transaction each, so that others get their turn. */
static alineo_code prune_round(alineo_storage *self, pruning *prune, alineo_call *call,
                               uint64_t *sessions, int *found, alineo_error **err) {
    alineo_code code = postgres_do(self, call, find_closed, prune, err);
    if (code != ALINEO_OK)
        return code;
    *found = PQntuples(prune->closed);
    for (int row = 0; row < *found && code == ALINEO_OK; row++) {
        removal what = {postgres_text(prune->closed, row, 1), postgres_text(prune->closed, row, 0),
                        "prune", 0};
        code = postgres_do(self, call, drop_session, &what, err);
        if (code == ALINEO_OK)
            (*sessions)++;
    }
    PQclear(prune->closed);
    prune->closed = NULL;
    return code;
}

alineo_code postgres_prune(alineo_storage *self, int64_t closed_before_ms, alineo_call *call,
                           uint64_t *removed_sessions, alineo_error **err) {
    pruning prune = {closed_before_ms, NULL};
    uint64_t sessions = 0;
    int found = 1;
    alineo_code code = ALINEO_OK;
    while (code == ALINEO_OK && found > 0)
        code = prune_round(self, &prune, call, &sessions, &found, err);
    if (code != ALINEO_OK)
        return code;
    if (sessions > 0)
        give_back_space(self, call);
    *removed_sessions = sessions;
    return ALINEO_OK;
}

/* --- stats ------------------------------------------------------------------------------------ */

/* A table that is read as a whole is read in the order in which it lies. */
static const char *const PLAIN_SCAN = "SET LOCAL enable_seqscan = on";
static const char *const STATS =
    "SELECT (SELECT count(*) FROM (SELECT DISTINCT sandbox_id, name FROM alineo_events "
    "WHERE " POSTGRES_IS_CREATED(
        "") ") s), (SELECT count(*) FROM alineo_events), "
            "(SELECT sum(pg_total_relation_size(t)) FROM unnest(ARRAY['alineo_events', "
            "'alineo_environments', 'alineo_c_writers', 'alineo_c_leases', 'alineo_c_environments', "
            "'alineo_c_meta']::regclass[]) t)";

static alineo_code count(postgres_connection *connection, void *user, alineo_error **err) {
    alineo_storage_stats *stats = user;
    postgres_step steps[] = {{"BEGIN READ ONLY", 0, {NULL}, NULL},
                             {PLAIN_SCAN, 0, {NULL}, NULL},
                             {STATS, 0, {NULL}, NULL},
                             {"COMMIT", 0, {NULL}, NULL}};
    alineo_code code =
        postgres_pipeline(connection, POSTGRES_ANSWER_ANY, steps, AL_COUNT(steps), "count", err);
    if (code != ALINEO_OK)
        return code;
    stats->sessions = (uint64_t)postgres_int64(steps[2].result, 0, 0);
    stats->events = (uint64_t)postgres_int64(steps[2].result, 0, 1);
    stats->bytes = (uint64_t)postgres_int64(steps[2].result, 0, 2);
    postgres_clear(steps, AL_COUNT(steps));
    return ALINEO_OK;
}

alineo_code postgres_stats(alineo_storage *self, alineo_call *call, alineo_storage_stats *stats,
                           alineo_error **err) {
    return postgres_do(self, call, count, stats, err);
}
