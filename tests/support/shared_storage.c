/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/shared_storage.h"

#include <stdlib.h>
#include <string.h>

#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/str.h"
#include "tests/support/test.h"

extern const alineo_plugin alineo_plugin_storage_memory;

/* What a client has open. */
typedef struct connection {
    shared_storage *shared;
    const alineo_host *host;
} connection;

static shared_storage *of(alineo_storage *self) {
    return ((connection *)(void *)self)->shared;
}

static const alineo_host *host_of(alineo_storage *self) {
    return ((connection *)(void *)self)->host;
}

static alineo_code away(alineo_storage *self, alineo_error **err) {
    const alineo_host *host = host_of(self);
    return (host->fail)(host, err, ALINEO_STORAGE_UNAVAILABLE, NULL, "the storage is away");
}

/* Takes one from a counter of failures; -1 is as many as you like. */
static int takes(atomic_int *count) {
    int left = atomic_load(count);
    while (left > 0)
        if (atomic_compare_exchange_weak(count, &left, left - 1))
            return 1;
    return left < 0;
}

static alineo_code shared_open(const alineo_host *host, const alineo_options *options,
                               alineo_storage **self, alineo_error **err) {
    (void)options;
    shared_storage *shared = (void *)*self;
    if (takes(&shared->open_failures))
        return (host->fail)(host, err, ALINEO_STORAGE_UNAVAILABLE, NULL, "the storage is away");
    connection *opened = malloc(sizeof(*opened));
    if (opened == NULL)
        return (host->fail)(host, err, ALINEO_NO_MEMORY, NULL, "no memory");
    *opened = (connection){shared, host};
    *self = (void *)opened;
    atomic_fetch_add(&shared->opens, 1);
    return ALINEO_OK;
}

static void shared_close(alineo_storage *self) {
    atomic_fetch_add(&of(self)->closes, 1);
    free(self);
}

static alineo_code shared_append(alineo_storage *self, const alineo_ledger_batch *batch,
                                 size_t *failed_index, alineo_error **err) {
    shared_storage *shared = of(self);
    atomic_fetch_add(&shared->appends, 1);
    if (takes(&shared->append_failures))
        return away(self, err);
    alineo_code code = shared->inner->append(shared->memory, batch, failed_index, err);
    return code == ALINEO_OK && takes(&shared->append_unknowns) ? away(self, err) : code;
}

static alineo_code shared_read_open(alineo_storage *self, const alineo_read_request *request,
                                    alineo_storage_reader **reader, alineo_error **err) {
    return of(self)->inner->read_open(of(self)->memory, request, reader, err);
}

static alineo_code shared_read_next(alineo_storage *self, alineo_storage_reader *reader,
                                    alineo_ledger_record *record, int32_t *found,
                                    alineo_error **err) {
    return of(self)->inner->read_next(of(self)->memory, reader, record, found, err);
}

static void shared_read_close(alineo_storage *self, alineo_storage_reader *reader) {
    of(self)->inner->read_close(of(self)->memory, reader);
}

/* A text of the memory storage as one of the client's host. */
static char *hand_over(alineo_storage *self, char *text) {
    const alineo_host *inner = &of(self)->host.host;
    char *copy = NULL;
    if (text != NULL) {
        copy = host_of(self)->alloc(host_of(self), strlen(text) + 1);
        if (copy != NULL)
            memcpy(copy, text, strlen(text) + 1);
    }
    inner->free(inner, text);
    return copy;
}

static alineo_code shared_session_list(alineo_storage *self, const alineo_session_request *request,
                                       alineo_call *call, alineo_session_fn *found, void *user,
                                       char **next_cursor, alineo_error **err) {
    char *cursor = NULL;
    alineo_code code =
        of(self)->inner->session_list(of(self)->memory, request, call, found, user, &cursor, err);
    if (code == ALINEO_OK)
        *next_cursor = hand_over(self, cursor);
    return code;
}

static alineo_code shared_session_get(alineo_storage *self, const char *name,
                                      const char *sandbox_id, alineo_session_fn *found, void *user,
                                      alineo_error **err) {
    return of(self)->inner->session_get(of(self)->memory, name, sandbox_id, found, user, err);
}

static alineo_code shared_session_delete(alineo_storage *self, const char *name,
                                         const char *sandbox_id, uint64_t *removed,
                                         alineo_error **err) {
    return of(self)->inner->session_delete(of(self)->memory, name, sandbox_id, removed, err);
}

