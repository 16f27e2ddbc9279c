/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plugin_options.h"

#include "core/option_value.h"
#include "core/struct.h"
#include "core/util/path.h"
#include "core/util/secret.h"
#include "core/util/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct option_slot {
    const alineo_option_spec *spec;
    bool set;
    al_option_value value;
} option_slot;

struct alineo_options {
    size_t count;
    option_slot slots[];
};

static size_t count_specs(const alineo_option_spec *const *specs) {
    size_t count = 0;
    while (specs != NULL && specs[count] != NULL)
        count++;
    return count;
}

static option_slot *find_slot(alineo_options *options, const char *key) {
    for (size_t i = 0; i < options->count; i++) {
        if (strcmp(options->slots[i].spec->key, key) == 0)
            return &options->slots[i];
    }
    return NULL;
}

void al_options_free(alineo_options *options) {
    if (options == NULL)
        return;
    for (size_t i = 0; i < options->count; i++)
        al_option_value_wipe(&options->slots[i].value);
    free(options);
}

/* --- taking values ---------------------------------------------------------------------------- */

/* "FILE:LINE:COLUMN: providers.acme.port: " or, for a value of ours, "provider acme: port: ". */
static alineo_code bad_value(const al_section *section, const al_section_entry *entry,
                             const option_slot *slot, const char *what, alineo_error **err) {
    const char *words = al_option_type_words(slot->spec->type);
    return al_config_fail(section->config, entry->node, err, slot->spec->help, "%s, it must be %s",
                          what, words);
}

static alineo_code unknown_key(const alineo_options *options, const al_section *section,
                               const al_section_entry *entry, alineo_error **err) {
    const char *nearest = NULL;
    al_auto(al_strv_free) al_strv keys = AL_STRV_INIT;
    for (size_t i = 0; i < options->count; i++) {
        if (al_strv_append(&keys, options->slots[i].spec->key) != 0)
            return al_fail_memory(err);
    }
    nearest = al_str_nearest(entry->key, (const char *const *)keys.items, keys.count);
    al_autofree char *all = al_strv_join(&keys, ", ", 400);
    al_autofree char *hint =
        keys.count > 0 ? al_strf("its options are: %s", all != NULL ? all : "") : NULL;
    return al_config_fail(section->config, entry->node, err, hint,
                          "the %s plugin \"%s\" has no option \"%s\"%s%s%s",
                          al_kind_name(section->kind), section->id, entry->key,
                          nearest != NULL ? "; did you mean \"" : "",
                          nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "");
}

static alineo_code missing_option(const al_section *section, const option_slot *slot,
                                  alineo_error **err) {
    return al_config_fail(section->config, section->node, err, slot->spec->help,
                          "the %s plugin \"%s\" needs the option \"%s\"",
                          al_kind_name(section->kind), section->id, slot->spec->key);
}

/* Makes the path in a value absolute; a word of the plugin's, such as ":memory:", is none. */
static alineo_code resolve_path(const al_section *section, const al_section_entry *entry,
                                option_slot *slot, alineo_error **err) {
    if (slot->value.text[0] == ':')
        return ALINEO_OK;
    char *path = NULL;
    alineo_code code =
        al_config_resolve(section->config, entry->node, slot->value.text, &path, err);
    if (code != ALINEO_OK)
        return code;
    free(slot->value.text);
    slot->value.text = path;
    return ALINEO_OK;
}

/* A text is a string's own value; for all other types it may stand for one, where a variable of the
 * environment gave it or the type has a written form. */
static alineo_code take_text(const al_section *section, const al_section_entry *entry,
                             option_slot *slot, const char *text, bool from_variable,
                             alineo_error **err) {
    alineo_option_type type = slot->spec->type;
    bool has_text_form = type == ALINEO_OPTION_STRING || type == ALINEO_OPTION_PATH ||
                         type == ALINEO_OPTION_DURATION || type == ALINEO_OPTION_BYTES;
    if (!has_text_form && !from_variable)
        return bad_value(section, entry, slot, "is a string", err);
    int rc = al_option_value_of_text(type, text, &slot->value);
    if (rc == ENOMEM)
        return al_fail_memory(err);
    if (rc != 0) {
        /* The value itself may be a secret, by its nature or because of where it comes from. */
        bool shown = !from_variable && (slot->spec->flags & ALINEO_OPTION_SECRET) == 0;
        al_autofree char *what = shown ? al_strf("is \"%s\"", text) : al_strdup("has a value");
        return bad_value(section, entry, slot, what != NULL ? what : "is wrong", err);
    }
    return type == ALINEO_OPTION_PATH ? resolve_path(section, entry, slot, err) : ALINEO_OK;
}

