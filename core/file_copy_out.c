/* SPDX-License-Identifier: Apache-2.0 */
/* Copies that begin in a sandbox. What it tells of its files is looked at before it is believed. */
#include "core/file_copy.h"

#include "core/check.h"
#include "core/file_follow.h"
#include "core/struct.h"
#include "core/util/path.h"
#include "core/util/str.h"

#include <string.h>

enum {
    TOLD_MAX = 256 << 20 /* bytes that a list may take in memory */
};

/* Something in the tree. */
typedef struct entry {
    char *path; /* below the root */
    char *target;
    alineo_file_type type;
    uint32_t mode;
} entry;

/* What a sandbox told of a tree. */
typedef struct tree {
    char *root; /* normalised, for comparing */
    entry *entries;
    size_t count;
    size_t capacity;
    size_t memory;
    uint64_t bytes;
    alineo_code code; /* what went wrong */
    alineo_error *error;
} tree;

static void tree_clear(tree *t) {
    for (size_t i = 0; i < t->count; i++) {
        free(t->entries[i].path);
        free(t->entries[i].target);
    }
    free(t->entries);
    free(t->root);
    alineo_error_free(t->error);
}
AL_CLEANUP_INSIDE(tree, tree_clear);

/* --- listing ---------------------------------------------------------------------------------- */

/* The part of a told path that is below the root; NULL for one that is not below. */
static const char *below_root(const tree *t, const char *normal) {
    size_t size = strcmp(t->root, "/") == 0 ? 0 : strlen(t->root);
    return al_path_is_below(t->root, normal) && strcmp(t->root, normal) != 0 ? normal + size + 1
                                                                             : NULL;
}

static alineo_code keep(tree *t, const alineo_file_info *info, alineo_error **err) {
    if (!AL_STRUCT_HAS(info, link_target) || info->path == NULL)
        return al_fail(err, ALINEO_INTERNAL, "tell the makers of the provider",
                       "a file was told of without a path");
    al_autofree char *normal = al_path_normalise(info->path);
    if (normal == NULL)
        return al_fail_memory(err);
    const char *path = below_root(t, normal);
    if (path == NULL)
        return al_fail(err, ALINEO_IO, "do not trust this sandbox",
                       "it told of a file that is not in the folder: %.400s", info->path);
    const char *target = info->link_target;
    t->memory += sizeof(entry) + strlen(path) + (target != NULL ? strlen(target) : 0);
    if (t->memory > TOLD_MAX)
        return al_fail(err, ALINEO_TOO_LARGE, "copy the folders in it one by one",
                       "there are too many files in the folder");
    if (t->count == t->capacity) {
        size_t capacity = t->capacity == 0 ? 64 : t->capacity * 2;
        entry *entries = reallocarray(t->entries, capacity, sizeof(*entries));
        if (entries == NULL)
            return al_fail_memory(err);
        t->entries = entries;
        t->capacity = capacity;
    }
    entry one = {al_strdup(path), al_strdup(target), info->type, info->mode};
    t->entries[t->count++] = one;
    if (one.path == NULL || (one.target == NULL && target != NULL))
        return al_fail_memory(err);
    if (info->type == ALINEO_FILE_REGULAR)
        t->bytes += info->bytes;
    return ALINEO_OK;
}

static int32_t see(void *user, const alineo_file_info *info) {
    tree *t = user;
    t->code = keep(t, info, &t->error);
    return t->code != ALINEO_OK;
}

static alineo_code list_tree(const al_file_job *job, const char *root, tree *t,
                             alineo_error **err) {
    al_file_job own = *job;
    own.request = (alineo_file_request){
        .size = sizeof(own.request), .path = root, .depth = UINT32_MAX, .call = job->request.call};
    t->root = al_path_normalise(root);
    if (t->root == NULL)
        return al_fail_memory(err);
    alineo_code code = job->way->list(&own, see, t, err);
    if (code == ALINEO_OK && t->code != ALINEO_OK)
        code = al_error_give(&t->error, err);
    return code;
}

/* --- copying ---------------------------------------------------------------------------------- */

static alineo_code read_from(void *source, void *buffer, size_t capacity, size_t *used,
                             alineo_error **err) {
    return al_open_file_read(source, buffer, capacity, used, err);
}

static alineo_code copy_file(al_copy *copy, const al_file_job *job, const char *source,
                             const char *path, uint32_t mode, alineo_error **err) {
    al_file_job own = *job;
    own.request = (alineo_file_request){
        .size = sizeof(own.request), .path = source, .call = job->request.call};
    al_auto(al_open_file_free) al_open_file *file = NULL;
    alineo_code code = al_open_file_new(&own, false, &file, err);
    return code == ALINEO_OK ? al_copy_file(copy, path, mode, read_from, file, err) : code;
}

/* A file that vanished since it was told of is passed over. */
static alineo_code copy_told_file(al_copy *copy, const al_file_job *job, const char *root,
                                  const entry *one, alineo_error **err) {
    al_autofree char *source = al_path_join(root, one->path);
    if (source == NULL)
        return al_fail_memory(err);
    alineo_code code = al_path_check("path", source, err);
    if (code != ALINEO_OK)
        return code;
    alineo_error *failure = NULL;
    uint64_t before = copy->result.bytes;
    code = copy_file(copy, job, source, one->path, one->mode, &failure);
    if (code == ALINEO_FILE_NOT_FOUND && copy->result.bytes == before) {
        alineo_error_free(failure);
        copy->result.skipped++;
        return ALINEO_OK;
    }
    if (code != ALINEO_OK)
        (void)al_wrap(&failure, "%s", one->path);
    return al_error_give(&failure, err);
}

static alineo_code copy_entry(al_copy *copy, const al_file_job *job, const char *root,
                              const entry *one, alineo_error **err) {
    switch (one->type) {
    case ALINEO_FILE_DIRECTORY:
        return al_copy_folder(copy, one->path, one->mode, err);
    case ALINEO_FILE_REGULAR:
        return copy_told_file(copy, job, root, one, err);
    case ALINEO_FILE_SYMLINK:
        return al_copy_link(copy, one->path, one->target != NULL ? one->target : "", err);
    default:
        copy->result.skipped++;
        return ALINEO_OK;
    }
}

static alineo_code copy_tree(al_copy *copy, const al_file_job *job, const al_file_followed *root,
                             alineo_error **err) {
    al_auto(tree_clear) tree t = {0};
    alineo_code code = list_tree(job, root->path, &t, err);
    copy->total = t.bytes;
    if (code == ALINEO_OK)
        code = al_copy_folder(copy, "", root->mode, err);
    for (size_t i = 0; code == ALINEO_OK && i < t.count; i++)
        code = copy_entry(copy, job, root->path, &t.entries[i], err);
    return code;
}

alineo_code al_copy_from_sandbox(al_copy *copy, const al_file_job *job, alineo_error **err) {
    al_auto(al_file_followed_clear) al_file_followed root = {.path = NULL};
    alineo_code code = al_file_follow(job, &root, err);
    if (code != ALINEO_OK)
        return code;
    switch (root.type) {
    case ALINEO_FILE_DIRECTORY:
        return copy_tree(copy, job, &root, err);
    case ALINEO_FILE_REGULAR:
        copy->total = root.bytes;
        return copy_file(copy, job, root.path, "", root.mode, err);
    default:
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL,
                       "it is neither a regular file nor a folder");
    }
}
