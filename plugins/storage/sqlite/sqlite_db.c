/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/sqlite/sqlite_store.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "core/util/clock.h"

enum {
    /* Pages of WAL after which a commit also moves them to the file: 4 MiB of small commits. */
    CHECKPOINT_PAGES = 4000,
    WAL_LARGE_PAGES = 65536,
    /* Steps of the virtual machine between two looks whether a call was cancelled. */
    CANCEL_STEPS = 4000
};
/* What the WAL is cut to when it is empty again. */
#define WAL_SIZE_KEPT "67108864"
/* Pages kept in memory, in KiB (negative, as SQLite has it). */
#define CACHE_SIZE "-8192"

static const char *const STATEMENTS[] = {
#define STATEMENT_TEXT(name, text) text,
    SQLITE_STATEMENTS(STATEMENT_TEXT)
#undef STATEMENT_TEXT
};

/* --- errors ----------------------------------------------------------------------------------- */

alineo_code sqlite_no_memory(const alineo_storage *self, const char *doing, alineo_error **err) {
    return self->host->fail(self->host, err, ALINEO_NO_MEMORY, NULL, "%s: out of memory", doing);
}

static alineo_code fail_busy(sqlite_connection *connection, const char *doing, alineo_error **err) {
    const alineo_storage *self = connection->store;
    char holder[128];
    sqlite_holder_describe(self->path, holder, sizeof(holder));
    return self->host->fail(self->host, err, ALINEO_STORAGE_UNAVAILABLE,
                            "let whoever holds it finish, or raise storage.busyTimeout",
                            "%s %s: the database is locked%s%s (waited %lld ms)", doing, self->path,
                            holder[0] != '\0' ? " by " : " by another process or program", holder,
                            (long long)self->busy_ms);
}

static alineo_code fail_interrupted(sqlite_connection *connection, const char *doing,
                                    alineo_error **err) {
    const alineo_host *host = connection->store->host;
    if (host->call_cancelled(host, connection->call))
        return host->fail(host, err, ALINEO_CANCELLED, NULL, "%s %s: cancelled", doing,
                          connection->store->path);
    return host->fail(host, err, ALINEO_TIMEOUT, NULL, "%s %s: out of time", doing,
                      connection->store->path);
}

static const char hint_full[] = "free space on the file system that it is on";
static const char hint_corrupt[] =
    "restore a copy, or save what can be read: sqlite3 FILE .recover | sqlite3 NEW";
static const char hint_access[] = "let this user write the file and the folder that it is in";

/* What SQLite's primary result codes mean to a caller; those with a way of their own are not here.
 * */
static const struct meaning {
    int primary;
    alineo_code code;
    const char *hint;
} meanings[] = {
    {SQLITE_FULL, ALINEO_STORAGE_UNAVAILABLE, hint_full},
    {SQLITE_IOERR, ALINEO_STORAGE_UNAVAILABLE, NULL},
    {SQLITE_CORRUPT, ALINEO_STORAGE_CORRUPT, hint_corrupt},
    {SQLITE_NOTADB, ALINEO_STORAGE_CORRUPT, hint_corrupt},
    {SQLITE_READONLY, ALINEO_STORAGE_UNAVAILABLE, hint_access},
    {SQLITE_CANTOPEN, ALINEO_STORAGE_UNAVAILABLE, hint_access},
    {SQLITE_PERM, ALINEO_STORAGE_UNAVAILABLE, hint_access},
    {SQLITE_AUTH, ALINEO_STORAGE_UNAVAILABLE, hint_access},
    {SQLITE_TOOBIG, ALINEO_STORAGE_REJECTED, NULL},
    {SQLITE_CONSTRAINT, ALINEO_STORAGE_REJECTED, NULL},
    {SQLITE_MISMATCH, ALINEO_STORAGE_REJECTED, NULL},
};

static const struct meaning *meaning_of(int primary) {
    static const struct meaning ours = {0, ALINEO_INTERNAL, NULL};
    for (size_t i = 0; i < AL_COUNT(meanings); i++) {
        if (meanings[i].primary == primary)
            return &meanings[i];
    }
    return &ours;
}

