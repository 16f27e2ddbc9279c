/* SPDX-License-Identifier: Apache-2.0 */
/* Making, moving and removing files and folders, and what is said about them. */
#include "core/file_private.h"

#include "core/check.h"
#include "core/struct.h"
#include "core/util/path.h"

#include <string.h>

enum {
    OWNER_SIZE_MAX = 255,
    /* Fields of the options that a function takes. */
    TAKES_MODE = 1,
    TAKES_PARENTS = 2,
    TAKES_REPLACE = 4,
    TAKES_RECURSIVE = 8
};

void alineo_file_change_options_init(alineo_file_change_options *options) {
    *options = (alineo_file_change_options)ALINEO_FILE_CHANGE_OPTIONS_INIT;
}

static alineo_code read_options(const alineo_file_change_options *given, unsigned takes,
                                const char *doing, alineo_file_change_options *out,
                                alineo_error **err) {
    alineo_code code = AL_STRUCT_READ(out, given, "file change options", err);
    if (code != ALINEO_OK)
        return code;
    if (out->mode != 0 && (takes & TAKES_MODE) == 0)
        return al_file_misplaced(doing, "mode", err);
    if (out->parents != ALINEO_DEFAULT && (takes & TAKES_PARENTS) == 0)
        return al_file_misplaced(doing, "parents", err);
    if (out->replace != ALINEO_DEFAULT && (takes & TAKES_REPLACE) == 0)
        return al_file_misplaced(doing, "replace", err);
    if (out->recursive != ALINEO_DEFAULT && (takes & TAKES_RECURSIVE) == 0)
        return al_file_misplaced(doing, "recursive", err);
    code = al_choice_check("parents", out->parents, err);
    if (code == ALINEO_OK)
        code = al_choice_check("replace", out->replace, err);
    if (code == ALINEO_OK)
        code = al_choice_check("recursive", out->recursive, err);
    return code == ALINEO_OK ? al_file_mode_check(out->mode, err) : code;
}

/* All that these calls have in common before the way is gone. */
static alineo_code enter(alineo_sandbox *sandbox, const char *path,
                         const alineo_file_change_options *given, unsigned takes, const char *doing,
                         al_file_job *job, alineo_error **err) {
    alineo_file_change_options own;
    alineo_code code = read_options(given, takes, doing, &own, err);
    if (code == ALINEO_OK)
        code = al_file_enter(sandbox, path, own.call, doing, job, err);
    if (code != ALINEO_OK)
        return code;
    if ((takes & TAKES_PARENTS) != 0 && own.parents != ALINEO_NO)
        job->request.flags |= ALINEO_FILE_PARENTS;
    if (own.replace == ALINEO_YES)
        job->request.flags |= ALINEO_FILE_REPLACE;
    if ((takes & TAKES_RECURSIVE) != 0 && own.recursive != ALINEO_NO)
        job->request.flags |= ALINEO_FILE_RECURSIVE;
    if (own.mode != 0)
        job->request.flags |= ALINEO_FILE_MODE;
    job->request.mode = own.mode;
    return ALINEO_OK;
}

static alineo_code change(al_file_job *job, al_file_change what, const char *doing,
                          alineo_error **err) {
    return al_file_end(job, doing, job->way->change(job, what, err), err);
}

alineo_code alineo_file_mkdir(alineo_sandbox *sandbox, const char *path,
                              const alineo_file_change_options *options, alineo_error **err) {
    al_file_job job;
    alineo_code code =
        enter(sandbox, path, options, TAKES_MODE | TAKES_PARENTS, "make a folder", &job, err);
    return code == ALINEO_OK ? change(&job, AL_FILE_MKDIR, "make the folder", err) : code;
}

alineo_code alineo_file_remove(alineo_sandbox *sandbox, const char *path,
                               const alineo_file_change_options *options, alineo_error **err) {
    al_file_job job;
    alineo_code code = enter(sandbox, path, options, 0, "remove a file", &job, err);
    return code == ALINEO_OK ? change(&job, AL_FILE_REMOVE, "remove the file", err) : code;
}

/* Nobody means the sandbox's root, or the folder that a path with "." at its end is in. */
static alineo_code check_removable(const char *path, alineo_error **err) {
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/')
        size--;
    size_t name = size;
    while (name > 0 && path[name - 1] != '/')
        name--;
    const char *last = path + name;
    size -= name;
    if (size > 0 && !(size == 1 && last[0] == '.') && !(size == 2 && memcmp(last, "..", 2) == 0))
        return ALINEO_OK;
    return al_fail(err, ALINEO_INVALID_ARGUMENT, "name the folder itself",
                   "remove a folder: %s has no name at its end", path);
}

alineo_code alineo_file_rmdir(alineo_sandbox *sandbox, const char *path,
                              const alineo_file_change_options *options, alineo_error **err) {
    al_file_job job;
    alineo_code code = enter(sandbox, path, options, TAKES_RECURSIVE, "remove a folder", &job, err);
    if (code == ALINEO_OK)
        code = check_removable(path, err);
    return code == ALINEO_OK ? change(&job, AL_FILE_RMDIR, "remove the folder", err) : code;
}

