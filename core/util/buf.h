/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_BUF_H
#define ALINEO_UTIL_BUF_H

/* A growing row of bytes.
 *
 * Errors stick: the first append that fails (ENOMEM, or EFBIG past max_size) sets `error`, appends
 * nothing, and all later appends do nothing. So a caller appends freely and looks once, at the end.
 * al_buf_clear and al_buf_free take the error away.
 *
 * An all-zero al_buf is valid and empty. Read `data`, `size` and `error` directly; `data` is NULL
 * before the first append, afterwards always followed by a NUL that `size` does not count. Any
 * append may move `data`. */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "cleanup.h"
#include "compiler.h"

typedef struct al_buf {
    char *data;
    size_t size;
    size_t capacity; /* of data, the closing NUL included */
    size_t max_size; /* size never exceeds this; 0 = no limit; may be set at any time */
    int error;       /* 0, ENOMEM or EFBIG */
} al_buf;

#define AL_BUF_INIT                                                                                \
    { 0 }

/* Frees the bytes; the buffer is empty, without error and usable again, max_size stays. */
void al_buf_free(al_buf *buf);
AL_CLEANUP_INSIDE(al_buf, al_buf_free);

/* As al_buf_free, after overwriting every byte that was ever in the present block. For secrets:
 * reserve the final size first, since a block that was left behind in growing is not wiped. */
void al_buf_wipe(al_buf *buf);
AL_CLEANUP_INSIDE(al_buf, al_buf_wipe);

/* Empties it and takes the error away, keeps the memory. */
void al_buf_clear(al_buf *buf);

/* Cuts it down to SIZE bytes; does nothing when it is not longer. */
void al_buf_truncate(al_buf *buf, size_t size);

/* Takes SIZE bytes (at most all) away from the front; moves what is left. */
void al_buf_consume(al_buf *buf, size_t size);

/* DATA may be NULL when SIZE is 0 and must not lie in the buffer itself. */
void al_buf_append(al_buf *buf, const void *data, size_t size);
void al_buf_append_str(al_buf *buf, const char *text);
void al_buf_append_char(al_buf *buf, char byte);

/* As printf; the text of a floating-point conversion depends on the locale, so do not use those for
 * data. A format that cannot be converted sets EINVAL. */
void al_buf_printf(al_buf *buf, const char *format, ...) AL_PRINTF(2, 3);
void al_buf_vprintf(al_buf *buf, const char *format, va_list arguments) AL_PRINTF(2, 0);

/* Room for writing in place: a pointer to at least SIZE bytes behind the present end, or NULL
 * (error is set, or was set before). Then al_buf_commit, always, says how many of them count (0 if
 * none); the rest is forgotten. */
char *al_buf_reserve(al_buf *buf, size_t size);
void al_buf_commit(al_buf *buf, size_t size);

/* The contents as a string: "" when nothing was appended. Valid until the next call on BUF. */
const char *al_buf_str(const al_buf *buf);

/* Hands the bytes over, NUL behind them; *SIZE (may be NULL) gets their number. NULL when error is
 * set (then all is freed) or memory for the empty string is lacking. The buffer is as after
 * al_buf_free. */
AL_MUST_CHECK char *al_buf_steal(al_buf *buf, size_t *size);

#endif
