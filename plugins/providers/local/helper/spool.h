/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_SPOOL_H
#define ALINEO_LOCAL_SPOOL_H

/* The last bytes of a stream: all that were ever put are counted, so many as there is room for are
 * kept. */

#include <stddef.h>
#include <stdint.h>

#include "core/util/compiler.h"

/* All zero is valid and keeps nothing. */
struct local_spool {
    char *bytes;
    size_t capacity;
    uint64_t end; /* bytes put so far */
};

/* Memory is taken as it is filled. ENOMEM. */
AL_MUST_CHECK int local_spool_init(struct local_spool *spool, size_t capacity);
void local_spool_free(struct local_spool *spool);

void local_spool_put(struct local_spool *spool, const char *data, size_t size);

/* The first byte that is still there. */
uint64_t local_spool_begin(const struct local_spool *spool);

/* Bytes from position AT on (which is kept, or the end) that lie in a row; *DATA is theirs. */
size_t local_spool_look(const struct local_spool *spool, uint64_t at, const char **data);

#endif
