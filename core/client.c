/* SPDX-License-Identifier: Apache-2.0 */
#include "core/client_private.h"

#include "core/check.h"
#include "core/sandbox_private.h"
#include "core/struct.h"
#include "core/sweeper.h"
#include "core/timers.h"
#include "core/util/cleanup.h"
#include "core/util/random.h"

#include <stdlib.h>
#include <unistd.h>

#define LEDGER_ID_KEY "ledger_id"
enum {
    LEDGER_ID_SIZE = sizeof(((alineo_client *)NULL)->ledger_id) - 1
};

void alineo_client_options_init(alineo_client_options *options) {
    *options = (alineo_client_options)ALINEO_CLIENT_OPTIONS_INIT;
}

void alineo_capabilities_options_init(alineo_capabilities_options *options) {
    *options = (alineo_capabilities_options)ALINEO_CAPABILITIES_OPTIONS_INIT;
}

int al_client_is_forked(const alineo_client *client) {
    return client->pid != getpid();
}

alineo_code al_client_enter(const alineo_client *client, alineo_error **err) {
    if (client == NULL)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "the client is NULL");
    if (al_client_is_forked(client))
        return al_fail(err, ALINEO_CLIENT_FORKED, "open a client of its own in the child",
                       "the client was opened by process %ld and does not cross fork()",
                       (long)client->pid);
    return ALINEO_OK;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* In a forked child: threads are gone, locks may be held for ever, connections are the parent's. */
static void forget(alineo_client *client) {
    al_sweeper_forget(client->sweeper);
    al_timers_forget(client->timers);
    al_journal_free(client->journal, 0);
    al_sandbox_table_free(client->open, 1);
    al_capabilities_free(client->capabilities);
    al_broker_forget(client->broker);
    al_provider_forget(client->provider);
    al_storage_forget(client->storage);
}

/* Stores what is queued, for as long as storage may take. */
static void flush_patiently(alineo_client *client) {
    al_auto(alineo_error_free) alineo_error *error = NULL;
    if (al_journal_flush(client->journal, al_journal_patience_ms(client->journal), &error) !=
        ALINEO_OK)
        al_log_line(&client->log, ALINEO_LOG_ERROR, "", "free the client: %s",
                    alineo_error_message(error));
}

/* Takes a half-built client too. */
static void end(alineo_client *client) {
    al_sweeper_free(client->sweeper);
    al_timers_free(client->timers);
    if (client->journal != NULL)
        flush_patiently(client);
    al_journal_free(client->journal, 0);
    al_sandbox_table_free(client->open, 0);
    al_capabilities_free(client->capabilities);
    al_broker_close(client->broker);
    al_provider_close(client->provider);
    al_storage_close(client->storage);
}

static void client_free(alineo_client *client) {
    if (al_client_is_forked(client))
        forget(client);
    else
        end(client);
    al_slots_free(client->slots);
    alineo_config_free(client->config);
    free(client);
}
AL_CLEANUP(alineo_client *, client_free);

void al_client_ref(alineo_client *client) {
    atomic_fetch_add(&client->refs, 1);
}

void al_client_unref(alineo_client *client) {
    if (atomic_fetch_sub(&client->refs, 1) == 1)
        client_free(client);
}

/* --- opening ---------------------------------------------------------------------------------- */

/* *id: the storage's memory, NULL when there is none yet. */
static alineo_code read_ledger_id(al_storage_binding *storage, char **id, alineo_error **err) {
    alineo_error *failure = NULL;
    alineo_code code = storage->table->meta_get(storage->self, LEDGER_ID_KEY, id, &failure);
    (void)al_from_plugin(code, storage->plugin, "meta_get", &failure);
    return al_error_give(&failure, err);
}

static alineo_code make_ledger_id(al_storage_binding *storage, alineo_error **err) {
    char id[LEDGER_ID_SIZE + 1];
    int rc = al_random_id(id, LEDGER_ID_SIZE);
    if (rc != 0)
        return al_fail_errno(err, ALINEO_IO, rc, NULL, "make an id for the ledger");
    alineo_error *failure = NULL;
    alineo_code code =
        storage->table->meta_put(storage->self, LEDGER_ID_KEY, id, ALINEO_META_IF_ABSENT, &failure);
    (void)al_from_plugin(code, storage->plugin, "meta_put", &failure);
    return al_error_give(&failure, err);
}

/* The id of the ledger: made by whoever comes first, the same for all who use the storage. */
static alineo_code find_ledger_id(alineo_client *client, alineo_error **err) {
    al_storage_binding *storage = client->storage;
    char *id = NULL;
    alineo_code code = read_ledger_id(storage, &id, err);
    if (code == ALINEO_OK && id == NULL) {
        code = make_ledger_id(storage, err);
        if (code == ALINEO_OK)
            code = read_ledger_id(storage, &id, err);
    }
    if (code != ALINEO_OK) {
        (void)al_wrap(err, "open the ledger");
        return code;
    }

    size_t size = id == NULL ? 0 : strlen(id);
    if (size == LEDGER_ID_SIZE && strspn(id, "0123456789abcdef") == size)
        memcpy(client->ledger_id, id, size + 1);
    storage->host->free(storage->host, id);
    if (client->ledger_id[0] == '\0')
        return al_fail(err, ALINEO_STORAGE_CORRUPT,
                       "something else wrote it; put the value back from a copy of the ledger",
                       "open the ledger: its id in storage %s is not %d hexadecimal digits",
                       storage->id, LEDGER_ID_SIZE);
    return ALINEO_OK;
}

