/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_MOUNTS_H
#define ALINEO_LOCAL_MOUNTS_H

#include "alineo/code.h"
#include "core/util/cleanup.h"
#include "plugins/providers/local/protocol.h"
#include "plugins/providers/local/runtime/box.h"

/* Opened sources of mounts; `target` belongs to the request. */
struct local_mounts {
    struct local_mount *items;
    size_t count;
};

/* Opens the sources of LIST (threes: "ro" or "rw", source, target). They were resolved and checked
 * before, so a link on the way means that someone changed it since: ELOOP. */
AL_MUST_CHECK int local_mounts_open(const struct local_list *list, struct local_mounts *mounts,
                                    alineo_code *code, struct local_fault *fault);
void local_mounts_free(struct local_mounts *mounts);
AL_CLEANUP_INSIDE(struct local_mounts, local_mounts_free);

#endif
