/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/sqlite/sqlite_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/util/num.h"

#define SCHEMA_KEY "sqlite.schema"

/* What the ledger shares with other software: as that makes it, to the letter. */
static const char *const SHARED_SCHEMA =
    "CREATE TABLE IF NOT EXISTS alineo_events (\n"
    "  id INTEGER PRIMARY KEY AUTOINCREMENT,\n"
    "  sandbox_id TEXT NOT NULL,\n"
    "  name TEXT NOT NULL,\n"
    "  step_idx INTEGER NOT NULL,\n"
    "  branch INTEGER,\n"
    "  event TEXT NOT NULL,\n"
    "  payload TEXT,\n"
    "  error TEXT,\n"
    "  ts INTEGER NOT NULL\n"
    ");\n"
    "CREATE INDEX IF NOT EXISTS alineo_events_sandbox_id ON alineo_events(sandbox_id);\n"
    "CREATE INDEX IF NOT EXISTS alineo_events_name ON alineo_events(name);\n"
    "CREATE TABLE IF NOT EXISTS alineo_environments (\n"
    "  name TEXT PRIMARY KEY,\n"
    "  snapshot_id TEXT NOT NULL,\n"
    "  image TEXT NOT NULL,\n"
    "  built_at INTEGER NOT NULL\n"
    ");\n";

#define CREATED_RUN SQLITE_RUN_OF("payload", "sandbox_id")
#define IS_END SQLITE_END("event")
#define IS_STEP SQLITE_STEP("event")
/* Ours. The indexes leave output out, which is most of a ledger: alineo_c_created* hold one row a
 * session, in the order of lists, alineo_c_ends two, and alineo_c_steps two an exec, side by side.
 * */
static const char *const OWN_SCHEMA =
    "CREATE INDEX IF NOT EXISTS alineo_c_created ON alineo_events(ts DESC, sandbox_id, name)\n"
    "  WHERE event IN ('sandbox_created', 'sandbox.created');\n"
    "CREATE INDEX IF NOT EXISTS alineo_c_created_name ON alineo_events(name, ts DESC, sandbox_id)\n"
    "  WHERE event IN ('sandbox_created', 'sandbox.created');\n"
    "CREATE INDEX IF NOT EXISTS alineo_c_created_run ON alineo_events(\n"
    "  " CREATED_RUN ", ts DESC, sandbox_id, name)\n"
    "  WHERE event IN ('sandbox_created', 'sandbox.created');\n"
    "CREATE INDEX IF NOT EXISTS alineo_c_ends ON alineo_events(\n"
    "  sandbox_id, event, name, ts)\n"
    "  WHERE " IS_END ";\n"
    "CREATE INDEX IF NOT EXISTS alineo_c_steps ON alineo_events(\n"
    "  sandbox_id, step_idx, event, name)\n"
    "  WHERE " IS_STEP ";\n"
    "CREATE TABLE IF NOT EXISTS alineo_c_writers (\n"
    "  id INTEGER PRIMARY KEY,\n"
    "  writer_id TEXT NOT NULL UNIQUE,\n"
    "  last_n INTEGER NOT NULL,\n"
    "  seen_at INTEGER NOT NULL\n"
    ");\n"
    "CREATE TABLE IF NOT EXISTS alineo_c_open (\n"
    "  created_id INTEGER PRIMARY KEY\n"
    ");\n"
    "CREATE TABLE IF NOT EXISTS alineo_c_leases (\n"
    "  key TEXT PRIMARY KEY,\n"
    "  owner TEXT NOT NULL,\n"
    "  boot_id TEXT NOT NULL,\n"
    "  expires_at INTEGER NOT NULL\n"
    ") WITHOUT ROWID;\n"
    "CREATE TABLE IF NOT EXISTS alineo_c_environments (\n"
    "  name TEXT PRIMARY KEY,\n"
    "  snapshot_id TEXT NOT NULL,\n"
    "  built_at INTEGER NOT NULL,\n"
    "  detail TEXT NOT NULL\n"
    ") WITHOUT ROWID;\n"
    "CREATE TABLE IF NOT EXISTS alineo_c_meta (\n"
    "  key TEXT PRIMARY KEY,\n"
    "  value TEXT NOT NULL\n"
    ") WITHOUT ROWID;\n";

