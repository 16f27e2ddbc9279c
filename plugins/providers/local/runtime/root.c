/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/runtime/root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/util/cleanup.h"

enum {
    /* mount() cuts its options here, and says nothing. */
    MOUNT_OPTIONS_MAX = 4095,
    UNCOVER_TRIES_MAX = 16
};

int local_root_begin(struct local_fault *fault) {
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return local_fault_set(fault, errno, "part the sandbox's mounts from the host's");
    return 0;
}

static int attach(int tree_fd, const char *target) {
    return move_mount(tree_fd, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) != 0 ? errno : 0;
}

/* A small file system for putting the root together, whose files are guest root's. It lies over a
 * folder of the host that is no longer needed, so that it goes away together with the host's root:
 * each mount that is taken away by itself costs a wait for all processors. */
static int enter_stage(struct local_fault *fault) {
    static const char *const places[] = {"/usr", "/"};
    al_autofd int context = fsopen("tmpfs", FSOPEN_CLOEXEC);
    al_autofd int stage = -1;
    if (context >= 0 && fsconfig(context, FSCONFIG_SET_STRING, "mode", "0755", 0) == 0 &&
        fsconfig(context, FSCONFIG_SET_STRING, "size", "1m", 0) == 0 &&
        fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
        stage = fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    int error = stage < 0 ? errno : ENOENT;
    for (size_t i = 0; error == ENOENT && i < AL_COUNT(places); i++)
        error = attach(stage, places[i]);
    if (error == 0 && fchdir(stage) != 0)
        error = errno;
    return error == 0
               ? 0
               : local_fault_set(fault, error, "mount a staging folder for the sandbox's root");
}

static int attach_new(int tree_fd, const char *target) {
    return mkdir(target, 0700) != 0 ? errno : attach(tree_fd, target);
}

/* Kernel 6.1 takes layers by their path only, so each is attached under a name as short as can be.
 */
static int mount_overlay(const struct local_trees *trees, struct local_fault *fault) {
    char options[MOUNT_OPTIONS_MAX + 1];
    size_t size = (size_t)snprintf(options, sizeof(options),
                                   "userxattr,volatile,upperdir=u/upper,workdir=u/work,lowerdir=");
    int error = attach_new(trees->folder_fd, "u");
    for (size_t i = 0; error == 0 && i < trees->layer_count; i++) {
        char name[16];
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
        error = attach(trees->binds[i].fd, target);
    }
    return error;
}

int local_root_assemble(const struct local_trees *trees, struct local_fault *fault) {
    int error = enter_stage(fault);
    if (error == 0)
        error = mount_overlay(trees, fault);
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

/* --- in the new root ---------------------------------------------------------------------------
 */

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

/* An image without /etc, or with a link or folder where these files go, is left as it is. */
static int name_box(const char *hostname) {
    char hosts[256];
    char name[80];
    (void)snprintf(name, sizeof(name), "%s\n", hostname);
    (void)snprintf(hosts, sizeof(hosts),
                   "127.0.0.1\tlocalhost %s\n::1\tlocalhost ip6-localhost ip6-loopback\n",
                   hostname);
    int error = write_unless_full("/etc/hostname", name);
    if (error == 0)
        error = write_unless_full("/etc/hosts", hosts);
    return error == ENOENT || error == ENOTDIR || error == EISDIR || error == ELOOP ? 0 : error;
}

/* The host's resolver settings, where the host's network is: the supervisor has read them. */
static int write_resolver(const char *text) {
    if (unlink("/etc/resolv.conf") != 0 && errno != ENOENT)
        return errno == ENOTDIR ? 0 : errno;
    int error = write_unless_full("/etc/resolv.conf", text);
    return error == ENOENT ? 0 : error;
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
    error = name_box(spec->hostname);
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
