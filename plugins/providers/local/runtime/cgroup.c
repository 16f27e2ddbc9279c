/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/runtime/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "plugins/providers/local/runtime/cgroup_mount.h"

enum {
    PIDS_MAX = 4 * 1024 * 1024 /* of the kernel, on 64-bit machines */
};

static const unsigned all_controllers = (1U << LOCAL_CONTROLLER_COUNT) - 1;

void local_cgroups_init(struct local_cgroups *cgroups) {
    *cgroups = (struct local_cgroups){.unified_fd = -1,
                                      .pid1_fd = -1,
                                      .commands_fd = -1,
                                      .memory_fd = -1,
                                      .cpu_fd = -1,
                                      .join_fds = {-1, -1, -1}};
}

void local_cgroups_close(struct local_cgroups *cgroups) {
    al_close(cgroups->unified_fd);
    al_close(cgroups->pid1_fd);
    al_close(cgroups->commands_fd);
    al_close(cgroups->memory_fd);
    al_close(cgroups->cpu_fd);
    for (size_t i = 0; i < AL_COUNT(cgroups->join_fds); i++)
        al_close(cgroups->join_fds[i]);
    local_cgroups_init(cgroups);
}

/* A folder that must not be there yet: one that is belongs to another box of this name. */
static int make_folder(int parent_fd, const char *name, int *out) {
    if (mkdirat(parent_fd, name, 0755) != 0)
        return errno;
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    *out = fd;
    return 0;
}

static int copy_fd(int fd, int *out) {
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (copy < 0)
        return errno;
    *out = copy;
    return 0;
}

/* With controllers on v2 a folder holds either processes or further limited folders: so pid 1 and
 * the commands each get one. Without, the box's own folder does for both. */
static int make_inner_folders(struct local_cgroups *cgroups, int top) {
    unsigned controllers = 0;
    int error = local_cgroup_controllers(top, &controllers);
    if (error != 0)
        return error;
    controllers &= all_controllers;
    cgroups->v2_controllers = controllers;
    if (controllers == 0) {
        error = copy_fd(cgroups->unified_fd, &cgroups->pid1_fd);
        return error != 0 ? error : copy_fd(cgroups->unified_fd, &cgroups->commands_fd);
    }
    error = local_cgroup_enable(top, controllers);
    if (error == 0)
        error = local_cgroup_enable(cgroups->unified_fd, controllers);
    if (error == 0)
        error = make_folder(cgroups->unified_fd, "init", &cgroups->pid1_fd);
    if (error == 0)
        error = make_folder(cgroups->unified_fd, "work", &cgroups->commands_fd);
    return error;
}

int local_cgroups_make_tree(struct local_cgroups *cgroups, const char *id, uint32_t owner,
                            struct local_fault *fault) {
    (void)snprintf(cgroups->name, sizeof(cgroups->name), "sandbox-%s", id);
    al_autofd int top = -1;
    int error = local_cgroup_open_top(&top, fault);
    if (error != 0)
        return error;
    error = make_folder(top, cgroups->name, &cgroups->unified_fd);
    if (error == 0)
        error = make_inner_folders(cgroups, top);
    /* A process may be forked from one group into another by who owns the list of their common
     * ancestor. */
    if (error == 0 && fchownat(cgroups->unified_fd, "cgroup.procs", owner, owner, 0) != 0)
        error = errno;
    if (error != 0)
        return local_fault_set(fault, error, "make the cgroup %s/%s", local_cgroup_top,
                               cgroups->name);
    return 0;
}

/* The folder of a controller of the box: on v1 a new one that commands join, on v2 the commands'.
 */
static int open_controller(struct local_cgroups *cgroups, enum local_controller controller,
                           int *out) {
    if ((cgroups->v2_controllers & (1U << controller)) != 0)
        return copy_fd(cgroups->commands_fd, out);
    al_autofd int root = -1;
    al_autofd int top = -1;
    al_autofd int folder = -1;
    int error = local_cgroup_open_v1(controller, &root);
    if (error == 0)
        error = local_cgroup_open_made(root, local_cgroup_top, &top);
    if (error == 0)
        error = make_folder(top, cgroups->name, &folder);
    if (error != 0)
        return error;
    int join_fd = openat(folder, "tasks", O_WRONLY | O_CLOEXEC);
    if (join_fd < 0)
        return errno;
    cgroups->join_fds[controller] = join_fd;
    *out = al_steal_fd(&folder);
    return 0;
}

