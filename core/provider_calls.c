/* SPDX-License-Identifier: Apache-2.0 */
#include "core/provider_calls.h"

#include "core/call_private.h"
#include "core/check.h"
#include "core/util/cleanup.h"
#include "core/util/str.h"

const char *al_state_name(alineo_sandbox_state state) {
    static const char *const names[] = {
        "in an unknown state", "pending", "running", "pausing", "paused", "resuming", "stopping",
        "terminated",          "failed"};
    return state >= 0 && (size_t)state < AL_COUNT(names) ? names[state] : names[0];
}

alineo_code al_provider_destroy(al_provider_binding *provider, const char *id, alineo_call *call,
                                alineo_error **err) {
    alineo_error *failure = NULL;
    alineo_code code = provider->table->destroy(provider->self, id, call, &failure);
    (void)al_from_plugin(code, provider->plugin, "destroy", &failure);
    return al_error_give(&failure, err);
}

/* Stands between a provider and whoever is told of its sandboxes. */
typedef struct relay {
    al_provider_binding *provider;
    const char *function;
    alineo_sandbox_info_fn *found;
    void *user;
    size_t count;
    int stopped;
    int bad_id;
} relay;

static int32_t relay_info(void *user, const alineo_sandbox_info *info) {
    relay *self = user;
    if (self->stopped)
        return 1;
    self->count++;
    if (info == NULL || !al_sandbox_id_valid(info->id)) {
        self->bad_id = 1;
        return 0;
    }
    self->stopped = self->found(self->user, info) != 0;
    return self->stopped;
}

static alineo_code check_relay(const relay *self, alineo_error **err) {
    if (!self->bad_id)
        return ALINEO_OK;
    al_fail(err, ALINEO_INTERNAL, "tell the makers of the plugin",
            "%s: %s gave a sandbox whose id is none", self->provider->plugin, self->function);
    al_error_set_plugin(err, self->provider->plugin);
    return ALINEO_INTERNAL;
}

/* What one of the functions answered that tell of one sandbox. */
static alineo_code end_relay(const relay *self, alineo_code code, alineo_error *failure,
                             alineo_error **err) {
    code = al_from_plugin(code, self->provider->plugin, self->function, &failure);
    if (code != ALINEO_OK)
        return al_error_give(&failure, err);
    if (self->count > 0)
        return check_relay(self, err);
    al_fail(err, ALINEO_INTERNAL, "tell the makers of the plugin",
            "%s: %s succeeded and told of no sandbox", self->provider->plugin, self->function);
    al_error_set_plugin(err, self->provider->plugin);
    return ALINEO_INTERNAL;
}

alineo_code al_provider_create(al_provider_binding *provider, const alineo_create_request *request,
                               alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                               alineo_error **err) {
    relay self = {.provider = provider, .function = "create", .found = found, .user = user};
    alineo_error *failure = NULL;
    alineo_code code =
        provider->table->create(provider->self, request, call, relay_info, &self, &failure);
    return end_relay(&self, code, failure, err);
}

alineo_code al_provider_get(al_provider_binding *provider, const char *id, alineo_call *call,
                            alineo_sandbox_info_fn *found, void *user, alineo_error **err) {
    relay self = {.provider = provider, .function = "get", .found = found, .user = user};
    alineo_error *failure = NULL;
    alineo_code code = provider->table->get(provider->self, id, call, relay_info, &self, &failure);
    return end_relay(&self, code, failure, err);
}

alineo_code al_provider_renew(al_provider_binding *provider, const char *id, int64_t lifetime_ms,
                              alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                              alineo_error **err) {
    relay self = {.provider = provider, .function = "renew", .found = found, .user = user};
    alineo_error *failure = NULL;
    alineo_code code =
        provider->table->renew(provider->self, id, lifetime_ms, call, relay_info, &self, &failure);
    return end_relay(&self, code, failure, err);
}

/* Goes from one page to the next. *cursor is the provider's memory, NULL after the last page. */
static alineo_code next_page(relay *self, alineo_list_request *request, alineo_call *call,
                             char **cursor, int *complete, alineo_error **err) {
    al_provider_binding *provider = self->provider;
    char *next = NULL;
    int32_t whole = 1;
    alineo_error *failure = NULL;
    alineo_code code = provider->table->list(provider->self, request, call, relay_info, self, &next,
                                             &whole, &failure);
    code = al_from_plugin(code, provider->plugin, "list", &failure);
    if (code != ALINEO_OK)
        return al_error_give(&failure, err);
    if (!whole)
        *complete = 0;
    int same = next != NULL && al_str_equal(next, *cursor);
    provider->host->free(provider->host, *cursor);
    *cursor = next;
    if (same)
        return al_fail(err, ALINEO_INTERNAL, "tell the makers of the plugin",
                       "%s: list gives the same page for ever", provider->plugin);
    return ALINEO_OK;
}

alineo_code al_provider_list(al_provider_binding *provider, const char *const *metadata,
                             alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                             int *complete, alineo_error **err) {
    relay self = {.provider = provider, .function = "list", .found = found, .user = user};
    alineo_list_request request = {.size = sizeof(request), .metadata = metadata};
    char *cursor = NULL;
    int whole = 1;
    alineo_code code;
    do {
        request.cursor = cursor;
        code = al_call_check(call, "list sandboxes", err);
        if (code == ALINEO_OK)
            code = next_page(&self, &request, call, &cursor, &whole, err);
    } while (code == ALINEO_OK && cursor != NULL && !self.stopped);
    provider->host->free(provider->host, cursor);
    if (code != ALINEO_OK)
        return code;
    if (complete != NULL)
        *complete = whole;
    return check_relay(&self, err);
}
