/* SPDX-License-Identifier: Apache-2.0 */
/* Starting commands: from the plugin's request to the answer that it runs, or why not. */
#include <errno.h>
#include <fcntl.h>
#include <linux/major.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/util/clock.h"
#include "core/util/io.h"
#include "core/util/msg.h"
#include "core/util/str.h"
#include "plugins/providers/local/helper/keep.h"
#include "plugins/providers/local/helper/supervise.h"

enum {
    START_FDS_MAX = 6,
    PIPE_SIZE = 256 * 1024,
    EXIT_NOT_EXECUTABLE = 126,
    EXIT_NOT_FOUND = 127
};

static const al_deadline at_once = {0};

/* What goes to pid 1 with a START; owned. */
struct start_fds {
    int items[START_FDS_MAX];
    size_t count;
};

static void close_fds(int *fds, size_t *count) {
    for (size_t i = 0; i < *count; i++)
        al_close(fds[i]);
    *count = 0;
}

struct local_run *local_run_find(struct local_supervisor *supervisor, uint64_t number) {
    AL_LIST_FOREACH(link, &supervisor->runs) {
        struct local_run *run = AL_CONTAINER(link, struct local_run, link);
        if (run->number == number)
            return run;
    }
    return NULL;
}

/* --- what came of it ---------------------------------------------------------------------------*/

static void run_answer(struct local_run *run, alineo_code code, const char *hint,
                       const char *message) {
    struct local_supervisor *supervisor = run->supervisor;
    if (run->is_entrypoint)
        local_supervisor_is_broken(supervisor, code == ALINEO_OK ? ALINEO_INTERNAL : code, message);
    else if (run->client != NULL)
        local_client_answer(run->client, code, hint, "%s", message);
    run->client = NULL;
}

/* Nothing of it runs, or will: what is left goes away when pid 1 says so. */
static void run_refused(struct local_run *run, alineo_code code, const char *hint,
                        const char *message) {
    run_answer(run, code, hint, message);
    close_fds(run->peer_fds, &run->peer_count);
    local_keep_discard(run);
    local_watch_end(&run->control);
    local_watch_end(&run->out);
    local_watch_end(&run->err);
    local_run_release_if_done(run);
}

/* It runs, or ran. With a terminal that is told when pid 1 gave it, which may be heard later. */
static void run_started(struct local_run *run) {
    run->is_start_known = true;
    if (run->awaits_terminal)
        return;
    run->is_started = true;
    if (run->is_entrypoint) {
        local_supervisor_is_ready(run->supervisor);
    } else if (run->client != NULL) {
        struct local_started started = {run->number};
        struct local_client *client = run->client;
        run->client = NULL;
        local_client_send(client, LOCAL_STARTED, &started, run->peer_fds, run->peer_count);
    }
    close_fds(run->peer_fds, &run->peer_count);
    /* Killed before there was anything to kill. */
    if (run->is_timed_out || run->is_cancelled)
        local_run_kill(run);
}

/* A program that is not there is an outcome like any other: shells give the same. */
static void run_could_not_execute(struct local_run *run, int errnum) {
    bool is_missing = errnum == ENOENT;
    char detail[LOCAL_MESSAGE_TEXT_MAX];
    (void)snprintf(detail, sizeof(detail), "%.600s: %s", run->program,
                   is_missing ? "not found" : strerror(errnum));
    if (run->is_entrypoint) {
        run_refused(run, ALINEO_SANDBOX_FAILED, NULL, detail);
        return;
    }
    struct local_outcome outcome = {
        .outcome = ALINEO_OUTCOME_EXITED,
        .exit_code = is_missing ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE,
        .detail = detail,
    };
    local_run_outcome(run, &outcome);
    run_started(run);
}

static void run_bad_cwd(struct local_run *run, int errnum) {
    alineo_code code = ALINEO_FILE_NOT_FOUND;
    if (errnum == ENOTDIR)
        code = ALINEO_NOT_A_DIRECTORY;
    else if (errnum == EACCES || errnum == EXDEV || errnum == ELOOP)
        code = ALINEO_PERMISSION_DENIED;
    char message[LOCAL_MESSAGE_TEXT_MAX];
    (void)snprintf(message, sizeof(message), "enter the command's working directory %.600s: %s",
                   run->cwd != NULL ? run->cwd : "/",
                   errnum == EXDEV ? "it is outside of the sandbox" : strerror(errnum));
    run_refused(run, code, NULL, message);
}

/* A terminal's master, of the sandbox's own devpts or of any: nothing else is taken from pid 1. */
static bool is_terminal_master(int fd) {
    struct stat status;
    int number;
    return fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) &&
           status.st_rdev == makedev(TTYAUX_MAJOR, 2) && ioctl(fd, TIOCGPTN, &number) == 0;
}

