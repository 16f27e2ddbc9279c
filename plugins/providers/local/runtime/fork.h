/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_FORK_H
#define ALINEO_LOCAL_FORK_H

/* fork() with namespaces and a cgroup, as the kernel has it. */

#include <stdint.h>
#include <sys/types.h>

#include "core/util/compiler.h"

/* Forks with the CLONE_* FLAGS, into the v2 cgroup folder CGROUP_FD unless it is -1. In the child 0
 * and *PID is 0; in the parent *PID is the child's and *PID_FD (may be NULL) a close-on-exec
 * descriptor of it. The child's death is told by SIGCHLD. */
AL_MUST_CHECK int local_fork(uint64_t flags, int cgroup_fd, pid_t *pid, int *pid_fd);

/* Forks a child that only waits to be killed (with the caller at the latest), so that it keeps its
 * new namespaces alive. Once the child was ended with local_end_parked, open descriptors still keep
 * them. */
AL_MUST_CHECK int local_fork_parked(uint64_t flags, pid_t *pid);
AL_MUST_CHECK int local_end_parked(pid_t pid);

/* Waits for the child PID to end and takes its status (as from waitpid(); may be NULL). */
AL_MUST_CHECK int local_reap(pid_t pid, int *status);

#endif
