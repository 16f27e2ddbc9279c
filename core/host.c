/* SPDX-License-Identifier: Apache-2.0 */
#include "core/host.h"

#include "core/call_private.h"
#include "core/plugin_options.h"
#include "core/util/clock.h"
#include "core/util/str.h"

#include <stdlib.h>

/* The table is the first member, so a plugin's `host` is a pointer to this. */
typedef struct host_inside {
    alineo_host table;
    al_log log;
    char *id;
    char *plugin;
    char *plugin_path;
    char *state_dir;
    char *run_dir;
    alineo_options *options;
    al_provider_binding *provider;
} host_inside;

static const host_inside *inside(const alineo_host *host) {
    return (const host_inside *)(const void *)host;
}

/* --- memory, errors, log ---------------------------------------------------------------------- */

static void *host_alloc(const alineo_host *host, size_t size) {
    (void)host;
    return malloc(size != 0 ? size : 1);
}

static void host_free(const alineo_host *host, void *memory) {
    (void)host;
    free(memory);
}

static alineo_code host_fail(const alineo_host *host, alineo_error **err, alineo_code code,
                             const char *hint, const char *format, ...) {
    (void)host;
    va_list arguments;
    va_start(arguments, format);
    code = al_failv(err, code, hint, format, arguments);
    va_end(arguments);
    return code;
}

static alineo_code host_wrap(const alineo_host *host, alineo_error **err, const char *format, ...) {
    (void)host;
    va_list arguments;
    va_start(arguments, format);
    alineo_code code = al_wrapv(err, format, arguments);
    va_end(arguments);
    return code;
}

static void host_set_http_status(const alineo_host *host, alineo_error *err, int32_t status) {
    (void)host;
    al_error_set_http_status(&err, status);
}

static void host_drop_error(const alineo_host *host, alineo_error *err) {
    (void)host;
    alineo_error_free(err);
}

static alineo_code host_error_code(const alineo_host *host, const alineo_error *err) {
    (void)host;
    return alineo_error_code(err);
}

static const char *host_error_message(const alineo_host *host, const alineo_error *err) {
    (void)host;
    return alineo_error_message(err);
}

static void host_log(const alineo_host *host, alineo_log_level level, const char *message) {
    const host_inside *self = inside(host);
    if (self->log.function != NULL && message != NULL)
        self->log.function(self->log.user, level, self->plugin, message);
}

/* --- options ---------------------------------------------------------------------------------- */

static int32_t host_option_string(const alineo_host *host, const alineo_options *options,
                                  const char *key, const char **out) {
    (void)host;
    return al_options_string(options, key, out);
}

static int32_t host_option_integer(const alineo_host *host, const alineo_options *options,
                                   const char *key, int64_t *out) {
    (void)host;
    return al_options_integer(options, key, out);
}

static int32_t host_option_boolean(const alineo_host *host, const alineo_options *options,
                                   const char *key, int32_t *out) {
    (void)host;
    return al_options_boolean(options, key, out);
}

static int32_t host_option_strings(const alineo_host *host, const alineo_options *options,
                                   const char *key, const char *const **out) {
    (void)host;
    return al_options_strings(options, key, out);
}

/* --- clocks and calls ------------------------------------------------------------------------- */

static int64_t host_now_ms(const alineo_host *host) {
    (void)host;
    return al_clock_realtime_ms();
}

static int64_t host_boottime_ms(const alineo_host *host) {
    (void)host;
    return al_clock_boottime_ms();
}

static int32_t host_call_cancelled(const alineo_host *host, const alineo_call *call) {
    (void)host;
    return alineo_call_cancelled(call);
}

static int64_t host_call_remaining_ms(const alineo_host *host, const alineo_call *call) {
    (void)host;
    return alineo_call_remaining_ms(call);
}

static int host_call_fd(const alineo_host *host, const alineo_call *call) {
    (void)host;
    return alineo_call_fd(call);
}

