/* SPDX-License-Identifier: Apache-2.0 */
/* A storage that keeps nothing, passed in as the host program's own: what is left is what streaming
 * costs without a ledger. */
#include "bench/bench.h"

#include <string.h>

struct alineo_storage {
    const alineo_host *host;
};

static alineo_code null_open(const alineo_host *host, const alineo_options *options,
                             alineo_storage **self, alineo_error **err) {
    (void)options;
    alineo_storage *storage = host->alloc(host, sizeof(*storage));
    if (storage == NULL)
        return host->fail(host, err, ALINEO_NO_MEMORY, NULL, "open the null storage: no memory");
    storage->host = host;
    *self = storage;
    return ALINEO_OK;
}

static void null_close(alineo_storage *self) {
    if (self != NULL)
        self->host->free(self->host, self);
}

static alineo_code null_append(alineo_storage *self, const alineo_ledger_batch *batch,
                               size_t *failed_index, alineo_error **err) {
    (void)self, (void)batch, (void)failed_index, (void)err;
    return ALINEO_OK;
}

static alineo_code null_read_open(alineo_storage *self, const alineo_read_request *request,
                                  alineo_storage_reader **reader, alineo_error **err) {
    (void)self, (void)request, (void)err;
    *reader = NULL;
    return ALINEO_OK;
}

static alineo_code null_read_next(alineo_storage *self, alineo_storage_reader *reader,
                                  alineo_ledger_record *record, int32_t *found,
                                  alineo_error **err) {
    (void)self, (void)reader, (void)record, (void)err;
    *found = 0;
    return ALINEO_OK;
}

static void null_read_close(alineo_storage *self, alineo_storage_reader *reader) {
    (void)self, (void)reader;
}

static alineo_code null_session_list(alineo_storage *self, const alineo_session_request *request,
                                     alineo_call *call, alineo_session_fn *found, void *user,
                                     char **next_cursor, alineo_error **err) {
    (void)self, (void)request, (void)call, (void)found, (void)user, (void)err;
    *next_cursor = NULL;
    return ALINEO_OK;
}

static alineo_code null_session_get(alineo_storage *self, const char *name, const char *sandbox_id,
                                    alineo_session_fn *found, void *user, alineo_error **err) {
    (void)name, (void)found, (void)user;
    return self->host->fail(self->host, err, ALINEO_SESSION_NOT_FOUND, NULL,
                            "session %s: nothing is kept", sandbox_id);
}

static alineo_code null_session_delete(alineo_storage *self, const char *name,
                                       const char *sandbox_id, uint64_t *removed,
                                       alineo_error **err) {
    (void)self, (void)name, (void)sandbox_id, (void)err;
    *removed = 0;
    return ALINEO_OK;
}

static alineo_code null_environment_get(alineo_storage *self, const char *name,
                                        alineo_environment_fn *found, void *user,
                                        alineo_error **err) {
    (void)found, (void)user;
    return self->host->fail(self->host, err, ALINEO_ENVIRONMENT_NOT_FOUND, NULL,
                            "environment %s: nothing is kept", name);
}

static alineo_code null_environment_put(alineo_storage *self,
                                        const alineo_environment_record *record,
                                        alineo_error **err) {
    (void)self, (void)record, (void)err;
    return ALINEO_OK;
}

static alineo_code null_environment_delete(alineo_storage *self, const char *name, int32_t *removed,
                                           alineo_error **err) {
    (void)self, (void)name, (void)err;
    *removed = 0;
    return ALINEO_OK;
}

static alineo_code null_environment_list(alineo_storage *self, alineo_environment_fn *found,
                                         void *user, alineo_error **err) {
    (void)self, (void)found, (void)user, (void)err;
    return ALINEO_OK;
}

static alineo_code null_lease(alineo_storage *self, const char *key, const char *owner,
                              int64_t ttl_ms, alineo_error **err) {
    (void)self, (void)key, (void)owner, (void)ttl_ms, (void)err;
    return ALINEO_OK;
}

static alineo_code null_lease_release(alineo_storage *self, const char *key, const char *owner,
                                      alineo_error **err) {
    (void)self, (void)key, (void)owner, (void)err;
    return ALINEO_OK;
}

/* The one fact that a client asks for is the ledger's id. */
static alineo_code null_meta_get(alineo_storage *self, const char *key, char **value,
                                 alineo_error **err) {
    static const char id[] = "00000000000000000000000000000000";
    char *copy = self->host->alloc(self->host, sizeof(id));
    (void)key;
    if (copy == NULL)
        return self->host->fail(self->host, err, ALINEO_NO_MEMORY, NULL, "read a fact: no memory");
    memcpy(copy, id, sizeof(id));
    *value = copy;
    return ALINEO_OK;
}

static alineo_code null_meta_put(alineo_storage *self, const char *key, const char *value,
                                 uint32_t flags, alineo_error **err) {
    (void)self, (void)key, (void)value, (void)flags, (void)err;
    return ALINEO_OK;
}

static const alineo_storage_descriptor descriptor = {
    sizeof(descriptor), "Nothing", "Keeps nothing; for measuring.", NULL, 0, 0};

static const alineo_storage_table table = {
    .size = sizeof(table),
    .open = null_open,
    .close = null_close,
    .append = null_append,
    .read_open = null_read_open,
    .read_next = null_read_next,
    .read_close = null_read_close,
    .session_list = null_session_list,
    .session_get = null_session_get,
    .session_delete = null_session_delete,
    .environment_get = null_environment_get,
    .environment_put = null_environment_put,
    .environment_delete = null_environment_delete,
    .environment_list = null_environment_list,
    .lease_acquire = null_lease,
    .lease_renew = null_lease,
    .lease_release = null_lease_release,
    .meta_get = null_meta_get,
    .meta_put = null_meta_put,
};

const alineo_own_storage bench_null_storage = {sizeof(bench_null_storage), "null", &descriptor,
                                               &table, NULL};
