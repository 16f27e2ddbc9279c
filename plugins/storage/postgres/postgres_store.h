/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_STORAGE_POSTGRES_STORE_H
#define ALINEO_STORAGE_POSTGRES_STORE_H

/**
 * A ledger in a PostgreSQL database, for postgres*.c.
 *
 * A small pool of connections. A function takes one, does its work and gives it back: between calls
 * no transaction is open, and callbacks run when no connection is held any more. A connection that
 * broke, or whose answer is not awaited any more, is closed; the next is made with a growing pause
 * between attempts.
 */

#include <alineo/storage.h>

#include <libpq-fe.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/util/buf.h"
#include "core/util/clock.h"
#include "plugins/common/session_page.h"

/* The schema that this code writes. A database with a higher one is left alone. */
enum {
    POSTGRES_STORE_SCHEMA = 1
};

/* How long an answer is awaited: of what takes milliseconds, and of what takes as long as it does.
 */
#define POSTGRES_ANSWER_MS 30000
#define POSTGRES_ANSWER_ANY (-1)

typedef struct postgres_connection {
    alineo_storage *store;
    PGconn *db;
    struct postgres_connection *next; /* in the pool */
    alineo_call *call;                /* during a call that may be cancelled */
    al_deadline deadline;             /* of the answer that is awaited */
    bool is_used;                     /* it has served a call before */
    bool is_lost;                     /* to be closed */
    bool may_repeat;     /* the failure was of the connection, or of transactions in the way */
    char *followed;      /* of a listening one: the sandbox id; "" = all, NULL = none */
    int64_t given_at_ms; /* when it was last given back */
} postgres_connection;

typedef struct postgres_pool {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    postgres_connection *idle; /* last given first */
    size_t count;              /* of connections, idle and in use */
    size_t limit;
    /* Listening ones, apart: not counted, the idle ones kept for the next call. */
    postgres_connection *listening;
    size_t listening_count;
    int failures;        /* to connect, in a row */
    int64_t retry_at_ms; /* not before, on the monotonic clock */
} postgres_pool;

struct alineo_storage {
    const alineo_host *host;
    pid_t pid;      /* that opened it: a child must not speak on its connections */
    char *url;      /* as in the config: may hold a password, never shown; NULL = none */
    char *password; /* the same */
    char *schema;   /* NULL = what the server's search path says */
    char *target;   /* "user@host:port/database", for messages */
    char *numbers;  /* query for the last id that was given to a row of alineo_events */
    bool sync_full;
    postgres_pool pool;
};

/* --- postgres_connect.c ----------------------------------------------------------------------- */

/** Opens a connection and sets it up. With `explain` a refusal (password, database) is told from a
 * server that is away: STORAGE_REJECTED. */
alineo_code postgres_connect(alineo_storage *self, bool explain, postgres_connection **out,
                             alineo_error **err);
void postgres_disconnect(postgres_connection *connection);

/* --- postgres_pool.c -------------------------------------------------------------------------- */

int postgres_pool_init(postgres_pool *pool, size_t limit);
void postgres_pool_free(postgres_pool *pool);

/** What is done with a connection. `work` may be run again where the connection was lost or
 * transactions were in each other's way: it must bear that. */
typedef alineo_code postgres_work(postgres_connection *connection, void *user, alineo_error **err);
alineo_code postgres_do(alineo_storage *self, alineo_call *call, postgres_work *work, void *user,
                        alineo_error **err);
/** A connection that is not of the pool, made with the pool's pauses. */
alineo_code postgres_connect_patiently(alineo_storage *self, alineo_call *call,
                                       postgres_connection **out, alineo_error **err);
/** False in a child of the process that opened the store; the error is made. */
bool postgres_is_own_process(const alineo_storage *self, alineo_error **err);

/* --- postgres_query.c ------------------------------------------------------------------------- */

enum {
    POSTGRES_VALUES_MAX = 40
};

/** One statement of a pipeline: parameters $1.. as text, NULL is NULL. */
typedef struct postgres_step {
    const char *text;
    int count;
    const char *values[POSTGRES_VALUES_MAX];
    PGresult *result; /* after success: rows or the count of rows, to be cleared */
} postgres_step;

void postgres_clear(postgres_step *steps, size_t count);

/** Sends all of them and awaits all answers, in one round trip. On failure no result is left. */
alineo_code postgres_pipeline(postgres_connection *connection, int64_t answer_ms,
                              postgres_step *steps, size_t count, const char *doing,
                              alineo_error **err);
/** One statement; *out (may be NULL: its rows do not matter) is to be cleared. */
alineo_code postgres_run(postgres_connection *connection, int64_t answer_ms, postgres_step *step,
                         const char *doing, PGresult **out, alineo_error **err);
/** Statements without parameters, split by ';', outside a pipeline. */
alineo_code postgres_exec(postgres_connection *connection, int64_t answer_ms, const char *text,
                          const char *doing, alineo_error **err);
/** Ends the transaction that a failure left open; where that fails the connection is lost. */
void postgres_rollback(postgres_connection *connection);

/** Sends what is queued and awaits the next answer, which PQgetResult then gives at once. */
alineo_code postgres_await(postgres_connection *connection, const char *doing, alineo_error **err);
/** Sends what is queued. */
alineo_code postgres_flush(postgres_connection *connection, const char *doing, alineo_error **err);

/** Cells of a row. */
int64_t postgres_int64(const PGresult *result, int row, int column);
const char *postgres_text(const PGresult *result, int row, int column); /* NULL is NULL */

