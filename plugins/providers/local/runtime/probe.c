/* SPDX-License-Identifier: Apache-2.0 */
/* What of this machine a sandbox needs, found out by trying. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/file.h"
#include "core/util/io.h"
#include "core/util/random.h"
#include "core/util/str.h"
#include "plugins/providers/local/runtime/box.h"
#include "plugins/providers/local/runtime/cgroup.h"
#include "plugins/providers/local/runtime/fork.h"
#include "plugins/providers/local/runtime/host_image.h"
#include "plugins/providers/local/runtime/idrange.h"
#include "plugins/providers/local/runtime/trees.h"

enum {
    KERNEL_MAJOR = 6,
    KERNEL_MINOR = 1,
    TRIAL_TIMEOUT_MS = 3000
};

/* Each trial gives 0, or an errno value with the fault filled. */
typedef int (*trial)(const char *store, struct local_fault *fault);

static int try_root(const char *store, struct local_fault *fault) {
    (void)store;
    if (geteuid() == 0)
        return 0;
    local_fault_set(fault, EPERM, "make sandboxes as user %d", (int)geteuid());
    local_fault_hint(fault, "run as root");
    return EPERM;
}

static int try_kernel(const char *store, struct local_fault *fault) {
    (void)store;
    struct utsname about;
    int major = 0;
    int minor = 0;
    if (uname(&about) != 0)
        return local_fault_set(fault, errno, "ask for the kernel's version");
    if (sscanf(about.release, "%d.%d", &major, &minor) == 2 &&
        (major > KERNEL_MAJOR || (major == KERNEL_MAJOR && minor >= KERNEL_MINOR)))
        return 0;
    local_fault_set(fault, ENOSYS, "use kernel %s", about.release);
    local_fault_hint(fault, "sandboxes need Linux %d.%d or newer", KERNEL_MAJOR, KERNEL_MINOR);
    return ENOSYS;
}

static int try_ids(const char *store, struct local_fault *fault) {
    (void)store;
    return local_range_check(fault);
}

/* A process in a new user namespace with a range of ids; it waits to be killed. */
static int fork_mapped(pid_t *pid, int *range_fd, struct local_fault *fault) {
    uint32_t base = 0;
    int fd = -1;
    int error = local_range_claim("probe", &fd, &base, fault);
    if (error != 0)
        return error;
    pid_t child = 0;
    error = local_fork_parked(CLONE_NEWUSER, &child);
    if (error != 0) {
        al_close(fd);
        local_fault_set(fault, error, "make a user namespace");
        local_fault_hint(fault, "allow them: see /proc/sys/user/max_user_namespaces");
        return error;
    }
    error = local_range_map(child, base, fault);
    if (error != 0) {
        (void)!local_end_parked(child);
        al_close(fd);
        return error;
    }
    *pid = child;
    *range_fd = fd;
    return 0;
}

static int try_store(const char *store, struct local_fault *fault) {
    pid_t pid = 0;
    al_autofd int range_fd = -1;
    al_autofd int user_ns = -1;
    int error = fork_mapped(&pid, &range_fd, fault);
    if (error != 0)
        return error;
    error = local_user_namespace_open(pid, &user_ns);
    if (error == 0)
        error = local_trees_check(store, user_ns, fault);
    else
        local_fault_set(fault, error, "open a user namespace");
    int ended = local_end_parked(pid);
    return error != 0 ? error : ended;
}

static int try_cgroups(const char *store, struct local_fault *fault) {
    (void)store;
    al_autofd int top = -1;
    return local_cgroup_open_top(&top, fault);
}

static int try_host_image(const char *store, struct local_fault *fault) {
    (void)store;
    return local_host_image_check(fault);
}

static int try_memory(const char *store, struct local_fault *fault) {
    (void)store;
    bool is_v2 = false;
    return local_controller_find(LOCAL_CONTROLLER_MEMORY, &is_v2, fault);
}

static int try_pids(const char *store, struct local_fault *fault) {
    (void)store;
    bool is_v2 = false;
    return local_controller_find(LOCAL_CONTROLLER_PIDS, &is_v2, fault);
}

static int try_cpu(const char *store, struct local_fault *fault) {
    (void)store;
    bool is_v2 = false;
    return local_controller_find(LOCAL_CONTROLLER_CPU, &is_v2, fault);
}

/* --- a whole box ------------------------------------------------------------------------------ */

static int end_at_once(void *arg, const struct local_inside *inside) {
    (void)arg;
    (void)inside;
    return 0;
}

