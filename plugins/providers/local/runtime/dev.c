/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "plugins/providers/local/runtime/root_parts.h"

/* A device node made in a user namespace never opens, so these are the host's own, bound. */
static const char *const nodes[] = {"full", "null", "random", "tty", "urandom", "zero"};

static const struct {
    const char *name;
    const char *target;
} links[] = {
    {"dev/fd", "/proc/self/fd"},       {"dev/stdin", "/proc/self/fd/0"},
    {"dev/stdout", "/proc/self/fd/1"}, {"dev/stderr", "/proc/self/fd/2"},
    {"dev/ptmx", "pts/ptmx"},
};

static int bind_node(const char *name) {
    char from[32];
    char to[32];
    (void)snprintf(from, sizeof(from), "/dev/%s", name);
    (void)snprintf(to, sizeof(to), "dev/%s", name);
    al_autofd int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || mount(from, to, NULL, MS_BIND, NULL) != 0)
        return errno;
    return 0;
}

static int mount_inside(const char *type, const char *target, unsigned long flags,
                        const char *options) {
    if (mkdir(target, 0755) != 0 || mount(type, target, type, flags | MS_NOSUID, options) != 0)
        return errno;
    return 0;
}

static int fill(const char **which) {
    for (size_t i = 0; i < AL_COUNT(nodes); i++) {
        *which = nodes[i];
        int error = bind_node(nodes[i]);
        if (error != 0)
            return error;
    }
    for (size_t i = 0; i < AL_COUNT(links); i++) {
        *which = links[i].name;
        if (symlink(links[i].target, links[i].name) != 0)
            return errno;
    }
    *which = "pts";
    /* The only one whose devices may be opened: nobody can make others in it. */
    int error =
        mount_inside("devpts", "dev/pts", MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620,gid=5");
    if (error != 0)
        return error;
    *which = "shm";
    error = mount_inside("tmpfs", "dev/shm", MS_NODEV, "mode=1777");
    if (error != 0)
        return error;
    *which = "mqueue";
    return mount_inside("mqueue", "dev/mqueue", MS_NOEXEC | MS_NODEV, NULL);
}

int local_dev_fill(struct local_fault *fault) {
    const char *which = "";
    int error = fill(&which);
    return error == 0 ? 0 : local_fault_set(fault, error, "make /dev/%s of the sandbox", which);
}
