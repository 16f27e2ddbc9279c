/* SPDX-License-Identifier: Apache-2.0 */
/* What is done in the new root. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "plugins/providers/local/runtime/root_parts.h"

static int make_parents(const char *path) {
    char part[4096];
    if (strlen(path) >= sizeof(part))
        return ENAMETOOLONG;
    for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        size_t size = (size_t)(slash - path);
        memcpy(part, path, size);
        part[size] = '\0';
        if (mkdir(part, 0755) != 0 && errno != EEXIST)
            return errno;
    }
    return 0;
}

static int make_target(const char *path, bool is_folder) {
    int error = make_parents(path);
    if (error != 0)
        return error;
    if (is_folder)
        return mkdir(path, 0755) != 0 && errno != EEXIST ? errno : 0;
    al_autofd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    return fd < 0 && errno != EEXIST ? errno : 0;
}

/* The path is resolved in the box, so that links in the image lead nowhere else; and never to where
 * the kernel's own files are, which a mount could counterfeit for programs that trust them. */
static int is_target_allowed(int target_fd) {
    struct stat about;
    struct stat root;
    struct stat dev;
    struct stat proc;
    if (fstat(target_fd, &about) != 0 || stat("/", &root) != 0 || stat("/dev", &dev) != 0 ||
        stat("/proc", &proc) != 0)
        return errno;
    bool is_root = about.st_dev == root.st_dev && about.st_ino == root.st_ino;
    return is_root || about.st_dev == dev.st_dev || about.st_dev == proc.st_dev ? EPERM : 0;
}

static int attach_mount(const struct local_mount *mount, int tree_fd, bool is_folder) {
    int error = make_target(mount->target, is_folder);
    if (error != 0)
        return error;
    al_autofd int target = open(mount->target, O_PATH | O_CLOEXEC);
    if (target < 0)
        return errno;
    error = is_target_allowed(target);
    if (error != 0)
        return error;
    return move_mount(tree_fd, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) !=
                   0
               ? errno
               : 0;
}

/* Writes a small file unless the image has one with something in it. */
static int write_unless_full(const char *path, const char *text) {
    al_autofd int fd = open(path, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0644);
    struct stat about;
    if (fd < 0 || fstat(fd, &about) != 0)
        return errno;
    if (!S_ISREG(about.st_mode) || about.st_size > 0)
        return 0;
    return write(fd, text, strlen(text)) < 0 ? errno : 0;
}

/* What an image has in place of such a file (nothing, a link, a FIFO, a folder) is its own affair;
 * that the disk is full is not. */
static int unless_odd(int error) {
    return error == ENOSPC || error == EDQUOT || error == EIO || error == ENOMEM ? error : 0;
}

static int name_box(const char *hostname) {
    char hosts[LOCAL_HOSTS_SIZE];
    char name[80];
    (void)snprintf(name, sizeof(name), "%s\n", hostname);
    local_hosts_text(hostname, hosts);
    int error = unless_odd(write_unless_full("/etc/hostname", name));
    return error != 0 ? error : unless_odd(write_unless_full("/etc/hosts", hosts));
}

/* The host's resolver settings, where the host's network is: the supervisor has read them. */
static int write_resolver(const char *text) {
    if (unlink("/etc/resolv.conf") != 0 && errno != ENOENT)
        return unless_odd(errno);
    return unless_odd(write_unless_full("/etc/resolv.conf", text));
}

/* overlayfs that cannot use its upper layer mounts read-only and says so in the kernel's log alone.
 */
static int prove_writable(void) {
    struct statvfs about;
    if (statvfs("/", &about) != 0)
        return errno;
    if ((about.f_flag & ST_RDONLY) != 0)
        return EROFS;
    return access("/", W_OK) != 0 ? errno : 0;
}

int local_root_finish(const struct local_spec *spec, const struct local_trees *trees,
                      struct local_fault *fault) {
    int error = prove_writable();
    if (error != 0) {
        local_fault_set(fault, error, "write to the sandbox's root");
        local_fault_hint(fault,
                         "the file system of %s cannot be the upper layer of overlayfs; the "
                         "kernel's log says why",
                         spec->folder);
        return error;
    }
    error = spec->host_image ? 0 : name_box(spec->hostname);
    if (error != 0)
        return local_fault_set(fault, error, "write /etc/hostname and /etc/hosts of the sandbox");
    if (spec->network == LOCAL_NETWORK_HOST) {
        error = write_resolver(trees->resolver);
        if (error != 0)
            return local_fault_set(fault, error, "write /etc/resolv.conf of the sandbox");
    }
    for (size_t i = 0; i < spec->mount_count; i++) {
        error = attach_mount(&spec->mounts[i], trees->mount_fds[i], trees->mount_is_folder[i]);
        if (error != 0)
            return local_fault_set(fault, error, "mount at %s in the sandbox",
                                   spec->mounts[i].target);
    }
    return 0;
}
