/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_JSON_ESCAPE_H
#define ALINEO_UTIL_JSON_ESCAPE_H

#include <stddef.h>

#include "buf.h"

/* Appends TEXT, which must be valid UTF-8, as a JSON string with its quotes. For the json*.c files
 * only. */
void al_json_append_string(al_buf *out, const char *text, size_t size);

#endif
