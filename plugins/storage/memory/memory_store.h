/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_STORAGE_MEMORY_STORE_H
#define ALINEO_STORAGE_MEMORY_STORE_H

/* A ledger in memory, for memory*.c. One lock guards all of it. Events do not change once they are
 * stored, but they may be deleted: what leaves the lock is a copy. */

#include <alineo/storage.h>

#include <pthread.h>
#include <stdbool.h>

#include "core/util/hash.h"
#include "plugins/common/event_name.h"

typedef struct memory_group memory_group;

typedef struct memory_event {
    uint64_t position; /* from 1; never used again */
    memory_group *group;
    common_event kind;
    int32_t step_idx;
    int32_t has_branch;
    int32_t branch;
    int64_t ts_ms;
    size_t payload_size;
    const char *event; /* static, or in text, as all that follow */
    const char *payload;
    const char *error;
    const char *run_id; /* of a created event's payload; NULL = none */
    const char *provider;
    char text[];
} memory_event;

/* Events in the order of their positions. */
typedef struct memory_events {
    memory_event **items;
    size_t count;
    size_t capacity;
} memory_events;

typedef struct memory_steps {
    int32_t *items; /* ascending */
    size_t count;
    size_t capacity;
} memory_steps;

/* All events of a sandbox id. */
typedef struct memory_session {
    char *sandbox_id;
    memory_events events;
    memory_group *groups;
    memory_steps steps; /* of exec_start */
    int64_t newest_ms;
    size_t pending; /* events of the batch that is being prepared */
} memory_session;

/* Those of one name: what is listed as a session. */
struct memory_group {
    memory_group *next; /* of the same sandbox id */
    memory_session *session;
    char *name;
    memory_event *created; /* the first; NULL = none, and then it is not listed */
    bool doomed;           /* it is being deleted */
    int64_t completed_at_ms;
    int32_t last_step;
    uint64_t exec_count;
};

/* Listed groups; the newest last, as they mostly come. */
typedef struct memory_listing {
    memory_group **items;
    size_t count;
    size_t capacity;
} memory_listing;

typedef struct memory_lease {
    char *owner;
    int64_t expires_at_ms; /* by the clock that only runs forward */
} memory_lease;

typedef struct memory_environment {
    char *name;
    char *snapshot_id;
    char *image;
    char *detail;
    int64_t built_at_ms;
} memory_environment;

struct alineo_storage {
    const alineo_host *host;
    pthread_mutex_t lock;
    pthread_cond_t appended; /* for those who follow */
    size_t followers;
    memory_events all;
    uint64_t last_position;
    uint64_t version; /* counts appends */
    uint64_t seen;    /* the version at which a reader last found nothing more */
    uint64_t deletions;
    uint64_t text_size; /* bytes of all events */
    al_hash sessions;
    al_hash writers; /* writer id -> uint64_t on the heap */
    memory_listing listing;
    al_hash leases;
    al_hash environments;
    al_hash meta;
};

alineo_code memory_no_memory(const alineo_storage *self, const char *doing, alineo_error **err);

/* ALINEO_OK while the call may go on. */
alineo_code memory_check_call(const alineo_storage *self, alineo_call *call, const char *doing,
                              alineo_error **err);

/* Room for `more` items of `size` bytes behind the `count` in *items; false without memory. */
bool memory_reserve(void *items, size_t *capacity, size_t count, size_t more, size_t size);

/* --- memory_append.c -------------------------------------------------------------------------- */

alineo_code memory_append(alineo_storage *self, const alineo_ledger_batch *batch,
                          size_t *failed_index, alineo_error **err);

/* --- memory_read.c ---------------------------------------------------------------------------- */

alineo_code memory_read_open(alineo_storage *self, const alineo_read_request *request,
                             alineo_storage_reader **out, alineo_error **err);
alineo_code memory_read_next(alineo_storage *self, alineo_storage_reader *reader,
                             alineo_ledger_record *record, int32_t *found, alineo_error **err);
void memory_read_close(alineo_storage *self, alineo_storage_reader *reader);
alineo_code memory_follow(alineo_storage *self, const char *sandbox_id, int64_t timeout_ms,
                          alineo_call *call, alineo_error **err);

/* --- memory_session.c ------------------------------------------------------------------------- */

/* With the lock held. The group of the name in the session of the id, made if need be; NULL without
 * memory. */
memory_group *memory_group_of(alineo_storage *self, const char *sandbox_id, const char *name);
/* With the lock held. Takes an event that was just stored into account; the listing has room. */
void memory_group_account(alineo_storage *self, memory_event *event);
void memory_group_free(memory_group *group);
void memory_session_free(memory_session *session);

alineo_code memory_session_list(alineo_storage *self, const alineo_session_request *request,
                                alineo_call *call, alineo_session_fn *found, void *user,
                                char **next_cursor, alineo_error **err);
alineo_code memory_session_get(alineo_storage *self, const char *name, const char *sandbox_id,
                               alineo_session_fn *found, void *user, alineo_error **err);

/* --- memory_delete.c -------------------------------------------------------------------------- */

alineo_code memory_session_delete(alineo_storage *self, const char *name, const char *sandbox_id,
                                  uint64_t *removed, alineo_error **err);
alineo_code memory_prune(alineo_storage *self, int64_t closed_before_ms, alineo_call *call,
                         uint64_t *removed_sessions, alineo_error **err);

/* --- memory_record.c: environments, leases, meta ---------------------------------------------- */

alineo_code memory_environment_get(alineo_storage *self, const char *name,
                                   alineo_environment_fn *found, void *user, alineo_error **err);
alineo_code memory_environment_put(alineo_storage *self, const alineo_environment_record *record,
                                   alineo_error **err);
alineo_code memory_environment_delete(alineo_storage *self, const char *name, int32_t *removed,
                                      alineo_error **err);
alineo_code memory_environment_list(alineo_storage *self, alineo_environment_fn *found, void *user,
                                    alineo_error **err);
alineo_code memory_lease_acquire(alineo_storage *self, const char *key, const char *owner,
                                 int64_t ttl_ms, alineo_error **err);
alineo_code memory_lease_renew(alineo_storage *self, const char *key, const char *owner,
                               int64_t ttl_ms, alineo_error **err);
alineo_code memory_lease_release(alineo_storage *self, const char *key, const char *owner,
                                 alineo_error **err);
alineo_code memory_meta_get(alineo_storage *self, const char *key, char **value,
                            alineo_error **err);
alineo_code memory_meta_put(alineo_storage *self, const char *key, const char *value,
                            uint32_t flags, alineo_error **err);
void memory_records_free(alineo_storage *self);

#endif
