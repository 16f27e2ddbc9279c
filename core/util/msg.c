/* SPDX-License-Identifier: Apache-2.0 */
#include "msg.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "cleanup.h"
#include "io.h"

/* The kernel lets one message carry this many; room for all of them, so that none is lost
 * uncounted. */
enum {
    KERNEL_FDS_MAX = 253
};

int al_msg_pair(int *a, int *b) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return errno;
    *a = ends[0];
    *b = ends[1];
    return 0;
}

static bool is_not_ready(int error) {
    return error == EAGAIN || error == EWOULDBLOCK;
}

int al_msg_send(int fd, const void *data, size_t size, const int *fds, size_t count,
                al_deadline deadline) {
    if (size == 0 || count > AL_MSG_FDS_MAX)
        return EINVAL;
    union {
        struct cmsghdr header; /* for its alignment */
        char bytes[CMSG_SPACE(AL_MSG_FDS_MAX * sizeof(int))];
    } control = {0};
    struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(header), fds, count * sizeof(int));
    }
    while (sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        if (errno == EINTR)
            continue;
        if (!is_not_ready(errno))
            return errno;
        int rc = al_poll_fd(fd, POLLOUT, deadline, NULL);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* What came beside the bytes. */
typedef struct cargo {
    int fds[KERNEL_FDS_MAX];
    size_t count;
    bool has_other;
} cargo;

static void unpack(struct msghdr *message, cargo *out) {
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL;
         header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
            out->has_other = true;
            continue;
        }
        size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(fd));
            if (out->count < KERNEL_FDS_MAX)
                out->fds[out->count++] = fd;
            else
                al_close(fd);
        }
    }
}

static int wait_for_message(int fd, struct msghdr *message, size_t *size, al_deadline deadline) {
    const size_t controllen = message->msg_controllen;
    while (true) {
        message->msg_controllen = controllen;
        ssize_t got = recvmsg(fd, message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        if (got >= 0) {
            *size = (size_t)got;
            return 0;
        }
        if (errno == EINTR)
            continue;
        if (!is_not_ready(errno))
            return errno;
        int rc = al_poll_fd(fd, POLLIN, deadline, NULL);
        if (rc != 0)
            return rc;
    }
}

int al_msg_receive(int fd, void *data, size_t size, size_t *data_size, int *fds, size_t capacity,
                   size_t *count, al_deadline deadline) {
    union {
        struct cmsghdr header; /* for its alignment */
        char bytes[CMSG_SPACE(KERNEL_FDS_MAX * sizeof(int))];
    } control;
    struct iovec part = {.iov_base = data, .iov_len = size};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    size_t got = 0;
    int rc = wait_for_message(fd, &message, &got, deadline);
    if (rc != 0)
        return rc;
    cargo came = {.count = 0};
    unpack(&message, &came);
    bool is_cut = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
    if (is_cut || came.has_other || came.count > capacity || (got == 0 && came.count > 0)) {
        for (size_t i = 0; i < came.count; i++)
            al_close(came.fds[i]);
        return EMSGSIZE;
    }
    if (came.count > 0)
        memcpy(fds, came.fds, came.count * sizeof(int));
    *count = came.count;
    *data_size = got;
    return 0;
}

int al_msg_peer(int fd, al_peer *out) {
    struct ucred peer;
    socklen_t size = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        return errno;
    *out = (al_peer){.pid = peer.pid, .uid = peer.uid, .gid = peer.gid};
    return 0;
}
