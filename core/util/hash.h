/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_HASH_H
#define ALINEO_UTIL_HASH_H

/* A hash map from string to pointer. Keys are copied, values are not touched. The hash is keyed
 * with random bytes of the process, so nobody outside can choose keys that collide. An all-zero
 * al_hash is valid and empty. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "compiler.h"

typedef struct al_hash_slot al_hash_slot;

typedef struct al_hash {
    al_hash_slot *slots;
    size_t count;    /* entries */
    size_t capacity; /* slots, a power of two or 0 */
    uint64_t seed[2];
} al_hash;

#define AL_HASH_INIT                                                                               \
    { 0 }

/* Frees keys and slots, not the values; empty and usable again. */
void al_hash_free(al_hash *map);
AL_CLEANUP_INSIDE(al_hash, al_hash_free);

/* Sets KEY to VALUE (not NULL). *OLD (may be NULL) gets the value that was there, or NULL. On
 * failure (ENOMEM) the map is unchanged; to set a key that is there already needs no memory. */
AL_MUST_CHECK int al_hash_set(al_hash *map, const char *key, void *value, void **old);

/* The value, or NULL. */
void *al_hash_get(const al_hash *map, const char *key);

/* Takes KEY out and gives its value, or NULL when it was not there. */
void *al_hash_remove(al_hash *map, const char *key);

/* Walks all entries in no order: start with *POSITION 0; false at the end. KEY and VALUE may be
 * NULL. Between the first and the last step the map must not be changed. */
bool al_hash_next(const al_hash *map, size_t *position, const char **key, void **value);

/* SipHash-1-3 of DATA under SEED. */
uint64_t al_hash_bytes(const uint64_t seed[2], const void *data, size_t size);

#endif