void local_run_terminal(struct local_run *run, int fd) {
    if (!run->awaits_terminal || run->has_ended || !is_terminal_master(fd) ||
        al_fd_dup(fd, &run->out.fd) != 0) {
        al_close(fd);
        return;
    }
    run->awaits_terminal = false;
    run->peer_fds[run->peer_count++] = fd;
    if (run->is_start_known)
        run_started(run);
}

void local_run_without_terminal(struct local_run *run) {
    run->awaits_terminal = false;
    run_refused(run, ALINEO_SANDBOX_FAILED, NULL, "start the command: it got no terminal");
}

static void run_start_fault(struct local_run *run, const struct local_start_fault *fault) {
    static const char *const steps[] = {"start the command",
                                        "put the command under its limits",
                                        "give the command its session",
                                        "give the command its descriptors",
                                        "change to the command's user",
                                        "enter the command's working directory",
                                        "load the command's filter of system calls",
                                        "execute the program"};
    int errnum = fault->errnum > 0 && fault->errnum <= LOCAL_ERRNO_MAX ? fault->errnum : EIO;
    char message[LOCAL_MESSAGE_TEXT_MAX];
    if (fault->step == LOCAL_STEP_CWD) {
        run_bad_cwd(run, errnum);
    } else if (fault->step == LOCAL_STEP_EXEC && errnum == E2BIG) {
        run_refused(run, ALINEO_TOO_LARGE,
                    "one argument or variable may have 131071 bytes, all together about 2 MiB; "
                    "pass more by stdin or a file",
                    "execute the program: its arguments and environment are larger than the kernel "
                    "takes");
    } else if (fault->step == LOCAL_STEP_EXEC && errnum != EAGAIN && errnum != ENOMEM) {
        run_could_not_execute(run, errnum);
    } else {
        size_t step =
            fault->step > 0 && (size_t)fault->step < AL_COUNT(steps) ? (size_t)fault->step : 0;
        (void)snprintf(message, sizeof(message), "%s: %s", steps[step], strerror(errnum));
        run_refused(run, ALINEO_SANDBOX_FAILED, NULL, message);
    }
}

void local_run_look_started(struct local_run *run) {
    if (run->start.fd < 0)
        return;
    struct local_start_fault fault;
    size_t size;
    int rc = al_read_some(run->start.fd, &fault, sizeof(fault), &size);
    if (rc == EAGAIN)
        return;
    local_watch_end(&run->start);
    if (rc == 0 && size == 0)
        run_started(run);
    else if (rc == 0 && size == sizeof(fault))
        run_start_fault(run, &fault);
    else
        run_refused(run, ALINEO_INTERNAL, NULL, "start the command: no sense in what it reported");
}

static void start_ready(struct local_watch *watch, uint32_t events) {
    (void)events;
    local_run_look_started(AL_CONTAINER(watch, struct local_run, start));
}

void local_run_start_failed(struct local_run *run, const struct local_start_failed *failed) {
    if (run->has_ended)
        return;
    run->has_ended = true;
    local_watch_end(&run->start);
    char message[LOCAL_MESSAGE_TEXT_MAX];
    if (failed->is_about_user != 0) {
        const char *user = run->user != NULL ? run->user : run->supervisor->create.user;
        (void)snprintf(message, sizeof(message),
                       "find the command's user \"%.200s\" in the sandbox: %s",
                       user != NULL ? user : "root",
                       failed->errnum == ENOENT ? "there is none of that name"
                                                : strerror((int)failed->errnum));
        run_refused(run, ALINEO_INVALID_ARGUMENT,
                    "give a name of the sandbox's /etc/passwd, or numbers: 1000 or 1000:1000",
                    message);
        return;
    }
    (void)snprintf(message, sizeof(message), "start the command: fork: %s",
                   failed->errnum == EAGAIN ? "the sandbox's limit of processes is reached"
                                            : strerror((int)failed->errnum));
    run_refused(run, failed->errnum == ENOMEM ? ALINEO_NO_MEMORY : ALINEO_SANDBOX_FAILED,
                failed->errnum == EAGAIN ? "end some of its processes, or make it with more pids"
                                         : NULL,
                message);
}

/* --- making it ---------------------------------------------------------------------------------*/

/* A pipe whose end for the command goes to pid 1 and whose other end goes to *OURS. */
static int add_pipe(struct start_fds *fds, bool command_reads, int *ours) {
    int ends[2];
    int rc = al_pipe(&ends[0], &ends[1]);
    if (rc != 0)
        return rc;
    fds->items[fds->count++] = ends[command_reads ? 0 : 1];
    *ours = ends[command_reads ? 1 : 0];
    return 0;
}

