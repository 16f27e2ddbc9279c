/* SPDX-License-Identifier: Apache-2.0 */
/* From pid 1 to a command. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/str.h"
#include "plugins/providers/local/runtime/box.h"
#include "plugins/providers/local/runtime/confine.h"
#include "plugins/providers/local/runtime/fds.h"
#include "plugins/providers/local/runtime/filter.h"
#include "plugins/providers/local/runtime/fork.h"

enum {
    COMMAND_FDS_MAX = 64 /* numbers that a command's descriptors may have */
};

int local_command_fork(const struct local_inside *inside, int group_fd, pid_t *pid, int *pid_fd) {
    return local_fork(0, inside->has_groups ? group_fd : -1, pid, pid_fd);
}

/* On v1 a process joins by itself; the right to do so is that of whoever opened the file. */
static int join_limits(const struct local_inside *inside) {
    for (size_t i = 0; i < AL_COUNT(inside->join_fds); i++)
        if (inside->join_fds[i] >= 0 && write(inside->join_fds[i], "0", 1) < 0)
            return errno;
    if (inside->command_namespace && unshare(CLONE_NEWCGROUP) != 0)
        return errno;
    return 0;
}

/* All descriptors are first moved out of the range of the numbers that are asked for, so that none
 * is overwritten before it was copied. */
static int move_up(int *fd) {
    if (*fd < 0 || *fd >= COMMAND_FDS_MAX)
        return 0;
    int moved = fcntl(*fd, F_DUPFD_CLOEXEC, COMMAND_FDS_MAX);
    if (moved < 0)
        return errno;
    *fd = moved;
    return 0;
}

static int place_fds(struct local_command *command) {
    int kept[COMMAND_FDS_MAX + 1];
    int from[COMMAND_FDS_MAX];
    size_t count = command->fd_count;
    if (count > COMMAND_FDS_MAX)
        return EINVAL;
    int error = move_up(&command->status_fd);
    for (size_t i = 0; error == 0 && i < count; i++) {
        from[i] = command->fds[i].from;
        error = move_up(&from[i]);
    }
    for (size_t i = 0; error == 0 && i < count; i++) {
        kept[i] = command->fds[i].to;
        if (kept[i] < 0 || kept[i] >= COMMAND_FDS_MAX)
            error = EINVAL;
        else if (dup2(from[i], kept[i]) < 0)
            error = errno;
    }
    if (error != 0)
        return error;
    kept[count] = command->status_fd;
    return local_fds_keep_only(kept, count + 1);
}

static int start_session(const struct local_command *command) {
    if (setsid() < 0)
        return errno;
    return command->is_terminal && ioctl(STDIN_FILENO, TIOCSCTTY, 0) != 0 ? errno : 0;
}

/* Capabilities go by themselves when root becomes another user; a command of root has what pid 1
 * has. */
static int become_user(const struct local_inside *inside, const struct local_command *command) {
    if (inside->command_namespace && local_drop_capabilities(false, NULL) != 0)
        return EPERM;
    if (setgroups(command->group_count, command->groups) != 0 ||
        setresgid(command->gid, command->gid, command->gid) != 0 ||
        setresuid(command->uid, command->uid, command->uid) != 0)
        return errno;
    return 0;
}

/* The kernel says where the working folder is; what does not begin with '/' is outside of the root.
 * A folder too deep to have a path is inside. */
static int enter_folder(const char *cwd) {
    if (chdir(cwd) != 0)
        return errno;
    char path[PATH_MAX];
    long size = syscall(SYS_getcwd, path, sizeof(path));
    if (size < 0)
        return errno == ERANGE || errno == ENAMETOOLONG ? 0 : errno;
    return path[0] == '/' ? 0 : EXDEV;
}

static const char *find_variable(const char *const *envp, const char *prefix) {
    for (; *envp != NULL; envp++) {
        const char *value = al_str_after(*envp, prefix);
        if (value != NULL)
            return value;
    }
    return NULL;
}

static void execute(const char *path, const struct local_command *command) {
    (void)execve(path, (char *const *)command->argv, (char *const *)command->envp);
}

/* As a shell looks for it: the first that can be run; of the others, one that is there but may not
 * be run counts for more than none. */
static int execute_by_path(const struct local_command *command) {
    const char *path = find_variable(command->envp, "PATH=");
    const char *name = command->argv[0];
    size_t name_size = strlen(name);
    int error = ENOENT;
    if (path == NULL)
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    while (name_size > 0) {
        char candidate[PATH_MAX];
        size_t size = strcspn(path, ":");
        if (size > 0 && size + 1 + name_size < sizeof(candidate)) {
            memcpy(candidate, path, size);
            candidate[size] = '/';
            memcpy(candidate + size + 1, name, name_size + 1);
            execute(candidate, command);
            if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
                return errno;
            if (errno == EACCES)
                error = EACCES;
        }
        if (path[size] == '\0')
            break;
        path += size + 1;
    }
    return error;
}

static int execute_command(const struct local_command *command) {
    if (strchr(command->argv[0], '/') == NULL)
        return execute_by_path(command);
    execute(command->argv[0], command);
    return errno;
}

static int reset_signals(void) {
    sigset_t none;
    local_signals_reset();
    return sigemptyset(&none) != 0 || sigprocmask(SIG_SETMASK, &none, NULL) != 0 ? errno : 0;
}

enum local_step local_command_enter(const struct local_inside *inside,
                                    struct local_command *command, int *errnum) {
    *errnum = join_limits(inside);
    if (*errnum != 0)
        return LOCAL_STEP_CGROUP;
    *errnum = place_fds(command);
    if (*errnum != 0)
        return LOCAL_STEP_FDS;
    *errnum = start_session(command);
    if (*errnum != 0)
        return LOCAL_STEP_SESSION;
    *errnum = become_user(inside, command);
    if (*errnum != 0)
        return LOCAL_STEP_USER;
    *errnum = enter_folder(command->cwd);
    if (*errnum != 0)
        return LOCAL_STEP_CWD;
    (void)umask(022);
    *errnum = local_filter_load();
    if (*errnum != 0)
        return LOCAL_STEP_FILTER;
    *errnum = reset_signals();
    if (*errnum == 0)
        *errnum = execute_command(command);
    return LOCAL_STEP_EXEC;
}
