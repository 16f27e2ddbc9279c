/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sandbox_private.h"

#include "core/call_private.h"
#include "core/check.h"
#include "core/provider_calls.h"
#include "core/struct.h"

void alineo_op_options_init(alineo_op_options *options) {
    *options = (alineo_op_options)ALINEO_OP_OPTIONS_INIT;
}

/* The door of calls that need no more than a client and a call. */
static alineo_code enter(alineo_client *client, const alineo_op_options *given, const char *doing,
                         alineo_op_options *options, alineo_error **err) {
    alineo_code code = al_client_enter(client, err);
    if (code == ALINEO_OK)
        code = AL_STRUCT_READ(options, given, "op options", err);
    if (code == ALINEO_OK)
        code = al_call_check(options->call, doing, err);
    return code;
}

static alineo_code require(alineo_client *client, const char *capability, alineo_call *call,
                           alineo_error **err) {
    const char *const needs[] = {capability, NULL};
    return al_capabilities_require(client->capabilities, needs, call, err);
}

alineo_code alineo_sandbox_inspect(alineo_client *client, const char *id,
                                   const alineo_op_options *given, alineo_sandbox_info_fn *found,
                                   void *user, alineo_error **err) {
    alineo_op_options options;
    alineo_code code = enter(client, given, "inspect a sandbox", &options, err);
    if (code == ALINEO_OK)
        code = al_sandbox_id_check(id, err);
    if (code == ALINEO_OK && found == NULL)
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "inspect: `found` is NULL");
    if (code != ALINEO_OK)
        return code;
    code = al_provider_get(client->provider, id, options.call, found, user, err);
    if (code != ALINEO_OK)
        al_error_set_sandbox(err, id);
    return code;
}

alineo_code alineo_sandbox_list(alineo_client *client, const alineo_op_options *given,
                                alineo_sandbox_info_fn *found, void *user, alineo_error **err) {
    alineo_op_options options;
    alineo_code code = enter(client, given, "list sandboxes", &options, err);
    if (code == ALINEO_OK && found == NULL)
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "list: `found` is NULL");
    if (code == ALINEO_OK)
        code = require(client, ALINEO_CAP_LIST, options.call, err);
    if (code != ALINEO_OK)
        return code;
    int complete = 1;
    code = al_provider_list(client->provider, NULL, options.call, found, user, &complete, err);
    if (code != ALINEO_OK || complete)
        return code;
    return al_fail(err, ALINEO_PROVIDER_UNAVAILABLE, "ask again later",
                   "the list of sandboxes is not whole: provider %s left some out",
                   client->provider->id);
}

alineo_code al_sandbox_op_enter(alineo_sandbox *sandbox, const alineo_op_options *given,
                                const char *doing, const char *capability,
                                alineo_op_options *options, alineo_error **err) {
    alineo_code code = al_sandbox_enter(sandbox, err);
    if (code == ALINEO_OK)
        code = enter(sandbox->client, given, doing, options, err);
    if (code == ALINEO_OK)
        code = require(sandbox->client, capability, options->call, err);
    return code;
}

alineo_code al_sandbox_op_fail(alineo_sandbox *sandbox, const char *doing, alineo_error **failure,
                               alineo_error **err) {
    (void)al_wrap(failure, "%s sandbox %s", doing, sandbox->state->id);
    al_error_set_sandbox(failure, sandbox->state->id);
    return al_error_give(failure, err);
}

static int32_t note_expiry(void *user, const alineo_sandbox_info *info) {
    *(int64_t *)user = info->expires_at_ms;
    return 0;
}

alineo_code alineo_sandbox_renew(alineo_sandbox *sandbox, int64_t lifetime_ms,
                                 const alineo_op_options *given, int64_t *expires_at_ms,
                                 alineo_error **err) {
    alineo_op_options options;
    alineo_code code = al_lifetime_check(lifetime_ms, err);
    if (code == ALINEO_OK)
        code = al_sandbox_op_enter(sandbox, given, "renew", ALINEO_CAP_RENEW, &options, err);
    if (code != ALINEO_OK)
        return code;
    int64_t expiry = 0;
    alineo_error *failure = NULL;
    code = al_provider_renew(sandbox->client->provider, sandbox->state->id, lifetime_ms,
                             options.call, note_expiry, &expiry, &failure);
    if (code != ALINEO_OK)
        return al_sandbox_op_fail(sandbox, "renew", &failure, err);
    if (expires_at_ms != NULL)
        *expires_at_ms = expiry;
    return ALINEO_OK;
}
