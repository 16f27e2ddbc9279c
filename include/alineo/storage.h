/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_STORAGE_H
#define ALINEO_STORAGE_H

/**
 * The storage table: what keeps the ledger. Read plugin.h first: its life cycle and rules hold
 * here.
 *
 * The ledger is a sequence of entries. A *session* is the entries of one sandbox id. What an
 * adapter must keep to:
 *
 *  - **Order** of a session is the order in which append() stored it, whatever the clocks say:
 *    appends to one session are serialised, and a reader that was given a position never misses an
 *    entry that becomes visible later below it.
 *  - **All or nothing**: a batch is one transaction. It also records (writer_id, number of the last
 *    entry): a batch that is sent again after an unknown answer stores nothing twice.
 *  - **Done means stored**: append() answers ALINEO_OK only when the batch survives kill -9 of
 *    every process of ours, and a loss of power where the descriptor says so.
 *  - **Bytes**: payloads are valid JSON objects in UTF-8 without U+0000; what is read is equal as
 *    JSON (key order and number spelling may differ), up to 32 MiB each.
 *  - **Two dialects**: event names are written flat ("exec_start") and may be found dotted
 *    ("exec.started"), since other software appends to the same tables. Filters, counts and indexes
 *    treat both as one, also mixed in one session; reading gives the name as it is stored.
 *    ALINEO_EVENT_NAMES lists the pairs. Unknown events are kept and given back.
 *  - **Time** within a session never goes back: an entry whose ts_ms lies below the newest of its
 *    session is stored with the newest's.
 *  - Lists cost what they return, not what the ledger holds. No transaction and no lock is held
 *    between calls.
 *
 * Mandatory: all but the group "optional" at the end. Errors every function may give:
 * STORAGE_UNAVAILABLE (try again: the server is away, the database is busy, the disk is full),
 * STORAGE_CORRUPT (it will not get better by itself), CANCELLED, TIMEOUT, NO_MEMORY, INTERNAL.
 */

#include <alineo/base.h>
#include <alineo/call.h>
#include <alineo/error.h>
#include <alineo/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Flat and dotted names of events: X(constant, flat, dotted). */
#define ALINEO_EVENT_NAMES(X)                                                                      \
    X(SANDBOX_CREATED, "sandbox_created", "sandbox.created")                                       \
    X(SANDBOX_CLOSED, "sandbox_closed", "sandbox.closed")                                          \
    X(SANDBOX_PAUSED, "sandbox_paused", "sandbox.paused")                                          \
    X(SANDBOX_RESUMED, "sandbox_resumed", "sandbox.resumed")                                       \
    X(CHECKPOINT_CREATED, "checkpoint_created", "sandbox.checkpoint_created")                      \
    X(EXEC_START, "exec_start", "exec.started")                                                    \
    X(EXEC_EVENT, "exec_event", "exec.output")                                                     \
    X(EXEC_COMPLETE, "exec_complete", "exec.completed")                                            \
    X(EXEC_LOST, "exec_lost", "exec.lost")                                                         \
    X(EGRESS_RULE_ADDED, "egress_rule_added", "egress.rule_added")                                 \
    X(EGRESS_RULE_REMOVED, "egress_rule_removed", "egress.rule_removed")                           \
    X(CREDENTIAL_BOUND, "credential_bound", "credential.bound")                                    \
    X(CREDENTIAL_REVOKED, "credential_revoked", "credential.revoked")

typedef struct alineo_storage alineo_storage;
/** An open read; the adapter's own type. */
typedef struct alineo_storage_reader alineo_storage_reader;

/** The step index of this entry must be new among the exec_start (exec.started) of its session;
 * else append answers CONFLICT with the entry's index. */
#define ALINEO_ENTRY_CLAIMS_STEP 1u

/** One row of the ledger, on its way in. */
typedef struct alineo_ledger_entry {
    size_t size;
    const char *sandbox_id;
    const char *name;   /* the session's name */
    int32_t step_idx;   /* the exec's seq, from 1; else -1 */
    int32_t has_branch; /* 0: branch is NULL */
    int32_t branch;
    uint32_t flags;      /* ALINEO_ENTRY_* */
    const char *event;   /* flat name */
    const char *payload; /* JSON object; NULL = none */
    size_t payload_size;
    const char *error; /* NULL = none */
    int64_t ts_ms;
} alineo_ledger_entry;
#define ALINEO_LEDGER_ENTRY_INIT                                                                   \
    { sizeof(alineo_ledger_entry), NULL, NULL, -1, 0, 0, 0, NULL, NULL, 0, NULL, 0 }

