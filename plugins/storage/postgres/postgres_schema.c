/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/postgres/postgres_store.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/cleanup.h"
#include "core/util/str.h"
#include "plugins/storage/postgres/postgres_locks.h"
#include "plugins/storage/postgres/postgres_statements.h"

#define SCHEMA_KEY "postgres.schema"

/* What the ledger shares with other software: as that makes it. */
#define SHARED_SCHEMA                                                                              \
    "CREATE TABLE IF NOT EXISTS alineo_events ("                                                   \
    "id BIGSERIAL PRIMARY KEY, sandbox_id TEXT NOT NULL, name TEXT NOT NULL, "                     \
    "step_idx INTEGER NOT NULL, branch INTEGER, event TEXT NOT NULL, payload JSONB, error TEXT, "  \
    "ts BIGINT NOT NULL);"                                                                         \
    "CREATE INDEX IF NOT EXISTS alineo_events_sandbox_id ON alineo_events(sandbox_id);"            \
    "CREATE INDEX IF NOT EXISTS alineo_events_name ON alineo_events(name);"                        \
    "CREATE TABLE IF NOT EXISTS alineo_environments ("                                             \
    "name TEXT PRIMARY KEY, snapshot_id TEXT NOT NULL, image TEXT NOT NULL, "                      \
    "built_at BIGINT NOT NULL);"

#define SANDBOX_ID POSTGRES_ID("")
#define NAME POSTGRES_NAME("")
#define RUN_KEY POSTGRES_RUN_KEY(POSTGRES_RUN(""))
#define IS_CREATED POSTGRES_IS_CREATED("")
#define IS_END POSTGRES_IS_END("")
#define IS_STEP POSTGRES_IS_STEP("")
/* Ours. alineo_c_session gives the events of one session in their order; the others leave output
 * out, which is most of a ledger: alineo_c_created* hold one row a session, in the order of lists,
 * alineo_c_ends two, and alineo_c_steps two an exec. Rows of writers change with every batch: they
 * have room to do so in place. */
#define OWN_SCHEMA                                                                                 \
    "CREATE INDEX IF NOT EXISTS alineo_c_session ON alineo_events(" SANDBOX_ID ", id);"            \
    "CREATE INDEX IF NOT EXISTS alineo_c_created ON alineo_events("                                \
    "ts DESC, " SANDBOX_ID ", " NAME ") WHERE " IS_CREATED ";"                                     \
    "CREATE INDEX IF NOT EXISTS alineo_c_created_name ON alineo_events(" NAME                      \
    ", ts DESC, " SANDBOX_ID ") WHERE " IS_CREATED ";"                                             \
    "CREATE INDEX IF NOT EXISTS alineo_c_created_run ON alineo_events(" RUN_KEY                    \
    ", ts DESC, " SANDBOX_ID ", " NAME ") WHERE " IS_CREATED ";"                                   \
    "CREATE INDEX IF NOT EXISTS alineo_c_ends ON alineo_events(" SANDBOX_ID ", " NAME              \
    ", event, ts) WHERE " IS_END ";"                                                               \
    "CREATE INDEX IF NOT EXISTS alineo_c_steps ON alineo_events(" SANDBOX_ID                       \
    ", step_idx, event, " NAME ") WHERE " IS_STEP ";"                                              \
    "CREATE TABLE IF NOT EXISTS alineo_c_writers ("                                                \
    "writer_id TEXT COLLATE \"C\" PRIMARY KEY, last_n BIGINT NOT NULL, "                           \
    "seen_at TIMESTAMPTZ NOT NULL) WITH (fillfactor = 50);"                                        \
    "CREATE TABLE IF NOT EXISTS alineo_c_leases ("                                                 \
    "key TEXT COLLATE \"C\" PRIMARY KEY, owner TEXT NOT NULL, expires_at TIMESTAMPTZ NOT NULL);"   \
    "CREATE TABLE IF NOT EXISTS alineo_c_environments ("                                           \
    "name TEXT COLLATE \"C\" PRIMARY KEY, snapshot_id TEXT NOT NULL, built_at BIGINT NOT NULL, "   \
    "detail TEXT NOT NULL);"                                                                       \
    "CREATE TABLE IF NOT EXISTS alineo_c_meta ("                                                   \
    "key TEXT COLLATE \"C\" PRIMARY KEY, value TEXT NOT NULL);"

