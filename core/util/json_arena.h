/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_JSON_ARENA_H
#define ALINEO_UTIL_JSON_ARENA_H

/* Memory for the many small parts of a document, all freed at once. An all-zero arena is valid and
 * empty. */

#include <stddef.h>

#include "compiler.h"

typedef struct al_json_block al_json_block;

typedef struct al_json_arena {
    al_json_block *blocks; /* newest first */
    char *at;              /* free bytes of the newest ordinary block */
    size_t left;
    size_t capacity; /* of that block */
} al_json_arena;

/* SIZE bytes of nothing in particular, aligned for any type; NULL when memory is lacking. */
AL_MUST_CHECK void *al_json_arena_take(al_json_arena *arena, size_t size);

/* A copy with a NUL behind; not aligned. */
AL_MUST_CHECK char *al_json_arena_copy(al_json_arena *arena, const void *data, size_t size);

void al_json_arena_free(al_json_arena *arena);

#endif
