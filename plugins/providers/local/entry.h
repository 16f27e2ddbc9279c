/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_ENTRY_H
#define ALINEO_LOCAL_ENTRY_H

/* Where sandboxes are found. Two folders of the provider, both of its user's and 0700:
 *
 *   STATE_DIR/sandboxes/ID/   what is written in the sandbox
 *   STATE_DIR/trash/          the same of ended ones, being deleted
 *   STATE_DIR/store/          layers
 *   RUN_DIR/sandboxes/ID/     the entry: `control`, the supervisor's socket, and `state`
 *   RUN_DIR/ended/ID          the last state of a sandbox that ended without being asked to
 *
 * A supervisor holds a lock (flock) on both folders ID for as long as it lives, so a folder that
 * nobody holds is what a crash or a reboot left, whatever happened to process ids meanwhile. */

#include <stdbool.h>
#include <stddef.h>

#include "core/util/buf.h"
#include "core/util/cleanup.h"
#include "core/util/compiler.h"
#include "plugins/providers/local/protocol.h"

#define LOCAL_SANDBOXES "sandboxes"
#define LOCAL_TRASH "trash"
#define LOCAL_STORE "store"
#define LOCAL_ENDED "ended"
#define LOCAL_CONTROL "control"
#define LOCAL_STATE_FILE "state"

/* Makes BASE/NAME and what is missing above it, 0700, and opens it. */
AL_MUST_CHECK int local_folder_make(const char *base, const char *name, int *fd);

/* Opens BASE/NAME, a folder. */
AL_MUST_CHECK int local_folder_open(const char *base, const char *name, int *fd);

/* Makes the folder ID in PARENT_FD and locks it; what a dead owner left of it stays in it. EEXIST:
 * someone holds it. */
AL_MUST_CHECK int local_entry_create(int parent_fd, const char *id, int *fd);

/* Opens the folder ID in PARENT_FD; *IS_HELD says whether its supervisor lives. */
AL_MUST_CHECK int local_entry_open(int parent_fd, const char *id, int *fd, bool *is_held);

/* Takes the lock of a folder whose owner is dead, as local_entry_create does. EBUSY: it lives, or
 * another takes it at this moment. */
AL_MUST_CHECK int local_entry_seize(int parent_fd, const char *id, int *fd);

/* A socket in the folder of ENTRY_FD: listening, or connected to it; non-blocking the first,
 * blocking the second. Needs /proc. */
AL_MUST_CHECK int local_control_listen(int entry_fd, int *fd);
AL_MUST_CHECK int local_control_connect(int entry_fd, int *fd);

/* Puts STATE in place of the file NAME at one stroke. Not synced: it is about running processes. */
AL_MUST_CHECK int local_state_write(int folder_fd, const char *name,
                                    const struct local_state *state);

/* Reads it; drop it with local_state_free. ENOENT; EBADMSG: not a state file of ours. */
struct local_state_file {
    al_buf bytes;
    struct local_state state;
};
AL_MUST_CHECK int local_state_read(int folder_fd, const char *name, struct local_state_file *out);
void local_state_free(struct local_state_file *file);
AL_CLEANUP_INSIDE(struct local_state_file, local_state_free);

/* The same from bytes in memory, which must outlive STATE; local_clear drops it. */
AL_MUST_CHECK int local_state_parse(const void *data, size_t size, struct local_state *state);
/* Appends what local_state_parse reads. */
void local_state_format(al_buf *out, const struct local_state *state);

#endif
