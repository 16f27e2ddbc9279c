/* SPDX-License-Identifier: Apache-2.0 */
#include <alineo/ledger.h>

#include "core/client_private.h"
#include "core/struct.h"

#include <stdlib.h>
#include <string.h>

struct alineo_event_reader {
    alineo_client *client;
    alineo_storage_reader *reader;
};

void alineo_event_options_init(alineo_event_options *options) {
    *options = (alineo_event_options)ALINEO_EVENT_OPTIONS_INIT;
}

void alineo_ledger_record_init(alineo_ledger_record *record) {
    *record = (alineo_ledger_record)ALINEO_LEDGER_RECORD_INIT;
}

alineo_code alineo_events_open(alineo_client *client, const alineo_event_options *options,
                               alineo_event_reader **out, alineo_error **err) {
    alineo_code code = al_client_enter(client, err);
    if (code != ALINEO_OK)
        return code;
    alineo_event_options own;
    code = AL_STRUCT_READ(&own, options, "alineo_event_options", err);
    if (code != ALINEO_OK)
        return code;
    if (own.seq < 0)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "use 0 for all", "read events: seq is %d",
                       (int)own.seq);
    alineo_event_reader *reader = calloc(1, sizeof(*reader));
    if (reader == NULL)
        return al_fail_memory(err);
    /* What cannot be stored is no reason not to read what is. */
    (void)al_journal_flush(client->journal, al_journal_patience_ms(client->journal), NULL);
    const al_storage_binding *storage = client->storage;
    const alineo_read_request request = {.size = sizeof(request),
                                         .sandbox_id = own.sandbox_id,
                                         .name = own.name,
                                         .after = own.after,
                                         .events = own.events,
                                         .step_idx = own.seq};
    alineo_error *failure = NULL;
    code = storage->table->read_open(storage->self, &request, &reader->reader, &failure);
    if (al_from_plugin(code, storage->plugin, "read_open", &failure) != ALINEO_OK) {
        free(reader);
        return al_error_give(&failure, err);
    }
    al_client_ref(client);
    reader->client = client;
    *out = reader;
    return ALINEO_OK;
}

alineo_code alineo_events_next(alineo_event_reader *reader, alineo_ledger_record *record,
                               int32_t *found, alineo_error **err) {
    if (reader == NULL || record == NULL || found == NULL || record->size < sizeof(record->size))
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "use ALINEO_LEDGER_RECORD_INIT",
                       "read events: reader, record (with its size) and found are needed");
    alineo_code code = al_client_enter(reader->client, err);
    if (code != ALINEO_OK)
        return code;
    const al_storage_binding *storage = reader->client->storage;
    alineo_ledger_record own = ALINEO_LEDGER_RECORD_INIT;
    int32_t is_there = 0;
    alineo_error *failure = NULL;
    code = storage->table->read_next(storage->self, reader->reader, &own, &is_there, &failure);
    if (al_from_plugin(code, storage->plugin, "read_next", &failure) != ALINEO_OK)
        return al_error_give(&failure, err);
    if (is_there) {
        size_t size = record->size < sizeof(own) ? record->size : sizeof(own);
        own.size = record->size;
        memcpy(record, &own, size);
    }
    *found = is_there != 0;
    return ALINEO_OK;
}

void alineo_events_free(alineo_event_reader *reader) {
    if (reader == NULL)
        return;
    alineo_client *client = reader->client;
    /* In a forked child the plugin is not called: its locks are not ours. */
    if (!al_client_is_forked(client))
        client->storage->table->read_close(client->storage->self, reader->reader);
    free(reader);
    al_client_unref(client);
}