/** Entries of one writer; sent again unchanged until the answer is known. */
typedef struct alineo_ledger_batch {
    size_t size;
    const char *writer_id; /* random, one a client */
    uint64_t first_n;      /* number of the first entry among all of this writer, from 1 */
    const alineo_ledger_entry *const *entries;
    size_t count; /* at least 1 */
} alineo_ledger_batch;

/** One row on its way out. Strings are valid until the next call on the same reader. */
typedef struct alineo_ledger_record {
    size_t size;
    const char *position; /* at most 63 bytes; a read after it goes on behind this record */
    const char *sandbox_id;
    const char *name;
    int32_t step_idx;
    int32_t has_branch;
    int32_t branch;
    int32_t reserved;
    const char *event;   /* as stored: flat or dotted */
    const char *payload; /* JSON text; NULL = none */
    size_t payload_size;
    const char *error; /* NULL = none */
    int64_t ts_ms;
} alineo_ledger_record;
#define ALINEO_LEDGER_RECORD_INIT                                                                  \
    { sizeof(alineo_ledger_record), NULL, NULL, NULL, -1, 0, 0, 0, NULL, NULL, 0, NULL, 0 }

typedef struct alineo_read_request {
    size_t size;
    const char *sandbox_id;    /* NULL = all sessions, in the order they were stored */
    const char *name;          /* NULL = any */
    const char *after;         /* a position; NULL = from the start */
    const char *const *events; /* flat names, NULL-terminated; NULL = all */
    int32_t step_idx;          /* only this step; 0 = all */
    uint32_t flags;            /* none yet */
} alineo_read_request;

typedef int32_t alineo_session_status;
#define ALINEO_SESSION_ANY ((alineo_session_status)0)
#define ALINEO_SESSION_RUNNING ((alineo_session_status)1)   /* created, not closed */
#define ALINEO_SESSION_COMPLETED ((alineo_session_status)2) /* closed */

/** A session, derived from its entries: grouped by (name, sandbox_id), only where there is a
 * created. */
typedef struct alineo_session {
    size_t size;
    const char *name;
    const char *sandbox_id;
    const char *run_id;   /* runId of the created payload, else the sandbox id */
    const char *provider; /* of the created payload; NULL = not recorded (old rows) */
    alineo_session_status status;
    int32_t last_step;           /* greatest step index; -1 = none */
    int64_t started_at_ms;       /* least ts of created */
    int64_t completed_at_ms;     /* greatest ts of closed; 0 = not closed */
    uint64_t exec_count;         /* exec_complete entries */
    const char *created_payload; /* JSON text of the created entry; NULL = none */
    size_t created_payload_size;
} alineo_session;
#define ALINEO_SESSION_INIT                                                                        \
    { sizeof(alineo_session), NULL, NULL, NULL, NULL, ALINEO_SESSION_ANY, -1, 0, 0, 0, NULL, 0 }

/** Gets a session; strings are valid during the call. A non-zero return ends the listing. */
typedef int32_t alineo_session_fn(void *user, const alineo_session *session);

/** Newest first by start, then by sandbox id. */
typedef struct alineo_session_request {
    size_t size;
    const char *name;   /* NULL = any */
    const char *run_id; /* NULL = any */
    alineo_session_status status;
    int64_t before_ms;  /* only started before; 0 = any */
    uint64_t limit;     /* 0 = no limit */
    const char *cursor; /* as an earlier call gave it; NULL = from the newest */
} alineo_session_request;

/** A built environment: a name, and the snapshot to start from. */
typedef struct alineo_environment_record {
    size_t size;
    const char *name;
    const char *snapshot_id;
    const char *image;
    int64_t built_at_ms;
    const char
        *detail; /* JSON object of ours (provider, setup digest, ...), kept beside; NULL = none */
} alineo_environment_record;
typedef int32_t alineo_environment_fn(void *user, const alineo_environment_record *record);

typedef struct alineo_storage_stats {
    size_t size;
    uint64_t sessions;
    uint64_t events;
    uint64_t bytes; /* on disk or in memory; 0 = not known */
} alineo_storage_stats;

#define ALINEO_META_IF_ABSENT 1u /* leave a value that is there */

#define ALINEO_DURABLE_PROCESS ((int32_t)1) /* survives the end of this process */
#define ALINEO_DURABLE_POWER ((int32_t)2)   /* and a loss of power, as configured by default */

typedef struct alineo_storage_descriptor {
    size_t size;
    const char *title;
    const char *summary;
    const alineo_option_spec *const *options; /* NULL-terminated; NULL = none */
    int32_t durable; /* 0, ALINEO_DURABLE_PROCESS or ALINEO_DURABLE_POWER */
    int32_t shared;  /* non-zero: several processes may use it at once */
} alineo_storage_descriptor;