static void host_call_progress(const alineo_host *host, const alineo_call *call, const char *stage,
                               uint64_t done, uint64_t total, const char *text) {
    (void)host;
    al_call_progress(call, stage, done, total, text);
}

static alineo_code host_endpoint(const alineo_host *host, const char *sandbox_id, int32_t port,
                                 const alineo_call *call, alineo_endpoint_fn *found, void *user,
                                 alineo_error **err) {
    al_provider_binding *provider = inside(host)->provider;
    if (provider == NULL || !AL_HAS(provider->table, endpoint))
        return al_fail(err, ALINEO_CAPABILITY_UNSUPPORTED, NULL,
                       "reach port %d of sandbox %s: the provider has no endpoints", port,
                       sandbox_id);
    alineo_endpoint_request request = {
        .size = sizeof(request), .port = port, .call = (alineo_call *)call};
    alineo_error *failure = NULL;
    alineo_code code =
        provider->table->endpoint(provider->self, sandbox_id, &request, found, user, &failure);
    if (al_from_plugin(code, provider->plugin, "endpoint", &failure) == ALINEO_OK)
        return ALINEO_OK;
    return al_error_give(&failure, err);
}

/* --- making one ------------------------------------------------------------------------------- */

static const alineo_host host_functions = {
    .size = sizeof(alineo_host),
    .alloc = host_alloc,
    .free = host_free,
    .fail = host_fail,
    .wrap = host_wrap,
    .set_http_status = host_set_http_status,
    .drop_error = host_drop_error,
    .error_code = host_error_code,
    .error_message = host_error_message,
    .log = host_log,
    .option_string = host_option_string,
    .option_integer = host_option_integer,
    .option_boolean = host_option_boolean,
    .option_strings = host_option_strings,
    .now_ms = host_now_ms,
    .boottime_ms = host_boottime_ms,
    .call_cancelled = host_call_cancelled,
    .call_remaining_ms = host_call_remaining_ms,
    .call_fd = host_call_fd,
    .call_progress = host_call_progress,
};

alineo_code al_host_new(const al_host_setup *setup, alineo_options *options, alineo_host **out,
                        alineo_error **err) {
    host_inside *self = calloc(1, sizeof(*self));
    if (self == NULL)
        return al_fail_memory(err);
    const char *kind = al_kind_name(setup->kind);
    self->table = host_functions;
    self->log = setup->log;
    self->id = al_strdup(setup->id);
    self->plugin = al_strf("%s/%s", kind, setup->id);
    self->plugin_path = al_strdup(setup->plugin_path);
    self->state_dir = al_strf("%s/%s/%s", setup->home, kind, setup->id);
    self->run_dir = al_strf("%s/%s/%s", setup->run, kind, setup->id);
    self->provider = setup->provider;
    if (self->id == NULL || self->plugin == NULL || self->plugin_path == NULL ||
        self->state_dir == NULL || self->run_dir == NULL) {
        al_host_free(&self->table);
        return al_fail_memory(err);
    }
    self->table.plugin_path = self->plugin_path;
    self->table.state_dir = self->state_dir;
    self->table.run_dir = self->run_dir;
    if (setup->kind == AL_KIND_CREDENTIALS)
        self->table.endpoint = host_endpoint;
    self->options = options;
    *out = &self->table;
    return ALINEO_OK;
}

void al_host_free(alineo_host *host) {
    if (host == NULL)
        return;
    host_inside *self = (host_inside *)(void *)host;
    free(self->id);
    free(self->plugin);
    free(self->plugin_path);
    free(self->state_dir);
    free(self->run_dir);
    al_options_free(self->options);
    free(self);
}

const char *al_host_id(const alineo_host *host) {
    return inside(host)->id;
}

const char *al_host_plugin(const alineo_host *host) {
    return inside(host)->plugin;
}

const alineo_options *al_host_options(const alineo_host *host) {
    return inside(host)->options;
}
