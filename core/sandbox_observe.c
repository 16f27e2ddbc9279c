/* SPDX-License-Identifier: Apache-2.0 */
#include <alineo/observe.h>

#include "core/sandbox_private.h"

#include "core/util/str.h"

enum {
    INTERVAL_MIN_MS = 10
};

static alineo_code fail_no_found(alineo_error **err) {
    return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "`found` is NULL");
}

/* The provider's answer, with what was asked of it in front. */
static alineo_code end(alineo_sandbox *sandbox, const char *doing, const char *function,
                       alineo_code code, alineo_error *failure, alineo_error **err) {
    code = al_from_plugin(code, sandbox->client->provider->plugin, function, &failure);
    return code == ALINEO_OK ? code : al_sandbox_op_fail(sandbox, doing, &failure, err);
}

alineo_code alineo_sandbox_metrics(alineo_sandbox *sandbox, const alineo_op_options *given,
                                   alineo_metrics_fn *found, void *user, alineo_error **err) {
    static const char DOING[] = "measure";
    alineo_op_options options;
    if (found == NULL)
        return fail_no_found(err);
    alineo_code code =
        al_sandbox_op_enter(sandbox, given, DOING, ALINEO_CAP_METRICS, &options, err);
    if (code != ALINEO_OK)
        return code;
    const al_provider_binding *provider = sandbox->client->provider;
    alineo_error *failure = NULL;
    code = provider->table->metrics(provider->self, sandbox->state->id, options.call, found, user,
                                    &failure);
    return end(sandbox, DOING, "metrics", code, failure, err);
}

alineo_code alineo_sandbox_metrics_watch(alineo_sandbox *sandbox, int64_t interval_ms,
                                         const alineo_op_options *given, alineo_metrics_fn *found,
                                         void *user, alineo_error **err) {
    static const char DOING[] = "watch";
    alineo_op_options options;
    if (found == NULL)
        return fail_no_found(err);
    if (interval_ms < INTERVAL_MIN_MS)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "use 10 or more",
                       "watch a sandbox every %lld ms", (long long)interval_ms);
    alineo_code code =
        al_sandbox_op_enter(sandbox, given, DOING, ALINEO_CAP_METRICS, &options, err);
    if (code != ALINEO_OK)
        return code;
    const al_provider_binding *provider = sandbox->client->provider;
    alineo_error *failure = NULL;
    code = provider->table->metrics_watch(provider->self, sandbox->state->id, interval_ms,
                                          options.call, found, user, &failure);
    return end(sandbox, DOING, "metrics_watch", code, failure, err);
}

alineo_code alineo_sandbox_diagnostics(alineo_sandbox *sandbox, const char *what,
                                       const alineo_op_options *given, alineo_text_fn *found,
                                       void *user, alineo_error **err) {
    static const char DOING[] = "get what is told of";
    alineo_op_options options;
    if (found == NULL)
        return fail_no_found(err);
    if (!al_str_equal(what, "logs") && !al_str_equal(what, "events"))
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "use \"logs\" or \"events\"",
                       "there are no such diagnostics");
    alineo_code code =
        al_sandbox_op_enter(sandbox, given, DOING, ALINEO_CAP_DIAGNOSTICS, &options, err);
    if (code != ALINEO_OK)
        return code;
    const al_provider_binding *provider = sandbox->client->provider;
    alineo_error *failure = NULL;
    code = provider->table->diagnostics(provider->self, sandbox->state->id, what, options.call,
                                        found, user, &failure);
    return end(sandbox, DOING, "diagnostics", code, failure, err);
}
