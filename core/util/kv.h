/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_KV_H
#define ALINEO_UTIL_KV_H

/* A map from string to string that keeps the order in which keys were first set (environment,
 * metadata, headers). Owns its strings. An all-zero al_kv is valid and empty. Walk it by `items`
 * and `count`. Look-up takes constant time however many entries there are, and no choice of keys
 * makes it slow. */

#include <stdbool.h>
#include <stddef.h>

#include "cleanup.h"
#include "compiler.h"
#include "hash.h"

typedef struct al_kv_item {
    char *key;
    char *value;
} al_kv_item;

typedef struct al_kv {
    al_kv_item *items;
    size_t count;
    size_t capacity;
    al_hash index; /* key -> position, kept once there are more than a few */
} al_kv;

#define AL_KV_INIT                                                                                 \
    { 0 }

void al_kv_free(al_kv *map);
AL_CLEANUP_INSIDE(al_kv, al_kv_free);

/* Sets KEY to a copy of VALUE; a key that is there keeps its place. 0 or ENOMEM (the map is then as
 * before). */
AL_MUST_CHECK int al_kv_set(al_kv *map, const char *key, const char *value);

/* Sets "KEY=VALUE"; EINVAL without '=' or with an empty key. */
AL_MUST_CHECK int al_kv_set_assignment(al_kv *map, const char *assignment);

/* The value, valid until the key is set again or removed; NULL when there is none. */
const char *al_kv_get(const al_kv *map, const char *key);
bool al_kv_has(const al_kv *map, const char *key);

/* True when it was there. Takes time in the number of entries behind it. */
bool al_kv_remove(al_kv *map, const char *key);

/* Sets every entry of FROM in TO. On ENOMEM TO may hold a part of them. */
AL_MUST_CHECK int al_kv_merge(al_kv *to, const al_kv *from);

/* The same keys with the same values, in whatever order. */
bool al_kv_equal(const al_kv *a, const al_kv *b);

#endif
