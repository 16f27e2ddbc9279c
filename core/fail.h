/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_FAIL_H
#define ALINEO_CORE_FAIL_H

/** Making errors inside the core. Each function takes err == NULL and then only gives the code. */

#include <alineo/error.h>

#include "core/util/cleanup.h"

#include <stdarg.h>

/** al_auto(alineo_error_free) drops an error at the end of the scope. */
AL_CLEANUP(alineo_error *, alineo_error_free);

/** Makes *err and gives `code` back: `return al_fail(err, ALINEO_IO, "free some space", "write %s:
 * %s", ...)`. `hint` NULL = none. Without memory *err becomes the one static error NO_MEMORY, which
 * free leaves alone, and NO_MEMORY is given back. */
alineo_code al_fail(alineo_error **err, alineo_code code, const char *hint, const char *format, ...)
    ALINEO_PRINTF(4, 5);
alineo_code al_failv(alineo_error **err, alineo_code code, const char *hint, const char *format,
                     va_list arguments) ALINEO_PRINTF(4, 0);

/** Puts "<formatted>: " in front of *err's message; gives its code back (INTERNAL when there is no
 * error). */
alineo_code al_wrap(alineo_error **err, const char *format, ...) ALINEO_PRINTF(2, 3);
alineo_code al_wrapv(alineo_error **err, const char *format, va_list arguments) ALINEO_PRINTF(2, 0);

/** The one error for want of memory; gives NO_MEMORY. */
alineo_code al_fail_memory(alineo_error **err);

/** As al_fail with ": <what errno says>" behind the message. ENOMEM is always NO_MEMORY. */
alineo_code al_fail_errno(alineo_error **err, alineo_code code, int error_number, const char *hint,
                          const char *format, ...) ALINEO_PRINTF(5, 6);

/** What an errno value means, in English whatever the locale; static storage. */
const char *al_errno_text(int error_number);

/** Hands *from (an error or NULL) over to `err`, or drops it when that is NULL; *from is NULL then.
 * Gives its code. For calls that need an error of their own even if the caller wants none. */
alineo_code al_error_give(alineo_error **from, alineo_error **err);

/* Details; each copies its text. err or *err NULL: nothing happens. */
void al_error_set_sandbox(alineo_error **err, const char *sandbox_id);
void al_error_set_command(alineo_error **err, const char *command, int32_t exit_code);
void al_error_set_provider(alineo_error **err, const char *provider);
void al_error_set_plugin(alineo_error **err, const char *plugin);
void al_error_set_http_status(alineo_error **err, int32_t status);

/**
 * Takes what a plugin's function gave: `code` and *err, which was NULL before the call and is not a
 * caller's `err`, since that may be NULL and a plugin's never is:
 *
 *     alineo_error *failure = NULL;
 *     alineo_code code = table->get(self, id, call, found, user, &failure);
 *     if (al_from_plugin(code, binding->plugin, "get", &failure) != ALINEO_OK)
 *         return al_error_give(&failure, err);
 * Makes sure that they fit: an unknown code,
 * a code without an error, or an error with another code becomes INTERNAL naming plugin and
 * function; an error beside ALINEO_OK is dropped. Sets the plugin on the error. Gives the code that
 * holds.
 */
alineo_code al_from_plugin(alineo_code code, const char *plugin, const char *function,
                           alineo_error **err);

#endif
