/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/postgres/postgres_store.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/secret.h"
#include "core/util/str.h"

enum {
    POOL_DEFAULT = 4,
    POOL_MAX = 64
};

/* --- the connection string -------------------------------------------------------------------- */

/* A password with '@', '/' or ':' that was not written as %40, %2F, %3A ends up in other parts,
 * from where it would get into messages. */
static bool is_misread(const PQconninfoOption *option) {
    if (option->val == NULL)
        return false;
    if (strcmp(option->keyword, "port") == 0)
        return strspn(option->val, "0123456789,") != strlen(option->val);
    if (strcmp(option->keyword, "host") == 0 || strcmp(option->keyword, "dbname") == 0)
        return strchr(option->val, '@') != NULL;
    return false;
}

/* What libpq says of a string that it cannot read may hold a piece of it, so that is not told. */
static alineo_code check_url(const alineo_host *host, const char *url, alineo_error **err) {
    char *message = NULL;
    PQconninfoOption *parts = PQconninfoParse(url, &message);
    bool is_good = parts != NULL;
    for (const PQconninfoOption *part = parts; is_good && part->keyword != NULL; part++)
        is_good = !is_misread(part);
    PQconninfoFree(parts);
    PQfreemem(message);
    if (is_good)
        return ALINEO_OK;
    return host->fail(host, err, ALINEO_CONFIG_INVALID,
                      "write it like postgres://user@host:5432/database, with special characters "
                      "of the password as %40 and so on, or set storage.password",
                      "open storage postgres: storage.url is no connection string");
}

/* --- options ---------------------------------------------------------------------------------- */

static alineo_code copy_string(alineo_storage *self, const alineo_options *options, const char *key,
                               char **to, alineo_error **err) {
    const char *value = NULL;
    if (!self->host->option_string(self->host, options, key, &value) || *value == '\0')
        return ALINEO_OK;
    *to = al_strdup(value);
    return *to != NULL ? ALINEO_OK : postgres_no_memory(self, "open", err);
}

static alineo_code read_strings(alineo_storage *self, const alineo_options *options,
                                alineo_error **err) {
    alineo_code code = copy_string(self, options, "url", &self->url, err);
    if (code == ALINEO_OK)
        code = copy_string(self, options, "password", &self->password, err);
    if (code == ALINEO_OK)
        code = copy_string(self, options, "schema", &self->schema, err);
    if (code == ALINEO_OK && self->url != NULL)
        code = check_url(self->host, self->url, err);
    return code;
}

static alineo_code read_options(alineo_storage *self, const alineo_options *options, size_t *pool,
                                alineo_error **err) {
    const alineo_host *host = self->host;
    const char *sync = "full";
    int64_t size = POOL_DEFAULT;
    (void)host->option_string(host, options, "sync", &sync);
    (void)host->option_integer(host, options, "poolSize", &size);
    if (strcmp(sync, "full") != 0 && strcmp(sync, "normal") != 0)
        return host->fail(host, err, ALINEO_CONFIG_INVALID, "use \"full\" or \"normal\"",
                          "open storage postgres: sync is \"%.40s\"", sync);
    if (size < 1 || size > POOL_MAX)
        return host->fail(host, err, ALINEO_CONFIG_INVALID, NULL,
                          "open storage postgres: poolSize is not from 1 to %d", POOL_MAX);
    self->sync_full = strcmp(sync, "full") == 0;
    *pool = (size_t)size;
    return read_strings(self, options, err);
}

/* --- open and close --------------------------------------------------------------------------- */

static void store_free(alineo_storage *self) {
    al_secret_free(self->url);
    al_secret_free(self->password);
    free(self->schema);
    free(self->target);
    free(self->numbers);
    free(self);
}

static void postgres_close(alineo_storage *self) {
    if (self == NULL)
        return;
    postgres_pool_free(&self->pool);
    store_free(self);
}

