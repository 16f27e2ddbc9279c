/* SPDX-License-Identifier: Apache-2.0 */
#include "core/binding_source.h"

#include "core/host.h"
#include "core/plugin_load.h"
#include "core/plugin_options.h"
#include "core/plugin_table.h"
#include "core/util/str.h"

alineo_code al_source_load(const alineo_config *config, al_kind kind, const char *id,
                           al_source *out, alineo_error **err) {
    const al_plugin *plugin = NULL;
    alineo_code code = al_plugin_load(config, kind, id, &plugin, err);
    if (code != ALINEO_OK)
        return code;
    *out = (al_source){.kind = kind,
                       .id = id,
                       .path = plugin->path,
                       .descriptor = plugin->identity->descriptor,
                       .table = plugin->identity->table};
    return ALINEO_OK;
}

alineo_code al_source_own(const al_source *own, al_source *out, alineo_error **err) {
    const char *kind = al_kind_name(own->kind);
    if (!al_plugin_id_valid(own->id))
        return al_fail(err, ALINEO_INVALID_ARGUMENT, AL_PLUGIN_ID_RULE,
                       "the host program's own %s has the id \"%s\"", kind,
                       own->id != NULL ? own->id : "");
    al_autofree char *name = al_strf("%s/%s", kind, own->id);
    if (name == NULL)
        return al_fail_memory(err);
    alineo_code code = al_plugin_check(own->kind, name, own->descriptor, own->table, err);
    if (code == ALINEO_OK)
        *out = *own;
    return code;
}

alineo_code al_source_host(const al_source *source, const alineo_config *config, al_log log,
                           al_provider_binding *provider, alineo_host **out, alineo_error **err) {
    al_auto(al_section_free) al_section section = {0};
    alineo_code code = al_section_of(config, source->kind, source->id, &section, err);
    if (code != ALINEO_OK)
        return code;
    al_auto(al_options_free) alineo_options *options = NULL;
    code =
        al_options_new(al_plugin_specs(source->kind, source->descriptor), &section, &options, err);
    if (code != ALINEO_OK)
        return code;
    al_autofree char *home = NULL;
    al_autofree char *run = NULL;
    if (config == NULL && (code = al_home_folders(&home, &run, err)) != ALINEO_OK)
        return code;
    al_host_setup setup = {.kind = source->kind,
                           .id = source->id,
                           .plugin_path = source->path,
                           .home = config != NULL ? config->home : home,
                           .run = config != NULL ? config->run : run,
                           .log = log,
                           .provider = provider};
    code = al_host_new(&setup, options, out, err);
    if (code == ALINEO_OK)
        options = NULL;
    return code;
}
