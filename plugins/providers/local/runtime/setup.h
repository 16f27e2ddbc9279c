/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_SETUP_H
#define ALINEO_LOCAL_SETUP_H

/* The two sides of building a box. Supervisor and pid 1 work at the same time, since most of the
 * time goes into the kernel:
 *
 *   supervisor                                pid 1
 *   range, v2 cgroup, fork                    parts its mounts, network, /proc
 *   limits, id maps, opens and maps trees     waits
 *   sends struct local_handover       --->
 *   waits                                     root, rights, descriptors
 *                                     <---    sends struct local_fault and its root
 *                                             runs
 *
 * Until pid 1 has received the handover both share one table of descriptors: so what the supervisor
 * opens needs no sending, and neither may close what is the other's. */

#include "plugins/providers/local/runtime/box.h"
#include "plugins/providers/local/runtime/trees.h"

struct local_handover {
    struct local_trees trees;
    struct local_inside inside;
};

/* What pid 1 is forked with. */
struct local_setup {
    const struct local_spec *spec;
    local_pid1 pid1;
    void *arg;
    int sync_fd;            /* pid 1's end of the socket */
    int parent_fd;          /* pidfd of the supervisor */
    bool command_namespace; /* as in struct local_inside */
};

/* The life of pid 1. */
_Noreturn void local_setup_run(const struct local_setup *setup);

#endif
