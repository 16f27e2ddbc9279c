/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/adapter.h"

#include <alineo/config.h>

#include "core/util/clock.h"
#include "core/util/str.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *host_alloc(const alineo_host *host, size_t size) {
    (void)host;
    return malloc(size > 0 ? size : 1);
}

static void host_free(const alineo_host *host, void *memory) {
    (void)host;
    free(memory);
}

/* Errors are only told: nothing here reads them. */
static alineo_code host_fail(const alineo_host *host, alineo_error **err, alineo_code code,
                             const char *hint, const char *format, ...) {
    (void)host, (void)err, (void)hint;
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "alineo-bench: %s: ", alineo_code_name(code));
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return code;
}

static alineo_code host_wrap(const alineo_host *host, alineo_error **err, const char *format, ...) {
    (void)host, (void)err, (void)format;
    return ALINEO_INTERNAL;
}

static void host_log(const alineo_host *host, alineo_log_level level, const char *message) {
    (void)host;
    if (level <= ALINEO_LOG_WARNING)
        fprintf(stderr, "alineo-bench: %s\n", message);
}

static int32_t host_option_string(const alineo_host *host, const alineo_options *options,
                                  const char *key, const char **out) {
    (void)options;
    const bench_adapter *adapter =
        (const bench_adapter *)(const void *)((const char *)host - offsetof(bench_adapter, host));
    if (strcmp(key, "path") != 0)
        return 0;
    *out = adapter->path;
    return 1;
}

static int32_t host_option_integer(const alineo_host *host, const alineo_options *options,
                                   const char *key, int64_t *out) {
    (void)host, (void)options, (void)key, (void)out;
    return 0;
}

static int32_t host_option_boolean(const alineo_host *host, const alineo_options *options,
                                   const char *key, int32_t *out) {
    (void)host, (void)options, (void)key, (void)out;
    return 0;
}

static int64_t host_now(const alineo_host *host) {
    (void)host;
    return al_clock_realtime_ms();
}

static int32_t host_cancelled(const alineo_host *host, const alineo_call *call) {
    (void)host, (void)call;
    return 0;
}

static int64_t host_remaining(const alineo_host *host, const alineo_call *call) {
    (void)host, (void)call;
    return ALINEO_FOREVER;
}

typedef struct wanted {
    const char *id;
    char *path;
} wanted;

static int32_t keep_path(void *user, const alineo_plugin_info *info) {
    wanted *w = user;
    if (w->path != NULL || info->usable != ALINEO_OK || strcmp(info->kind, "storage") != 0 ||
        strcmp(info->id, w->id) != 0)
        return 0;
    w->path = al_strdup(info->path);
    return 1;
}

bool bench_adapter_open(bench_adapter *adapter, const char *id, const char *path) {
    memset(adapter, 0, sizeof(*adapter));
    adapter->path = path;
    adapter->host = (alineo_host){.size = sizeof(adapter->host),
                                  .plugin_path = "",
                                  .state_dir = "",
                                  .run_dir = "",
                                  .alloc = host_alloc,
                                  .free = host_free,
                                  .fail = host_fail,
                                  .wrap = host_wrap,
                                  .log = host_log,
                                  .option_string = host_option_string,
                                  .option_integer = host_option_integer,
                                  .option_boolean = host_option_boolean,
                                  .now_ms = host_now,
                                  .call_cancelled = host_cancelled,
                                  .call_remaining_ms = host_remaining};
    wanted w = {id, NULL};
    (void)alineo_plugin_list(NULL, keep_path, &w, NULL);
    void *library = w.path != NULL ? dlopen(w.path, RTLD_NOW | RTLD_LOCAL) : NULL;
    char *symbol = al_strf("alineo_plugin_storage_%s", id);
    const alineo_plugin *plugin = library != NULL && symbol != NULL ? dlsym(library, symbol) : NULL;
    free(symbol);
    free(w.path);
    if (plugin == NULL) {
        fprintf(stderr, "alineo-bench: no storage adapter '%s' is on the plugin path\n", id);
        return false;
    }
    adapter->table = plugin->table;
    alineo_error *err = NULL;
    return adapter->table->open(&adapter->host, NULL, &adapter->self, &err) == ALINEO_OK;
}

void bench_adapter_close(bench_adapter *adapter) {
    if (adapter->self != NULL)
        adapter->table->close(adapter->self);
    adapter->self = NULL;
}
