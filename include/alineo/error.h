/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_ERROR_H
#define ALINEO_ERROR_H

/**
 * An error: a code, what was tried and what came back, and what to do about it. It is made where
 * the failure happens; each caller on the way adds its context in front of the message and keeps
 * the code. No error ever holds a secret.
 *
 * Accessors take NULL and then give 0 or NULL. Strings belong to the error and live as long as it.
 * An error belongs to one thread at a time.
 */

#include <alineo/base.h>
#include <alineo/code.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct alineo_error alineo_error;

ALINEO_API alineo_code alineo_error_code(const alineo_error *error);

/** Never NULL for an error: "open storage sqlite: open ./.alineo/ledger.db: Permission denied". */
ALINEO_API const char *alineo_error_message(const alineo_error *error);

/** What to do, in a sentence; NULL where there is nothing useful to say. */
ALINEO_API const char *alineo_error_hint(const alineo_error *error);

/* Where they apply, else NULL (or -1 for the numbers). */
ALINEO_API const char *alineo_error_sandbox_id(const alineo_error *error);
ALINEO_API const char *alineo_error_command(const alineo_error *error);
ALINEO_API const char *alineo_error_provider(const alineo_error *error);
ALINEO_API const char *alineo_error_plugin(const alineo_error *error);
ALINEO_API int32_t alineo_error_exit_code(const alineo_error *error);
ALINEO_API int32_t alineo_error_http_status(const alineo_error *error);

ALINEO_API void alineo_error_free(alineo_error *error);

#ifdef __cplusplus
}
#endif

#endif
