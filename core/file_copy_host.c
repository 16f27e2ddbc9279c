/* SPDX-License-Identifier: Apache-2.0 */
/* Copies that arrive on this machine. What a sandbox names is walked to part by part below the
 * root, and no link is followed on the way; a file appears whole, under its name, at one stroke. */
#include "core/file_copy.h"

#include "core/util/file.h"
#include "core/util/io.h"
#include "core/util/path.h"
#include "core/util/random.h"
#include "core/util/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    HOLE_SIZE = 32 * 1024, /* zeros of that many bytes become a hole */
    RANDOM_SIZE = 16,
    FOLDER_MODE = 0700, /* while it is filled */
    FILE_MODE = 0600
};

static const int folder_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

static al_host_sink *of(al_copy_sink *sink) {
    return AL_CONTAINER(sink, al_host_sink, base);
}

alineo_code al_host_file_code(int error_number) {
    switch (error_number) {
    case ENOENT:
        return ALINEO_FILE_NOT_FOUND;
    case EEXIST:
        return ALINEO_FILE_EXISTS;
    case EISDIR:
        return ALINEO_IS_A_DIRECTORY;
    case ENOTDIR:
    case ELOOP:
        return ALINEO_NOT_A_DIRECTORY;
    case EACCES:
    case EPERM:
    case EROFS:
        return ALINEO_PERMISSION_DENIED;
    case ENOSPC:
    case EDQUOT:
        return ALINEO_NO_SPACE;
    case EFBIG:
        return ALINEO_TOO_LARGE;
    case EINVAL:
    case ENAMETOOLONG:
        return ALINEO_INVALID_ARGUMENT;
    default:
        return ALINEO_IO;
    }
}

static alineo_code fail_at(al_host_sink *self, const char *doing, const char *path, int rc,
                           alineo_error **err) {
    return al_fail_errno(err, al_host_file_code(rc), rc, NULL, "%s %s%s%s on the host", doing,
                         self->host_path, path[0] != '\0' ? "/" : "", path);
}

/* --- places ----------------------------------------------------------------------------------- */

/* Opens the folder that `path` is in. For the root that is one that the caller named, links and
 * all. */
static int open_folder_of_root(al_host_sink *self, int *folder_fd, char **name) {
    al_autofree char *folder = al_path_parent(self->host_path);
    size_t size = strlen(self->host_path);
    if (folder == NULL)
        return ENOMEM;
    if (self->host_path[size - 1] == '/')
        return EISDIR; /* for a file; a folder is opened by its whole path */
    *name = al_strdup(al_path_name(self->host_path));
    if (*name == NULL)
        return ENOMEM;
    if (strcmp(*name, ".") == 0 || strcmp(*name, "..") == 0)
        return EISDIR;
    int rc = self->base.parents ? al_mkdir_parents(folder, 0777) : 0;
    if (rc != 0)
        return rc;
    *folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *folder_fd >= 0 ? 0 : errno;
}

/* Walks down from the root. */
static int open_below(const al_host_sink *self, const char *path, int *out) {
    al_autofd int fd = fcntl(self->root_fd, F_DUPFD_CLOEXEC, 3);
    if (fd < 0)
        return errno;
    while (*path != '\0') {
        size_t size = strcspn(path, "/");
        al_autofree char *part = al_strndup(path, size);
        if (part == NULL)
            return ENOMEM;
        int next = openat(fd, part, folder_flags);
        if (next < 0)
            return errno;
        al_close(fd);
        fd = next;
        path += size + (path[size] == '/');
    }
    *out = al_steal_fd(&fd);
    return 0;
}

/* Many files are in the same folder as the one before. */
static int open_near(al_host_sink *self, const char *folder, int *out) {
    if (self->near == NULL || strcmp(self->near, folder) != 0) {
        int fd = -1;
        char *near = al_strdup(folder);
        int rc = near != NULL ? open_below(self, folder, &fd) : ENOMEM;
        if (rc != 0) {
            free(near);
            return rc;
        }
        free(self->near);
        al_close(self->near_fd);
        self->near = near;
        self->near_fd = fd;
    }
    *out = fcntl(self->near_fd, F_DUPFD_CLOEXEC, 3);
    return *out >= 0 ? 0 : errno;
}

