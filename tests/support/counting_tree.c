/* SPDX-License-Identifier: Apache-2.0 */
/* What the counting provider does with names and folders. */
#include "tests/support/counting_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/cleanup.h"
#include "core/util/path.h"
#include "core/util/str.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/test.h"

static counting_provider *of(alineo_provider *self) {
    return (void *)self;
}

static int has(const alineo_file_request *request, uint32_t flag) {
    return (request->flags & flag) != 0;
}

static int is_root(const char *path) {
    return strcmp(path, "/") == 0;
}

/* --- telling ---------------------------------------------------------------------------------- */

static int32_t tell(const counting_file *file, alineo_file_info_fn *found, void *user) {
    int is_link = file->type == ALINEO_FILE_SYMLINK;
    int is_folder = file->type == ALINEO_FILE_DIRECTORY;
    alineo_file_info info = {
        .size = sizeof(info),
        .path = file->path,
        .type = file->type,
        .mode = file->mode != 0 ? file->mode : (is_folder ? 0755 : 0644),
        .bytes = file->size,
        .owner = file->owner,
        .group = file->group,
        .link_target = is_link ? file->data : NULL,
    };
    return found(user, &info);
}

static alineo_code file_stat(alineo_provider *provider, const char *id,
                             const alineo_file_request *request, alineo_file_info_fn *found,
                             void *user, alineo_error **err) {
    (void)id;
    counting_provider *self = of(provider);
    al_autolock(&self->lock);
    counting_file root = {.path = (char *)(uintptr_t) "/", .type = ALINEO_FILE_DIRECTORY};
    const counting_file *file = is_root(request->path) ? &root : counting_find(self, request->path);
    if (file == NULL)
        return counting_fail(self, ALINEO_FILE_NOT_FOUND, request->path, err);
    (void)tell(file, found, user);
    return ALINEO_OK;
}

/* How many parts `path` has below `folder`. */
static unsigned depth_below(const char *folder, const char *path) {
    unsigned depth = 0;
    for (path += is_root(folder) ? 0 : strlen(folder); *path != '\0'; path++)
        depth += *path == '/';
    return depth;
}

/* A folder stands before what is in it: the shorter path first. */
static int by_size(const void *a, const void *b) {
    const counting_file *first = a;
    const counting_file *second = b;
    return strlen(first->path) < strlen(second->path) ? -1 : 1;
}

/* A copy without the lock, so that what is told may call us. */
static counting_file *copy_all(counting_provider *self, size_t *count) {
    FAIL_ALLOC_SPARED;
    al_autolock(&self->lock);
    counting_file *files = calloc(self->file_count + 1, sizeof(*files));
    assert_non_null(files);
    for (size_t i = 0; i < self->file_count; i++) {
        files[i] = self->files[i];
        files[i].path = al_strdup(files[i].path);
        files[i].data = al_memdup(files[i].data, files[i].size);
    }
    *count = self->file_count;
    if (*count > 0)
        qsort(files, *count, sizeof(*files), by_size);
    return files;
}

static int matches(const alineo_file_request *request, const counting_file *file) {
    FAIL_ALLOC_SPARED;
    unsigned depth = request->depth > 0 ? request->depth : 1;
    const char *pattern = request->pattern;
    if (is_root(file->path) || strcmp(file->path, request->path) == 0 ||
        !al_path_is_below(request->path, file->path))
        return 0;
    if (pattern == NULL)
        return depth_below(request->path, file->path) <= depth;
    return file->type == ALINEO_FILE_REGULAR &&
           al_str_glob(pattern,
                       strchr(pattern, '/') != NULL ? file->path : al_path_name(file->path));
}

static alineo_code check_folder(counting_provider *self, const char *path, alineo_error **err) {
    al_autolock(&self->lock);
    const counting_file *folder = counting_follow(self, path);
    if (is_root(path) || (folder != NULL && folder->type == ALINEO_FILE_DIRECTORY))
        return ALINEO_OK;
    return counting_fail(self, folder == NULL ? ALINEO_FILE_NOT_FOUND : ALINEO_NOT_A_DIRECTORY,
                         path, err);
}

