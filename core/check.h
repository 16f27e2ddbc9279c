/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_CHECK_H
#define ALINEO_CORE_CHECK_H

/** Checks of single arguments. `what` names the argument in messages. All give INVALID_ARGUMENT. */

#include "core/fail.h"

/** A yes, a no, or the default. */
alineo_code al_choice_check(const char *what, alineo_choice choice, alineo_error **err);

/** 1 to 255 bytes of UTF-8 without control characters. NULL passes: it is for what may be left
 * out. */
alineo_code al_name_check(const char *what, const char *text, alineo_error **err);

/** The same with another limit than 255 bytes. */
alineo_code al_text_check(const char *what, const char *text, size_t max_size, alineo_error **err);

enum {
    AL_PATH_SIZE_MAX = 4095
};
/** An absolute path of at most AL_PATH_SIZE_MAX bytes. */
alineo_code al_path_check(const char *what, const char *path, alineo_error **err);

enum {
    AL_SANDBOX_ID_MAX = 128
};
/** A sandbox id: [A-Za-z0-9._-]{1,128}. */
int al_sandbox_id_valid(const char *id);
alineo_code al_sandbox_id_check(const char *id, alineo_error **err);

/** 0 or more, or ALINEO_FOREVER. */
alineo_code al_lifetime_check(int64_t lifetime_ms, alineo_error **err);

#endif
