/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_COMPILER_H
#define ALINEO_UTIL_COMPILER_H

/* Compiler attributes under names of our own, and two macros that C lacks.
 *
 * Conventions of all headers in this folder, unless a function says otherwise:
 * - A function that returns int gives 0, or a positive errno value that says what failed; errno
 * itself is then unspecified.
 * - Outputs are untouched on failure.
 * - `size` is bytes, `count` is items; strings end in NUL.
 * - A returned `char *` is the caller's, to be ended with free(); NULL means out of memory.
 * - Pointers must not be NULL, except where the comment allows it. Free functions take NULL.
 * - Nothing is locked inside: an object belongs to one thread at a time; functions without an
 * object may run anywhere.
 * - Nothing depends on the locale, prints, exits or leaves a descriptor open across exec. */

#include <stddef.h>

#define AL_MUST_CHECK __attribute__((warn_unused_result))
#define AL_UNUSED __attribute__((unused))
#define AL_PRINTF(format_index, first_index)                                                       \
    __attribute__((format(printf, format_index, first_index)))

/* Number of items of an array (not of a pointer). */
#define AL_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The struct of TYPE whose MEMBER is at POINTER. */
#define AL_CONTAINER(pointer, type, member)                                                        \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#define AL_CONCAT_(a, b) a##b
#define AL_CONCAT(a, b) AL_CONCAT_(a, b)

#endif
