/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_PLUGIN_NOTE_H
#define ALINEO_CORE_PLUGIN_NOTE_H

/** A plugin's identity, read from its file before any of its code can run. */

#include <alineo/plugin.h>

#include "core/fail.h"
#include "core/kind.h"
#include "core/util/buf.h"

#include <stdbool.h>

/** What the note says; the texts end in NUL, kind and id are well-formed. */
typedef struct al_identity {
    uint32_t abi_major;
    uint32_t abi_minor;
    char kind[16];
    char id[64];
    char version[32];
} al_identity;

/**
 * Reads the note of the shared object that is open as `fd`; `path` is for messages.
 * PLUGIN_INCOMPATIBLE: no shared object for this processor, a damaged one, no note, two, or one
 * that says nothing of sense; IO.
 */
alineo_code al_identity_read(int fd, const char *path, al_identity *out, alineo_error **err);

/** Whether this core can use it as that plugin; else a sentence for each mismatch is appended to
 * `problems` (may be NULL). `id` NULL: whatever its kind and id. */
bool al_identity_fits(const al_identity *identity, al_kind kind, const char *id, al_buf *problems);

/**
 * Whether the file exports the struct that belongs to the note, with the same numbers in it.
 * PLUGIN_INCOMPATIBLE when not.
 */
alineo_code al_identity_check_entry(int fd, const char *path, const al_identity *identity,
                                    alineo_error **err);

/** "alineo_plugin_provider_my_cloud" for kind provider and id "my-cloud". NULL without memory. */
char *al_entry_symbol(const char *kind, const char *id);

#endif
