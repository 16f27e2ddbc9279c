/* SPDX-License-Identifier: Apache-2.0 */
#include "core/binding.h"

#include "core/binding_source.h"
#include "core/host.h"
#include "core/struct.h"
#include "core/util/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the plugin's open() answered, with the context that a caller needs. */
static alineo_code opened(alineo_code code, const alineo_host *host, const al_source *source,
                          alineo_error **failure, alineo_error **err) {
    code = al_from_plugin(code, al_host_plugin(host), "open", failure);
    if (code == ALINEO_OK)
        return code;
    char doing[128];
    (void)snprintf(doing, sizeof(doing), "open %s %s", al_kind_name(source->kind), source->id);
    if (!al_str_starts(alineo_error_message(*failure), doing)) /* the plugin may say so itself */
        (void)al_wrap(failure, "%s", doing);
    if (source->kind == AL_KIND_PROVIDER)
        al_error_set_provider(failure, source->id);
    return al_error_give(failure, err);
}

/* --- providers -------------------------------------------------------------------------------- */

static alineo_code provider_source(const alineo_config *config, const alineo_own_provider *own,
                                   al_source *out, alineo_error **err) {
    if (own == NULL)
        return al_source_load(config, AL_KIND_PROVIDER, alineo_config_provider(config), out, err);
    alineo_own_provider given;
    alineo_code code = AL_STRUCT_READ(&given, own, "alineo_own_provider", err);
    if (code != ALINEO_OK)
        return code;
    al_source source = {.kind = AL_KIND_PROVIDER,
                        .id = given.id,
                        .path = "",
                        .descriptor = given.descriptor,
                        .table = given.table,
                        .self_arg = given.self_arg};
    return al_source_own(&source, out, err);
}

alineo_code al_provider_open(const alineo_config *config, const alineo_own_provider *own,
                             al_log log, al_provider_binding **out, alineo_error **err) {
    al_source source;
    alineo_code code = provider_source(config, own, &source, err);
    if (code != ALINEO_OK)
        return code;
    al_auto(al_host_free) alineo_host *host = NULL;
    code = al_source_host(&source, config, log, NULL, &host, err);
    if (code != ALINEO_OK)
        return code;
    al_provider_binding *binding = calloc(1, sizeof(*binding));
    if (binding == NULL)
        return al_fail_memory(err);
    binding->id = al_host_id(host);
    binding->plugin = al_host_plugin(host);
    binding->descriptor = source.descriptor;
    binding->table = source.table;
    binding->self = source.self_arg;
    alineo_error *failure = NULL;
    code = binding->table->open(host, al_host_options(host), &binding->self, &failure);
    code = opened(code, host, &source, &failure, err);
    if (code != ALINEO_OK) {
        free(binding);
        return code;
    }
    binding->host = AL_STEAL(host);
    *out = binding;
    return ALINEO_OK;
}

void al_provider_close(al_provider_binding *binding) {
    if (binding == NULL)
        return;
    binding->table->close(binding->self);
    al_provider_forget(binding);
}

void al_provider_forget(al_provider_binding *binding) {
    if (binding == NULL)
        return;
    al_host_free(binding->host);
    free(binding);
}

/* --- storage ---------------------------------------------------------------------------------- */

static alineo_code storage_source(const alineo_config *config, const alineo_own_storage *own,
                                  al_source *out, alineo_error **err) {
    if (own == NULL)
        return al_source_load(config, AL_KIND_STORAGE, alineo_config_storage(config), out, err);
    alineo_own_storage given;
    alineo_code code = AL_STRUCT_READ(&given, own, "alineo_own_storage", err);
    if (code != ALINEO_OK)
        return code;
    al_source source = {.kind = AL_KIND_STORAGE,
                        .id = given.id,
                        .path = "",
                        .descriptor = given.descriptor,
                        .table = given.table,
                        .self_arg = given.self_arg};
    return al_source_own(&source, out, err);
}

alineo_code al_storage_open(const alineo_config *config, const alineo_own_storage *own, al_log log,
                            al_storage_binding **out, alineo_error **err) {
    al_source source;
    alineo_code code = storage_source(config, own, &source, err);
    if (code != ALINEO_OK)
        return code;
    al_auto(al_host_free) alineo_host *host = NULL;
    code = al_source_host(&source, config, log, NULL, &host, err);
    if (code != ALINEO_OK)
        return code;
    al_storage_binding *binding = calloc(1, sizeof(*binding));
    if (binding == NULL)
        return al_fail_memory(err);
    binding->id = al_host_id(host);
    binding->plugin = al_host_plugin(host);
    binding->descriptor = source.descriptor;
    binding->table = source.table;
    binding->self = source.self_arg;
    alineo_error *failure = NULL;
    code = binding->table->open(host, al_host_options(host), &binding->self, &failure);
    code = opened(code, host, &source, &failure, err);
    if (code != ALINEO_OK) {
        free(binding);
        return code;
    }
    binding->host = AL_STEAL(host);
    *out = binding;
    return ALINEO_OK;
}

