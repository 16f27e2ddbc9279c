/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <stdlib.h>
#include <string.h>

#include "json_escape.h"
#include "json_node.h"
#include "num.h"

void al_json_free(al_json *document) {
    if (document == NULL)
        return;
    al_json_arena_free(&document->arena);
    free(document);
}

const al_json_node *al_json_root(const al_json *document) {
    return document->root;
}

al_json_type al_json_type_of(const al_json_node *node) {
    return node != NULL ? (al_json_type)node->type : AL_JSON_NONE;
}

const char *al_json_type_name(al_json_type type) {
    static const char *const names[] = {
        [AL_JSON_NONE] = "nothing",    [AL_JSON_NULL] = "null",       [AL_JSON_BOOL] = "a bool",
        [AL_JSON_NUMBER] = "a number", [AL_JSON_STRING] = "a string", [AL_JSON_ARRAY] = "an array",
        [AL_JSON_OBJECT] = "an object"};
    return names[type];
}

bool al_json_get_bool(const al_json_node *node, bool *out) {
    if (al_json_type_of(node) != AL_JSON_BOOL)
        return false;
    *out = node->truth;
    return true;
}

bool al_json_get_int(const al_json_node *node, int64_t *out) {
    return al_json_type_of(node) == AL_JSON_NUMBER && al_parse_int64(node->text, out) == 0;
}

bool al_json_get_uint(const al_json_node *node, uint64_t *out) {
    if (al_json_type_of(node) != AL_JSON_NUMBER)
        return false;
    bool is_negative_zero = strcmp(node->text, "-0") == 0;
    return al_parse_uint64(is_negative_zero ? "0" : node->text, out) == 0;
}

bool al_json_get_double(const al_json_node *node, double *out) {
    return al_json_type_of(node) == AL_JSON_NUMBER &&
           al_parse_double(node->text, node->size, out) == 0;
}

bool al_json_get_str(const al_json_node *node, const char **out) {
    if (al_json_type_of(node) != AL_JSON_STRING || memchr(node->text, '\0', node->size) != NULL)
        return false;
    *out = node->text;
    return true;
}

bool al_json_get_bytes(const al_json_node *node, const char **data, size_t *size) {
    if (al_json_type_of(node) != AL_JSON_STRING)
        return false;
    *data = node->text;
    *size = node->size;
    return true;
}

bool al_json_get_number_text(const al_json_node *node, const char **out) {
    if (al_json_type_of(node) != AL_JSON_NUMBER)
        return false;
    *out = node->text;
    return true;
}

static bool is_container(const al_json_node *node) {
    al_json_type type = al_json_type_of(node);
    return type == AL_JSON_ARRAY || type == AL_JSON_OBJECT;
}

size_t al_json_count(const al_json_node *node) {
    return is_container(node) ? node->size : 0;
}

int al_json_compare_keys(const al_json_node *a, const char *key, size_t key_size) {
    size_t shorter = a->key_size < key_size ? a->key_size : key_size;
    int order = memcmp(a->key, key, shorter);
    if (order != 0)
        return order;
    return (a->key_size > key_size) - (a->key_size < key_size);
}

size_t al_json_index_position(const al_json_node *object, const char *key, size_t key_size) {
    size_t low = 0;
    size_t high = object->size;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (al_json_compare_keys(object->index[middle], key, key_size) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const al_json_node *al_json_member(const al_json_node *node, const char *key) {
    if (al_json_type_of(node) != AL_JSON_OBJECT)
        return NULL;
    size_t size = strlen(key);
    if (node->index != NULL) {
        size_t at = al_json_index_position(node, key, size);
        bool found = at < node->size && al_json_compare_keys(node->index[at], key, size) == 0;
        return found ? node->index[at] : NULL;
    }
    for (const al_json_node *member = node->first; member != NULL; member = member->next) {
        if (member->key_size == size && memcmp(member->key, key, size) == 0)
            return member;
    }
    return NULL;
}

const al_json_node *al_json_item(const al_json_node *node, size_t index) {
    if (al_json_type_of(node) != AL_JSON_ARRAY || index >= node->size)
        return NULL;
    const al_json_node *item = node->first;
    while (index-- > 0)
        item = item->next;
    return item;
}

const al_json_node *al_json_first(const al_json_node *node) {
    return is_container(node) ? node->first : NULL;
}

const al_json_node *al_json_next(const al_json_node *node) {
    return node != NULL ? node->next : NULL;
}

const al_json_node *al_json_parent(const al_json_node *node) {
    return node != NULL ? node->parent : NULL;
}

const char *al_json_key(const al_json_node *node, size_t *size) {
    if (node == NULL || node->key == NULL)
        return NULL;
    if (size != NULL)
        *size = node->key_size;
    return node->key;
}

size_t al_json_line(const al_json_node *node) {
    return node != NULL ? node->line : 0;
}

size_t al_json_column(const al_json_node *node) {
    return node != NULL ? node->column : 0;
}

static bool is_plain_word(const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '_' || c == '-';
        if (!plain)
            return false;
    }
    return size > 0;
}

static void append_step(const al_json_node *node, al_buf *out, bool is_first) {
    if (node->key == NULL) {
        size_t index = 0;
        for (const al_json_node *item = node->parent->first; item != node; item = item->next)
            index++;
        al_buf_printf(out, "[%zu]", index);
    } else if (is_plain_word(node->key, node->key_size)) {
        if (!is_first)
            al_buf_append_char(out, '.');
        al_buf_append(out, node->key, node->key_size);
    } else {
        al_buf_append_char(out, '[');
        al_json_append_string(out, node->key, node->key_size);
        al_buf_append_char(out, ']');
    }
}

/* From the root down, finding each step by going up from the node: no recursion, no memory. */
void al_json_path(const al_json_node *node, al_buf *out) {
    size_t depth = 0;
    for (const al_json_node *at = node; al_json_parent(at) != NULL; at = at->parent)
        depth++;
    for (size_t level = depth; level > 0; level--) {
        const al_json_node *step = node;
        for (size_t up = 1; up < level; up++)
            step = step->parent;
        append_step(step, out, level == depth);
    }
}
