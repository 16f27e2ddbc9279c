/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/memory/memory_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/cleanup.h"
#include "core/util/str.h"
#include "plugins/common/session_page.h"

/* --- sessions and their groups ---------------------------------------------------------------- */

void memory_group_free(memory_group *group) {
    free(group->name);
    free(group);
}

void memory_session_free(memory_session *session) {
    while (session->groups != NULL) {
        memory_group *group = session->groups;
        session->groups = group->next;
        memory_group_free(group);
    }
    free(session->events.items);
    free(session->steps.items);
    free(session->sandbox_id);
    free(session);
}

static memory_session *session_of(alineo_storage *self, const char *sandbox_id) {
    memory_session *session = al_hash_get(&self->sessions, sandbox_id);
    if (session != NULL)
        return session;
    session = calloc(1, sizeof(*session));
    if (session == NULL)
        return NULL;
    session->newest_ms = INT64_MIN;
    session->sandbox_id = al_strdup(sandbox_id);
    if (session->sandbox_id == NULL ||
        al_hash_set(&self->sessions, sandbox_id, session, NULL) != 0) {
        memory_session_free(session);
        return NULL;
    }
    return session;
}

memory_group *memory_group_of(alineo_storage *self, const char *sandbox_id, const char *name) {
    memory_session *session = session_of(self, sandbox_id);
    if (session == NULL)
        return NULL;
    for (memory_group *group = session->groups; group != NULL; group = group->next)
        if (strcmp(group->name, name) == 0)
            return group;
    memory_group *group = calloc(1, sizeof(*group));
    if (group == NULL)
        return NULL;
    group->session = session;
    group->last_step = -1;
    group->name = al_strdup(name);
    if (group->name == NULL) {
        free(group);
        return NULL;
    }
    group->next = session->groups;
    session->groups = group;
    return group;
}

/* --- the listing ------------------------------------------------------------------------------ */

/* Whether `a` is listed before `b`. */
static bool is_before(const memory_group *a, const memory_group *b) {
    if (a->created->ts_ms != b->created->ts_ms)
        return a->created->ts_ms > b->created->ts_ms;
    int order = strcmp(a->session->sandbox_id, b->session->sandbox_id);
    return order != 0 ? order < 0 : strcmp(a->name, b->name) < 0;
}

static void list_group(memory_listing *listing, memory_group *group) {
    size_t low = 0, high = listing->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_before(group, listing->items[middle]))
            low = middle + 1;
        else
            high = middle;
    }
    memmove(listing->items + low + 1, listing->items + low,
            (listing->count - low) * sizeof(*listing->items));
    listing->items[low] = group;
    listing->count++;
}

void memory_group_account(alineo_storage *self, memory_event *event) {
    memory_group *group = event->group;
    bool is_step = event->kind == COMMON_EXEC_START || event->kind == COMMON_EXEC_COMPLETE;
    if (is_step && event->step_idx > group->last_step)
        group->last_step = event->step_idx;
    if (event->kind == COMMON_EXEC_COMPLETE)
        group->exec_count++;
    else if (event->kind == COMMON_SANDBOX_CLOSED)
        group->completed_at_ms = event->ts_ms;
    else if (event->kind == COMMON_SANDBOX_CREATED && group->created == NULL) {
        group->created = event;
        list_group(&self->listing, group);
    }
}

static alineo_session describe(const memory_group *group) {
    const memory_event *created = group->created;
    const char *id = group->session->sandbox_id;
    return (alineo_session){
        .size = sizeof(alineo_session),
        .name = group->name,
        .sandbox_id = id,
        .run_id = created->run_id != NULL ? created->run_id : id,
        .provider = created->provider,
        .status = group->completed_at_ms != 0 ? ALINEO_SESSION_COMPLETED : ALINEO_SESSION_RUNNING,
        .last_step = group->last_step,
        .started_at_ms = created->ts_ms,
        .completed_at_ms = group->completed_at_ms,
        .exec_count = group->exec_count,
        .created_payload = created->payload,
        .created_payload_size = created->payload_size,
    };
}

static bool is_wanted(const alineo_session_request *request, const alineo_session *session) {
    return (request->name == NULL || strcmp(request->name, session->name) == 0) &&
           (request->run_id == NULL || strcmp(request->run_id, session->run_id) == 0) &&
           (request->status == ALINEO_SESSION_ANY || request->status == session->status) &&
           (request->before_ms == 0 || session->started_at_ms < request->before_ms);
}