void al_storage_close(al_storage_binding *binding) {
    if (binding == NULL)
        return;
    binding->table->close(binding->self);
    al_storage_forget(binding);
}

void al_storage_forget(al_storage_binding *binding) {
    if (binding == NULL)
        return;
    al_host_free(binding->host);
    free(binding);
}

/* --- brokers ---------------------------------------------------------------------------------- */

/* The config's broker, else the provider's. NULL = none. */
static const char *broker_id(const alineo_config *config, const al_provider_binding *provider) {
    if (config != NULL && config->broker != NULL)
        return config->broker;
    return provider != NULL ? provider->descriptor->default_broker : NULL;
}

static alineo_code broker_source(const alineo_config *config, const alineo_own_broker *own,
                                 const char *id, al_source *out, alineo_error **err) {
    if (own == NULL)
        return al_source_load(config, AL_KIND_CREDENTIALS, id, out, err);
    alineo_own_broker given;
    alineo_code code = AL_STRUCT_READ(&given, own, "alineo_own_broker", err);
    if (code != ALINEO_OK)
        return code;
    al_source source = {.kind = AL_KIND_CREDENTIALS,
                        .id = given.id,
                        .path = "",
                        .descriptor = given.descriptor,
                        .table = given.table,
                        .self_arg = given.self_arg};
    return al_source_own(&source, out, err);
}

alineo_code al_broker_open(const alineo_config *config, const alineo_own_broker *own,
                           al_provider_binding *provider, al_log log, al_broker_binding **out,
                           alineo_error **err) {
    const char *id = own == NULL ? broker_id(config, provider) : NULL;
    if (own == NULL && id == NULL) {
        *out = NULL;
        return ALINEO_OK;
    }
    al_source source;
    alineo_error *failure = NULL;
    alineo_code code = broker_source(config, own, id, &source, &failure);
    bool by_default = own == NULL && (config == NULL || config->broker == NULL);
    if (code == ALINEO_INVALID_ARGUMENT && by_default) {
        /* Nobody asked for it: only who uses credentials misses it. */
        al_log_line(&log, ALINEO_LOG_INFO, "", "%s", alineo_error_message(failure));
        alineo_error_free(failure);
        *out = NULL;
        return ALINEO_OK;
    }
    if (code != ALINEO_OK)
        return al_error_give(&failure, err);
    al_auto(al_host_free) alineo_host *host = NULL;
    code = al_source_host(&source, config, log, provider, &host, err);
    if (code != ALINEO_OK)
        return code;
    al_broker_binding *binding = calloc(1, sizeof(*binding));
    if (binding == NULL)
        return al_fail_memory(err);
    binding->id = al_host_id(host);
    binding->plugin = al_host_plugin(host);
    binding->descriptor = source.descriptor;
    binding->table = source.table;
    binding->self = source.self_arg;
    code = binding->table->open(host, al_host_options(host), &binding->self, &failure);
    code = opened(code, host, &source, &failure, err);
    if (code != ALINEO_OK) {
        free(binding);
        return code;
    }
    binding->host = AL_STEAL(host);
    *out = binding;
    return ALINEO_OK;
}

void al_broker_close(al_broker_binding *binding) {
    if (binding == NULL)
        return;
    binding->table->close(binding->self);
    al_broker_forget(binding);
}

void al_broker_forget(al_broker_binding *binding) {
    if (binding == NULL)
        return;
    al_host_free(binding->host);
    free(binding);
}

alineo_code al_broker_match(const al_broker_binding *broker, const al_provider_binding *provider,
                            const char **interface_name, alineo_error **err) {
    const char *const *offered = provider->descriptor->credential_interfaces;
    for (size_t i = 0; offered != NULL && offered[i] != NULL; i++) {
        for (const char *const *spoken = broker->descriptor->interfaces; *spoken != NULL;
             spoken++) {
            if (strcmp(offered[i], *spoken) == 0) {
                *interface_name = offered[i];
                return ALINEO_OK;
            }
        }
    }
    return al_fail(
        err, ALINEO_CAPABILITY_UNSUPPORTED,
        "name a broker in the config's `credentials` that speaks what the provider offers",
        "credentials: provider %s offers no interface that broker %s speaks", provider->id,
        broker->id);
}
