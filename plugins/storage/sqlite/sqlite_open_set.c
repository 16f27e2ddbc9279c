/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/sqlite/sqlite_store.h"

#include "core/util/cleanup.h"

/*
 * The set of sessions that were open at some point of the ledger: alineo_c_open has the ids of
 * their created rows, up to the id in alineo_c_meta. It narrows the search for open sessions and
 * decides nothing: whoever uses it looks at each again, and at every session that began later. A
 * session once closed does not open again, so the set needs no care by other software that writes,
 * closes, renames or deletes; it only grows stale, and is brought up to date by the lists that use
 * it.
 */

/* Events since the set was made, up to which it is good enough. */
#define STALE_COUNT 5000

static int read_age(sqlite_connection *connection, int64_t *age) {
    sqlite3_stmt *statement = NULL;
    int rc = sqlite_run(connection, SQLITE_STATEMENT_OPEN_AGE, &statement, "");
    if (rc != SQLITE_ROW)
        return rc;
    *age = sqlite3_column_int64(statement, 0);
    return sqlite3_reset(statement);
}

static bool is_stale(sqlite_connection *connection) {
    al_autolock(&connection->lock);
    int64_t age = 0;
    return connection->db != NULL && read_age(connection, &age) == SQLITE_OK && age > STALE_COUNT;
}

void sqlite_open_set_refresh(alineo_storage *self) {
    if (!is_stale(self->reader))
        return;
    sqlite_connection *writer = &self->writer;
    al_autolock(&writer->lock);
    /* It is nothing worth waiting for: the next list tries again. */
    writer->impatient = true;
    int rc = sqlite_begin(writer);
    writer->impatient = false;
    if (rc == SQLITE_OK)
        rc = sqlite_do(writer, SQLITE_STATEMENT_OPEN_DROP, "");
    if (rc == SQLITE_OK)
        rc = sqlite_do(writer, SQLITE_STATEMENT_OPEN_ADD, "");
    if (rc == SQLITE_OK)
        rc = sqlite_do(writer, SQLITE_STATEMENT_OPEN_SEEN, "");
    if (rc == SQLITE_OK)
        rc = sqlite_commit(writer);
    if (rc != SQLITE_OK)
        sqlite_rollback(writer);
}
