/* SPDX-License-Identifier: Apache-2.0 */
#include <alineo/direct.h>

#include "core/binding.h"

#include <stdlib.h>

struct alineo_direct_storage {
    al_storage_binding *binding;
};

alineo_code alineo_direct_storage_open(const alineo_config *config, const alineo_own_storage *own,
                                       alineo_direct_storage **out, alineo_error **err) {
    alineo_config *found = NULL;
    if (config == NULL && own == NULL) {
        alineo_code code = alineo_config_load(NULL, &found, err);
        if (code != ALINEO_OK)
            return code;
        config = found;
    }
    alineo_direct_storage *storage = malloc(sizeof(*storage));
    if (storage == NULL) {
        alineo_config_free(found);
        return al_fail(err, ALINEO_NO_MEMORY, NULL, "open a storage adapter: no memory");
    }
    al_log silent = {NULL, NULL};
    alineo_code code = al_storage_open(config, own, silent, &storage->binding, err);
    alineo_config_free(found);
    if (code != ALINEO_OK) {
        free(storage);
        return code;
    }
    *out = storage;
    return ALINEO_OK;
}

const char *alineo_direct_storage_id(const alineo_direct_storage *storage) {
    return storage->binding->id;
}

const alineo_storage_table *alineo_direct_storage_table(const alineo_direct_storage *storage) {
    return storage->binding->table;
}

const alineo_storage_descriptor *
alineo_direct_storage_descriptor(const alineo_direct_storage *storage) {
    return storage->binding->descriptor;
}

alineo_storage *alineo_direct_storage_self(const alineo_direct_storage *storage) {
    return storage->binding->self;
}

void alineo_direct_storage_release(const alineo_direct_storage *storage, void *memory) {
    storage->binding->host->free(storage->binding->host, memory);
}

void alineo_direct_storage_close(alineo_direct_storage *storage) {
    if (storage == NULL)
        return;
    al_storage_close(storage->binding);
    free(storage);
}
