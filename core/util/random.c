/* SPDX-License-Identifier: Apache-2.0 */
#include "random.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/types.h>

int al_random_bytes(void *out, size_t size) {
    char *at = out;
    while (size > 0) {
        ssize_t got = getrandom(at, size, 0);
        if (got < 0) {
            if (errno == EINTR)
                continue;
            return errno;
        }
        at += got;
        size -= (size_t)got;
    }
    return 0;
}

int al_random_id(char *out, size_t length) {
    static const char digits[] = "0123456789abcdef";
    int rc = al_random_bytes(out, length);
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < length; i++)
        out[i] = digits[(unsigned char)out[i] & 15];
    out[length] = '\0';
    return 0;
}