/** Appends an item of an array in PostgreSQL's text form, with what parts it from the last. */
void postgres_array_add(al_buf *array, const char *item);
const char *postgres_array_end(al_buf *array); /* NULL without memory */

/* --- postgres_error.c ------------------------------------------------------------------------- */

/** Makes the error for a failed result. */
alineo_code postgres_fail(postgres_connection *connection, const PGresult *result,
                          const char *doing, alineo_error **err);
/** For a connection that failed: it is lost. */
alineo_code postgres_fail_lost(postgres_connection *connection, const char *doing,
                               alineo_error **err);
alineo_code postgres_no_memory(const alineo_storage *self, const char *doing, alineo_error **err);
/** What PostgreSQL says of why, its first line. */
void postgres_reason(const char *message, char *out, size_t size);
/** Whether the result says that the data can never be stored. */
bool postgres_is_refused_data(const PGresult *result);

/* --- postgres_schema.c ------------------------------------------------------------------------ */

/** Refuses a schema newer than ours, makes what is missing, learns what it needs to know. */
alineo_code postgres_schema_prepare(alineo_storage *self, alineo_error **err);

/* --- postgres_append.c ------------------------------------------------------------------------ */

alineo_code postgres_append(alineo_storage *self, const alineo_ledger_batch *batch,
                            size_t *failed_index, alineo_error **err);

/* --- postgres_copy.c -------------------------------------------------------------------------- */

/** Rows on their way into alineo_events: entries[0..count), each with its own ts. The transaction
 * is open. `rest` is run behind the rows ("...; COMMIT"). */
typedef struct postgres_copy {
    const alineo_ledger_entry *const *entries;
    const int64_t *ts_ms;
    size_t count;
    const char *rest;
    bool is_refused; /* out: a row can never be stored */
} postgres_copy;

alineo_code postgres_copy_rows(postgres_connection *connection, postgres_copy *copy,
                               alineo_error **err);

/* --- postgres_fence.c ------------------------------------------------------------------------- */

/** A bound: all ids up to it are decided, no row with one of them is to come any more. Asked for by
 * these steps, which go in front of the read; for a reader of one session, or of all. */
enum {
    POSTGRES_FENCE_STEPS = 2
};
void postgres_fence_ask(const alineo_storage *self, bool one_session,
                        postgres_step steps[POSTGRES_FENCE_STEPS]);
/** Awaits the transactions that the answers name. *waited: rows that were read behind the steps are
 * to be read again. */
alineo_code postgres_fence_settle(postgres_connection *connection,
                                  const postgres_step steps[POSTGRES_FENCE_STEPS], int64_t *bound,
                                  bool *waited, alineo_error **err);

/* --- postgres_read.c -------------------------------------------------------------------------- */

alineo_code postgres_read_open(alineo_storage *self, const alineo_read_request *request,
                               alineo_storage_reader **out, alineo_error **err);
alineo_code postgres_read_next(alineo_storage *self, alineo_storage_reader *reader,
                               alineo_ledger_record *record, int32_t *found, alineo_error **err);
void postgres_read_close(alineo_storage *self, alineo_storage_reader *reader);

/* --- postgres_follow.c ------------------------------------------------------------------------ */

alineo_code postgres_follow(alineo_storage *self, const char *sandbox_id, int64_t timeout_ms,
                            alineo_call *call, alineo_error **err);

/* --- postgres_session.c ----------------------------------------------------------------------- */

alineo_code postgres_session_list(alineo_storage *self, const alineo_session_request *request,
                                  alineo_call *call, alineo_session_fn *found, void *user,
                                  char **next_cursor, alineo_error **err);
alineo_code postgres_session_get(alineo_storage *self, const char *name, const char *sandbox_id,
                                 alineo_session_fn *found, void *user, alineo_error **err);

/* --- postgres_delete.c ------------------------------------------------------------------------ */

alineo_code postgres_session_delete(alineo_storage *self, const char *name, const char *sandbox_id,
                                    uint64_t *removed, alineo_error **err);
alineo_code postgres_prune(alineo_storage *self, int64_t closed_before_ms, alineo_call *call,
                           uint64_t *removed_sessions, alineo_error **err);
alineo_code postgres_stats(alineo_storage *self, alineo_call *call, alineo_storage_stats *stats,
                           alineo_error **err);

/* --- postgres_record.c ------------------------------------------------------------------------ */

alineo_code postgres_environment_get(alineo_storage *self, const char *name,
                                     alineo_environment_fn *found, void *user, alineo_error **err);
alineo_code postgres_environment_put(alineo_storage *self, const alineo_environment_record *record,
                                     alineo_error **err);
alineo_code postgres_environment_delete(alineo_storage *self, const char *name, int32_t *removed,
                                        alineo_error **err);
alineo_code postgres_environment_list(alineo_storage *self, alineo_environment_fn *found,
                                      void *user, alineo_error **err);
alineo_code postgres_lease_acquire(alineo_storage *self, const char *key, const char *owner,
                                   int64_t ttl_ms, alineo_error **err);
alineo_code postgres_lease_renew(alineo_storage *self, const char *key, const char *owner,
                                 int64_t ttl_ms, alineo_error **err);
alineo_code postgres_lease_release(alineo_storage *self, const char *key, const char *owner,
                                   alineo_error **err);
alineo_code postgres_meta_get(alineo_storage *self, const char *key, char **value,
                              alineo_error **err);
alineo_code postgres_meta_put(alineo_storage *self, const char *key, const char *value,
                              uint32_t flags, alineo_error **err);

#endif
