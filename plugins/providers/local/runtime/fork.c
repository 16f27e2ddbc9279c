/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/runtime/fork.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stddef.h>
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
