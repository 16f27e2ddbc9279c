/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/sqlite/sqlite_store.h"

#include <stdlib.h>
#include <string.h>

#include "core/util/buf.h"
#include "core/util/cleanup.h"

/* --- one session ------------------------------------------------------------------------------ */

/* `name` NULL = whatever it is called. With the writer's lock. */
static int drop_session(alineo_storage *self, const char *name, const char *sandbox_id,
                        uint64_t *removed) {
    sqlite_connection *writer = &self->writer;
    int rc = sqlite_begin(writer);
    if (rc != SQLITE_OK)
        return rc;
    rc = name != NULL
             ? sqlite_do(writer, SQLITE_STATEMENT_NAMED_SESSION_DROP, "tt", sandbox_id, name)
             : sqlite_do(writer, SQLITE_STATEMENT_SESSION_DROP, "t", sandbox_id);
    uint64_t count = rc == SQLITE_OK ? (uint64_t)sqlite3_changes64(writer->db) : 0;
    if (rc == SQLITE_OK)
        rc = sqlite_commit(writer);
    if (rc == SQLITE_OK)
        *removed = count;
    sqlite_forget_newest(self);
    return rc;
}

alineo_code sqlite_session_delete(alineo_storage *self, const char *name, const char *sandbox_id,
                                  uint64_t *removed, alineo_error **err) {
    al_autolock(&self->writer.lock);
    int rc = drop_session(self, name, sandbox_id, removed);
    if (rc == SQLITE_OK)
        return ALINEO_OK;
    alineo_code code = sqlite_fail(&self->writer, rc, "delete a session from", err);
    sqlite_rollback(&self->writer);
    return code;
}

/* --- prune ------------------------------------------------------------------------------------ */

#define CLOSED_BEFORE(event)                                                                       \
    "SELECT c.sandbox_id, c.name, max(c.ts) AS closed FROM alineo_events c "                       \
    "INDEXED BY alineo_c_ends WHERE c.event = '" event "' GROUP BY c.sandbox_id, c.name"
/* Sessions whose last close in either dialect lies before ?1, so many at a time. */
static const char *const PRUNE_QUERY =
    "SELECT sandbox_id, name FROM (" CLOSED_BEFORE("sandbox_closed") " UNION ALL " CLOSED_BEFORE(
        "sandbox.closed") ") GROUP BY sandbox_id, name HAVING max(closed) < ?1 LIMIT 256";

/* Appends pairs of sandbox id and name, each with a NUL behind. */
static int find_closed(sqlite_connection *connection, int64_t before_ms, al_buf *pairs,
                       size_t *count) {
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(connection->db, PRUNE_QUERY, -1, &statement, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(statement, 1, before_ms);
    *count = 0;
    while (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        rc = SQLITE_OK;
        for (int i = 0; i < 2; i++) {
            const char *text = (const char *)sqlite3_column_text(statement, i);
            al_buf_append(pairs, text != NULL ? text : "", text != NULL ? strlen(text) + 1 : 1);
        }
        if (pairs->error != 0)
            rc = SQLITE_NOMEM;
        (*count)++;
    }
    (void)sqlite3_finalize(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Gives freed space back, where so much is free that it pays. Readers and writers elsewhere may be
 * in the way: then it stays free within the file and is used again. */
static void give_back(sqlite_connection *writer) {
    sqlite3_stmt *statement = NULL;
    int64_t numbers[2] = {0, 0};
    static const char *const queries[] = {"PRAGMA freelist_count", "PRAGMA page_count"};
    for (size_t i = 0; i < AL_COUNT(queries); i++) {
        if (sqlite3_prepare_v2(writer->db, queries[i], -1, &statement, NULL) != SQLITE_OK)
            return;
        if (sqlite3_step(statement) == SQLITE_ROW)
            numbers[i] = sqlite3_column_int64(statement, 0);
        (void)sqlite3_finalize(statement);
    }
    if (numbers[0] > numbers[1] / 4 && sqlite_exec(writer, "VACUUM") == SQLITE_OK)
        (void)sqlite3_wal_checkpoint_v2(writer->db, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
}

/* One round: up to 256 sessions, a transaction each, so that others get their turn. */
static int prune_round(alineo_storage *self, int64_t before_ms, uint64_t *sessions, size_t *found) {
    al_auto(al_buf_free) al_buf pairs = AL_BUF_INIT;
    int rc = find_closed(&self->writer, before_ms, &pairs, found);
    const char *at = pairs.data;
    for (size_t i = 0; rc == SQLITE_OK && i < *found; i++) {
        const char *sandbox_id = at;
        const char *name = sandbox_id + strlen(sandbox_id) + 1;
        at = name + strlen(name) + 1;
        uint64_t removed = 0;
        rc = drop_session(self, name, sandbox_id, &removed);
        if (rc == SQLITE_OK)
            (*sessions)++;
    }
    return rc;
}

alineo_code sqlite_prune(alineo_storage *self, int64_t closed_before_ms, alineo_call *call,
                         uint64_t *removed_sessions, alineo_error **err) {
    sqlite_connection *writer = &self->writer;
    uint64_t sessions = 0;
    size_t found = 1;
    int rc = SQLITE_OK;
    alineo_code code = ALINEO_OK;
    while (rc == SQLITE_OK && found > 0) {
        al_autolock(&writer->lock);
        writer->call = call;
        rc = prune_round(self, closed_before_ms, &sessions, &found);
        if (rc == SQLITE_OK && found == 0 && sessions > 0)
            give_back(writer);
        if (rc != SQLITE_OK)
            code = sqlite_fail(writer, rc, "prune", err);
        sqlite_rollback(writer);
        writer->call = NULL;
    }
    if (code == ALINEO_OK)
        *removed_sessions = sessions;
    return code;
}

/* --- stats ------------------------------------------------------------------------------------ */

#define STATS_QUERY                                                                                \
    "SELECT (SELECT count(*) FROM (SELECT DISTINCT e.sandbox_id, e.name FROM alineo_events e "     \
    "INDEXED BY alineo_c_created WHERE " SQLITE_CREATED(                                           \
        "e.event") ")), "                                                                          \
                   "(SELECT count(*) FROM alineo_events)"

alineo_code sqlite_stats(alineo_storage *self, alineo_call *call, alineo_storage_stats *stats,
                         alineo_error **err) {
    sqlite_connection *connection = self->reader;
    al_autolock(&connection->lock);
    alineo_code code = sqlite_connect(connection, err);
    if (code != ALINEO_OK)
        return code;
    connection->call = call;
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(connection->db, STATS_QUERY, -1, &statement, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW) {
        stats->sessions = (uint64_t)sqlite3_column_int64(statement, 0);
        stats->events = (uint64_t)sqlite3_column_int64(statement, 1);
        stats->bytes = sqlite_file_size(self);
    } else {
        code = sqlite_fail(connection, rc, "count", err);
    }
    (void)sqlite3_finalize(statement);
    connection->call = NULL;
    return code;
}
