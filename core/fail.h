/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_FAIL_H
#define ALINEO_CORE_FAIL_H

/** Making errors inside the core. Each function takes err == NULL and then only gives the code. */

#include <alineo/error.h>

#include <stdarg.h>

/** Makes *err and gives `code` back: `return al_fail(err, ALINEO_IO, "free some space", "write %s:
 * %s", ...)`. `hint` NULL = none. Without memory *err becomes the one static error NO_MEMORY, which
 * free leaves alone. */
alineo_code al_fail(alineo_error **err, alineo_code code, const char *hint, const char *format, ...)
    ALINEO_PRINTF(4, 5);
alineo_code al_failv(alineo_error **err, alineo_code code, const char *hint, const char *format,
                     va_list arguments) ALINEO_PRINTF(4, 0);

/** Puts "<formatted>: " in front of *err's message; gives its code back (INTERNAL when there is no
 * error). */
alineo_code al_wrap(alineo_error **err, const char *format, ...) ALINEO_PRINTF(2, 3);

/* Details; each copies its text. err or *err NULL: nothing happens. */
void al_error_set_sandbox(alineo_error **err, const char *sandbox_id);
void al_error_set_command(alineo_error **err, const char *command, int32_t exit_code);
void al_error_set_provider(alineo_error **err, const char *provider);
void al_error_set_plugin(alineo_error **err, const char *plugin);
void al_error_set_http_status(alineo_error **err, int32_t status);

/**
 * Takes what a plugin's function gave: `code` and *err. Makes sure that they fit: an unknown code,
 * a code without an error, or an error with another code becomes INTERNAL naming plugin and
 * function; an error beside ALINEO_OK is dropped. Sets the plugin on the error. Gives the code that
 * holds.
 */
alineo_code al_from_plugin(alineo_code code, const char *plugin, const char *function,
                           alineo_error **err);

#endif
