/* SPDX-License-Identifier: Apache-2.0 */
/* What a config has to say to one plugin: its section, keys at the top that stand for options of
 * it, and paths that follow from where the config is. */
#include "core/config_private.h"

#include "core/plugin_options.h"
#include "core/util/path.h"
#include "core/util/str.h"

#include <stdlib.h>
#include <string.h>

void al_section_free(al_section *section) {
    for (size_t i = 0; i < section->count; i++)
        free(section->entries[i].text);
    free(section->entries);
    section->entries = NULL;
    section->count = 0;
}

/* The object that holds the options of a plugin; NULL when there is none for it. */
static const al_json_node *section_node(const alineo_config *config, al_kind kind, const char *id) {
    const al_json_node *root = al_config_root(config);
    if (kind == AL_KIND_PROVIDER)
        return al_json_member(al_json_member(root, "providers"), id);
    if (kind == AL_KIND_STORAGE) {
        const char *owner =
            config->section_storage != NULL ? config->section_storage : al_default_storage;
        return strcmp(owner, id) == 0 ? al_json_member(root, "storage") : NULL;
    }
    /* Where the section names no broker it is for the provider's default one, whichever it is. */
    bool is_meant = config->broker == NULL || strcmp(config->broker, id) == 0;
    return is_meant ? al_json_member(root, "credentials") : NULL;
}

static const al_section_entry *find_entry(const al_section *section, const char *key) {
    for (size_t i = 0; i < section->count; i++) {
        if (strcmp(section->entries[i].key, key) == 0)
            return &section->entries[i];
    }
    return NULL;
}

/* There is room: it was counted before. */
static void add_entry(al_section *section, const char *key, const al_json_node *node, char *text) {
    section->entries[section->count++] = (al_section_entry){.key = key, .node = node, .text = text};
}

static void add_members(al_section *section) {
    const char *selector = al_section_selector(section->kind);
    const al_json_node *node = al_json_first(section->node);
    for (; node != NULL; node = al_json_next(node)) {
        const char *key = al_json_key(node, NULL);
        if (!al_str_equal(key, selector))
            add_entry(section, key, node, NULL);
    }
}

static alineo_code add_aliases(al_section *section, alineo_error **err) {
    const al_json_node *root = al_config_root(section->config);
    for (size_t i = 0; i < al_config_alias_count; i++) {
        const al_config_alias *alias = &al_config_aliases[i];
        if (alias->kind != section->kind || strcmp(alias->id, section->id) != 0)
            continue;
        const al_json_node *node = al_json_member(root, alias->key);
        if (node == NULL)
            continue;
        if (find_entry(section, alias->option) != NULL)
            return al_config_fail(section->config, node, err, "leave one of the two out",
                                  "is set, and so is the option \"%s\" of the %s plugin \"%s\", "
                                  "which is the same",
                                  alias->option, al_kind_name(alias->kind), alias->id);
        add_entry(section, alias->option, node, NULL);
    }
    return ALINEO_OK;
}

/* A project's config is one that has the name, wherever it is. */
static bool is_project(const alineo_config *config) {
    return config->path != NULL && strcmp(al_path_name(config->path), "alineo.config.json") == 0;
}

static alineo_code add_default_paths(al_section *section, alineo_error **err) {
    const alineo_config *config = section->config;
    for (size_t i = 0; i < al_default_path_count; i++) {
        const al_default_path *path = &al_default_paths[i];
        if (path->kind != section->kind || strcmp(path->id, section->id) != 0 ||
            find_entry(section, path->option) != NULL)
            continue;
        char *text = is_project(config) ? al_path_resolve(config->folder, path->in_project)
                                        : al_path_resolve(config->home, path->in_home);
        if (text == NULL)
            return al_fail_memory(err);
        add_entry(section, path->option, NULL, text);
    }
    return ALINEO_OK;
}

alineo_code al_section_of(const alineo_config *config, al_kind kind, const char *id,
                          al_section *out, alineo_error **err) {
    al_auto(al_section_free) al_section section = {.config = config, .kind = kind, .id = id};
    if (config != NULL) {
        section.node = section_node(config, kind, id);
        size_t room = al_json_count(section.node) + al_config_alias_count + al_default_path_count;
        section.entries = calloc(room, sizeof(section.entries[0]));
        if (section.entries == NULL)
            return al_fail_memory(err);
        add_members(&section);
        alineo_code code = add_aliases(&section, err);
        if (code == ALINEO_OK)
            code = add_default_paths(&section, err);
        if (code != ALINEO_OK)
            return code;
    }
    *out = section;
    section = (al_section){0};
    return ALINEO_OK;
}
