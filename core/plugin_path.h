/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_PLUGIN_PATH_H
#define ALINEO_CORE_PLUGIN_PATH_H

/** Where plugins are: the plugin path and the files that a config names. Nothing here opens them.
 * */

#include "core/config_private.h"

/** The folders in the order in which they are looked in: config, ALINEO_PLUGIN_PATH, the built-in
 * one. Some may not be there. `config` may be NULL. */
alineo_code al_plugin_folders(const alineo_config *config, al_strv *out, alineo_error **err);

/** The file of a plugin, which may be missing where the config names it (*named). INVALID_ARGUMENT:
 * no such id; the message lists those that there are, and where they were looked for. */
alineo_code al_plugin_find(const alineo_config *config, al_kind kind, const char *id, char **path,
                           bool *named, alineo_error **err);

/** A file that may be a plugin, by its name. */
typedef struct al_plugin_file {
    al_kind kind;
    const char *id;
    const char *path;
} al_plugin_file;

/** Calls found for every file that a config names and then for each on the plugin path, by folder,
 * in a folder by name. Anything but ALINEO_OK ends it and is given back. */
typedef alineo_code al_plugin_file_fn(void *user, const al_plugin_file *file, alineo_error **err);
alineo_code al_plugin_each(const alineo_config *config, al_plugin_file_fn *found, void *user,
                           alineo_error **err);

/** Splits "provider/acme"; false when it is no kind and well-formed id. *id points into `name`. */
bool al_plugin_name_split(const char *name, al_kind *kind, const char **id);

#endif
