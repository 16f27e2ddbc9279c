/* SPDX-License-Identifier: Apache-2.0 */
#include "strv.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "str.h"

void al_strv_free(al_strv *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (al_strv)AL_STRV_INIT;
}

/* Room for one more item and the closing NULL. */
static int make_room(al_strv *list) {
    if (list->count + 1 < list->capacity)
        return 0;
    if (list->capacity > SIZE_MAX / 2 / sizeof(*list->items))
        return ENOMEM;
    size_t capacity = list->capacity == 0 ? 8 : list->capacity * 2;
    char **items = realloc(list->items, capacity * sizeof(*items));
    if (items == NULL)
        return ENOMEM;
    items[list->count] = NULL;
    list->items = items;
    list->capacity = capacity;
    return 0;
}

int al_strv_take(al_strv *list, char *text) {
    if (text == NULL)
        return ENOMEM;
    int rc = make_room(list);
    if (rc != 0) {
        free(text);
        return rc;
    }
    list->items[list->count++] = text;
    list->items[list->count] = NULL;
    return 0;
}

int al_strv_append(al_strv *list, const char *text) {
    return al_strv_take(list, al_strdup(text));
}

int al_strv_append_n(al_strv *list, const char *text, size_t size) {
    return al_strv_take(list, al_strndup(text, size));
}

static void cut(al_strv *list, size_t count) {
    while (list->count > count) {
        free(list->items[--list->count]);
        list->items[list->count] = NULL;
    }
}

int al_strv_append_all(al_strv *list, const char *const *items) {
    size_t before = list->count;
    for (size_t i = 0; items != NULL && items[i] != NULL; i++) {
        int rc = al_strv_append(list, items[i]);
        if (rc != 0) {
            cut(list, before);
            return rc;
        }
    }
    return 0;
}

int al_strv_split(al_strv *list, const char *text, char separator) {
    size_t before = list->count;
    while (true) {
        const char *end = strchrnul(text, separator);
        int rc = al_strv_append_n(list, text, (size_t)(end - text));
        if (rc != 0) {
            cut(list, before);
            return rc;
        }
        if (*end == '\0')
            return 0;
        text = end + 1;
    }
}

bool al_strv_has(const al_strv *list, const char *text) {
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i], text) == 0)
            return true;
    }
    return false;
}

void al_strv_remove(al_strv *list, size_t index) {
    free(list->items[index]);
    memmove(list->items + index, list->items + index + 1,
            (list->count - index) * sizeof(*list->items));
    list->count--;
}

static int compare_items(const void *a, const void *b) {
    const char *const *first = a;
    const char *const *second = b;
    return strcmp(*first, *second);
}

void al_strv_sort(al_strv *list) {
    if (list->count > 1)
        qsort(list->items, list->count, sizeof(*list->items), compare_items);
}

char *al_strv_join(const al_strv *list, const char *separator, size_t max_size) {
    static const char more[] = "...";
    al_auto(al_buf_free) al_buf out = AL_BUF_INIT;
    size_t kept = 0; /* bytes after which "..." still fits */
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0)
            al_buf_append_str(&out, separator);
        if (max_size == 0 || out.size + sizeof(more) - 1 <= max_size)
            kept = out.size;
        al_buf_append_str(&out, list->items[i]);
        if (max_size != 0 && out.size > max_size) {
            al_buf_truncate(&out, kept);
            size_t room = max_size - kept;
            al_buf_append(&out, more, room < sizeof(more) - 1 ? room : sizeof(more) - 1);
            break;
        }
    }
    return al_buf_steal(&out, NULL);
}

char **al_strv_steal(al_strv *list) {
    if (make_room(list) != 0)
        return NULL;
    char **items = list->items;
    *list = (al_strv)AL_STRV_INIT;
    return items;
}
