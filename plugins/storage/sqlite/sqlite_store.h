/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_STORAGE_SQLITE_STORE_H
#define ALINEO_STORAGE_SQLITE_STORE_H

/**
 * A ledger in a SQLite file, for sqlite*.c.
 *
 * Two connections: one writes, one reads, so that neither waits for the other (WAL). Each has a
 * lock. No statement is left open between calls, and no transaction.
 *
 * Nobody else in the process may open the file, or only close a descriptor of it: that would drop
 * the locks that SQLite holds on it (POSIX). So this code makes the file under another name, and
 * asks for its state by path alone.
 */

#include <alineo/storage.h>

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/util/hash.h"
#include "plugins/storage/sqlite/sqlite_statements.h"

/* The schema that this code writes. A file with a higher one is left alone. */
enum {
    SQLITE_STORE_SCHEMA = 1
};

typedef enum sqlite_statement {
#define SQLITE_STATEMENT(name, text) SQLITE_STATEMENT_##name,
    SQLITE_STATEMENTS(SQLITE_STATEMENT)
#undef SQLITE_STATEMENT
    SQLITE_STATEMENT_COUNT
} sqlite_statement;

typedef struct sqlite_connection {
    alineo_storage *store;
    sqlite3 *db; /* NULL until it is needed */
    pthread_mutex_t lock;
    int64_t busy_since_ns; /* of the wait for a lock that is going on, or was the last */
    alineo_call *call;     /* during a call that may be cancelled */
    bool impatient;        /* locks are not waited for */
    sqlite3_stmt *prepared[SQLITE_STATEMENT_COUNT];
} sqlite_connection;

struct alineo_storage {
    const alineo_host *host;
    char *path; /* absolute, or ":memory:" */
    bool in_memory;
    bool sync_full;
    int64_t busy_ms;
    char boot_id[40];
    sqlite_connection writer;
    sqlite_connection own_reader;
    sqlite_connection *reader; /* the writer where the ledger is in memory */

    /* Guarded by the writer's lock: the newest ts of sessions, as long as nobody else writes. */
    al_hash newest;
    int64_t newest_version;

    atomic_llong seen; /* the data version at which a reader last found nothing more */
    atomic_bool warned;
};

/* --- sqlite_db.c ------------------------------------------------------------------------------ */

/** Opens the connection if it is not open yet. The lock is held, as in all that follows. */
alineo_code sqlite_connect(sqlite_connection *connection, alineo_error **err);
void sqlite_disconnect(sqlite_connection *connection);

/** Makes the error for what SQLite gave; `doing` is what was tried ("append to"). */
alineo_code sqlite_fail(sqlite_connection *connection, int rc, const char *doing,
                        alineo_error **err);
alineo_code sqlite_no_memory(const alineo_storage *self, const char *doing, alineo_error **err);

/** Naps while somebody else has a lock; `count` is how often before. False when busyTimeout is
 * over.
 */
bool sqlite_wait_for_lock(sqlite_connection *connection, int count);

/** A kept statement, ready to be bound. An SQLite result. */
int sqlite_prepare(sqlite_connection *connection, sqlite_statement which, sqlite3_stmt **out);
/** Binds what `types` says ('t' a string or NULL, 'i' an int64_t), from ?1 on, and runs it to its
 * first row or its end: SQLITE_ROW, SQLITE_DONE or a failure. Reset it after a row. */
int sqlite_run(sqlite_connection *connection, sqlite_statement which, sqlite3_stmt **out,
               const char *types, ...);
/** The same for one whose rows do not matter: SQLITE_OK when it is done. */
int sqlite_do(sqlite_connection *connection, sqlite_statement which, const char *types, ...);
int sqlite_exec(sqlite_connection *connection, const char *text);

/** A write transaction; waits for other processes. Roll back on every failure in it. */
int sqlite_begin(sqlite_connection *connection);
int sqlite_commit(sqlite_connection *connection);
void sqlite_rollback(sqlite_connection *connection);

/** Counts the commits of everybody else. */
int sqlite_data_version(sqlite_connection *connection, int64_t *out);
/** Is another number after any commit, as the reading connection sees it. */
int sqlite_change_count(sqlite_connection *connection, int64_t *out);

