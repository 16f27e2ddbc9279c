/* SPDX-License-Identifier: Apache-2.0 */
/* Work on one file of the box, done by pid 1 itself since it takes microseconds; work on trees goes
 * to a process of its own. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "alineo/provider.h"
#include "core/util/file.h"
#include "core/util/io.h"
#include "plugins/providers/local/helper/init.h"
#include "plugins/providers/local/runtime/fork.h"

enum {
    FILE_MODE = 0644,
    FOLDER_MODE = 0755,
    PROC_PATH_SIZE = 32,
    MS_IN_SECOND = 1000,
    NS_IN_MS = 1000000
};

static bool has(const struct local_file *file, uint32_t flag) {
    return (file->flags & flag) != 0;
}

/* --- what it is --------------------------------------------------------------------------------*/

static uint32_t type_of(mode_t mode) {
    if (S_ISREG(mode))
        return ALINEO_FILE_REGULAR;
    if (S_ISDIR(mode))
        return ALINEO_FILE_DIRECTORY;
    return S_ISLNK(mode) ? ALINEO_FILE_SYMLINK : ALINEO_FILE_OTHER;
}

static int64_t ms_of(const struct statx_timestamp *time) {
    return time->tv_sec * MS_IN_SECOND + time->tv_nsec / NS_IN_MS;
}

int local_file_describe(int fd, struct local_names *names, char *target,
                        struct local_file_info *info) {
    struct statx status;
    if (statx(fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME,
              &status) != 0)
        return errno;
    local_names_find(names, status.stx_uid, status.stx_gid);
    *info = (struct local_file_info){
        .type = type_of(status.stx_mode),
        .mode = status.stx_mode & 07777,
        .size = status.stx_size,
        .modified_at_ms = ms_of(&status.stx_mtime),
        .created_at_ms = (status.stx_mask & STATX_BTIME) != 0 ? ms_of(&status.stx_btime) : 0,
        .owner = names->owner,
        .group = names->owning_group,
    };
    if (!S_ISLNK(status.stx_mode))
        return 0;
    ssize_t size = readlinkat(fd, "", target, LOCAL_PATH_MAX);
    if (size < 0)
        return errno;
    target[size] = '\0';
    info->link_target = target;
    return 0;
}

/* --- one call each: *FD gets what is handed over -----------------------------------------------*/

/* What waits for another end, or is a door to a device, is never handed over. */
static int check_regular(int fd) {
    struct stat status;
    if (fstat(fd, &status) != 0)
        return errno;
    if (S_ISDIR(status.st_mode))
        return EISDIR;
    return S_ISREG(status.st_mode) ? 0 : EINVAL;
}

static int open_read(const struct local_file *file, int *fd) {
    int rc = local_path_open(file->path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, fd);
    /* A socket, or a device that nobody serves. */
    if (rc == ENXIO || rc == ENODEV)
        return EINVAL;
    return rc == 0 ? check_regular(*fd) : rc;
}

static int make_parents_of(const char *path) {
    char name[NAME_MAX + 1];
    al_autofd int fd = -1;
    return local_path_parent(path, true, &fd, name);
}

static int open_or_create(const struct local_file *file, mode_t mode, int *fd) {
    uint64_t flags = O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY;
    flags |= has(file, ALINEO_FILE_EXCLUSIVE) ? O_EXCL : 0;
    flags |= has(file, ALINEO_FILE_APPEND) ? O_APPEND : 0;
    int rc = local_path_open(file->path, flags, mode, fd);
    if (rc == ENOENT && has(file, ALINEO_FILE_PARENTS)) {
        rc = make_parents_of(file->path);
        if (rc == 0)
            rc = local_path_open(file->path, flags, mode, fd);
    }
    return rc == ENXIO || rc == ENODEV ? EINVAL : rc;
}

