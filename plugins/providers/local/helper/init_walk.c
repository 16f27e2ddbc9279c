/* SPDX-License-Identifier: Apache-2.0 */
/* Work on trees. Folders still to be read are kept as paths on a stack of our own, so no depth of
 * nesting costs more than memory; what vanishes meanwhile is passed over. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alineo/provider.h"
#include "core/util/file.h"
#include "core/util/path.h"
#include "core/util/str.h"
#include "core/util/strv.h"
#include "plugins/providers/local/helper/init.h"

struct walk {
    struct local_work *work;
    struct local_names names;
    al_strv folders; /* still to be read */
    size_t *depths;  /* of each of them */
    size_t depth_capacity;
    char target[LOCAL_PATH_MAX + 1];
};

bool local_work_is_wanted(const struct local_work *work) {
    struct pollfd stream = {work->stream_fd, 0, 0};
    return poll(&stream, 1, 0) == 0;
}

static void note_place(struct local_work *work, const char *path) {
    (void)al_str_copy(work->path, sizeof(work->path), path);
}

/* Takes ownership of PATH. */
static int push(struct walk *walk, char *path, size_t depth) {
    if (walk->folders.count == walk->depth_capacity) {
        size_t capacity = walk->depth_capacity == 0 ? 64 : walk->depth_capacity * 2;
        size_t *depths = realloc(walk->depths, capacity * sizeof(*depths));
        if (depths == NULL) {
            free(path);
            return ENOMEM;
        }
        walk->depths = depths;
        walk->depth_capacity = capacity;
    }
    walk->depths[walk->folders.count] = depth;
    return al_strv_take(&walk->folders, path);
}

static bool is_match(const struct local_work *work, const char *path,
                     const struct local_file_info *info) {
    if (work->file->op != LOCAL_FILE_SEARCH)
        return true;
    const char *pattern = work->file->pattern;
    if (info->type != ALINEO_FILE_REGULAR)
        return false;
    return al_str_glob(pattern, strchr(pattern, '/') != NULL ? path : al_path_name(path));
}

static bool goes_down(const struct local_work *work, size_t depth) {
    uint32_t most = work->file->depth == 0 ? 1 : work->file->depth;
    return work->file->op == LOCAL_FILE_SEARCH || depth < most;
}

static int visit(struct walk *walk, int folder_fd, const char *folder, const char *name,
                 size_t depth) {
    al_autofd int fd = openat(folder_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : errno;
    struct local_entry entry;
    int rc = local_file_describe(fd, &walk->names, walk->target, &entry.info);
    if (rc != 0)
        return rc == ENOENT ? 0 : rc;
    al_autofree char *path = al_path_join(folder, name);
    if (path == NULL)
        return ENOMEM;
    entry.path = path;
    if (is_match(walk->work, path, &entry.info)) {
        rc = local_link_send(walk->work->stream_fd, LOCAL_ENTRY, 0, &entry, NULL, 0,
                             AL_DEADLINE_NONE);
        if (rc != 0)
            return rc;
    }
    if (entry.info.type != ALINEO_FILE_DIRECTORY || !goes_down(walk->work, depth))
        return 0;
    return push(walk, AL_STEAL(path), depth + 1);
}

static int read_folder(struct walk *walk, const char *path, size_t depth) {
    int fd = -1;
    int rc = local_path_open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0, &fd);
    if (rc != 0)
        return rc;
    al_autodir DIR *folder = fdopendir(fd);
    if (folder == NULL) {
        rc = errno;
        al_close(fd);
        return rc;
    }
    /* Searches are for files, not for what the kernel makes up. */
    if (depth > 1 && local_is_kernel_folder(fd))
        return 0;
    const struct dirent *entry;
    while (errno = 0, (entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        rc = visit(walk, dirfd(folder), path, entry->d_name, depth);
        if (rc != 0)
            return rc;
    }
    return errno;
}

static int walk_all(struct walk *walk) {
    while (walk->folders.count > 0) {
        size_t last = walk->folders.count - 1;
        size_t depth = walk->depths[last];
        al_autofree char *path = al_strdup(walk->folders.items[last]);
        al_strv_remove(&walk->folders, last);
        if (path == NULL)
            return ENOMEM;
        int rc = local_work_is_wanted(walk->work) ? read_folder(walk, path, depth) : ECANCELED;
        /* Below the first one: gone, or not a folder any more. */
        if (depth > 1 && (rc == ENOENT || rc == ENOTDIR || rc == ELOOP))
            rc = 0;
        if (depth > 1 && rc == EACCES && walk->work->file->op == LOCAL_FILE_SEARCH)
            rc = 0;
        if (rc != 0) {
            note_place(walk->work, path);
            return rc;
        }
    }
    return 0;
}

int local_work_list(struct local_work *work) {
    if (work->file->op == LOCAL_FILE_SEARCH && work->file->pattern == NULL)
        return EINVAL;
    struct walk *walk = calloc(1, sizeof(*walk));
    if (walk == NULL)
        return ENOMEM;
    walk->work = work;
    int rc = push(walk, al_strdup(work->file->path), 1);
    if (rc == 0)
        rc = walk_all(walk);
    al_strv_free(&walk->folders);
    local_names_free(&walk->names);
    free(walk->depths);
    free(walk);
    return rc;
}

int local_work_remove(struct local_work *work) {
    char name[NAME_MAX + 1];
    al_autofd int parent = -1;
    int rc = local_path_parent(work->file->path, false, &parent, name);
    struct stat status;
    if (rc == 0 && fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        rc = errno;
    if (rc == 0 && !S_ISDIR(status.st_mode))
        rc = ENOTDIR;
    return rc == 0 ? al_remove_tree(parent, name) : rc;
}
