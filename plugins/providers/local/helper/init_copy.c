/* SPDX-License-Identifier: Apache-2.0 */
/* A move that rename(2) cannot do: across file systems, and of folders of lower layers. The copy is
 * made whole beside its place and renamed there; only then the original goes. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alineo/provider.h"
#include "core/util/file.h"
#include "core/util/io.h"
#include "core/util/path.h"
#include "core/util/random.h"
#include "core/util/str.h"
#include "core/util/strv.h"
#include "plugins/providers/local/helper/init.h"

enum {
    COPY_STEP_SIZE = 16 * 1024 * 1024,
    RANDOM_DIGITS = 12,
    TEMPORARY_SIZE = 40
};

/* Relative paths of folders that were made and are still to be filled; "" is the top itself. */
struct copy {
    struct local_work *work;
    int from_fd; /* the folder to be copied (O_PATH) */
    int to_fd;
    al_strv folders;
};

static int copy_content(const struct local_work *work, int from, int to) {
    for (;;) {
        ssize_t size = copy_file_range(from, NULL, to, NULL, COPY_STEP_SIZE, 0);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            return errno;
        if (size == 0)
            return 0;
        if (!local_work_is_wanted(work))
            return ECANCELED;
    }
}

/* Between file systems that copy_file_range does not know. */
static int copy_bytes(const struct local_work *work, int from, int to) {
    static char bytes[256 * 1024];
    size_t size;
    int rc;
    do {
        rc = al_read_full(from, bytes, sizeof(bytes), &size);
        if (rc == 0)
            rc = al_write_full(to, bytes, size);
        if (rc == 0 && !local_work_is_wanted(work))
            rc = ECANCELED;
    } while (rc == 0 && size == sizeof(bytes));
    return rc;
}

