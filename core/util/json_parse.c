/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a document from what yajl reports. yajl is given the whole text at once; each report is
 * matched with the place of its token, which lies behind the last one, blanks, commas and colons
 * between. */
#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "json.h"
#include "json_error.h"
#include "json_node.h"
#include "json_yajl_memory.h"

static const al_json_limits default_limits = {
    .max_size = 64u << 20, .max_count = 1000000, .max_depth = AL_JSON_DEPTH_DEFAULT};

typedef struct place {
    uint32_t line;
    uint32_t column;
    uint32_t offset;
} place;

typedef struct parser {
    al_json *document;
    const char *text;
    size_t size;
    bool is_ascii; /* then columns are bytes */
    place at;      /* the end of the last token */

    al_json_node *open; /* the innermost container that is not closed yet */
    uint32_t depth;
    size_t count;
    al_json_limits limits;

    const char *key; /* of the member whose value comes next, or NULL */
    size_t key_size;
    place key_place;

    yajl_handle yajl;
    al_json_yajl_memory memory;
    int rc; /* why a callback stopped the parser */
    al_json_error *error;
} parser;

/* What a callback returns to stop yajl. */
static int stop(parser *p, int rc) {
    p->rc = rc;
    return 0;
}

#define STOP(p, code, offset, ...)                                                                 \
    (al_json_set_error((p)->error, (p)->text, offset, __VA_ARGS__), stop(p, code))

static int stop_without_memory(parser *p) {
    return STOP(p, ENOMEM, p->at.offset, "memory is lacking");
}

static uint32_t count_characters(const char *text, size_t size) {
    uint32_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += ((uint8_t)text[i] & 0xc0) != 0x80;
    return count;
}

/* Moves to where the token begins that yajl just reported, which *BEGIN (may be NULL) gets. Stops
 * at the two control characters that yajl takes for blanks and JSON does not. */
static int begin_token(parser *p, place *begin) {
    place at = p->at;
    for (; at.offset < p->size; at.offset++) {
        char c = p->text[at.offset];
        if (c == '\n') {
            at.line++;
            at.column = 1;
        } else if (c == ' ' || c == ',' || c == ':' || c == '\t' || c == '\r') {
            at.column++;
        } else if (c == '\v' || c == '\f') {
            return STOP(p, EBADMSG, at.offset, "the control character U+%04X is not allowed here",
                        (unsigned)c);
        } else {
            break;
        }
    }
    p->at = at;
    if (begin != NULL)
        *begin = at;
    return 1;
}

static void end_token(parser *p, size_t size) {
    const char *token = p->text + p->at.offset;
    p->at.column += p->is_ascii ? (uint32_t)size : count_characters(token, size);
    p->at.offset += (uint32_t)size;
}

/* A node for the token at BEGIN, entered in the open container; NULL after stopping. */
static al_json_node *add_node(parser *p, al_json_type type, place begin) {
    if (++p->count > p->limits.max_count) {
        (void)STOP(p, E2BIG, begin.offset, "more than the %zu values allowed", p->limits.max_count);
        return NULL;
    }
    al_json_node *node = al_json_arena_take(&p->document->arena, sizeof(*node));
    if (node == NULL) {
        (void)stop_without_memory(p);
        return NULL;
    }
    if (p->key != NULL)
        begin = p->key_place;
    *node = (al_json_node){.parent = p->open,
                           .key = p->key,
                           .key_size = p->key_size,
                           .line = begin.line,
                           .column = begin.column,
                           .offset = begin.offset,
                           .type = (uint8_t)type};
    p->key = NULL;
    p->key_size = 0;
    if (p->open == NULL) {
        p->document->root = node;
    } else {
        if (p->open->last != NULL)
            p->open->last->next = node;
        else
            p->open->first = node;
        p->open->last = node;
        p->open->size++;
    }
    return node;
}

static int add_plain(parser *p, al_json_type type, bool truth, size_t token_size) {
    place begin;
    al_json_node *node = begin_token(p, &begin) ? add_node(p, type, begin) : NULL;
    if (node == NULL)
        return 0;
    node->truth = truth;
    end_token(p, token_size);
    return 1;
}

static int on_null(void *context) {
    return add_plain(context, AL_JSON_NULL, false, strlen("null"));
}

static int on_bool(void *context, int value) {
    return add_plain(context, AL_JSON_BOOL, value != 0, strlen(value != 0 ? "true" : "false"));
}

