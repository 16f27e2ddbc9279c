/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_FILES_H
#define ALINEO_LOCAL_FILES_H

/* What a box has written, after its end. */

#include "core/util/compiler.h"
#include "plugins/providers/local/runtime/fault.h"

/* Moves `upper` and `work` of FOLDER into TRASH under names that nobody has, so that they are gone
 * at once, and then deletes them there. What is not there is success. */
AL_MUST_CHECK int local_files_remove(const char *folder, const char *trash,
                                     struct local_fault *fault);

#endif