/* The first connection tells who refuses, and why. */
static alineo_code open_database(alineo_storage *self, alineo_error **err) {
    postgres_connection *first = NULL;
    alineo_code code = postgres_connect(self, true, &first, err);
    if (code != ALINEO_OK)
        return code;
    self->pool.idle = first;
    self->pool.count = 1;
    return postgres_schema_prepare(self, err);
}

static alineo_code postgres_open(const alineo_host *host, const alineo_options *options,
                                 alineo_storage **out, alineo_error **err) {
    alineo_storage *self = calloc(1, sizeof(*self));
    if (self == NULL)
        return host->fail(host, err, ALINEO_NO_MEMORY, NULL, "open storage postgres: no memory");
    self->host = host;
    self->pid = getpid();
    size_t pool = 0;
    alineo_code code = read_options(self, options, &pool, err);
    if (code == ALINEO_OK && postgres_pool_init(&self->pool, pool) != 0)
        code = postgres_no_memory(self, "open", err);
    if (code != ALINEO_OK) {
        store_free(self);
        return code;
    }
    code = open_database(self, err);
    if (code != ALINEO_OK) {
        postgres_close(self);
        return code;
    }
    *out = self;
    return ALINEO_OK;
}

/* --- the plugin ------------------------------------------------------------------------------- */

static const alineo_option_spec URL = {
    sizeof(URL),
    "url",
    ALINEO_OPTION_STRING,
    ALINEO_OPTION_SECRET,
    NULL,
    "Connection string, as libpq takes it: a URL, or key=value words; several hosts, TLS and all "
    "else go in here. What it leaves out the variables PGHOST, PGUSER, ... say."};
static const alineo_option_spec PASSWORD = {
    sizeof(PASSWORD),
    "password",
    ALINEO_OPTION_STRING,
    ALINEO_OPTION_SECRET,
    NULL,
    "The password, where it is not in the url, PGPASSWORD or a password file."};
static const alineo_option_spec SCHEMA = {
    sizeof(SCHEMA),
    "schema",
    ALINEO_OPTION_STRING,
    0,
    NULL,
    "The schema of the database that holds the tables, made where it is not there; else the first "
    "of the search path."};
static const alineo_option_spec POOL = {sizeof(POOL),
                                        "poolSize",
                                        ALINEO_OPTION_INTEGER,
                                        0,
                                        "4",
                                        "Connections at most, without those that follow."};
static const alineo_option_spec SYNC = {
    sizeof(SYNC),
    "sync",
    ALINEO_OPTION_STRING,
    0,
    "full",
    "\"full\": what is stored survives a loss of power of the server; \"normal\": the end of this "
    "process, while the server may lose the last half second."};
static const alineo_option_spec *const OPTIONS[] = {&URL, &PASSWORD, &SCHEMA, &POOL, &SYNC, NULL};

static const alineo_storage_descriptor DESCRIPTOR = {
    .size = sizeof(DESCRIPTOR),
    .title = "PostgreSQL",
    .summary = "Keeps the ledger in a PostgreSQL database that many machines may use at once.",
    .options = OPTIONS,
    .durable = ALINEO_DURABLE_POWER,
    .shared = 1,
};

static const alineo_storage_table TABLE = {
    .size = sizeof(TABLE),
    .open = postgres_open,
    .close = postgres_close,
    .append = postgres_append,
    .read_open = postgres_read_open,
    .read_next = postgres_read_next,
    .read_close = postgres_read_close,
    .session_list = postgres_session_list,
    .session_get = postgres_session_get,
    .session_delete = postgres_session_delete,
    .environment_get = postgres_environment_get,
    .environment_put = postgres_environment_put,
    .environment_delete = postgres_environment_delete,
    .environment_list = postgres_environment_list,
    .lease_acquire = postgres_lease_acquire,
    .lease_renew = postgres_lease_renew,
    .lease_release = postgres_lease_release,
    .meta_get = postgres_meta_get,
    .meta_put = postgres_meta_put,
    .follow = postgres_follow,
    .stats = postgres_stats,
    .prune = postgres_prune,
};

ALINEO_PLUGIN(storage, postgres, "postgres", ALINEO_VERSION, &DESCRIPTOR, &TABLE)
