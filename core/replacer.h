/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_REPLACER_H
#define ALINEO_CORE_REPLACER_H

/** Replaces every occurrence of some bytes in what flows through, however it is cut into pieces. */

#include "core/util/buf.h"

#include <stdint.h>

typedef struct al_replacer {
    const char *find; /* at least one byte; the caller's, as is the next */
    size_t find_size;
    const char *replacement;
    size_t replacement_size;
    al_buf held; /* what may be the beginning of an occurrence */
    uint64_t count;
} al_replacer;

/** Takes more bytes and appends to `out` what is sure by then. ENOMEM. */
AL_MUST_CHECK int al_replacer_feed(al_replacer *replacer, const char *data, size_t size,
                                   al_buf *out);
/** The end: appends the rest. ENOMEM. */
AL_MUST_CHECK int al_replacer_end(al_replacer *replacer, al_buf *out);
void al_replacer_clear(al_replacer *replacer);
AL_CLEANUP_INSIDE(al_replacer, al_replacer_clear);

#endif
