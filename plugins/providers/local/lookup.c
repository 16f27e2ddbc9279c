/* SPDX-License-Identifier: Apache-2.0 */
/* What sandboxes there are: read from their entries, without asking anybody. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/str.h"
#include "core/util/strv.h"
#include "plugins/providers/local/local.h"

enum {
    SWEEP_MS = 60000,
    PAGE_COUNT = 1000
};

int32_t local_tell(const struct local_state *state, alineo_sandbox_info_fn *found, void *user) {
    static const alineo_sandbox_state states[] = {
        [0] = ALINEO_STATE_UNKNOWN,
        [LOCAL_RUNNING] = ALINEO_STATE_RUNNING,
        [LOCAL_PAUSED] = ALINEO_STATE_PAUSED,
        [LOCAL_ENDED_BY_ITSELF] = ALINEO_STATE_TERMINATED,
    };
    int64_t ends_ms = state->ends_boottime_ms;
    bool has_end = ends_ms >= 0 && ends_ms < LOCAL_MS_MAX && state->state != LOCAL_ENDED_BY_ITSELF;
    alineo_sandbox_info info = {
        .size = sizeof(info),
        .id = state->id,
        .name = state->name,
        .state = states[state->state],
        .reason = state->reason,
        .image = state->image,
        .metadata = state->metadata.count > 0 ? state->metadata.items : NULL,
        .created_at_ms = state->created_at_ms,
        /* By today's wall clock, whatever was done to it meanwhile. */
        .expires_at_ms = has_end ? al_clock_realtime_ms() + (ends_ms - al_clock_boottime_ms()) : 0,
    };
    return found(user, &info);
}

/* --- cleaning ----------------------------------------------------------------------------------*/

static alineo_code sweep(alineo_provider *self, const char *id, const alineo_call *call,
                         struct local_message *in, struct local_swept *swept, alineo_error **err) {
    struct local_sweep request = {self->state_dir, self->run_dir, id};
    al_autofd int fd = -1;
    alineo_code code = local_spawn(self, LOCAL_SWEEP, &request, NULL, 0, &fd, err);
    if (code == ALINEO_OK)
        code = local_wait(self, fd, call, al_deadline_after_ms(SWEEP_MS),
                          "clean up after dead sandboxes", err);
    if (code != ALINEO_OK)
        return code;
    int rc = local_link_receive(fd, &local_link_trusted, in, al_deadline_after_ms(SWEEP_MS));
    if (rc == 0)
        rc = local_message_decode(in, LOCAL_SWEPT, swept);
    return rc == 0 ? ALINEO_OK : local_fail_errno(self, err, rc, "clean up after dead sandboxes");
}

alineo_code local_clean(alineo_provider *self, const char *id, alineo_error **err) {
    al_auto(local_message_free) struct local_message in = {0};
    struct local_swept swept;
    if (id != NULL)
        return sweep(self, id, NULL, &in, &swept, err);
    struct local_sweep request = {self->state_dir, self->run_dir, NULL};
    al_autofd int fd = -1;
    return local_spawn(self, LOCAL_SWEEP, &request, NULL, 0, &fd, err);
}

alineo_code local_prune(alineo_provider *self, alineo_call *call, uint64_t *freed_bytes,
                        alineo_error **err) {
    al_auto(local_message_free) struct local_message in = {0};
    struct local_swept swept;
    alineo_code code = sweep(self, NULL, call, &in, &swept, err);
    if (code != ALINEO_OK)
        return code;
    if (swept.failure != NULL)
        return LOCAL_FAIL(self, err, ALINEO_IO, NULL, "clean up after dead sandboxes: %s",
                          swept.failure);
    self->host->call_progress(self->host, call, "prune", swept.count, swept.count,
                              "dead sandboxes removed");
    *freed_bytes = swept.freed_size;
    return ALINEO_OK;
}

/* --- one ---------------------------------------------------------------------------------------*/

/* One that ended by itself is remembered for a while. */
static alineo_code get_ended(alineo_provider *self, const char *id, alineo_sandbox_info_fn *found,
                             void *user, alineo_error **err) {
    al_auto(local_state_free) struct local_state_file file = {0};
    al_autofd int folder = -1;
    if (local_folder_open(self->run_dir, LOCAL_ENDED, &folder) != 0 ||
        local_state_read(folder, id, &file) != 0)
        return local_fail_gone(self, err, id);
    (void)local_tell(&file.state, found, user);
    return ALINEO_OK;
}

/* The state of the sandbox ID as its entry has it. ENOENT: there is none (one that is being made or
 * taken away has none either), or *IS_DEAD. */
static int read_state(alineo_provider *self, int entries_fd, const char *id,
                      struct local_state_file *file, bool *is_dead) {
    static const char *const no_change[] = {NULL};
    al_autofd int entry = -1;
    bool is_held = false;
    int rc = local_entry_open(entries_fd, id, &entry, &is_held);
    if (rc != 0)
        return rc;
    *is_dead = !is_held;
    if (!is_held)
        return ENOENT;
    rc = local_state_read(entry, LOCAL_STATE_FILE, file);
    if (rc != EBADMSG)
        return rc;
    /* Somebody spoilt it. Its supervisor does not need it, and writes it anew with each change. */
    alineo_error *ignored = NULL;
    if (local_patch_metadata(self, id, no_change, NULL, &ignored) != ALINEO_OK)
        self->host->drop_error(self->host, ignored);
    return local_state_read(entry, LOCAL_STATE_FILE, file);
}

