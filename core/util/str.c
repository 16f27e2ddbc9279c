/* SPDX-License-Identifier: Apache-2.0 */
#include "str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *al_strdup(const char *text) {
    return text != NULL ? strdup(text) : NULL;
}

char *al_strndup(const char *text, size_t size) {
    return text != NULL ? strndup(text, size) : NULL;
}

void *al_memdup(const void *data, size_t size) {
    if (data == NULL || size == SIZE_MAX)
        return NULL;
    char *copy = malloc(size + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, data, size);
    copy[size] = '\0';
    return copy;
}

char *al_strf(const char *format, ...) {
    char *text;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    return length >= 0 ? text : NULL;
}

int al_str_replace(char **slot, const char *text) {
    char *copy = al_strdup(text);
    if (copy == NULL && text != NULL)
        return ENOMEM;
    free(*slot);
    *slot = copy;
    return 0;
}

bool al_str_copy(char *out, size_t size, const char *text) {
    size_t length = strnlen(text, size);
    bool whole = length < size;
    if (!whole)
        length = size - 1;
    memcpy(out, text, length);
    out[length] = '\0';
    return whole;
}

bool al_str_equal(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

bool al_str_starts(const char *text, const char *prefix) {
    return al_str_after(text, prefix) != NULL;
}

bool al_str_ends(const char *text, const char *suffix) {
    size_t size = strlen(text);
    size_t suffix_size = strlen(suffix);
    return size >= suffix_size && memcmp(text + size - suffix_size, suffix, suffix_size) == 0;
}

const char *al_str_after(const char *text, const char *prefix) {
    size_t size = strlen(prefix);
    return strncmp(text, prefix, size) == 0 ? text + size : NULL;
}

bool al_str_empty(const char *text) {
    return text == NULL || text[0] == '\0';
}

enum {
    DISTANCE_SIZE_MAX = 63
};

static unsigned min3(unsigned a, unsigned b, unsigned c) {
    unsigned smaller = a < b ? a : b;
    return smaller < c ? smaller : c;
}

/* Row by row over the table of distances between prefixes, of which three rows are kept. */
size_t al_str_distance(const char *a, const char *b) {
    size_t a_size = strnlen(a, DISTANCE_SIZE_MAX + 1);
    size_t b_size = strnlen(b, DISTANCE_SIZE_MAX + 1);
    if (a_size > DISTANCE_SIZE_MAX || b_size > DISTANCE_SIZE_MAX)
        return SIZE_MAX;
    unsigned rows[3][DISTANCE_SIZE_MAX + 1];
    for (size_t j = 0; j <= b_size; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a_size; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i + 2) % 3];
        const unsigned *two_above = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_size; j++) {
            unsigned replaced = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = min3(above[j] + 1, row[j - 1] + 1, replaced);
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && two_above[j - 2] + 1 < row[j])
                row[j] = two_above[j - 2] + 1;
        }
    }
    return rows[a_size % 3][b_size];
}

const char *al_str_nearest(const char *word, const char *const *candidates, size_t count) {
    size_t limit = strlen(word) / 3;
    if (limit == 0)
        limit = 1;
    const char *nearest = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t distance = candidates[i] != NULL ? al_str_distance(word, candidates[i]) : SIZE_MAX;
        if (distance <= limit) {
            nearest = candidates[i];
            if (distance == 0)
                break;
            limit = distance - 1;
        }
    }
    return nearest;
}
