/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/util/io.h"
#include "core/util/msg.h"
#include "plugins/providers/local/protocol.h"

enum {
    MAGIC = 0x4c4e4c41, /* "ALNL" */
    VERSION = 1,
    FLAG_LARGE = 1 /* the payload is in the first descriptor */
};

struct header {
    uint32_t magic;
    uint16_t version;
    uint16_t type;
    uint64_t tag;
    uint32_t payload_size;
    uint32_t flags;
};

const struct local_link_limits local_link_trusted = {LOCAL_PAYLOAD_MAX, LOCAL_LINK_FDS_MAX};
const struct local_link_limits local_link_untrusted = {LOCAL_PACKET_MAX, 1};

int local_link_write(al_buf *out, uint32_t type, uint64_t tag, const void *message) {
    struct header header = {MAGIC, VERSION, (uint16_t)type, tag, 0, 0};
    al_buf_append(out, &header, sizeof(header));
    const struct local_schema *schema = local_schema_of(type, NULL);
    if (schema != NULL)
        local_encode(out, schema, message);
    if (out->error == EFBIG)
        return E2BIG;
    if (out->error != 0)
        return out->error;
    header.payload_size = (uint32_t)(out->size - sizeof(header));
    memcpy(out->data, &header, sizeof(header));
    return 0;
}

