/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lossy_text.h"

#include "core/util/utf8.h"

#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"
#define CUT_MARK "..."

/* Size of the text at the front that can stay as it is. */
static size_t good_size(const char *data, size_t size) {
    const char *nul = memchr(data, 0, size);
    return al_utf8_valid_size(data, nul == NULL ? size : (size_t)(nul - data));
}

void al_lossy_append(al_buf *out, const void *data, size_t size, size_t max_size) {
    const char *at = data;
    size_t left = size < max_size ? size : max_size;
    if (left < size)
        left -= al_utf8_tail(at, left);
    while (left > 0) {
        size_t good = good_size(at, left);
        al_buf_append(out, at, good);
        if (good < left) {
            al_buf_append_str(out, REPLACEMENT);
            good++;
        }
        at += good;
        left -= good;
    }
    if (size > max_size)
        al_buf_append_str(out, CUT_MARK);
}
