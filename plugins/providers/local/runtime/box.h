/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_BOX_H
#define ALINEO_LOCAL_BOX_H

/* A box is a sandbox as the kernel sees it: namespaces, a root of its own, cgroups, a range of user
 * ids, and a first process (pid 1) in it. This header is all that the rest of the helper program
 * needs; it is in three parts, by the process that may call them:
 *
 *   supervisor   builds, watches and removes a box; host side, root, one thread
 *   pid 1        forks commands; runs in the box
 *   command      the child that pid 1 forked, on its way to execve()
 *
 * Life of a box:
 *   1. local_box_build() forks pid 1, which sets up its world and then calls the given function.
 *   2. For each command the supervisor makes a group (local_group_create) and hands its descriptor
 * to pid 1, which forks into it (local_command_fork) and calls local_command_enter in the child.
 *   3. local_group_kill ends a command's whole tree; local_group_remove takes the empty group away.
 *   4. local_box_kill ends everything and waits; the caller may answer its client then.
 *   5. local_box_destroy removes what is left on the host. local_box_reclaim does the same for a
 * box whose supervisor is dead.
 *
 * Whatever kills the supervisor kills pid 1 and with it the box; every mount lives in the box's own
 * mount namespace. What then stays is the cgroups and the folder, which local_box_reclaim removes.
 *
 * Functions that return int give 0 or a positive errno value. FAULT may be NULL. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/util/clock.h"
#include "core/util/compiler.h"
#include "plugins/providers/local/runtime/fault.h"

enum {
    LOCAL_LAYERS_MAX = 480, /* what overlayfs takes is 500 */
    LOCAL_MOUNTS_MAX = 64,
    LOCAL_KEEP_FDS_MAX = 32,
    LOCAL_GROUPS_MAX = 64, /* supplementary groups of a command */
    LOCAL_PIDS_DEFAULT =
        4096 /* processes and threads when no limit is asked for: a fork bomb must end */
};

/* --- supervisor: building --------------------------------------------------------------------- */

enum local_network {
    LOCAL_NETWORK_NONE, /* own network namespace with a loopback device */
    LOCAL_NETWORK_HOST  /* the host's network, abstract sockets included */
};

/* A file or folder of the host to be seen inside. Only the owner of SOURCE is mapped: its files are
 * guest root's, all others belong to nobody. */
struct local_mount {
    int source_fd;      /* opened by whoever checked that it is allowed (O_PATH will do) */
    const char *target; /* absolute path inside; made if missing */
    bool readonly;
};

struct local_limits {
    uint64_t memory_size; /* bytes, swap included; 0 = none */
    uint32_t cpu_milli;   /* thousandths of a processor; 0 = none */
    uint32_t pids_count;  /* 0 = LOCAL_PIDS_DEFAULT */
};

/* All pointers are borrowed until local_box_build returns. */
struct local_spec {
    const char *id;       /* [A-Za-z0-9._-]{1,128}; names the cgroups */
    const char *hostname; /* 1 to 64 bytes */

    /* The root: read-only layers, the topmost first, and what is written. `folder` is the box's own
     * folder, an absolute path, there already, mode 0700 and root's, as are all above it that are
     * ours; `upper` and `work` are made in it. With `host_image` the bottom layer is the skeleton
     * that local_host_image_prepare gave and the host's /usr is added read-only. */
    const char *folder;
    const char *const *layers;
    size_t layer_count;
    bool host_image;

    enum local_network network;
    struct local_limits limits;
    const struct local_mount *mounts;
    size_t mount_count;

    /* Descriptors that pid 1 keeps, under the same numbers; all others but those in local_inside
     * are closed there. 0, 1 and 2 become /dev/null unless they are in this list. */
    const int *keep_fds;
    size_t keep_fd_count;
};

/* Cgroups of one box, for the runtime itself. v2 (always, with controllers or without) for
 * commands' trees, freezing and killing; each controller from where it is mounted. -1 where there
 * is nothing. */
struct local_cgroups {
    char name[160];  /* of the box's folder, below alineo/ in each hierarchy */
    int unified_fd;  /* v2 folder of the whole box: freeze, kill */
    int pid1_fd;     /* v2 folder that pid 1 is forked into; the same folder or one in it */
    int commands_fd; /* v2 folder in which groups of commands are made */
    int memory_fd;   /* folder with the limit, v1 or v2; pid 1 is not in it */
    int cpu_fd;
    int join_fds[3];         /* v1 `tasks` files that a command joins by itself */
    unsigned v2_controllers; /* one bit for each that is on v2 */
    bool has_cpu_limit;
};

