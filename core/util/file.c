/* SPDX-License-Identifier: Apache-2.0 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io.h"
#include "path.h"
#include "random.h"
#include "str.h"

static int check_is_folder(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0)
        return errno;
    return S_ISDIR(status.st_mode) ? 0 : ENOTDIR;
}

static int make_folder(const char *path, mode_t mode) {
    return mkdir(path, mode) == 0 || errno == EEXIST ? 0 : errno;
}

int al_mkdir_parents(const char *path, mode_t mode) {
    if (mkdir(path, mode) == 0)
        return 0;
    if (errno == EEXIST)
        return check_is_folder(path);
    if (errno != ENOENT)
        return errno;
    al_autofree char *part = al_strdup(path);
    if (part == NULL)
        return ENOMEM;
    size_t at = 0;
    while (part[at] != '\0') {
        at += strspn(part + at, "/");
        at += strcspn(part + at, "/");
        char after = part[at];
        part[at] = '\0';
        int rc = make_folder(part, mode);
        part[at] = after;
        if (rc != 0)
            return rc;
    }
    return check_is_folder(path);
}

int al_mkdir_parents_of(const char *path, mode_t mode) {
    al_autofree char *folder = al_path_parent(path);
    return folder != NULL ? al_mkdir_parents(folder, mode) : ENOMEM;
}

enum {
    TEMPORARY_NAME_SIZE = 32
};

/* Makes and fills a temporary file, whose name is in NAME when it succeeds. */
static int write_temporary(int folder_fd, const void *data, size_t size, mode_t mode,
                           char name[TEMPORARY_NAME_SIZE]) {
    char id[17];
    int rc = al_random_id(id, sizeof(id) - 1);
    if (rc != 0)
        return rc;
    (void)snprintf(name, TEMPORARY_NAME_SIZE, ".%s.tmp", id);
    al_autofd int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    rc = al_write_full(fd, data, size);
    if (rc == 0 && (fchmod(fd, mode) != 0 || fsync(fd) != 0))
        rc = errno;
    if (close(al_steal_fd(&fd)) != 0 && rc == 0)
        rc = errno;
    if (rc != 0)
        (void)unlinkat(folder_fd, name, 0);
    return rc;
}

int al_file_write_atomic(const char *path, const void *data, size_t size, mode_t mode) {
    const char *final_name = al_path_name(path);
    if (final_name[0] == '\0')
        return EISDIR;
    al_autofree char *folder = al_path_parent(path);
    if (folder == NULL)
        return ENOMEM;
    al_autofd int folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_fd < 0)
        return errno;
    char name[TEMPORARY_NAME_SIZE];
    int rc = write_temporary(folder_fd, data, size, mode, name);
    if (rc != 0)
        return rc;
    if (renameat(folder_fd, name, folder_fd, final_name) != 0) {
        rc = errno;
        (void)unlinkat(folder_fd, name, 0);
        return rc;
    }
    return fsync(folder_fd) == 0 ? 0 : errno;
}

enum {
    READ_SIZE = 1 << 16
};

/* Appends up to MAX_SIZE bytes; ENDED says whether the end was met before. */
static int read_up_to(int fd, size_t max_size, al_buf *out, bool *ended) {
    *ended = false;
    while (!*ended && max_size > 0) {
        size_t wanted = max_size < READ_SIZE ? max_size : READ_SIZE;
        char *room = al_buf_reserve(out, wanted);
        if (room == NULL)
            return out->error;
        size_t got = 0;
        int rc = al_read_full(fd, room, wanted, &got);
        al_buf_commit(out, rc == 0 ? got : 0);
        if (rc != 0)
            return rc;
        *ended = got < wanted;
        max_size -= got;
    }
    return 0;
}

int al_fd_read_all(int fd, size_t max_size, al_buf *out) {
    size_t before = out->size;
    if (out->max_size != 0 && out->max_size - before < max_size)
        max_size = out->max_size - before;
    bool ended;
    int rc = read_up_to(fd, max_size, out, &ended);
    if (rc == 0 && !ended) {
        char one_more;
        size_t got = 0;
        rc = al_read_full(fd, &one_more, 1, &got);
        if (rc == 0 && got > 0)
            rc = EFBIG;
    }
    if (rc != 0)
        al_buf_truncate(out, before);
    return rc;
}

int al_file_read(const char *path, size_t max_size, al_buf *out) {
    al_autofd int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    struct stat status;
    if (fstat(fd, &status) != 0)
        return errno;
    if (!S_ISREG(status.st_mode))
        return S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    return al_fd_read_all(fd, max_size, out);
}

int al_link_read(int folder_fd, const char *path, char **target) {
    char text[PATH_MAX];
    ssize_t size = readlinkat(folder_fd, path, text, sizeof(text));
    if (size < 0)
        return errno;
    if ((size_t)size == sizeof(text))
        return EFBIG;
    char *copy = al_strndup(text, (size_t)size);
    if (copy == NULL)
        return ENOMEM;
    *target = copy;
    return 0;
}