#define WRITE_VERSION                                                                              \
    "INSERT INTO alineo_c_meta(key, value) VALUES('" SCHEMA_KEY "', '1') "                         \
    "ON CONFLICT(key) DO UPDATE SET value = excluded.value;"

_Static_assert(POSTGRES_STORE_SCHEMA == 1, "WRITE_VERSION says what POSTGRES_STORE_SCHEMA does");

static const char *const LOCK_SCHEMA = "SELECT pg_advisory_xact_lock(" POSTGRES_LOCK_SCHEMA ", 0)";

/* The schema that the database has: 0 = none of ours yet. */
static alineo_code read_version(postgres_connection *connection, int64_t *out, alineo_error **err) {
    const char *const doing = "open storage postgres: look into";
    PGresult *result = NULL;
    postgres_step step = {"SELECT to_regclass('alineo_c_meta') IS NOT NULL", 0, {NULL}, NULL};
    alineo_code code = postgres_run(connection, POSTGRES_ANSWER_MS, &step, doing, &result, err);
    if (code != ALINEO_OK)
        return code;
    bool is_there = strcmp(PQgetvalue(result, 0, 0), "t") == 0;
    PQclear(result);
    *out = 0;
    if (!is_there)
        return ALINEO_OK;
    postgres_step version = {
        "SELECT value FROM alineo_c_meta WHERE key = '" SCHEMA_KEY "'", 0, {NULL}, NULL};
    code = postgres_run(connection, POSTGRES_ANSWER_MS, &version, doing, &result, err);
    if (code != ALINEO_OK)
        return code;
    if (PQntuples(result) > 0)
        *out = postgres_int64(result, 0, 0);
    PQclear(result);
    return ALINEO_OK;
}

static alineo_code refuse_newer(const alineo_storage *self, int64_t version, alineo_error **err) {
    return self->host->fail(self->host, err, ALINEO_STORAGE_REJECTED,
                            "use the newer alineo that wrote it, or another database",
                            "open storage postgres: %s has schema %" PRId64 ", this one knows %d",
                            self->target, version, POSTGRES_STORE_SCHEMA);
}

/* The namespace of the option: it is made where there is none. */
static alineo_code make_namespace(postgres_connection *connection, alineo_error **err) {
    const alineo_storage *self = connection->store;
    const char *const doing = "open storage postgres: make the schema of";
    if (self->schema == NULL)
        return ALINEO_OK;
    char *name = PQescapeIdentifier(connection->db, self->schema, strlen(self->schema));
    al_autofree char *text = name != NULL ? al_strf("CREATE SCHEMA IF NOT EXISTS %s", name) : NULL;
    PQfreemem(name);
    if (text == NULL)
        return postgres_no_memory(self, "open", err);
    return postgres_exec(connection, POSTGRES_ANSWER_ANY, text, doing, err);
}

/* Several processes may do this at once: each looks again once it has the lock. */
static alineo_code upgrade(postgres_connection *connection, alineo_error **err) {
    const char *const doing = "open storage postgres: make the tables of";
    alineo_code code = postgres_exec(connection, POSTGRES_ANSWER_MS,
                                     "BEGIN; SET LOCAL lock_timeout = 0", doing, err);
    if (code == ALINEO_OK)
        code = postgres_exec(connection, POSTGRES_ANSWER_ANY, LOCK_SCHEMA, doing, err);
    if (code == ALINEO_OK)
        code = make_namespace(connection, err);
    int64_t version = 0;
    if (code == ALINEO_OK)
        code = read_version(connection, &version, err);
    if (code == ALINEO_OK && version > POSTGRES_STORE_SCHEMA)
        code = refuse_newer(connection->store, version, err);
    if (code == ALINEO_OK && version < POSTGRES_STORE_SCHEMA)
        code = postgres_exec(connection, POSTGRES_ANSWER_ANY,
                             SHARED_SCHEMA OWN_SCHEMA WRITE_VERSION, doing, err);
    if (code == ALINEO_OK)
        code = postgres_exec(connection, POSTGRES_ANSWER_MS, "COMMIT", doing, err);
    return code;
}

