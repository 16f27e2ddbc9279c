/* SPDX-License-Identifier: Apache-2.0 */
#include "buf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CAPACITY_MIN = 64
};

void al_buf_free(al_buf *buf) {
    free(buf->data);
    *buf = (al_buf){.max_size = buf->max_size};
}

void al_buf_wipe(al_buf *buf) {
    if (buf->data != NULL)
        explicit_bzero(buf->data, buf->capacity);
    al_buf_free(buf);
}

void al_buf_clear(al_buf *buf) {
    buf->error = 0;
    buf->size = 0;
    if (buf->data != NULL)
        buf->data[0] = '\0';
}

void al_buf_truncate(al_buf *buf, size_t size) {
    if (size >= buf->size)
        return;
    buf->size = size;
    buf->data[size] = '\0';
}

void al_buf_consume(al_buf *buf, size_t size) {
    if (buf->size == 0)
        return;
    if (size > buf->size)
        size = buf->size;
    memmove(buf->data, buf->data + size, buf->size - size + 1);
    buf->size -= size;
}

/* Half as much again, so that the room a growing buffer leaves behind can be used by the next
 * block. */
static size_t grown_capacity(size_t capacity, size_t needed) {
    size_t grown = capacity < CAPACITY_MIN ? CAPACITY_MIN : capacity;
    if (grown <= SIZE_MAX - grown / 2)
        grown += grown / 2;
    return grown < needed ? needed : grown;
}

/* Whether SIZE more bytes and a NUL fit, grown if need be. */
static bool make_room(al_buf *buf, size_t size) {
    if (buf->error != 0)
        return false;
    size_t limit = buf->max_size != 0 ? buf->max_size : PTRDIFF_MAX - 1;
    if (buf->size > limit || size > limit - buf->size) {
        buf->error = EFBIG;
        return false;
    }
    size_t needed = buf->size + size + 1;
    if (needed <= buf->capacity)
        return true;
    size_t capacity = grown_capacity(buf->capacity, needed);
    char *data = realloc(buf->data, capacity);
    if (data == NULL) {
        buf->error = ENOMEM;
        return false;
    }
    data[buf->size] = '\0';
    buf->data = data;
    buf->capacity = capacity;
    return true;
}

void al_buf_append(al_buf *buf, const void *data, size_t size) {
    if (size == 0 || !make_room(buf, size))
        return;
    memcpy(buf->data + buf->size, data, size);
    buf->size += size;
    buf->data[buf->size] = '\0';
}

void al_buf_append_str(al_buf *buf, const char *text) {
    al_buf_append(buf, text, strlen(text));
}

void al_buf_append_char(al_buf *buf, char byte) {
    al_buf_append(buf, &byte, 1);
}

void al_buf_printf(al_buf *buf, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    al_buf_vprintf(buf, format, arguments);
    va_end(arguments);
}

void al_buf_vprintf(al_buf *buf, const char *format, va_list arguments) {
    if (buf->error != 0)
        return;
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length < 0) {
        buf->error = EINVAL;
    } else if (make_room(buf, (size_t)length)) {
        (void)vsnprintf(buf->data + buf->size, (size_t)length + 1, format, again);
        buf->size += (size_t)length;
    }
    va_end(again);
}

char *al_buf_reserve(al_buf *buf, size_t size) {
    return make_room(buf, size) ? buf->data + buf->size : NULL;
}

void al_buf_commit(al_buf *buf, size_t size) {
    if (buf->data == NULL)
        return;
    buf->size += size;
    buf->data[buf->size] = '\0';
}

const char *al_buf_str(const al_buf *buf) {
    return buf->data != NULL ? buf->data : "";
}

char *al_buf_steal(al_buf *buf, size_t *size) {
    if (!make_room(buf, 0)) {
        al_buf_free(buf);
        return NULL;
    }
    char *data = buf->data;
    if (size != NULL)
        *size = buf->size;
    *buf = (al_buf){.max_size = buf->max_size};
    return data;
}
