/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_STRUCT_H
#define ALINEO_CORE_STRUCT_H

/** Structs that begin with their size and cross the border of the library. */

#include "core/fail.h"

/**
 * Copies a caller's struct of options, which may be of another age than ours, into *out: what the
 * caller does not know is zero, the default. NULL `given` is all defaults. INVALID_ARGUMENT: the
 * size makes no sense, or a field that we do not know is set. `name` is for the message.
 */
alineo_code al_struct_read(void *out, size_t out_size, const void *given, const char *name,
                           alineo_error **err);
#define AL_STRUCT_READ(out, given, name, err)                                                      \
    al_struct_read((out), sizeof(*(out)) + 0 * sizeof((out) == (given)), (given), (name), (err))

/** Whether `member` lies within the size that the struct at `pointer` has. */
#define AL_STRUCT_HAS(pointer, member)                                                             \
    ((pointer)->size >= offsetof(__typeof__(*(pointer)), member) + sizeof((pointer)->member))

#endif
