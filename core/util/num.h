/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_NUM_H
#define ALINEO_UTIL_NUM_H

/* Numbers from text, the whole text or not at all: no blanks before or behind, nothing left over,
 * no hexadecimal, no leading '+', the same in every locale. EINVAL: not such a number (NULL and ""
 * included). ERANGE: it does not fit. On failure *OUT is untouched. */

#include <stddef.h>
#include <stdint.h>

#include "compiler.h"

/* Decimal digits, a '-' in front allowed where the type has a sign. Leading zeros are fine. */
AL_MUST_CHECK int al_parse_int64(const char *text, int64_t *out);
AL_MUST_CHECK int al_parse_uint64(const char *text, uint64_t *out);

/* ERANGE also outside MIN to MAX. */
AL_MUST_CHECK int al_parse_int64_in(const char *text, int64_t min, int64_t max, int64_t *out);

/* A number as JSON writes it ("-1.5e3"); ERANGE when it is too large for a double. A value too
 * small to be told from 0 gives 0. TEXT need not end in NUL. */
AL_MUST_CHECK int al_parse_double(const char *text, size_t size, double *out);

/* A duration: whole numbers with units, the larger unit first and each at most once: "500ms",
 * "10s", "5m", "1h30m", "2d". A bare number is EINVAL: its unit would be a guess. */
AL_MUST_CHECK int al_parse_duration_ms(const char *text, int64_t *ms);

/* A quantity of bytes as Kubernetes writes it: "1500", "1500k", "1G", "512Mi", "1.5Gi"; units k M G
 * T P E and Ki Mi Gi Ti Pi Ei. Up to three decimal places; what is not a whole number of bytes is
 * EINVAL. ERANGE above INT64_MAX. */
AL_MUST_CHECK int al_parse_size(const char *text, int64_t *size);

/* A quantity of processors in thousandths: "500m", "2", "0.5"; finer than a thousandth is EINVAL.
 */
AL_MUST_CHECK int al_parse_cpu(const char *text, int64_t *millicores);

/* The shortest text that reads back as the same double ("0.1", "1e+300", "5"); OUT holds
 * AL_DOUBLE_TEXT_SIZE bytes. EDOM for infinity and not-a-number. */
enum {
    AL_DOUBLE_TEXT_SIZE = 32
};
AL_MUST_CHECK int al_format_double(double value, char out[AL_DOUBLE_TEXT_SIZE]);

#endif
