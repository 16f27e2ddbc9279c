/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/memory/memory_store.h"

#include <stdlib.h>
#include <string.h>

#include "core/util/cleanup.h"
#include "core/util/json.h"

#define PAYLOAD_SIZE_MAX ((size_t)32 * 1024 * 1024)

/* --- making events ---------------------------------------------------------------------------- */

static char *place(char **at, const char *data, size_t size) {
    char *copy = *at;
    memcpy(copy, data, size);
    copy[size] = '\0';
    *at += size + 1;
    return copy;
}

/* The static name where there is one, in the dialect it came in. */
static const char *static_name(common_event kind, const char *name) {
    if (kind == COMMON_EVENT_UNKNOWN)
        return NULL;
    const char *flat = common_event_flat(kind);
    return strcmp(name, flat) == 0 ? flat : common_event_dotted(kind);
}

static const char *text_of(const al_json *document, const char *key) {
    const char *text = NULL;
    (void)al_json_get_str(al_json_member(al_json_root(document), key), &text);
    return text;
}

/* A copy of the entry; NULL without memory. */
static memory_event *event_new(const alineo_ledger_entry *entry, common_event kind) {
    al_auto(al_json_free) al_json *document = NULL;
    const char *run_id = NULL, *provider = NULL;
    if (kind == COMMON_SANDBOX_CREATED && entry->payload != NULL &&
        al_json_parse(entry->payload, entry->payload_size, NULL, &document, NULL) == 0) {
        run_id = text_of(document, "runId");
        provider = text_of(document, "provider");
    }
    const char *name = static_name(kind, entry->event);
    size_t size = (name != NULL ? 0 : strlen(entry->event) + 1) +
                  (entry->payload != NULL ? entry->payload_size + 1 : 0) +
                  (entry->error != NULL ? strlen(entry->error) + 1 : 0) +
                  (run_id != NULL ? strlen(run_id) + 1 : 0) +
                  (provider != NULL ? strlen(provider) + 1 : 0);
    memory_event *event = malloc(sizeof(*event) + size);
    if (event == NULL)
        return NULL;
    char *at = event->text;
    *event = (memory_event){.kind = kind,
                            .step_idx = entry->step_idx,
                            .has_branch = entry->has_branch,
                            .branch = entry->branch,
                            .ts_ms = entry->ts_ms,
                            .event = name};
    if (name == NULL)
        event->event = place(&at, entry->event, strlen(entry->event));
    if (entry->payload != NULL) {
        event->payload = place(&at, entry->payload, entry->payload_size);
        event->payload_size = entry->payload_size;
    }
    if (entry->error != NULL)
        event->error = place(&at, entry->error, strlen(entry->error));
    if (run_id != NULL)
        event->run_id = place(&at, run_id, strlen(run_id));
    if (provider != NULL)
        event->provider = place(&at, provider, strlen(provider));
    return event;
}

/* --- steps ------------------------------------------------------------------------------------ */

