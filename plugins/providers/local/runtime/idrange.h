/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_IDRANGE_H
#define ALINEO_LOCAL_IDRANGE_H

/* Ranges of host ids, one for each box on this machine. No two boxes share a user of the host, so
 * that neither limits counted by user nor a way out of one box reaches another. */

#include <stdint.h>
#include <sys/types.h>

#include "core/util/compiler.h"
#include "plugins/providers/local/runtime/fault.h"

enum {
    LOCAL_RANGE_COUNT = 65536 /* ids in one range */
};

/* Takes a free range: host ids *BASE to *BASE + 65535. It is ours for as long as any process holds
 * *RANGE_FD or a copy made by fork; nothing has to be given back after a crash. ID only says where
 * to begin looking. EAGAIN: all are taken. */
AL_MUST_CHECK int local_range_claim(const char *id, int *range_fd, uint32_t *base,
                                    struct local_fault *fault);

/* Makes guest ids 0 to 65535 of the user namespace of process PID those of the range. */
AL_MUST_CHECK int local_range_map(pid_t pid, uint32_t base, struct local_fault *fault);

/* Makes the one uid and gid a file system has (INNER) the guest root of the range. */
AL_MUST_CHECK int local_range_map_owner(pid_t pid, uid_t inner_uid, gid_t inner_gid, uint32_t base,
                                        struct local_fault *fault);

/* Whether all ranges can be mapped from here: ENOENT when the calling process is itself in a user
 * namespace that lacks them. */
AL_MUST_CHECK int local_range_check(struct local_fault *fault);

#endif