static alineo_code take_string_node(const al_section *section, const al_section_entry *entry,
                                    option_slot *slot, alineo_error **err) {
    const char *raw = NULL;
    size_t raw_size = 0;
    (void)al_json_get_bytes(entry->node, &raw, &raw_size);
    al_auto(al_secret_free) char *text = NULL;
    alineo_code code = al_config_expand(section->config, entry->node, &text, err);
    if (code != ALINEO_OK)
        return code;
    return take_text(section, entry, slot, text, al_config_has_variable(raw, raw_size), err);
}

static alineo_code take_list(const al_section *section, const al_section_entry *entry,
                             option_slot *slot, alineo_error **err) {
    const al_json_node *item = al_json_first(entry->node);
    for (; item != NULL; item = al_json_next(item)) {
        if (al_json_type_of(item) != AL_JSON_STRING)
            return al_config_fail(section->config, item, err, slot->spec->help,
                                  "is %s, it must be a string",
                                  al_json_type_name(al_json_type_of(item)));
        char *text = NULL;
        alineo_code code = al_config_expand(section->config, item, &text, err);
        if (code != ALINEO_OK)
            return code;
        if (al_strv_take(&slot->value.list, text) != 0)
            return al_fail_memory(err);
    }
    return ALINEO_OK;
}

static alineo_code take_node(const al_section *section, const al_section_entry *entry,
                             option_slot *slot, alineo_error **err) {
    alineo_option_type type = slot->spec->type;
    al_json_type node_type = al_json_type_of(entry->node);
    if (type == ALINEO_OPTION_JSON)
        return al_config_expand_json(section->config, entry->node, &slot->value.text, err);
    if (type == ALINEO_OPTION_STRINGS && node_type == AL_JSON_ARRAY)
        return take_list(section, entry, slot, err);
    if (node_type == AL_JSON_STRING)
        return take_string_node(section, entry, slot, err);
    bool is_text =
        type == ALINEO_OPTION_STRING || type == ALINEO_OPTION_PATH || type == ALINEO_OPTION_STRINGS;
    int rc = is_text ? EINVAL : al_option_value_of_node(type, entry->node, &slot->value);
    if (rc == 0)
        return ALINEO_OK;
    al_autofree char *what =
        rc == ERANGE ? al_strdup("is negative") : al_strf("is %s", al_json_type_name(node_type));
    return bad_value(section, entry, slot, what != NULL ? what : "is wrong", err);
}

static alineo_code take_entry(alineo_options *options, const al_section *section,
                              const al_section_entry *entry, alineo_error **err) {
    option_slot *slot = find_slot(options, entry->key);
    if (slot == NULL)
        return unknown_key(options, section, entry, err);
    alineo_code code = entry->node != NULL
                           ? take_node(section, entry, slot, err)
                           : take_text(section, entry, slot, entry->text, false, err);
    if (code == ALINEO_OK)
        slot->set = true;
    return code;
}

/* The default has been seen to be readable; only memory can be lacking. */
static alineo_code take_default(const al_section *section, option_slot *slot, alineo_error **err) {
    const char *text = slot->spec->default_value;
    if (al_option_value_of_text(slot->spec->type, text, &slot->value) != 0)
        return al_fail_memory(err);
    if (slot->spec->type == ALINEO_OPTION_PATH && *text != '/' && *text != ':') {
        const char *home = section->config != NULL ? section->config->home : "/";
        char *path = al_path_join(home, text);
        if (path == NULL)
            return al_fail_memory(err);
        free(slot->value.text);
        slot->value.text = path;
    }
    slot->set = true;
    return ALINEO_OK;
}

static alineo_code take_defaults(alineo_options *options, const al_section *section,
                                 alineo_error **err) {
    for (size_t i = 0; i < options->count; i++) {
        option_slot *slot = &options->slots[i];
        if (slot->set)
            continue;
        if (slot->spec->default_value != NULL) {
            alineo_code code = take_default(section, slot, err);
            if (code != ALINEO_OK)
                return code;
        } else if ((slot->spec->flags & ALINEO_OPTION_REQUIRED) != 0) {
            return missing_option(section, slot, err);
        }
    }
    return ALINEO_OK;
}

alineo_code al_options_new(const alineo_option_spec *const *specs, const al_section *section,
                           alineo_options **out, alineo_error **err) {
    size_t count = count_specs(specs);
    al_auto(al_options_free) alineo_options *options =
        calloc(1, sizeof(*options) + count * sizeof(options->slots[0]));
    if (options == NULL)
        return al_fail_memory(err);
    options->count = count;
    for (size_t i = 0; i < count; i++)
        options->slots[i].spec = specs[i];
    for (size_t i = 0; i < section->count; i++) {
        alineo_code code = take_entry(options, section, &section->entries[i], err);
        if (code != ALINEO_OK)
            return code;
    }
    alineo_code code = take_defaults(options, section, err);
    if (code != ALINEO_OK)
        return code;
    *out = AL_STEAL(options);
    return ALINEO_OK;
}

