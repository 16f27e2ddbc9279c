/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_CGROUP_H
#define ALINEO_LOCAL_CGROUP_H

/* Cgroups of a box. Two mechanisms side by side, each for what it is best at:
 *
 *   tree         cgroup v2, which kernel 6.1 always has, with controllers or without: forking into
 * a group, killing a group, freezing. alineo/sandbox-ID, in it a folder for each command.
 *   controllers  memory, pids and cpu, each on v1 or v2, wherever this machine has mounted it.
 *
 * On v1 a controller's folder is alineo/sandbox-ID: commands join it by themselves, pid 1 and the
 * supervisor stay in alineo. On v2 the limits are on alineo/sandbox-ID/work, beside .../init for
 * pid 1. So pid 1 is in no limit: it is not killed for what a command took, and answers while the
 * limits hold.
 *
 * `cgroup.procs` is never written: moving another process costs milliseconds of waiting in the
 * kernel.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/util/clock.h"
#include "plugins/providers/local/runtime/box.h"

enum local_controller {
    LOCAL_CONTROLLER_MEMORY,
    LOCAL_CONTROLLER_PIDS,
    LOCAL_CONTROLLER_CPU,
    LOCAL_CONTROLLER_COUNT
};

void local_cgroups_init(struct local_cgroups *cgroups);
void local_cgroups_close(struct local_cgroups *cgroups);

/* First half: the v2 folders, into which pid 1 is forked. OWNER is guest root's host id: pid 1
 * forks commands into groups, for which it must own their lists of processes. */
AL_MUST_CHECK int local_cgroups_make_tree(struct local_cgroups *cgroups, const char *id,
                                          uint32_t owner, struct local_fault *fault);

/* Second half: the folders of the controllers, with their limits. ENOTSUP: a limit is asked for
 * whose controller is not to be had. */
AL_MUST_CHECK int local_cgroups_set_limits(struct local_cgroups *cgroups,
                                           const struct local_limits *limits,
                                           struct local_fault *fault);

/* Takes the cpu limit away, so that processes die at once. Best effort. */
void local_cgroups_lift_cpu(const struct local_cgroups *cgroups);

/* Kills what is left in the tree of box NAME and removes all its folders; waits for the kernel
 * until the deadline. What is not there is success. */
AL_MUST_CHECK int local_cgroups_remove(const char *id, al_deadline deadline,
                                       struct local_fault *fault);

/* Whether a controller can be used, and where. ENOENT: no. */
AL_MUST_CHECK int local_controller_find(enum local_controller controller, bool *is_v2,
                                        struct local_fault *fault);

/* The folder alineo/ of the v2 tree, made if need be; the caller's to close. */
AL_MUST_CHECK int local_cgroup_open_top(int *fd, struct local_fault *fault);

/* Small files of a cgroup folder. Reading gives a NUL-terminated text, cut to the size. */
int local_cgroup_write(int folder_fd, const char *file, const char *text);
AL_MUST_CHECK int local_cgroup_read(int folder_fd, const char *file, char *text, size_t size);

/* The number behind KEY in a file of lines "key number"; 0 when there is none. */
uint64_t local_cgroup_field(int folder_fd, const char *file, const char *key);

#endif
