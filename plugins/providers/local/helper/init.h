/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_INIT_H
#define ALINEO_LOCAL_INIT_H

/* Pid 1 of a box: reaps, starts commands and does work on files, as the supervisor asks. It never
 * is a command, and holds nothing that a command could want: guest processes cannot reach it but by
 * signals, which it does not act on.
 *
 *   init_main.c   the loop: requests and dead children
 *   init_start.c  from a START to a running command
 *   init_user.c   users and groups of the box
 *   init_path.c   paths, resolved in the box
 *   init_file.c   work on one file
 *   init_walk.c   work on trees, in a process of its own: lists, searches, removals
 *   init_copy.c   the same: moves across file systems
 *   init_text.c   the same: replacing in a file */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "plugins/providers/local/helper/supervise.h"
#include "plugins/providers/local/link.h"
#include "plugins/providers/local/protocol.h"
#include "plugins/providers/local/runtime/box.h"

enum {
    LOCAL_WORKERS_MAX = 16, /* file workers at once */
    LOCAL_HOME_MAX = 256
};

/* A child that pid 1 will report, or a file worker (NUMBER 0). */
struct local_child {
    uint64_t number;
    pid_t pid;
};

struct local_pid1_state {
    const struct local_init *config;
    const struct local_inside *inside;
    int signal_fd;
    int null_fd; /* /dev/null, opened before any command could put something in its place */
    struct local_child *children;
    size_t child_count;
    size_t child_capacity;
    size_t worker_count;
    struct local_message in;
};

/* --- init_main.c --- */

/* Room for one more child, so that adding it after the fork cannot fail. */
AL_MUST_CHECK int local_child_reserve(struct local_pid1_state *state);
void local_child_add(struct local_pid1_state *state, uint64_t number, pid_t pid);
/* Sends to the supervisor; without one there is nothing left to do. */
void local_pid1_tell(const struct local_pid1_state *state, uint32_t type, uint64_t tag,
                     const void *message, int fd);

/* --- init_start.c --- */

void local_init_start(struct local_pid1_state *state);

/* --- init_user.c --- */

struct local_user {
    uid_t uid;
    gid_t gid;
    gid_t groups[LOCAL_GROUPS_MAX];
    size_t group_count;
    char home[LOCAL_HOME_MAX];
};

/* SPEC: "name", "uid", "name:group", "uid:gid" and mixtures; NULL is root. ENOENT: none of that
 * name. */
AL_MUST_CHECK int local_user_find(const char *spec, struct local_user *user);

/* Ids of an owner and a group, by name or number. */
AL_MUST_CHECK int local_user_id(const char *text, uid_t *uid);
AL_MUST_CHECK int local_group_id(const char *text, gid_t *gid);

/* Names of ids, or the numbers as text. Keeps what it read until local_names_free. */
struct local_names {
    al_buf passwd;
    al_buf group;
    bool is_read;
    char owner[LOCAL_NAME_MAX + 1];
    char owning_group[LOCAL_NAME_MAX + 1];
};
void local_names_find(struct local_names *names, uid_t uid, gid_t gid);
void local_names_free(struct local_names *names);
AL_CLEANUP_INSIDE(struct local_names, local_names_free);

/* --- init_path.c: nothing here leaves the box or follows a link of /proc to a process's own --- */

/* As openat2; PATH absolute (EINVAL otherwise). */
AL_MUST_CHECK int local_path_open(const char *path, uint64_t flags, mode_t mode, int *fd);
/* The folder that PATH lies in (O_PATH), made if asked for, and in NAME, which holds NAME_MAX + 1
 * bytes, the last part. EINVAL when there is no such: "/", "..". */
AL_MUST_CHECK int local_path_parent(const char *path, bool make_parents, int *fd, char *name);
/* The folder PATH and what is missing above it, the last with MODE, those above with 0755. */
AL_MUST_CHECK int local_path_make_folders(const char *path, mode_t mode);
/* Whether FD is on a file system that is a door to the kernel: /proc, /sys and the like. */
bool local_is_kernel_folder(int fd);

/* --- init_file.c --- */

void local_init_file(struct local_pid1_state *state);
/* Fills INFO from what FD (O_PATH will do) stands for; TARGET (LOCAL_PATH_MAX + 1 bytes) holds the
 * text of a link. Strings of INFO are in NAMES and TARGET. */
AL_MUST_CHECK int local_file_describe(int fd, struct local_names *names, char *target,
                                      struct local_file_info *info);

/* --- workers: work on FILE, tell on STREAM; give an exit code --- */

/* Where it failed, how often something was done. */
struct local_work {
    int stream_fd;
    const struct local_file *file;
    char path[LOCAL_PATH_MAX + 1];
    uint64_t count;
};

AL_MUST_CHECK int local_work_list(struct local_work *work);
AL_MUST_CHECK int local_work_remove(struct local_work *work);
AL_MUST_CHECK int local_work_copy(struct local_work *work);
AL_MUST_CHECK int local_work_replace(struct local_work *work);
/* Whether whoever waits for the work is still there. */
bool local_work_is_wanted(const struct local_work *work);

#endif
