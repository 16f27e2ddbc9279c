/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/memory/memory_store.h"

#include <stdlib.h>
#include <string.h>

#include "core/util/cleanup.h"

/* Takes the events of doomed groups out of the list. */
static void sift(memory_events *events) {
    size_t kept = 0;
    for (size_t i = 0; i < events->count; i++)
        if (!events->items[i]->group->doomed)
            events->items[kept++] = events->items[i];
    events->count = kept;
}

static void collect_steps(memory_session *session) {
    session->steps.count = 0;
    for (size_t i = 0; i < session->events.count; i++) {
        const memory_event *event = session->events.items[i];
        if (event->kind != COMMON_EXEC_START)
            continue;
        size_t at = session->steps.count++;
        for (; at > 0 && session->steps.items[at - 1] > event->step_idx; at--)
            session->steps.items[at] = session->steps.items[at - 1];
        session->steps.items[at] = event->step_idx;
    }
}

static void sift_listing(memory_listing *listing) {
    size_t kept = 0;
    for (size_t i = 0; i < listing->count; i++)
        if (!listing->items[i]->doomed)
            listing->items[kept++] = listing->items[i];
    listing->count = kept;
}

/* Drops the doomed groups of a session whose events are out of all lists, and the session with the
 * last of them. */
static void drop_groups(alineo_storage *self, memory_session *session) {
    memory_group **link = &session->groups;
    while (*link != NULL) {
        memory_group *group = *link;
        if (group->doomed) {
            *link = group->next;
            memory_group_free(group);
        } else {
            link = &group->next;
        }
    }
    if (session->groups == NULL) {
        (void)al_hash_remove(&self->sessions, session->sandbox_id);
        memory_session_free(session);
    }
}

/* With the lock held. Deletes the doomed groups of these sessions. */
static uint64_t delete_doomed(alineo_storage *self, memory_session *const *sessions, size_t count) {
    uint64_t removed = self->all.count;
    sift_listing(&self->listing);
    sift(&self->all);
    removed -= self->all.count;
    for (size_t i = 0; i < count; i++) {
        memory_events *events = &sessions[i]->events;
        size_t kept = 0;
        for (size_t k = 0; k < events->count; k++) {
            memory_event *event = events->items[k];
            if (event->group->doomed) {
                self->text_size -= event->payload_size;
                free(event);
            } else {
                events->items[kept++] = event;
            }
        }
        events->count = kept;
        collect_steps(sessions[i]);
        drop_groups(self, sessions[i]);
    }
    self->deletions++;
    return removed;
}

alineo_code memory_session_delete(alineo_storage *self, const char *name, const char *sandbox_id,
                                  uint64_t *removed, alineo_error **err) {
    (void)err;
    al_autolock(&self->lock);
    *removed = 0;
    memory_session *session = al_hash_get(&self->sessions, sandbox_id);
    if (session == NULL)
        return ALINEO_OK;
    for (memory_group *group = session->groups; group != NULL; group = group->next)
        group->doomed = name == NULL || strcmp(name, group->name) == 0;
    *removed = delete_doomed(self, &session, 1);
    return ALINEO_OK;
}

alineo_code memory_prune(alineo_storage *self, int64_t closed_before_ms, alineo_call *call,
                         uint64_t *removed_sessions, alineo_error **err) {
    alineo_code code = memory_check_call(self, call, "prune storage memory", err);
    if (code != ALINEO_OK)
        return code;
    al_autolock(&self->lock);
    memory_session **sessions = calloc(self->listing.count + 1, sizeof(memory_session *));
    if (sessions == NULL)
        return memory_no_memory(self, "prune storage memory", err);
    size_t count = 0;
    uint64_t removed = 0;
    for (size_t i = 0; i < self->listing.count; i++) {
        memory_group *group = self->listing.items[i];
        if (group->completed_at_ms == 0 || group->completed_at_ms >= closed_before_ms)
            continue;
        bool is_new = true;
        for (const memory_group *other = group->session->groups; other != NULL; other = other->next)
            is_new = is_new && !other->doomed;
        group->doomed = true;
        removed++;
        if (is_new)
            sessions[count++] = group->session;
    }
    (void)delete_doomed(self, sessions, count);
    free(sessions);
    *removed_sessions = removed;
    return ALINEO_OK;
}
