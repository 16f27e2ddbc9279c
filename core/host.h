/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_HOST_H
#define ALINEO_CORE_HOST_H

/** The host table: what the core offers one instance of a plugin. */

#include <alineo/plugin.h>

#include "core/binding.h"
#include "core/kind.h"

/** What a host table is made from; all is copied, save what `provider` points to. */
typedef struct al_host_setup {
    al_kind kind;
    const char *id;
    const char *plugin_path; /* "" for a table of the host program's own */
    const char *home;
    const char *run;
    al_log log;
    al_provider_binding *provider; /* for brokers: whose endpoints they reach; must outlive it */
} al_host_setup;

/** Owns `options` (may be NULL) from success on. */
alineo_code al_host_new(const al_host_setup *setup, alineo_options *options, alineo_host **out,
                        alineo_error **err);
void al_host_free(alineo_host *host);
AL_CLEANUP(alineo_host *, al_host_free);

/** "acme", "provider/acme": live as long as the host table. */
const char *al_host_id(const alineo_host *host);
const char *al_host_plugin(const alineo_host *host);
const alineo_options *al_host_options(const alineo_host *host);

#endif
