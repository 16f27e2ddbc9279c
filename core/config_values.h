/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_CONFIG_VALUES_H
#define ALINEO_CORE_CONFIG_VALUES_H

/** What the core itself takes from a config: sections and keys that are no plugin's. */

#include <alineo/config.h>

#include "core/journal.h"

/** Checked values; strings and arrays live as long as the config. */
typedef struct al_config_values {
    const char *default_image;    /* defaults.image; NULL = not set, as in all that follow */
    const char *default_cpu;      /* defaults.resources.cpu: "500m" */
    const char *default_memory;   /* defaults.resources.memory: "512Mi" */
    const char *default_disk;     /* defaults.resources.disk: "10Gi" */
    const char *default_gpu;      /* defaults.resources.gpu */
    int64_t default_pids;         /* defaults.resources.pids; 0 = not set */
    int64_t default_lifetime_ms;  /* defaults.lifetimeMs; 0 = not set, ALINEO_FOREVER = none */
    const char *agents_dir;       /* agentsDir, absolute */
    const char *const *mounts;    /* allowMounts, absolute folders, NULL-terminated; NULL = none */
    const char *const *require;   /* capabilities, NULL-terminated; NULL = none */
    size_t max_concurrency;       /* maxConcurrency; 0 = no limit */
    size_t ledger_queue_size;     /* ledger.queueBytes; 0 = the journal's default */
    int64_t ledger_patience_ms;   /* ledger.patienceMs; 0 = the journal's default */
    al_on_failure ledger_failure; /* ledger.onFailure */
} al_config_values;

void al_config_values_of(const alineo_config *config, al_config_values *out);

/** Holds of a config: alineo_config_free drops one, and the last one frees it. */
alineo_config *al_config_ref(const alineo_config *config);

#endif
