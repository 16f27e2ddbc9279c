/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a parsed value by walking it with its links up, so depth costs neither stack nor memory.
 * */
#include "json_node.h"
#include "json_write.h"

/* The member of OBJECT whose key follows that of AFTER (NULL: the lowest), or NULL. */
static const al_json_node *next_by_key(const al_json_node *object, const al_json_node *after) {
    if (object->index != NULL) {
        size_t at =
            after != NULL ? al_json_index_position(object, after->key, after->key_size) + 1 : 0;
        return at < object->size ? object->index[at] : NULL;
    }
    const al_json_node *lowest = NULL;
    for (const al_json_node *member = object->first; member != NULL; member = member->next) {
        bool is_behind =
            after == NULL || al_json_compare_keys(member, after->key, after->key_size) > 0;
        if (is_behind &&
            (lowest == NULL || al_json_compare_keys(member, lowest->key, lowest->key_size) < 0))
            lowest = member;
    }
    return lowest;
}

static const al_json_node *first_inside(const al_json_node *container, bool sorted) {
    return sorted && container->type == AL_JSON_OBJECT ? next_by_key(container, NULL)
                                                       : container->first;
}

static const al_json_node *next_beside(const al_json_node *node, bool sorted) {
    return sorted && node->parent->type == AL_JSON_OBJECT ? next_by_key(node->parent, node)
                                                          : node->next;
}

/* A value, or the beginning of a container. */
static void write_begin(al_json_writer *w, const al_json_node *node) {
    switch ((al_json_type)node->type) {
    case AL_JSON_BOOL:
        al_json_write_bool(w, node->truth);
        break;
    case AL_JSON_NUMBER:
        al_json_write_raw(w, node->text, node->size);
        break;
    case AL_JSON_STRING:
        al_json_write_str_n(w, node->text, node->size);
        break;
    case AL_JSON_ARRAY:
        al_json_write_array_begin(w);
        break;
    case AL_JSON_OBJECT:
        al_json_write_object_begin(w);
        break;
    case AL_JSON_NONE:
    case AL_JSON_NULL:
        al_json_write_null(w);
        break;
    }
}

static void write_end(al_json_writer *w, const al_json_node *container) {
    if (container->type == AL_JSON_OBJECT)
        al_json_write_object_end(w);
    else
        al_json_write_array_end(w);
}

static bool is_container(const al_json_node *node) {
    return node->type == AL_JSON_ARRAY || node->type == AL_JSON_OBJECT;
}

void al_json_write_node(al_json_writer *writer, const al_json_node *node, bool sorted) {
    if (node == NULL) {
        al_json_write_null(writer);
        return;
    }
    const al_json_node *at = node;
    while (writer->error == 0) {
        if (at != node && at->key != NULL)
            al_json_write_key_n(writer, at->key, at->key_size);
        write_begin(writer, at);
        const al_json_node *inside = is_container(at) ? first_inside(at, sorted) : NULL;
        if (inside != NULL) {
            at = inside;
            continue;
        }
        if (is_container(at))
            write_end(writer, at);
        /* Up, closing what has no more, to the next value. */
        while (at != node) {
            const al_json_node *beside = next_beside(at, sorted);
            if (beside != NULL) {
                at = beside;
                break;
            }
            at = at->parent;
            write_end(writer, at);
        }
        if (at == node)
            return;
    }
}
