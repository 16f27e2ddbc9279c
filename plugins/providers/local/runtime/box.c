/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/runtime/box.h"

#include <errno.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/io.h"
#include "core/util/msg.h"
#include "core/util/proc.h"
#include "core/util/str.h"
#include "plugins/providers/local/runtime/cgroup.h"
#include "plugins/providers/local/runtime/confine.h"
#include "plugins/providers/local/runtime/fds.h"
#include "plugins/providers/local/runtime/files.h"
#include "plugins/providers/local/runtime/fork.h"
#include "plugins/providers/local/runtime/idrange.h"
#include "plugins/providers/local/runtime/setup.h"

enum {
    BUILD_TIMEOUT_MS = 10000,
    UNDO_TIMEOUT_MS = 5000
};

void local_box_init(struct local_box *box) {
    *box = (struct local_box){.pid_fd = -1, .root_fd = -1, .range_fd = -1};
    local_cgroups_init(&box->cgroups);
}

/* --- what is asked for --------------------------------------------------------------------------
 */

static bool is_id(const char *id) {
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t size = strlen(id);
    return size >= 1 && size <= 128 && strspn(id, allowed) == size;
}

static const char *find_mistake(const struct local_spec *spec) {
    if (!is_id(spec->id))
        return "the id";
    size_t name_size = strlen(spec->hostname);
    if (name_size < 1 || name_size > 64)
        return "the host name";
    if (spec->folder[0] != '/')
        return "the folder";
    if (spec->layer_count < 1 || spec->layer_count > LOCAL_LAYERS_MAX)
        return "the number of layers";
    if (spec->mount_count > LOCAL_MOUNTS_MAX)
        return "the number of mounts";
    if (spec->keep_fd_count > LOCAL_KEEP_FDS_MAX)
        return "the number of descriptors";
    for (size_t i = 0; i < spec->mount_count; i++)
        if (spec->mounts[i].target[0] != '/')
            return "the target of a mount";
    return NULL;
}

/* --- building -----------------------------------------------------------------------------------
 */

struct build {
    const struct local_spec *spec;
    struct local_box box;
    struct local_setup setup;
    struct local_handover handover;
    int sync_fd; /* our end */
};

static uint64_t namespaces_of(const struct local_spec *spec) {
    uint64_t flags =
        CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_FILES;
    return spec->network == LOCAL_NETWORK_HOST ? flags : flags | CLONE_NEWNET;
}

static int fork_pid1(struct build *build, struct local_fault *fault) {
    int error = al_msg_pair(&build->sync_fd, &build->setup.sync_fd);
    if (error == 0)
        error = al_pidfd_open(getpid(), &build->setup.parent_fd);
    if (error != 0)
        return local_fault_set(fault, error, "prepare the sandbox's first process");
    struct local_box *box = &build->box;
    error = local_fork(namespaces_of(build->spec), box->cgroups.pid1_fd, &box->pid, &box->pid_fd);
    if (error == 0 && box->pid == 0)
        local_setup_run(&build->setup);
    if (error != 0) {
        local_fault_set(fault, error, "make the sandbox's namespaces");
        local_fault_hint(fault, "the kernel must allow user, mount, pid, network, ipc and uts "
                                "namespaces; see /proc/sys/user/max_*_namespaces");
    }
    return error;
}

/* The supervisor's work while pid 1 prepares itself. */
static int hand_over(struct build *build, struct local_fault *fault) {
    struct local_box *box = &build->box;
    int error = local_range_map(box->pid, box->range_base, fault);
    al_autofd int user_ns = -1;
    if (error == 0) {
        error = local_user_namespace_open(box->pid, &user_ns);
        if (error != 0)
            local_fault_set(fault, error, "open the sandbox's user namespace");
    }
    if (error == 0)
        error =
            local_trees_open(&build->handover.trees, build->spec, user_ns, box->range_base, fault);
    if (error == 0)
        error = local_cgroups_set_limits(&box->cgroups, &build->spec->limits, fault);
    if (error != 0)
        return error;
    struct local_inside *inside = &build->handover.inside;
    memcpy(inside->join_fds, box->cgroups.join_fds, sizeof(inside->join_fds));
    inside->range_fd = box->range_fd;
    inside->command_namespace = build->setup.command_namespace;
    inside->has_groups = true;
    error = al_msg_send(build->sync_fd, &build->handover, sizeof(build->handover), NULL, 0,
                        al_deadline_after_ms(BUILD_TIMEOUT_MS));
    /* EPIPE: pid 1 has failed, and its report says why. */
    return error == 0 || error == EPIPE
               ? 0
               : local_fault_set(fault, error, "talk to the sandbox's first process");
}

