/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/runtime/trees.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "core/util/cleanup.h"
#include "core/util/io.h"
#include "plugins/providers/local/runtime/fork.h"
#include "plugins/providers/local/runtime/host_image.h"
#include "plugins/providers/local/runtime/idrange.h"

void local_trees_init(struct local_trees *trees) {
    trees->folder_fd = -1;
    trees->layer_count = 0;
    trees->mount_count = 0;
    trees->bind_count = 0;
    trees->resolver[0] = '\0';
}

void local_trees_close(struct local_trees *trees) {
    al_close(trees->folder_fd);
    for (size_t i = 0; i < trees->layer_count; i++)
        al_close(trees->layer_fds[i]);
    for (size_t i = 0; i < trees->mount_count; i++)
        al_close(trees->mount_fds[i]);
    for (size_t i = 0; i < trees->bind_count; i++)
        al_close(trees->binds[i].fd);
    local_trees_init(trees);
}

int local_user_namespace_open(pid_t pid, int *out) {
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    *out = fd;
    return 0;
}

/* A private copy of what is mounted at PATH below AT_FD, attached nowhere. USER_NS_FD -1: owners
 * stay as they are. */
static int open_tree_with(int at_fd, const char *path, unsigned tree_flags, uint64_t attributes,
                          int user_ns_fd, int *out) {
    unsigned recursive = tree_flags & AT_RECURSIVE;
    al_autofd int fd = open_tree(at_fd, path, tree_flags | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (fd < 0)
        return errno;
    struct mount_attr change = {.attr_set = attributes, .propagation = MS_PRIVATE};
    if (user_ns_fd >= 0) {
        change.attr_set |= MOUNT_ATTR_IDMAP;
        change.userns_fd = (uint64_t)user_ns_fd;
    }
    if (mount_setattr(fd, "", AT_EMPTY_PATH | recursive, &change, sizeof(change)) != 0)
        return errno;
    *out = al_steal_fd(&fd);
    return 0;
}

static void explain_idmap(struct local_fault *fault, int error) {
    if (error == EINVAL)
        local_fault_hint(
            fault, "this file system cannot give its files other owners (overlayfs and many "
                   "network file systems cannot): put ALINEO_HOME on ext4, xfs, btrfs or tmpfs");
}

int local_trees_check(const char *path, int user_ns_fd, struct local_fault *fault) {
    al_autofd int fd = -1;
    int error = open_tree_with(AT_FDCWD, path, 0, MOUNT_ATTR_NODEV, user_ns_fd, &fd);
    if (error == 0)
        return 0;
    local_fault_set(fault, error, "map the owners of the files in %s", path);
    explain_idmap(fault, error);
    return error;
}

static int open_folder(struct local_trees *trees, const char *folder, int user_ns_fd,
                       struct local_fault *fault) {
    al_autofd int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return local_fault_set(fault, errno, "open the sandbox's folder %s", folder);
    struct stat about;
    if (fstat(fd, &about) != 0)
        return local_fault_set(fault, errno, "look at the sandbox's folder %s", folder);
    if (about.st_uid != 0 || (about.st_mode & 0777) != 0700) {
        local_fault_set(fault, EPERM, "use the sandbox's folder %s", folder);
        local_fault_hint(fault,
                         "guests' setuid programs lie in it: it must be root's, with mode 0700");
        return EPERM;
    }
    if (mkdirat(fd, "upper", 0755) != 0 || mkdirat(fd, "work", 0700) != 0)
        return local_fault_set(fault, errno, "make upper and work in %s", folder);
    int error =
        open_tree_with(fd, "", AT_EMPTY_PATH, MOUNT_ATTR_NODEV, user_ns_fd, &trees->folder_fd);
    if (error != 0) {
        local_fault_set(fault, error, "map the owners of the files in %s", folder);
        explain_idmap(fault, error);
    }
    return error;
}

static int open_layers(struct local_trees *trees, const struct local_spec *spec, int user_ns_fd,
                       struct local_fault *fault) {
    for (size_t i = 0; i < spec->layer_count; i++) {
        int error =
            open_tree_with(AT_FDCWD, spec->layers[i], 0, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV,
                           user_ns_fd, &trees->layer_fds[i]);
        if (error != 0) {
            local_fault_set(fault, error, "use the image layer %s", spec->layers[i]);
            explain_idmap(fault, error);
            return error;
        }
        trees->layer_count++;
    }
    return 0;
}

/* A user namespace in which the one owner is guest root. It needs a process to be born with; the
 * descriptor keeps it when that is gone. */
static int make_owner_namespace(const struct stat *about, uint32_t base, int *user_ns_fd,
                                struct local_fault *fault) {
    pid_t pid = 0;
    int error = local_fork_parked(CLONE_NEWUSER, &pid);
    if (error != 0)
        return local_fault_set(fault, error, "make a user namespace for a mount");
    error = local_range_map_owner(pid, about->st_uid, about->st_gid, base, fault);
    if (error == 0) {
        error = local_user_namespace_open(pid, user_ns_fd);
        if (error != 0)
            local_fault_set(fault, error, "open the user namespace of a mount");
    }
    int reaped = local_end_parked(pid);
    if (error == 0 && reaped != 0) {
        al_close(*user_ns_fd);
        return local_fault_set(fault, reaped, "wait for a helper process");
    }
    return error;
}

static int open_mount(struct local_trees *trees, const struct local_mount *mount, uint32_t base,
                      struct local_fault *fault) {
    struct stat about;
    if (fstat(mount->source_fd, &about) != 0)
        return local_fault_set(fault, errno, "look at what is to be mounted at %s", mount->target);
    if (!S_ISDIR(about.st_mode) && !S_ISREG(about.st_mode)) {
        local_fault_set(fault, EINVAL, "mount something at %s", mount->target);
        local_fault_hint(fault, "only folders and regular files can be mounted");
        return EINVAL;
    }
    al_autofd int user_ns_fd = -1;
    int error = make_owner_namespace(&about, base, &user_ns_fd, fault);
    if (error != 0)
        return error;
    uint64_t attributes = MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID;
    if (mount->readonly)
        attributes |= MOUNT_ATTR_RDONLY;
    size_t index = trees->mount_count;
    error = open_tree_with(mount->source_fd, "", AT_EMPTY_PATH, attributes, user_ns_fd,
                           &trees->mount_fds[index]);
    if (error != 0) {
        local_fault_set(fault, error, "map the owner of what is to be mounted at %s",
                        mount->target);
        explain_idmap(fault, error);
        return error;
    }
    trees->mount_is_folder[index] = S_ISDIR(about.st_mode);
    trees->mount_count++;
    return 0;
}

static int open_binds(struct local_trees *trees, struct local_fault *fault) {
    size_t count = 0;
    const char *const *paths = local_host_image_binds(&count);
    for (size_t i = 0; i < count; i++) {
        int fd = -1;
        int error =
            open_tree_with(AT_FDCWD, paths[i], AT_RECURSIVE,
                           MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID, -1, &fd);
        if (error != 0 && error != ENOENT)
            return local_fault_set(fault, error, "take %s of this host", paths[i]);
        if (error == 0)
            trees->binds[trees->bind_count++] = (struct local_bind){.path = paths[i], .fd = fd};
    }
    return 0;
}

/* A host without such a file, or with a strange one, resolves nothing inside either. */
static void read_resolver(struct local_trees *trees) {
    al_autofd int fd = open("/etc/resolv.conf", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    size_t size = 0;
    if (fd < 0 || al_read_full(fd, trees->resolver, sizeof(trees->resolver) - 1, &size) != 0)
        size = 0;
    trees->resolver[size] = '\0';
}

int local_trees_open(struct local_trees *trees, const struct local_spec *spec, int user_ns_fd,
                     uint32_t base, struct local_fault *fault) {
    int error = open_folder(trees, spec->folder, user_ns_fd, fault);
    if (error == 0)
        error = open_layers(trees, spec, user_ns_fd, fault);
    if (error == 0 && spec->host_image)
        error = open_binds(trees, fault);
    if (error == 0 && spec->network == LOCAL_NETWORK_HOST)
        read_resolver(trees);
    for (size_t i = 0; error == 0 && i < spec->mount_count; i++)
        error = open_mount(trees, &spec->mounts[i], base, fault);
    return error;
}