/* What pid 1 knows of its box. Filled by local_box_build in the child, given to the function. */
struct local_inside {
    int join_fds[3];        /* as in local_cgroups; kept open in pid 1 */
    int range_fd;           /* holds the lock of the id range until pid 1 is gone too */
    bool command_namespace; /* each command makes its own cgroup namespace */
    bool has_groups;        /* commands can be forked into a group */
};

struct local_box {
    pid_t pid;           /* of pid 1, as the supervisor sees it; its child */
    int pid_fd;          /* readable once pid 1 has ended */
    int root_fd;         /* the box's root folder (O_PATH) */
    int range_fd;        /* holds the lock of the id range */
    uint32_t range_base; /* host uid and gid of guest root */
    int status;          /* of pid 1 once local_box_kill has taken it, as from waitpid() */
    bool is_frozen;
    struct local_cgroups cgroups;
};

/* Nothing built: fds -1. local_box_kill and local_box_destroy do nothing on it. */
void local_box_init(struct local_box *box);

/* Forks the supervisor: 0 in the child, the parent gets *PID. The child is in a cgroup that is
 * neither the caller's nor ever frozen, has a session of its own and otherwise what the parent had.
 * Like fork(), without its handlers. */
AL_MUST_CHECK int local_supervisor_fork(pid_t *pid, struct local_fault *fault);

/* What pid 1 does: runs in the box as guest root with the capabilities that commands get, not
 * dumpable, dying with the supervisor, every signal blocked with its default action, working folder
 * /, umask 022. What it returns is its exit code. Guest processes may send it any signal: one that
 * is blocked and read from a signalfd is no more than a hint. glibc's raise() and abort() do not
 * work in it (clone3 was not glibc's), nor may it make threads. */
typedef int (*local_pid1)(void *arg, const struct local_inside *inside);

/* Builds the box and forks pid 1, which calls PID1(ARG) when all is set up; returns as soon as that
 * is so. The calling process is the supervisor: it must be single-threaded, root, and have SIGCHLD
 * not ignored. It takes the box's resource limits (it can no longer write a core file) and, from
 * then on, is the last to be killed when the machine lacks memory.
 *
 * Failure: nothing is left on the host but what is in `folder`; BOX is untouched; FAULT says which
 * step. Takes up to 10 s when the kernel hangs, else 4 ms. */
AL_MUST_CHECK int local_box_build(const struct local_spec *spec, local_pid1 pid1, void *arg,
                                  struct local_box *box, struct local_fault *fault);

/* The bottom layer for `host_image`: makes the skeleton below STORE (an absolute path, root's and
 * 0700) when it is not there yet, and gives its path (free() it). Safe when several processes do it
 * at once. */
AL_MUST_CHECK int local_host_image_prepare(const char *store, char **layer,
                                           struct local_fault *fault);

/* --- supervisor: commands --------------------------------------------------------------------- */

/* A group for one command and all that comes of it. NUMBER must not be in use in this box.
 * *GROUP_FD (close-on-exec) is for pid 1; close the supervisor's after it was sent. -1 with success
 * where commands cannot have groups. */
AL_MUST_CHECK int local_group_create(const struct local_box *box, uint64_t number, int *group_fd,
                                     struct local_fault *fault);

/* Kills every process of the group, however it was forked, also while the box is frozen. Does not
 * wait. ENOENT: no such group. */
AL_MUST_CHECK int local_group_kill(const struct local_box *box, uint64_t number);

/* Removes an empty group. EBUSY: something in it still runs. A group that is not there is success.
 */
AL_MUST_CHECK int local_group_remove(const struct local_box *box, uint64_t number);

/* How many processes of the box were killed for lack of memory since it was built. Compare before
 * and after a command that ended by SIGKILL. 0 where there is no memory controller. */
uint64_t local_box_oom_kills(const struct local_box *box);

/* Stops or continues every process of the box; waits until they have stopped. ETIMEDOUT: some did
 * not within the deadline; the box then runs on. */
AL_MUST_CHECK int local_box_freeze(struct local_box *box, al_deadline deadline);
AL_MUST_CHECK int local_box_thaw(struct local_box *box);

/* What a box uses; UINT64_MAX where it is not known. */
struct local_usage {
    uint64_t cpu_us;      /* processor time of all that ever ran in it */
    uint64_t memory_size; /* bytes, caches included */
    uint64_t processes;   /* without pid 1 */
};
void local_box_usage(const struct local_box *box, struct local_usage *usage);

/* A TCP socket (DOMAIN AF_INET or AF_INET6, non-blocking) in the box's network. The calling process
 * is in that network for a moment, so it must have one thread. ENOTRECOVERABLE: it could not go
 * back, and must end. */
