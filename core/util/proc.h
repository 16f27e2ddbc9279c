/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_PROC_H
#define ALINEO_UTIL_PROC_H

/* Telling processes apart over time. A pid alone names whoever has it now; pid, start time, pid
 * namespace and boot id together name one process for ever. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "compiler.h"

/* Start time of a process in clock ticks since boot, from /proc/PID/stat. ESRCH when there is none
 * (a zombie still is one). */
AL_MUST_CHECK int al_proc_start_time(pid_t pid, uint64_t *ticks);

/* Whether the process PID that began at TICKS still runs; a zombie does not. An error means
 * unknown, not gone. */
AL_MUST_CHECK int al_proc_is_running(pid_t pid, uint64_t ticks, bool *running);

/* The random id of this boot, 36 characters and a NUL. */
enum {
    AL_BOOT_ID_SIZE = 37
};
AL_MUST_CHECK int al_proc_boot_id(char out[AL_BOOT_ID_SIZE]);

/* The inode number that names the pid namespace of a process; PID 0 means the calling one. */
AL_MUST_CHECK int al_proc_pid_namespace(pid_t pid, uint64_t *inode);

/* A descriptor that stands for the process, readable when it has ended, close-on-exec. ESRCH when
 * there is none. */
AL_MUST_CHECK int al_pidfd_open(pid_t pid, int *fd);

/* Sends a signal through it; ESRCH when the process is gone. */
AL_MUST_CHECK int al_pidfd_signal(int fd, int signal_number);

#endif
