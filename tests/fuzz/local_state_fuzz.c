/* SPDX-License-Identifier: Apache-2.0 */
/* State files with any content: what is understood is written again and must be the same. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/providers/local/entry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int condition) {
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct local_state state;
    int rc = local_state_parse(data, size, &state);
    need(rc == 0 || rc == EBADMSG || rc == ENOMEM);
    if (rc != 0)
        return 0;
    al_auto(al_buf_free) al_buf again = AL_BUF_INIT;
    local_state_format(&again, &state);
    need(again.error == 0 && again.size == size && memcmp(again.data, data, size) == 0);
    local_clear(&local_state_schema, &state);
    return 0;
}
