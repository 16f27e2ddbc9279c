/* SPDX-License-Identifier: Apache-2.0 */
/* A stream cut anywhere: chunks that wait for their tails are each as valid as the whole. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/util/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool condition) {
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t good = al_utf8_valid_size(data, size);
    need(good <= size);
    need(al_utf8_valid(data, good));
    need(al_utf8_valid(data, size) == (good == size));
    bool is_text = al_utf8_is_text(data, size);
    need(!is_text || good == size);
    need(!al_name_valid((const char *)data, size) || (is_text && size <= 255));
    for (size_t cut = 0; cut <= size && cut < 64; cut++) {
        size_t tail = al_utf8_tail(data, cut);
        need(tail <= 3 && tail <= cut);
        /* A character that is cut stands behind the last whole one. */
        if (cut <= good)
            need(al_utf8_valid(data, cut - tail));
        else if (tail > 0 && al_utf8_valid_size(data, cut) == cut - tail)
            need(!al_utf8_valid(data, cut));
    }
    return 0;
}
