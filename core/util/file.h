/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_FILE_H
#define ALINEO_UTIL_FILE_H

/* Whole files and folders. These block on the disk. */

#include <stddef.h>
#include <sys/types.h>

#include "buf.h"
#include "compiler.h"

/* Makes the folder PATH and the folders above it that are missing, each with MODE less the umask.
 * Folders that are there stay as they are; something else in their place is ENOTDIR. Two processes
 * may do it at once. */
AL_MUST_CHECK int al_mkdir_parents(const char *path, mode_t mode);

/* The same for the folder that PATH lies in. */
AL_MUST_CHECK int al_mkdir_parents_of(const char *path, mode_t mode);

/* Puts the bytes in place of PATH at one stroke: a temporary file beside it with exactly MODE,
 * synced, renamed over it, the folder synced. After a crash there is the old file or the new one,
 * whole. A link at PATH is replaced, not followed. On failure the old file stays and no temporary
 * is left (after kill -9 one named ".<16 hex digits>.tmp" may be). */
AL_MUST_CHECK int al_file_write_atomic(const char *path, const void *data, size_t size,
                                       mode_t mode);

/* Appends the contents of a regular file to OUT. EFBIG when there are more than MAX_SIZE bytes (OUT
 * is then as before), EISDIR for a folder, EINVAL for a device, FIFO or socket, which is not opened
 * for waiting. */
AL_MUST_CHECK int al_file_read(const char *path, size_t max_size, al_buf *out);

/* The same from the present position of an open descriptor of any kind, to its end. */
AL_MUST_CHECK int al_fd_read_all(int fd, size_t max_size, al_buf *out);

/* The text of a link. EFBIG when it is longer than a path can be. */
AL_MUST_CHECK int al_link_read(int folder_fd, const char *path, char **target);

/* Removes PATH (taken from FOLDER_FD, which may be AT_FDCWD) and all below it. Follows no link,
 * crosses no mount (EXDEV, bind mounts included: what is mounted stays whole), does not care how
 * deep it is nested. A folder of our own without permission gets it first. A missing PATH is
 * success. Goes on after a failure to remove what can be, then gives the first one. Safe while
 * another process changes the tree: it never leaves it. */
AL_MUST_CHECK int al_remove_tree(int folder_fd, const char *path);

#endif
