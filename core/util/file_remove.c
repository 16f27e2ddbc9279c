/* SPDX-License-Identifier: Apache-2.0 */
/* Removes a tree from the bottom up. The way down is a list on the heap; of its folders only the
 * lowest ones are held open, the others are found again through "..", which must lead to the folder
 * that it was. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "file.h"
#include "str.h"

enum {
    OPEN_LEVELS_MAX = 64,
    PASSES_MAX = 16
};

typedef struct level {
    char *name;    /* in the level above */
    DIR *stream;   /* NULL when closed to spare descriptors */
    long position; /* in the stream, when it was closed */
    dev_t device;
    ino_t inode;
    size_t removed; /* entries in this pass */
    unsigned passes;
} level;

typedef struct walk {
    int root_fd; /* the folder that the tree is in */
    level *levels;
    size_t count;
    size_t capacity;
    int first_error;
} walk;

static void note(walk *w, int error) {
    if (w->first_error == 0)
        w->first_error = error;
}

/* Whether something is mounted on the folder FD, which was opened in FOLDER_FD. The answer is about
 * what was opened, so nothing can come between. */
static int check_not_mounted(int folder_fd, int fd) {
    struct statx inside;
    struct statx outside;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &inside) != 0 ||
        statx(folder_fd, "", AT_EMPTY_PATH, STATX_TYPE, &outside) != 0)
        return errno;
    bool is_mounted = (inside.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
    if ((inside.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) == 0)
        is_mounted = inside.stx_dev_major != outside.stx_dev_major ||
                     inside.stx_dev_minor != outside.stx_dev_minor;
    return is_mounted ? EXDEV : 0;
}

static int open_inside(int folder_fd, const char *name) {
    return openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* Opens the folder NAME so that its entries can be removed. */
static int open_folder(int folder_fd, const char *name, int *out) {
    al_autofd int fd = open_inside(folder_fd, name);
    int error = errno;
    if (fd < 0 && error == EACCES && fchmodat(folder_fd, name, S_IRWXU, AT_SYMLINK_NOFOLLOW) == 0) {
        fd = open_inside(folder_fd, name);
        error = errno;
    }
    if (fd < 0)
        return error;
    int rc = check_not_mounted(folder_fd, fd);
    if (rc != 0)
        return rc;
    struct stat status;
    if (fstat(fd, &status) != 0)
        return errno;
    if ((status.st_mode & S_IRWXU) != S_IRWXU && status.st_uid == geteuid() &&
        fchmod(fd, S_IRWXU) != 0)
        return errno;
    *out = al_steal_fd(&fd);
    return 0;
}

static level *lowest(walk *w) {
    return &w->levels[w->count - 1];
}

/* The descriptor of the folder that level INDEX is in. */
static int fd_above(const walk *w, size_t index) {
    return index == 0 ? w->root_fd : dirfd(w->levels[index - 1].stream);
}

static void close_level(level *at) {
    if (at->stream == NULL)
        return;
    at->position = telldir(at->stream);
    (void)closedir(at->stream);
    at->stream = NULL;
}

static int make_room(walk *w) {
    if (w->count < w->capacity)
        return 0;
    size_t capacity = w->capacity == 0 ? 16 : w->capacity * 2;
    level *levels = reallocarray(w->levels, capacity, sizeof(*levels));
    if (levels == NULL)
        return ENOMEM;
    w->levels = levels;
    w->capacity = capacity;
    return 0;
}

/* Goes down into the folder NAME, which is in FOLDER_FD. */
static int descend(walk *w, int folder_fd, const char *name) {
    int rc = make_room(w);
    if (rc != 0)
        return rc;
    al_autofd int fd = -1;
    rc = open_folder(folder_fd, name, &fd);
    if (rc != 0)
        return rc;
    struct stat status;
    if (fstat(fd, &status) != 0)
        return errno;
    al_autofree char *copy = al_strdup(name);
    if (copy == NULL)
        return ENOMEM;
    DIR *stream = fdopendir(fd);
    if (stream == NULL)
        return errno;
    fd = -1; /* the stream's now */
    w->levels[w->count++] = (level){
        .name = AL_STEAL(copy), .stream = stream, .device = status.st_dev, .inode = status.st_ino};
    if (w->count > OPEN_LEVELS_MAX)
        close_level(&w->levels[w->count - 1 - OPEN_LEVELS_MAX]);
    return 0;
}

/* Opens the level above the lowest again, if it was closed. */
static int reopen_above(walk *w) {
    if (w->count < 2 || w->levels[w->count - 2].stream != NULL)
        return 0;
    level *above = &w->levels[w->count - 2];
    al_autofd int fd =
        openat(dirfd(lowest(w)->stream), "..", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0)
        return errno;
    if (status.st_dev != above->device || status.st_ino != above->inode)
        return ESTALE; /* moved away meanwhile: what is there now is not ours */
    above->stream = fdopendir(fd);
    if (above->stream == NULL)
        return errno;
    fd = -1;
    seekdir(above->stream, above->position);
    return 0;
}

static void drop_lowest(walk *w) {
    level *at = lowest(w);
    if (at->stream != NULL)
        (void)closedir(at->stream);
    free(at->name);
    w->count--;
}

/* At the end of the lowest folder: removes it and goes up, or begins it again when entries were
 * overlooked (some file systems skip some while others are removed) or came new. */
static int ascend(walk *w) {
    int rc = reopen_above(w);
    if (rc != 0)
        return rc;
    level *at = lowest(w);
    if (unlinkat(fd_above(w, w->count - 1), at->name, AT_REMOVEDIR) != 0 && errno != ENOENT) {
        if ((errno == ENOTEMPTY || errno == EEXIST) && at->removed > 0 &&
            ++at->passes < PASSES_MAX) {
            at->removed = 0;
            rewinddir(at->stream);
            return 0;
        }
        note(w, errno);
    } else if (w->count > 1) {
        w->levels[w->count - 2].removed++;
    }
    drop_lowest(w);
    return 0;
}

/* Deals with one entry of the lowest folder. Only what ends the whole walk is a failure. */
static int remove_entry(walk *w, const struct dirent *entry) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
        return 0;
    int fd = dirfd(lowest(w)->stream);
    if (entry->d_type != DT_DIR) {
        if (unlinkat(fd, entry->d_name, 0) == 0) {
            lowest(w)->removed++;
            return 0;
        }
        if (errno != EISDIR) {
            if (errno != ENOENT)
                note(w, errno);
            return 0;
        }
    }
    int rc = descend(w, fd, entry->d_name);
    if (rc == ENOMEM || rc == EMFILE || rc == ENFILE)
        return rc;
    if (rc != 0 && rc != ENOENT)
        note(w, rc);
    return 0;
}

