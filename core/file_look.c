/* SPDX-License-Identifier: Apache-2.0 */
/* What files there are, and what they are like. */
#include "core/file_private.h"

#include "core/check.h"
#include "core/struct.h"

#include <string.h>

void alineo_file_list_options_init(alineo_file_list_options *options) {
    *options = (alineo_file_list_options)ALINEO_FILE_LIST_OPTIONS_INIT;
}

static alineo_code enter(alineo_sandbox *sandbox, const char *path,
                         const alineo_file_list_options *given, bool takes_depth, const char *doing,
                         alineo_file_info_fn *found, al_file_job *job, alineo_error **err) {
    alineo_file_list_options own;
    alineo_code code = AL_STRUCT_READ(&own, given, "file list options", err);
    if (code == ALINEO_OK && own.depth != 0 && !takes_depth)
        code = al_file_misplaced(doing, "depth", err);
    if (code == ALINEO_OK && found == NULL)
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "%s: `found` is NULL", doing);
    if (code == ALINEO_OK)
        code = al_file_enter(sandbox, path, own.call, doing, job, err);
    if (code == ALINEO_OK && takes_depth)
        job->request.depth = own.depth != 0 ? own.depth : 1;
    return code;
}

alineo_code alineo_file_stat(alineo_sandbox *sandbox, const char *path,
                             const alineo_file_list_options *options, alineo_file_info_fn *found,
                             void *user, alineo_error **err) {
    al_file_job job;
    alineo_code code = enter(sandbox, path, options, false, "look at a file", found, &job, err);
    if (code != ALINEO_OK)
        return code;
    return al_file_end(&job, "look at", job.way->stat(&job, found, user, err), err);
}

alineo_code alineo_file_list(alineo_sandbox *sandbox, const char *path,
                             const alineo_file_list_options *options, alineo_file_info_fn *found,
                             void *user, alineo_error **err) {
    al_file_job job;
    alineo_code code = enter(sandbox, path, options, true, "list a folder", found, &job, err);
    if (code != ALINEO_OK)
        return code;
    return al_file_end(&job, "list", job.way->list(&job, found, user, err), err);
}

alineo_code alineo_file_search(alineo_sandbox *sandbox, const char *pattern, const char *base,
                               const alineo_file_list_options *options, alineo_file_info_fn *found,
                               void *user, alineo_error **err) {
    al_file_job job;
    alineo_code code = ALINEO_OK;
    if (pattern == NULL || pattern[0] == '\0' || strlen(pattern) > AL_PATH_SIZE_MAX)
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, "\"*\" finds every file",
                       "search for files: the pattern is not 1 to %d bytes", AL_PATH_SIZE_MAX);
    if (code == ALINEO_OK)
        code = enter(sandbox, base != NULL ? base : "/", options, false, "search for files", found,
                     &job, err);
    if (code != ALINEO_OK)
        return code;
    job.request.pattern = pattern;
    return al_file_end(&job, "search in", job.way->search(&job, found, user, err), err);
}
