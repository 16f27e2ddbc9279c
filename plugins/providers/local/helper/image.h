/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_IMAGE_H
#define ALINEO_LOCAL_IMAGE_H

/* From an image's name to the layers of a root. */

#include <stdbool.h>

#include "alineo/code.h"
#include "core/util/cleanup.h"
#include "plugins/providers/local/runtime/fault.h"

struct local_image {
    char *layer; /* an absolute path */
    bool is_host;
};

/* "host": a skeleton and the host's /usr. "dir:/PATH": the tree in that folder. On failure *CODE
 * says which kind: IMAGE_NOT_FOUND, IMAGE_INVALID, SANDBOX_FAILED. */
AL_MUST_CHECK int local_image_find(const char *state_dir, const char *name,
                                   struct local_image *image, alineo_code *code,
                                   struct local_fault *fault);
void local_image_free(struct local_image *image);
AL_CLEANUP_INSIDE(struct local_image, local_image_free);

#endif