static int step(walk *w) {
    errno = 0;
    const struct dirent *entry = readdir(lowest(w)->stream);
    if (entry != NULL)
        return remove_entry(w, entry);
    if (errno != 0)
        note(w, errno);
    return ascend(w);
}

static int remove_folder(int folder_fd, const char *name) {
    walk w = {.root_fd = folder_fd};
    int rc = descend(&w, folder_fd, name);
    if (rc == ENOENT)
        rc = 0;
    while (rc == 0 && w.count > 0)
        rc = step(&w);
    while (w.count > 0)
        drop_lowest(&w);
    free(w.levels);
    return w.first_error != 0 ? w.first_error : rc;
}

/* PATH as the folder it is in and its name there. */
static int split(const char *path, char **folder, char **name) {
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/')
        size--;
    size_t name_at = size;
    while (name_at > 0 && path[name_at - 1] != '/')
        name_at--;
    al_autofree char *last = al_strndup(path + name_at, size - name_at);
    al_autofree char *before = name_at > 0 ? al_strndup(path, name_at) : al_strdup(".");
    if (last == NULL || before == NULL)
        return ENOMEM;
    if (last[0] == '\0' || strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
        return EINVAL;
    *folder = AL_STEAL(before);
    *name = AL_STEAL(last);
    return 0;
}

int al_remove_tree(int folder_fd, const char *path) {
    al_autofree char *folder = NULL;
    al_autofree char *name = NULL;
    int rc = split(path, &folder, &name);
    if (rc != 0)
        return rc;
    al_autofd int fd = openat(folder_fd, folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : errno;
    if (unlinkat(fd, name, 0) == 0 || errno == ENOENT)
        return 0;
    rc = errno;
    /* In a folder that we may not write, a folder too is answered with EACCES: what is in it may go
     * all the same. */
    struct stat status;
    if (rc != EISDIR &&
        (fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(status.st_mode)))
        return rc;
    return remove_folder(fd, name);
}
