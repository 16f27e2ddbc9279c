/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_PLUGIN_LOAD_H
#define ALINEO_CORE_PLUGIN_LOAD_H

/** Loading a plugin by its name. */

#include <alineo/plugin.h>

#include "core/config_private.h"

/** A loaded plugin; it and all it points to stay until the process ends. */
typedef struct al_plugin {
    al_kind kind;
    const char *path; /* of its file, absolute */
    const alineo_plugin *identity;
} al_plugin;

/**
 * Finds, checks and loads the plugin that `config` (NULL = built-in plugin path) means by `id`; one
 * that is loaded already is given again. Its table and descriptor have been checked. Any thread; no
 * more than the loader's own work is done under its lock. INVALID_ARGUMENT (no such id),
 * PLUGIN_NOT_FOUND, PLUGIN_UNTRUSTED, PLUGIN_INCOMPATIBLE, IO, NO_MEMORY.
 */
alineo_code al_plugin_load(const alineo_config *config, al_kind kind, const char *id,
                           const al_plugin **out, alineo_error **err);

#endif
