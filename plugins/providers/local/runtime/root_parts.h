/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_ROOT_PARTS_H
#define ALINEO_LOCAL_ROOT_PARTS_H

/* The steps of local_root_assemble. Paths are relative: the working folder is the stage. */

#include "plugins/providers/local/runtime/root.h"

enum {
    LOCAL_HOSTS_SIZE = 256
};

/* Attaches a mount that is attached nowhere at the folder or file TARGET. */
AL_MUST_CHECK int local_tree_attach(int tree_fd, const char *target);

/* Makes the stage and enters it. */
AL_MUST_CHECK int local_stage_enter(struct local_fault *fault);

/* Attaches the layers below short names and mounts the overlay of them at "r". */
AL_MUST_CHECK int local_overlay_mount(const struct local_spec *spec,
                                      const struct local_trees *trees, struct local_fault *fault);

/* Makes /dev in the folder "dev". */
AL_MUST_CHECK int local_dev_fill(struct local_fault *fault);

/* What /etc/hosts says. */
void local_hosts_text(const char *hostname, char text[LOCAL_HOSTS_SIZE]);

#endif
