/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/sqlite/sqlite_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/buf.h"
#include "core/util/cleanup.h"
#include "core/util/file.h"

#define BUSY_DEFAULT_MS 5000

/* By the boot, since times of the clock that leases use mean something within one alone. */
static void read_boot_id(alineo_storage *self) {
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    if (al_file_read("/proc/sys/kernel/random/boot_id", 64, &text) != 0)
        return;
    size_t size = strcspn(al_buf_str(&text), "\n");
    (void)snprintf(self->boot_id, sizeof(self->boot_id), "%.*s", (int)size, al_buf_str(&text));
}

static alineo_code read_options(alineo_storage *self, const alineo_options *options,
                                const char **path, alineo_error **err) {
    const alineo_host *host = self->host;
    const char *sync = "full";
    if (!host->option_string(host, options, "path", path) || **path == '\0')
        return host->fail(host, err, ALINEO_CONFIG_INVALID,
                          "set storage.path to the file that keeps the ledger",
                          "open storage sqlite: there is no path");
    (void)host->option_string(host, options, "sync", &sync);
    if (strcmp(sync, "full") != 0 && strcmp(sync, "normal") != 0)
        return host->fail(host, err, ALINEO_CONFIG_INVALID, "use \"full\" or \"normal\"",
                          "open storage sqlite: sync is \"%.40s\"", sync);
    self->sync_full = strcmp(sync, "full") == 0;
    self->busy_ms = BUSY_DEFAULT_MS;
    (void)host->option_integer(host, options, "busyTimeout", &self->busy_ms);
    if (self->busy_ms < 0)
        return host->fail(host, err, ALINEO_CONFIG_INVALID, NULL,
                          "open storage sqlite: busyTimeout is negative");
    return ALINEO_OK;
}

static void sqlite_close(alineo_storage *self) {
    if (self == NULL)
        return;
    sqlite_disconnect(&self->own_reader);
    sqlite_disconnect(&self->writer);
    sqlite_forget_newest(self);
    al_hash_free(&self->newest);
    (void)pthread_mutex_destroy(&self->writer.lock);
    (void)pthread_mutex_destroy(&self->own_reader.lock);
    free(self->path);
    free(self);
}

static alineo_storage *store_new(const alineo_host *host) {
    alineo_storage *self = calloc(1, sizeof(*self));
    if (self == NULL)
        return NULL;
    self->host = host;
    self->writer.store = self;
    self->own_reader.store = self;
    self->reader = &self->own_reader;
    if (pthread_mutex_init(&self->writer.lock, NULL) != 0) {
        free(self);
        return NULL;
    }
    if (pthread_mutex_init(&self->own_reader.lock, NULL) != 0) {
        (void)pthread_mutex_destroy(&self->writer.lock);
        free(self);
        return NULL;
    }
    read_boot_id(self);
    return self;
}

static alineo_code open_file(alineo_storage *self, const char *path, alineo_error **err) {
    alineo_code code = sqlite_file_prepare(self, path, err);
    if (code != ALINEO_OK)
        return code;
    al_autolock(&self->writer.lock);
    code = sqlite_connect(&self->writer, err);
    return code == ALINEO_OK ? sqlite_schema_prepare(&self->writer, err) : code;
}

static alineo_code sqlite_open(const alineo_host *host, const alineo_options *options,
                               alineo_storage **out, alineo_error **err) {
    alineo_storage *self = store_new(host);
    if (self == NULL)
        return host->fail(host, err, ALINEO_NO_MEMORY, NULL, "open storage sqlite: out of memory");
    const char *path = NULL;
    alineo_code code = read_options(self, options, &path, err);
    if (code == ALINEO_OK)
        code = open_file(self, path, err);
    if (code != ALINEO_OK) {
        sqlite_close(self);
        return code;
    }
    *out = self;
    return ALINEO_OK;
}

static const alineo_option_spec PATH = {
    sizeof(PATH),
    "path",
    ALINEO_OPTION_PATH,
    0,
    NULL,
    "The file that keeps the ledger, or \":memory:\"; folders above it are made."};
static const alineo_option_spec SYNC = {
    sizeof(SYNC),
    "sync",
    ALINEO_OPTION_STRING,
    0,
    "full",
    "\"full\": what is stored survives a loss of power; \"normal\": the end of the process."};
static const alineo_option_spec BUSY = {
    sizeof(BUSY),
    "busyTimeout",
    ALINEO_OPTION_DURATION,
    0,
    "5s",
    "How long to wait for another process that holds the file's lock."};
static const alineo_option_spec *const OPTIONS[] = {&PATH, &SYNC, &BUSY, NULL};

static const alineo_storage_descriptor DESCRIPTOR = {
    .size = sizeof(DESCRIPTOR),
    .title = "SQLite",
    .summary = "Keeps the ledger in a file that several processes may use at once.",
    .options = OPTIONS,
    .durable = ALINEO_DURABLE_POWER,
    .shared = 1,
};

static const alineo_storage_table TABLE = {
    .size = sizeof(TABLE),
    .open = sqlite_open,
    .close = sqlite_close,
    .append = sqlite_append,
    .read_open = sqlite_read_open,
    .read_next = sqlite_read_next,
    .read_close = sqlite_read_close,
    .session_list = sqlite_session_list,
    .session_get = sqlite_session_get,
    .session_delete = sqlite_session_delete,
    .environment_get = sqlite_environment_get,
    .environment_put = sqlite_environment_put,
    .environment_delete = sqlite_environment_delete,
    .environment_list = sqlite_environment_list,
    .lease_acquire = sqlite_lease_acquire,
    .lease_renew = sqlite_lease_renew,
    .lease_release = sqlite_lease_release,
    .meta_get = sqlite_meta_get,
    .meta_put = sqlite_meta_put,
    .follow = sqlite_follow,
    .stats = sqlite_stats,
    .prune = sqlite_prune,
};

ALINEO_PLUGIN(storage, sqlite, "sqlite", ALINEO_VERSION, &DESCRIPTOR, &TABLE)
