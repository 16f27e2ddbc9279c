/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_JSON_NODE_H
#define ALINEO_UTIL_JSON_NODE_H

/* What a document is made of. For the json*.c files only. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json.h"
#include "json_arena.h"

/* Objects with more members than this have an index. */
enum {
    AL_JSON_COUNT_WITHOUT_INDEX = 16
};

struct al_json_node {
    al_json_node *parent;
    al_json_node *next;
    al_json_node *first; /* of a container */
    union {
        al_json_node *last;         /* of a container still being read */
        const al_json_node **index; /* of an object: members in byte order of their keys, or NULL */
    };
    const char *key; /* of a member */
    size_t key_size;
    const char *text; /* of a string or number; a NUL behind it */
    size_t size;      /* of text; of a container the count */
    uint32_t line;
    uint32_t column;
    uint32_t offset;
    uint8_t type;
    bool truth; /* of a bool */
};

struct al_json {
    al_json_arena arena;
    al_json_node *root;
};

/* Byte order of keys; a shorter one comes before one that it begins. */
int al_json_compare_keys(const al_json_node *a, const char *key, size_t key_size);

/* The place of KEY in the index of an object that has one: the first member that is not below it,
 * up to count. */
size_t al_json_index_position(const al_json_node *object, const char *key, size_t key_size);

#endif
