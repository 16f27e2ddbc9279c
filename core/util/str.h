/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_STR_H
#define ALINEO_UTIL_STR_H

/* Strings: copies, tests, the nearest of some words, glob patterns. Lists and maps of strings:
 * strv.h, kv.h. */

#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"

/* Copies. TEXT and DATA may be NULL: then the copy is NULL too (check for that first, if it can
 * be). al_strndup copies at most SIZE bytes, up to the first NUL; al_memdup copies exactly SIZE and
 * puts a NUL behind. */
AL_MUST_CHECK char *al_strdup(const char *text);
AL_MUST_CHECK char *al_strndup(const char *text, size_t size);
AL_MUST_CHECK void *al_memdup(const void *data, size_t size);

/* A formatted string of its own. */
AL_MUST_CHECK char *al_strf(const char *format, ...) AL_PRINTF(1, 2);

/* Puts a copy of TEXT in *SLOT, freeing what was there; TEXT may be NULL and may be the old string.
 * On ENOMEM the old one stays. */
AL_MUST_CHECK int al_str_replace(char **slot, const char *text);

/* Copies as much of TEXT as fits into OUT (SIZE bytes, at least 1), always with a NUL. False when
 * it was cut. */
bool al_str_copy(char *out, size_t size, const char *text);

/* Equal, where NULL equals NULL only. */
bool al_str_equal(const char *a, const char *b);

bool al_str_starts(const char *text, const char *prefix);
bool al_str_ends(const char *text, const char *suffix);

/* The text behind the prefix, or NULL when it does not begin so. */
const char *al_str_after(const char *text, const char *prefix);

/* NULL or "". */
bool al_str_empty(const char *text);

/* Number of single edits (insert, delete, replace, swap neighbours) from A to B. Texts longer than
 * 63 bytes give SIZE_MAX. */
size_t al_str_distance(const char *a, const char *b);

/* The candidate nearest to WORD, for "did you mean": NULL when none is within a third of its length
 * (at least one edit). NULL candidates are passed over; of equally near ones the first is taken. */
const char *al_str_nearest(const char *word, const char *const *candidates, size_t count);

/* Whether the whole TEXT matches PATTERN: `*` any bytes, `?` one byte, `[a-z]`, `[!a-z]` one byte
 * in or not in a set, `\` takes the next byte literally. '/' and a leading '.' are nothing special.
 * Time is at most the product of the two lengths. A set that is not closed matches a literal '['.
 */
bool al_str_glob(const char *pattern, const char *text);

#endif
