/* SPDX-License-Identifier: Apache-2.0 */
#include "json_write.h"

#include <inttypes.h>
#include <string.h>

#include "base64.h"
#include "json_escape.h"
#include "num.h"
#include "utf8.h"

/* What may come next on a level. */
enum state {
    TOP_VALUE,
    TOP_END,
    OBJECT_FIRST_KEY,
    OBJECT_NEXT_KEY,
    OBJECT_VALUE,
    ARRAY_FIRST,
    ARRAY_NEXT,
};

void al_json_write_init(al_json_writer *writer, al_buf *out) {
    writer->out = out;
    writer->start = out->size;
    writer->error = 0;
    writer->depth = 0;
    writer->state[0] = TOP_VALUE;
}

static void fail(al_json_writer *w, int error) {
    if (w->error == 0)
        w->error = error;
}

int al_json_write_finish(al_json_writer *writer) {
    if (writer->error == 0 && (writer->depth != 0 || writer->state[0] != TOP_END))
        writer->error = EINVAL;
    if (writer->error == 0)
        writer->error = writer->out->error;
    if (writer->error != 0)
        al_buf_truncate(writer->out, writer->start);
    return writer->error;
}

/* Puts what stands before a value; false when none may come. */
static bool begin_value(al_json_writer *w) {
    if (w->error != 0)
        return false;
    uint8_t *state = &w->state[w->depth];
    switch ((enum state) * state) {
    case TOP_VALUE:
        *state = TOP_END;
        return true;
    case OBJECT_VALUE:
        *state = OBJECT_NEXT_KEY;
        return true;
    case ARRAY_FIRST:
        *state = ARRAY_NEXT;
        return true;
    case ARRAY_NEXT:
        al_buf_append_char(w->out, ',');
        return true;
    case TOP_END:
    case OBJECT_FIRST_KEY:
    case OBJECT_NEXT_KEY:
        break;
    }
    fail(w, EINVAL);
    return false;
}

static void begin_container(al_json_writer *w, char opening, enum state state) {
    if (!begin_value(w))
        return;
    if (w->depth == AL_JSON_DEPTH_DEFAULT) {
        fail(w, EINVAL);
        return;
    }
    w->state[++w->depth] = (uint8_t)state;
    al_buf_append_char(w->out, opening);
}

static void end_container(al_json_writer *w, char closing, enum state first, enum state next) {
    if (w->error != 0)
        return;
    if (w->state[w->depth] != first && w->state[w->depth] != next) {
        fail(w, EINVAL);
        return;
    }
    w->depth--;
    al_buf_append_char(w->out, closing);
}

void al_json_write_object_begin(al_json_writer *writer) {
    begin_container(writer, '{', OBJECT_FIRST_KEY);
}

void al_json_write_object_end(al_json_writer *writer) {
    end_container(writer, '}', OBJECT_FIRST_KEY, OBJECT_NEXT_KEY);
}

void al_json_write_array_begin(al_json_writer *writer) {
    begin_container(writer, '[', ARRAY_FIRST);
}

void al_json_write_array_end(al_json_writer *writer) {
    end_container(writer, ']', ARRAY_FIRST, ARRAY_NEXT);
}

static void put_string(al_json_writer *w, const char *text, size_t size) {
    if (al_utf8_valid(text, size))
        al_json_append_string(w->out, text, size);
    else
        fail(w, EILSEQ);
}

void al_json_write_key_n(al_json_writer *writer, const char *key, size_t size) {
    if (writer->error != 0)
        return;
    uint8_t *state = &writer->state[writer->depth];
    if (*state != OBJECT_FIRST_KEY && *state != OBJECT_NEXT_KEY) {
        fail(writer, EINVAL);
        return;
    }
    if (*state == OBJECT_NEXT_KEY)
        al_buf_append_char(writer->out, ',');
    *state = OBJECT_VALUE;
    put_string(writer, key, size);
    al_buf_append_char(writer->out, ':');
}

void al_json_write_key(al_json_writer *writer, const char *key) {
    al_json_write_key_n(writer, key, strlen(key));
}

void al_json_write_str_n(al_json_writer *writer, const char *text, size_t size) {
    if (begin_value(writer))
        put_string(writer, text, size);
}

void al_json_write_str(al_json_writer *writer, const char *text) {
    if (text != NULL)
        al_json_write_str_n(writer, text, strlen(text));
    else
        al_json_write_null(writer);
}

void al_json_write_base64(al_json_writer *writer, const void *data, size_t size) {
    if (!begin_value(writer))
        return;
    al_buf_append_char(writer->out, '"');
    al_base64_append(writer->out, data, size);
    al_buf_append_char(writer->out, '"');
}

void al_json_write_raw(al_json_writer *writer, const char *text, size_t size) {
    if (begin_value(writer))
        al_buf_append(writer->out, text, size);
}

void al_json_write_int(al_json_writer *writer, int64_t value) {
    if (begin_value(writer))
        al_buf_printf(writer->out, "%" PRId64, value);
}

void al_json_write_uint(al_json_writer *writer, uint64_t value) {
    if (begin_value(writer))
        al_buf_printf(writer->out, "%" PRIu64, value);
}

void al_json_write_double(al_json_writer *writer, double value) {
    if (!begin_value(writer))
        return;
    char text[AL_DOUBLE_TEXT_SIZE];
    int rc = al_format_double(value, text);
    if (rc == 0)
        al_buf_append_str(writer->out, text);
    else
        fail(writer, rc);
}

void al_json_write_bool(al_json_writer *writer, bool value) {
    if (begin_value(writer))
        al_buf_append_str(writer->out, value ? "true" : "false");
}

void al_json_write_null(al_json_writer *writer) {
    if (begin_value(writer))
        al_buf_append_str(writer->out, "null");
}

void al_json_put_str(al_json_writer *writer, const char *key, const char *text) {
    al_json_write_key(writer, key);
    al_json_write_str(writer, text);
}

void al_json_put_str_n(al_json_writer *writer, const char *key, const char *text, size_t size) {
    al_json_write_key(writer, key);
    al_json_write_str_n(writer, text, size);
}

void al_json_put_int(al_json_writer *writer, const char *key, int64_t value) {
    al_json_write_key(writer, key);
    al_json_write_int(writer, value);
}

void al_json_put_uint(al_json_writer *writer, const char *key, uint64_t value) {
    al_json_write_key(writer, key);
    al_json_write_uint(writer, value);
}

void al_json_put_double(al_json_writer *writer, const char *key, double value) {
    al_json_write_key(writer, key);
    al_json_write_double(writer, value);
}

void al_json_put_bool(al_json_writer *writer, const char *key, bool value) {
    al_json_write_key(writer, key);
    al_json_write_bool(writer, value);
}

void al_json_put_null(al_json_writer *writer, const char *key) {
    al_json_write_key(writer, key);
    al_json_write_null(writer);
}

void al_json_put_node(al_json_writer *writer, const char *key, const al_json_node *node,
                      bool sorted) {
    al_json_write_key(writer, key);
    al_json_write_node(writer, node, sorted);
}

void al_json_put_object_begin(al_json_writer *writer, const char *key) {
    al_json_write_key(writer, key);
    al_json_write_object_begin(writer);
}

void al_json_put_array_begin(al_json_writer *writer, const char *key) {
    al_json_write_key(writer, key);
    al_json_write_array_begin(writer);
}
