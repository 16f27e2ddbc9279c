/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_FAKE_REMOTE_WIRE_H
#define ALINEO_FAKE_REMOTE_WIRE_H

/* What the fake remote provider and its server say to each other over a unix stream socket: frames
 * of a kind, a size (4 bytes, little-endian) and bytes. One connection an operation. */

#include "core/util/buf.h"
#include "core/util/json.h"
#include "core/util/json_write.h"

#include <stdbool.h>

enum {
    FRAME_MAX = 20 << 20,
    FRAME_REQUEST = 'Q', /* JSON, first on every connection */
    FRAME_SCRIPT = 'S',  /* bytes for descriptor 9, behind an exec's request */
    FRAME_ANSWER = 'A',  /* JSON: {"ok":...} or {"code":"...","message":"..."} */
    FRAME_STDOUT = 'o',
    FRAME_STDERR = 'e',
    FRAME_EXIT = 'x', /* JSON: {"outcome","exitCode","signal","detail"} */
    FRAME_STDIN = 'i',
    FRAME_STDIN_END = 'c',
    FRAME_SIGNAL = 's', /* one byte */
    FRAME_CANCEL = 'k'
};

typedef struct frame {
    char kind;
    al_buf bytes;
} frame;

/* 0 or an errno; EPIPE when the other side went away. */
int frame_send(int fd, char kind, const void *bytes, size_t size);
int frame_send_json(int fd, char kind, al_json_writer *writer, al_buf *text);
/* ENODATA at the end of the connection, EBADMSG for a frame that is too large. Blocks. */
int frame_receive(int fd, frame *out);

#endif