/* Any other result code, with what the system said where it was asked for something. */
static alineo_code fail_with_meaning(sqlite_connection *connection, int rc, const char *doing,
                                     alineo_error **err) {
    const alineo_storage *self = connection->store;
    int primary = rc & 0xff;
    const struct meaning *meaning = meaning_of(primary);
    const char *hint = meaning->hint;
    const char *text = connection->db != NULL ? sqlite3_errmsg(connection->db) : sqlite3_errstr(rc);
    int system = 0;
    if (connection->db != NULL && (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN))
        system = sqlite3_system_errno(connection->db);
    if (primary == SQLITE_IOERR && (system == ENOSPC || system == EDQUOT))
        hint = hint_full;
    return self->host->fail(self->host, err, meaning->code, hint, "%s %s: %s%s%s", doing,
                            self->path, text, system != 0 ? ": " : "",
                            system != 0 ? strerrordesc_np(system) : "");
}

alineo_code sqlite_fail(sqlite_connection *connection, int rc, const char *doing,
                        alineo_error **err) {
    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return fail_busy(connection, doing, err);
    case SQLITE_INTERRUPT:
        return fail_interrupted(connection, doing, err);
    case SQLITE_NOMEM:
        return sqlite_no_memory(connection->store, doing, err);
    default:
        return fail_with_meaning(connection, rc, doing, err);
    }
}

/* --- callbacks -------------------------------------------------------------------------------- */

bool sqlite_wait_for_lock(sqlite_connection *connection, int count) {
    if (connection->impatient)
        return false;
    int64_t now = al_clock_monotonic_ns();
    if (count == 0)
        connection->busy_since_ns = now;
    if (now - connection->busy_since_ns >= connection->store->busy_ms * 1000000)
        return false;
    /* Short naps at first, since most are held for one commit. */
    struct timespec nap = {0, (count < 10 ? 1 : count < 50 ? 4 : 20) * 250000L};
    (void)nanosleep(&nap, NULL);
    return true;
}

static int is_busy(void *user, int count) {
    return sqlite_wait_for_lock(user, count);
}

static int is_over(void *user) {
    sqlite_connection *connection = user;
    const alineo_host *host = connection->store->host;
    return connection->call != NULL && (host->call_cancelled(host, connection->call) ||
                                        host->call_remaining_ms(host, connection->call) == 0);
}

/* After a commit. A reader elsewhere that does not end keeps the WAL from being used again. */
static int after_commit(void *user, sqlite3 *db, const char *name, int pages) {
    sqlite_connection *connection = user;
    alineo_storage *self = connection->store;
    if (pages < CHECKPOINT_PAGES)
        return SQLITE_OK;
    int log = 0, done = 0;
    int rc = sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, &log, &done);
    if (log - done >= WAL_LARGE_PAGES && !atomic_exchange(&self->warned, true))
        self->host->log(self->host, ALINEO_LOG_WARNING,
                        "the WAL of the ledger grows: another program reads the file without end");
    /* What was committed is stored, whatever becomes of the checkpoint: it is tried again. */
    return rc == SQLITE_NOMEM ? rc : SQLITE_OK;
}

/* --- connections ------------------------------------------------------------------------------ */

int sqlite_exec(sqlite_connection *connection, const char *text) {
    return sqlite3_exec(connection->db, text, NULL, NULL, NULL);
}

static alineo_code check_writable(sqlite_connection *connection, alineo_error **err) {
    const alineo_storage *self = connection->store;
    if (sqlite3_db_readonly(connection->db, "main") != 1)
        return ALINEO_OK;
    return self->host->fail(self->host, err, ALINEO_STORAGE_UNAVAILABLE, hint_access,
                            "open storage sqlite: %s can only be read", self->path);
}

static int configure(sqlite_connection *connection) {
    sqlite3 *db = connection->db;
    int rc = sqlite3_extended_result_codes(db, 1);
    if (rc == SQLITE_OK)
        rc = sqlite3_busy_handler(db, is_busy, connection);
    if (rc == SQLITE_OK)
        rc = sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite_exec(connection, connection->store->sync_full ? "PRAGMA synchronous = FULL"
                                                                  : "PRAGMA synchronous = NORMAL");
    if (rc == SQLITE_OK)
        rc = sqlite_exec(connection, "PRAGMA temp_store = MEMORY");
    if (rc == SQLITE_OK)
        rc = sqlite_exec(connection, "PRAGMA journal_size_limit = " WAL_SIZE_KEPT);
    if (rc == SQLITE_OK)
        rc = sqlite_exec(connection, "PRAGMA cache_size = " CACHE_SIZE);
    (void)sqlite3_wal_hook(db, after_commit, connection);
    sqlite3_progress_handler(db, CANCEL_STEPS, is_over, connection);
    return rc;
}