/* What cannot be had is refused before storage is touched. */
static alineo_code open_provider(alineo_client *client, const alineo_client_options *options,
                                 alineo_error **err) {
    alineo_code code =
        al_provider_open(client->config, options->provider, client->log, &client->provider, err);
    if (code != ALINEO_OK)
        return code;
    code = al_broker_open(client->config, options->broker, client->provider, client->log,
                          &client->broker, err);
    if (code != ALINEO_OK)
        return code;
    code = al_capabilities_new(client->provider, &client->capabilities, err);
    if (code != ALINEO_OK || client->values.require == NULL)
        return code;
    code = al_capabilities_require(client->capabilities, client->values.require, NULL, err);
    if (code != ALINEO_OK)
        (void)al_wrap(err, "\"require\" of the config");
    return code;
}

static alineo_code open_ledger(alineo_client *client, const alineo_client_options *options,
                               alineo_error **err) {
    alineo_code code =
        al_storage_open(client->config, options->storage, client->log, &client->storage, err);
    if (code != ALINEO_OK)
        return code;
    code = find_ledger_id(client, err);
    if (code != ALINEO_OK)
        return code;
    al_journal_options journal = {.queue_size = client->values.ledger_queue_size,
                                  .patience_ms = client->values.ledger_patience_ms,
                                  .on_failure = client->values.ledger_failure,
                                  .log = client->log};
    return al_journal_new(client->storage, &journal, &client->journal, err);
}

static alineo_code open_parts(alineo_client *client, const alineo_client_options *options,
                              alineo_error **err) {
    alineo_code code = al_slots_new(client->values.max_concurrency, &client->slots, err);
    if (code == ALINEO_OK)
        code = al_sandbox_table_new(&client->open, err);
    if (code == ALINEO_OK)
        code = al_timers_new(&client->timers, err);
    if (code == ALINEO_OK)
        code = open_provider(client, options, err);
    if (code == ALINEO_OK)
        code = al_sweeper_new(client->provider, client->log, &client->sweeper, err);
    if (code == ALINEO_OK)
        code = open_ledger(client, options, err);
    return code;
}

alineo_code alineo_client_open(const alineo_config *config, const alineo_client_options *given,
                               alineo_client **out, alineo_error **err) {
    alineo_client_options options;
    alineo_code code = AL_STRUCT_READ(&options, given, "client options", err);
    if (code != ALINEO_OK)
        return code;
    if (out == NULL)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "open a client: `out` is NULL");

    al_auto(client_free) alineo_client *client = calloc(1, sizeof(*client));
    if (client == NULL)
        return al_fail_memory(err);
    atomic_init(&client->refs, 1);
    client->pid = getpid();
    client->log = (al_log){options.log, options.log_user};
    code = al_hooks_add(&client->hooks, options.hooks, err);
    if (code != ALINEO_OK)
        return code;
    if (config != NULL)
        client->config = al_config_ref(config);
    else
        code = alineo_config_load(NULL, &client->config, err);
    if (code != ALINEO_OK)
        return code;
    al_config_values_of(client->config, &client->values);

    code = open_parts(client, &options, err);
    if (code == ALINEO_OK)
        *out = AL_STEAL(client);
    return code;
}

/* --- what a client answers -------------------------------------------------------------------- */

alineo_code alineo_client_flush(alineo_client *client, int64_t timeout_ms, alineo_error **err) {
    alineo_code code = al_client_enter(client, err);
    if (code != ALINEO_OK)
        return code;
    if (timeout_ms < ALINEO_FOREVER)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "use ALINEO_FOREVER to wait without end",
                       "flush: the timeout is %lld ms", (long long)timeout_ms);
    return al_journal_flush(client->journal, timeout_ms, err);
}

void alineo_client_free(alineo_client *client) {
    if (client == NULL)
        return;
    /* With the last hold its end does that. */
    if (!al_client_is_forked(client) && atomic_load(&client->refs) > 1)
        flush_patiently(client);
    al_client_unref(client);
}

const char *alineo_client_provider(const alineo_client *client) {
    return client->provider->id;
}

const char *alineo_client_storage(const alineo_client *client) {
    return client->storage->id;
}

const char *alineo_client_ledger_id(const alineo_client *client) {
    return client->ledger_id;
}

alineo_code alineo_client_capabilities(alineo_client *client,
                                       const alineo_capabilities_options *given,
                                       alineo_capability_fn *found, void *user,
                                       alineo_error **err) {
    alineo_code code = al_client_enter(client, err);
    if (code != ALINEO_OK)
        return code;
    alineo_capabilities_options options;
    code = AL_STRUCT_READ(&options, given, "capabilities options", err);
    if (code == ALINEO_OK)
        code = al_choice_check("probe", options.probe, err);
    if (code == ALINEO_OK && found == NULL)
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "capabilities: `found` is NULL");
    if (code != ALINEO_OK)
        return code;
    return al_capabilities_list(client->capabilities, &options, found, user, err);
}
