/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/helper/spool.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

int local_spool_init(struct local_spool *spool, size_t capacity) {
    /* Pages that were never touched cost nothing. */
    void *bytes = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED)
        return ENOMEM;
    *spool = (struct local_spool){bytes, capacity, 0};
    return 0;
}

void local_spool_free(struct local_spool *spool) {
    if (spool->bytes != NULL)
        (void)munmap(spool->bytes, spool->capacity);
    *spool = (struct local_spool){NULL, 0, 0};
}

void local_spool_put(struct local_spool *spool, const char *data, size_t size) {
    if (size > spool->capacity) {
        spool->end += size - spool->capacity;
        data += size - spool->capacity;
        size = spool->capacity;
    }
    while (size > 0) {
        size_t at = (size_t)(spool->end % spool->capacity);
        size_t piece = spool->capacity - at < size ? spool->capacity - at : size;
        memcpy(spool->bytes + at, data, piece);
        spool->end += piece;
        data += piece;
        size -= piece;
    }
}

uint64_t local_spool_begin(const struct local_spool *spool) {
    return spool->end > spool->capacity ? spool->end - spool->capacity : 0;
}

size_t local_spool_look(const struct local_spool *spool, uint64_t at, const char **data) {
    if (at >= spool->end)
        return 0;
    size_t offset = (size_t)(at % spool->capacity);
    uint64_t size = spool->end - at;
    *data = spool->bytes + offset;
    return size < spool->capacity - offset ? (size_t)size : spool->capacity - offset;
}