static int copy_file(const struct local_work *work, int from_folder, const char *name,
                     int to_folder, const char *to_name) {
    al_autofd int from = openat(from_folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (from < 0)
        return errno;
    al_autofd int to = openat(to_folder, to_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (to < 0)
        return errno;
    int rc = copy_content(work, from, to);
    if (rc == EXDEV || rc == EINVAL || rc == EOPNOTSUPP)
        rc = lseek(from, 0, SEEK_SET) == 0 && lseek(to, 0, SEEK_SET) == 0
                 ? copy_bytes(work, from, to)
                 : errno;
    return rc;
}

static int copy_link(int from_folder, const char *name, int to_folder, const char *to_name) {
    al_autofree char *target = NULL;
    int rc = al_link_read(from_folder, name, &target);
    if (rc == 0 && symlinkat(target, to_folder, to_name) != 0)
        rc = errno;
    return rc;
}

/* Owner, mode and times; of a folder only when nothing more is put into it. */
static int copy_marks(int to_folder, const char *to_name, const struct stat *status) {
    struct timespec times[] = {status->st_atim, status->st_mtim};
    if (fchownat(to_folder, to_name, status->st_uid, status->st_gid, AT_SYMLINK_NOFOLLOW) != 0)
        return errno;
    if (!S_ISLNK(status->st_mode) && fchmodat(to_folder, to_name, status->st_mode & 07777, 0) != 0)
        return errno;
    return utimensat(to_folder, to_name, times, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
}

static int copy_entry(const struct local_work *work, int from_folder, const char *name,
                      int to_folder, const char *to_name, struct stat *status) {
    if (fstatat(from_folder, name, status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno;
    int rc;
    if (S_ISREG(status->st_mode))
        rc = copy_file(work, from_folder, name, to_folder, to_name);
    else if (S_ISLNK(status->st_mode))
        rc = copy_link(from_folder, name, to_folder, to_name);
    else if (S_ISDIR(status->st_mode))
        return mkdirat(to_folder, to_name, 0700) == 0 ? 0 : errno;
    else if (S_ISFIFO(status->st_mode))
        rc = mkfifoat(to_folder, to_name, 0600) == 0 ? 0 : errno;
    else
        rc = EOPNOTSUPP; /* a socket is nothing without its process */
    return rc == 0 ? copy_marks(to_folder, to_name, status) : rc;
}

static int open_below(int top_fd, const char *path, int *fd) {
    *fd = openat(top_fd, path[0] == '\0' ? "." : path,
                 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return *fd < 0 ? errno : 0;
}

/* Copies what is in one folder; folders in it are only made. */
static int fill_folder(struct copy *copy, const char *path) {
    int from;
    al_autofd int to = -1;
    int rc = open_below(copy->from_fd, path, &from);
    if (rc != 0)
        return rc;
    al_autodir DIR *folder = fdopendir(from);
    if (folder == NULL) {
        rc = errno;
        al_close(from);
        return rc;
    }
    rc = open_below(copy->to_fd, path, &to);
    const struct dirent *entry;
    while (rc == 0 && (errno = 0, entry = readdir(folder)) != NULL) {
        struct stat status;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        rc = copy_entry(copy->work, from, entry->d_name, to, entry->d_name, &status);
        if (rc == 0 && S_ISDIR(status.st_mode))
            rc = al_strv_take(&copy->folders, al_path_join(path, entry->d_name));
        if (rc != 0)
            (void)al_str_copy(copy->work->path, sizeof(copy->work->path), entry->d_name);
    }
    return rc != 0 ? rc : errno;
}

/* The marks of all folders, the inner ones first: those were found last. */
static int finish_folders(struct copy *copy) {
    for (size_t i = copy->folders.count; i-- > 0;) {
        const char *path = copy->folders.items[i];
        struct stat status;
        if (path[0] == '\0')
            path = ".";
        if (fstatat(copy->from_fd, path, &status, AT_SYMLINK_NOFOLLOW) != 0)
            return errno;
        int rc = copy_marks(copy->to_fd, path, &status);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int copy_folder(struct local_work *work, int from_folder, const char *name, int to_folder,
                       const char *to_name) {
    al_autofd int from = -1;
    al_autofd int to = -1;
    int rc = open_below(from_folder, name, &from);
    if (rc == 0)
        rc = open_below(to_folder, to_name, &to);
    struct copy copy = {work, from, to, AL_STRV_INIT};
    if (rc == 0)
        rc = al_strv_append(&copy.folders, "");
    for (size_t i = 0; rc == 0 && i < copy.folders.count; i++)
        rc = fill_folder(&copy, copy.folders.items[i]);
    if (rc == 0)
        rc = finish_folders(&copy);
    al_strv_free(&copy.folders);
    return rc;
}

static int copy_and_rename(struct local_work *work, int from, const char *name, int to,
                           const char *to_name) {
    char digits[RANDOM_DIGITS + 1];
    char temporary[TEMPORARY_SIZE];
    struct stat status;
    int rc = al_random_id(digits, RANDOM_DIGITS);
    if (rc != 0)
        return rc;
    (void)snprintf(temporary, sizeof(temporary), ".alineo-%s.tmp", digits);
    rc = copy_entry(work, from, name, to, temporary, &status);
    if (rc == 0 && S_ISDIR(status.st_mode))
        rc = copy_folder(work, from, name, to, temporary);
    unsigned flags = (work->file->flags & ALINEO_FILE_REPLACE) != 0 ? 0 : RENAME_NOREPLACE;
    if (rc == 0 && renameat2(to, temporary, to, to_name, flags) != 0)
        rc = errno;
    int removed = al_remove_tree(rc == 0 ? from : to, rc == 0 ? name : temporary);
    return rc != 0 ? rc : removed;
}

int local_work_copy(struct local_work *work) {
    char from_name[NAME_MAX + 1];
    char to_name[NAME_MAX + 1];
    al_autofd int from = -1;
    al_autofd int to = -1;
    if (work->file->target == NULL)
        return EINVAL;
    /* Into itself it would never end. */
    if (al_path_is_below(work->file->path, work->file->target))
        return EINVAL;
    int rc = local_path_parent(work->file->path, false, &from, from_name);
    if (rc == 0)
        rc = local_path_parent(work->file->target, false, &to, to_name);
    return rc == 0 ? copy_and_rename(work, from, from_name, to, to_name) : rc;
}
