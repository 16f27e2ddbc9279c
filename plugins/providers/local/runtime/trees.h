/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_TREES_H
#define ALINEO_LOCAL_TREES_H

/* The parts of the host's file systems that a box gets, as mounts that are attached nowhere yet.
 * The supervisor opens them and gives them their flags and id mapping; pid 1, which shares its
 * descriptors then, attaches them in its own mount namespace. So no host-side mount exists that
 * could be left behind. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "plugins/providers/local/runtime/box.h"

enum {
    LOCAL_BINDS_MAX = 16,
    LOCAL_RESOLVER_SIZE = 4096
};

/* Of the host's own files, for the host image: read-only, and with their real owners, who are
 * nobody inside. So only what every user of the host may read can be read. */
struct local_bind {
    const char *path; /* the same on the host and inside */
    int fd;           /* -1: not on this host */
};

struct local_trees {
    int folder_fd; /* the box's folder, with upper and work */
    int layer_fds[LOCAL_LAYERS_MAX];
    size_t layer_count;
    int mount_fds[LOCAL_MOUNTS_MAX];
    bool mount_is_folder[LOCAL_MOUNTS_MAX];
    size_t mount_count;
    struct local_bind binds[LOCAL_BINDS_MAX];
    size_t bind_count;
    char
        resolver[LOCAL_RESOLVER_SIZE]; /* /etc/resolv.conf of the host, where its network is used */
};

void local_trees_init(struct local_trees *trees);
void local_trees_close(struct local_trees *trees);

/* Makes upper and work and opens everything; USER_NS_FD is the user namespace of the box, BASE its
 * range. */
AL_MUST_CHECK int local_trees_open(struct local_trees *trees, const struct local_spec *spec,
                                   int user_ns_fd, uint32_t base, struct local_fault *fault);

/* The user namespace of a process, the caller's to close. */
AL_MUST_CHECK int local_user_namespace_open(pid_t pid, int *fd);

/* Whether folders of the file system that holds PATH can be given other ids, tried with the user
 * namespace USER_NS_FD. EINVAL: not this one. */
AL_MUST_CHECK int local_trees_check(const char *path, int user_ns_fd, struct local_fault *fault);

#endif
