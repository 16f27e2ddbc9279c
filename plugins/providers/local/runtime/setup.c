/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/runtime/setup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/msg.h"
#include "plugins/providers/local/runtime/confine.h"
#include "plugins/providers/local/runtime/fds.h"
#include "plugins/providers/local/runtime/root.h"

/* The death of the supervisor is told by a signal only from when that was asked for: so this is
 * looked at after asking. */
static void leave_if_orphan(int parent_fd) {
    struct pollfd parent = {.fd = parent_fd, .events = POLLIN};
    if (poll(&parent, 1, 0) != 0)
        _exit(EXIT_FAILURE);
}

static int reset_signals(struct local_fault *fault) {
    sigset_t all;
    if (sigfillset(&all) != 0 || sigprocmask(SIG_SETMASK, &all, NULL) != 0)
        return local_fault_set(fault, errno, "block signals");
    local_signals_reset();
    return 0;
}

/* What needs no user: this runs while the supervisor opens the trees. */
static int prepare(const struct local_setup *setup, struct local_fault *fault) {
    (void)umask(022);
    (void)prctl(PR_SET_NAME, "alineo-init");
    if (setsid() < 0)
        return local_fault_set(fault, errno, "make a session");
    int error = reset_signals(fault);
    if (error == 0)
        error = local_root_begin(fault);
    if (error != 0)
        return error;
    const char *hostname = setup->spec->hostname;
    if (sethostname(hostname, strlen(hostname)) != 0 || setdomainname("(none)", 6) != 0)
        return local_fault_set(fault, errno, "set the host name \"%s\"", hostname);
    if (!setup->command_namespace && unshare(CLONE_NEWCGROUP) != 0)
        return local_fault_set(fault, errno, "make a cgroup namespace");
    if (setup->spec->network == LOCAL_NETWORK_NONE)
        error = local_loopback_up(fault);
    return error != 0 ? error : local_proc_mount(fault);
}

static int receive_handover(const struct local_setup *setup, struct local_handover *handover,
                            struct local_fault *fault) {
    ssize_t size;
    do {
        size = recv(setup->sync_fd, handover, sizeof(*handover), 0);
    } while (size < 0 && errno == EINTR);
    if (size != (ssize_t)sizeof(*handover))
        return local_fault_set(fault, size < 0 ? errno : EPIPE, "wait for the supervisor");
    if (unshare(CLONE_FILES) != 0)
        return local_fault_set(fault, errno, "part the descriptors from the supervisor's");
    return 0;
}

/* Leaves pid 1 what it is to have, and /dev/null where it has no standard stream. */
static int keep_fds(const struct local_setup *setup, const struct local_inside *inside,
                    struct local_fault *fault) {
    const struct local_spec *spec = setup->spec;
    int kept[LOCAL_KEEP_FDS_MAX + 16];
    size_t count = 0;
    for (size_t i = 0; i < spec->keep_fd_count; i++)
        kept[count++] = spec->keep_fds[i];
    for (size_t i = 0; i < AL_COUNT(inside->join_fds); i++)
        kept[count++] = inside->join_fds[i];
    kept[count++] = inside->range_fd;
    kept[count++] = setup->sync_fd;
    int error = local_fds_null_standard(kept, count);
    for (int fd = 0; fd <= 2; fd++)
        kept[count++] = fd;
    if (error == 0)
        error = local_fds_keep_only(kept, count);
    return error == 0 ? 0 : local_fault_set(fault, error, "close descriptors");
}

static int complete(const struct local_setup *setup, const struct local_handover *handover,
                    struct local_fault *fault) {
    int error = local_become_root(fault);
    if (error == 0)
        error = local_root_assemble(setup->spec, &handover->trees, fault);
    if (error == 0)
        error = local_root_enter(fault);
    if (error == 0)
        error = local_root_finish(setup->spec, &handover->trees, fault);
    if (error == 0)
        error = local_drop_capabilities(setup->command_namespace, fault);
    if (error == 0)
        error = local_harden(fault);
    if (error != 0)
        return error;
    leave_if_orphan(setup->parent_fd);
    return keep_fds(setup, &handover->inside, fault);
}

/* The supervisor learns how it went, and gets the root. A failure it never reads is its own. */
static int report(int sync_fd, const struct local_fault *fault) {
    al_autofd int root = fault->errnum != 0 ? -1 : open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fault->errnum == 0 && root < 0)
        return errno;
    return al_msg_send(sync_fd, fault, sizeof(*fault), &root, root < 0 ? 0 : 1, AL_DEADLINE_NONE);
}

_Noreturn void local_setup_run(const struct local_setup *setup) {
    struct local_fault fault = {.errnum = 0};
    struct local_handover handover;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    leave_if_orphan(setup->parent_fd);
    int error = prepare(setup, &fault);
    if (error == 0)
        error = receive_handover(setup, &handover, &fault);
    if (error == 0)
        error = complete(setup, &handover, &fault);
    int reported = report(setup->sync_fd, &fault);
    if (error != 0 || reported != 0)
        _exit(EXIT_FAILURE);
    al_close(setup->sync_fd);
    _exit(setup->pid1(setup->arg, &handover.inside));
}