/* --- sqlite_file.c ---------------------------------------------------------------------------- */

/** Sets self->path from the option, makes the folders above it and the empty file. */
alineo_code sqlite_file_prepare(alineo_storage *self, const char *path, alineo_error **err);
/** Size of the file and the WAL beside it. */
uint64_t sqlite_file_size(const alineo_storage *self);

/* --- sqlite_holder.c -------------------------------------------------------------------------- */

/** Appends who holds a lock on the file: "process 17 (alineo)"; nothing where it is not known. */
void sqlite_holder_describe(const char *path, char *out, size_t size);

/* --- sqlite_schema.c -------------------------------------------------------------------------- */

/** Refuses a schema newer than ours, makes what is missing. */
alineo_code sqlite_schema_prepare(sqlite_connection *connection, alineo_error **err);

/* --- sqlite_append.c -------------------------------------------------------------------------- */

alineo_code sqlite_append(alineo_storage *self, const alineo_ledger_batch *batch,
                          size_t *failed_index, alineo_error **err);
void sqlite_forget_newest(alineo_storage *self);

/* --- sqlite_read.c ---------------------------------------------------------------------------- */

alineo_code sqlite_read_open(alineo_storage *self, const alineo_read_request *request,
                             alineo_storage_reader **out, alineo_error **err);
alineo_code sqlite_read_next(alineo_storage *self, alineo_storage_reader *reader,
                             alineo_ledger_record *record, int32_t *found, alineo_error **err);
void sqlite_read_close(alineo_storage *self, alineo_storage_reader *reader);

/* --- sqlite_follow.c -------------------------------------------------------------------------- */

alineo_code sqlite_follow(alineo_storage *self, const char *sandbox_id, int64_t timeout_ms,
                          alineo_call *call, alineo_error **err);

/* --- sqlite_session.c ------------------------------------------------------------------------- */

alineo_code sqlite_session_list(alineo_storage *self, const alineo_session_request *request,
                                alineo_call *call, alineo_session_fn *found, void *user,
                                char **next_cursor, alineo_error **err);
alineo_code sqlite_session_get(alineo_storage *self, const char *name, const char *sandbox_id,
                               alineo_session_fn *found, void *user, alineo_error **err);

/* --- sqlite_open_set.c ------------------------------------------------------------------------ */

/** Brings the set of open sessions up to date, if it is worth it and nobody is in the way. */
void sqlite_open_set_refresh(alineo_storage *self);

/* --- sqlite_delete.c -------------------------------------------------------------------------- */

alineo_code sqlite_session_delete(alineo_storage *self, const char *name, const char *sandbox_id,
                                  uint64_t *removed, alineo_error **err);
alineo_code sqlite_prune(alineo_storage *self, int64_t closed_before_ms, alineo_call *call,
                         uint64_t *removed_sessions, alineo_error **err);
alineo_code sqlite_stats(alineo_storage *self, alineo_call *call, alineo_storage_stats *stats,
                         alineo_error **err);

/* --- sqlite_record.c -------------------------------------------------------------------------- */

alineo_code sqlite_environment_get(alineo_storage *self, const char *name,
                                   alineo_environment_fn *found, void *user, alineo_error **err);
alineo_code sqlite_environment_put(alineo_storage *self, const alineo_environment_record *record,
                                   alineo_error **err);
alineo_code sqlite_environment_delete(alineo_storage *self, const char *name, int32_t *removed,
                                      alineo_error **err);
alineo_code sqlite_environment_list(alineo_storage *self, alineo_environment_fn *found, void *user,
                                    alineo_error **err);
alineo_code sqlite_lease_acquire(alineo_storage *self, const char *key, const char *owner,
                                 int64_t ttl_ms, alineo_error **err);
alineo_code sqlite_lease_renew(alineo_storage *self, const char *key, const char *owner,
                               int64_t ttl_ms, alineo_error **err);
alineo_code sqlite_lease_release(alineo_storage *self, const char *key, const char *owner,
                                 alineo_error **err);
alineo_code sqlite_meta_get(alineo_storage *self, const char *key, char **value,
                            alineo_error **err);
alineo_code sqlite_meta_put(alineo_storage *self, const char *key, const char *value,
                            uint32_t flags, alineo_error **err);

#endif
