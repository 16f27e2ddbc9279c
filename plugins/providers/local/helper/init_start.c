/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/util/io.h"
#include "core/util/kv.h"
#include "core/util/str.h"
#include "core/util/strv.h"
#include "plugins/providers/local/helper/init.h"

enum {
    SCRIPT_FD = 9,
    FDS_MAX = 4,
    ROWS_DEFAULT = 24,
    COLUMNS_DEFAULT = 80
};

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define EXEC_ID_NAME "ALINEO_EXEC_ID"

static int set_pairs(al_kv *env, const struct local_list *pairs) {
    for (size_t i = 0; i + 1 < pairs->count; i += 2) {
        int rc = al_kv_set(env, pairs->items[i], pairs->items[i + 1]);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* The command's own wins over the sandbox's, that over the defaults. */
static int make_env(const struct local_pid1_state *state, const struct local_exec *exec,
                    const char *home, al_strv *out) {
    al_auto(al_kv_free) al_kv env = AL_KV_INIT;
    int rc = al_kv_set(&env, "PATH", DEFAULT_PATH);
    if (rc == 0)
        rc = al_kv_set(&env, "HOME", home);
    if (rc == 0 && (exec->flags & LOCAL_EXEC_TERMINAL) != 0)
        rc = al_kv_set(&env, "TERM", "xterm");
    if (rc == 0)
        rc = set_pairs(&env, &state->config->env);
    if (rc == 0)
        rc = set_pairs(&env, &exec->env);
    if (rc == 0)
        rc = al_kv_set(&env, EXEC_ID_NAME, exec->exec_id);
    for (size_t i = 0; i < env.count && rc == 0; i++)
        rc = al_strv_take(out, al_strf("%s=%s", env.items[i].key, env.items[i].value));
    return rc;
}

/* Gives the descriptors that came with the request their places; TERMINAL takes those of the
 * streams, -1 = none. False: they do not fit it. */
static bool place_fds(const struct local_pid1_state *state, uint32_t flags, int terminal,
                      struct local_command *command, struct local_fd fds[FDS_MAX], int *group_fd) {
    const struct local_message *in = &state->in;
    size_t expected = 1;
    bool is_quiet = (flags & (LOCAL_EXEC_QUIET | LOCAL_EXEC_TERMINAL)) != 0;
    int none = terminal >= 0 ? terminal : state->null_fd;
    expected += is_quiet ? 0 : 2;
    expected += (flags & LOCAL_EXEC_STDIN) != 0 ? 1 : 0;
    expected += (flags & LOCAL_EXEC_GROUP) != 0 ? 1 : 0;
    expected += (flags & LOCAL_EXEC_SCRIPT) != 0 ? 1 : 0;
    if (in->fd_count != expected)
        return false;
    size_t at = 0;
    command->status_fd = in->fds[at++];
    int input = (flags & LOCAL_EXEC_STDIN) != 0 ? in->fds[at++] : none;
    int output = is_quiet ? none : in->fds[at++];
    int errors = is_quiet ? none : in->fds[at++];
    *group_fd = (flags & LOCAL_EXEC_GROUP) != 0 ? in->fds[at++] : -1;
    size_t count = 0;
    fds[count++] = (struct local_fd){input, STDIN_FILENO};
    fds[count++] = (struct local_fd){output, STDOUT_FILENO};
    fds[count++] = (struct local_fd){errors, STDERR_FILENO};
    if ((flags & LOCAL_EXEC_SCRIPT) != 0)
        fds[count++] = (struct local_fd){in->fds[at], SCRIPT_FD};
    command->fds = fds;
    command->fd_count = count;
    command->is_terminal = terminal >= 0;
    return true;
}

static void become(const struct local_inside *inside, struct local_command *command) {
    struct local_start_fault fault;
    int errnum = 0;
    fault.step = (int32_t)local_command_enter(inside, command, &errnum);
    fault.errnum = errnum;
    /* Whoever reads it takes silence for success, so at least our exit code must not be 0. */
    int rc = al_write_full(command->status_fd, &fault, sizeof(fault));
    _exit(rc == 0 ? 127 : 126);
}

static int fork_command(struct local_pid1_state *state, uint64_t number,
                        struct local_command *command, int group_fd) {
    int rc = local_child_reserve(state);
    if (rc != 0)
        return rc;
    pid_t pid;
    rc = local_command_fork(state->inside, group_fd, &pid, NULL);
    if (rc != 0)
        return rc;
    if (pid == 0)
        become(state->inside, command);
    local_child_add(state, number, pid);
    return 0;
}

/* A terminal of this box, of the size and owner that are asked for. */
static int make_terminal(const struct local_exec *exec, uid_t owner, int *master, int *slave) {
    al_autofd int ours = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (ours < 0)
        return errno;
    int unlocked = 0;
    struct winsize size = {
        .ws_row = (unsigned short)(exec->rows > 0 ? exec->rows : ROWS_DEFAULT),
        .ws_col = (unsigned short)(exec->columns > 0 ? exec->columns : COLUMNS_DEFAULT)};
    if (ioctl(ours, TIOCSPTLCK, &unlocked) != 0 || ioctl(ours, TIOCSWINSZ, &size) != 0)
        return errno;
    /* Not by its name: guest root may have mounted or linked something there. */
    al_autofd int theirs = ioctl(ours, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (theirs < 0 || fchown(theirs, owner, (gid_t)-1) != 0)
        return errno;
    *master = al_steal_fd(&ours);
    *slave = al_steal_fd(&theirs);
    return 0;
}

/* Makes it and hands its master over; *SLAVE stays -1 where none is wanted. */
static int give_terminal(const struct local_pid1_state *state, const struct local_start *request,
                         uid_t owner, int *slave) {
    if ((request->exec.flags & LOCAL_EXEC_TERMINAL) == 0)
        return 0;
    al_autofd int master = -1;
    int rc = make_terminal(&request->exec, owner, &master, slave);
    struct local_signal number = {.number = request->number};
    if (rc == 0)
        local_pid1_tell(state, LOCAL_TERMINAL, 0, &number, master);
    return rc;
}

static void start(struct local_pid1_state *state, const struct local_start *request) {
    const struct local_exec *exec = &request->exec;
    struct local_start_failed failed = {.number = request->number};
    const char *spec = exec->user != NULL ? exec->user : state->config->user;
    struct local_user user;
    al_auto(al_strv_free) al_strv env = AL_STRV_INIT;
    int rc = local_user_find(spec, &user);
    failed.is_about_user = rc != 0;
    if (rc == 0)
        rc = make_env(state, exec, user.home, &env);
    struct local_command command = {
        .argv = exec->argv.items,
        .envp = (const char *const *)env.items,
        .cwd = exec->cwd != NULL ? exec->cwd : "/",
        .uid = user.uid,
        .gid = user.gid,
        .groups = user.groups,
        .group_count = user.group_count,
    };
    struct local_fd fds[FDS_MAX];
    int group_fd = -1;
    al_autofd int terminal = -1;
    if (rc == 0)
        rc = give_terminal(state, request, user.uid, &terminal);
    if (rc == 0 && !place_fds(state, exec->flags, terminal, &command, fds, &group_fd))
        rc = EBADMSG;
    if (rc == 0)
        rc = fork_command(state, request->number, &command, group_fd);
    if (rc == 0)
        return;
    failed.errnum = (uint32_t)rc;
    local_pid1_tell(state, LOCAL_START_FAILED, 0, &failed, -1);
}

void local_init_start(struct local_pid1_state *state) {
    struct local_start request;
    if (local_message_decode(&state->in, LOCAL_START, &request) != 0)
        return;
    start(state, &request);
    local_clear(&local_start_schema, &request);
}
