/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CLIENT_H
#define ALINEO_CLIENT_H

/**
 * The client: one provider, one storage adapter, at most one broker, opened by name from a config.
 * It may be used from many threads. It does not cross fork(): in the child every call answers
 * CLIENT_FORKED, and alineo_client_free only frees memory.
 */

#include <alineo/base.h>
#include <alineo/call.h>
#include <alineo/capability.h>
#include <alineo/config.h>
#include <alineo/credentials.h>
#include <alineo/error.h>
#include <alineo/hooks.h>
#include <alineo/provider.h>
#include <alineo/storage.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct alineo_client alineo_client;

/** Gets a log line; any thread; must not call back into the library. `plugin` is "" for the
 * core. */
typedef void alineo_log_fn(void *user, alineo_log_level level, const char *plugin,
                           const char *message);

/** A plugin of the host program's own, in place of one loaded by name. All of it must outlive the
 * client. */
typedef struct alineo_own_provider {
    size_t size;
    const char *id; /* what the ledger records */
    const alineo_provider_descriptor *descriptor;
    const alineo_provider_table *table;
    /* What *self holds when open() is called; open() may keep it or put its own there. */
    void *self_arg;
} alineo_own_provider;
typedef struct alineo_own_storage {
    size_t size;
    const char *id;
    const alineo_storage_descriptor *descriptor;
    const alineo_storage_table *table;
    void *self_arg;
} alineo_own_storage;
typedef struct alineo_own_broker {
    size_t size;
    const char *id;
    const alineo_broker_descriptor *descriptor;
    const alineo_broker_table *table;
    void *self_arg;
} alineo_own_broker;

typedef struct alineo_client_options {
    size_t size;
    alineo_log_fn *log; /* NULL = no log */
    void *log_user;
    const alineo_hooks *hooks; /* for every sandbox of the client; copied */
    const alineo_own_provider *provider;
    const alineo_own_storage *storage;
    const alineo_own_broker *broker;
} alineo_client_options;
#define ALINEO_CLIENT_OPTIONS_INIT                                                                 \
    { sizeof(alineo_client_options), NULL, NULL, NULL, NULL, NULL, NULL }
ALINEO_API void alineo_client_options_init(alineo_client_options *options);

/**
 * Loads the plugins, opens storage and provider. `config` may be NULL (as alineo_config_load(NULL))
 * and may be freed after; `options` may be NULL. Blocks as storage opens. CONFIG_*, PLUGIN_*,
 * STORAGE_*, INVALID_ARGUMENT (unknown id: the message lists the known ones),
 * CAPABILITY_UNSUPPORTED (`require` of the config).
 */
ALINEO_API alineo_code alineo_client_open(const alineo_config *config,
                                          const alineo_client_options *options, alineo_client **out,
                                          alineo_error **err);

/** Stores what is queued; returns when it is, or STORAGE_UNAVAILABLE after timeout_ms. */
ALINEO_API alineo_code alineo_client_flush(alineo_client *client, int64_t timeout_ms,
                                           alineo_error **err);

/** Flushes (at most ledger.patienceMs) and drops the hold; sandboxes go on running. The client ends
 * with the last handle that holds it. Takes NULL. */
ALINEO_API void alineo_client_free(alineo_client *client);

/** Ids of what it was opened with; live as long as the client. */
ALINEO_API const char *alineo_client_provider(const alineo_client *client);
ALINEO_API const char *alineo_client_storage(const alineo_client *client);
/** The random id of the ledger, recorded in it and in each sandbox's stamp. */
ALINEO_API const char *alineo_client_ledger_id(const alineo_client *client);

typedef struct alineo_capabilities_options {
    size_t size;
    const char *const *names; /* NULL-terminated; NULL = all */
    alineo_choice probe;      /* no: only what the descriptor says; default yes */
    alineo_call *call;
} alineo_capabilities_options;
#define ALINEO_CAPABILITIES_OPTIONS_INIT                                                           \
    { sizeof(alineo_capabilities_options), NULL, ALINEO_DEFAULT, NULL }
ALINEO_API void alineo_capabilities_options_init(alineo_capabilities_options *options);

/** What the provider can do here, one call of found each. A probe may block up to 5 s the first
 * time. */
ALINEO_API alineo_code alineo_client_capabilities(alineo_client *client,
                                                  const alineo_capabilities_options *options,
                                                  alineo_capability_fn *found, void *user,
                                                  alineo_error **err);

#ifdef __cplusplus
}
#endif

#endif
