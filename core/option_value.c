/* SPDX-License-Identifier: Apache-2.0 */
#include "core/option_value.h"

#include "core/util/num.h"
#include "core/util/secret.h"
#include "core/util/str.h"

#include <errno.h>
#include <string.h>

void al_option_value_wipe(al_option_value *value) {
    al_secret_free(value->text);
    value->text = NULL;
    for (size_t i = 0; i < value->list.count; i++)
        al_wipe(value->list.items[i], strlen(value->list.items[i]));
    al_strv_free(&value->list);
    value->number = 0;
}

const char *al_option_type_words(alineo_option_type type) {
    switch (type) {
    case ALINEO_OPTION_STRING:
        return "a string";
    case ALINEO_OPTION_INTEGER:
        return "an integer";
    case ALINEO_OPTION_BOOLEAN:
        return "true or false";
    case ALINEO_OPTION_DURATION:
        return "a duration: milliseconds, or a text such as \"10s\" or \"5m\"";
    case ALINEO_OPTION_BYTES:
        return "a size: bytes, or a text such as \"512Mi\"";
    case ALINEO_OPTION_STRINGS:
        return "an array of strings";
    case ALINEO_OPTION_JSON:
        return "a JSON value";
    case ALINEO_OPTION_PATH:
        return "a path";
    default:
        return NULL;
    }
}

static int set_text(const char *text, al_option_value *out) {
    return al_str_replace(&out->text, text);
}

static int parse_boolean(const char *text, int64_t *out) {
    bool yes = strcmp(text, "true") == 0;
    if (!yes && strcmp(text, "false") != 0)
        return EINVAL;
    *out = yes;
    return 0;
}

/* A bare number, or one with units. */
static int parse_quantity(alineo_option_type type, const char *text, int64_t *out) {
    int64_t number = 0;
    int rc = al_parse_int64(text, &number);
    if (rc == EINVAL && type == ALINEO_OPTION_DURATION)
        rc = al_parse_duration_ms(text, &number);
    else if (rc == EINVAL && type == ALINEO_OPTION_BYTES)
        rc = al_parse_size(text, &number);
    if (rc != 0)
        return rc;
    if (number < 0)
        return ERANGE;
    *out = number;
    return 0;
}

static int take_strings(const al_json_node *array, al_strv *out) {
    if (al_json_type_of(array) != AL_JSON_ARRAY)
        return EINVAL;
    for (const al_json_node *item = al_json_first(array); item != NULL; item = al_json_next(item)) {
        const char *text;
        if (!al_json_get_str(item, &text))
            return EINVAL;
        int rc = al_strv_append(out, text);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int parse_json(alineo_option_type type, const char *text, al_option_value *out) {
    al_auto(al_json_free) al_json *document = NULL;
    int rc = al_json_parse(text, strlen(text), NULL, &document, NULL);
    if (rc != 0)
        return rc == ENOMEM ? ENOMEM : EINVAL;
    if (type == ALINEO_OPTION_JSON)
        return set_text(text, out);
    return take_strings(al_json_root(document), &out->list);
}

int al_option_value_of_text(alineo_option_type type, const char *text, al_option_value *out) {
    switch (type) {
    case ALINEO_OPTION_STRING:
        return set_text(text, out);
    case ALINEO_OPTION_PATH:
        return *text == '\0' ? EINVAL : set_text(text, out);
    case ALINEO_OPTION_INTEGER:
        return al_parse_int64(text, &out->number);
    case ALINEO_OPTION_BOOLEAN:
        return parse_boolean(text, &out->number);
    case ALINEO_OPTION_DURATION:
    case ALINEO_OPTION_BYTES:
        return parse_quantity(type, text, &out->number);
    case ALINEO_OPTION_STRINGS:
    case ALINEO_OPTION_JSON:
        return parse_json(type, text, out);
    default:
        return EINVAL;
    }
}

int al_option_value_of_node(alineo_option_type type, const al_json_node *node,
                            al_option_value *out) {
    if (type == ALINEO_OPTION_BOOLEAN) {
        bool yes;
        if (!al_json_get_bool(node, &yes))
            return EINVAL;
        out->number = yes;
        return 0;
    }
    int64_t number;
    if (!al_json_get_int(node, &number))
        return EINVAL;
    if (number < 0 && type != ALINEO_OPTION_INTEGER)
        return ERANGE;
    out->number = number;
    return 0;
}
