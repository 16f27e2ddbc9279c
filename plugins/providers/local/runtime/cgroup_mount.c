/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/runtime/cgroup_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "core/util/cleanup.h"

const char local_cgroup_top[] = "alineo";

const char *local_controller_name(enum local_controller controller) {
    static const char *const names[LOCAL_CONTROLLER_COUNT] = {"memory", "pids", "cpu"};
    return names[controller];
}

/* Opens PATH if a file system of that type is there; else ENOENT. */
static int open_if(const char *path, unsigned long type, int *out) {
    al_autofd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOTDIR ? ENOENT : errno;
    struct statfs about;
    if (fstatfs(fd, &about) != 0)
        return errno;
    if ((unsigned long)about.f_type != type)
        return ENOENT;
    *out = al_steal_fd(&fd);
    return 0;
}

/* A machine whose controllers are all on v1 may have v2 mounted nowhere; it exists all the same. */
static int mount_unified(int *out) {
    al_autofd int context = fsopen("cgroup2", FSOPEN_CLOEXEC);
    if (context < 0 || fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0)
        return errno;
    int fd = fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (fd < 0)
        return errno;
    *out = fd;
    return 0;
}

int local_cgroup_open_unified(int *fd) {
    if (open_if("/sys/fs/cgroup", CGROUP2_SUPER_MAGIC, fd) == 0 ||
        open_if("/sys/fs/cgroup/unified", CGROUP2_SUPER_MAGIC, fd) == 0)
        return 0;
    return mount_unified(fd);
}

int local_cgroup_open_v1(enum local_controller controller, int *fd) {
    char path[64];
    (void)snprintf(path, sizeof(path), "/sys/fs/cgroup/%s", local_controller_name(controller));
    return open_if(path, CGROUP_SUPER_MAGIC, fd);
}

int local_cgroup_open_made(int folder_fd, const char *name, int *out) {
    int fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        if (mkdirat(folder_fd, name, 0755) != 0 && errno != EEXIST)
            return errno;
        fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (fd < 0)
        return errno;
    *out = fd;
    return 0;
}

int local_cgroup_controllers(int folder_fd, unsigned *controllers) {
    char text[512];
    int error = local_cgroup_read(folder_fd, "cgroup.controllers", text, sizeof(text));
    if (error != 0)
        return error;
    unsigned found = 0;
    char *rest = NULL;
    for (const char *word = strtok_r(text, " \n", &rest); word != NULL;
         word = strtok_r(NULL, " \n", &rest))
        for (unsigned i = 0; i < LOCAL_CONTROLLER_COUNT; i++)
            if (strcmp(word, local_controller_name((enum local_controller)i)) == 0)
                found |= 1U << i;
    *controllers = found;
    return 0;
}

int local_cgroup_enable(int folder_fd, unsigned controllers) {
    char text[64] = "";
    size_t size = 0;
    for (unsigned i = 0; i < LOCAL_CONTROLLER_COUNT; i++)
        if ((controllers & (1U << i)) != 0)
            size += (size_t)snprintf(text + size, sizeof(text) - size, "+%s ",
                                     local_controller_name((enum local_controller)i));
    return size == 0 ? 0 : local_cgroup_write(folder_fd, "cgroup.subtree_control", text);
}

int local_controller_find(enum local_controller controller, bool *is_v2,
                          struct local_fault *fault) {
    al_autofd int v1 = -1;
    if (local_cgroup_open_v1(controller, &v1) == 0) {
        *is_v2 = false;
        return 0;
    }
    al_autofd int top = -1;
    int error = local_cgroup_open_top(&top, fault);
    if (error != 0)
        return error;
    unsigned controllers = 0;
    error = local_cgroup_controllers(top, &controllers);
    if (error != 0)
        return local_fault_set(fault, error, "read the cgroup controllers");
    if ((controllers & (1U << controller)) != 0) {
        *is_v2 = true;
        return 0;
    }
    local_fault_set(fault, ENOENT, "find the cgroup controller \"%s\"",
                    local_controller_name(controller));
    local_fault_hint(
        fault, "mount it below /sys/fs/cgroup, or boot with it enabled (in a container it must "
               "be handed down)");
    return ENOENT;
}

/* A new folder has the controllers that the root hands on; usually the init system has seen to that
 * already. Where it is refused (a container whose root group has processes) there are none. */
int local_cgroup_open_top(int *fd, struct local_fault *fault) {
    al_autofd int root = -1;
    al_autofd int top = -1;
    int error = local_cgroup_open_unified(&root);
    if (error == 0)
        error = local_cgroup_open_made(root, local_cgroup_top, &top);
    unsigned wanted = 0;
    unsigned there = 0;
    if (error == 0)
        error = local_cgroup_controllers(root, &wanted);
    if (error == 0)
        error = local_cgroup_controllers(top, &there);
    if (error != 0) {
        local_fault_set(fault, error, "make the cgroup /sys/fs/cgroup/.../%s", local_cgroup_top);
        local_fault_hint(fault,
                         "cgroup v2 must be mounted writable, as on any host (in a container: "
                         "run it with a private, writable cgroup namespace)");
        return error;
    }
    for (unsigned i = 0; i < LOCAL_CONTROLLER_COUNT; i++)
        if ((wanted & ~there & (1U << i)) != 0)
            (void)local_cgroup_enable(root, 1U << i);
    *fd = al_steal_fd(&top);
    return 0;
}
