/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_MSG_H
#define ALINEO_UTIL_MSG_H

/* Messages with descriptors over Unix seqpacket sockets. */

#include <stddef.h>
#include <sys/types.h>

#include "clock.h"
#include "compiler.h"

/* Most descriptors that one message may carry here. */
enum {
    AL_MSG_FDS_MAX = 16
};

/* A connected pair, close-on-exec, blocking. */
AL_MUST_CHECK int al_msg_pair(int *a, int *b);

/* Sends DATA (at least 1 byte: an empty message could not be told from the end) as one message,
 * with copies of COUNT descriptors (FDS may be NULL when 0); the caller keeps its own. Waits for
 * room until the deadline (ETIMEDOUT). EINVAL: no byte, or too many descriptors. EPIPE: nobody
 * there, without SIGPIPE. EMSGSIZE: larger than the socket takes. */
AL_MUST_CHECK int al_msg_send(int fd, const void *data, size_t size, const int *fds, size_t count,
                              al_deadline deadline);

/* Receives one message of at most SIZE bytes and CAPACITY descriptors (FDS may be NULL when 0).
 * *DATA_SIZE is 0 at the end of the stream. The descriptors are the caller's and close-on-exec. A
 * message that is longer, or carries more descriptors or other ancillary data, is EMSGSIZE: it is
 * gone, and every descriptor in it was closed. ETIMEDOUT at the deadline. */
AL_MUST_CHECK int al_msg_receive(int fd, void *data, size_t size, size_t *data_size, int *fds,
                                 size_t capacity, size_t *count, al_deadline deadline);

/* Who is at the other end of a Unix socket: the process that made the pair, called connect() or
 * listen(). */
typedef struct al_peer {
    pid_t pid;
    uid_t uid;
    gid_t gid;
} al_peer;
AL_MUST_CHECK int al_msg_peer(int fd, al_peer *out);

#endif