/* The folder of `path`, and its name in it. Both are the caller's, on failure too. */
static int find_place(al_host_sink *self, const char *path, int *folder_fd, char **name) {
    if (path[0] == '\0')
        return open_folder_of_root(self, folder_fd, name);
    const char *last = strrchr(path, '/');
    al_autofree char *folder = al_strndup(path, last != NULL ? (size_t)(last - path) : 0);
    *name = al_strdup(last != NULL ? last + 1 : path);
    if (folder == NULL || *name == NULL)
        return ENOMEM;
    return open_near(self, folder, folder_fd);
}

/* A name that nobody else has. */
static int make_temporary(char out[32]) {
    char random[RANDOM_SIZE + 1];
    int rc = al_random_id(random, RANDOM_SIZE);
    if (rc == 0)
        (void)snprintf(out, 32, ".%s.tmp", random);
    return rc;
}

/* Whether something may stand under that name afterwards: EISDIR, EEXIST. */
static int check_free(const al_host_sink *self, int folder_fd, const char *name) {
    struct stat status;
    if (fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : errno;
    if (S_ISDIR(status.st_mode))
        return EISDIR;
    return self->base.replace ? 0 : EEXIST;
}

/* Gives the finished thing its name. */
static int put_in_place(const al_host_sink *self, int folder_fd, const char *temporary,
                        const char *name) {
    if (self->base.replace)
        return renameat(folder_fd, temporary, folder_fd, name) == 0 ? 0 : errno;
    /* Where a name is free is decided in the same stroke. */
    if (linkat(folder_fd, temporary, folder_fd, name, 0) != 0)
        return errno;
    return unlinkat(folder_fd, temporary, 0) == 0 ? 0 : errno;
}

/* --- folders ---------------------------------------------------------------------------------- */

static int set_mode(int fd, uint32_t mode) {
    return fchmod(fd, (mode_t)mode) == 0 ? 0 : errno;
}

static int make_root(al_host_sink *self, bool *is_new) {
    int rc = self->base.parents ? al_mkdir_parents_of(self->host_path, 0777) : 0;
    if (rc == 0 && mkdir(self->host_path, FOLDER_MODE) == 0)
        *is_new = true;
    else if (rc == 0 && errno != EEXIST)
        rc = errno;
    if (rc != 0)
        return rc;
    self->root_fd = open(self->host_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return self->root_fd >= 0 ? 0 : errno;
}

static int make_below(al_host_sink *self, const char *path, bool *is_new, int *out) {
    al_autofd int folder_fd = -1;
    al_autofree char *name = NULL;
    int rc = find_place(self, path, &folder_fd, &name);
    if (rc != 0)
        return rc;
    if (mkdirat(folder_fd, name, FOLDER_MODE) == 0)
        *is_new = true;
    else if (errno != EEXIST)
        return errno;
    *out = openat(folder_fd, name, folder_flags);
    return *out >= 0 ? 0 : errno;
}

static alineo_code make_folder(al_copy_sink *sink, const char *path, uint32_t mode,
                               alineo_error **err) {
    al_host_sink *self = of(sink);
    bool is_new = false;
    bool is_root = path[0] == '\0';
    al_autofd int below_fd = -1;
    int rc = is_root ? make_root(self, &is_new) : make_below(self, path, &is_new, &below_fd);
    if (rc == 0 && is_new && !al_copy_mode_must_wait(mode))
        rc = set_mode(is_root ? self->root_fd : below_fd, mode);
    if (rc != 0)
        return fail_at(self, "make the folder", path, rc, err);
    return is_new && al_copy_mode_must_wait(mode) ? al_copy_settle_later(sink, path, mode, err)
                                                  : ALINEO_OK;
}

static alineo_code settle_folder(al_copy_sink *sink, const char *path, uint32_t mode,
                                 alineo_error **err) {
    al_host_sink *self = of(sink);
    al_autofd int fd = -1;
    int rc = open_below(self, path, &fd);
    if (rc == 0)
        rc = set_mode(fd, mode);
    return rc == 0 ? ALINEO_OK : fail_at(self, "set the mode of", path, rc, err);
}

/* --- files ------------------------------------------------------------------------------------ */

static void drop_file(al_copy_sink *sink) {
    al_host_sink *self = of(sink);
    if (self->file_fd >= 0)
        (void)unlinkat(self->folder_fd, self->temporary, 0);
    al_close(al_steal_fd(&self->file_fd));
    al_close(al_steal_fd(&self->folder_fd));
    free(self->name);
    self->name = NULL;
}

static int open_temporary(al_host_sink *self, const char *path) {
    int rc = find_place(self, path, &self->folder_fd, &self->name);
    if (rc == 0)
        rc = check_free(self, self->folder_fd, self->name);
    if (rc == 0)
        rc = make_temporary(self->temporary);
    if (rc != 0)
        return rc;
    self->file_fd = openat(self->folder_fd, self->temporary,
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
    return self->file_fd >= 0 ? 0 : errno;
}

static alineo_code open_file(al_copy_sink *sink, const char *path, uint32_t mode,
                             alineo_error **err) {
    al_host_sink *self = of(sink);
    self->mode = mode;
    self->size = 0;
    int rc = open_temporary(self, path);
    if (rc == 0)
        return ALINEO_OK;
    drop_file(sink);
    return fail_at(self, "write", path, rc, err);
}

static bool is_zero(const char *data, size_t size) {
    return size > 0 && data[0] == '\0' && memcmp(data, data + 1, size - 1) == 0;
}

static int write_piece(al_host_sink *self, const char *data, size_t size) {
    if (size == HOLE_SIZE && is_zero(data, size))
        return lseek(self->file_fd, (off_t)size, SEEK_CUR) >= 0 ? 0 : errno;
    return al_write_full(self->file_fd, data, size);
}

static alineo_code write_file(al_copy_sink *sink, const void *data, size_t size,
                              alineo_error **err) {
    al_host_sink *self = of(sink);
    for (size_t done = 0; done < size;) {
        size_t piece = size - done < HOLE_SIZE ? size - done : HOLE_SIZE;
        int rc = write_piece(self, (const char *)data + done, piece);
        if (rc != 0)
            return fail_at(self, "write to", "", rc, err);
        done += piece;
        self->size += piece;
    }
    return ALINEO_OK;
}

static alineo_code finish_file(al_copy_sink *sink, alineo_error **err) {
    al_host_sink *self = of(sink);
    int rc = ftruncate(self->file_fd, (off_t)self->size) == 0 ? 0 : errno;
    if (rc == 0)
        rc = set_mode(self->file_fd, self->mode);
    if (rc == 0)
        rc = put_in_place(self, self->folder_fd, self->temporary, self->name);
    if (rc != 0)
        return fail_at(self, "write", "", rc, err);
    al_close(al_steal_fd(&self->file_fd));
    drop_file(sink);
    return ALINEO_OK;
}

/* --- links ------------------------------------------------------------------------------------ */

static int make_link_in(const al_host_sink *self, int folder_fd, const char *name,
                        const char *target) {
    char temporary[32];
    int rc = check_free(self, folder_fd, name);
    if (rc != 0)
        return rc;
    if (!self->base.replace)
        return symlinkat(target, folder_fd, name) == 0 ? 0 : errno;
    rc = make_temporary(temporary);
    if (rc != 0)
        return rc;
    if (symlinkat(target, folder_fd, temporary) != 0)
        return errno;
    rc = put_in_place(self, folder_fd, temporary, name);
    if (rc != 0)
        (void)unlinkat(folder_fd, temporary, 0);
    return rc;
}

static alineo_code make_link(al_copy_sink *sink, const char *path, const char *target,
                             alineo_error **err) {
    al_host_sink *self = of(sink);
    al_autofd int folder_fd = -1;
    al_autofree char *name = NULL;
    int rc = find_place(self, path, &folder_fd, &name);
    if (rc == 0)
        rc = make_link_in(self, folder_fd, name, target);
    return rc == 0 ? ALINEO_OK : fail_at(self, "make the link", path, rc, err);
}

static const al_copy_sink_ops host_ops = {
    .folder = make_folder,
    .open = open_file,
    .write = write_file,
    .finish = finish_file,
    .abandon = drop_file,
    .link = make_link,
    .settle = settle_folder,
};

void al_host_sink_init(al_host_sink *sink, const char *host_path) {
    *sink = (al_host_sink){.base = {.ops = &host_ops},
                           .host_path = host_path,
                           .root_fd = -1,
                           .near_fd = -1,
                           .file_fd = -1,
                           .folder_fd = -1};
}

void al_host_sink_end(al_host_sink *sink) {
    drop_file(&sink->base);
    al_close(sink->root_fd);
    al_close(sink->near_fd);
    free(sink->near);
}
