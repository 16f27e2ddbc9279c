/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_PLUGIN_OPTIONS_H
#define ALINEO_CORE_PLUGIN_OPTIONS_H

/** The options of one instance of a plugin: what its config section says, held against what the
 * plugin declares. */

#include <alineo/plugin.h>

#include "core/config_private.h"

/**
 * Takes a section's values: unknown keys (with the nearest one), wrong types, values that cannot be
 * and missing required ones are CONFIG_INVALID with their place. `specs` has been checked, may be
 * NULL and must outlive the options.
 */
alineo_code al_options_new(const alineo_option_spec *const *specs, const al_section *section,
                           alineo_options **out, alineo_error **err);

/** Wipes secrets and frees. */
void al_options_free(alineo_options *options);
AL_CLEANUP(alineo_options *, al_options_free);

/** As host->option_*: true and *out where there is a value of that type. */
bool al_options_string(const alineo_options *options, const char *key, const char **out);
bool al_options_integer(const alineo_options *options, const char *key, int64_t *out);
bool al_options_boolean(const alineo_options *options, const char *key, int32_t *out);
bool al_options_strings(const alineo_options *options, const char *key, const char *const **out);

/** Whether the declared option specs[index] can be: PLUGIN_INCOMPATIBLE when its key repeats or is
 * one of the core's, its type or flags are none, its default cannot be read. */
alineo_code al_option_spec_check(al_kind kind, const alineo_option_spec *const *specs, size_t index,
                                 alineo_error **err);

/** The key of a section that names the plugin and is no option of it; NULL for providers. */
const char *al_section_selector(al_kind kind);

#endif
