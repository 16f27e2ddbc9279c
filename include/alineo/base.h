/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_BASE_H
#define ALINEO_BASE_H

/**
 * What every header of alineo shares: the export mark, the result type, and the conventions.
 *
 * Conventions, said once:
 *
 * - A function that can fail returns an `alineo_code` (0 is success) and takes `alineo_error **err`
 *   last. `err` may be NULL. `*err` is written on failure only and is then the caller's (drop it
 *   with alineo_error_free). Outputs are untouched on failure, unless the function says otherwise.
 *   Accessors that cannot fail return their value.
 * - Structs of options and of output begin with `size_t size`. Initialise them with their _INIT
 *   macro (C) or their _init() function (other languages). All-zero bytes after `size` mean the
 *   defaults. Structs only ever grow at their end; a caller built against an older header passes a
 *   smaller `size`. Unknown bits in a flags word are refused with ALINEO_INVALID_ARGUMENT.
 * - Strings are UTF-8 with a terminating NUL. Bytes are a pointer and a size. Units stand in names:
 *   `_ms` milliseconds, `size` bytes, `count` items. Wall-clock times are Unix milliseconds.
 * - Lists of pairs (`env`, `metadata`) are arrays of strings: name, value, name, value, ..., NULL.
 *   A NULL array is an empty one.
 * - What goes in is copied where it is needed after the call returned; nothing of the caller's is
 *   kept, except what the comment names (a `user` pointer, a table of functions).
 * - Free functions take NULL.
 */

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#error "alineo is for Linux"
#endif

#if defined(__GNUC__)
#define ALINEO_API __attribute__((visibility("default")))
#define ALINEO_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define ALINEO_API
#define ALINEO_PRINTF(f, a)
#endif

#define ALINEO_VERSION_MAJOR 0
#define ALINEO_VERSION_MINOR 1
#define ALINEO_VERSION_PATCH 0
#define ALINEO_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/** Result of every call that can fail: one of the constants in code.h. */
typedef int32_t alineo_code;

/** A yes or no whose default the callee decides. */
typedef int32_t alineo_choice;
#define ALINEO_DEFAULT ((alineo_choice)0)
#define ALINEO_YES ((alineo_choice)1)
#define ALINEO_NO ((alineo_choice)2)

/** As a lifetime: no automatic end. As a timeout of a wait: none. */
#define ALINEO_FOREVER ((int64_t)-1)

/** The version of the library that runs, "0.1.0"; static storage. */
ALINEO_API const char *alineo_version(void);

#ifdef __cplusplus
}
#endif

#endif
