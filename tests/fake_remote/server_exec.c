/* SPDX-License-Identifier: Apache-2.0 */
/* Runs commands for the fake remote server, as plain processes in a group of their own. */
#include "server.h"

#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/io.h"
#include "core/util/num.h"
#include "core/util/str.h"
#include "core/util/strv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

typedef struct run {
    int connection;
    pid_t pid;
    int pidfd;
    int stdin_fd; /* our ends */
    int stdout_fd;
    int stderr_fd;
    al_buf pending; /* for stdin */
    bool stdin_ends;
    bool cancelled;
    bool timed_out;
    bool alone; /* the other side went away */
    uint64_t sent;
    int64_t break_after; /* bytes of output after which the link breaks; -1 = never */
    al_deadline deadline;
    char exec_id[65];
} run;

/* --- killing --- */

static bool environ_has(const char *pid, const char *assignment, size_t length) {
    char path[300];
    snprintf(path, sizeof(path), "/proc/%s/environ", pid);
    al_autofd int fd = open(path, O_RDONLY | O_CLOEXEC);
    static _Thread_local char text[256 * 1024];
    size_t size = 0;
    if (fd < 0 || al_read_full(fd, text, sizeof(text), &size) != 0)
        return false;
    for (const char *at = text; at < text + size; at += strnlen(at, (size_t)(text + size - at)) + 1)
        if ((size_t)(text + size - at) >= length + 1 && memcmp(at, assignment, length + 1) == 0)
            return true;
    return false;
}

static size_t kill_round(const char *assignment) {
    size_t killed = 0;
    DIR *proc = opendir("/proc");
    if (proc == NULL)
        return 0;
    for (struct dirent *entry = readdir(proc); entry != NULL; entry = readdir(proc)) {
        int64_t pid = 0;
        if (al_parse_int64_in(entry->d_name, 2, INT32_MAX, &pid) != 0 || pid == getpid() ||
            !environ_has(entry->d_name, assignment, strlen(assignment)))
            continue;
        killed += kill((pid_t)pid, SIGKILL) == 0;
    }
    closedir(proc);
    return killed;
}

void kill_marked(const char *name, const char *value) {
    char *assignment = al_strf("%s=%s", name, value);
    /* Until a round finds none: what forks meanwhile is found by the next. */
    for (int round = 0; assignment != NULL && round < 50 && kill_round(assignment) > 0; round++)
        usleep(2000);
    free(assignment);
}

/* --- starting --- */

