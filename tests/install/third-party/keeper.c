/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest broker there can be: it keeps no credential, and says so. Written with the public
 * headers alone. */
#include <alineo/credentials.h>
#include <stddef.h>

struct alineo_broker {
    const alineo_host *host;
};

static alineo_code keeper_open(const alineo_host *host, const alineo_options *options,
                               alineo_broker **self, alineo_error **err) {
    (void)options;
    alineo_broker *broker = host->alloc(host, sizeof(*broker));
    if (broker == NULL) {
        return host->fail(host, err, ALINEO_NO_MEMORY, NULL, "open keeper: out of memory");
    }
    broker->host = host;
    *self = broker;
    return ALINEO_OK;
}

static void keeper_close(alineo_broker *self) {
    self->host->free(self->host, self);
}

static alineo_code refuse(alineo_broker *self, const char *name, alineo_error **err) {
    return self->host->fail(self->host, err, ALINEO_CREDENTIAL_NOT_FOUND,
                            "use a broker that keeps credentials",
                            "credential \"%s\": this broker keeps none", name);
}

static alineo_code keeper_set(alineo_broker *self, const char *interface_name,
                              const char *sandbox_id, const char *name, const alineo_secret *value,
                              const alineo_credential_binding *binding, alineo_call *call,
                              alineo_error **err) {
    (void)interface_name, (void)sandbox_id, (void)value, (void)binding, (void)call;
    return refuse(self, name, err);
}

static alineo_code keeper_remove(alineo_broker *self, const char *interface_name,
                                 const char *sandbox_id, const char *name, alineo_call *call,
                                 alineo_error **err) {
    (void)interface_name, (void)sandbox_id, (void)call;
    return refuse(self, name, err);
}

static alineo_code keeper_list(alineo_broker *self, const char *interface_name,
                               const char *sandbox_id, alineo_call *call,
                               alineo_credential_fn *found, void *user, alineo_error **err) {
    (void)self, (void)interface_name, (void)sandbox_id, (void)call, (void)found, (void)user;
    (void)err;
    return ALINEO_OK;
}

static const char *const interfaces[] = {"keeper/1", NULL};
static const alineo_broker_descriptor descriptor = {
    .size = sizeof(descriptor),
    .title = "Keeper",
    .summary = "keeps no credential",
    .interfaces = interfaces,
};
static const alineo_broker_table table = {
    .size = sizeof(table),
    .open = keeper_open,
    .close = keeper_close,
    .set = keeper_set,
    .patch = keeper_set,
    .remove = keeper_remove,
    .list = keeper_list,
};

ALINEO_PLUGIN(credentials, keeper, "keeper", "1.2.3", &descriptor, &table)
