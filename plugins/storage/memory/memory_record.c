/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/memory/memory_store.h"

#include <stdlib.h>
#include <string.h>

#include "core/util/cleanup.h"
#include "core/util/str.h"

/* --- environments ----------------------------------------------------------------------------- */

static void environment_free(memory_environment *environment) {
    if (environment == NULL)
        return;
    free(environment->name);
    free(environment->snapshot_id);
    free(environment->image);
    free(environment->detail);
    free(environment);
}

static memory_environment *environment_new(const char *name, const char *snapshot_id,
                                           const char *image, const char *detail,
                                           int64_t built_at_ms) {
    memory_environment *own = calloc(1, sizeof(*own));
    if (own == NULL)
        return NULL;
    own->name = al_strdup(name);
    own->snapshot_id = al_strdup(snapshot_id);
    own->image = al_strdup(image);
    own->detail = al_strdup(detail);
    own->built_at_ms = built_at_ms;
    if (own->name == NULL || own->snapshot_id == NULL || own->image == NULL ||
        (detail != NULL && own->detail == NULL)) {
        environment_free(own);
        return NULL;
    }
    return own;
}

static memory_environment *environment_copy(const memory_environment *other) {
    return environment_new(other->name, other->snapshot_id, other->image, other->detail,
                           other->built_at_ms);
}

static int32_t give_environment(const memory_environment *environment, alineo_environment_fn *found,
                                void *user) {
    const alineo_environment_record record = {sizeof(record),           environment->name,
                                              environment->snapshot_id, environment->image,
                                              environment->built_at_ms, environment->detail};
    return found(user, &record);
}

alineo_code memory_environment_get(alineo_storage *self, const char *name,
                                   alineo_environment_fn *found, void *user, alineo_error **err) {
    (void)al_lock(&self->lock);
    const memory_environment *environment = al_hash_get(&self->environments, name);
    memory_environment *copy = environment != NULL ? environment_copy(environment) : NULL;
    (void)pthread_mutex_unlock(&self->lock);
    if (environment == NULL)
        return self->host->fail(self->host, err, ALINEO_ENVIRONMENT_NOT_FOUND, NULL,
                                "storage memory has no environment %s", name);
    if (copy == NULL)
        return memory_no_memory(self, "look up an environment in storage memory", err);
    (void)give_environment(copy, found, user);
    environment_free(copy);
    return ALINEO_OK;
}

alineo_code memory_environment_put(alineo_storage *self, const alineo_environment_record *record,
                                   alineo_error **err) {
    memory_environment *own = environment_new(record->name, record->snapshot_id, record->image,
                                              record->detail, record->built_at_ms);
    if (own == NULL)
        return memory_no_memory(self, "keep an environment in storage memory", err);
    void *old = NULL;
    (void)al_lock(&self->lock);
    int rc = al_hash_set(&self->environments, record->name, own, &old);
    (void)pthread_mutex_unlock(&self->lock);
    environment_free(rc == 0 ? old : own);
    return rc == 0 ? ALINEO_OK
                   : memory_no_memory(self, "keep an environment in storage memory", err);
}

alineo_code memory_environment_delete(alineo_storage *self, const char *name, int32_t *removed,
                                      alineo_error **err) {
    (void)err;
    (void)al_lock(&self->lock);
    memory_environment *old = al_hash_remove(&self->environments, name);
    (void)pthread_mutex_unlock(&self->lock);
    *removed = old != NULL;
    environment_free(old);
    return ALINEO_OK;
}

