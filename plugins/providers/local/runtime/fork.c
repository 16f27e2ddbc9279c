/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/runtime/fork.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int local_fork(uint64_t flags, int cgroup_fd, pid_t *pid, int *pid_fd) {
    int child_fd = -1;
    struct clone_args args = {.flags = flags, .exit_signal = SIGCHLD};
    if (pid_fd != NULL) {
        args.flags |= CLONE_PIDFD;
        args.pidfd = (uint64_t)(uintptr_t)&child_fd;
    }
    if (cgroup_fd >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)cgroup_fd;
    }
    long result = syscall(SYS_clone3, &args, sizeof(args));
    if (result < 0)
        return errno;
    *pid = (pid_t)result;
    if (result > 0 && pid_fd != NULL)
        *pid_fd = child_fd;
    return 0;
}

/* Asked whether the parent is still there after asking for the signal: it may have died before. */
_Noreturn static void wait_to_be_killed(pid_t parent) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
        while (getppid() == parent)
            (void)pause();
    _exit(0);
}

int local_fork_parked(uint64_t flags, pid_t *pid) {
    const pid_t parent = getpid();
    int error = local_fork(flags, -1, pid, NULL);
    if (error == 0 && *pid == 0)
        wait_to_be_killed(parent);
    return error;
}

int local_end_parked(pid_t pid) {
    (void)kill(pid, SIGKILL);
    return local_reap(pid, NULL);
}

int local_reap(pid_t pid, int *status) {
    int value = 0;
    pid_t result;
    do {
        result = waitpid(pid, &value, 0);
    } while (result < 0 && errno == EINTR);
    if (result < 0)
        return errno;
    if (status != NULL)
        *status = value;
    return 0;
}
