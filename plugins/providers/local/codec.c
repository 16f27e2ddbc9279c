/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/codec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NULL_SIZE UINT32_MAX /* written in place of the size of what is NULL */

struct reader {
    const unsigned char *data;
    size_t left;
};

struct local_list local_list_of(const char *const *items) {
    struct local_list list = {items, 0};
    while (items != NULL && items[list.count] != NULL)
        list.count++;
    return list;
}

static void refuse(al_buf *out) {
    if (out->error == 0)
        out->error = E2BIG;
}

static void put_text(al_buf *out, const char *text, uint64_t max, int may_be_null) {
    uint32_t size = NULL_SIZE;
    if (text == NULL) {
        if (!may_be_null)
            refuse(out);
        al_buf_append(out, &size, sizeof(size));
        return;
    }
    size_t length = strlen(text);
    if (length > max || length >= NULL_SIZE) {
        refuse(out);
        return;
    }
    size = (uint32_t)length;
    al_buf_append(out, &size, sizeof(size));
    al_buf_append(out, text, length + 1);
}

static void put_bytes(al_buf *out, const struct local_bytes *bytes, uint64_t max, int may_be_null) {
    uint32_t size = NULL_SIZE;
    if (bytes->data == NULL && bytes->size == 0 && may_be_null) {
        al_buf_append(out, &size, sizeof(size));
        return;
    }
    if (bytes->size > max || bytes->size >= NULL_SIZE) {
        refuse(out);
        return;
    }
    size = (uint32_t)bytes->size;
    al_buf_append(out, &size, sizeof(size));
    al_buf_append(out, bytes->data, bytes->size);
}

static void put_list(al_buf *out, const struct local_list *list, uint64_t max) {
    if (list->count > max || list->count >= NULL_SIZE) {
        refuse(out);
        return;
    }
    uint32_t count = (uint32_t)list->count;
    al_buf_append(out, &count, sizeof(count));
    for (size_t i = 0; i < list->count; i++)
        put_text(out, list->items[i], NULL_SIZE, 0);
}

static void put_number(al_buf *out, const struct local_field *field, const void *member) {
    if (field->kind == LOCAL_KIND_U32) {
        uint32_t value;
        memcpy(&value, member, sizeof(value));
        if (value > field->max)
            refuse(out);
        al_buf_append(out, &value, sizeof(value));
        return;
    }
    uint64_t value;
    memcpy(&value, member, sizeof(value));
    if (field->kind == LOCAL_KIND_I64) {
        int64_t number = (int64_t)value;
        if (number < field->min || (number > 0 && value > field->max))
            refuse(out);
    } else if (value > field->max) {
        refuse(out);
    }
    al_buf_append(out, &value, sizeof(value));
}

void local_encode(al_buf *out, const struct local_schema *schema, const void *message) {
    for (size_t i = 0; i < schema->count; i++) {
        const struct local_field *field = &schema->fields[i];
        const void *member = (const char *)message + field->offset;
        switch (field->kind) {
        case LOCAL_KIND_TEXT:
            put_text(out, *(const char *const *)member, field->max, field->may_be_null);
            break;
        case LOCAL_KIND_BYTES:
            put_bytes(out, member, field->max, field->may_be_null);
            break;
        case LOCAL_KIND_LIST:
            put_list(out, member, field->max);
            break;
        case LOCAL_KIND_U32:
        case LOCAL_KIND_U64:
        case LOCAL_KIND_I64:
            put_number(out, field, member);
            break;
        }
    }
}

static bool take(struct reader *in, void *out, size_t size) {
    if (in->left < size)
        return false;
    memcpy(out, in->data, size);
    in->data += size;
    in->left -= size;
    return true;
}

static bool take_text(struct reader *in, uint64_t max, int may_be_null, const char **out) {
    uint32_t size;
    if (!take(in, &size, sizeof(size)))
        return false;
    if (size == NULL_SIZE) {
        *out = NULL;
        return may_be_null != 0;
    }
    if (size > max || in->left < (size_t)size + 1)
        return false;
    /* The first NUL must be the one behind the last byte. */
    if (memchr(in->data, '\0', (size_t)size + 1) != in->data + size)
        return false;
    *out = (const char *)in->data;
    in->data += (size_t)size + 1;
    in->left -= (size_t)size + 1;
    return true;
}

static bool take_bytes(struct reader *in, uint64_t max, int may_be_null, struct local_bytes *out) {
    uint32_t size;
    if (!take(in, &size, sizeof(size)))
        return false;
    if (size == NULL_SIZE) {
        *out = (struct local_bytes){NULL, 0};
        return may_be_null != 0;
    }
    if (size > max || in->left < size)
        return false;
    *out = (struct local_bytes){in->data, size};
    in->data += size;
    in->left -= size;
    return true;
}

static int take_list(struct reader *in, uint64_t max, struct local_list *out) {
    uint32_t count;
    if (!take(in, &count, sizeof(count)))
        return EBADMSG;
    /* Each string takes five bytes or more, so no count makes us allocate beyond what was sent. */
    if (count > max || in->left / 5 < count)
        return EBADMSG;
    const char **items = calloc((size_t)count + 1, sizeof(*items));
    if (items == NULL)
        return ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        if (!take_text(in, NULL_SIZE - 1, 0, &items[i])) {
            free(items);
            return EBADMSG;
        }
    }
    *out = (struct local_list){items, count};
    return 0;
}

static bool take_number(struct reader *in, const struct local_field *field, void *member) {
    if (field->kind == LOCAL_KIND_U32) {
        uint32_t value;
        if (!take(in, &value, sizeof(value)) || value > field->max)
            return false;
        memcpy(member, &value, sizeof(value));
        return true;
    }
    uint64_t value;
    if (!take(in, &value, sizeof(value)))
        return false;
    int64_t number = (int64_t)value;
    if (field->kind == LOCAL_KIND_I64 && number < 0 ? number < field->min : value > field->max)
        return false;
    memcpy(member, &value, sizeof(value));
    return true;
}

static int take_field(struct reader *in, const struct local_field *field, void *member) {
    bool good = false;
    switch (field->kind) {
    case LOCAL_KIND_TEXT:
        good = take_text(in, field->max, field->may_be_null, member);
        break;
    case LOCAL_KIND_BYTES:
        good = take_bytes(in, field->max, field->may_be_null, member);
        break;
    case LOCAL_KIND_LIST:
        return take_list(in, field->max, member);
    case LOCAL_KIND_U32:
    case LOCAL_KIND_U64:
    case LOCAL_KIND_I64:
        good = take_number(in, field, member);
        break;
    }
    return good ? 0 : EBADMSG;
}

int local_decode(const struct local_schema *schema, const void *data, size_t size, void *message) {
    struct reader in = {data, size};
    memset(message, 0, schema->size);
    int rc = 0;
    for (size_t i = 0; i < schema->count && rc == 0; i++)
        rc = take_field(&in, &schema->fields[i], (char *)message + schema->fields[i].offset);
    if (rc == 0 && in.left != 0)
        rc = EBADMSG;
    if (rc != 0)
        local_clear(schema, message);
    return rc;
}

void local_clear(const struct local_schema *schema, void *message) {
    for (size_t i = 0; i < schema->count; i++) {
        if (schema->fields[i].kind != LOCAL_KIND_LIST)
            continue;
        struct local_list list;
        memcpy(&list, (char *)message + schema->fields[i].offset, sizeof(list));
        free((void *)(uintptr_t)list.items);
    }
    memset(message, 0, schema->size);
}
