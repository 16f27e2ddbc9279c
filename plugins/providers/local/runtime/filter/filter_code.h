/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_FILTER_CODE_H
#define ALINEO_LOCAL_FILTER_CODE_H

/* The compiled filter, in a source file that is made at build time. */

#include <linux/filter.h>

extern const struct sock_filter local_filter_code[];
extern const unsigned short local_filter_count; /* instructions */

#endif