static int pid1_died(const struct local_box *box, struct local_fault *fault) {
    siginfo_t info = {.si_pid = 0};
    if (waitid(P_PIDFD, (id_t)box->pid_fd, &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
        info.si_pid != 0 && info.si_code != CLD_EXITED)
        return local_fault_set(
            fault, ECHILD, "set up the sandbox (its first process got signal %d)", info.si_status);
    return local_fault_set(fault, ECHILD, "set up the sandbox (its first process ended)");
}

/* Both ends of the socket are open here for a while: so the death of pid 1 shows on its pidfd only.
 */
static int await_report(struct build *build, struct local_fault *fault) {
    struct local_box *box = &build->box;
    al_deadline deadline = al_deadline_after_ms(BUILD_TIMEOUT_MS);
    struct pollfd wait[2] = {{.fd = build->sync_fd, .events = POLLIN},
                             {.fd = box->pid_fd, .events = POLLIN}};
    int ready;
    do {
        ready = poll(wait, 2, al_deadline_poll_ms(deadline));
    } while (ready < 0 && errno == EINTR);
    if (ready <= 0)
        return local_fault_set(fault, ready == 0 ? ETIMEDOUT : errno, "wait for the sandbox");
    if ((wait[0].revents & POLLIN) == 0)
        return pid1_died(box, fault);
    struct local_fault report;
    size_t size = 0;
    size_t fd_count = 0;
    int error = al_msg_receive(build->sync_fd, &report, sizeof(report), &size, &box->root_fd, 1,
                               &fd_count, deadline);
    if (error == 0 && size != sizeof(report))
        error = EPROTO;
    if (error != 0)
        return local_fault_set(fault, error, "read the report of the sandbox's first process");
    if (report.errnum != 0) {
        report.message[sizeof(report.message) - 1] = report.hint[sizeof(report.hint) - 1] = '\0';
        if (fault != NULL)
            *fault = report;
        return report.errnum;
    }
    return fd_count == 1 ? 0 : local_fault_set(fault, EPROTO, "receive the sandbox's root");
}

static int build_steps(struct build *build, struct local_fault *fault) {
    struct local_box *box = &build->box;
    int error = local_limits_apply(fault);
    if (error == 0)
        error = local_range_claim(build->spec->id, &box->range_fd, &box->range_base, fault);
    if (error == 0)
        error = local_cgroups_make_tree(&box->cgroups, build->spec->id, box->range_base, fault);
    build->setup.command_namespace = box->cgroups.v2_controllers != 0;
    if (error == 0)
        error = fork_pid1(build, fault);
    if (error == 0)
        error = hand_over(build, fault);
    if (error == 0) {
        local_limits_protect();
        error = await_report(build, fault);
    }
    return error;
}

static void close_box(struct local_box *box) {
    al_close(box->pid_fd);
    al_close(box->root_fd);
    al_close(box->range_fd);
    local_cgroups_close(&box->cgroups);
    local_box_init(box);
}

static void undo(struct build *build) {
    al_deadline deadline = al_deadline_after_ms(UNDO_TIMEOUT_MS);
    struct local_box *box = &build->box;
    bool has_cgroups = box->cgroups.unified_fd >= 0;
    if (local_box_kill(box, deadline, NULL) == 0 && has_cgroups)
        (void)!local_cgroups_remove(build->spec->id, deadline, NULL);
    close_box(box);
}

int local_box_build(const struct local_spec *spec, local_pid1 pid1, void *arg,
                    struct local_box *box, struct local_fault *fault) {
    const char *mistake = find_mistake(spec);
    if (mistake != NULL)
        return local_fault_set(fault, EINVAL, "build a sandbox: %s is not valid", mistake);
    int error = local_fds_open_standard();
    if (error != 0)
        return local_fault_set(fault, error, "open /dev/null");
    struct build build = {
        .spec = spec,
        .setup = {.spec = spec, .pid1 = pid1, .arg = arg, .sync_fd = -1, .parent_fd = -1},
        .sync_fd = -1};
    local_box_init(&build.box);
    local_trees_init(&build.handover.trees);
    error = build_steps(&build, fault);
    al_close(build.sync_fd);
    al_close(build.setup.sync_fd);
    al_close(build.setup.parent_fd);
    local_trees_close(&build.handover.trees);
    if (error != 0)
        undo(&build);
    else
        *box = build.box;
    return error;
}

/* --- the end ------------------------------------------------------------------------------------
 */

int local_box_kill(struct local_box *box, al_deadline deadline, int *status) {
    if (box->pid > 0) {
        local_cgroups_lift_cpu(&box->cgroups);
        if (box->is_frozen)
            (void)!local_box_thaw(box);
        int error = al_pidfd_signal(box->pid_fd, SIGKILL);
        if (error != 0 && error != ESRCH)
            return error;
        error = al_poll_fd(box->pid_fd, POLLIN, deadline, NULL);
        if (error == 0)
            error = local_reap(box->pid, &box->status);
        if (error != 0)
            return error;
        box->pid = 0;
    }
    if (status != NULL)
        *status = box->status;
    return 0;
}

int local_box_destroy(struct local_box *box, const char *folder, const char *trash,
                      struct local_fault *fault) {
    al_deadline deadline = al_deadline_after_ms(UNDO_TIMEOUT_MS);
    int error = local_box_kill(box, deadline, NULL);
    if (error != 0)
        return local_fault_set(fault, error, "end the sandbox's processes");
    const char *id = al_str_after(box->cgroups.name, "sandbox-");
    int first = id == NULL ? 0 : local_cgroups_remove(id, deadline, fault);
    close_box(box);
    error = local_files_remove(folder, trash, first == 0 ? fault : NULL);
    return first != 0 ? first : error;
}

int local_box_reclaim(const char *id, const char *folder, const char *trash, al_deadline deadline,
                      struct local_fault *fault) {
    if (!is_id(id))
        return local_fault_set(fault, EINVAL, "remove a sandbox: the id is not valid");
    int first = local_cgroups_remove(id, deadline, fault);
    int error = local_files_remove(folder, trash, first == 0 ? fault : NULL);
    return first != 0 ? first : error;
}