/* A stream of the command: its end for the plugin, and a copy that we keep. */
static int add_output(struct local_run *run, struct start_fds *fds, struct local_watch *kept) {
    int end;
    int rc = add_pipe(fds, false, &end);
    if (rc != 0)
        return rc;
    run->peer_fds[run->peer_count++] = end;
    /* Fewer changes between writer and reader; where it is refused the usual size does. */
    (void)fcntl(end, F_SETPIPE_SZ, PIPE_SIZE);
    return al_fd_dup(end, &kept->fd);
}

/* The exec's socket. */
static int add_control(struct local_run *run) {
    int ours;
    int theirs;
    int rc = al_msg_pair(&ours, &theirs);
    if (rc != 0)
        return rc;
    run->peer_fds[run->peer_count++] = theirs;
    return local_watch_begin(&run->control, run->supervisor->epoll_fd, ours, EPOLLIN,
                             local_run_control_ready);
}

/* Streams that we read ourselves. */
static int add_kept_streams(struct local_run *run, const struct local_exec *exec,
                            struct start_fds *fds) {
    int stdin_fd = -1;
    int out = -1;
    int err = -1;
    int rc = (exec->flags & LOCAL_EXEC_STDIN) != 0 ? add_pipe(fds, true, &stdin_fd) : 0;
    if (rc == 0)
        rc = add_pipe(fds, false, &out);
    if (rc == 0)
        rc = add_pipe(fds, false, &err);
    if (rc == 0)
        rc = local_keep_begin(run, exec, out, err);
    else
        al_close(out);
    if (rc == 0 && stdin_fd >= 0)
        run->peer_fds[run->peer_count++] = stdin_fd;
    else
        al_close(stdin_fd);
    return rc;
}

static int add_streams(struct local_run *run, const struct local_exec *exec,
                       struct start_fds *fds) {
    uint32_t flags = exec->flags;
    if ((flags & LOCAL_EXEC_KEPT) != 0)
        return add_kept_streams(run, exec, fds);
    int rc = add_control(run);
    run->awaits_terminal = (flags & LOCAL_EXEC_TERMINAL) != 0;
    if (rc != 0 || run->awaits_terminal)
        return rc;
    int stdin_fd = -1;
    if ((flags & LOCAL_EXEC_STDIN) != 0)
        rc = add_pipe(fds, true, &stdin_fd);
    if (rc == 0)
        rc = add_output(run, fds, &run->out);
    if (rc == 0)
        rc = add_output(run, fds, &run->err);
    if (stdin_fd >= 0)
        run->peer_fds[run->peer_count++] = stdin_fd;
    return rc;
}

static int add_start_pipe(struct local_run *run, struct start_fds *fds) {
    int end;
    int rc = add_pipe(fds, false, &end);
    if (rc != 0)
        return rc;
    rc = al_fd_set_nonblock(end, true);
    if (rc != 0) {
        al_close(end);
        return rc;
    }
    return local_watch_begin(&run->start, run->supervisor->epoll_fd, end, EPOLLIN, start_ready);
}

static int add_group(struct local_run *run, struct start_fds *fds) {
    int fd;
    int rc = local_group_create(&run->supervisor->box, run->number, &fd, NULL);
    if (rc == 0 && fd >= 0) {
        fds->items[fds->count++] = fd;
        run->has_group = true;
    }
    return rc;
}

static int run_new(struct local_supervisor *supervisor, const struct local_exec *exec,
                   struct local_run **out) {
    static const struct local_watch none = LOCAL_WATCH_NONE;
    struct local_run *run = calloc(1, sizeof(*run));
    if (run == NULL)
        return ENOMEM;
    run->program = al_strdup(exec->argv.items[0]);
    run->cwd = exec->cwd != NULL ? al_strdup(exec->cwd) : NULL;
    run->user = exec->user != NULL ? al_strdup(exec->user) : NULL;
    if (run->program == NULL || (exec->cwd != NULL && run->cwd == NULL) ||
        (exec->user != NULL && run->user == NULL)) {
        free(run->program);
        free(run->cwd);
        free(run->user);
        free(run);
        return ENOMEM;
    }
    run->supervisor = supervisor;
    run->number = supervisor->next_number++;
    run->start = run->control = run->out = run->err = none;
    run->deadline_ms = -1;
    if (supervisor->create.memory_size > 0)
        run->oom_kills = local_box_oom_kills(&supervisor->box);
    al_list_append(&supervisor->runs, &run->link);
    *out = run;
    return 0;
}

