/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_UTIL_JSON_YAJL_MEMORY_H
#define ALINEO_UTIL_JSON_YAJL_MEMORY_H

/* Memory for yajl, which writes to what it is given without looking whether it was given any. When
 * there is none we leave yajl by longjmp; since all it ever got is listed here, nothing is lost.
 * For the json*.c files only. */

#include <setjmp.h>
#include <yajl/yajl_common.h>

#include "list.h"

typedef struct al_json_yajl_memory {
    yajl_alloc_funcs functions;
    al_list blocks;
    jmp_buf lacking; /* set by the user before yajl is called */
} al_json_yajl_memory;

void al_json_yajl_memory_init(al_json_yajl_memory *memory);

/* Frees everything yajl has; its own free function need not be called. */
void al_json_yajl_memory_free(al_json_yajl_memory *memory);

#endif
