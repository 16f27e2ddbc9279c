/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_UTF8_H
#define ALINEO_UTIL_UTF8_H

/* UTF-8 by the letter of the standard: no overlong forms, no surrogates, nothing above U+10FFFF.
 * U+0000 is a valid character here; al_utf8_is_text refuses it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether all SIZE bytes are valid (none are). */
bool al_utf8_valid(const void *data, size_t size);

/* How many bytes at the front are valid, whole characters; SIZE when all are. */
size_t al_utf8_valid_size(const void *data, size_t size);

/* Valid and without U+0000: what may be stored as text. */
bool al_utf8_is_text(const void *data, size_t size);

/* Size (0 to 3) of the beginning of a character that stands at the end and may still be completed
 * by bytes to come. Cut a chunk before it and no character is split. Bytes that can never become
 * valid do not count: they are 0. */
size_t al_utf8_tail(const void *data, size_t size);

/* Writes the character; gives its size, or 0 for a surrogate or a value above 0x10ffff. */
size_t al_utf8_encode(uint32_t character, char out[4]);

/* Whether TEXT may be a name: 1 to 255 bytes of valid UTF-8 without control characters (U+0000 to
 * U+001F, U+007F to U+009F). */
bool al_name_valid(const char *text, size_t size);

#endif
