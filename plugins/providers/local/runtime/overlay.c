/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "plugins/providers/local/runtime/root_parts.h"

enum {
    /* mount() cuts its options here, and says nothing. */
    MOUNT_OPTIONS_MAX = 4095
};

int local_tree_attach(int tree_fd, const char *target) {
    return move_mount(tree_fd, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) != 0 ? errno : 0;
}

/* A small file system for putting the root together, whose files are guest root's. It lies over a
 * folder of the host that is no longer needed, so that it goes away together with the host's root:
 * each mount that is taken away by itself costs a wait for all processors. */
int local_stage_enter(struct local_fault *fault) {
    static const char *const places[] = {"/usr", "/"};
    al_autofd int context = fsopen("tmpfs", FSOPEN_CLOEXEC);
    al_autofd int stage = -1;
    if (context >= 0 && fsconfig(context, FSCONFIG_SET_STRING, "mode", "0755", 0) == 0 &&
        fsconfig(context, FSCONFIG_SET_STRING, "size", "1m", 0) == 0 &&
        fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
        stage = fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    int error = stage < 0 ? errno : ENOENT;
    for (size_t i = 0; error == ENOENT && i < AL_COUNT(places); i++)
        error = local_tree_attach(stage, places[i]);
    if (error == 0 && fchdir(stage) != 0)
        error = errno;
    return error == 0
               ? 0
               : local_fault_set(fault, error, "mount a staging folder for the sandbox's root");
}

static int attach_new(int tree_fd, const char *target) {
    return mkdir(target, 0700) != 0 ? errno : local_tree_attach(tree_fd, target);
}

static int write_new(const char *path, const char *text) {
    al_autofd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    return fd < 0 || write(fd, text, strlen(text)) < 0 ? errno : 0;
}

/* The files that hold the box's name, as a layer above the skeleton: so they can be changed like
 * any other, and what a box writes holds no name that a copy of it would have to lose. */
static int make_names(const char *hostname) {
    char hosts[LOCAL_HOSTS_SIZE];
    char name[80];
    (void)snprintf(name, sizeof(name), "%s\n", hostname);
    local_hosts_text(hostname, hosts);
    if (mkdir("n", 0755) != 0 || mkdir("n/etc", 0755) != 0)
        return errno;
    int error = write_new("n/etc/hostname", name);
    return error != 0 ? error : write_new("n/etc/hosts", hosts);
}

void local_hosts_text(const char *hostname, char text[LOCAL_HOSTS_SIZE]) {
    (void)snprintf(text, LOCAL_HOSTS_SIZE,
                   "127.0.0.1\tlocalhost %s\n::1\tlocalhost ip6-localhost ip6-loopback\n",
                   hostname);
}

/* Kernel 6.1 takes layers by their path only, so each is attached under a name as short as can be.
 */
int local_overlay_mount(const struct local_spec *spec, const struct local_trees *trees,
                        struct local_fault *fault) {
    char options[MOUNT_OPTIONS_MAX + 1];
    size_t size = (size_t)snprintf(options, sizeof(options),
                                   "userxattr,volatile,upperdir=u/upper,workdir=u/work,lowerdir=");
    int error = attach_new(trees->folder_fd, "u");
    if (error == 0 && spec->host_image) {
        error = make_names(spec->hostname);
        size += (size_t)snprintf(options + size, sizeof(options) - size, "n:");
    }
    for (size_t i = 0; error == 0 && i < trees->layer_count; i++) {
        char name[24];
        (void)snprintf(name, sizeof(name), "%zu", i);
        error = attach_new(trees->layer_fds[i], name);
        size +=
            (size_t)snprintf(options + size, sizeof(options) - size, i == 0 ? "%s" : ":%s", name);
        if (size >= sizeof(options))
            return local_fault_set(fault, E2BIG, "mount a root of %zu layers", trees->layer_count);
    }
    if (error == 0 && mkdir("r", 0755) != 0)
        error = errno;
    if (error != 0)
        return local_fault_set(fault, error, "attach the layers of the image");
    if (mount("overlay", "r", "overlay", MS_NODEV | MS_NOATIME, options) != 0) {
        error = errno;
        local_fault_set(fault, error, "mount the sandbox's root of %zu layers", trees->layer_count);
        local_fault_hint(fault,
                         "overlayfs must be there (kernel 6.1 or newer), and the folder of the "
                         "sandboxes on a file system that can be its upper layer");
        return error;
    }
    return 0;
}
