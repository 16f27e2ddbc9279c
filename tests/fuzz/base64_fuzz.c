/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes survive; a text that is read is the one that would be written. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/base64.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool condition) {
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    al_auto(al_buf_free) al_buf back = AL_BUF_INIT;
    al_base64_append(&text, data, size);
    need(text.size == al_base64_encoded_size(size));
    need(al_base64_decode_append(al_buf_str(&text), text.size, &back) == 0);
    need(back.size == size && (size == 0 || memcmp(back.data, data, size) == 0));

    al_buf_clear(&text);
    al_buf_clear(&back);
    if (al_base64_decode_append((const char *)data, size, &back) == 0) {
        al_base64_append(&text, back.data, back.size);
        need(text.size == size && (size == 0 || memcmp(text.data, data, size) == 0));
    }
    return 0;
}
