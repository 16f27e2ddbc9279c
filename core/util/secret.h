/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_SECRET_H
#define ALINEO_UTIL_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#include "cleanup.h"

/* Overwrites memory in a way the compiler keeps. MEMORY may be NULL when SIZE is 0. */
void al_wipe(void *memory, size_t size);

/* Wipes a string and frees it. */
void al_secret_free(char *text);
AL_CLEANUP(char *, al_secret_free);

/* Whether two blocks are equal, in a time that depends on SIZE alone. */
bool al_secret_equal(const void *a, const void *b, size_t size);

#endif
