/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include "core/util/io.h"

#include <errno.h>

int frame_send(int fd, char kind, const void *bytes, size_t size) {
    unsigned char head[5] = {(unsigned char)kind, (unsigned char)size, (unsigned char)(size >> 8),
                             (unsigned char)(size >> 16), (unsigned char)(size >> 24)};
    int rc = size <= FRAME_MAX ? al_write_full(fd, head, sizeof(head)) : EMSGSIZE;
    return rc != 0 || size == 0 ? rc : al_write_full(fd, bytes, size);
}

int frame_send_json(int fd, char kind, al_json_writer *writer, al_buf *text) {
    int rc = al_json_write_finish(writer);
    return rc != 0 ? rc : frame_send(fd, kind, text->data, text->size);
}

int frame_receive(int fd, frame *out) {
    unsigned char head[5];
    size_t got = 0;
    int rc = al_read_full(fd, head, sizeof(head), &got);
    if (rc != 0)
        return rc;
    if (got < sizeof(head))
        return ENODATA;
    size_t size = head[1] | (size_t)head[2] << 8 | (size_t)head[3] << 16 | (size_t)head[4] << 24;
    if (size > FRAME_MAX)
        return EBADMSG;
    out->kind = (char)head[0];
    al_buf_clear(&out->bytes);
    char *room = al_buf_reserve(&out->bytes, size + 1);
    if (room == NULL)
        return ENOMEM;
    rc = size > 0 ? al_read_full(fd, room, size, &got) : 0;
    if (rc == 0 && size > 0 && got < size)
        rc = ENODATA;
    if (rc == 0)
        al_buf_commit(&out->bytes, size);
    return rc;
}
