/* SPDX-License-Identifier: Apache-2.0 */
#include "core/struct.h"

#include <string.h>

/* No struct of ours is ever so large: a size beyond is a caller that set none. */
static const size_t max_struct_size = 4096;

alineo_code al_struct_read(void *out, size_t out_size, const void *given, const char *name,
                           alineo_error **err) {
    memset(out, 0, out_size);
    size_t size = 0;
    if (given != NULL) {
        memcpy(&size, given, sizeof(size));
        if (size < sizeof(size) || size > max_struct_size)
            return al_fail(err, ALINEO_INVALID_ARGUMENT,
                           "initialise it with its _INIT macro or _init() function",
                           "%s: its size field is %zu", name, size);
        const unsigned char *bytes = given;
        for (size_t i = out_size; i < size; i++) {
            if (bytes[i] != 0)
                return al_fail(err, ALINEO_INVALID_ARGUMENT,
                               "build against the headers of the library that runs, or update it",
                               "%s: a field is set that this version of the library lacks", name);
        }
        memcpy(out, given, size < out_size ? size : out_size);
    }
    memcpy(out, &out_size, sizeof(out_size));
    return ALINEO_OK;
}