static int open_write(const struct local_file *file, int *fd) {
    mode_t mode = file->mode != 0 || has(file, ALINEO_FILE_MODE) ? file->mode : FILE_MODE;
    int rc = open_or_create(file, mode, fd);
    if (rc == 0)
        rc = check_regular(*fd);
    if (rc == 0 && local_is_kernel_folder(*fd))
        rc = EACCES;
    if (rc == 0 && has(file, ALINEO_FILE_MODE) && fchmod(*fd, mode) != 0)
        rc = errno;
    return rc;
}

static int stat_one(const struct local_file *file, int *fd) {
    return local_path_open(file->path, O_PATH | O_NOFOLLOW, 0, fd);
}

static int make_folder(const struct local_file *file) {
    mode_t mode = file->mode != 0 || has(file, ALINEO_FILE_MODE) ? file->mode : FOLDER_MODE;
    al_autofd int there = -1;
    int rc = local_path_open(file->path, O_PATH | O_NOFOLLOW, 0, &there);
    if (rc == 0) {
        if (!has(file, ALINEO_FILE_PARENTS))
            return EEXIST;
        al_autofd int folder = -1;
        rc = local_path_open(file->path, O_PATH | O_DIRECTORY, 0, &folder);
        return rc == ENOENT ? EEXIST : rc;
    }
    if (rc != ENOENT)
        return rc;
    if (has(file, ALINEO_FILE_PARENTS))
        return local_path_make_folders(file->path, mode);
    char name[NAME_MAX + 1];
    al_autofd int parent = -1;
    rc = local_path_parent(file->path, false, &parent, name);
    if (rc == 0 && mkdirat(parent, name, mode) != 0)
        rc = errno;
    return rc;
}

static int remove_one(const struct local_file *file, int flags) {
    char name[NAME_MAX + 1];
    al_autofd int parent = -1;
    int rc = local_path_parent(file->path, false, &parent, name);
    if (rc == 0 && unlinkat(parent, name, flags) != 0)
        rc = errno == EEXIST ? ENOTEMPTY : errno;
    return rc;
}

static int move(const struct local_file *file) {
    char from_name[NAME_MAX + 1];
    char to_name[NAME_MAX + 1];
    al_autofd int from = -1;
    al_autofd int to = -1;
    if (file->target == NULL)
        return EINVAL;
    int rc = local_path_parent(file->path, false, &from, from_name);
    if (rc == 0)
        rc = local_path_parent(file->target, has(file, ALINEO_FILE_PARENTS), &to, to_name);
    unsigned flags = has(file, ALINEO_FILE_REPLACE) ? 0 : RENAME_NOREPLACE;
    if (rc == 0 && renameat2(from, from_name, to, to_name, flags) != 0)
        rc = errno;
    return rc;
}

static int make_link(const struct local_file *file) {
    char name[NAME_MAX + 1];
    al_autofd int parent = -1;
    if (file->target == NULL || file->target[0] == '\0')
        return EINVAL;
    int rc = local_path_parent(file->path, has(file, ALINEO_FILE_PARENTS), &parent, name);
    if (rc == 0 && symlinkat(file->target, parent, name) != 0)
        rc = errno;
    return rc;
}

static int change_mode(const struct local_file *file) {
    al_autofd int fd = -1;
    int rc = local_path_open(file->path, O_PATH, 0, &fd);
    if (rc != 0)
        return rc;
    if (local_is_kernel_folder(fd))
        return EACCES;
    /* The way to a file that is only held by its path. */
    char path[PROC_PATH_SIZE];
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return chmod(path, file->mode) == 0 ? 0 : errno;
}

static int change_owner(const struct local_file *file) {
    uid_t uid = (uid_t)-1;
    gid_t gid = (gid_t)-1;
    int rc = file->owner != NULL ? local_user_id(file->owner, &uid) : 0;
    if (rc == 0 && file->group != NULL)
        rc = local_group_id(file->group, &gid);
    al_autofd int fd = -1;
    if (rc == 0)
        rc = local_path_open(file->path, O_PATH, 0, &fd);
    if (rc == 0 && fchownat(fd, "", uid, gid, AT_EMPTY_PATH) != 0)
        rc = errno;
    return rc;
}