/* Builds a box of an empty image in FOLDER and ends it again. */
static int build_and_end(const char *folder, const char *id, struct local_fault *fault) {
    al_autofree char *layer = al_strf("%s/layer", folder);
    al_autofree char *box_folder = al_strf("%s/box", folder);
    al_autofree char *trash = al_strf("%s/trash", folder);
    if (layer == NULL || box_folder == NULL || trash == NULL)
        return local_fault_set(fault, ENOMEM, "try a sandbox");
    if (mkdir(layer, 0700) != 0 || mkdir(box_folder, 0700) != 0 || mkdir(trash, 0700) != 0)
        return local_fault_set(fault, errno, "make folders in %s", folder);
    const char *const layers[] = {layer};
    struct local_spec spec = {
        .id = id, .hostname = "probe", .folder = box_folder, .layers = layers, .layer_count = 1};
    struct local_box box;
    int error = local_box_build(&spec, end_at_once, NULL, &box, fault);
    if (error != 0)
        return error;
    error = local_box_kill(&box, al_deadline_after_ms(TRIAL_TIMEOUT_MS), NULL);
    if (error != 0)
        return local_fault_set(fault, error, "end a sandbox");
    return local_box_destroy(&box, box_folder, trash, fault);
}

_Noreturn static void run_trial(const char *folder, const char *id, int write_fd) {
    struct local_fault fault = {.errnum = 0};
    int error = build_and_end(folder, id, &fault);
    if (al_write_full(write_fd, &fault, sizeof(fault)) != 0)
        error = EPIPE;
    _exit(error == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* In a process of its own, since building a box changes its process for good. */
static int try_box_in(const char *folder, const char *id, struct local_fault *fault) {
    int read_fd = -1;
    int write_fd = -1;
    int error = al_pipe(&read_fd, &write_fd);
    if (error != 0)
        return local_fault_set(fault, error, "try a sandbox");
    pid_t pid = 0;
    error = local_supervisor_fork(&pid, fault);
    if (error == 0 && pid == 0)
        run_trial(folder, id, write_fd);
    al_close(write_fd);
    if (error == 0) {
        struct local_fault report = {.errnum = 0};
        size_t size = 0;
        error = al_read_full(read_fd, &report, sizeof(report), &size);
        (void)!local_reap(pid, NULL);
        if (error == 0 && size != sizeof(report))
            error = local_fault_set(fault, ECHILD, "try a sandbox");
        else if (error != 0)
            local_fault_set(fault, error, "try a sandbox");
        else if ((error = report.errnum) != 0)
            *fault = report;
    }
    al_close(read_fd);
    return error;
}

static int try_box(const char *store, struct local_fault *fault) {
    char id[17];
    int error = al_random_id(id, sizeof(id) - 1);
    al_autofree char *folder = error != 0 ? NULL : al_strf("%s/.probe-%s", store, id);
    if (folder == NULL)
        return local_fault_set(fault, error != 0 ? error : ENOMEM, "try a sandbox");
    if (mkdir(folder, 0700) != 0)
        return local_fault_set(fault, errno, "make a folder in %s", store);
    error = try_box_in(folder, id, fault);
    int removed = al_remove_tree(AT_FDCWD, folder);
    if (error == 0 && removed != 0)
        error = local_fault_set(fault, removed, "remove %s", folder);
    return error;
}

/* --- the table -------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    bool is_required;
    trial try_it;
} trials[] = {
    {"root", true, try_root},
    {"kernel", true, try_kernel},
    {"ids", true, try_ids},
    {"store", true, try_store},
    {"cgroups", true, try_cgroups},
    {"sandbox", true, try_box},
    {"images.host", false, try_host_image},
    {"limits.memory", false, try_memory},
    {"limits.pids", false, try_pids},
    {"limits.cpu", false, try_cpu},
    {"pause", false, try_cgroups},
    {"kill_tree", false, try_cgroups},
};
_Static_assert(AL_COUNT(trials) <= LOCAL_FEATURES_MAX, "more trials than the table has room for");

void local_probe(const char *store, struct local_feature features[LOCAL_FEATURES_MAX],
                 size_t *count) {
    for (size_t i = 0; i < AL_COUNT(trials); i++) {
        struct local_fault fault = {.errnum = 0};
        struct local_feature *feature = &features[i];
        *feature =
            (struct local_feature){.name = trials[i].name, .is_required = trials[i].is_required};
        feature->is_there = trials[i].try_it(store, &fault) == 0;
        if (feature->is_there)
            continue;
        (void)al_str_copy(feature->reason, sizeof(feature->reason), fault.message);
        (void)al_str_copy(feature->remedy, sizeof(feature->remedy), fault.hint);
    }
    *count = AL_COUNT(trials);
}
