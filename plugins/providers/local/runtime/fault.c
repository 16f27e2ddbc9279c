/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/runtime/fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int local_fault_set(struct local_fault *fault, int errnum, const char *format, ...) {
    if (fault == NULL)
        return errnum;
    fault->errnum = errnum;
    fault->hint[0] = '\0';
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(fault->message, sizeof(fault->message), format, arguments);
    va_end(arguments);
    size_t size = written < 0 ? 0 : (size_t)written;
    if (size < sizeof(fault->message) - 1)
        (void)snprintf(fault->message + size, sizeof(fault->message) - size, ": %s",
                       strerror(errnum));
    return errnum;
}

void local_fault_hint(struct local_fault *fault, const char *format, ...) {
    if (fault == NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(fault->hint, sizeof(fault->hint), format, arguments);
    va_end(arguments);
}