/* --- giving values ---------------------------------------------------------------------------- */

/* The slot of a key if it has a value and one of the types (a bit each) is its. */
static const option_slot *find_value(const alineo_options *options, const char *key,
                                     unsigned types) {
    if (options == NULL || key == NULL)
        return NULL;
    for (size_t i = 0; i < options->count; i++) {
        const option_slot *slot = &options->slots[i];
        if (strcmp(slot->spec->key, key) == 0)
            return slot->set && (types >> slot->spec->type & 1u) != 0 ? slot : NULL;
    }
    return NULL;
}

bool al_options_string(const alineo_options *options, const char *key, const char **out) {
    const option_slot *slot = find_value(options, key,
                                         1u << ALINEO_OPTION_STRING | 1u << ALINEO_OPTION_PATH |
                                             1u << ALINEO_OPTION_JSON);
    if (slot != NULL)
        *out = slot->value.text;
    return slot != NULL;
}

bool al_options_integer(const alineo_options *options, const char *key, int64_t *out) {
    const option_slot *slot = find_value(
        options, key,
        1u << ALINEO_OPTION_INTEGER | 1u << ALINEO_OPTION_DURATION | 1u << ALINEO_OPTION_BYTES);
    if (slot != NULL)
        *out = slot->value.number;
    return slot != NULL;
}

bool al_options_boolean(const alineo_options *options, const char *key, int32_t *out) {
    const option_slot *slot = find_value(options, key, 1u << ALINEO_OPTION_BOOLEAN);
    if (slot != NULL)
        *out = slot->value.number != 0;
    return slot != NULL;
}

bool al_options_strings(const alineo_options *options, const char *key, const char *const **out) {
    static const char *const none[] = {NULL};
    const option_slot *slot = find_value(options, key, 1u << ALINEO_OPTION_STRINGS);
    if (slot != NULL)
        *out = slot->value.list.items != NULL ? (const char *const *)slot->value.list.items : none;
    return slot != NULL;
}

/* --- what a plugin declares ------------------------------------------------------------------- */

const char *al_section_selector(al_kind kind) {
    static const char *const selectors[AL_KIND_COUNT] = {
        [AL_KIND_PROVIDER] = NULL,
        [AL_KIND_STORAGE] = "adapter",
        [AL_KIND_CREDENTIALS] = "broker",
    };
    return selectors[kind];
}

alineo_code al_option_spec_check(al_kind kind, const alineo_option_spec *const *specs, size_t index,
                                 alineo_error **err) {
    static const char makers[] = "report this to the makers of the plugin";
    const alineo_option_spec *spec = specs[index];
    if (!AL_STRUCT_HAS(spec, help) || al_str_empty(spec->key))
        return al_fail(err, ALINEO_PLUGIN_INCOMPATIBLE, makers,
                       "option %zu that it declares has no key or the wrong size", index);
    if (al_option_type_words(spec->type) == NULL)
        return al_fail(err, ALINEO_PLUGIN_INCOMPATIBLE, makers,
                       "its option \"%s\" has the type %d, which there is not", spec->key,
                       spec->type);
    if ((spec->flags & ~(ALINEO_OPTION_REQUIRED | ALINEO_OPTION_SECRET)) != 0)
        return al_fail(err, ALINEO_PLUGIN_INCOMPATIBLE, makers,
                       "its option \"%s\" has the flags 0x%x, some of which there are not",
                       spec->key, (unsigned)spec->flags);
    const char *selector = al_section_selector(kind);
    if (selector != NULL && strcmp(spec->key, selector) == 0)
        return al_fail(err, ALINEO_PLUGIN_INCOMPATIBLE, makers,
                       "it declares the option \"%s\", a key that is the core's own", spec->key);
    for (size_t i = 0; i < index; i++) {
        if (strcmp(specs[i]->key, spec->key) == 0)
            return al_fail(err, ALINEO_PLUGIN_INCOMPATIBLE, makers,
                           "it declares the option \"%s\" twice", spec->key);
    }
    if (spec->default_value == NULL)
        return ALINEO_OK;
    al_auto(al_option_value_wipe) al_option_value value = {0};
    int rc = al_option_value_of_text(spec->type, spec->default_value, &value);
    if (rc == ENOMEM)
        return al_fail_memory(err);
    if (rc != 0)
        return al_fail(err, ALINEO_PLUGIN_INCOMPATIBLE, makers,
                       "the default \"%s\" of its option \"%s\" is not %s", spec->default_value,
                       spec->key, al_option_type_words(spec->type));
    return ALINEO_OK;
}
