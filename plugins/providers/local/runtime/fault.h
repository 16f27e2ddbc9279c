/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_FAULT_H
#define ALINEO_LOCAL_FAULT_H

/* Why something of the runtime failed, as plain data: it crosses from the sandbox's first process
 * to the supervisor and from there to the plugin, which makes the error of it. */

#include <stdint.h>

#include "core/util/compiler.h"

enum {
    LOCAL_FAULT_MESSAGE_SIZE = 320,
    LOCAL_FAULT_HINT_SIZE = 256
};

struct local_fault {
    int32_t errnum;                         /* an errno value; 0 = nothing failed */
    char message[LOCAL_FAULT_MESSAGE_SIZE]; /* what was tried, on what, what came back */
    char hint[LOCAL_FAULT_HINT_SIZE]; /* what to do about it; "" when there is nothing to say */
};

/* Fills FAULT (may be NULL) with ERRNUM and a message, to which ": " and the text of ERRNUM are
 * added, and an empty hint. What does not fit is cut. Gives ERRNUM, so that a function can end with
 * `return local_fault_set(...)`. */
int local_fault_set(struct local_fault *fault, int errnum, const char *format, ...) AL_PRINTF(3, 4);

/* Sets the hint of a fault that was set before. FAULT may be NULL. */
void local_fault_hint(struct local_fault *fault, const char *format, ...) AL_PRINTF(2, 3);

#endif
