/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_BINDING_SOURCE_H
#define ALINEO_CORE_BINDING_SOURCE_H

/** What the bindings of all kinds have in common: where an instance comes from, and its host. */

#include "core/binding.h"
#include "core/config_private.h"

/** A checked table and descriptor, of a loaded plugin or of the host program. */
typedef struct al_source {
    al_kind kind;
    const char *id;
    const char *path; /* of the file; "" for one of the host program */
    const void *descriptor;
    const void *table;
    void *self_arg;
} al_source;

/** The plugin of that id, loaded. `id` must live as long as the source. */
alineo_code al_source_load(const alineo_config *config, al_kind kind, const char *id,
                           al_source *out, alineo_error **err);

/** The host program's own, checked. */
alineo_code al_source_own(const al_source *own, al_source *out, alineo_error **err);

/** Takes the options from the config and makes the host table. */
alineo_code al_source_host(const al_source *source, const alineo_config *config, al_log log,
                           al_provider_binding *provider, alineo_host **out, alineo_error **err);

#endif