/* How many of the listing, from its front, stand behind the cursor. */
static size_t behind_cursor(const memory_listing *listing, const common_session_cursor *cursor) {
    size_t low = 0, high = listing->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const memory_group *group = listing->items[middle];
        if (common_session_is_behind(cursor, group->created->ts_ms, group->session->sandbox_id,
                                     group->name))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* With the lock held: the next page, at most `limit` sessions of it. *more: there are others behind
 * it. 0 or ENOMEM. */
static int collect(alineo_storage *self, const alineo_session_request *request,
                   const common_session_cursor *cursor, uint64_t limit, common_session_page *page,
                   bool *more) {
    common_session_page_clear(page);
    *more = false;
    size_t at = cursor != NULL ? behind_cursor(&self->listing, cursor) : self->listing.count;
    while (at > 0) {
        alineo_session session = describe(self->listing.items[--at]);
        if (!is_wanted(request, &session))
            continue;
        if (page->count == limit || page->count == COMMON_PAGE_COUNT) {
            *more = true;
            return 0;
        }
        int rc = common_session_page_add(page, &session);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* One page: collected with the lock, given without. *left is what the limit leaves. */
static alineo_code list_page(alineo_storage *self, const alineo_session_request *request,
                             char **cursor_text, common_session_page *page, uint64_t *left,
                             alineo_session_fn *found, void *user, bool *goes_on,
                             alineo_error **err) {
    common_session_cursor cursor = {0};
    const char *from = *cursor_text != NULL ? *cursor_text : request->cursor;
    int rc = from != NULL ? common_session_cursor_parse(&cursor, from) : 0;
    if (rc == EINVAL)
        return self->host->fail(self->host, err, ALINEO_INVALID_ARGUMENT,
                                "use a cursor that an earlier listing gave",
                                "list sessions of storage memory: \"%.63s\" is no cursor", from);
    bool more = false;
    if (rc == 0) {
        (void)al_lock(&self->lock);
        rc = collect(self, request, from != NULL ? &cursor : NULL, *left, page, &more);
        (void)pthread_mutex_unlock(&self->lock);
    }
    common_session_cursor_free(&cursor);
    if (rc != 0)
        return memory_no_memory(self, "list sessions of storage memory", err);
    size_t given = 0;
    bool whole = common_session_page_give(page, found, user, &given);
    *left -= given;
    self->host->free(self->host, AL_STEAL(*cursor_text));
    *goes_on = whole && more && *left > 0;
    if (!more && whole)
        return ALINEO_OK;
    *cursor_text = common_session_cursor_make(self->host, &page->sessions[given - 1]);
    if (*cursor_text == NULL)
        return memory_no_memory(self, "list sessions of storage memory", err);
    return ALINEO_OK;
}

alineo_code memory_session_list(alineo_storage *self, const alineo_session_request *request,
                                alineo_call *call, alineo_session_fn *found, void *user,
                                char **next_cursor, alineo_error **err) {
    common_session_page *page = calloc(1, sizeof(*page));
    if (page == NULL)
        return memory_no_memory(self, "list sessions of storage memory", err);
    uint64_t left = request->limit != 0 ? request->limit : UINT64_MAX;
    char *cursor = NULL;
    bool goes_on = true;
    alineo_code code = ALINEO_OK;
    while (code == ALINEO_OK && goes_on) {
        code = memory_check_call(self, call, "list sessions of storage memory", err);
        if (code == ALINEO_OK)
            code = list_page(self, request, &cursor, page, &left, found, user, &goes_on, err);
    }
    common_session_page_free(page);
    free(page);
    if (code == ALINEO_OK)
        *next_cursor = cursor;
    else
        self->host->free(self->host, cursor);
    return code;
}

/* --- one session ------------------------------------------------------------------------------ */

/* The listed group of the name; of any name the one that started last. */
static const memory_group *find_group(alineo_storage *self, const char *name,
                                      const char *sandbox_id) {
    const memory_session *session = al_hash_get(&self->sessions, sandbox_id);
    const memory_group *best = NULL;
    for (const memory_group *group = session != NULL ? session->groups : NULL; group != NULL;
         group = group->next)
        if (group->created != NULL && (name == NULL || strcmp(name, group->name) == 0) &&
            (best == NULL || is_before(group, best)))
            best = group;
    return best;
}

alineo_code memory_session_get(alineo_storage *self, const char *name, const char *sandbox_id,
                               alineo_session_fn *found, void *user, alineo_error **err) {
    common_session_page *page = calloc(1, sizeof(*page));
    if (page == NULL)
        return memory_no_memory(self, "look up a session in storage memory", err);
    int rc = 0;
    (void)al_lock(&self->lock);
    const memory_group *group = find_group(self, name, sandbox_id);
    if (group != NULL) {
        alineo_session session = describe(group);
        rc = common_session_page_add(page, &session);
    }
    (void)pthread_mutex_unlock(&self->lock);
    alineo_code code = ALINEO_OK;
    size_t given = 0;
    if (rc != 0)
        code = memory_no_memory(self, "look up a session in storage memory", err);
    else if (page->count == 0)
        code = self->host->fail(self->host, err, ALINEO_SESSION_NOT_FOUND,
                                "`alineo ps --all` lists the sessions of the ledger",
                                "storage memory has no session %s%s%s", sandbox_id,
                                name != NULL ? " of the name " : "", name != NULL ? name : "");
    else
        (void)common_session_page_give(page, found, user, &given);
    common_session_page_free(page);
    free(page);
    return code;
}
