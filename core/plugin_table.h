/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_PLUGIN_TABLE_H
#define ALINEO_CORE_PLUGIN_TABLE_H

/** Checks what a plugin, or the host program, hands over, once, before the first call: afterwards
 * nobody else does. Each failure is PLUGIN_INCOMPATIBLE and names `plugin`. */

#include <alineo/credentials.h>
#include <alineo/plugin.h>
#include <alineo/provider.h>
#include <alineo/storage.h>

#include "core/fail.h"
#include "core/kind.h"

/** Mandatory functions are there, groups are whole, capabilities have their functions, options can
 * be. `descriptor` and `table` may be NULL, and are of the kind's types. */
alineo_code al_plugin_check(al_kind kind, const char *plugin, const void *descriptor,
                            const void *table, alineo_error **err);

/** The declared options of a checked descriptor; NULL = none. */
const alineo_option_spec *const *al_plugin_specs(al_kind kind, const void *descriptor);

#endif
