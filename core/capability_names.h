/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_CAPABILITY_NAMES_H
#define ALINEO_CORE_CAPABILITY_NAMES_H

/** The capabilities that there are, which values each may have, and how values compare. */

#include <alineo/capability.h>

#include "core/fail.h"

#include <stdbool.h>

#define AL_CAPABILITY_NO "no"
#define AL_CAPABILITY_YES "yes"
#define AL_CAPABILITY_UNVERIFIED "unverified"
#define AL_CAPABILITY_FALLBACK "fallback"

/** Names in the order in which they are listed; NULL at the end. */
const char *al_capability_name(size_t index);

/** A name of ours, or one that begins with "x-" and goes on. */
bool al_capability_known(const char *name);

/** Whether `value` is one that capability `name` may have. */
bool al_capability_value_known(const char *name, const char *value);

/**
 * How much a value promises, to be compared among values of one capability: 0 for "no" (and NULL),
 * more for more. Values that cannot be compared ("remote" isolation and "vm") have the same rank.
 */
int al_capability_rank(const char *name, const char *value);

/** Whether what there is (`value`) meets what is wanted; `wanted` NULL: anything but "no". */
bool al_capability_meets(const char *name, const char *value, const char *wanted);

/**
 * Splits a need, "name" or "name=value", and checks it: INVALID_ARGUMENT with the nearest name.
 * *name is the caller's; *wanted points into it or is NULL.
 */
alineo_code al_capability_need_parse(const char *need, char **name, const char **wanted,
                                     alineo_error **err);

#endif
