/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CONTRACT_STORAGE_FIXTURE_H
#define ALINEO_CONTRACT_STORAGE_FIXTURE_H

/* Appending and reading in the storage cases. Every case works on sessions whose ids nobody else
 * has, so that cases may run on a ledger that is in use. */

#include "contract.h"

enum {
    ID_SIZE = 32,
    BATCH_MAX = 64
};

/* A session of the case's own. */
void storage_session_id(char id[ID_SIZE]);

/* Entries on their way: filled one by one, appended as one batch. */
typedef struct entries {
    alineo_ledger_entry list[BATCH_MAX];
    const alineo_ledger_entry *pointers[BATCH_MAX];
    size_t count;
} entries;

/* Strings must outlive the batch. Gives the entry for further settings. */
alineo_ledger_entry *entries_add(entries *e, const char *id, const char *name, const char *event,
                                 const char *payload, int32_t step, int64_t ts_ms);

alineo_code storage_append(contract *c, const entries *e, const char *writer, uint64_t first_n,
                           size_t *failed, alineo_error **err);
/* With a writer of its own; it must work. */
void storage_must_append(contract *c, const entries *e);
/* One entry in a batch of its own; it must work. */
void storage_put(contract *c, const char *id, const char *name, const char *event,
                 const char *payload, int32_t step, int64_t ts_ms);

/* Reads a session, calling `each` for every record in order; gives how many there were. */
typedef void record_fn(contract *c, void *user, const alineo_ledger_record *record, size_t index);
size_t storage_read(contract *c, const alineo_read_request *request, record_fn *each, void *user);
size_t storage_count(contract *c, const char *id);

const alineo_storage_table *storage_table(contract *c);
alineo_storage *storage_self(contract *c);

/* "{\"n\":<n>}" */
const char *numbered_payload(char out[32], size_t n);

#endif
