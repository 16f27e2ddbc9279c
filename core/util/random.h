/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_RANDOM_H
#define ALINEO_UTIL_RANDOM_H

#include <stddef.h>

#include "compiler.h"

/* SIZE bytes from the kernel's generator, good for keys. May wait early in the boot; else it does
 * not fail on any kernel that has getrandom(). */
AL_MUST_CHECK int al_random_bytes(void *out, size_t size);

/* An id of LENGTH lower-case hexadecimal digits (4 bits of chance each) and a NUL; OUT holds LENGTH
 * + 1 bytes. */
AL_MUST_CHECK int al_random_id(char *out, size_t length);

#endif
