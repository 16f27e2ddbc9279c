/* SPDX-License-Identifier: Apache-2.0 */
#include "core/caller_fd.h"

#include "core/util/cleanup.h"
#include "core/util/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

/* A terminal takes what it has room for and waits for the rest, whatever was looked at before. So
 * it is opened once more, in a way that does not wait, where that may be done. The master of a
 * terminal would give another terminal. */
static int open_terminal(int fd, int mode, const struct stat *status) {
    bool is_master = major(status->st_rdev) == 5 && minor(status->st_rdev) == 2;
    if (!S_ISCHR(status->st_mode) || is_master || !isatty(fd))
        return -1;
    char path[32];
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int own = open(path, mode | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat opened;
    if (own >= 0 && (fstat(own, &opened) != 0 || opened.st_rdev != status->st_rdev))
        al_close(al_steal_fd(&own));
    return own;
}

int al_caller_fd_init(al_caller_fd *caller, int fd, bool writing) {
    *caller = (al_caller_fd){.fd = fd, .own = -1};
    if (fd == -1)
        return 0;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0)
        return EBADF;
    int mode = flags & O_ACCMODE;
    if ((flags & O_PATH) != 0 || (mode != O_RDWR && mode != (writing ? O_WRONLY : O_RDONLY)))
        return EBADF;
    struct stat status;
    if (fstat(fd, &status) != 0)
        return errno;
    caller->is_file = S_ISREG(status.st_mode) || S_ISBLK(status.st_mode);
    caller->plain = caller->is_file;
    if ((flags & O_NONBLOCK) == 0)
        caller->own = open_terminal(fd, mode, &status);
    return 0;
}

void al_caller_fd_end(al_caller_fd *caller) {
    al_close(caller->own);
    caller->own = -1;
}

static bool is_ready(const al_caller_fd *caller, short events) {
    return caller->is_file || al_poll_fd(caller->fd, events, al_deadline_after_ms(0), NULL) == 0;
}

/* What the kernel gives instead of not waiting on a descriptor that does not know how. */
static bool cannot_be_asked(int error) {
    return error == EOPNOTSUPP || error == ENOSYS || error == EINVAL;
}

int al_caller_fd_read(al_caller_fd *caller, void *data, size_t size, size_t *used) {
    if (caller->own >= 0)
        return al_read_some(caller->own, data, size, used);
    for (;;) {
        struct iovec vector = {.iov_base = data, .iov_len = size};
        ssize_t n;
        if (!caller->plain)
            n = preadv2(caller->fd, &vector, 1, -1, RWF_NOWAIT);
        else if (is_ready(caller, POLLIN))
            n = read(caller->fd, data, size);
        else
            return EAGAIN;
        if (n >= 0) {
            *used = (size_t)n;
            return 0;
        }
        if (!caller->plain && cannot_be_asked(errno))
            caller->plain = true;
        else if (errno != EINTR)
            return errno;
    }
}

int al_caller_fd_write(al_caller_fd *caller, const void *data, size_t size, size_t *used) {
    if (caller->own >= 0)
        return al_write_some(caller->own, data, size, used);
    for (;;) {
        struct iovec vector = {.iov_base = (void *)(uintptr_t)data, .iov_len = size};
        ssize_t n;
        if (!caller->plain)
            n = pwritev2(caller->fd, &vector, 1, -1, RWF_NOWAIT);
        else if (caller->is_file)
            n = write(caller->fd, data, size);
        else if (is_ready(caller, POLLOUT))
            n = write(caller->fd, data, size < PIPE_BUF ? size : PIPE_BUF);
        else
            return EAGAIN;
        if (n >= 0) {
            *used = (size_t)n;
            return 0;
        }
        if (!caller->plain && cannot_be_asked(errno))
            caller->plain = true;
        else if (errno != EINTR)
            return errno;
    }
}
