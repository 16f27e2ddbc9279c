/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_PAIRS_H
#define ALINEO_CORE_PAIRS_H

/** Lists of pairs (name, value, name, value, ..., NULL), as callers pass them. */

#include "core/fail.h"

#include <stddef.h>

/** Names and values together; NULL has none. */
size_t al_pairs_count(const char *const *pairs);

/** The value of the first pair with that name, or NULL. */
const char *al_pairs_get(const char *const *pairs, const char *name);

/**
 * Checks an environment: names match [A-Za-z_.-][A-Za-z0-9_.-]* and come once, each has a value,
 * and "NAME=VALUE" fits what a kernel takes in one entry (131,071 bytes). INVALID_ARGUMENT,
 * TOO_LARGE; no value is ever in a message.
 */
alineo_code al_env_check(const char *const *env, alineo_error **err);

/** Checks the metadata of a caller: names are 1-255 bytes without control characters, come once and
 * do not begin with "alineo-"; values are UTF-8 of at most 4096 bytes. INVALID_ARGUMENT. */
alineo_code al_metadata_check(const char *const *metadata, alineo_error **err);

#endif
