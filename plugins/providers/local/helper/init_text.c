/* SPDX-License-Identifier: Apache-2.0 */
/* Replacing in a file: the new content is written beside it and put in its place, so nobody sees a
 * half of each. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/util/buf.h"
#include "core/util/file.h"
#include "core/util/io.h"
#include "core/util/random.h"
#include "plugins/providers/local/helper/init.h"

enum {
    CONTENT_SIZE_MAX = 256 * 1024 * 1024,
    RANDOM_DIGITS = 12,
    TEMPORARY_SIZE = 40
};

static int read_content(const struct local_file *file, al_buf *content, struct stat *status) {
    al_autofd int fd = -1;
    int rc = local_path_open(file->path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &fd);
    if (rc != 0)
        return rc == ENXIO ? EINVAL : rc;
    if (fstat(fd, status) != 0)
        return errno;
    if (S_ISDIR(status->st_mode))
        return EISDIR;
    if (!S_ISREG(status->st_mode))
        return EINVAL;
    if (local_is_kernel_folder(fd))
        return EACCES;
    return al_fd_read_all(fd, CONTENT_SIZE_MAX, content);
}

/* *OUT: CONTENT with every `find` replaced, from the left, not overlapping. */
static void replace(const struct local_file *file, const al_buf *content, al_buf *out,
                    uint64_t *count) {
    const char *at = content->data;
    const char *end = content->data + content->size;
    while (at < end) {
        const char *hit = memmem(at, (size_t)(end - at), file->find.data, file->find.size);
        if (hit == NULL)
            break;
        al_buf_append(out, at, (size_t)(hit - at));
        al_buf_append(out, file->replacement.data, file->replacement.size);
        at = hit + file->find.size;
        (*count)++;
    }
    al_buf_append(out, at, (size_t)(end - at));
}

static int write_new(int folder, const char *name, const al_buf *content,
                     const struct stat *status) {
    al_autofd int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    int rc = al_write_full(fd, content->data, content->size);
    if (rc == 0 && fchown(fd, status->st_uid, status->st_gid) != 0)
        rc = errno;
    if (rc == 0 && fchmod(fd, status->st_mode & 07777) != 0)
        rc = errno;
    return rc;
}

/* The file that PATH leads to, links followed, is what gets the new content. */
static int put_in_place(const char *path, const al_buf *content, const struct stat *status) {
    char name[NAME_MAX + 1];
    char digits[RANDOM_DIGITS + 1];
    char temporary[TEMPORARY_SIZE];
    al_autofd int folder = -1;
    int rc = local_path_parent(path, false, &folder, name);
    if (rc == 0)
        rc = al_random_id(digits, RANDOM_DIGITS);
    if (rc != 0)
        return rc;
    (void)snprintf(temporary, sizeof(temporary), ".alineo-%s.tmp", digits);
    rc = write_new(folder, temporary, content, status);
    if (rc == 0 && renameat(folder, temporary, folder, name) != 0)
        rc = errno;
    if (rc != 0)
        (void)unlinkat(folder, temporary, 0);
    return rc;
}

/* Where the file really is, without links: pid 1 has no way but the kernel's own. */
static int real_path(const char *path, char out[PATH_MAX]) {
    al_autofd int fd = -1;
    int rc = local_path_open(path, O_PATH, 0, &fd);
    if (rc != 0)
        return rc;
    char link[TEMPORARY_SIZE];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, out, PATH_MAX - 1);
    if (size < 0)
        return errno;
    out[size] = '\0';
    return out[0] == '/' ? 0 : ENOENT;
}

int local_work_replace(struct local_work *work) {
    const struct local_file *file = work->file;
    if (file->find.data == NULL || file->find.size == 0 || file->replacement.data == NULL)
        return EINVAL;
    al_auto(al_buf_free) al_buf content = AL_BUF_INIT;
    al_auto(al_buf_free) al_buf changed = {.max_size = (size_t)4 * CONTENT_SIZE_MAX};
    struct stat status;
    char path[PATH_MAX];
    int rc = read_content(file, &content, &status);
    if (rc != 0 || content.size == 0)
        return rc;
    uint64_t count = 0;
    replace(file, &content, &changed, &count);
    rc = changed.error;
    if (rc == 0 && count > 0)
        rc = real_path(file->path, path);
    if (rc == 0 && count > 0)
        rc = put_in_place(path, &changed, &status);
    if (rc == 0)
        work->count = count;
    return rc;
}