/* Makes all that the command needs and asks pid 1 for it. SCRIPT_FD stays the caller's. */
static int run_begin(struct local_run *run, const struct local_exec *exec, int script_fd) {
    struct start_fds fds = {.count = 0};
    struct local_start start = {run->number, *exec};
    int rc = add_start_pipe(run, &fds);
    if (rc == 0 && (exec->flags & LOCAL_EXEC_QUIET) == 0)
        rc = add_streams(run, exec, &fds);
    if (rc == 0)
        rc = add_group(run, &fds);
    if (rc == 0 && run->has_group)
        start.exec.flags |= LOCAL_EXEC_GROUP;
    size_t owned = fds.count;
    if (rc == 0 && script_fd >= 0)
        fds.items[fds.count++] = script_fd;
    if (rc == 0)
        rc = local_link_send(run->supervisor->pid1.fd, LOCAL_START, run->number, &start, fds.items,
                             fds.count, at_once);
    close_fds(fds.items, &owned);
    if (rc == 0 && exec->timeout_ms > 0) {
        run->deadline_ms = local_after(al_clock_boottime_ms(), exec->timeout_ms);
        local_timer_arm(run->supervisor);
    }
    return rc;
}

static void run_not_begun(struct local_run *run, int rc) {
    alineo_code code = ALINEO_SANDBOX_FAILED;
    if (rc == ENOMEM)
        code = ALINEO_NO_MEMORY;
    else if (rc == E2BIG)
        code = ALINEO_TOO_LARGE;
    else if (rc == ETIMEDOUT)
        code = ALINEO_EXEC_NOT_READY;
    char message[LOCAL_MESSAGE_TEXT_MAX];
    (void)snprintf(message, sizeof(message), "start the command: %s",
                   rc == ETIMEDOUT ? "too many are being started" : strerror(rc));
    run->has_ended = true;
    local_watch_end(&run->start);
    run_refused(run, code, NULL, message);
}

static bool exec_is_valid(const struct local_exec *exec, const struct local_message *message) {
    uint32_t allowed = LOCAL_EXEC_STDIN | LOCAL_EXEC_SCRIPT | LOCAL_EXEC_TERMINAL | LOCAL_EXEC_KEPT;
    uint32_t others = LOCAL_EXEC_STDIN | LOCAL_EXEC_KEPT;
    bool is_terminal = (exec->flags & LOCAL_EXEC_TERMINAL) != 0;
    size_t fd_count = (exec->flags & LOCAL_EXEC_SCRIPT) != 0 ? 1 : 0;
    return (exec->flags & ~allowed) == 0 && !(is_terminal && (exec->flags & others) != 0) &&
           message->fd_count == fd_count && exec->argv.count > 0 &&
           local_env_is_valid(&exec->env) && (exec->cwd == NULL || exec->cwd[0] == '/');
}

static void run_for_client(struct local_client *client, const struct local_exec *exec,
                           struct local_message *message) {
    struct local_supervisor *supervisor = client->supervisor;
    if (!exec_is_valid(exec, message)) {
        local_client_answer(client, ALINEO_INVALID_ARGUMENT, NULL,
                            "start a command: the request makes no sense");
        return;
    }
    if (supervisor->is_paused) {
        local_client_answer(client, ALINEO_SANDBOX_PAUSED, "unpause it first",
                            "start a command in the sandbox %s: it is paused",
                            supervisor->create.id);
        return;
    }
    struct local_run *run;
    int rc = run_new(supervisor, exec, &run);
    if (rc != 0) {
        local_client_answer(client, ALINEO_NO_MEMORY, NULL, "start a command: no memory");
        return;
    }
    run->client = client;
    client->starting = run;
    local_client_hold(client);
    rc = run_begin(run, exec, message->fd_count > 0 ? message->fds[0] : -1);
    if (rc != 0)
        run_not_begun(run, rc);
}

void local_run_request(struct local_client *client, struct local_message *message) {
    struct local_exec exec;
    if (local_message_decode(message, LOCAL_EXEC, &exec) != 0) {
        local_client_end(client);
        return;
    }
    run_for_client(client, &exec, message);
    local_clear(&local_exec_schema, &exec);
}

void local_run_entrypoint(struct local_supervisor *supervisor) {
    struct local_exec exec = {
        .exec_id = "entrypoint", .argv = supervisor->create.entrypoint, .flags = LOCAL_EXEC_QUIET};
    struct local_run *run;
    int rc = run_new(supervisor, &exec, &run);
    if (rc != 0) {
        local_supervisor_is_broken(supervisor, ALINEO_NO_MEMORY, "start the entrypoint: no memory");
        return;
    }
    run->is_entrypoint = true;
    rc = run_begin(run, &exec, -1);
    if (rc != 0)
        run_not_begun(run, rc);
}
