/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/runtime/root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plugins/providers/local/runtime/root_parts.h"

enum {
    UNCOVER_TRIES_MAX = 16
};

int local_root_begin(struct local_fault *fault) {
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return local_fault_set(fault, errno, "part the sandbox's mounts from the host's");
    return 0;
}

/* A folder of the image that something is to be mounted on; made where the image lacks it. A link
 * in its place would lead elsewhere. */
static int place_folder(const char *target, mode_t mode) {
    struct stat about;
    if (lstat(target, &about) == 0)
        return S_ISDIR(about.st_mode) ? 0 : ENOTDIR;
    return mkdir(target, mode) != 0 ? errno : 0;
}

/* Attached one inside the other at the end only: what a mount covers is then never seen. */
static int attach_all(const struct local_trees *trees, const char **which) {
    *which = "/dev";
    int error = place_folder("r/dev", 0755);
    if (error == 0)
        error = mount("dev", "r/dev", NULL, MS_BIND | MS_REC, NULL) != 0 ? errno : 0;
    if (error != 0)
        return error;
    *which = "/proc";
    error = place_folder("r/proc", 0555);
    if (error == 0 && move_mount(AT_FDCWD, "/proc", AT_FDCWD, "r/proc", 0) != 0)
        error = errno;
    if (error != 0)
        return error;
    *which = "/sys";
    error = place_folder("r/sys", 0555);
    for (size_t i = 0; error == 0 && i < trees->bind_count; i++) {
        char target[64];
        *which = trees->binds[i].path;
        (void)snprintf(target, sizeof(target), "r%s", trees->binds[i].path);
        error = local_tree_attach(trees->binds[i].fd, target);
    }
    return error;
}

int local_root_assemble(const struct local_spec *spec, const struct local_trees *trees,
                        struct local_fault *fault) {
    int error = local_stage_enter(fault);
    if (error == 0)
        error = local_overlay_mount(spec, trees, fault);
    if (error != 0)
        return error;
    if (mkdir("dev", 0755) != 0)
        return local_fault_set(fault, errno, "make a folder for /dev");
    error = local_dev_fill(fault);
    if (error != 0)
        return error;
    const char *which = "";
    error = attach_all(trees, &which);
    if (error == 0 && chdir("r") != 0)
        error = errno;
    return error == 0 ? 0 : local_fault_set(fault, error, "put %s into the sandbox's root", which);
}

/* Whether something still lies over the root: then the way up from it leads there. */
static int is_root_covered(bool *is_covered) {
    struct stat root;
    struct stat above;
    if (stat("/", &root) != 0 || stat("/..", &above) != 0)
        return errno;
    *is_covered = root.st_dev != above.st_dev || root.st_ino != above.st_ino;
    return 0;
}

int local_root_enter(struct local_fault *fault) {
    if (syscall(SYS_pivot_root, ".", ".") != 0)
        return local_fault_set(fault, errno, "enter the sandbox's root");
    /* The old root now lies over the new one. Each call takes the topmost mount with all that is in
     * it: one is enough, unless something lay over the host's root. */
    bool is_covered = true;
    for (int tries = 0; is_covered; tries++) {
        if (tries == UNCOVER_TRIES_MAX)
            return local_fault_set(fault, ELOOP, "leave the host's root");
        int error = umount2(".", MNT_DETACH) != 0 ? errno : is_root_covered(&is_covered);
        if (error != 0)
            return local_fault_set(fault, error, "leave the host's root");
    }
    return chdir("/") != 0 ? local_fault_set(fault, errno, "enter the sandbox's root") : 0;
}