static int add_text(parser *p, al_json_type type, place begin, const char *text, size_t size) {
    al_json_node *node = add_node(p, type, begin);
    if (node == NULL)
        return 0;
    node->text = al_json_arena_copy(&p->document->arena, text, size);
    node->size = size;
    return node->text != NULL ? 1 : stop_without_memory(p);
}

static int on_number(void *context, const char *text, size_t size) {
    parser *p = context;
    place begin;
    if (!begin_token(p, &begin))
        return 0;
    end_token(p, size);
    return add_text(p, AL_JSON_NUMBER, begin, text, size);
}

/* Finds the token of the string that yajl just read, SIZE bytes long when its escapes are resolved,
 * and refuses what yajl lets pass. */
static int take_string_token(parser *p, size_t size, place *begin) {
    if (!begin_token(p, begin))
        return 0;
    size_t end = yajl_get_bytes_consumed(p->yajl);
    size_t inside = begin->offset + 1u;
    size_t inside_size = end - 1 - inside;
    if (inside_size != size) {
        size_t lone = al_json_find_lone_surrogate(p->text + inside, inside_size);
        if (lone < inside_size)
            return STOP(p, EBADMSG, inside + lone, "\\u escape of half a surrogate pair");
    }
    end_token(p, end - begin->offset);
    return 1;
}

static int on_string(void *context, const unsigned char *text, size_t size) {
    parser *p = context;
    place begin;
    if (!take_string_token(p, size, &begin))
        return 0;
    return add_text(p, AL_JSON_STRING, begin, (const char *)text, size);
}

static int on_key(void *context, const unsigned char *text, size_t size) {
    parser *p = context;
    if (!take_string_token(p, size, &p->key_place))
        return 0;
    if (size > 0 && memchr(text, '\0', size) != NULL)
        return STOP(p, EBADMSG, p->key_place.offset, "a key holds the character U+0000");
    p->key = al_json_arena_copy(&p->document->arena, text, size);
    p->key_size = size;
    return p->key != NULL ? 1 : stop_without_memory(p);
}

static int open_container(parser *p, al_json_type type) {
    place begin;
    if (!begin_token(p, &begin))
        return 0;
    if (p->depth >= p->limits.max_depth)
        return STOP(p, E2BIG, begin.offset, "nested deeper than the %u levels allowed",
                    (unsigned)p->limits.max_depth);
    al_json_node *node = add_node(p, type, begin);
    if (node == NULL)
        return 0;
    end_token(p, 1);
    p->open = node;
    p->depth++;
    return 1;
}

static int on_object_begin(void *context) {
    return open_container(context, AL_JSON_OBJECT);
}

static int on_array_begin(void *context) {
    return open_container(context, AL_JSON_ARRAY);
}

static int close_container(parser *p) {
    if (!begin_token(p, NULL))
        return 0;
    end_token(p, 1);
    p->open = p->open->parent;
    p->depth--;
    return 1;
}

static int on_array_end(void *context) {
    parser *p = context;
    p->open->last = NULL;
    return close_container(p);
}

static int stop_at_repeated_key(parser *p, const al_json_node *first, const al_json_node *second) {
    al_auto(al_buf_free) al_buf path = AL_BUF_INIT;
    al_json_path(second, &path);
    return STOP(p, EBADMSG, second->offset, "the key %.*s is repeated (first in line %u)", 120,
                al_buf_str(&path), (unsigned)first->line);
}

static int check_few_keys(parser *p, const al_json_node *object) {
    for (const al_json_node *a = object->first; a != NULL; a = a->next) {
        for (const al_json_node *b = object->first; b != a; b = b->next) {
            if (al_json_compare_keys(a, b->key, b->key_size) == 0)
                return stop_at_repeated_key(p, b, a);
        }
    }
    return 1;
}

static int compare_members(const void *a, const void *b) {
    const al_json_node *first = *(const al_json_node *const *)a;
    const al_json_node *second = *(const al_json_node *const *)b;
    int order = al_json_compare_keys(first, second->key, second->key_size);
    if (order != 0)
        return order;
    return (first->offset > second->offset) - (first->offset < second->offset);
}

