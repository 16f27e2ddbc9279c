/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_LINK_H
#define ALINEO_LOCAL_LINK_H

/* Sends and receives the messages of protocol.h over seqpacket sockets: a header, then the payload,
 * in one packet. A payload that does not fit goes in a sealed memory file, whose descriptor is then
 * the first of those that come with the message. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/util/buf.h"
#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/compiler.h"
#include "plugins/providers/local/codec.h"

enum {
    LOCAL_PACKET_MAX = 32 * 1024,          /* header and payload */
    LOCAL_PAYLOAD_MAX = 128 * 1024 * 1024, /* in a memory file */
    LOCAL_LINK_FDS_MAX = 8
};

/* A received message. All zero is valid and empty. */
struct local_message {
    uint32_t type;
    uint64_t tag;
    const void *payload;
    size_t payload_size;
    int fds[LOCAL_LINK_FDS_MAX]; /* owned; take one with local_message_take_fd */
    size_t fd_count;
    void *packet; /* room for what comes in, kept from message to message */
    void *large;  /* the payload, when it did not fit into a packet */
};

/* What a receiver lets in. Nothing that comes from inside a box may be large. */
struct local_link_limits {
    size_t payload_size;
    size_t fd_count;
};
extern const struct local_link_limits local_link_trusted;   /* from the plugin */
extern const struct local_link_limits local_link_untrusted; /* from inside a box: one descriptor */

/* Sends MESSAGE, a struct of the type's schema (NULL when it has none), with copies of COUNT
 * descriptors. The caller keeps its own. A deadline that has passed does not wait: ETIMEDOUT when
 * there is no room. E2BIG: a field is out of its bounds, or all is too large. Else as
 * al_msg_send. */
AL_MUST_CHECK int local_link_send(int fd, uint32_t type, uint64_t tag, const void *message,
                                  const int *fds, size_t count, al_deadline deadline);

/* Sends on what was received, with its descriptors, under a TAG of its own. */
AL_MUST_CHECK int local_link_forward(int fd, const struct local_message *message, uint64_t tag,
                                     al_deadline deadline);

/* Receives into MESSAGE, dropping what was in it. ENOTCONN: the other end is gone. EBADMSG: not a
 * message of this protocol and version, or beyond the limits; it is gone, its descriptors closed.
 * ETIMEDOUT, ENOMEM; else as al_msg_receive. */
AL_MUST_CHECK int local_link_receive(int fd, const struct local_link_limits *limits,
                                     struct local_message *message, al_deadline deadline);

/* Decodes the payload into OUT, the struct of messages of TYPE (which have one). EBADMSG: it is of
 * another type, or out of its bounds; ENOMEM. */
AL_MUST_CHECK int local_message_decode(const struct local_message *message, uint32_t type,
                                       void *out);

/* Hands over a descriptor, -1 when there is none at INDEX. */
int local_message_take_fd(struct local_message *message, size_t index);

/* Drops payload and descriptors, keeps the room. */
void local_message_clear(struct local_message *message);
void local_message_free(struct local_message *message);
AL_CLEANUP_INSIDE(struct local_message, local_message_free);

/* The packet that local_link_send would send for a message that fits into one. For tests. */
AL_MUST_CHECK int local_link_write(al_buf *out, uint32_t type, uint64_t tag, const void *message);

#endif