static alineo_code file_list(alineo_provider *provider, const char *id,
                             const alineo_file_request *request, alineo_file_info_fn *found,
                             void *user, alineo_error **err) {
    (void)id;
    counting_provider *self = of(provider);
    alineo_code code = check_folder(self, request->path, err);
    if (code != ALINEO_OK)
        return code;
    size_t count = 0;
    counting_file *files = copy_all(self, &count);
    int32_t done = 0;
    for (size_t i = 0; i < count; i++) {
        if (!done && matches(request, &files[i]))
            done = tell(&files[i], found, user);
        free(files[i].path);
        free(files[i].data);
    }
    free(files);
    counting_file also = {.path = (char *)(uintptr_t)self->tells_also, .type = ALINEO_FILE_REGULAR};
    if (also.path != NULL && !done)
        (void)tell(&also, found, user);
    return ALINEO_OK;
}

/* --- changes ---------------------------------------------------------------------------------- */

static alineo_code file_mkdir(alineo_provider *provider, const char *id,
                              const alineo_file_request *request, alineo_error **err) {
    (void)id;
    counting_provider *self = of(provider);
    al_autolock(&self->lock);
    const counting_file *there = counting_find(self, request->path);
    if (there != NULL || is_root(request->path)) {
        if (!has(request, ALINEO_FILE_PARENTS))
            return counting_fail(self, ALINEO_FILE_EXISTS, request->path, err);
        there = counting_follow(self, request->path);
        return is_root(request->path) || (there != NULL && there->type == ALINEO_FILE_DIRECTORY)
                   ? ALINEO_OK
                   : counting_fail(self, ALINEO_NOT_A_DIRECTORY, request->path, err);
    }
    alineo_code code = counting_above(self, request->path, has(request, ALINEO_FILE_PARENTS), err);
    if (code == ALINEO_OK)
        counting_put(self, request->path, ALINEO_FILE_DIRECTORY, "", 0, request->mode);
    return code;
}

static alineo_code file_remove(alineo_provider *provider, const char *id,
                               const alineo_file_request *request, alineo_error **err) {
    (void)id;
    counting_provider *self = of(provider);
    al_autolock(&self->lock);
    counting_file *file = counting_find(self, request->path);
    if (file == NULL)
        return counting_fail(self, ALINEO_FILE_NOT_FOUND, request->path, err);
    if (file->type == ALINEO_FILE_DIRECTORY)
        return counting_fail(self, ALINEO_IS_A_DIRECTORY, request->path, err);
    counting_forget(self, file);
    return ALINEO_OK;
}

static counting_file *first_below(counting_provider *self, const char *path) {
    FAIL_ALLOC_SPARED;
    for (size_t i = 0; i < self->file_count; i++)
        if (strcmp(self->files[i].path, path) != 0 && al_path_is_below(path, self->files[i].path))
            return &self->files[i];
    return NULL;
}

static alineo_code file_rmdir(alineo_provider *provider, const char *id,
                              const alineo_file_request *request, alineo_error **err) {
    (void)id;
    counting_provider *self = of(provider);
    al_autolock(&self->lock);
    counting_file *file = counting_find(self, request->path);
    if (file == NULL)
        return counting_fail(self, ALINEO_FILE_NOT_FOUND, request->path, err);
    if (file->type != ALINEO_FILE_DIRECTORY)
        return counting_fail(self, ALINEO_NOT_A_DIRECTORY, request->path, err);
    counting_file *below;
    while ((below = first_below(self, request->path)) != NULL) {
        if (!has(request, ALINEO_FILE_RECURSIVE))
            return counting_fail(self, ALINEO_DIRECTORY_NOT_EMPTY, request->path, err);
        counting_forget(self, below);
    }
    counting_forget(self, counting_find(self, request->path));
    return ALINEO_OK;
}