typedef struct alineo_storage_table {
    size_t size;

    /** Opens, makes what is missing (parent folders, tables), migrates; safe when many processes do
     * so at once. A schema newer than ours is refused (STORAGE_REJECTED) and left untouched. */
    alineo_code (*open)(const alineo_host *host, const alineo_options *options,
                        alineo_storage **self, alineo_error **err);
    void (*close)(alineo_storage *self);

    /**
     * Stores a batch. STORAGE_UNAVAILABLE: not known or not stored, send the same again. With
     * STORAGE_REJECTED (this entry will never fit) and CONFLICT (its step is taken) nothing was
     * stored and *failed_index says which entry.
     */
    alineo_code (*append)(alineo_storage *self, const alineo_ledger_batch *batch,
                          size_t *failed_index, alineo_error **err);

    /** Begins a read; *reader is used by one thread at a time and ended by read_close. */
    alineo_code (*read_open)(alineo_storage *self, const alineo_read_request *request,
                             alineo_storage_reader **reader, alineo_error **err);
    /** The next record, in order; *found 0 = none now (a later call may find more). Memory does not
     * grow with the length of what is read. */
    alineo_code (*read_next)(alineo_storage *self, alineo_storage_reader *reader,
                             alineo_ledger_record *record, int32_t *found, alineo_error **err);
    void (*read_close)(alineo_storage *self, alineo_storage_reader *reader);

    /** *next_cursor: NULL when there are no more, else made with host->alloc. */
    alineo_code (*session_list)(alineo_storage *self, const alineo_session_request *request,
                                alineo_call *call, alineo_session_fn *found, void *user,
                                char **next_cursor, alineo_error **err);
    /** `name` NULL = the sandbox id alone decides. Calls found once, or SESSION_NOT_FOUND. */
    alineo_code (*session_get)(alineo_storage *self, const char *name, const char *sandbox_id,
                               alineo_session_fn *found, void *user, alineo_error **err);
    /** Removes all entries of the session; *removed says how many (0 is fine). */
    alineo_code (*session_delete)(alineo_storage *self, const char *name, const char *sandbox_id,
                                  uint64_t *removed, alineo_error **err);

    /** ENVIRONMENT_NOT_FOUND. */
    alineo_code (*environment_get)(alineo_storage *self, const char *name,
                                   alineo_environment_fn *found, void *user, alineo_error **err);
    alineo_code (*environment_put)(alineo_storage *self, const alineo_environment_record *record,
                                   alineo_error **err);
    alineo_code (*environment_delete)(alineo_storage *self, const char *name, int32_t *removed,
                                      alineo_error **err);
    /** Newest first. */
    alineo_code (*environment_list)(alineo_storage *self, alineo_environment_fn *found, void *user,
                                    alineo_error **err);

    /** Takes the lease `key` for ttl_ms if it is free, expired, or `owner`'s already; else
     * CONFLICT. The clock is the storage's own. */
    alineo_code (*lease_acquire)(alineo_storage *self, const char *key, const char *owner,
                                 int64_t ttl_ms, alineo_error **err);
    /** CONFLICT when it is not the owner's any more. */
    alineo_code (*lease_renew)(alineo_storage *self, const char *key, const char *owner,
                               int64_t ttl_ms, alineo_error **err);
    alineo_code (*lease_release)(alineo_storage *self, const char *key, const char *owner,
                                 alineo_error **err);

    /** *value: made with host->alloc, NULL when the key is not there. */
    alineo_code (*meta_get)(alineo_storage *self, const char *key, char **value,
                            alineo_error **err);
    alineo_code (*meta_put)(alineo_storage *self, const char *key, const char *value,
                            uint32_t flags, alineo_error **err);

    /* --- optional, each by itself --- */

    /** Returns when something may have been appended (to that session, or NULL any), or timeout_ms
     * passed; spurious returns are fine. */
    alineo_code (*follow)(alineo_storage *self, const char *sandbox_id, int64_t timeout_ms,
                          alineo_call *call, alineo_error **err);
    alineo_code (*stats)(alineo_storage *self, alineo_call *call, alineo_storage_stats *stats,
                         alineo_error **err);
    /** Removes whole sessions that were closed before the time; gives freed space back where it
     * can. */
    alineo_code (*prune)(alineo_storage *self, int64_t closed_before_ms, alineo_call *call,
                         uint64_t *removed_sessions, alineo_error **err);
} alineo_storage_table;

#ifdef __cplusplus
}
#endif

#endif
