/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <stdio.h>
#include <string.h>

void storage_session_id(char id[ID_SIZE]) {
    char unique[9];
    contract_unique(unique);
    snprintf(id, ID_SIZE, "contract-%s", unique);
}

const alineo_storage_table *storage_table(contract *c) {
    return alineo_direct_storage_table(contract_storage(c));
}

alineo_storage *storage_self(contract *c) {
    return alineo_direct_storage_self(contract_storage(c));
}

alineo_ledger_entry *entries_add(entries *e, const char *id, const char *name, const char *event,
                                 const char *payload, int32_t step, int64_t ts_ms) {
    alineo_ledger_entry *entry = &e->list[e->count];
    *entry = (alineo_ledger_entry)ALINEO_LEDGER_ENTRY_INIT;
    entry->sandbox_id = id;
    entry->name = name;
    entry->event = event;
    entry->payload = payload;
    entry->payload_size = payload != NULL ? strlen(payload) : 0;
    entry->step_idx = step;
    entry->ts_ms = ts_ms;
    e->pointers[e->count++] = entry;
    return entry;
}

alineo_code storage_append(contract *c, const entries *e, const char *writer, uint64_t first_n,
                           size_t *failed, alineo_error **err) {
    alineo_ledger_batch batch = {sizeof(batch), writer, first_n, e->pointers, e->count};
    return storage_table(c)->append(storage_self(c), &batch, failed, err);
}

void storage_must_append(contract *c, const entries *e) {
    char writer[9];
    size_t failed = 0;
    alineo_error *err = NULL;
    contract_unique(writer);
    CHECK_OK(c, storage_append(c, e, writer, 1, &failed, &err), err);
}

void storage_put(contract *c, const char *id, const char *name, const char *event,
                 const char *payload, int32_t step, int64_t ts_ms) {
    entries e = {.count = 0};
    entries_add(&e, id, name, event, payload, step, ts_ms);
    storage_must_append(c, &e);
}

size_t storage_read(contract *c, const alineo_read_request *request, record_fn *each, void *user) {
    alineo_storage_reader *reader = NULL;
    alineo_error *err = NULL;
    size_t count = 0;
    CHECK_OK(c, storage_table(c)->read_open(storage_self(c), request, &reader, &err), err);
    for (;;) {
        alineo_ledger_record record = ALINEO_LEDGER_RECORD_INIT;
        int32_t found = 0;
        CHECK_OK(c, storage_table(c)->read_next(storage_self(c), reader, &record, &found, &err),
                 err);
        if (!found)
            break;
        if (each != NULL)
            each(c, user, &record, count);
        count++;
    }
    storage_table(c)->read_close(storage_self(c), reader);
    return count;
}

size_t storage_count(contract *c, const char *id) {
    alineo_read_request request = {.size = sizeof(request), .sandbox_id = id};
    return storage_read(c, &request, NULL, NULL);
}

const char *numbered_payload(char out[32], size_t n) {
    snprintf(out, 32, "{\"n\":%zu}", n);
    return out;
}
