/* SPDX-License-Identifier: Apache-2.0 */
/* All number parsers on one text: what they take agrees with the C library, which reads more forms
 * than we do. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/cleanup.h"
#include "core/util/num.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool condition) {
    if (!condition)
        abort();
}

static void check_integers(const char *text) {
    int64_t value = 1;
    int rc = al_parse_int64(text, &value);
    char *end;
    errno = 0;
    long long by_libc = strtoll(text, &end, 10);
    if (rc == 0)
        need(*end == '\0' && errno == 0 && by_libc == value);
    if (rc == ERANGE)
        need(*end == '\0' && errno == ERANGE);
    uint64_t natural;
    int natural_rc = al_parse_uint64(text, &natural);
    if (rc == 0 && natural_rc == 0)
        need((uint64_t)value == natural);
}

static void check_double(const char *text, size_t size) {
    double value;
    int rc = al_parse_double(text, size, &value);
    if (rc != 0)
        return;
    need(strtod(text, NULL) == value);
    char written[AL_DOUBLE_TEXT_SIZE];
    double back;
    need(al_format_double(value, written) == 0);
    need(al_parse_double(written, strlen(written), &back) == 0 && back == value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    al_autofree char *text = strndup((const char *)data, size);
    if (text == NULL)
        return 0;
    int64_t value = 0;
    check_integers(text);
    check_double(text, strlen(text));
    if (al_parse_duration_ms(text, &value) == 0)
        need(value >= 0);
    if (al_parse_size(text, &value) == 0)
        need(value >= 0);
    if (al_parse_cpu(text, &value) == 0)
        need(value >= 0);
    return 0;
}
