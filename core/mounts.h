/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_MOUNTS_H
#define ALINEO_CORE_MOUNTS_H

/** What of the host may be seen in a sandbox: only what lies below the operator's allowMounts. */

#include <alineo/provider.h>

#include "core/fail.h"

/**
 * Checks one mount of a caller. `allowed`: absolute folders, NULL-terminated; NULL or empty allows
 * none. Links are resolved on both sides before they are compared, so a link inside an allowed
 * folder that leads out of it is refused. *source: the resolved path; *target: the path inside
 * without "//" and "."; both are to be freed. INVALID_ARGUMENT, PERMISSION_DENIED (not allowed),
 * NO_MEMORY.
 */
alineo_code al_mount_check(const char *const *allowed, const alineo_mount *mount, char **source,
                           char **target, alineo_error **err);

#endif
