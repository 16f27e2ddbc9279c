/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/helper/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_without_links(const char *path, int *fd) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    long result = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
    if (result < 0)
        return errno;
    *fd = (int)result;
    return 0;
}

int local_mounts_open(const struct local_list *list, struct local_mounts *mounts, alineo_code *code,
                      struct local_fault *fault) {
    *code = ALINEO_INVALID_ARGUMENT;
    size_t count = list->count / 3;
    if (list->count % 3 != 0 || count > LOCAL_MOUNTS_MAX)
        return local_fault_set(fault, E2BIG, "mount more than %d things", LOCAL_MOUNTS_MAX);
    struct local_mounts made = {calloc(count + 1, sizeof(*made.items)), 0};
    if (made.items == NULL) {
        *code = ALINEO_NO_MEMORY;
        return local_fault_set(fault, ENOMEM, "prepare the mounts");
    }
    for (; made.count < count; made.count++) {
        const char *const *three = list->items + made.count * 3;
        struct local_mount *mount = &made.items[made.count];
        int rc = three[1][0] == '/' && three[2][0] == '/' ? 0 : EINVAL;
        if (rc == 0)
            rc = open_without_links(three[1], &mount->source_fd);
        if (rc != 0) {
            local_mounts_free(&made);
            return local_fault_set(fault, rc, "mount %.120s at %.120s", three[1], three[2]);
        }
        mount->target = three[2];
        mount->readonly = strcmp(three[0], "rw") != 0;
    }
    *mounts = made;
    return 0;
}

void local_mounts_free(struct local_mounts *mounts) {
    for (size_t i = 0; i < mounts->count; i++)
        al_close(mounts->items[i].source_fd);
    free(mounts->items);
    *mounts = (struct local_mounts){0};
}
