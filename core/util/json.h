/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_JSON_H
#define ALINEO_UTIL_JSON_H

/* Reads JSON (RFC 8259) from anyone: config files, ledger rows, answers of servers.
 *
 * Strict: one value and nothing behind it; no comments, trailing commas or byte order mark; valid
 * UTF-8 only, no lone surrogates in escapes; no key twice in an object, however it is written; no
 * U+0000 in keys. Strings may hold U+0000: they are pointer and size. Numbers keep their text; a
 * getter gives what is exact and refuses the rest. Depth, size and number of values are limited,
 * and no input makes anything here recurse.
 *
 * A document owns all its nodes; they and their texts live until al_json_free. It does not need the
 * text it was read from. Reading a document from several threads at once is fine.
 *
 * Every getter takes a NULL node and treats it as one of another type, so look-ups can be chained:
 *     al_json_get_str(al_json_member(al_json_member(root, "storage"), "adapter"), &adapter) */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "cleanup.h"
#include "compiler.h"

typedef struct al_json al_json;           /* a document */
typedef struct al_json_node al_json_node; /* a value in it */

typedef enum al_json_type {
    AL_JSON_NONE, /* of a NULL node */
    AL_JSON_NULL,
    AL_JSON_BOOL,
    AL_JSON_NUMBER,
    AL_JSON_STRING,
    AL_JSON_ARRAY,
    AL_JSON_OBJECT
} al_json_type;

/* A limit of 0 means its default. */
typedef struct al_json_limits {
    size_t max_size;    /* of the text; default 64 MiB, looked at before parsing */
    size_t max_count;   /* values, members included; default 1,000,000 */
    uint32_t max_depth; /* objects and arrays inside each other; default AL_JSON_DEPTH_DEFAULT */
} al_json_limits;

enum {
    AL_JSON_DEPTH_DEFAULT = 64
};

typedef struct al_json_error {
    size_t line;       /* from 1 */
    size_t column;     /* from 1, in characters */
    size_t offset;     /* from 0, in bytes */
    char message[192]; /* a sentence without place and full stop: "the key \"a\" is repeated (first
                          in line 2)" */
} al_json_error;

/* Reads the whole TEXT (need not end in NUL). LIMITS and ERROR may be NULL. EBADMSG: not JSON as
 * above; E2BIG: a limit; ENOMEM. ERROR is filled on failure only. */
AL_MUST_CHECK int al_json_parse(const void *text, size_t size, const al_json_limits *limits,
                                al_json **out, al_json_error *error);
void al_json_free(al_json *document);
AL_CLEANUP(al_json *, al_json_free);

const al_json_node *al_json_root(const al_json *document);

al_json_type al_json_type_of(const al_json_node *node);
/* "an object", "a string", "nothing", ...: for messages. */
const char *al_json_type_name(al_json_type type);

/* Each gives true and the value, or false when the node is of another type or the value does not
 * fit exactly. */
bool al_json_get_bool(const al_json_node *node, bool *out);
/* Only what is written as an integer: 1.0 and 1e3 are refused, and so is 9223372036854775808 as
 * int. -0 is 0. */
bool al_json_get_int(const al_json_node *node, int64_t *out);
bool al_json_get_uint(const al_json_node *node, uint64_t *out);
/* The nearest double; refused when it is out of range (1e400). */
bool al_json_get_double(const al_json_node *node, double *out);
/* A string without U+0000. */
bool al_json_get_str(const al_json_node *node, const char **out);
/* Any string. A NUL stands behind it that SIZE does not count. */
bool al_json_get_bytes(const al_json_node *node, const char **data, size_t *size);
/* A number just as it was written. */
bool al_json_get_number_text(const al_json_node *node, const char **out);

/* Members or items; 0 for all else. */
size_t al_json_count(const al_json_node *node);

/* The member of an object, or NULL: when there is none, or when NODE is no object. */
const al_json_node *al_json_member(const al_json_node *node, const char *key);

/* The item of an array, or NULL. Takes time in INDEX: walk with first and next. */
const al_json_node *al_json_item(const al_json_node *node, size_t index);

/* Walks the members or items in the order of the text:
 *     for (const al_json_node *n = al_json_first(list); n != NULL; n = al_json_next(n)) */
const al_json_node *al_json_first(const al_json_node *node);
const al_json_node *al_json_next(const al_json_node *node);
/* NULL for the root. */
const al_json_node *al_json_parent(const al_json_node *node);

/* The key of a member, *SIZE (may be NULL) its size; NULL when NODE is not a member of an object.
 */
const char *al_json_key(const al_json_node *node, size_t *size);

/* Where the value begins (for a member: its key), from 1; column in characters; 0 for NULL. */
size_t al_json_line(const al_json_node *node);
size_t al_json_column(const al_json_node *node);

/* Appends the way from the root: `providers.local.image[2]`; keys that are not plain words are
 * quoted: `env["a.b"]`. Nothing for the root. */
void al_json_path(const al_json_node *node, al_buf *out);

#endif
