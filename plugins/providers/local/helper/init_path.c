/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "plugins/providers/local/helper/init.h"

enum {
    TRIES_MAX = 128, /* while someone exchanges folders and links on the way */
    PARENT_MODE = 0755
};

int local_path_open(const char *path, uint64_t flags, mode_t mode, int *fd) {
    if (path[0] != '/')
        return EINVAL;
    al_autofd int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return errno;
    struct open_how how = {.flags = flags | O_CLOEXEC,
                           .mode = mode,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    long result = -1;
    for (int i = 0; i < TRIES_MAX; i++) {
        result = syscall(SYS_openat2, root, path, &how, sizeof(how));
        if (result >= 0 || (errno != EAGAIN && errno != EINTR))
            break;
    }
    if (result < 0)
        return errno;
    *fd = (int)result;
    return 0;
}

/* PATH without trailing slashes, and where its last part begins. */
static int split(const char *path, char copy[PATH_MAX], size_t *name_at) {
    size_t size = strlen(path);
    if (path[0] != '/')
        return EINVAL;
    if (size >= PATH_MAX)
        return ENAMETOOLONG;
    memcpy(copy, path, size + 1);
    while (size > 1 && copy[size - 1] == '/')
        copy[--size] = '\0';
    size_t at = size;
    while (at > 0 && copy[at - 1] != '/')
        at--;
    if (size - at > NAME_MAX)
        return ENAMETOOLONG;
    *name_at = at;
    return 0;
}

int local_path_parent(const char *path, bool make_parents, int *fd, char *name) {
    char copy[PATH_MAX];
    size_t at;
    int rc = split(path, copy, &at);
    if (rc != 0)
        return rc;
    if (copy[at] == '\0' || strcmp(copy + at, ".") == 0 || strcmp(copy + at, "..") == 0)
        return EINVAL;
    memcpy(name, copy + at, strlen(copy + at) + 1);
    copy[at] = '\0';
    rc = local_path_open(copy, O_PATH | O_DIRECTORY, 0, fd);
    if (rc == ENOENT && make_parents) {
        rc = local_path_make_folders(copy, PARENT_MODE);
        if (rc == 0)
            rc = local_path_open(copy, O_PATH | O_DIRECTORY, 0, fd);
    }
    return rc;
}

/* The folder that the first END bytes of PATH name, made in PARENT if it is missing. */
static int make_one(char *path, size_t begin, size_t end, mode_t mode, int *parent) {
    char after = path[end];
    path[end] = '\0';
    int fd = -1;
    int rc = local_path_open(path, O_PATH | O_DIRECTORY, 0, &fd);
    if (rc == ENOENT) {
        rc = mkdirat(*parent, path + begin, mode) == 0 || errno == EEXIST ? 0 : errno;
        if (rc == 0)
            rc = local_path_open(path, O_PATH | O_DIRECTORY, 0, &fd);
    }
    path[end] = after;
    if (rc != 0)
        return rc;
    al_close(*parent);
    *parent = fd;
    return 0;
}

int local_path_make_folders(const char *path, mode_t mode) {
    char copy[PATH_MAX];
    size_t last;
    int rc = split(path, copy, &last);
    if (rc != 0)
        return rc;
    al_autofd int parent = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0)
        return errno;
    size_t begin = 0;
    for (;;) {
        begin += strspn(copy + begin, "/");
        if (copy[begin] == '\0')
            return 0;
        size_t end = begin + strcspn(copy + begin, "/");
        rc = make_one(copy, begin, end, begin == last ? mode : PARENT_MODE, &parent);
        if (rc != 0)
            return rc;
        begin = end;
    }
}

bool local_is_kernel_folder(int fd) {
    struct statfs status;
    if (fstatfs(fd, &status) != 0)
        return true;
    switch ((unsigned long)status.f_type) {
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
    case CGROUP_SUPER_MAGIC:
    case CGROUP2_SUPER_MAGIC:
        return true;
    default:
        return false;
    }
}
