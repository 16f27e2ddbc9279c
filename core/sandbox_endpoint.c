/* SPDX-License-Identifier: Apache-2.0 */
#include <alineo/endpoint.h>

#include "core/sandbox_private.h"

#include "core/struct.h"

enum {
    PORT_MAX = 65535
};

void alineo_endpoint_options_init(alineo_endpoint_options *options) {
    *options = (alineo_endpoint_options)ALINEO_ENDPOINT_OPTIONS_INIT;
}

/* What the provider tells, on its way to the caller. */
typedef struct relay {
    alineo_endpoint_fn *found;
    void *user;
    int count;
} relay;

static void pass_on(void *user, const alineo_endpoint *endpoint) {
    relay *self = user;
    if (endpoint->url != NULL && self->count++ == 0)
        self->found(self->user, endpoint);
}

static alineo_code check(const alineo_endpoint_options *options, int32_t port,
                         alineo_endpoint_fn *found, alineo_error **err) {
    if (port < 1 || port > PORT_MAX)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "use 1 to 65535", "there is no port %d",
                       (int)port);
    if (options->expires_at_ms < 0)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "0 is none", "endpoint: expires_at_ms is %lld",
                       (long long)options->expires_at_ms);
    if (found == NULL)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "endpoint: `found` is NULL");
    return ALINEO_OK;
}

alineo_code alineo_sandbox_endpoint(alineo_sandbox *sandbox, int32_t port,
                                    const alineo_endpoint_options *given, alineo_endpoint_fn *found,
                                    void *user, alineo_error **err) {
    alineo_endpoint_options options;
    alineo_op_options op = ALINEO_OP_OPTIONS_INIT;
    alineo_op_options entered;
    alineo_code code = AL_STRUCT_READ(&options, given, "endpoint options", err);
    if (code == ALINEO_OK)
        code = check(&options, port, found, err);
    if (code != ALINEO_OK)
        return code;
    op.call = options.call;
    code =
        al_sandbox_op_enter(sandbox, &op, "reach a port of", ALINEO_CAP_ENDPOINTS, &entered, err);
    if (code != ALINEO_OK)
        return code;
    const al_provider_binding *provider = sandbox->client->provider;
    relay told = {found, user, 0};
    alineo_endpoint_request request = {.size = sizeof(request),
                                       .port = port,
                                       .expires_at_ms = options.expires_at_ms,
                                       .call = options.call};
    alineo_error *failure = NULL;
    code = provider->table->endpoint(provider->self, sandbox->state->id, &request, pass_on, &told,
                                     &failure);
    code = al_from_plugin(code, provider->plugin, "endpoint", &failure);
    if (code == ALINEO_OK && told.count == 0)
        code = al_fail(&failure, ALINEO_INTERNAL, "tell its author",
                       "provider %s succeeded and told of no endpoint", provider->id);
    return code == ALINEO_OK ? code : al_sandbox_op_fail(sandbox, "reach a port of", &failure, err);
}
