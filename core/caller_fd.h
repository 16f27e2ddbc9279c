/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_CALLER_FD_H
#define ALINEO_CORE_CALLER_FD_H

/**
 * Reading and writing descriptors that belong to the caller: they may block or not, be shared with
 * other processes, and be anything. Their flags are left alone, and no call here waits, not on a
 * blocking one either (save for what a disk takes).
 */

#include "core/util/compiler.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct al_caller_fd {
    int fd;  /* -1 = none */
    int own; /* a terminal opened once more, for not waiting; -1 = none */
    bool is_file;
    bool plain; /* the kernel cannot be asked not to wait: look first, then take little */
} al_caller_fd;

/** Must be ended. EBADF when it is not open, or not for reading (`writing` false) or writing. -1 is
 * "none". */
AL_MUST_CHECK int al_caller_fd_init(al_caller_fd *caller, int fd, bool writing);

/** Closes what is not the caller's. Any number of times. */
void al_caller_fd_end(al_caller_fd *caller);

/** *used is 0 at the end. EAGAIN: nothing there now. */
AL_MUST_CHECK int al_caller_fd_read(al_caller_fd *caller, void *data, size_t size, size_t *used);

/** EAGAIN: it takes nothing now. SIGPIPE is the caller's to block. */
AL_MUST_CHECK int al_caller_fd_write(al_caller_fd *caller, const void *data, size_t size,
                                     size_t *used);

#endif