static alineo_code shared_meta_get(alineo_storage *self, const char *key, char **value,
                                   alineo_error **err) {
    if (takes(&of(self)->meta_failures))
        return away(self, err);
    char *text = NULL;
    alineo_code code = of(self)->inner->meta_get(of(self)->memory, key, &text, err);
    if (code != ALINEO_OK)
        return code;
    int absent = text == NULL;
    *value = hand_over(self, text);
    return absent || *value != NULL
               ? ALINEO_OK
               : (host_of(self)->fail)(host_of(self), err, ALINEO_NO_MEMORY, NULL, "no memory");
}

static alineo_code shared_meta_put(alineo_storage *self, const char *key, const char *value,
                                   uint32_t flags, alineo_error **err) {
    return of(self)->inner->meta_put(of(self)->memory, key, value, flags, err);
}

void shared_storage_open(shared_storage *storage) {
    const alineo_plugin *plugin = &alineo_plugin_storage_memory;
    memset(storage, 0, sizeof(*storage));
    storage->inner = plugin->table;
    test_host_open(&storage->host, NULL, NULL);
    assert_int_equal(
        storage->inner->open(&storage->host.host, storage->host.options, &storage->memory, NULL),
        ALINEO_OK);
    /* What nobody calls through here stays the memory storage's: it would be given a connection. */
    storage->table = *storage->inner;
    storage->table.open = shared_open;
    storage->table.close = shared_close;
    storage->table.append = shared_append;
    storage->table.read_open = shared_read_open;
    storage->table.read_next = shared_read_next;
    storage->table.read_close = shared_read_close;
    storage->table.session_list = shared_session_list;
    storage->table.session_get = shared_session_get;
    storage->table.session_delete = shared_session_delete;
    storage->table.meta_get = shared_meta_get;
    storage->table.meta_put = shared_meta_put;
    storage->table.follow = NULL;
    storage->table.stats = NULL;
    storage->table.prune = NULL;
    storage->own = (alineo_own_storage){.size = sizeof(storage->own),
                                        .id = "shared",
                                        .descriptor = plugin->descriptor,
                                        .table = &storage->table,
                                        .self_arg = storage};
}

void shared_storage_close(shared_storage *storage) {
    assert_int_equal(atomic_load(&storage->opens), atomic_load(&storage->closes));
    storage->inner->close(storage->memory);
    test_host_close(&storage->host);
}

/* Reads a session, and gives the first payload of the event. */
static size_t look(shared_storage *storage, const char *sandbox_id, const char *event,
                   char **payload) {
    const char *const events[] = {event, NULL};
    alineo_read_request request = {
        .size = sizeof(request), .sandbox_id = sandbox_id, .events = event != NULL ? events : NULL};
    alineo_storage_reader *reader = NULL;
    assert_int_equal(storage->inner->read_open(storage->memory, &request, &reader, NULL),
                     ALINEO_OK);
    size_t count = 0;
    for (;; count++) {
        alineo_ledger_record record = ALINEO_LEDGER_RECORD_INIT;
        int32_t found = 0;
        assert_int_equal(storage->inner->read_next(storage->memory, reader, &record, &found, NULL),
                         ALINEO_OK);
        if (!found)
            break;
        if (payload != NULL && *payload == NULL)
            *payload = al_strndup(record.payload, record.payload_size);
    }
    storage->inner->read_close(storage->memory, reader);
    return count;
}

size_t shared_storage_count(shared_storage *storage, const char *sandbox_id, const char *event) {
    return look(storage, sandbox_id, event, NULL);
}

char *shared_storage_payload(shared_storage *storage, const char *sandbox_id, const char *event) {
    char *payload = NULL;
    (void)look(storage, sandbox_id, event, &payload);
    return payload != NULL ? payload : al_strdup("");
}

void shared_storage_put(shared_storage *storage, const char *sandbox_id, const char *name,
                        const char *event, const char *payload) {
    static atomic_int writers;
    char writer[32];
    (void)snprintf(writer, sizeof(writer), "test-%d", atomic_fetch_add(&writers, 1));
    alineo_ledger_entry entry = ALINEO_LEDGER_ENTRY_INIT;
    entry.sandbox_id = sandbox_id;
    entry.name = name;
    entry.event = event;
    entry.payload = payload;
    entry.payload_size = payload != NULL ? strlen(payload) : 0;
    entry.ts_ms = al_clock_realtime_ms();
    const alineo_ledger_entry *const entries[] = {&entry};
    alineo_ledger_batch batch = {
        .size = sizeof(batch), .writer_id = writer, .first_n = 1, .entries = entries, .count = 1};
    size_t failed = 0;
    assert_int_equal(storage->inner->append(storage->memory, &batch, &failed, NULL), ALINEO_OK);
}