AL_MUST_CHECK int local_box_socket(const struct local_box *box, int domain, int *fd);

/* --- supervisor: the end ---------------------------------------------------------------------- */

/* Lifts the cpu limit, kills every process of the box and waits until pid 1 is gone and reaped;
 * with it all others are, and so are the mounts. *STATUS (may be NULL) is as from waitpid().
 * ETIMEDOUT: not gone by the deadline. Succeeds at once on a box that is gone. */
AL_MUST_CHECK int local_box_kill(struct local_box *box, al_deadline deadline, int *status);

/* After local_box_kill, or when pid_fd became readable: removes cgroups, moves `upper` and `work`
 * of FOLDER below TRASH (same file system, there already) and deletes them there, gives the id
 * range back, closes the descriptors. Takes as long as there are files. FOLDER itself is left to
 * the caller. The supervisor leaves the box's cgroups. Goes on after a failure and gives the first.
 */
AL_MUST_CHECK int local_box_destroy(struct local_box *box, const char *folder, const char *trash,
                                    struct local_fault *fault);

/* The same for box ID whose supervisor is known to be dead: kills what is still in its cgroups
 * (never by pid), removes them, and the files. What is not there is success. */
AL_MUST_CHECK int local_box_reclaim(const char *id, const char *folder, const char *trash,
                                    al_deadline deadline, struct local_fault *fault);

/* --- pid 1 and command ------------------------------------------------------------------------ */

/* A descriptor of pid 1 and the number under which the command has it. */
struct local_fd {
    int from;
    int to;
};

struct local_command {
    const char *const *argv; /* at least one; argv[0] without '/' is looked up in PATH of ENVP */
    const char *const *envp;
    const char *cwd; /* absolute */
    uid_t uid;
    gid_t gid;
    const gid_t *groups; /* supplementary */
    size_t group_count;

    /* All descriptors the command gets. `to` are different numbers below 64. */
    const struct local_fd *fds;
    size_t fd_count;

    int status_fd;    /* kept until execve() (which closes it): report on it; -1 = none */
    bool is_terminal; /* descriptor 0 becomes the controlling terminal */
};

/* Forks: 0 in the child, which must call local_command_enter at once; in pid 1 *PID and *PID_FD
 * (may be NULL) are set. GROUP_FD from local_group_create, or -1. Like fork(), without its
 * handlers. EAGAIN: the limit of processes is reached. */
AL_MUST_CHECK int local_command_fork(const struct local_inside *inside, int group_fd, pid_t *pid,
                                     int *pid_fd);

/* The step that failed on the way to execve(). The numbers go over the status descriptor: append
 * only.
 */
enum local_step {
    LOCAL_STEP_NONE = 0,
    LOCAL_STEP_CGROUP = 1,  /* joining the limits */
    LOCAL_STEP_SESSION = 2, /* session, terminal, namespace */
    LOCAL_STEP_FDS = 3,
    LOCAL_STEP_USER = 4,
    LOCAL_STEP_CWD =
        5, /* missing (ENOENT, ENOTDIR), not allowed (EACCES), outside of the root (EXDEV) */
    LOCAL_STEP_FILTER = 6,
    LOCAL_STEP_EXEC = 7 /* ENOENT: exit code 127; E2BIG: too large; all else: 126 */
};

/* Turns the child into the command: joins its limits, takes its descriptors, a session of its own,
 * its user and folder, then the filter of system calls and default signals, and executes. Returns
 * only on failure: the step, and *ERRNUM why. COMMAND's status_fd may have been given another
 * number: the caller then writes to that and calls _exit(). */
enum local_step local_command_enter(const struct local_inside *inside,
                                    struct local_command *command, int *errnum);

/* --- probe ------------------------------------------------------------------------------------ */

/* One thing that sandboxes need or can have of this machine. */
struct local_feature {
    const char
        *name; /* as in capabilities where there is one: "limits.memory", "pause"; else own */
    bool is_required; /* without it no box can be built */
    bool is_there;
    char reason[LOCAL_FAULT_MESSAGE_SIZE]; /* why not; "" when it is there */
    char remedy[LOCAL_FAULT_HINT_SIZE];
};

enum {
    LOCAL_FEATURES_MAX = 24
};

/* Tries everything on the real folder STORE (there already, where layers and uppers live) and
 * leaves nothing. Forks, so only in the helper program. Takes some 10 ms. *COUNT features, in the
 * order in which one should mend them. */
void local_probe(const char *store, struct local_feature features[LOCAL_FEATURES_MAX],
                 size_t *count);

#endif
