/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_KIND_H
#define ALINEO_CORE_KIND_H

/** The kinds of plugins, and how plugins are named. */

#include <stdbool.h>
#include <stddef.h>

typedef enum al_kind {
    AL_KIND_PROVIDER,
    AL_KIND_STORAGE,
    AL_KIND_CREDENTIALS
} al_kind;
#define AL_KIND_COUNT 3

/** "provider", "storage", "credentials". */
const char *al_kind_name(al_kind kind);

/** False when there is no kind of that name. `size` bytes of `name` count. */
bool al_kind_from_name(const char *name, size_t size, al_kind *out);

/** Whether an id matches [a-z0-9][a-z0-9_-]{0,63}. NULL does not. */
bool al_plugin_id_valid(const char *id);

/** The rule in words, for messages and hints. */
#define AL_PLUGIN_ID_RULE "an id is 1 to 64 of a-z, 0-9, '_' and '-', and begins with a-z or 0-9"

#endif
