/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_TRUST_H
#define ALINEO_UTIL_TRUST_H

/* Whether only root and the running (effective) user can change a file.
 *
 * Trusted means: the file and the folder it lies in belong to root or the user and nobody else may
 * write to them (write for the group counts, unless the group is the user's own effective one), and
 * no folder further up is writable for all without the sticky bit. Where the file is a link, that
 * holds for the link's folder and for what it leads to. */

#include <stdbool.h>
#include <sys/stat.h>

#include "buf.h"
#include "compiler.h"

/* Opens PATH for reading, close-on-exec, and judges what was opened: *FD is that very file,
 * whatever happens to the name afterwards. Regular files only (EINVAL for others, nothing waits).
 * EPERM: not trusted, and REASON (may be NULL) gets a sentence that names the file or folder, its
 * owner and mode, and what to do. Other codes: as open() has them; REASON then says on what. */
AL_MUST_CHECK int al_trust_open(const char *path, int *fd, al_buf *reason);

/* The same judgement of a folder, such as one to look for plugins in. Nothing stays open. */
AL_MUST_CHECK int al_trust_folder(const char *path, al_buf *reason);

/* Whether others than root and the running user could write to, or own, what STATUS describes. PATH
 * is for the sentence appended to REASON (may be NULL). True = trusted. */
bool al_trust_status(const struct stat *status, const char *path, al_buf *reason);

#endif
