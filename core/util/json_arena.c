/* SPDX-License-Identifier: Apache-2.0 */
#include "json_arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct al_json_block {
    al_json_block *older;
    alignas(max_align_t) char bytes[];
};

enum {
    CAPACITY_FIRST = 1024,
    CAPACITY_MAX = 1 << 18
};

static al_json_block *new_block(size_t size) {
    if (size > PTRDIFF_MAX - sizeof(al_json_block))
        return NULL;
    return malloc(sizeof(al_json_block) + size);
}

/* A block of its own for something large, behind the newest, whose free bytes stay in use. */
static char *take_large(al_json_arena *arena, size_t size) {
    al_json_block *block = new_block(size);
    if (block == NULL)
        return NULL;
    al_json_block **place = arena->blocks != NULL ? &arena->blocks->older : &arena->blocks;
    block->older = *place;
    *place = block;
    return block->bytes;
}

/* Blocks double up to a limit, so that small documents take little and large ones few calls. */
static size_t next_capacity(const al_json_arena *arena) {
    if (arena->capacity == 0)
        return CAPACITY_FIRST;
    return arena->capacity < CAPACITY_MAX / 2 ? arena->capacity * 2 : CAPACITY_MAX;
}

static char *take_unaligned(al_json_arena *arena, size_t size) {
    if (size > arena->left) {
        size_t capacity = next_capacity(arena);
        if (size > capacity / 4)
            return take_large(arena, size);
        al_json_block *block = new_block(capacity);
        if (block == NULL)
            return NULL;
        block->older = arena->blocks;
        arena->blocks = block;
        arena->at = block->bytes;
        arena->left = capacity;
        arena->capacity = capacity;
    }
    char *taken = arena->at;
    arena->at += size;
    arena->left -= size;
    return taken;
}

void *al_json_arena_take(al_json_arena *arena, size_t size) {
    size_t over = (uintptr_t)arena->at % alignof(max_align_t);
    size_t gap = over != 0 ? alignof(max_align_t) - over : 0;
    if (gap > arena->left) {
        arena->left = 0;
    } else if (gap > 0) {
        arena->at += gap;
        arena->left -= gap;
    }
    return take_unaligned(arena, size);
}

char *al_json_arena_copy(al_json_arena *arena, const void *data, size_t size) {
    char *copy = take_unaligned(arena, size + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, data, size);
    copy[size] = '\0';
    return copy;
}

void al_json_arena_free(al_json_arena *arena) {
    while (arena->blocks != NULL) {
        al_json_block *block = arena->blocks;
        arena->blocks = block->older;
        free(block);
    }
    *arena = (al_json_arena){0};
}
