/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_CGROUP_MOUNT_H
#define ALINEO_LOCAL_CGROUP_MOUNT_H

/* Where the cgroup hierarchies of this machine are. They are looked for in their usual places only,
 * which costs less than reading the table of mounts of a busy machine. */

#include "core/util/compiler.h"
#include "plugins/providers/local/runtime/cgroup.h"

/* The name of the folder that holds all of ours, in each hierarchy. */
extern const char local_cgroup_top[];

/* "memory", "pids", "cpu" */
const char *local_controller_name(enum local_controller controller);

/* The root of the v2 hierarchy; the caller's to close. It may be a mount that nobody else sees. */
AL_MUST_CHECK int local_cgroup_open_unified(int *fd);

/* The root of the v1 hierarchy of a controller. ENOENT: it is not on v1. */
AL_MUST_CHECK int local_cgroup_open_v1(enum local_controller controller, int *fd);

/* The folder NAME in FOLDER_FD, made when it is missing; the caller's to close. */
AL_MUST_CHECK int local_cgroup_open_made(int folder_fd, const char *name, int *fd);

/* Which controllers of ours the v2 folder can have: one bit for each. */
AL_MUST_CHECK int local_cgroup_controllers(int folder_fd, unsigned *controllers);

/* Hands those controllers on to the folders below. */
int local_cgroup_enable(int folder_fd, unsigned controllers);

#endif