static int do_one(const struct local_file *file, int *fd) {
    switch (file->op) {
    case LOCAL_FILE_READ:
        return open_read(file, fd);
    case LOCAL_FILE_WRITE:
        return open_write(file, fd);
    case LOCAL_FILE_STAT:
        return stat_one(file, fd);
    case LOCAL_FILE_MKDIR:
        return make_folder(file);
    case LOCAL_FILE_REMOVE:
        return remove_one(file, 0);
    case LOCAL_FILE_RMDIR:
        return remove_one(file, AT_REMOVEDIR);
    case LOCAL_FILE_MOVE:
        return move(file);
    case LOCAL_FILE_CHMOD:
        return change_mode(file);
    case LOCAL_FILE_CHOWN:
        return change_owner(file);
    case LOCAL_FILE_LINK:
        return make_link(file);
    default:
        return EINVAL;
    }
}

/* --- workers -----------------------------------------------------------------------------------*/

static int work(const struct local_file *file, int stream_fd) {
    struct local_work work = {.stream_fd = stream_fd, .file = file};
    int rc = EINVAL;
    if (file->op == LOCAL_FILE_LIST || file->op == LOCAL_FILE_SEARCH)
        rc = local_work_list(&work);
    else if (file->op == LOCAL_FILE_RMTREE)
        rc = local_work_remove(&work);
    else if (file->op == LOCAL_FILE_COPY)
        rc = local_work_copy(&work);
    else if (file->op == LOCAL_FILE_REPLACE)
        rc = local_work_replace(&work);
    struct local_stream_end end = {(uint32_t)rc, work.path[0] != '\0' ? work.path : NULL,
                                   work.count};
    rc = local_link_send(stream_fd, LOCAL_STREAM_END, 0, &end, NULL, 0, AL_DEADLINE_NONE);
    return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int start_worker(struct local_pid1_state *state, const struct local_file *file) {
    if (state->in.fd_count != 1)
        return EINVAL;
    if (state->worker_count >= LOCAL_WORKERS_MAX)
        return EAGAIN;
    int rc = local_child_reserve(state);
    pid_t pid;
    if (rc == 0)
        rc = local_fork(0, -1, &pid, NULL);
    if (rc != 0)
        return rc;
    if (pid == 0) {
        al_close(state->config->socket_fd);
        _exit(work(file, state->in.fds[0]));
    }
    local_child_add(state, 0, pid);
    return 0;
}

void local_init_file(struct local_pid1_state *state) {
    struct local_file file;
    struct local_file_done done = {.errnum = EINVAL, .info = {.owner = "", .group = ""}};
    al_auto(local_names_free) struct local_names names = {0};
    static char target[LOCAL_PATH_MAX + 1];
    al_autofd int fd = -1;
    if (local_message_decode(&state->in, LOCAL_FILE, &file) != 0) {
        local_pid1_tell(state, LOCAL_FILE_DONE, state->in.tag, &done, -1);
        return;
    }
    /* Modes are what was asked for, to the bit. */
    mode_t mask = umask(0);
    int rc = file.op >= LOCAL_FILE_LIST ? start_worker(state, &file) : do_one(&file, &fd);
    (void)umask(mask);
    if (rc == 0 && fd >= 0)
        rc = local_file_describe(fd, &names, target, &done.info);
    done.errnum = (uint32_t)rc;
    if (rc != 0)
        done.info = (struct local_file_info){.owner = "", .group = ""};
    bool is_handed_over = rc == 0 && file.op != LOCAL_FILE_STAT;
    local_pid1_tell(state, LOCAL_FILE_DONE, state->in.tag, &done, is_handed_over ? fd : -1);
    local_clear(&local_file_schema, &file);
}