/* Where the step stands or would stand. */
static size_t step_place(const memory_steps *steps, int32_t step) {
    size_t low = 0, high = steps->count;
    if (high > 0 && steps->items[high - 1] < step)
        return high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (steps->items[middle] < step)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has_step(const memory_steps *steps, int32_t step) {
    size_t at = step_place(steps, step);
    return at < steps->count && steps->items[at] == step;
}

/* There is room. */
static void add_step(memory_steps *steps, int32_t step) {
    size_t at = step_place(steps, step);
    memmove(steps->items + at + 1, steps->items + at, (steps->count - at) * sizeof(*steps->items));
    steps->items[at] = step;
    steps->count++;
}

/* --- batches ---------------------------------------------------------------------------------- */

typedef struct prepared {
    memory_event **events;
    size_t count;
    size_t created_count;
} prepared;

static void drop_prepared(prepared *p) {
    for (size_t i = 0; i < p->count; i++) {
        p->events[i]->group->session->pending = 0;
        free(p->events[i]);
    }
    free(p->events);
}

static bool claimed_before(const prepared *p, const memory_group *group, int32_t step) {
    if (has_step(&group->session->steps, step))
        return true;
    for (size_t i = 0; i < p->count; i++)
        if (p->events[i]->kind == COMMON_EXEC_START && p->events[i]->step_idx == step &&
            p->events[i]->group->session == group->session)
            return true;
    return false;
}

/* Makes the event and all room that storing it needs, so that storing cannot fail. */
static alineo_code prepare(alineo_storage *self, const alineo_ledger_entry *entry, prepared *p,
                           alineo_error **err) {
    if (entry->payload_size > PAYLOAD_SIZE_MAX)
        return self->host->fail(self->host, err, ALINEO_STORAGE_REJECTED, NULL,
                                "append to storage memory: a payload of %zu bytes is above the "
                                "limit of 32 MiB",
                                entry->payload_size);
    const memory_group *last = p->count > 0 ? p->events[p->count - 1]->group : NULL;
    memory_group *group;
    if (last != NULL && strcmp(last->session->sandbox_id, entry->sandbox_id) == 0 &&
        strcmp(last->name, entry->name) == 0)
        group = p->events[p->count - 1]->group;
    else
        group = memory_group_of(self, entry->sandbox_id, entry->name);
    if (group == NULL)
        return memory_no_memory(self, "append to storage memory", err);
    if ((entry->flags & ALINEO_ENTRY_CLAIMS_STEP) != 0 && claimed_before(p, group, entry->step_idx))
        return self->host->fail(self->host, err, ALINEO_CONFLICT, NULL,
                                "append to storage memory: step %d of %s is taken", entry->step_idx,
                                entry->sandbox_id);
    memory_session *session = group->session;
    common_event kind = common_event_of(entry->event);
    memory_event *event = event_new(entry, kind);
    size_t more = session->pending + 1;
    if (event == NULL ||
        !memory_reserve(&session->events.items, &session->events.capacity, session->events.count,
                        more, sizeof(*session->events.items)) ||
        (kind == COMMON_EXEC_START &&
         !memory_reserve(&session->steps.items, &session->steps.capacity, session->steps.count,
                         more, sizeof(*session->steps.items))) ||
        (kind == COMMON_SANDBOX_CREATED &&
         !memory_reserve(&self->listing.items, &self->listing.capacity, self->listing.count,
                         p->created_count + 1, sizeof(*self->listing.items)))) {
        free(event);
        return memory_no_memory(self, "append to storage memory", err);
    }
    event->group = group;
    session->pending++;
    p->created_count += kind == COMMON_SANDBOX_CREATED;
    p->events[p->count++] = event;
    return ALINEO_OK;
}

static void store(alineo_storage *self, memory_event *event) {
    memory_session *session = event->group->session;
    session->pending = 0;
    event->position = ++self->last_position;
    if (event->ts_ms < session->newest_ms)
        event->ts_ms = session->newest_ms;
    session->newest_ms = event->ts_ms;
    session->events.items[session->events.count++] = event;
    self->all.items[self->all.count++] = event;
    if (event->kind == COMMON_EXEC_START)
        add_step(&session->steps, event->step_idx);
    memory_group_account(self, event);
    self->text_size += event->payload_size;
}

/* The number of the last entry that is stored of the writer; NULL without memory. */
static uint64_t *last_of_writer(alineo_storage *self, const char *writer_id) {
    uint64_t *last = al_hash_get(&self->writers, writer_id);
    if (last != NULL)
        return last;
    last = calloc(1, sizeof(*last));
    if (last != NULL && al_hash_set(&self->writers, writer_id, last, NULL) != 0) {
        free(last);
        return NULL;
    }
    return last;
}

alineo_code memory_append(alineo_storage *self, const alineo_ledger_batch *batch,
                          size_t *failed_index, alineo_error **err) {
    al_autolock(&self->lock);
    uint64_t *last = last_of_writer(self, batch->writer_id);
    prepared p = {.events = calloc(batch->count, sizeof(*p.events))};
    if (last == NULL || p.events == NULL ||
        !memory_reserve(&self->all.items, &self->all.capacity, self->all.count, batch->count,
                        sizeof(*self->all.items))) {
        free(p.events);
        return memory_no_memory(self, "append to storage memory", err);
    }
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->first_n + i <= *last)
            continue; /* sent again */
        alineo_code code = prepare(self, batch->entries[i], &p, err);
        if (code != ALINEO_OK) {
            drop_prepared(&p);
            if (code == ALINEO_CONFLICT || code == ALINEO_STORAGE_REJECTED)
                *failed_index = i;
            return code;
        }
    }
    for (size_t i = 0; i < p.count; i++)
        store(self, p.events[i]);
    free(p.events);
    uint64_t end = batch->first_n + batch->count - 1;
    *last = end > *last ? end : *last;
    self->version++;
    if (self->followers > 0)
        (void)pthread_cond_broadcast(&self->appended);
    return ALINEO_OK;
}
