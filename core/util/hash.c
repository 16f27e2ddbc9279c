/* SPDX-License-Identifier: Apache-2.0 */
#include "hash.h"

#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "str.h"

/* Open addressing with linear probing; at most three quarters of the slots are taken, so a probe
 * ends. */
struct al_hash_slot {
    char *key; /* NULL = free */
    void *value;
    uint64_t hash;
};

enum {
    CAPACITY_MIN = 16
};

static uint64_t rotate(uint64_t x, unsigned bits) {
    return x << bits | x >> (64 - bits);
}

static void sip_round(uint64_t v[4]) {
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32) + v[3];
    v[2] += v[1];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

static uint64_t load_little_endian(const uint8_t *p, size_t size) {
    uint64_t word = 0;
    for (size_t i = 0; i < size; i++)
        word |= (uint64_t)p[i] << (8 * i);
    return word;
}

uint64_t al_hash_bytes(const uint64_t seed[2], const void *data, size_t size) {
    uint64_t v[4] = {seed[0] ^ UINT64_C(0x736f6d6570736575), seed[1] ^ UINT64_C(0x646f72616e646f6d),
                     seed[0] ^ UINT64_C(0x6c7967656e657261),
                     seed[1] ^ UINT64_C(0x7465646279746573)};
    const uint8_t *p = data;
    size_t left = size;
    for (; left >= 8; left -= 8, p += 8) {
        uint64_t word = load_little_endian(p, 8);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    uint64_t last = load_little_endian(p, left) | (uint64_t)size << 56;
    v[3] ^= last;
    sip_round(v);
    v[0] ^= last;
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void al_hash_free(al_hash *map) {
    for (size_t i = 0; i < map->capacity; i++)
        free(map->slots[i].key);
    free(map->slots);
    *map = (al_hash)AL_HASH_INIT;
}

/* The slot that holds KEY, or the free one where it would go. The map has slots. */
static al_hash_slot *find_slot(const al_hash *map, const char *key, uint64_t hash) {
    size_t mask = map->capacity - 1;
    size_t at = (size_t)hash & mask;
    while (map->slots[at].key != NULL &&
           (map->slots[at].hash != hash || strcmp(map->slots[at].key, key) != 0))
        at = (at + 1) & mask;
    return &map->slots[at];
}

static uint64_t hash_of(const al_hash *map, const char *key) {
    return al_hash_bytes(map->seed, key, strlen(key));
}

static int grow(al_hash *map) {
    al_hash grown = *map;
    if (map->capacity == 0) {
        int rc = al_random_bytes(grown.seed, sizeof(grown.seed));
        if (rc != 0)
            return rc;
    }
    grown.capacity = map->capacity == 0 ? CAPACITY_MIN : map->capacity * 2;
    grown.slots = calloc(grown.capacity, sizeof(*grown.slots));
    if (grown.slots == NULL)
        return ENOMEM;
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->slots[i].key != NULL)
            *find_slot(&grown, map->slots[i].key, map->slots[i].hash) = map->slots[i];
    }
    free(map->slots);
    *map = grown;
    return 0;
}

static al_hash_slot *find(const al_hash *map, const char *key) {
    return map->count > 0 ? find_slot(map, key, hash_of(map, key)) : NULL;
}

static int add(al_hash *map, const char *key, void *value) {
    if (map->count >= map->capacity / 4 * 3) {
        int rc = grow(map);
        if (rc != 0)
            return rc;
    }
    char *copy = al_strdup(key);
    if (copy == NULL)
        return ENOMEM;
    uint64_t hash = hash_of(map, key);
    *find_slot(map, key, hash) = (al_hash_slot){copy, value, hash};
    map->count++;
    return 0;
}

int al_hash_set(al_hash *map, const char *key, void *value, void **old) {
    al_hash_slot *slot = find(map, key);
    void *before = slot != NULL ? slot->value : NULL;
    if (before != NULL) {
        slot->value = value;
    } else {
        int rc = add(map, key, value);
        if (rc != 0)
            return rc;
    }
    if (old != NULL)
        *old = before;
    return 0;
}

void *al_hash_get(const al_hash *map, const char *key) {
    al_hash_slot *slot = find(map, key);
    return slot != NULL ? slot->value : NULL;
}

/* Slots behind a freed one move up where they were only pushed on by what stood before them, so no
 * mark need stay. */
static void close_gap(al_hash *map, size_t gap) {
    size_t mask = map->capacity - 1;
    for (size_t at = (gap + 1) & mask; map->slots[at].key != NULL; at = (at + 1) & mask) {
        size_t home = (size_t)map->slots[at].hash & mask;
        if (((at - home) & mask) >= ((at - gap) & mask)) {
            map->slots[gap] = map->slots[at];
            gap = at;
        }
    }
    map->slots[gap] = (al_hash_slot){0};
}

void *al_hash_remove(al_hash *map, const char *key) {
    al_hash_slot *slot = find(map, key);
    if (slot == NULL || slot->key == NULL)
        return NULL;
    void *value = slot->value;
    free(slot->key);
    close_gap(map, (size_t)(slot - map->slots));
    map->count--;
    return value;
}

bool al_hash_next(const al_hash *map, size_t *position, const char **key, void **value) {
    while (*position < map->capacity) {
        const al_hash_slot *slot = &map->slots[(*position)++];
        if (slot->key != NULL) {
            if (key != NULL)
                *key = slot->key;
            if (value != NULL)
                *value = slot->value;
            return true;
        }
    }
    return false;
}
