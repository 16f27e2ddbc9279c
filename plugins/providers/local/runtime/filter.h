/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_FILTER_H
#define ALINEO_LOCAL_FILTER_H

/* The system calls that commands may make. The list is in filter_gen.c, which is run at build time
 * and writes the compiled filter as a table. */

#include "core/util/compiler.h"

/* Loads the filter into the calling process, for good. no_new_privs must be set. */
AL_MUST_CHECK int local_filter_load(void);

#endif