/* PAYLOAD in a memory file that nobody can change any more. */
static int memory_file(const void *payload, size_t size, int *out) {
    al_autofd int fd = memfd_create("alineo-message", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return errno;
    int rc = al_write_full(fd, payload, size);
    if (rc != 0)
        return rc;
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return errno;
    *out = al_steal_fd(&fd);
    return 0;
}

static int send_large(int fd, struct header header, const void *payload, const int *fds,
                      size_t count, al_deadline deadline) {
    int all[LOCAL_LINK_FDS_MAX];
    if (count + 1 > LOCAL_LINK_FDS_MAX)
        return EINVAL;
    al_autofd int file = -1;
    int rc = memory_file(payload, header.payload_size, &file);
    if (rc != 0)
        return rc;
    all[0] = file;
    if (count > 0)
        memcpy(all + 1, fds, count * sizeof(*fds));
    header.flags |= FLAG_LARGE;
    return al_msg_send(fd, &header, sizeof(header), all, count + 1, deadline);
}

int local_link_send(int fd, uint32_t type, uint64_t tag, const void *message, const int *fds,
                    size_t count, al_deadline deadline) {
    al_auto(al_buf_free) al_buf packet = {.max_size = sizeof(struct header) + LOCAL_PAYLOAD_MAX};
    int rc = local_link_write(&packet, type, tag, message);
    if (rc != 0)
        return rc;
    if (packet.size <= LOCAL_PACKET_MAX)
        return al_msg_send(fd, packet.data, packet.size, fds, count, deadline);
    struct header header;
    memcpy(&header, packet.data, sizeof(header));
    return send_large(fd, header, packet.data + sizeof(header), fds, count, deadline);
}

int local_link_forward(int fd, const struct local_message *message, uint64_t tag,
                       al_deadline deadline) {
    struct header header = {
        MAGIC, VERSION, (uint16_t)message->type, tag, (uint32_t)message->payload_size, 0};
    if (sizeof(header) + message->payload_size > LOCAL_PACKET_MAX)
        return send_large(fd, header, message->payload, message->fds, message->fd_count, deadline);
    al_auto(al_buf_free) al_buf packet = AL_BUF_INIT;
    al_buf_append(&packet, &header, sizeof(header));
    al_buf_append(&packet, message->payload, message->payload_size);
    if (packet.error != 0)
        return packet.error;
    return al_msg_send(fd, packet.data, packet.size, message->fds, message->fd_count, deadline);
}

static int read_large(struct local_message *message, size_t size) {
    int fd = local_message_take_fd(message, 0);
    memmove(message->fds, message->fds + 1, (message->fd_count - 1) * sizeof(message->fds[0]));
    message->fd_count--;
    al_autofd int file = fd;
    struct stat status;
    if (fstat(file, &status) != 0)
        return errno;
    if (!S_ISREG(status.st_mode) || status.st_size != (off_t)size)
        return EBADMSG;
    message->large = malloc(size);
    if (message->large == NULL)
        return ENOMEM;
    for (size_t done = 0; done < size;) {
        ssize_t some = pread(file, (char *)message->large + done, size - done, (off_t)done);
        if (some < 0 && errno == EINTR)
            continue;
        if (some <= 0)
            return some < 0 ? errno : EBADMSG;
        done += (size_t)some;
    }
    message->payload = message->large;
    message->payload_size = size;
    return 0;
}

static bool is_sound(const struct header *header, const struct local_link_limits *limits) {
    bool is_known;
    bool has_payload = local_schema_of(header->type, &is_known) != NULL;
    return header->magic == MAGIC && header->version == VERSION && is_known &&
           has_payload == (header->payload_size > 0) &&
           header->payload_size <= limits->payload_size &&
           (header->flags & ~(uint32_t)FLAG_LARGE) == 0;
}

static int take_apart(struct local_message *message, size_t size,
                      const struct local_link_limits *limits) {
    struct header header;
    if (size < sizeof(header))
        return EBADMSG;
    memcpy(&header, message->packet, sizeof(header));
    bool is_large = (header.flags & FLAG_LARGE) != 0;
    if (!is_sound(&header, limits) || message->fd_count > limits->fd_count + (is_large ? 1 : 0))
        return EBADMSG;
    message->type = header.type;
    message->tag = header.tag;
    if (!is_large) {
        message->payload = (char *)message->packet + sizeof(header);
        message->payload_size = size - sizeof(header);
        return header.payload_size == message->payload_size ? 0 : EBADMSG;
    }
    if (message->fd_count == 0 || size != sizeof(header) ||
        limits->payload_size <= LOCAL_PACKET_MAX || header.payload_size == 0)
        return EBADMSG;
    return read_large(message, header.payload_size);
}

int local_link_receive(int fd, const struct local_link_limits *limits,
                       struct local_message *message, al_deadline deadline) {
    local_message_clear(message);
    if (message->packet == NULL) {
        message->packet = malloc(LOCAL_PACKET_MAX);
        if (message->packet == NULL)
            return ENOMEM;
    }
    size_t size;
    int rc = al_msg_receive(fd, message->packet, LOCAL_PACKET_MAX, &size, message->fds,
                            LOCAL_LINK_FDS_MAX, &message->fd_count, deadline);
    /* Said once when the other end went away without having read all; what it sent before is still
     * there. */
    if (rc == ECONNRESET)
        rc = al_msg_receive(fd, message->packet, LOCAL_PACKET_MAX, &size, message->fds,
                            LOCAL_LINK_FDS_MAX, &message->fd_count, deadline);
    if (rc == EMSGSIZE)
        return EBADMSG;
    if (rc == ECONNRESET || (rc == 0 && size == 0))
        rc = ENOTCONN;
    if (rc == 0)
        rc = take_apart(message, size, limits);
    if (rc != 0)
        local_message_clear(message);
    return rc;
}

int local_message_decode(const struct local_message *message, uint32_t type, void *out) {
    const struct local_schema *schema = local_schema_of(type, NULL);
    if (schema == NULL || message->type != type)
        return EBADMSG;
    return local_decode(schema, message->payload, message->payload_size, out);
}

int local_message_take_fd(struct local_message *message, size_t index) {
    return index < message->fd_count ? al_steal_fd(&message->fds[index]) : -1;
}

void local_message_clear(struct local_message *message) {
    for (size_t i = 0; i < message->fd_count; i++)
        al_close(message->fds[i]);
    message->fd_count = 0;
    free(message->large);
    message->large = NULL;
    message->payload = NULL;
    message->payload_size = 0;
    message->type = 0;
    message->tag = 0;
}

void local_message_free(struct local_message *message) {
    local_message_clear(message);
    free(message->packet);
    message->packet = NULL;
}
