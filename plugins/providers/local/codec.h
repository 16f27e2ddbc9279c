/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_CODEC_H
#define ALINEO_LOCAL_CODEC_H

/* Structs to bytes and back, by tables: a schema says which members a struct has, in which order
 * they are written, and what each may hold. So every field of every message is checked in one
 * place, however hostile the sender.
 *
 * Numbers are written as they lie in memory: both ends are programs of one build on one machine. A
 * string is its size, its bytes and a NUL; a list is its count and its strings. */

#include <stddef.h>
#include <stdint.h>

#include "core/util/buf.h"
#include "core/util/compiler.h"

enum local_kind {
    LOCAL_KIND_U32,
    LOCAL_KIND_U64,
    LOCAL_KIND_I64,
    LOCAL_KIND_TEXT,  /* const char *: `max` bytes at most, no NUL inside */
    LOCAL_KIND_BYTES, /* struct local_bytes: `max` bytes at most */
    LOCAL_KIND_LIST   /* struct local_list: `max` strings at most, none NULL */
};

struct local_bytes {
    const void *data; /* NULL = none at all, which is not the same as none of them */
    size_t size;
};

/* Strings closed by a NULL, so that they can go to execve. */
struct local_list {
    const char *const *items;
    size_t count;
};

struct local_field {
    enum local_kind kind;
    size_t offset;
    int64_t min;     /* I64 only */
    uint64_t max;    /* largest number, size or count */
    int may_be_null; /* TEXT and BYTES */
};

struct local_schema {
    const struct local_field *fields;
    size_t count;
    size_t size; /* of the struct */
};

/* Appends all fields of MESSAGE. A field that breaks its own bound sets the buffer's error to
 * E2BIG (or what the buffer itself has): look there at the end. */
void local_encode(al_buf *out, const struct local_schema *schema, const void *message);

/* Reads a message that takes up exactly SIZE bytes. Strings point into DATA, which must outlive
 * MESSAGE; lists are allocated: local_clear drops them. EBADMSG: not such a message; ENOMEM. On
 * failure MESSAGE holds nothing. */
AL_MUST_CHECK int local_decode(const struct local_schema *schema, const void *data, size_t size,
                               void *message);

/* Frees what local_decode allocated and zeroes MESSAGE, which may be all zero already. */
void local_clear(const struct local_schema *schema, void *message);

/* The list of a NULL-terminated array (NULL = an empty one), without copying. */
struct local_list local_list_of(const char *const *items);

#endif
