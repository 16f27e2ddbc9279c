/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_LOSSY_TEXT_H
#define ALINEO_CORE_LOSSY_TEXT_H

/** Text for people and for JSON, of bytes that may be anything. */

#include "core/util/buf.h"

#include <stddef.h>

/** Appends the bytes as valid UTF-8 without U+0000: what is not gets U+FFFD for each byte. What is
 * longer than max_size is cut at a character and ends in "...". */
void al_lossy_append(al_buf *out, const void *data, size_t size, size_t max_size);

#endif
