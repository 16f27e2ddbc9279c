/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at files by stat and find. */
#include "core/file_command.h"

#include "core/file_record.h"
#include "core/util/path.h"
#include "core/util/str.h"
#include "core/util/strv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What find hands its finds to; see file_record.h for what it prints. */
#define TELL                                                                                       \
    "-exec sh -c 'echo $# && printf \"%s\\0\" \"$@\" && { stat -c \"" AL_FILE_RECORD_FORMAT        \
    "\" \"$@\"; echo .; }' sh {} +"
#define IS_FOLDER                                                                                  \
    "[ -d \"$1\" ] || { stat -L \"$1\" >/dev/null || exit 90; exit 102; }\n"                       \
    "[ -r \"$1\" ] && [ -x \"$1\" ] || { echo \"$1: Permission denied\" >&2; exit 90; }\n"
/* Files that the kernel makes up are nobody's. */
#define PRUNE "\\( -path /proc -o -path /sys \\) -prune"

/* $1 folder with a '/' behind, $2 depth or "". */
static const char list_script[] =
    IS_FOLDER "f=$1\n"
              "[ -n \"$2\" ] && set -- -maxdepth \"$2\" || set --\n"
              "exec find \"$f\" -mindepth 1 \"$@\" " TELL " " PRUNE "\n";
/* $1 folder with a '/' behind, $2 -name or -path, $3 pattern. */
static const char search_script[] =
    IS_FOLDER "exec find \"$1\" -mindepth 1 " PRUNE " -o -type f \"$2\" \"$3\" " TELL "\n";

/* --- one file --------------------------------------------------------------------------------- */

alineo_code al_file_command_stat(const al_file_job *job, alineo_file_info_fn *found, void *user,
                                 alineo_error **err) {
    const char *path = job->request.path;
    const char *const argv[] = {"stat", "-c", AL_FILE_RECORD_FORMAT, path, NULL};
    al_auto(al_buf_free) al_buf text = {.max_size = AL_FILE_RECORD_SIZE_MAX};
    alineo_code code = al_file_command_run(job, argv, &text, err);
    if (code != ALINEO_OK)
        return code;
    al_auto(al_file_record_clear) al_file_record record = {.link_target = NULL};
    size_t used = 0;
    int rc = al_file_record_parse(al_buf_str(&text), text.size, path, &record, &used);
    if (rc == ENOMEM)
        return al_fail_memory(err);
    if (rc != 0 || used != text.size)
        return al_fail(err, ALINEO_IO,
                       "see that `stat` in the sandbox is that of coreutils or "
                       "busybox",
                       "stat in the sandbox said something unexpected");
    (void)found(user, &record.info);
    return ALINEO_OK;
}

/* --- lists ------------------------------------------------------------------------------------ */

/* Whether a complaint is about a file that a list or search may leave out: one that vanished
 * meanwhile, and for a search what may not be read or has too long a path. */
static bool is_fine(alineo_code code, bool searches) {
    return code == ALINEO_FILE_NOT_FOUND ||
           (searches && (code == ALINEO_PERMISSION_DENIED || code == ALINEO_INVALID_ARGUMENT));
}

static alineo_code judge(al_file_command *command, bool searches, alineo_error **err) {
    const alineo_exec_result *result = &command->result;
    if (result->outcome != ALINEO_OUTCOME_EXITED || result->exit_code > 1)
        return al_file_command_outcome(command, err);
    al_auto(al_strv_free) al_strv lines = AL_STRV_INIT;
    if (al_strv_split(&lines, al_buf_str(&command->complaint), '\n') != 0)
        return al_fail_memory(err);
    /* The last one is empty, or was cut where no more is kept. */
    for (size_t i = 0; i + 1 < lines.count; i++) {
        const char *line = lines.items[i];
        alineo_code code = al_file_complaint_code(line);
        if (is_fine(code, searches) || (code == ALINEO_OK && result->exit_code == 0))
            continue;
        return al_fail(err, code != ALINEO_OK ? code : ALINEO_IO, NULL, "%.400s", line);
    }
    return ALINEO_OK;
}

static alineo_code run_list(const al_file_job *job, const char *const *argv, bool searches,
                            alineo_file_info_fn *found, void *user, alineo_error **err) {
    al_auto(al_file_command_end) al_file_command command = {0};
    al_auto(al_file_listing_clear) al_file_listing listing = {.found = found, .user = user};
    alineo_code code = al_file_command_start(job, argv, false, &command, err);
    while (code == ALINEO_OK && !command.ended && !listing.stopped) {
        code = al_file_command_next(&command, err);
        int rc = code == ALINEO_OK ? al_file_listing_feed(&listing, command.data, command.size) : 0;
        if (rc == ENOMEM)
            return al_fail_memory(err);
        if (rc != 0)
            return al_fail(err, ALINEO_IO, NULL, "find in the sandbox said something unexpected");
        command.size = 0;
    }
    if (code == ALINEO_OK && !listing.stopped)
        code = judge(&command, searches, err);
    if (code == ALINEO_OK && !listing.stopped && !al_file_listing_is_whole(&listing))
        code = al_fail(err, ALINEO_IO, NULL, "find in the sandbox ended too early");
    return code;
}

/* With exactly one '/' behind, so that a link to a folder is followed. */
static char *folder_of(const char *path) {
    size_t size = strlen(path);
    while (size > 0 && path[size - 1] == '/')
        size--;
    return al_strf("%.*s/", (int)size, path);
}

alineo_code al_file_command_list(const al_file_job *job, alineo_file_info_fn *found, void *user,
                                 alineo_error **err) {
    char depth[16] = "";
    if (job->request.depth <= INT32_MAX)
        (void)snprintf(depth, sizeof(depth), "%u", job->request.depth);
    al_autofree char *folder = folder_of(job->request.path);
    if (folder == NULL)
        return al_fail_memory(err);
    const char *const argv[] = {"sh", "-c", list_script, "sh", folder, depth, NULL};
    return run_list(job, argv, false, found, user, err);
}

/* --- searching -------------------------------------------------------------------------------- */

typedef struct filter {
    const char *pattern;
    bool is_whole; /* the pattern is for the whole path */
    alineo_file_info_fn *found;
    void *user;
} filter;

/* Which patterns there are is ours to say, not that of the guest's find. */
static int32_t pass_matching(void *user, const alineo_file_info *info) {
    const filter *f = user;
    if (!al_str_glob(f->pattern, f->is_whole ? info->path : al_path_name(info->path)))
        return 0;
    return f->found(f->user, info);
}

alineo_code al_file_command_search(const al_file_job *job, alineo_file_info_fn *found, void *user,
                                   alineo_error **err) {
    const char *pattern = job->request.pattern;
    filter f = {pattern, strchr(pattern, '/') != NULL, found, user};
    /* All finds agree on '*' and '?'. */
    bool is_plain = strpbrk(pattern, "[]\\") == NULL;
    al_autofree char *folder = folder_of(job->request.path);
    if (folder == NULL)
        return al_fail_memory(err);
    const char *const argv[] = {"sh",
                                "-c",
                                search_script,
                                "sh",
                                folder,
                                f.is_whole ? "-path" : "-name",
                                is_plain ? pattern : "*",
                                NULL};
    return run_list(job, argv, true, pass_matching, &f, err);
}