static alineo_code file_move(alineo_provider *provider, const char *id,
                             const alineo_file_request *request, alineo_error **err) {
    FAIL_ALLOC_SPARED;
    (void)id;
    counting_provider *self = of(provider);
    al_autolock(&self->lock);
    if (counting_find(self, request->path) == NULL)
        return counting_fail(self, ALINEO_FILE_NOT_FOUND, request->path, err);
    counting_file *there = counting_find(self, request->target);
    if (there != NULL && !has(request, ALINEO_FILE_REPLACE))
        return counting_fail(self, ALINEO_FILE_EXISTS, request->target, err);
    if (there != NULL)
        counting_forget(self, there);
    alineo_code code =
        counting_above(self, request->target, has(request, ALINEO_FILE_PARENTS), err);
    for (size_t i = 0; code == ALINEO_OK && i < self->file_count; i++) {
        counting_file *file = &self->files[i];
        if (!al_path_is_below(request->path, file->path))
            continue;
        char *path = al_strf("%s%s", request->target, file->path + strlen(request->path));
        free(file->path);
        file->path = path;
    }
    return code;
}

static alineo_code file_chmod(alineo_provider *provider, const char *id,
                              const alineo_file_request *request, alineo_error **err) {
    (void)id;
    counting_provider *self = of(provider);
    al_autolock(&self->lock);
    counting_file *file = counting_follow(self, request->path);
    if (file == NULL)
        return counting_fail(self, ALINEO_FILE_NOT_FOUND, request->path, err);
    file->mode = request->mode;
    return ALINEO_OK;
}

static alineo_code file_chown(alineo_provider *provider, const char *id,
                              const alineo_file_request *request, alineo_error **err) {
    (void)id;
    counting_provider *self = of(provider);
    al_autolock(&self->lock);
    counting_file *file = counting_follow(self, request->path);
    if (file == NULL)
        return counting_fail(self, ALINEO_FILE_NOT_FOUND, request->path, err);
    if (request->owner != NULL)
        (void)al_str_copy(file->owner, sizeof(file->owner), request->owner);
    if (request->group != NULL)
        (void)al_str_copy(file->group, sizeof(file->group), request->group);
    return ALINEO_OK;
}

static alineo_code file_link(alineo_provider *provider, const char *id,
                             const alineo_file_request *request, alineo_error **err) {
    (void)id;
    counting_provider *self = of(provider);
    al_autolock(&self->lock);
    if (counting_find(self, request->path) != NULL)
        return counting_fail(self, ALINEO_FILE_EXISTS, request->path, err);
    alineo_code code = counting_above(self, request->path, has(request, ALINEO_FILE_PARENTS), err);
    if (code == ALINEO_OK)
        counting_put(self, request->path, ALINEO_FILE_SYMLINK, request->target,
                     strlen(request->target), 0777);
    return code;
}

static alineo_code file_replace(alineo_provider *provider, const char *id,
                                const alineo_file_request *request, uint64_t *count,
                                alineo_error **err) {
    (void)id;
    counting_provider *self = of(provider);
    al_autolock(&self->lock);
    const counting_file *file = counting_follow(self, request->path);
    if (file == NULL)
        return counting_fail(self, ALINEO_FILE_NOT_FOUND, request->path, err);
    /* Enough for telling whether it came through. */
    *count = memmem(file->data, file->size, request->find, request->find_size) != NULL;
    return ALINEO_OK;
}

void counting_add_tree(alineo_provider_table *table) {
    table->file_stat = file_stat;
    table->file_list = table->file_search = file_list;
    table->file_mkdir = file_mkdir;
    table->file_remove = file_remove;
    table->file_rmdir = file_rmdir;
    table->file_move = file_move;
    table->file_chmod = file_chmod;
    table->file_chown = file_chown;
    table->file_link = file_link;
    table->file_replace = file_replace;
}
