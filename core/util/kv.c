/* SPDX-License-Identifier: Apache-2.0 */
#include "kv.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "str.h"

/* Up to here a look through all entries is as fast as the index. */
enum {
    COUNT_WITHOUT_INDEX = 16
};

void al_kv_free(al_kv *map) {
    for (size_t i = 0; i < map->count; i++) {
        free(map->items[i].key);
        free(map->items[i].value);
    }
    free(map->items);
    al_hash_free(&map->index);
    *map = (al_kv)AL_KV_INIT;
}

/* The index holds positions as pointers, counted from 1, since NULL means absent. */
static void *to_index(size_t position) {
    return (void *)(uintptr_t)(position + 1);
}

static al_kv_item *find(const al_kv *map, const char *key) {
    if (map->index.count > 0) {
        uintptr_t number = (uintptr_t)al_hash_get(&map->index, key);
        return number != 0 ? &map->items[number - 1] : NULL;
    }
    for (size_t i = 0; i < map->count; i++) {
        if (strcmp(map->items[i].key, key) == 0)
            return &map->items[i];
    }
    return NULL;
}

static int make_room(al_kv *map) {
    if (map->count < map->capacity)
        return 0;
    size_t capacity = map->capacity == 0 ? 8 : map->capacity * 2;
    al_kv_item *items = reallocarray(map->items, capacity, sizeof(*items));
    if (items == NULL)
        return ENOMEM;
    map->items = items;
    map->capacity = capacity;
    return 0;
}

/* Puts KEY, which is about to be entered at the end, in the index, made first if now is the time. A
 * failure leaves the old index, or none. */
static int enter_in_index(al_kv *map, const char *key) {
    bool is_new = map->index.count == 0;
    if (is_new && map->count < COUNT_WITHOUT_INDEX)
        return 0;
    int rc = 0;
    for (size_t i = 0; is_new && i < map->count && rc == 0; i++)
        rc = al_hash_set(&map->index, map->items[i].key, to_index(i), NULL);
    if (rc == 0)
        rc = al_hash_set(&map->index, key, to_index(map->count), NULL);
    if (rc != 0 && is_new)
        al_hash_free(&map->index);
    return rc;
}

static int add(al_kv *map, const char *key, char **value) {
    al_autofree char *key_copy = al_strdup(key);
    if (key_copy == NULL)
        return ENOMEM;
    int rc = make_room(map);
    if (rc == 0)
        rc = enter_in_index(map, key);
    if (rc != 0)
        return rc;
    map->items[map->count++] = (al_kv_item){AL_STEAL(key_copy), AL_STEAL(*value)};
    return 0;
}

int al_kv_set(al_kv *map, const char *key, const char *value) {
    al_autofree char *copy = al_strdup(value);
    if (copy == NULL)
        return ENOMEM;
    al_kv_item *item = find(map, key);
    if (item == NULL)
        return add(map, key, &copy);
    free(item->value);
    item->value = AL_STEAL(copy);
    return 0;
}

int al_kv_set_assignment(al_kv *map, const char *assignment) {
    const char *equals = strchr(assignment, '=');
    if (equals == NULL || equals == assignment)
        return EINVAL;
    al_autofree char *key = al_strndup(assignment, (size_t)(equals - assignment));
    return key != NULL ? al_kv_set(map, key, equals + 1) : ENOMEM;
}

const char *al_kv_get(const al_kv *map, const char *key) {
    const al_kv_item *item = find(map, key);
    return item != NULL ? item->value : NULL;
}

bool al_kv_has(const al_kv *map, const char *key) {
    return find(map, key) != NULL;
}

bool al_kv_remove(al_kv *map, const char *key) {
    al_kv_item *item = find(map, key);
    if (item == NULL)
        return false;
    size_t position = (size_t)(item - map->items);
    bool is_indexed = map->index.count > 0;
    if (is_indexed)
        (void)al_hash_remove(&map->index, item->key);
    free(item->key);
    free(item->value);
    memmove(item, item + 1, (map->count - position - 1) * sizeof(*item));
    map->count--;
    for (size_t i = position; is_indexed && i < map->count; i++) {
        int rc = al_hash_set(&map->index, map->items[i].key, to_index(i), NULL);
        assert(rc == 0); /* what is there already needs no memory */
        (void)rc;
    }
    return true;
}

int al_kv_merge(al_kv *to, const al_kv *from) {
    for (size_t i = 0; i < from->count; i++) {
        int rc = al_kv_set(to, from->items[i].key, from->items[i].value);
        if (rc != 0)
            return rc;
    }
    return 0;
}

bool al_kv_equal(const al_kv *a, const al_kv *b) {
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const char *other = al_kv_get(b, a->items[i].key);
        if (other == NULL || strcmp(a->items[i].value, other) != 0)
            return false;
    }
    return true;
}
