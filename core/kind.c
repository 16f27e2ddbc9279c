/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kind.h"

#include <string.h>

static const char *const kind_names[AL_KIND_COUNT] = {
    [AL_KIND_PROVIDER] = "provider",
    [AL_KIND_STORAGE] = "storage",
    [AL_KIND_CREDENTIALS] = "credentials",
};

const char *al_kind_name(al_kind kind) {
    return kind_names[kind];
}

bool al_kind_from_name(const char *name, size_t size, al_kind *out) {
    for (int i = 0; i < AL_KIND_COUNT; i++) {
        if (strlen(kind_names[i]) == size && memcmp(kind_names[i], name, size) == 0) {
            *out = (al_kind)i;
            return true;
        }
    }
    return false;
}

bool al_plugin_id_valid(const char *id) {
    static const char first[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    static const char later[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    if (id == NULL || *id == '\0' || strchr(first, *id) == NULL)
        return false;
    size_t size = strnlen(id, 65);
    return size <= 64 && strspn(id, later) == size;
}
