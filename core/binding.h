/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_BINDING_H
#define ALINEO_CORE_BINDING_H

/**
 * A binding: an opened instance of a plugin, ready to be called. Bindings are made by the loader
 * from a config (by name) or from a table that the host program passed in. Tables have been
 * checked: mandatory functions are there, groups are whole. Whether an optional function is there
 * is asked by AL_HAS alone.
 */

#include <alineo/client.h>
#include <alineo/credentials.h>
#include <alineo/plugin.h>
#include <alineo/provider.h>
#include <alineo/storage.h>

#include "core/fail.h"

#define AL_HAS(table, function)                                                                    \
    ((table)->size >= offsetof(__typeof__(*(table)), function) + sizeof((table)->function) &&      \
     (table)->function != NULL)

/** The log function of the client, handed to the host table. */
typedef struct al_log {
    alineo_log_fn *function; /* NULL = none */
    void *user;
} al_log;
void al_log_line(const al_log *log, alineo_log_level level, const char *plugin, const char *format,
                 ...) ALINEO_PRINTF(4, 5);

typedef struct al_provider_binding {
    const char *id;     /* what the ledger records */
    const char *plugin; /* "provider/local", for errors */
    const alineo_provider_descriptor *descriptor;
    const alineo_provider_table *table;
    alineo_provider *self;
    alineo_host *host; /* owned by the binding */
} al_provider_binding;

typedef struct al_storage_binding {
    const char *id;
    const char *plugin;
    const alineo_storage_descriptor *descriptor;
    const alineo_storage_table *table;
    alineo_storage *self;
    alineo_host *host;
} al_storage_binding;

typedef struct al_broker_binding {
    const char *id;
    const char *plugin;
    const alineo_broker_descriptor *descriptor;
    const alineo_broker_table *table;
    alineo_broker *self;
    alineo_host *host;
} al_broker_binding;

/**
 * Open by the config's ids, or `own` when it is not NULL; `config` may be NULL then. The binding is
 * on the heap; close ends the instance and frees it (NULL is fine). Any thread. May block as the
 * plugin's open does.
 */
alineo_code al_provider_open(const alineo_config *config, const alineo_own_provider *own,
                             al_log log, al_provider_binding **out, alineo_error **err);
void al_provider_close(al_provider_binding *binding);
alineo_code al_storage_open(const alineo_config *config, const alineo_own_storage *own, al_log log,
                            al_storage_binding **out, alineo_error **err);
void al_storage_close(al_storage_binding *binding);
/** *out is NULL and the answer ALINEO_OK where neither config nor provider names a broker, or the
 * provider names one that is not installed. `provider` must outlive the binding. */
alineo_code al_broker_open(const alineo_config *config, const alineo_own_broker *own,
                           al_provider_binding *provider, al_log log, al_broker_binding **out,
                           alineo_error **err);
void al_broker_close(al_broker_binding *binding);

/** The interface that the provider offers and the broker speaks, valid as long as the provider's
 * binding. CAPABILITY_UNSUPPORTED: there is none, so credentials are not to be had. */
alineo_code al_broker_match(const al_broker_binding *broker, const al_provider_binding *provider,
                            const char **interface_name, alineo_error **err);

/* In a forked child: frees the memory, calls no plugin, takes no lock. NULL is fine. */
void al_provider_forget(al_provider_binding *binding);
void al_storage_forget(al_storage_binding *binding);
void al_broker_forget(al_broker_binding *binding);

#endif
