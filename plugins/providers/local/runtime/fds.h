/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_FDS_H
#define ALINEO_LOCAL_FDS_H

/* Which descriptors a process has. */

#include <stddef.h>

#include "core/util/compiler.h"

/* Closes all descriptors but the COUNT of KEPT, in any order; negative and repeated ones do not
 * matter. Puts KEPT in order. */
AL_MUST_CHECK int local_fds_keep_only(int *kept, size_t count);

/* Opens /dev/null as those of 0, 1 and 2 that are not in KEPT. */
AL_MUST_CHECK int local_fds_null_standard(const int *kept, size_t count);

/* Opens /dev/null as those of 0, 1 and 2 that are closed, so that no other file takes their place.
 */
AL_MUST_CHECK int local_fds_open_standard(void);

#endif
