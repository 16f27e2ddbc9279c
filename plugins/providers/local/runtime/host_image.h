/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_HOST_IMAGE_H
#define ALINEO_LOCAL_HOST_IMAGE_H

/* The image "host": this machine's programs, nothing of its data. A skeleton layer of our own
 * (folders, links, users, resolver settings) and, bound over it, a few parts of the host. */

#include <stddef.h>

#include "plugins/providers/local/runtime/box.h"

/* The paths of the host that are bound at the same place; the skeleton has each of them. */
const char *const *local_host_image_binds(size_t *count);

/* Whether this host's layout allows the image: ENOTSUP when its programs are not below /usr. */
AL_MUST_CHECK int local_host_image_check(struct local_fault *fault);

#endif