alineo_code local_get(alineo_provider *self, const char *id, alineo_call *call,
                      alineo_sandbox_info_fn *found, void *user, alineo_error **err) {
    (void)call;
    al_auto(local_state_free) struct local_state_file file = {0};
    al_autofd int entries = -1;
    bool is_dead = false;
    if (!local_id_is_valid(id))
        return local_fail_gone(self, err, id);
    int rc = local_folder_open(self->run_dir, LOCAL_SANDBOXES, &entries);
    if (rc == 0)
        rc = read_state(self, entries, id, &file, &is_dead);
    if (is_dead) {
        alineo_code code = local_clean(self, id, err);
        if (code != ALINEO_OK)
            return code;
    }
    if (rc == ENOENT)
        return get_ended(self, id, found, user, err);
    if (rc != 0)
        return local_fail_errno(self, err, rc, "read the sandbox's state");
    (void)local_tell(&file.state, found, user);
    return ALINEO_OK;
}

/* --- all ---------------------------------------------------------------------------------------*/

/* Names after CURSOR (NULL = all), in order. */
static int list_ids(int folder_fd, const char *cursor, al_strv *ids) {
    int copy = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (copy < 0)
        return errno;
    al_autodir DIR *folder = fdopendir(copy);
    if (folder == NULL) {
        int error = errno;
        al_close(copy);
        return error;
    }
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        if (!local_id_is_valid(entry->d_name) ||
            (cursor != NULL && strcmp(entry->d_name, cursor) <= 0))
            continue;
        int rc = al_strv_append(ids, entry->d_name);
        if (rc != 0)
            return rc;
    }
    al_strv_sort(ids);
    return 0;
}

static bool has_pair(const struct local_list *pairs, const char *name, const char *value) {
    for (size_t i = 0; i + 1 < pairs->count; i += 2) {
        if (strcmp(pairs->items[i], name) == 0)
            return strcmp(pairs->items[i + 1], value) == 0;
    }
    return false;
}

static bool is_match(const struct local_state *state, const char *const *filter) {
    for (size_t i = 0; filter != NULL && filter[i] != NULL && filter[i + 1] != NULL; i += 2) {
        if (!has_pair(&state->metadata, filter[i], filter[i + 1]))
            return false;
    }
    return true;
}

/* What came of a page. */
struct page {
    size_t told_count;
    bool any_dead;
    bool any_unread;
};

/* One of a page. Gives what FOUND gave. */
static int32_t list_one(alineo_provider *self, int entries_fd, const char *id,
                        const alineo_list_request *request, alineo_sandbox_info_fn *found,
                        void *user, struct page *page) {
    al_auto(local_state_free) struct local_state_file file = {0};
    bool is_dead = false;
    int rc = read_state(self, entries_fd, id, &file, &is_dead);
    page->any_dead |= is_dead;
    page->any_unread |= rc != 0 && rc != ENOENT && rc != ENOTDIR && rc != ELOOP;
    if (rc != 0 || !is_match(&file.state, request->metadata))
        return 0;
    page->told_count++;
    return local_tell(&file.state, found, user);
}

static alineo_code take_cursor(alineo_provider *self, const char *id, char **next_cursor,
                               alineo_error **err) {
    size_t size = strlen(id) + 1;
    char *copy = self->host->alloc(self->host, size);
    if (copy == NULL)
        return local_fail_errno(self, err, ENOMEM, "list the sandboxes");
    memcpy(copy, id, size);
    *next_cursor = copy;
    return ALINEO_OK;
}

static alineo_code list_page(alineo_provider *self, int entries_fd,
                             const alineo_list_request *request, alineo_sandbox_info_fn *found,
                             void *user, char **next_cursor, struct page *page,
                             alineo_error **err) {
    al_auto(al_strv_free) al_strv ids = AL_STRV_INIT;
    int rc = list_ids(entries_fd, request->cursor, &ids);
    if (rc != 0)
        return local_fail_errno(self, err, rc, "list the sandboxes");
    size_t limit = request->limit == 0 ? PAGE_COUNT : request->limit;
    for (size_t i = 0; i < ids.count; i++) {
        if (list_one(self, entries_fd, ids.items[i], request, found, user, page) != 0)
            break;
        if (page->told_count == limit && i + 1 < ids.count)
            return take_cursor(self, ids.items[i], next_cursor, err);
    }
    *next_cursor = NULL;
    return ALINEO_OK;
}

alineo_code local_list_sandboxes(alineo_provider *self, const alineo_list_request *request,
                                 alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                                 char **next_cursor, int32_t *complete, alineo_error **err) {
    (void)call;
    al_autofd int entries = -1;
    struct page page = {0};
    int rc = local_folder_open(self->run_dir, LOCAL_SANDBOXES, &entries);
    if (rc == ENOENT) {
        *next_cursor = NULL;
        *complete = 1;
        return ALINEO_OK;
    }
    if (rc != 0)
        return local_fail_errno(self, err, rc, "list the sandboxes");
    alineo_code code = list_page(self, entries, request, found, user, next_cursor, &page, err);
    if (code != ALINEO_OK)
        return code;
    *complete = page.any_unread ? 0 : 1;
    /* Cleaned up behind the list, which does not depend on it. */
    alineo_error *ignored = NULL;
    if (page.any_dead && local_clean(self, NULL, &ignored) != ALINEO_OK)
        self->host->drop_error(self->host, ignored);
    return ALINEO_OK;
}
