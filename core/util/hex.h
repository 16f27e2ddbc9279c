/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_HEX_H
#define ALINEO_UTIL_HEX_H

#include <stddef.h>

#include "compiler.h"

/* Lower-case digits and a NUL; OUT holds 2 * SIZE + 1 bytes. */
void al_hex_encode(const void *data, size_t size, char *out);

/* Reads exactly 2 * SIZE digits of either case, the whole of TEXT; else EINVAL. */
AL_MUST_CHECK int al_hex_decode(const char *text, void *out, size_t size);

#endif
