/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/memory/memory_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/buf.h"
#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/num.h"
#include "core/util/str.h"

struct alineo_storage_reader {
    char *sandbox_id; /* NULL = all */
    char *name;       /* NULL = any */
    common_event_filter filter;
    int32_t step_idx; /* 0 = all */
    uint64_t after;
    size_t index; /* where to look first, if nothing was deleted since */
    uint64_t deletions;
    char position[24];
    al_buf text; /* of the last record */
};

static void reader_free(alineo_storage_reader *reader) {
    free(reader->sandbox_id);
    free(reader->name);
    common_event_filter_free(&reader->filter);
    al_buf_free(&reader->text);
    free(reader);
}

alineo_code memory_read_open(alineo_storage *self, const alineo_read_request *request,
                             alineo_storage_reader **out, alineo_error **err) {
    uint64_t after = 0;
    if (request->after != NULL && al_parse_uint64(request->after, &after) != 0)
        return self->host->fail(self->host, err, ALINEO_INVALID_ARGUMENT,
                                "use the position of a record that was read",
                                "read storage memory: \"%.63s\" is no position", request->after);
    alineo_storage_reader *reader = calloc(1, sizeof(*reader));
    if (reader == NULL)
        return memory_no_memory(self, "read storage memory", err);
    reader->after = after;
    reader->step_idx = request->step_idx;
    reader->sandbox_id = al_strdup(request->sandbox_id);
    reader->name = al_strdup(request->name);
    if ((request->sandbox_id != NULL && reader->sandbox_id == NULL) ||
        (request->name != NULL && reader->name == NULL) ||
        common_event_filter_init(&reader->filter, request->events) != 0) {
        reader_free(reader);
        return memory_no_memory(self, "read storage memory", err);
    }
    *out = reader;
    return ALINEO_OK;
}

void memory_read_close(alineo_storage *self, alineo_storage_reader *reader) {
    (void)self;
    if (reader != NULL)
        reader_free(reader);
}

/* The first event behind the position. */
static size_t behind(const memory_events *events, uint64_t position) {
    size_t low = 0, high = events->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (events->items[middle]->position <= position)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool matches(const alineo_storage_reader *reader, const memory_event *event) {
    return (reader->name == NULL || strcmp(reader->name, event->group->name) == 0) &&
           (reader->step_idx == 0 || reader->step_idx == event->step_idx) &&
           common_event_filter_match(&reader->filter, event->kind, event->event);
}

/* With the lock held. The next event that matches; NULL = none now. */
static const memory_event *next_event(alineo_storage *self, alineo_storage_reader *reader) {
    const memory_events *events = &self->all;
    if (reader->sandbox_id != NULL) {
        const memory_session *session = al_hash_get(&self->sessions, reader->sandbox_id);
        if (session == NULL)
            return NULL;
        events = &session->events;
    }
    if (reader->index == 0 || reader->deletions != self->deletions)
        reader->index = behind(events, reader->after);
    reader->deletions = self->deletions;
    for (; reader->index < events->count; reader->index++) {
        const memory_event *event = events->items[reader->index];
        reader->after = event->position;
        if (matches(reader, event)) {
            reader->index++;
            return event;
        }
    }
    return NULL;
}

static const char *copy(al_buf *text, const char *data, size_t size) {
    if (data == NULL)
        return NULL;
    const char *at = text->data + text->size;
    al_buf_append(text, data, size);
    al_buf_append_char(text, '\0');
    return at;
}

static bool fill(alineo_storage_reader *reader, const memory_event *event,
                 alineo_ledger_record *record) {
    const char *id = event->group->session->sandbox_id, *name = event->group->name;
    const char *error = event->error;
    al_buf *text = &reader->text;
    al_buf_clear(text);
    size_t size = strlen(id) + strlen(name) + strlen(event->event) + event->payload_size +
                  (error != NULL ? strlen(error) : 0) + 8;
    if (al_buf_reserve(text, size) == NULL)
        return false;
    (void)snprintf(reader->position, sizeof(reader->position), "%" PRIu64, event->position);
    record->position = reader->position;
    record->sandbox_id = copy(text, id, strlen(id));
    record->name = copy(text, name, strlen(name));
    record->step_idx = event->step_idx;
    record->has_branch = event->has_branch;
    record->branch = event->branch;
    record->event = copy(text, event->event, strlen(event->event));
    record->payload = copy(text, event->payload, event->payload_size);
    record->payload_size = event->payload_size;
    record->error = error != NULL ? copy(text, error, strlen(error)) : NULL;
    record->ts_ms = event->ts_ms;
    return true;
}

alineo_code memory_read_next(alineo_storage *self, alineo_storage_reader *reader,
                             alineo_ledger_record *record, int32_t *found, alineo_error **err) {
    al_autolock(&self->lock);
    uint64_t before = reader->after;
    const memory_event *event = next_event(self, reader);
    if (event == NULL) {
        self->seen = self->version;
        *found = 0;
        return ALINEO_OK;
    }
    if (!fill(reader, event, record)) {
        reader->after = before;
        reader->index = 0;
        return memory_no_memory(self, "read storage memory", err);
    }
    *found = 1;
    return ALINEO_OK;
}

/* --- following -------------------------------------------------------------------------------- */

enum {
    /* A follower that another reader's look has deceived loses no more than this. */
    FOLLOW_LONGEST_MS = 500,
    CANCEL_SLICE_MS = 20
};

alineo_code memory_follow(alineo_storage *self, const char *sandbox_id, int64_t timeout_ms,
                          alineo_call *call, alineo_error **err) {
    (void)sandbox_id;
    const alineo_host *host = self->host;
    if (timeout_ms < 0 || timeout_ms > FOLLOW_LONGEST_MS)
        timeout_ms = FOLLOW_LONGEST_MS;
    al_deadline deadline = al_deadline_after_ms(timeout_ms);
    al_autolock(&self->lock);
    uint64_t seen = self->seen;
    while (self->version == seen && !al_deadline_passed(deadline)) {
        if (host->call_cancelled(host, call))
            return host->fail(host, err, ALINEO_CANCELLED, NULL, "follow storage memory");
        if (host->call_remaining_ms(host, call) == 0)
            return host->fail(host, err, ALINEO_TIMEOUT, NULL, "follow storage memory");
        al_deadline step = deadline;
        if (call != NULL)
            step = al_deadline_earlier(step, al_deadline_after_ms(CANCEL_SLICE_MS));
        struct timespec at = {.tv_sec = (time_t)(step.at_ns / 1000000000),
                              .tv_nsec = (long)(step.at_ns % 1000000000)};
        self->followers++;
        (void)pthread_cond_timedwait(&self->appended, &self->lock, &at);
        self->followers--;
    }
    return ALINEO_OK;
}
