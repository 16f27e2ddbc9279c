/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_ROOT_H
#define ALINEO_LOCAL_ROOT_H

/* The root of a box, put together by pid 1 in its own user and mount namespaces. In this order:
 * local_root_begin and local_proc_mount as soon as it runs; local_root_assemble when the supervisor
 * has opened the trees and pid 1 is guest root; local_root_enter; local_root_finish. */

#include "plugins/providers/local/runtime/box.h"
#include "plugins/providers/local/runtime/trees.h"

/* Nothing mounted from here on reaches the host, nor the other way round. */
AL_MUST_CHECK int local_root_begin(struct local_fault *fault);

/* Mounts the box's own proc over the host's, with what tells of the host hidden and what would set
 * it read-only. local_root_assemble takes it along. */
AL_MUST_CHECK int local_proc_mount(struct local_fault *fault);

/* Overlay of layers and upper, binds, /dev, /proc, below a staging folder that only this mount
 * namespace has. The working folder is then the new root. */
AL_MUST_CHECK int local_root_assemble(const struct local_spec *spec,
                                      const struct local_trees *trees, struct local_fault *fault);

/* Makes the working folder the root of everything; the host's is gone. */
AL_MUST_CHECK int local_root_enter(struct local_fault *fault);

/* The caller's mounts, and files that name the box. Proves that the root can be written. */
AL_MUST_CHECK int local_root_finish(const struct local_spec *spec, const struct local_trees *trees,
                                    struct local_fault *fault);

#endif