static int make_env(const al_kv *sandbox_env, const al_json_node *request, const char *folder,
                    const char *id, const char *exec_id, al_kv *env, al_strv *out) {
    int rc = al_kv_set(env, "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    rc = rc != 0 ? rc : al_kv_set(env, "HOME", folder);
    rc = rc != 0 ? rc : al_kv_set(env, "TMPDIR", folder);
    rc = rc != 0 ? rc : al_kv_merge(env, sandbox_env);
    const al_json_node *own = al_json_member(request, "env");
    for (const al_json_node *m = al_json_first(own); rc == 0 && m != NULL; m = al_json_next(m)) {
        const char *value = "";
        (void)al_json_get_str(m, &value);
        rc = al_kv_set(env, al_json_key(m, NULL), value);
    }
    rc = rc != 0 ? rc : al_kv_set(env, "ALINEO_SANDBOX_ID", id);
    rc = rc != 0 ? rc : al_kv_set(env, "ALINEO_EXEC_ID", exec_id);
    for (size_t i = 0; rc == 0 && i < env->count; i++)
        rc = al_strv_take(out, al_strf("%s=%s", env->items[i].key, env->items[i].value));
    return rc;
}

/* The file of a program, by PATH where it has no slash. NULL when there is none. */
static char *find_program(const char *name, const char *path, const char *cwd) {
    if (strchr(name, '/') != NULL)
        return name[0] == '/' ? al_strdup(name) : al_strf("%s/%s", cwd, name);
    al_auto(al_strv_free) al_strv folders = AL_STRV_INIT;
    if (al_strv_split(&folders, path, ':') != 0)
        return NULL;
    for (size_t i = 0; i < folders.count; i++) {
        char *candidate = al_strf("%s/%s", folders.items[i], name);
        if (candidate != NULL && access(candidate, F_OK) == 0)
            return candidate;
        free(candidate);
    }
    return NULL;
}

static _Noreturn void be_the_command(const char *program, char *const *argv, char *const *env,
                                     const char *cwd, const int fds[4], int status_fd) {
    sigset_t none;
    sigemptyset(&none);
    (void)setsid();
    int rc = chdir(cwd) != 0 ? errno : 0;
    for (int i = 0; rc == 0 && i < 3; i++)
        rc = dup2(fds[i], i) < 0 ? errno : 0;
    int keep = fcntl(status_fd, F_DUPFD_CLOEXEC, 10);
    if (fds[3] == 9)
        rc = fcntl(9, F_SETFD, 0) != 0 ? errno : rc;
    else if (fds[3] >= 0 && dup2(fds[3], 9) < 0)
        rc = errno;
    if (fds[3] < 0)
        (void)close(9);
    (void)syscall(SYS_close_range, 3u, 8u, 0);
    (void)syscall(SYS_close_range, 10u, (unsigned)keep - 1, 0);
    (void)syscall(SYS_close_range, (unsigned)keep + 1, ~0u, 0);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    if (rc == 0) {
        execve(program, argv, env);
        rc = errno;
    }
    (void)!write(keep, &rc, sizeof(rc));
    _exit(127);
}

static int script_fd(const al_buf *script) {
    if (script->size == 0)
        return -1;
    int fd = memfd_create("script", MFD_CLOEXEC);
    if (fd >= 0 &&
        (al_write_full(fd, script->data, script->size) != 0 || lseek(fd, 0, SEEK_SET) != 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Forks; *failure is the errno of the exec, 0 when it runs. */
static int start(run *r, const char *program, char *const *argv, char *const *env, const char *cwd,
                 bool want_stdin, const al_buf *script, int *failure) {
    int in[2] = {-1, -1};
    int out[2];
    int err[2];
    int status[2];
    if (al_pipe(&out[0], &out[1]) != 0 || al_pipe(&err[0], &err[1]) != 0 ||
        al_pipe(&status[0], &status[1]) != 0)
        return EMFILE;
    if (want_stdin ? al_pipe(&in[0], &in[1]) != 0
                   : (in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
        return EMFILE;
    al_autofd int ninth = script_fd(script);
    const int fds[4] = {in[0], out[1], err[1], ninth};
    r->pid = fork();
    if (r->pid == 0)
        be_the_command(program, argv, env, cwd, fds, status[1]);
    close(in[0]);
    close(out[1]);
    close(err[1]);
    close(status[1]);
    r->stdin_fd = in[1];
    r->stdout_fd = out[0];
    r->stderr_fd = err[0];
    int unblock = r->stdin_fd >= 0 ? al_fd_set_nonblock(r->stdin_fd, true) : 0;
    size_t got = 0;
    *failure = 0;
    int rc = r->pid < 0 ? EAGAIN : al_read_full(status[0], failure, sizeof(*failure), &got);
    rc = rc != 0 ? rc : unblock;
    close(status[0]);
    r->pidfd = r->pid > 0 ? (int)syscall(SYS_pidfd_open, r->pid, 0) : -1;
    return rc;
}

/* --- running --- */

static void end_tree(run *r) {
    (void)kill(-r->pid, SIGKILL);
    kill_marked("ALINEO_EXEC_ID", r->exec_id);
}

static void leave(run *r) {
    r->alone = true;
}

/* Hands output on; breaks the link where that was asked for. */
static void send_output(run *r, char kind, const char *bytes, size_t size) {
    if (r->alone)
        return;
    if (r->break_after >= 0 && r->sent + size > (uint64_t)r->break_after) {
        size = (size_t)((uint64_t)r->break_after - r->sent);
        (void)frame_send(r->connection, kind, bytes, size);
        (void)shutdown(r->connection, SHUT_RDWR);
        leave(r);
        return;
    }
    r->sent += size;
    if (frame_send(r->connection, kind, bytes, size) != 0)
        leave(r);
}

/* One read of a stream; false at its end. */
static bool pass_on(run *r, int *fd, char kind) {
    char bytes[32768];
    size_t size = 0;
    int rc = al_read_some(*fd, bytes, sizeof(bytes), &size);
    if (rc == 0 && size > 0)
        send_output(r, kind, bytes, size);
    if ((rc == 0 && size == 0) || (rc != 0 && rc != EAGAIN)) {
        close(*fd);
        *fd = -1;
        return false;
    }
    return true;
}

static void close_stdin(run *r) {
    if (r->stdin_fd >= 0)
        close(r->stdin_fd);
    r->stdin_fd = -1;
}

static void feed(run *r) {
    size_t written = 0;
    if (r->stdin_fd < 0)
        return;
    if (r->pending.size > 0) {
        int rc = al_write_some(r->stdin_fd, r->pending.data, r->pending.size, &written);
        if (rc == 0)
            al_buf_consume(&r->pending, written);
        else if (rc != EAGAIN)
            close_stdin(r);
    }
    if (r->pending.size == 0 && r->stdin_ends)
        close_stdin(r);
}

static void hear(run *r) {
    frame said = {0, AL_BUF_INIT};
    if (frame_receive(r->connection, &said) != 0)
        leave(r);
    else if (said.kind == FRAME_STDIN)
        al_buf_append(&r->pending, said.bytes.data, said.bytes.size);
    else if (said.kind == FRAME_STDIN_END)
        r->stdin_ends = true;
    else if (said.kind == FRAME_SIGNAL && said.bytes.size == 1)
        (void)kill(-r->pid, (unsigned char)said.bytes.data[0]);
    else if (said.kind == FRAME_CANCEL) {
        r->cancelled = true;
        end_tree(r);
    }
    al_buf_free(&said.bytes);
    feed(r);
}

/* Until the command ended. */
static void follow(run *r) {
    for (;;) {
        struct pollfd waits[5] = {
            {r->pidfd, POLLIN, 0},
            {r->alone || r->pending.size > (1u << 20) ? -1 : r->connection, POLLIN, 0},
            {r->stdout_fd, POLLIN, 0},
            {r->stderr_fd, POLLIN, 0},
            {r->pending.size > 0 ? r->stdin_fd : -1, POLLOUT, 0},
        };
        int timeout = r->timed_out ? -1 : al_deadline_poll_ms(r->deadline);
        if (poll(waits, 5, timeout) < 0 && errno != EINTR)
            return;
        if (waits[0].revents != 0)
            return;
        if (waits[1].revents != 0)
            hear(r);
        if (waits[2].revents != 0)
            (void)pass_on(r, &r->stdout_fd, FRAME_STDOUT);
        if (waits[3].revents != 0)
            (void)pass_on(r, &r->stderr_fd, FRAME_STDERR);
        if (waits[4].revents != 0)
            feed(r);
        if (!r->timed_out && al_deadline_passed(r->deadline)) {
            r->timed_out = true;
            end_tree(r);
        }
    }
}

/* What is in the pipes now. */
static void drain(run *r) {
    int *const fds[2] = {&r->stdout_fd, &r->stderr_fd};
    static const char kinds[2] = {FRAME_STDOUT, FRAME_STDERR};
    for (int i = 0; i < 2; i++) {
        if (*fds[i] >= 0 && al_fd_set_nonblock(*fds[i], true) != 0)
            continue;
        struct pollfd ready = {*fds[i], POLLIN, 0};
        while (*fds[i] >= 0 && poll(&ready, 1, 0) > 0 && pass_on(r, fds[i], kinds[i]))
            ;
    }
}

/* Children left in the background go on writing: somebody must go on reading. */
static void *read_away(void *argument) {
    al_autofd int fd = (int)(intptr_t)argument;
    char bytes[32768];
    size_t size = 1;
    while (al_fd_set_nonblock(fd, false) == 0 &&
           al_read_some(fd, bytes, sizeof(bytes), &size) == 0 && size > 0)
        ;
    return NULL;
}

static void hand_to_reader(int fd) {
    pthread_t thread;
    if (fd < 0)
        return;
    if (pthread_create(&thread, NULL, read_away, (void *)(intptr_t)fd) == 0)
        pthread_detach(thread);
    else
        close(fd);
}

static void send_exit(const run *r, int wait_status, const char *detail) {
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    al_json_writer writer;
    bool signalled = WIFSIGNALED(wait_status);
    const char *outcome = signalled ? "signalled" : "exited";
    if (r->timed_out)
        outcome = "timed_out";
    else if (r->cancelled)
        outcome = "cancelled";
    al_json_write_init(&writer, &text);
    al_json_write_object_begin(&writer);
    al_json_put_str(&writer, "outcome", outcome);
    al_json_put_int(&writer, "exitCode",
                    signalled ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status));
    al_json_put_int(&writer, "signal", signalled ? WTERMSIG(wait_status) : 0);
    if (detail != NULL)
        al_json_put_str(&writer, "detail", detail);
    al_json_write_object_end(&writer);
    if (!r->alone)
        (void)frame_send_json(r->connection, FRAME_EXIT, &writer, &text);
}

static void run_to_end(run *r, int failure, const char *program) {
    int wait_status = 0;
    if (failure == 0)
        follow(r);
    while (waitpid(r->pid, &wait_status, 0) < 0 && errno == EINTR)
        ;
    drain(r);
    close_stdin(r);
    if (failure != 0) {
        char *detail = al_strf("%s: %s", program, strerror(failure));
        send_exit(r, (failure == ENOENT || failure == ENOTDIR ? 127 : 126) << 8, detail);
        free(detail);
    } else
        send_exit(r, wait_status, NULL);
    hand_to_reader(r->stdout_fd);
    hand_to_reader(r->stderr_fd);
    if (r->pidfd >= 0)
        close(r->pidfd);
    al_buf_free(&r->pending);
}

static const char *folder_problem(const char *cwd) {
    struct stat info;
    if (stat(cwd, &info) != 0)
        return errno == EACCES ? "PERMISSION_DENIED" : "FILE_NOT_FOUND";
    return S_ISDIR(info.st_mode) ? NULL : "NOT_A_DIRECTORY";
}

static int read_argv(const al_json_node *request, al_strv *argv) {
    const al_json_node *list = al_json_member(request, "argv");
    for (const al_json_node *item = al_json_first(list); item != NULL; item = al_json_next(item)) {
        const char *text = NULL;
        int rc = al_json_get_str(item, &text) ? al_strv_append(argv, text) : EINVAL;
        if (rc != 0)
            return rc;
    }
    return argv->count > 0 ? 0 : EINVAL;
}

/* Everything that a command needs, from its request. */
typedef struct order {
    char *folder;
    al_kv sandbox_env;
    al_kv env;
    al_strv env_list;
    al_strv argv;
    const char *cwd;
    bool want_stdin;
} order;

static void order_free(order *o) {
    free(o->folder);
    al_kv_free(&o->sandbox_env);
    al_kv_free(&o->env);
    al_strv_free(&o->env_list);
    al_strv_free(&o->argv);
}

/* NULL, or the code to answer. */
static const char *read_order(const al_json_node *request, run *r, order *o) {
    const char *id = "";
    const char *exec_id = "";
    int64_t timeout_ms = 0;
    bool not_ready = false;
    (void)al_json_get_str(al_json_member(request, "id"), &id);
    (void)al_json_get_str(al_json_member(request, "execId"), &exec_id);
    (void)al_json_get_int(al_json_member(request, "timeoutMs"), &timeout_ms);
    (void)al_json_get_int(al_json_member(request, "breakAfter"), &r->break_after);
    (void)al_json_get_bool(al_json_member(request, "stdin"), &o->want_stdin);
    al_str_copy(r->exec_id, sizeof(r->exec_id), exec_id);
    r->deadline = al_deadline_after_ms(timeout_ms > 0 ? timeout_ms : -1);
    if (!sandbox_for_exec(id, &o->folder, &o->sandbox_env, &not_ready))
        return not_ready ? "EXEC_NOT_READY" : "SANDBOX_NOT_FOUND";
    o->cwd = o->folder;
    (void)al_json_get_str(al_json_member(request, "cwd"), &o->cwd);
    if (make_env(&o->sandbox_env, request, o->folder, id, exec_id, &o->env, &o->env_list) != 0)
        return "NO_MEMORY";
    if (read_argv(request, &o->argv) != 0)
        return "INVALID_ARGUMENT";
    return folder_problem(o->cwd);
}

void serve_exec(int fd, const al_json_node *request, const al_buf *script) {
    run r = {.connection = fd,
             .pidfd = -1,
             .stdin_fd = -1,
             .stdout_fd = -1,
             .stderr_fd = -1,
             .break_after = -1};
    order o;
    memset(&o, 0, sizeof(o));
    const char *problem = read_order(request, &r, &o);
    int failure = 0;
    if (problem == NULL) {
        char *program = find_program(o.argv.items[0], al_kv_get(&o.env, "PATH"), o.cwd);
        int rc = start(&r, program != NULL ? program : "/nonexistent", o.argv.items,
                       o.env_list.items, o.cwd, o.want_stdin, script, &failure);
        free(program);
        if (rc != 0)
            problem = "SANDBOX_FAILED";
        else if (failure == E2BIG)
            problem = "TOO_LARGE";
    }
    if (problem != NULL)
        answer_error(fd, problem, "the command was not started");
    else if (frame_send(fd, FRAME_ANSWER, "{\"ok\":true}", 11) != 0)
        leave(&r);
    if (problem == NULL)
        run_to_end(&r, failure, o.argv.items[0]);
    order_free(&o);
}
