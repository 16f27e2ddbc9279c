/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_WORDS_H
#define ALINEO_CORE_WORDS_H

#include "core/util/buf.h"

/** Appends the arguments as one line that a shell takes apart again into the same; NULL-terminated.
 */
void al_words_append(al_buf *out, const char *const *argv);

#endif