/* Other software makes its tables without a lock: then the one that comes second fails, and finds
 * them there when it looks again. */
static alineo_code upgrade_patiently(postgres_connection *connection, alineo_error **err) {
    alineo_code code = ALINEO_OK;
    for (int attempt = 0; attempt < 5; attempt++) {
        alineo_error *error = NULL;
        code = upgrade(connection, &error);
        bool repeats = attempt < 4 && !connection->is_lost && code == ALINEO_STORAGE_REJECTED &&
                       PQtransactionStatus(connection->db) == PQTRANS_INERROR;
        postgres_rollback(connection);
        if (!repeats) {
            if (err != NULL)
                *err = error;
            return code;
        }
        connection->store->host->drop_error(connection->store->host, error);
    }
    return code;
}

static const char *const FACTS =
    "SELECT pg_get_serial_sequence('alineo_events', 'id'), current_setting('fsync'), "
    "current_setting('synchronous_commit'), current_setting('server_encoding')";

static alineo_code keep_numbers(alineo_storage *self, const char *sequence, alineo_error **err) {
    free(self->numbers);
    self->numbers = al_strf(
        "SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM %s", sequence);
    return self->numbers != NULL ? ALINEO_OK : postgres_no_memory(self, "open", err);
}

/* What the ledger was made for, and what the server does not keep of its promise. */
static alineo_code learn(postgres_connection *connection, alineo_error **err) {
    alineo_storage *self = connection->store;
    const alineo_host *host = self->host;
    PGresult *result = NULL;
    postgres_step step = {FACTS, 0, {NULL}, NULL};
    alineo_code code = postgres_run(connection, POSTGRES_ANSWER_MS, &step,
                                    "open storage postgres: look into", &result, err);
    if (code != ALINEO_OK)
        return code;
    const char *sequence = postgres_text(result, 0, 0);
    if (sequence == NULL)
        code = host->fail(host, err, ALINEO_STORAGE_REJECTED, "use another database",
                          "open storage postgres: alineo_events of %s does not number its rows",
                          self->target);
    else if (strcmp(PQgetvalue(result, 0, 3), "UTF8") != 0)
        code = host->fail(host, err, ALINEO_STORAGE_REJECTED,
                          "make it with: CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0",
                          "open storage postgres: %s is in the encoding %s", self->target,
                          PQgetvalue(result, 0, 3));
    else
        code = keep_numbers(self, sequence, err);
    if (code == ALINEO_OK && strcmp(PQgetvalue(result, 0, 1), "off") == 0)
        host->log(host, ALINEO_LOG_WARNING,
                  "the PostgreSQL server runs with fsync = off: a loss of power may destroy the "
                  "ledger");
    PQclear(result);
    return code;
}

static alineo_code prepare(postgres_connection *connection, void *user, alineo_error **err) {
    (void)user;
    int64_t version = 0;
    alineo_code code = read_version(connection, &version, err);
    if (code == ALINEO_OK && version > POSTGRES_STORE_SCHEMA)
        return refuse_newer(connection->store, version, err);
    if (code == ALINEO_OK && version < POSTGRES_STORE_SCHEMA)
        code = upgrade_patiently(connection, err);
    return code == ALINEO_OK ? learn(connection, err) : code;
}

alineo_code postgres_schema_prepare(alineo_storage *self, alineo_error **err) {
    return postgres_do(self, NULL, prepare, NULL, err);
}