static int newest_first(const void *left, const void *right) {
    const memory_environment *a, *b;
    memcpy(&a, left, sizeof(a));
    memcpy(&b, right, sizeof(b));
    if (a->built_at_ms != b->built_at_ms)
        return a->built_at_ms > b->built_at_ms ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Copies of all; *count of them, *whole says whether none is missing. */
static memory_environment **copy_environments(alineo_storage *self, size_t *count, bool *whole) {
    al_autolock(&self->lock);
    *count = 0;
    *whole = false;
    memory_environment **copies =
        calloc(self->environments.count + 1, sizeof(memory_environment *));
    if (copies == NULL)
        return NULL;
    size_t at = 0;
    void *value = NULL;
    while (al_hash_next(&self->environments, &at, NULL, &value)) {
        copies[*count] = environment_copy(value);
        if (copies[*count] == NULL)
            return copies;
        (*count)++;
    }
    *whole = true;
    return copies;
}

alineo_code memory_environment_list(alineo_storage *self, alineo_environment_fn *found, void *user,
                                    alineo_error **err) {
    size_t count = 0;
    bool whole = false;
    memory_environment **copies = copy_environments(self, &count, &whole);
    if (whole) {
        qsort(copies, count, sizeof(memory_environment *), newest_first);
        for (size_t i = 0; i < count; i++)
            if (give_environment(copies[i], found, user) != 0)
                break;
    }
    for (size_t i = 0; i < count; i++)
        environment_free(copies[i]);
    free(copies);
    return whole ? ALINEO_OK : memory_no_memory(self, "list environments of storage memory", err);
}

/* --- leases ----------------------------------------------------------------------------------- */

static void lease_free(memory_lease *lease) {
    if (lease == NULL)
        return;
    free(lease->owner);
    free(lease);
}

static alineo_code lease_taken(alineo_storage *self, const char *key, const char *owner,
                               alineo_error **err) {
    return self->host->fail(self->host, err, ALINEO_CONFLICT, NULL,
                            "the lease %s is not %s's in storage memory", key, owner);
}

/* With the lock held: the lease, if it has not expired. */
static memory_lease *live_lease(alineo_storage *self, const char *key) {
    memory_lease *lease = al_hash_get(&self->leases, key);
    return lease != NULL && lease->expires_at_ms > self->host->boottime_ms(self->host) ? lease
                                                                                       : NULL;
}

static int64_t expiry(const alineo_storage *self, int64_t ttl_ms) {
    int64_t now = self->host->boottime_ms(self->host);
    return ttl_ms < INT64_MAX - now ? now + ttl_ms : INT64_MAX;
}

alineo_code memory_lease_acquire(alineo_storage *self, const char *key, const char *owner,
                                 int64_t ttl_ms, alineo_error **err) {
    al_autolock(&self->lock);
    memory_lease *lease = live_lease(self, key);
    if (lease != NULL && strcmp(lease->owner, owner) != 0)
        return lease_taken(self, key, owner, err);
    memory_lease *own = calloc(1, sizeof(*own));
    if (own == NULL)
        return memory_no_memory(self, "take a lease in storage memory", err);
    void *old = NULL;
    own->owner = al_strdup(owner);
    own->expires_at_ms = expiry(self, ttl_ms);
    if (own->owner == NULL || al_hash_set(&self->leases, key, own, &old) != 0) {
        lease_free(own);
        return memory_no_memory(self, "take a lease in storage memory", err);
    }
    lease_free(old);
    return ALINEO_OK;
}

alineo_code memory_lease_renew(alineo_storage *self, const char *key, const char *owner,
                               int64_t ttl_ms, alineo_error **err) {
    al_autolock(&self->lock);
    memory_lease *lease = live_lease(self, key);
    if (lease == NULL || strcmp(lease->owner, owner) != 0)
        return lease_taken(self, key, owner, err);
    lease->expires_at_ms = expiry(self, ttl_ms);
    return ALINEO_OK;
}

alineo_code memory_lease_release(alineo_storage *self, const char *key, const char *owner,
                                 alineo_error **err) {
    al_autolock(&self->lock);
    memory_lease *lease = live_lease(self, key);
    if (lease == NULL || strcmp(lease->owner, owner) != 0)
        return lease_taken(self, key, owner, err);
    lease_free(al_hash_remove(&self->leases, key));
    return ALINEO_OK;
}

/* --- meta ------------------------------------------------------------------------------------- */

alineo_code memory_meta_get(alineo_storage *self, const char *key, char **value,
                            alineo_error **err) {
    al_autolock(&self->lock);
    const char *own = al_hash_get(&self->meta, key);
    if (own == NULL) {
        *value = NULL;
        return ALINEO_OK;
    }
    size_t size = strlen(own) + 1;
    char *copy = self->host->alloc(self->host, size);
    if (copy == NULL)
        return memory_no_memory(self, "read from storage memory", err);
    *value = memcpy(copy, own, size);
    return ALINEO_OK;
}

alineo_code memory_meta_put(alineo_storage *self, const char *key, const char *value,
                            uint32_t flags, alineo_error **err) {
    al_autolock(&self->lock);
    if ((flags & ALINEO_META_IF_ABSENT) != 0 && al_hash_get(&self->meta, key) != NULL)
        return ALINEO_OK;
    void *old = NULL;
    char *own = al_strdup(value);
    if (own == NULL || al_hash_set(&self->meta, key, own, &old) != 0) {
        free(own);
        return memory_no_memory(self, "write to storage memory", err);
    }
    free(old);
    return ALINEO_OK;
}

void memory_records_free(alineo_storage *self) {
    size_t at = 0;
    void *value = NULL;
    while (al_hash_next(&self->environments, &at, NULL, &value))
        environment_free(value);
    al_hash_free(&self->environments);
    at = 0;
    while (al_hash_next(&self->leases, &at, NULL, &value))
        lease_free(value);
    al_hash_free(&self->leases);
    at = 0;
    while (al_hash_next(&self->meta, &at, NULL, &value))
        free(value);
    al_hash_free(&self->meta);
}
