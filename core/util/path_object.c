/* SPDX-License-Identifier: Apache-2.0 */
/* Apart from path.c, so that a statically linked program that does not ask for it gets nothing of
 * the loader. */
#include <dlfcn.h>
#include <errno.h>

#include "path.h"
#include "str.h"

int al_path_of_object(const void *address, char **path) {
    Dl_info info;
    if (dladdr(address, &info) == 0 || al_str_empty(info.dli_fname))
        return ENOENT;
    char *copy = al_strdup(info.dli_fname);
    if (copy == NULL)
        return ENOMEM;
    *path = copy;
    return 0;
}
