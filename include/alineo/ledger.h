/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LEDGER_H
#define ALINEO_LEDGER_H

/**
 * Reading the ledger: sessions and events, what runs against what is recorded, and mending the
 * difference.
 */

#include <alineo/base.h>
#include <alineo/client.h>
#include <alineo/error.h>
#include <alineo/sandbox.h>
#include <alineo/storage.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct alineo_session_list_options {
    size_t size;
    const char *name;   /* NULL = any */
    const char *run_id; /* NULL = any */
    alineo_session_status status;
    int64_t before_ms; /* started before; 0 = any */
    uint64_t limit;    /* 0 = no limit */
    alineo_call *call;
} alineo_session_list_options;
#define ALINEO_SESSION_LIST_OPTIONS_INIT                                                           \
    { sizeof(alineo_session_list_options), NULL, NULL, ALINEO_SESSION_ANY, 0, 0, NULL }
ALINEO_API void alineo_session_list_options_init(alineo_session_list_options *options);

/** Sessions, newest first; what this client has queued is stored first. `options` may be NULL. */
ALINEO_API alineo_code alineo_session_list(alineo_client *client,
                                           const alineo_session_list_options *options,
                                           alineo_session_fn *found, void *user,
                                           alineo_error **err);

/** One session; `name` NULL = by sandbox id alone. SESSION_NOT_FOUND. */
ALINEO_API alineo_code alineo_session_get(alineo_client *client, const char *name,
                                          const char *sandbox_id, alineo_session_fn *found,
                                          void *user, alineo_error **err);

/** Removes a session's events; the sandbox is not touched. CONFLICT while this client has a handle
 * on it; SESSION_NOT_FOUND. `name` NULL = by sandbox id alone. */
ALINEO_API alineo_code alineo_session_delete(alineo_client *client, const char *name,
                                             const char *sandbox_id, uint64_t *removed,
                                             alineo_error **err);

/** An open read of events. One thread at a time; holds its client. */
typedef struct alineo_event_reader alineo_event_reader;

typedef struct alineo_event_options {
    size_t size;
    const char *sandbox_id;    /* NULL = all sessions */
    const char *name;          /* NULL = any */
    const char *after;         /* a record's position; NULL = from the start */
    const char *const *events; /* flat names, NULL-terminated; both dialects match; NULL = all */
    int32_t seq;               /* of one exec; 0 = all */
} alineo_event_options;
#define ALINEO_EVENT_OPTIONS_INIT                                                                  \
    { sizeof(alineo_event_options), NULL, NULL, NULL, NULL, 0 }
ALINEO_API void alineo_event_options_init(alineo_event_options *options);
ALINEO_API void alineo_ledger_record_init(alineo_ledger_record *record);

/** Begins a read; what this client has queued is stored first. `options` may be NULL: every event
 * of the ledger. *out is the caller's. INVALID_ARGUMENT (a position that storage did not give),
 * STORAGE_UNAVAILABLE; on failure there is no reader. */
ALINEO_API alineo_code alineo_events_open(alineo_client *client,
                                          const alineo_event_options *options,
                                          alineo_event_reader **out, alineo_error **err);
/** The next record in order; strings are valid until the next call on the reader. *found 0 = none
 * now. */
ALINEO_API alineo_code alineo_events_next(alineo_event_reader *reader, alineo_ledger_record *record,
                                          int32_t *found, alineo_error **err);
ALINEO_API void alineo_events_free(alineo_event_reader *reader);

/** The flat name of an event in either dialect; the name itself where it is unknown. */
ALINEO_API const char *alineo_event_flat_name(const char *event);

/* --- reconcile -------------------------------------------------------------------------------- */

typedef int32_t alineo_finding;
/** A bound sandbox whose owner is gone: it is destroyed on repair. */
#define ALINEO_FINDING_ORPHAN ((alineo_finding)1)
/** It runs, and the ledger has no sandbox_created: it is destroyed. */
#define ALINEO_FINDING_UNRECORDED ((alineo_finding)2)
/** It runs, and the ledger says it was closed: it is destroyed. */
#define ALINEO_FINDING_CLOSED ((alineo_finding)3)
/** The session is open, and its sandbox is gone: sandbox_closed is recorded. */
#define ALINEO_FINDING_GONE ((alineo_finding)4)
/** It belongs to another ledger: never touched. */
#define ALINEO_FINDING_FOREIGN ((alineo_finding)5)

typedef struct alineo_reconcile_item {
    size_t size;
    alineo_finding finding;
    int32_t repaired; /* non-zero: done */
    const char *sandbox_id;
    const char *name;   /* NULL where not known */
    const char *reason; /* a sentence: how that is known, or why the repair failed */
} alineo_reconcile_item;
typedef int32_t alineo_reconcile_fn(void *user, const alineo_reconcile_item *item);

typedef struct alineo_reconcile_options {
    size_t size;
    int32_t repair; /* 0: only list */
    int32_t reserved;
    alineo_call *call;
} alineo_reconcile_options;
#define ALINEO_RECONCILE_OPTIONS_INIT                                                              \
    { sizeof(alineo_reconcile_options), 0, 0, NULL }
ALINEO_API void alineo_reconcile_options_init(alineo_reconcile_options *options);

/** Compares what the provider has with what this ledger says. Never touches a detached sandbox with
 * an open session, nor another ledger's. Needs `list`. */
ALINEO_API alineo_code alineo_reconcile(alineo_client *client,
                                        const alineo_reconcile_options *options,
                                        alineo_reconcile_fn *found, void *user, alineo_error **err);

#ifdef __cplusplus
}
#endif

#endif
