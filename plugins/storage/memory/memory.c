/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/memory/memory_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

alineo_code memory_no_memory(const alineo_storage *self, const char *doing, alineo_error **err) {
    return self->host->fail(self->host, err, ALINEO_NO_MEMORY, NULL, "%s: out of memory", doing);
}

alineo_code memory_check_call(const alineo_storage *self, alineo_call *call, const char *doing,
                              alineo_error **err) {
    const alineo_host *host = self->host;
    if (host->call_cancelled(host, call))
        return host->fail(host, err, ALINEO_CANCELLED, NULL, "%s: cancelled", doing);
    if (host->call_remaining_ms(host, call) == 0)
        return host->fail(host, err, ALINEO_TIMEOUT, NULL, "%s: out of time", doing);
    return ALINEO_OK;
}

bool memory_reserve(void *items, size_t *capacity, size_t count, size_t more, size_t size) {
    if (count + more <= *capacity)
        return true;
    size_t wanted = *capacity * 2 > count + more ? *capacity * 2 : count + more + 8;
    void *old;
    memcpy(&old, items, sizeof(old));
    void *moved = reallocarray(old, wanted, size);
    if (moved == NULL)
        return false;
    memcpy(items, &moved, sizeof(moved));
    *capacity = wanted;
    return true;
}

static int init_condition(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    int rc = pthread_condattr_init(&attributes);
    if (rc != 0)
        return rc;
    rc = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (rc == 0)
        rc = pthread_cond_init(condition, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    return rc;
}

static alineo_code memory_open(const alineo_host *host, const alineo_options *options,
                               alineo_storage **self, alineo_error **err) {
    (void)options;
    alineo_storage *store = calloc(1, sizeof(*store));
    if (store == NULL)
        return host->fail(host, err, ALINEO_NO_MEMORY, NULL, "open storage memory: out of memory");
    store->host = host;
    if (pthread_mutex_init(&store->lock, NULL) != 0) {
        free(store);
        return host->fail(host, err, ALINEO_INTERNAL, NULL, "open storage memory: make a lock");
    }
    if (init_condition(&store->appended) != 0) {
        (void)pthread_mutex_destroy(&store->lock);
        free(store);
        return host->fail(host, err, ALINEO_INTERNAL, NULL, "open storage memory: make a lock");
    }
    *self = store;
    return ALINEO_OK;
}

static void memory_close(alineo_storage *self) {
    if (self == NULL)
        return;
    for (size_t i = 0; i < self->all.count; i++)
        free(self->all.items[i]);
    free(self->all.items);
    size_t at = 0;
    void *value = NULL;
    while (al_hash_next(&self->sessions, &at, NULL, &value))
        memory_session_free(value);
    al_hash_free(&self->sessions);
    at = 0;
    while (al_hash_next(&self->writers, &at, NULL, &value))
        free(value);
    al_hash_free(&self->writers);
    free(self->listing.items);
    memory_records_free(self);
    (void)pthread_cond_destroy(&self->appended);
    (void)pthread_mutex_destroy(&self->lock);
    free(self);
}

static alineo_code memory_stats(alineo_storage *self, alineo_call *call,
                                alineo_storage_stats *stats, alineo_error **err) {
    (void)call;
    (void)err;
    (void)pthread_mutex_lock(&self->lock);
    stats->sessions = self->listing.count;
    stats->events = self->all.count;
    stats->bytes = self->text_size + self->all.count * sizeof(memory_event);
    (void)pthread_mutex_unlock(&self->lock);
    return ALINEO_OK;
}

static const alineo_storage_descriptor DESCRIPTOR = {
    .size = sizeof(DESCRIPTOR),
    .title = "Memory",
    .summary = "Keeps the ledger in this process; it ends with the client.",
    .durable = 0,
    .shared = 0,
};

static const alineo_storage_table TABLE = {
    .size = sizeof(TABLE),
    .open = memory_open,
    .close = memory_close,
    .append = memory_append,
    .read_open = memory_read_open,
    .read_next = memory_read_next,
    .read_close = memory_read_close,
    .session_list = memory_session_list,
    .session_get = memory_session_get,
    .session_delete = memory_session_delete,
    .environment_get = memory_environment_get,
    .environment_put = memory_environment_put,
    .environment_delete = memory_environment_delete,
    .environment_list = memory_environment_list,
    .lease_acquire = memory_lease_acquire,
    .lease_renew = memory_lease_renew,
    .lease_release = memory_lease_release,
    .meta_get = memory_meta_get,
    .meta_put = memory_meta_put,
    .follow = memory_follow,
    .stats = memory_stats,
    .prune = memory_prune,
};

ALINEO_PLUGIN(storage, memory, "memory", ALINEO_VERSION, &DESCRIPTOR, &TABLE)
