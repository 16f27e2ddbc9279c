/* SPDX-License-Identifier: Apache-2.0 */
/* Changes by the programs that are for them. What these do not tell apart, or do in their own way
 * (a move into a folder), is looked at before. */
#include "core/file_command.h"

#include "core/util/path.h"
#include "core/util/str.h"

#include <stdio.h>
#include <string.h>

/* $1 path, $2 mode, $3 umask, $4 the folder to make above it or "". A folder that somebody else
 * made at the same time is as good. */
static const char mkdir_script[] = AL_FILE_SCRIPT_WHY AL_FILE_SCRIPT_ABOVE
    "if [ -n \"$4\" ]; then\n"
    "  [ -d \"$1\" ] && exit\n"
    "  [ -e \"$1\" ] && exit 102\n"
    "  umask 022\n"
    "  above \"$4\" \"$1\"\n"
    "fi\n"
    "umask \"$3\"\n"
    "mkdir \"$1\" || { [ -n \"$4\" ] && [ -d \"$1\" ] && exit; why \"$1\"; }\n"
    "case $2 in 0[1-7]*) chmod \"$2\" \"$1\" ;; esac\n";

static const char remove_script[] = "[ -d \"$1\" ] && ! [ -L \"$1\" ] && exit 103\n"
                                    "rm \"$1\" || exit 90\n";

/* $1 path, $2 "r" for all that is in it. What rm keeps to itself find says. */
static const char rmdir_script[] = "[ -L \"$1\" ] && exit 102\n"
                                   "[ -e \"$1\" ] && ! [ -d \"$1\" ] && exit 102\n"
                                   "[ -n \"$2\" ] || { rmdir \"$1\" && exit || exit 90; }\n"
                                   "rm -r \"$1\" || { find \"$1\" >/dev/null; exit 90; }\n";

/* $1 path, $2 target, $3 the folder to make above it or "", $4 "r" to replace. A name for what is
 * the same file already stays, as rename() leaves it. */
static const char move_script[] = AL_FILE_SCRIPT_WHY AL_FILE_SCRIPT_ABOVE
    "is_folder() { [ -d \"$1\" ] && ! [ -L \"$1\" ]; }\n"
    "[ -e \"$1\" ] || [ -L \"$1\" ] || { stat \"$1\" >/dev/null; why \"$1\"; }\n"
    "umask 022\n"
    "above \"$3\" \"$2\"\n"
    "if [ -e \"$2\" ] || [ -L \"$2\" ]; then\n"
    "  [ -n \"$4\" ] || exit 104\n"
    "  ! [ -L \"$1\" ] && ! [ -L \"$2\" ] && [ \"$1\" -ef \"$2\" ] && exit\n"
    "  if is_folder \"$2\"; then\n"
    "    is_folder \"$1\" || exit 103\n"
    "    rmdir \"$2\" || exit 90\n"
    "  elif is_folder \"$1\"; then exit 102\n"
    "  elif [ -d \"$2\" ]; then rm \"$2\" || exit 90\n"
    "  fi\n"
    "fi\n"
    "mv -f \"$1\" \"$2\" || why \"$2\"\n";

/* $1 path, $2 mode or owner, $3 the program. */
static const char attribute_script[] = "\"$3\" \"$2\" \"$1\" && exit\n"
                                       "[ -L \"$1\" ] && ! [ -e \"$1\" ] && exit 101\n"
                                       "exit 90\n";

/* $1 path, $2 target, $3 the folder to make above it or "". */
static const char link_script[] =
    AL_FILE_SCRIPT_WHY AL_FILE_SCRIPT_ABOVE "[ -e \"$1\" ] || [ -L \"$1\" ] && exit 104\n"
                                            "umask 022\n"
                                            "above \"$3\" \"$1\"\n"
                                            "ln -s -- \"$2\" \"$1\" || why \"$1\"\n";

static alineo_code run(const al_file_job *job, const char *script, const char *a, const char *b,
                       const char *c, const char *d, alineo_error **err) {
    const char *const argv[] = {"sh", "-c", script, "sh", a, b, c, d, NULL};
    return al_file_command_run(job, argv, NULL, err);
}

static bool has(const al_file_job *job, uint32_t flag) {
    return (job->request.flags & flag) != 0;
}

/* Without '/' behind, by which a program would follow a link. */
static char *name_of(const char *path) {
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/')
        size--;
    return al_strndup(path, size);
}

static alineo_code make_folder(const al_file_job *job, alineo_error **err) {
    char mode[8];
    char mask[8];
    uint32_t wanted = has(job, ALINEO_FILE_MODE) ? job->request.mode : 0755;
    (void)snprintf(mode, sizeof(mode), "%05o", wanted & 07777);
    (void)snprintf(mask, sizeof(mask), "%04o", 0777 & ~wanted);
    al_autofree char *above = al_file_command_above(job, job->request.path);
    if (above == NULL)
        return al_fail_memory(err);
    return run(job, mkdir_script, job->request.path, mode, mask, above, err);
}

static alineo_code remove_folder(const al_file_job *job, alineo_error **err) {
    al_autofree char *path = name_of(job->request.path);
    if (path == NULL)
        return al_fail_memory(err);
    return run(job, rmdir_script, path, has(job, ALINEO_FILE_RECURSIVE) ? "r" : "", NULL, NULL,
               err);
}

static alineo_code move(const al_file_job *job, alineo_error **err) {
    al_autofree char *path = name_of(job->request.path);
    al_autofree char *target = name_of(job->request.target);
    al_autofree char *above = target != NULL ? al_file_command_above(job, target) : NULL;
    if (path == NULL || above == NULL)
        return al_fail_memory(err);
    return run(job, move_script, path, target, above, has(job, ALINEO_FILE_REPLACE) ? "r" : "",
               err);
}

static alineo_code change_mode(const al_file_job *job, alineo_error **err) {
    char mode[8];
    (void)snprintf(mode, sizeof(mode), "%05o", job->request.mode & 07777);
    return run(job, attribute_script, job->request.path, mode, "chmod", NULL, err);
}

static alineo_code change_owner(const al_file_job *job, alineo_error **err) {
    const char *owner = job->request.owner != NULL ? job->request.owner : "";
    const char *group = job->request.group;
    al_autofree char *both =
        al_strf("%s%s%s", owner, group != NULL ? ":" : "", group != NULL ? group : "");
    if (both == NULL)
        return al_fail_memory(err);
    return run(job, attribute_script, job->request.path, both, "chown", NULL, err);
}

static alineo_code make_link(const al_file_job *job, alineo_error **err) {
    al_autofree char *above = al_file_command_above(job, job->request.path);
    if (above == NULL)
        return al_fail_memory(err);
    return run(job, link_script, job->request.path, job->request.target, above, NULL, err);
}

alineo_code al_file_command_change(const al_file_job *job, al_file_change what,
                                   alineo_error **err) {
    switch (what) {
    case AL_FILE_MKDIR:
        return make_folder(job, err);
    case AL_FILE_REMOVE:
        return run(job, remove_script, job->request.path, NULL, NULL, NULL, err);
    case AL_FILE_RMDIR:
        return remove_folder(job, err);
    case AL_FILE_MOVE:
        return move(job, err);
    case AL_FILE_CHMOD:
        return change_mode(job, err);
    case AL_FILE_CHOWN:
        return change_owner(job, err);
    default:
        return make_link(job, err);
    }
}
