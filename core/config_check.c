/* SPDX-License-Identifier: Apache-2.0 */
/* alineo_config_check: all of a config, also what is not in use. */
#include "core/config_private.h"

#include "core/plugin_list.h"
#include "core/plugin_load.h"
#include "core/plugin_options.h"
#include "core/plugin_path.h"
#include "core/plugin_table.h"

/* Holds a plugin's section against what the plugin declares; `node` is where the plugin is named.
 * */
static alineo_code check_plugin(const alineo_config *config, al_kind kind, const char *id,
                                const al_json_node *node, alineo_error **err) {
    const al_plugin *plugin = NULL;
    alineo_error *failure = NULL;
    alineo_code code = al_plugin_load(config, kind, id, &plugin, &failure);
    if (code != ALINEO_OK) {
        (void)al_config_wrap(config, node, &failure);
        return al_error_give(&failure, err);
    }
    al_auto(al_section_free) al_section section = {0};
    code = al_section_of(config, kind, id, &section, err);
    al_auto(al_options_free) alineo_options *options = NULL;
    if (code == ALINEO_OK)
        code = al_options_new(al_plugin_specs(kind, plugin->identity->descriptor), &section,
                              &options, err);
    return code;
}

static alineo_code check_files(const alineo_config *config, alineo_error **err) {
    const al_json_node *plugins = al_json_member(al_config_root(config), "plugins");
    for (size_t i = 0; i < config->plugin_files.count; i++) {
        const al_kv_item *item = &config->plugin_files.items[i];
        al_plugin_file file = {.path = item->value};
        if (!al_plugin_name_split(item->key, &file.kind, &file.id))
            continue;
        alineo_error *failure = NULL;
        if (al_plugin_judge(&file, &failure) != ALINEO_OK) {
            (void)al_config_wrap(config, al_json_member(plugins, item->key), &failure);
            return al_error_give(&failure, err);
        }
    }
    return ALINEO_OK;
}

static alineo_code check_providers(const alineo_config *config, const al_json_node *root,
                                   alineo_error **err) {
    alineo_code code = check_plugin(config, AL_KIND_PROVIDER, config->provider,
                                    al_json_member(root, "provider"), err);
    const al_json_node *section = al_json_first(al_json_member(root, "providers"));
    for (; code == ALINEO_OK && section != NULL; section = al_json_next(section))
        code = check_plugin(config, AL_KIND_PROVIDER, al_json_key(section, NULL), section, err);
    return code;
}

/* Where a section names its plugin; the section itself where it names none. */
static const al_json_node *selector_of(const al_json_node *section, al_kind kind) {
    const al_json_node *selector = al_json_member(section, al_section_selector(kind));
    return selector != NULL ? selector : section;
}

alineo_code alineo_config_check(const alineo_config *config, alineo_error **err) {
    const al_json_node *root = al_config_root(config);
    alineo_code code = al_config_expand_all(config, err);
    if (code == ALINEO_OK)
        code = check_files(config, err);
    if (code == ALINEO_OK)
        code = check_providers(config, root, err);
    const al_json_node *storage = selector_of(al_json_member(root, "storage"), AL_KIND_STORAGE);
    if (code == ALINEO_OK)
        code = check_plugin(config, AL_KIND_STORAGE, config->storage, storage, err);
    if (code == ALINEO_OK && storage != NULL && config->section_storage != NULL)
        code = check_plugin(config, AL_KIND_STORAGE, config->section_storage, storage, err);
    if (code == ALINEO_OK && config->broker != NULL)
        code = check_plugin(config, AL_KIND_CREDENTIALS, config->broker,
                            selector_of(al_json_member(root, "credentials"), AL_KIND_CREDENTIALS),
                            err);
    return code;
}
