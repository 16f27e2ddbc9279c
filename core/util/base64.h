/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_BASE64_H
#define ALINEO_UTIL_BASE64_H

/* Base64 of RFC 4648 with padding, strict in reading. */

#include <stddef.h>

#include "buf.h"
#include "compiler.h"

/* Size of the text for SIZE bytes; SIZE must be at most SIZE_MAX / 2. */
size_t al_base64_encoded_size(size_t size);

/* Writes that many bytes and no NUL. */
void al_base64_encode(const void *data, size_t size, char *out);

/* Appends the text; failures as for any append. */
void al_base64_append(al_buf *out, const void *data, size_t size);

/* How many bytes SIZE bytes of text give: exact but for the padding, which makes it one or two
 * less. */
size_t al_base64_decoded_size_max(size_t size);

/* Reads the whole text. EINVAL for any byte outside the alphabet (blanks and line ends too), a size
 * that is not a multiple of four, missing or misplaced padding, and bits that are not zero behind
 * the last byte: so each text that is accepted is the only one for its bytes. OUT holds
 * al_base64_decoded_size_max(SIZE); it may be partly written when the text is refused. */
AL_MUST_CHECK int al_base64_decode(const char *text, size_t size, void *out, size_t *out_size);

/* Appends the bytes; EINVAL as above (OUT is then as before), or the buffer's error. */
AL_MUST_CHECK int al_base64_decode_append(const char *text, size_t size, al_buf *out);

#endif
