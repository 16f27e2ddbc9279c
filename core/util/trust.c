/* SPDX-License-Identifier: Apache-2.0 */
#include "trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "file.h"
#include "path.h"
#include "str.h"

#define SAY(reason, ...)                                                                           \
    do {                                                                                           \
        if ((reason) != NULL)                                                                      \
            al_buf_printf((reason), __VA_ARGS__);                                                  \
    } while (0)

static unsigned permissions(const struct stat *status) {
    return (unsigned)status->st_mode & 07777;
}

bool al_trust_status(const struct stat *status, const char *path, al_buf *reason) {
    uid_t user = geteuid();
    if (status->st_uid != 0 && status->st_uid != user) {
        SAY(reason,
            "%s belongs to user %u, who could change it; it must belong to root or to user %u "
            "(chown %u %s)",
            path, (unsigned)status->st_uid, (unsigned)user, (unsigned)user, path);
        return false;
    }
    if ((status->st_mode & S_IWOTH) != 0) {
        SAY(reason, "%s can be written by everyone (mode %04o); run chmod o-w %s", path,
            permissions(status), path);
        return false;
    }
    if ((status->st_mode & S_IWGRP) != 0 && status->st_gid != getegid()) {
        SAY(reason, "%s can be written by group %u (mode %04o); run chmod g-w %s", path,
            (unsigned)status->st_gid, permissions(status), path);
        return false;
    }
    return true;
}

/* A folder above the one that matters: it is enough that not everyone may rename what is in it. */
static bool is_ancestor_trusted(const struct stat *status, const char *path, al_buf *reason) {
    if ((status->st_mode & S_IWOTH) == 0 || (status->st_mode & S_ISVTX) != 0)
        return true;
    SAY(reason,
        "the folder %s above it can be written by everyone and lacks the sticky bit (mode %04o); "
        "run chmod o-w %s",
        path, permissions(status), path);
    return false;
}

/* Opens the folder that REAL_PATH names, which has no links in it, judging every folder on the way.
 * */
static int open_folder(const char *real_path, int *folder_fd, al_buf *reason) {
    al_autofree char *so_far = al_strdup(real_path);
    if (so_far == NULL)
        return ENOMEM;
    const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    al_autofd int fd = open("/", flags);
    size_t end = 0; /* of the part that FD stands for */
    while (fd >= 0) {
        struct stat status;
        if (fstat(fd, &status) != 0)
            return errno;
        size_t name = end + strspn(real_path + end, "/");
        so_far[end > 0 ? end : 1] = '\0';
        if (real_path[name] == '\0') {
            if (!al_trust_status(&status, so_far, reason))
                return EPERM;
            *folder_fd = al_steal_fd(&fd);
            return 0;
        }
        if (!is_ancestor_trusted(&status, so_far, reason))
            return EPERM;
        end = name + strcspn(real_path + name, "/");
        memcpy(so_far, real_path, end);
        so_far[end] = '\0';
        int next = openat(fd, so_far + name, flags);
        al_close(fd);
        fd = next;
    }
    int rc = errno;
    SAY(reason, "cannot open the folder %s: %s", so_far, strerror(rc));
    return rc;
}

static int find_real_path(const char *path, char **real_path, al_buf *reason) {
    char *found = realpath(path, NULL);
    if (found == NULL) {
        int rc = errno;
        SAY(reason, "cannot find %s: %s", path, strerror(rc));
        return rc;
    }
    *real_path = found;
    return 0;
}

int al_trust_folder(const char *path, al_buf *reason) {
    al_autofree char *real_path = NULL;
    al_autofd int fd = -1;
    int rc = find_real_path(path, &real_path, reason);
    return rc == 0 ? open_folder(real_path, &fd, reason) : rc;
}

static int judge_file(int fd, const char *path, al_buf *reason) {
    struct stat status;
    if (fstat(fd, &status) != 0)
        return errno;
    if (!S_ISREG(status.st_mode)) {
        SAY(reason, "%s is not a regular file", path);
        return S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    }
    return al_trust_status(&status, path, reason) ? 0 : EPERM;
}

/* Opens PATH itself, or gives in *TARGET where the link leads that it is. */
static int open_or_follow(const char *path, int *fd, char **target, al_buf *reason) {
    al_autofree char *parent = al_path_parent(path);
    al_autofree char *folder = NULL;
    al_autofd int folder_fd = -1;
    if (parent == NULL)
        return ENOMEM;
    int rc = find_real_path(parent, &folder, reason);
    if (rc == 0)
        rc = open_folder(folder, &folder_fd, reason);
    if (rc != 0)
        return rc;
    const char *name = al_path_name(path);
    al_autofd int opened =
        openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (opened < 0 && errno == ELOOP) {
        al_autofree char *link = NULL;
        rc = al_link_read(folder_fd, name, &link);
        if (rc == 0 && (*target = al_path_resolve(folder, link)) == NULL)
            rc = ENOMEM;
        return rc;
    }
    if (opened < 0) {
        rc = errno;
        SAY(reason, "cannot open %s: %s", path, strerror(rc));
        return rc;
    }
    rc = judge_file(opened, path, reason);
    if (rc == 0)
        *fd = al_steal_fd(&opened);
    return rc;
}

enum {
    LINKS_MAX = 16
};

int al_trust_open(const char *path, int *fd, al_buf *reason) {
    al_autofree char *at = al_strdup(path);
    if (at == NULL)
        return ENOMEM;
    for (int links = 0; links <= LINKS_MAX; links++) {
        char *target = NULL;
        int rc = open_or_follow(at, fd, &target, reason);
        if (rc != 0 || target == NULL)
            return rc;
        free(at);
        at = target;
    }
    SAY(reason, "%s leads through too many links", path);
    return ELOOP;
}
