/* SPDX-License-Identifier: Apache-2.0 */
/* A time that is read and lies in the years that can be written comes back the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/cleanup.h"
#include "core/util/clock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool condition) {
    if (!condition)
        abort();
}

static void check_written(int64_t ms, bool is_exact) {
    char written[AL_TIME_TEXT_SIZE];
    int64_t back;
    al_time_format(ms, written);
    need(strlen(written) == AL_TIME_TEXT_SIZE - 1);
    need(al_time_parse(written, &back) == 0);
    need(back == ms || !is_exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    al_autofree char *text = strndup((const char *)data, size);
    int64_t ms = 0;
    if (text != NULL && al_time_parse(text, &ms) == 0) {
        const int64_t day = 86400000;
        check_written(ms, ms >= -62167219200000 + day && ms < 253402300800000 - day);
    }
    if (size >= sizeof(ms)) {
        memcpy(&ms, data, sizeof(ms));
        check_written(ms, false);
    }
    return 0;
}
