/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_JSON_WRITE_H
#define ALINEO_UTIL_JSON_WRITE_H

/* Writes compact JSON into a buffer.
 *
 *     al_buf text = AL_BUF_INIT;
 *     al_json_writer w;
 *     al_json_write_init(&w, &text);
 *     al_json_write_object_begin(&w);
 *     al_json_write_key(&w, "seq");      al_json_write_int(&w, 7);
 *     al_json_put_str(&w, "stream", "stdout");         (key and value in one)
 *     al_json_write_object_end(&w);
 *     int rc = al_json_write_finish(&w);
 *
 * Errors stick, as in the buffer: write on, look at what finish returns. What it wrote,
 * al_json_parse reads back with its default depth. Keys are not checked for repetition. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "compiler.h"
#include "json.h"

typedef struct al_json_writer {
    al_buf *out;
    size_t start; /* size of out before us */
    int error;
    uint32_t depth;
    uint8_t state[AL_JSON_DEPTH_DEFAULT + 1]; /* of each level: what may come next */
} al_json_writer;

/* OUT keeps what is in it; the JSON goes behind. Nothing is owned: a writer may simply be dropped.
 */
void al_json_write_init(al_json_writer *writer, al_buf *out);

/* 0 when exactly one whole value was written. EINVAL: a mistake of the caller (end without begin,
 * two keys, a value without key, nothing or two values at the top, something left open, deeper than
 * AL_JSON_DEPTH_DEFAULT). EILSEQ: a string was not UTF-8. EDOM: a double that is not finite.
 * ENOMEM, EFBIG: the buffer. On failure OUT has its former size again (and the buffer's error, if
 * it was that). */
AL_MUST_CHECK int al_json_write_finish(al_json_writer *writer);

void al_json_write_object_begin(al_json_writer *writer);
void al_json_write_object_end(al_json_writer *writer);
void al_json_write_array_begin(al_json_writer *writer);
void al_json_write_array_end(al_json_writer *writer);

void al_json_write_key(al_json_writer *writer, const char *key);
void al_json_write_key_n(al_json_writer *writer, const char *key, size_t size);

/* A NULL string is written as null. */
void al_json_write_str(al_json_writer *writer, const char *text);
/* Any valid UTF-8, U+0000 included. */
void al_json_write_str_n(al_json_writer *writer, const char *text, size_t size);
/* A string with the Base64 of DATA. */
void al_json_write_base64(al_json_writer *writer, const void *data, size_t size);
void al_json_write_int(al_json_writer *writer, int64_t value);
void al_json_write_uint(al_json_writer *writer, uint64_t value);
/* The shortest text that reads back as the same double. */
void al_json_write_double(al_json_writer *writer, double value);
void al_json_write_bool(al_json_writer *writer, bool value);
void al_json_write_null(al_json_writer *writer);

/* TEXT as one value, unseen: it must be JSON, as from another writer. */
void al_json_write_raw(al_json_writer *writer, const char *text, size_t size);

/* A copy of a parsed value and all below it; numbers as they were written. SORTED puts the members
 * of every object in byte order of their keys: equal values (but for the spelling of numbers) then
 * give equal bytes. NULL writes null. */
void al_json_write_node(al_json_writer *writer, const al_json_node *node, bool sorted);

/* Key and value. */
void al_json_put_str(al_json_writer *writer, const char *key, const char *text);
void al_json_put_str_n(al_json_writer *writer, const char *key, const char *text, size_t size);
void al_json_put_int(al_json_writer *writer, const char *key, int64_t value);
void al_json_put_uint(al_json_writer *writer, const char *key, uint64_t value);
void al_json_put_double(al_json_writer *writer, const char *key, double value);
void al_json_put_bool(al_json_writer *writer, const char *key, bool value);
void al_json_put_null(al_json_writer *writer, const char *key);
void al_json_put_node(al_json_writer *writer, const char *key, const al_json_node *node,
                      bool sorted);
void al_json_put_object_begin(al_json_writer *writer, const char *key);
void al_json_put_array_begin(al_json_writer *writer, const char *key);

#endif
