/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of any size, with any number of descriptors and several ancillary parts, received into
 * too little room: no descriptor is ever lost. The first bytes say what is sent. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool condition) {
    if (!condition)
        abort();
}

/* The lowest free number tells whether descriptors below it were lost. */
static int lowest_free_fd(void) {
    int fd = dup(STDIN_FILENO);
    if (fd >= 0)
        al_close(fd);
    return fd;
}

static bool send_raw(int fd, const uint8_t *data, size_t size, size_t count,
                     bool with_credentials) {
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(64 * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
    } control;
    memset(&control, 0, sizeof(control));
    struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    size_t control_size = (count > 0 ? CMSG_SPACE(count * sizeof(int)) : 0) +
                          (with_credentials ? CMSG_SPACE(sizeof(struct ucred)) : 0);
    if (control_size > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = control_size;
    }
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (count > 0) {
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(count * sizeof(int));
        for (size_t i = 0; i < count; i++)
            memcpy(CMSG_DATA(header) + i * sizeof(int), &fd, sizeof(fd));
        header = CMSG_NXTHDR(&message, header);
    }
    if (with_credentials) {
        struct ucred own = {.pid = getpid(), .uid = getuid(), .gid = getgid()};
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_CREDENTIALS;
        header->cmsg_len = CMSG_LEN(sizeof(own));
        memcpy(CMSG_DATA(header), &own, sizeof(own));
    }
    return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

static void receive(int fd, size_t room, size_t capacity) {
    char data[256];
    int fds[64];
    size_t size = 0;
    size_t count = 0;
    int rc = al_msg_receive(fd, data, room, &size, fds, capacity, &count, al_deadline_after_ms(0));
    need(rc == 0 || rc == EMSGSIZE || rc == ETIMEDOUT);
    need(size <= room && count <= capacity);
    for (size_t i = 0; i < count; i++)
        al_close(fds[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 5)
        return 0;
    int free_before = lowest_free_fd();
    {
        al_autofd int a = -1;
        al_autofd int b = -1;
        need(al_msg_pair(&a, &b) == 0);
        int wants_credentials = data[4] & 1;
        need(setsockopt(b, SOL_SOCKET, SO_PASSCRED, &wants_credentials, sizeof(int)) == 0);
        (void)send_raw(a, data + 5, size - 5, data[0] % 64, (data[4] & 2) != 0);
        receive(b, (size_t)data[1] + 1, data[2] % 64);
        (void)send_raw(a, data, size, data[3] % 4, false);
        receive(b, (size_t)data[1] + 1, data[2] % 64);
    }
    need(lowest_free_fd() == free_before);
    return 0;
}