/* By text alone, so that every provider answers the same; what links hide the provider finds. */
static alineo_code check_move(const char *path, const char *target, alineo_error **err) {
    al_autofree char *from = al_path_normalise(path);
    al_autofree char *to = al_path_normalise(target);
    if (from == NULL || to == NULL)
        return al_fail_memory(err);
    if (strcmp(from, to) != 0 && al_path_is_below(from, to))
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "move %s: %s is in it", path, target);
    return ALINEO_OK;
}

alineo_code alineo_file_move(alineo_sandbox *sandbox, const char *path, const char *target,
                             const alineo_file_change_options *options, alineo_error **err) {
    al_file_job job;
    alineo_code code = al_path_check("target", target, err);
    if (code == ALINEO_OK)
        code =
            enter(sandbox, path, options, TAKES_PARENTS | TAKES_REPLACE, "move a file", &job, err);
    if (code == ALINEO_OK)
        code = check_move(path, target, err);
    if (code != ALINEO_OK)
        return code;
    job.request.target = target;
    return change(&job, AL_FILE_MOVE, "move", err);
}

alineo_code alineo_file_chmod(alineo_sandbox *sandbox, const char *path, uint32_t mode,
                              const alineo_file_change_options *options, alineo_error **err) {
    al_file_job job;
    alineo_code code = al_file_mode_check(mode, err);
    if (code == ALINEO_OK)
        code = enter(sandbox, path, options, 0, "change the mode of a file", &job, err);
    if (code != ALINEO_OK)
        return code;
    job.request.mode = mode;
    job.request.flags |= ALINEO_FILE_MODE;
    return change(&job, AL_FILE_CHMOD, "change the mode of", err);
}

/* A name or number that no command takes for an option or for two of them. */
static alineo_code check_owner(const char *what, const char *name, alineo_error **err) {
    alineo_code code = al_text_check(what, name, OWNER_SIZE_MAX, err);
    if (code == ALINEO_OK && name != NULL &&
        (name[0] == '-' || name[0] == '+' || strpbrk(name, ": ") != NULL))
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, "pass owner and group apart",
                       "%s is no name: %s", what, name);
    return code;
}

alineo_code alineo_file_chown(alineo_sandbox *sandbox, const char *path, const char *owner,
                              const char *group, const alineo_file_change_options *options,
                              alineo_error **err) {
    al_file_job job;
    alineo_code code = check_owner("owner", owner, err);
    if (code == ALINEO_OK)
        code = check_owner("group", group, err);
    if (code == ALINEO_OK && owner == NULL && group == NULL)
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, NULL,
                       "change the owner of a file: neither an owner nor a group is given");
    if (code == ALINEO_OK)
        code = enter(sandbox, path, options, 0, "change the owner of a file", &job, err);
    if (code != ALINEO_OK)
        return code;
    job.request.owner = owner;
    job.request.group = group;
    return change(&job, AL_FILE_CHOWN, "change the owner of", err);
}

alineo_code alineo_file_symlink(alineo_sandbox *sandbox, const char *path, const char *target,
                                const alineo_file_change_options *options, alineo_error **err) {
    al_file_job job;
    alineo_code code = ALINEO_OK;
    if (target == NULL || target[0] == '\0' || strlen(target) > AL_PATH_SIZE_MAX)
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, NULL,
                       "make a link: its target is not 1 to %d bytes", AL_PATH_SIZE_MAX);
    if (code == ALINEO_OK)
        code = enter(sandbox, path, options, TAKES_PARENTS, "make a link", &job, err);
    if (code != ALINEO_OK)
        return code;
    job.request.target = target;
    return change(&job, AL_FILE_LINK, "make the link", err);
}

alineo_code alineo_file_replace(alineo_sandbox *sandbox, const char *path, const void *find,
                                size_t find_size, const void *replacement, size_t replacement_size,
                                const alineo_file_change_options *options, uint64_t *count,
                                alineo_error **err) {
    al_file_job job;
    alineo_code code = ALINEO_OK;
    if (find == NULL || find_size == 0)
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, "give at least one byte to find",
                       "replace in a file: there is nothing to find");
    else if (replacement == NULL && replacement_size > 0)
        code =
            al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "replace in a file: `replacement` is NULL");
    if (code == ALINEO_OK)
        code = enter(sandbox, path, options, 0, "replace in a file", &job, err);
    if (code != ALINEO_OK)
        return code;
    job.request.find = find;
    job.request.find_size = find_size;
    job.request.replacement = replacement != NULL ? replacement : "";
    job.request.replacement_size = replacement_size;
    uint64_t replaced = 0;
    code = al_file_end(&job, "replace in", job.way->replace(&job, &replaced, err), err);
    if (code == ALINEO_OK && count != NULL)
        *count = replaced;
    return code;
}
