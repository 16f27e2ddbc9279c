/* SPDX-License-Identifier: Apache-2.0 */
/* Packets as anybody could send them, taken in as from a friend and as from inside a sandbox; what
 * is understood is written again and must be the same. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/cleanup.h"
#include "core/util/msg.h"
#include "plugins/providers/local/link.h"
#include "plugins/providers/local/protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    MESSAGE_SIZE_MAX = 1024, /* of the structs of all messages */
    HEADER_SIZE = 24
};

static void need(int condition) {
    if (!condition)
        abort();
}

/* Only a message of the largest size shows that the room is too small. */
_Static_assert(sizeof(struct local_start) <= MESSAGE_SIZE_MAX, "a message needs more room");
_Static_assert(sizeof(struct local_create) <= MESSAGE_SIZE_MAX, "a message needs more room");

static void understand(const struct local_message *message) {
    _Alignas(16) char value[MESSAGE_SIZE_MAX];
    const struct local_schema *schema = local_schema_of(message->type, NULL);
    if (schema == NULL) {
        need(message->payload_size == 0);
        return;
    }
    need(schema->size <= sizeof(value));
    int rc = local_message_decode(message, message->type, value);
    need(rc == 0 || rc == EBADMSG || rc == ENOMEM);
    if (rc != 0)
        return;
    al_auto(al_buf_free) al_buf again = AL_BUF_INIT;
    local_encode(&again, schema, value);
    need(again.error == 0 && again.size == message->payload_size);
    need(memcmp(again.data, message->payload, again.size) == 0);
    local_clear(schema, value);
}

static void receive(const uint8_t *data, size_t size, const struct local_link_limits *limits) {
    int ends[2];
    struct local_message message = {0};
    al_deadline at_once = {0};
    need(al_msg_pair(&ends[0], &ends[1]) == 0);
    need(al_msg_send(ends[0], data, size, NULL, 0, at_once) == 0);
    int rc = local_link_receive(ends[1], limits, &message, at_once);
    need(rc == 0 || rc == EBADMSG || rc == ENOMEM);
    if (rc == 0)
        understand(&message);
    local_message_free(&message);
    al_close(ends[0]);
    al_close(ends[1]);
}

/* The first byte is a type that the rest is a payload of: so the search need not find headers. */
static void receive_payload(const uint8_t *data, size_t size) {
    al_auto(al_buf_free) al_buf packet = AL_BUF_INIT;
    need(local_link_write(&packet, LOCAL_COMMIT, 0, NULL) == 0);
    uint16_t type = data[0];
    uint32_t payload_size = (uint32_t)(size - 1);
    memcpy(packet.data + 6, &type, sizeof(type));
    memcpy(packet.data + 16, &payload_size, sizeof(payload_size));
    al_buf_append(&packet, data + 1, size - 1);
    need(packet.error == 0 && packet.size == HEADER_SIZE + payload_size);
    receive((const uint8_t *)packet.data, packet.size, &local_link_trusted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0 || size > 16384)
        return 0;
    receive(data, size, &local_link_trusted);
    receive(data, size, &local_link_untrusted);
    receive_payload(data, size);
    return 0;
}