static int check_and_index_keys(parser *p, al_json_node *object) {
    size_t count = object->size;
    const al_json_node **index = al_json_arena_take(&p->document->arena, count * sizeof(*index));
    if (index == NULL)
        return stop_without_memory(p);
    const al_json_node *member = object->first;
    for (size_t i = 0; i < count; i++, member = member->next)
        index[i] = member;
    qsort(index, count, sizeof(*index), compare_members);
    object->index = index;
    size_t repeated = 0; /* the first repetition in the text */
    for (size_t i = 1; i < count; i++) {
        bool same = al_json_compare_keys(index[i], index[i - 1]->key, index[i - 1]->key_size) == 0;
        if (same && (repeated == 0 || index[i]->offset < index[repeated]->offset))
            repeated = i;
    }
    return repeated == 0 ? 1 : stop_at_repeated_key(p, index[repeated - 1], index[repeated]);
}

static int on_object_end(void *context) {
    parser *p = context;
    p->open->last = NULL;
    int go_on = p->open->size <= AL_JSON_COUNT_WITHOUT_INDEX ? check_few_keys(p, p->open)
                                                             : check_and_index_keys(p, p->open);
    return go_on && close_container(p);
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_bool,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_object_begin,
    .yajl_map_key = on_key,
    .yajl_end_map = on_object_end,
    .yajl_start_array = on_array_begin,
    .yajl_end_array = on_array_end,
};

static al_json_spot spot_of(const parser *p) {
    const al_json_node *open = p->open;
    return (al_json_spot){
        .text = p->text,
        .size = p->size,
        .at = p->at.offset,
        .container = al_json_type_of(open),
        .container_offset = open != NULL ? open->offset : 0,
        .is_first = open != NULL ? open->first == NULL : p->document->root == NULL,
        .after_key = p->key != NULL,
    };
}

static int run_yajl(parser *p) {
    /* yajl does not look whether it got memory, so a lack of it is caught here. */
    if (setjmp(p->memory.lacking) != 0) {
        (void)stop_without_memory(p);
        return p->rc;
    }
    p->yajl = yajl_alloc(&callbacks, &p->memory.functions, p);
    /* The text is known to be valid, by a stricter rule than yajl's. */
    (void)yajl_config(p->yajl, yajl_dont_validate_strings, 1);
    yajl_status status = yajl_parse(p->yajl, (const unsigned char *)p->text, p->size);
    if (status == yajl_status_ok)
        status = yajl_complete_parse(p->yajl);
    /* yajl is content with the beginning of a string behind the value. */
    bool is_whole = status == yajl_status_ok && begin_token(p, NULL) && p->at.offset == p->size;
    if (is_whole || p->rc != 0)
        return p->rc;
    const al_json_spot spot = spot_of(p);
    al_json_diagnose(&spot, p->error);
    return EBADMSG;
}

static bool is_ascii(const char *text, size_t size) {
    uint8_t all = 0;
    for (size_t i = 0; i < size; i++)
        all |= (uint8_t)text[i];
    return all < 0x80;
}

static al_json_limits effective_limits(const al_json_limits *asked) {
    al_json_limits limits = default_limits;
    if (asked != NULL && asked->max_size != 0)
        limits.max_size = asked->max_size;
    if (asked != NULL && asked->max_count != 0)
        limits.max_count = asked->max_count;
    if (asked != NULL && asked->max_depth != 0)
        limits.max_depth = asked->max_depth;
    if (limits.max_size > UINT32_MAX - 1)
        limits.max_size = UINT32_MAX - 1; /* places are kept in 32 bits */
    return limits;
}

int al_json_parse(const void *text, size_t size, const al_json_limits *limits, al_json **out,
                  al_json_error *error) {
    parser p = {.text = text,
                .size = size,
                .at = {.line = 1, .column = 1},
                .limits = effective_limits(limits),
                .error = error};
    if (size > p.limits.max_size) {
        al_json_set_error(error, text, 0, "%zu bytes are more than the %zu allowed", size,
                          p.limits.max_size);
        return E2BIG;
    }
    if (!al_json_check_encoding(text, size, error))
        return EBADMSG;
    p.is_ascii = is_ascii(text, size);
    al_auto(al_json_free) al_json *document = calloc(1, sizeof(*document));
    if (document == NULL) {
        (void)stop_without_memory(&p);
        return p.rc;
    }
    p.document = document;
    al_json_yajl_memory_init(&p.memory);
    int rc = run_yajl(&p);
    al_json_yajl_memory_free(&p.memory);
    if (rc != 0)
        return rc;
    *out = AL_STEAL(document);
    return 0;
}
