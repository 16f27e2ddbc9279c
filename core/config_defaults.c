/* SPDX-License-Identifier: Apache-2.0 */
/* What a config means that does not say it. The only place in the core that names plugins. */
#include "core/config_private.h"

const char *const al_default_provider = "local";
const char *const al_default_storage = "sqlite";

/* The keys that configs had when there was one provider and one storage. */
const al_config_alias al_config_aliases[] = {
    {"serverUrl", AL_KIND_PROVIDER, "opensandbox", "serverUrl", true},
    {"apiKey", AL_KIND_PROVIDER, "opensandbox", "apiKey", true},
    {"useServerProxy", AL_KIND_PROVIDER, "opensandbox", "useServerProxy", true},
    {"adapterPath", AL_KIND_STORAGE, "sqlite", "path", false},
};
const size_t al_config_alias_count = AL_COUNT(al_config_aliases);

const al_default_path al_default_paths[] = {
    {AL_KIND_STORAGE, "sqlite", "path", ".alineo/ledger.db", "ledger.db"},
};
const size_t al_default_path_count = AL_COUNT(al_default_paths);
