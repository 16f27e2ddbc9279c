/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/entry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/util/file.h"
#include "core/util/path.h"

enum {
    BACKLOG = 128,
    CONNECT_SECONDS = 10 /* to wait for room in the backlog */
};

int local_folder_open(const char *base, const char *name, int *fd) {
    al_autofree char *path = al_path_join(base, name);
    if (path == NULL)
        return ENOMEM;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return errno;
    *fd = folder;
    return 0;
}

int local_folder_make(const char *base, const char *name, int *fd) {
    int rc = local_folder_open(base, name, fd);
    if (rc != ENOENT)
        return rc;
    al_autofree char *path = al_path_join(base, name);
    if (path == NULL)
        return ENOMEM;
    rc = al_mkdir_parents(path, 0700);
    return rc != 0 ? rc : local_folder_open(base, name, fd);
}

static int lock(int fd, int how) {
    int rc;
    do {
        rc = flock(fd, how);
    } while (rc != 0 && errno == EINTR);
    return rc == 0 ? 0 : errno;
}

/* Whether FD still is what ID names: a sweeper may have removed it before we had the lock. */
static bool is_still_there(int parent_fd, const char *id, int fd) {
    struct stat named;
    struct stat held;
    return fstatat(parent_fd, id, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &held) == 0 &&
           named.st_dev == held.st_dev && named.st_ino == held.st_ino;
}

static int open_folder_at(int parent_fd, const char *id, int *fd) {
    *fd = openat(parent_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return *fd < 0 ? errno : 0;
}

int local_entry_create(int parent_fd, const char *id, int *fd) {
    for (;;) {
        if (mkdirat(parent_fd, id, 0700) != 0)
            return errno;
        al_autofd int folder = -1;
        int rc = open_folder_at(parent_fd, id, &folder);
        if (rc == ENOENT)
            continue;
        /* Whoever looks whether it is held has it for a moment: wait. */
        if (rc == 0)
            rc = lock(folder, LOCK_EX);
        if (rc != 0)
            return rc;
        if (is_still_there(parent_fd, id, folder)) {
            *fd = al_steal_fd(&folder);
            return 0;
        }
    }
}

int local_entry_open(int parent_fd, const char *id, int *fd, bool *is_held) {
    al_autofd int folder = -1;
    int rc = open_folder_at(parent_fd, id, &folder);
    if (rc != 0)
        return rc;
    rc = lock(folder, LOCK_SH | LOCK_NB);
    if (rc != 0 && rc != EWOULDBLOCK)
        return rc;
    *is_held = rc == EWOULDBLOCK;
    if (rc == 0)
        (void)lock(folder, LOCK_UN);
    *fd = al_steal_fd(&folder);
    return 0;
}

int local_entry_seize(int parent_fd, const char *id, int *fd) {
    al_autofd int folder = -1;
    int rc = open_folder_at(parent_fd, id, &folder);
    if (rc == 0)
        rc = lock(folder, LOCK_EX | LOCK_NB);
    if (rc == EWOULDBLOCK)
        return EBUSY;
    if (rc != 0)
        return rc;
    if (!is_still_there(parent_fd, id, folder))
        return ENOENT;
    *fd = al_steal_fd(&folder);
    return 0;
}

/* A socket's path holds 107 bytes: so it goes by the folder's descriptor. */
static void control_address(int entry_fd, struct sockaddr_un *address) {
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    (void)snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/%s", entry_fd,
                   LOCAL_CONTROL);
}

int local_control_listen(int entry_fd, int *fd) {
    struct sockaddr_un address;
    control_address(entry_fd, &address);
    al_autofd int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (sock < 0)
        return errno;
    if (unlinkat(entry_fd, LOCAL_CONTROL, 0) != 0 && errno != ENOENT)
        return errno;
    if (bind(sock, (struct sockaddr *)&address, sizeof(address)) != 0)
        return errno;
    if (listen(sock, BACKLOG) != 0)
        return errno;
    *fd = al_steal_fd(&sock);
    return 0;
}

int local_control_connect(int entry_fd, int *fd) {
    struct sockaddr_un address;
    control_address(entry_fd, &address);
    al_autofd int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (sock < 0)
        return errno;
    struct timeval patience = {CONNECT_SECONDS, 0};
    if (setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) != 0)
        return errno;
    int rc;
    do {
        rc = connect(sock, (struct sockaddr *)&address, sizeof(address));
    } while (rc != 0 && errno == EINTR);
    if (rc != 0)
        return errno;
    *fd = al_steal_fd(&sock);
    return 0;
}
