/* SPDX-License-Identifier: Apache-2.0 */
/* Which plugins are in force: the environment goes before the config, the config before the
 * defaults. */
#include "core/config_private.h"

#include "core/util/str.h"

#include <stdlib.h>
#include <string.h>

/* An id that the environment sets; *slot stays where it does not. */
static alineo_code override_by(const char *variable, char **slot, alineo_error **err) {
    const char *id = al_environment(variable);
    if (id == NULL)
        return ALINEO_OK;
    if (!al_plugin_id_valid(id))
        return al_fail(err, ALINEO_INVALID_ARGUMENT, AL_PLUGIN_ID_RULE,
                       "%s: \"%.80s\" is no plugin's id", variable, id);
    return al_str_replace(slot, id) == 0 ? ALINEO_OK : al_fail_memory(err);
}

/* The plugin that a key at the top of the config stands for, or the default. */
static const char *chosen_by_keys(const alineo_config *config, al_kind kind,
                                  const char *otherwise) {
    const al_json_node *root = al_config_root(config);
    for (size_t i = 0; i < al_config_alias_count; i++) {
        const al_config_alias *alias = &al_config_aliases[i];
        if (alias->kind == kind && alias->chooses && al_json_member(root, alias->key) != NULL)
            return alias->id;
    }
    return otherwise;
}

static alineo_code choose(const alineo_config *config, al_kind kind, const char *variable,
                          const char *otherwise, char **slot, alineo_error **err) {
    alineo_code code = override_by(variable, slot, err);
    if (code != ALINEO_OK || *slot != NULL)
        return code;
    *slot = al_strdup(chosen_by_keys(config, kind, otherwise));
    return *slot != NULL ? ALINEO_OK : al_fail_memory(err);
}

alineo_code al_config_choose(alineo_config *config, alineo_error **err) {
    if (config->section_storage != NULL) {
        config->storage = al_strdup(config->section_storage);
        if (config->storage == NULL)
            return al_fail_memory(err);
    }
    alineo_code code = choose(config, AL_KIND_PROVIDER, "ALINEO_PROVIDER", al_default_provider,
                              &config->provider, err);
    if (code == ALINEO_OK)
        code = choose(config, AL_KIND_STORAGE, "ALINEO_STORAGE", al_default_storage,
                      &config->storage, err);
    return code;
}
