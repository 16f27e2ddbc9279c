/* SPDX-License-Identifier: Apache-2.0 */
#include "core/replacer.h"

#include <string.h>

int al_replacer_feed(al_replacer *replacer, const char *data, size_t size, al_buf *out) {
    al_buf *held = &replacer->held;
    al_buf_append(held, data, size);
    if (held->error != 0)
        return held->error;
    size_t at = 0;
    for (;;) {
        const char *from = held->data + at;
        size_t left = held->size - at;
        const char *found =
            left > 0 ? memmem(from, left, replacer->find, replacer->find_size) : NULL;
        if (found == NULL)
            break;
        al_buf_append(out, from, (size_t)(found - from));
        al_buf_append(out, replacer->replacement, replacer->replacement_size);
        at += (size_t)(found - from) + replacer->find_size;
        replacer->count++;
    }
    /* One byte less than what is looked for may be its beginning. */
    size_t left = held->size - at;
    size_t keep = left < replacer->find_size ? left : replacer->find_size - 1;
    al_buf_append(out, held->data + at, left - keep);
    al_buf_consume(held, held->size - keep);
    return out->error;
}

int al_replacer_end(al_replacer *replacer, al_buf *out) {
    al_buf_append(out, replacer->held.data, replacer->held.size);
    al_buf_clear(&replacer->held);
    return out->error;
}

void al_replacer_clear(al_replacer *replacer) {
    al_buf_free(&replacer->held);
}