static int limit_memory(const struct local_cgroups *cgroups, int folder, uint64_t size) {
    bool is_v2 = (cgroups->v2_controllers & (1U << LOCAL_CONTROLLER_MEMORY)) != 0;
    char text[32];
    (void)snprintf(text, sizeof(text), "%" PRIu64, size);
    int error = local_cgroup_write(folder, is_v2 ? "memory.max" : "memory.limit_in_bytes", text);
    if (error != 0)
        return error;
    /* Where swap is not accounted for, the kernel has no such file. */
    error = is_v2 ? local_cgroup_write(folder, "memory.swap.max", "0")
                  : local_cgroup_write(folder, "memory.memsw.limit_in_bytes", text);
    return error == ENOENT ? 0 : error;
}

/* The kernel refuses a number that it cannot have processes for; it is no limit then. */
static int limit_pids(int folder, uint32_t count) {
    char text[32] = "max";
    if (count <= PIDS_MAX)
        (void)snprintf(text, sizeof(text), "%" PRIu32, count == 0 ? LOCAL_PIDS_DEFAULT : count);
    return local_cgroup_write(folder, "pids.max", text);
}

/* The kernel takes no quota below a millisecond: tiny shares are counted over a longer period. */
static int limit_cpu(const struct local_cgroups *cgroups, int folder, uint32_t milli) {
    unsigned long period_us = milli < 10 ? 1000000 : 100000;
    unsigned long quota_us = period_us / 1000 * milli;
    char text[64];
    if ((cgroups->v2_controllers & (1U << LOCAL_CONTROLLER_CPU)) != 0) {
        (void)snprintf(text, sizeof(text), "%lu %lu", quota_us, period_us);
        return local_cgroup_write(folder, "cpu.max", text);
    }
    (void)snprintf(text, sizeof(text), "%lu", period_us);
    int error = local_cgroup_write(folder, "cpu.cfs_period_us", text);
    if (error != 0)
        return error;
    (void)snprintf(text, sizeof(text), "%lu", quota_us);
    return local_cgroup_write(folder, "cpu.cfs_quota_us", text);
}

static int set_limit(struct local_cgroups *cgroups, enum local_controller controller, int folder,
                     const struct local_limits *limits) {
    switch (controller) {
    case LOCAL_CONTROLLER_MEMORY:
        return limits->memory_size == 0 ? 0 : limit_memory(cgroups, folder, limits->memory_size);
    case LOCAL_CONTROLLER_PIDS:
        return limit_pids(folder, limits->pids_count);
    case LOCAL_CONTROLLER_CPU:
        cgroups->has_cpu_limit = true;
        return limit_cpu(cgroups, folder, limits->cpu_milli);
    case LOCAL_CONTROLLER_COUNT:
        break;
    }
    return EINVAL;
}

static bool is_limit_wanted(enum local_controller controller, const struct local_limits *limits) {
    const bool wanted[LOCAL_CONTROLLER_COUNT] = {limits->memory_size != 0, limits->pids_count != 0,
                                                 limits->cpu_milli != 0};
    return wanted[controller];
}

static int prepare_controller(struct local_cgroups *cgroups, enum local_controller controller,
                              const struct local_limits *limits, struct local_fault *fault) {
    bool is_wanted = is_limit_wanted(controller, limits);
    if (controller == LOCAL_CONTROLLER_CPU && !is_wanted)
        return 0;
    al_autofd int folder = -1;
    int error = open_controller(cgroups, controller, &folder);
    if (error == ENOENT && !is_wanted)
        return 0;
    if (error == ENOENT)
        error = ENOTSUP;
    if (error == 0)
        error = set_limit(cgroups, controller, folder, limits);
    if (error != 0)
        return local_fault_set(fault, error, "set the limit of %s",
                               local_controller_name(controller));
    if (controller == LOCAL_CONTROLLER_MEMORY)
        cgroups->memory_fd = al_steal_fd(&folder);
    else if (controller == LOCAL_CONTROLLER_CPU)
        cgroups->cpu_fd = al_steal_fd(&folder);
    return 0;
}

int local_cgroups_set_limits(struct local_cgroups *cgroups, const struct local_limits *limits,
                             struct local_fault *fault) {
    for (unsigned i = 0; i < LOCAL_CONTROLLER_COUNT; i++) {
        int error = prepare_controller(cgroups, (enum local_controller)i, limits, fault);
        if (error != 0)
            return error;
    }
    return 0;
}

void local_cgroups_lift_cpu(const struct local_cgroups *cgroups) {
    if (!cgroups->has_cpu_limit)
        return;
    if ((cgroups->v2_controllers & (1U << LOCAL_CONTROLLER_CPU)) != 0)
        (void)local_cgroup_write(cgroups->cpu_fd, "cpu.max", "max");
    else
        (void)local_cgroup_write(cgroups->cpu_fd, "cpu.cfs_quota_us", "-1");
}
