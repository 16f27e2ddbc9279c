/* SPDX-License-Identifier: Apache-2.0 */
/* What stat and find of a sandbox print, in pieces whose size the first byte says. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/file_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int32_t look(void *user, const alineo_file_info *info) {
    size_t *total = user;
    *total += strlen(info->path) + strlen(info->owner) + strlen(info->group);
    *total += info->link_target != NULL ? strlen(info->link_target) : 0;
    return *total > 1000000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    size_t piece = (size_t)data[0] + 1;
    size_t total = 0;
    al_file_listing listing = {.found = look, .user = &total};
    int rc = 0;
    for (size_t at = 1; at < size && rc == 0; at += piece) {
        size_t left = size - at;
        rc = al_file_listing_feed(&listing, (const char *)data + at, left < piece ? left : piece);
    }
    (void)al_file_listing_is_whole(&listing);
    al_file_listing_clear(&listing);
    return 0;
}
