/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_STRV_H
#define ALINEO_UTIL_STRV_H

/* A list of strings that owns them. An all-zero al_strv is valid and empty. `items` is NULL when
 * nothing was ever added, else closed by a NULL, so that it can go to execve. No item is NULL. */

#include <stdbool.h>
#include <stddef.h>

#include "cleanup.h"
#include "compiler.h"

typedef struct al_strv {
    char **items;
    size_t count;
    size_t capacity;
} al_strv;

#define AL_STRV_INIT                                                                               \
    { 0 }

/* Frees all; empty and usable again. */
void al_strv_free(al_strv *list);
AL_CLEANUP_INSIDE(al_strv, al_strv_free);

/* 0 or ENOMEM; the list is unchanged on failure. al_strv_take owns TEXT from the call on, also when
 * it fails; a NULL TEXT is ENOMEM, so that the result of al_strf may be given directly. */
AL_MUST_CHECK int al_strv_append(al_strv *list, const char *text);
AL_MUST_CHECK int al_strv_append_n(al_strv *list, const char *text, size_t size);
AL_MUST_CHECK int al_strv_take(al_strv *list, char *text);

/* Appends copies of the NULL-terminated array ITEMS (may be NULL: none). All or nothing. */
AL_MUST_CHECK int al_strv_append_all(al_strv *list, const char *const *items);

/* Appends the parts of TEXT between the SEPARATOR bytes; empty parts count, "" gives one empty
 * part. All or nothing. */
AL_MUST_CHECK int al_strv_split(al_strv *list, const char *text, char separator);

bool al_strv_has(const al_strv *list, const char *text);

/* Takes one item out; the order of the rest stays. INDEX must be below count. */
void al_strv_remove(al_strv *list, size_t index);

/* Byte order. */
void al_strv_sort(al_strv *list);

/* All items with SEPARATOR between. MAX_SIZE bounds the result without its NUL: what would be
 * longer is cut at an item and ends in "..." (0 = no bound). */
AL_MUST_CHECK char *al_strv_join(const al_strv *list, const char *separator, size_t max_size);

/* Hands over the NULL-terminated array and its strings (never NULL but on ENOMEM); the list is
 * empty afterwards. */
AL_MUST_CHECK char **al_strv_steal(al_strv *list);

#endif