/* Runs a query of one number; 0 where it gives no row. */
static int query_number(sqlite_connection *connection, const char *text, int64_t *out) {
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(connection->db, text, -1, &statement, NULL);
    if (rc != SQLITE_OK)
        return rc;
    rc = sqlite3_step(statement);
    *out = rc == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    int ended = sqlite3_finalize(statement);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : ended;
}

/* The schema that the file has: 0 = none of ours yet. */
static int read_version(sqlite_connection *connection, int64_t *out) {
    int64_t is_there = 0;
    int rc = query_number(connection,
                          "SELECT 1 FROM sqlite_schema WHERE type = 'table' "
                          "AND name = 'alineo_c_meta'",
                          &is_there);
    *out = 0;
    if (rc != SQLITE_OK || !is_there)
        return rc;
    return query_number(connection,
                        "SELECT CAST(value AS INTEGER) FROM alineo_c_meta "
                        "WHERE key = '" SCHEMA_KEY "'",
                        out);
}

static int write_version(sqlite_connection *connection) {
    char version[16];
    (void)snprintf(version, sizeof(version), "%d", SQLITE_STORE_SCHEMA);
    return sqlite_do(connection, SQLITE_STATEMENT_META_PUT, "tt", SCHEMA_KEY, version);
}

static int make_schema(sqlite_connection *connection) {
    int rc = sqlite_exec(connection, SHARED_SCHEMA);
    if (rc == SQLITE_OK)
        rc = sqlite_exec(connection, OWN_SCHEMA);
    return rc == SQLITE_OK ? write_version(connection) : rc;
}

static alineo_code refuse_newer(sqlite_connection *connection, int64_t version,
                                alineo_error **err) {
    const alineo_storage *self = connection->store;
    return self->host->fail(self->host, err, ALINEO_STORAGE_REJECTED,
                            "use the newer alineo that wrote it, or another storage.path",
                            "open storage sqlite: %s has schema %" PRId64 ", this one knows %d",
                            self->path, version, SQLITE_STORE_SCHEMA);
}

/* Several processes may do this at once: each looks again once it has the lock. */
static alineo_code upgrade(sqlite_connection *connection, alineo_error **err) {
    int64_t version = 0;
    int rc = sqlite_begin(connection);
    if (rc == SQLITE_OK)
        rc = read_version(connection, &version);
    if (rc == SQLITE_OK && version > SQLITE_STORE_SCHEMA) {
        sqlite_rollback(connection);
        return refuse_newer(connection, version, err);
    }
    if (rc == SQLITE_OK && version < SQLITE_STORE_SCHEMA)
        rc = make_schema(connection);
    if (rc == SQLITE_OK)
        rc = sqlite_commit(connection);
    if (rc == SQLITE_OK)
        return ALINEO_OK;
    alineo_code code = sqlite_fail(connection, rc, "open storage sqlite: make the tables of", err);
    sqlite_rollback(connection);
    return code;
}

/* The mode is kept in the file; where it is set already nothing is written. A file system without
 * shared memory for it keeps the mode it had, which is as safe and only slower. */
static int use_wal(sqlite_connection *connection) {
    int rc = SQLITE_BUSY;
    /* Two processes that change it at once do not wait for each other inside SQLite. */
    for (int count = 0; (rc & 0xff) == SQLITE_BUSY; count++) {
        rc = sqlite_exec(connection, "PRAGMA journal_mode = WAL");
        if ((rc & 0xff) == SQLITE_BUSY && !sqlite_wait_for_lock(connection, count))
            break;
    }
    return rc;
}

alineo_code sqlite_schema_prepare(sqlite_connection *connection, alineo_error **err) {
    int64_t version = 0;
    int rc = read_version(connection, &version);
    if (rc != SQLITE_OK)
        return sqlite_fail(connection, rc, "open storage sqlite: read", err);
    if (version > SQLITE_STORE_SCHEMA)
        return refuse_newer(connection, version, err);
    if (!connection->store->in_memory) {
        rc = use_wal(connection);
        if (rc != SQLITE_OK)
            return sqlite_fail(connection, rc, "open storage sqlite: use WAL in", err);
    }
    return version == SQLITE_STORE_SCHEMA ? ALINEO_OK : upgrade(connection, err);
}