alineo_code sqlite_connect(sqlite_connection *connection, alineo_error **err) {
    if (connection->db != NULL)
        return ALINEO_OK;
    const alineo_storage *self = connection->store;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                (self->in_memory ? SQLITE_OPEN_MEMORY | SQLITE_OPEN_CREATE : 0);
    int rc = sqlite3_open_v2(self->path, &connection->db, flags, NULL);
    if (rc == SQLITE_OK)
        rc = configure(connection);
    alineo_code code = ALINEO_OK;
    if (rc != SQLITE_OK)
        code = sqlite_fail(connection, rc, "open storage sqlite: open", err);
    else
        code = check_writable(connection, err);
    if (code != ALINEO_OK)
        sqlite_disconnect(connection);
    return code;
}

void sqlite_disconnect(sqlite_connection *connection) {
    for (size_t i = 0; i < SQLITE_STATEMENT_COUNT; i++) {
        (void)sqlite3_finalize(connection->prepared[i]);
        connection->prepared[i] = NULL;
    }
    /* The last connection to the file moves the WAL into it. */
    (void)sqlite3_close_v2(connection->db);
    connection->db = NULL;
}

/* --- statements ------------------------------------------------------------------------------- */

int sqlite_prepare(sqlite_connection *connection, sqlite_statement which, sqlite3_stmt **out) {
    sqlite3_stmt **kept = &connection->prepared[which];
    if (*kept == NULL) {
        int rc = sqlite3_prepare_v3(connection->db, STATEMENTS[which], -1,
                                    SQLITE_PREPARE_PERSISTENT, kept, NULL);
        if (rc != SQLITE_OK)
            return rc;
    }
    *out = *kept;
    return SQLITE_OK;
}

static int run(sqlite_connection *connection, sqlite_statement which, sqlite3_stmt **out,
               const char *types, va_list arguments) {
    sqlite3_stmt *statement = NULL;
    int rc = sqlite_prepare(connection, which, &statement);
    for (int i = 0; rc == SQLITE_OK && types[i] != '\0'; i++) {
        if (types[i] == 't')
            rc = sqlite3_bind_text(statement, i + 1, va_arg(arguments, const char *), -1,
                                   SQLITE_STATIC);
        else
            rc = sqlite3_bind_int64(statement, i + 1, va_arg(arguments, int64_t));
    }
    if (rc != SQLITE_OK)
        return rc;
    rc = sqlite3_step(statement);
    if (rc != SQLITE_ROW)
        (void)sqlite3_reset(statement);
    *out = statement;
    return rc;
}

int sqlite_run(sqlite_connection *connection, sqlite_statement which, sqlite3_stmt **out,
               const char *types, ...) {
    va_list arguments;
    va_start(arguments, types);
    int rc = run(connection, which, out, types, arguments);
    va_end(arguments);
    return rc;
}

int sqlite_do(sqlite_connection *connection, sqlite_statement which, const char *types, ...) {
    sqlite3_stmt *statement = NULL;
    va_list arguments;
    va_start(arguments, types);
    int rc = run(connection, which, &statement, types, arguments);
    va_end(arguments);
    if (rc == SQLITE_ROW)
        rc = sqlite3_reset(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* --- transactions ----------------------------------------------------------------------------- */

int sqlite_begin(sqlite_connection *connection) {
    return sqlite_do(connection, SQLITE_STATEMENT_BEGIN, "");
}

int sqlite_commit(sqlite_connection *connection) {
    return sqlite_do(connection, SQLITE_STATEMENT_COMMIT, "");
}

void sqlite_rollback(sqlite_connection *connection) {
    /* Some failures have rolled back by themselves. */
    if (!sqlite3_get_autocommit(connection->db))
        (void)sqlite_do(connection, SQLITE_STATEMENT_ROLLBACK, "");
}

int sqlite_data_version(sqlite_connection *connection, int64_t *out) {
    sqlite3_stmt *statement = NULL;
    int rc = sqlite_run(connection, SQLITE_STATEMENT_DATA_VERSION, &statement, "");
    if (rc != SQLITE_ROW)
        return rc == SQLITE_DONE ? SQLITE_INTERNAL : rc;
    *out = sqlite3_column_int64(statement, 0);
    return sqlite3_reset(statement);
}

int sqlite_change_count(sqlite_connection *connection, int64_t *out) {
    if (!connection->store->in_memory)
        return sqlite_data_version(connection, out);
    *out = sqlite3_total_changes64(connection->db);
    return SQLITE_OK;
}
