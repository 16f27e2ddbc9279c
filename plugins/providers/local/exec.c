/* SPDX-License-Identifier: Apache-2.0 */
/* Commands. The supervisor hands over their descriptors and one socket for each: the outcome comes
 * by it, and we say by it that the command is to be ended or let go. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/io.h"
#include "core/util/str.h"
#include "plugins/providers/local/local.h"

enum {
    SIGNAL_MAX = 64,
    SIGNAL_MS = 10000
};

struct alineo_provider_exec {
    uint64_t number;
    int fd;     /* the exec's socket */
    int pty_fd; /* its terminal; -1 = none */
    char id[LOCAL_ID_MAX + 1];
    bool is_known;             /* the outcome */
    alineo_exec_status status; /* then; without detail */
    char *detail;
};

static const al_deadline at_once = {0};

/* --- start -------------------------------------------------------------------------------------*/

static alineo_code refuse(alineo_provider *self, alineo_error **err, const char *what) {
    return LOCAL_FAIL(self, err, ALINEO_CAPABILITY_UNSUPPORTED, NULL,
                      "start a command: the provider local has no %s", what);
}

static alineo_code check_request(alineo_provider *self, const alineo_exec_request *request,
                                 alineo_error **err) {
    if (request->background != 0 && request->want_pty != 0)
        return refuse(self, err, "background commands with a terminal");
    if (request->output_limit < 0 || request->output_limit > LOCAL_OUTPUT_LIMIT_MAX)
        return LOCAL_FAIL(self, err, ALINEO_INVALID_ARGUMENT, "at most 64 MiB of each stream",
                          "start a command of which %lld bytes are kept",
                          (long long)request->output_limit);
    if (request->shell_id != NULL)
        return refuse(self, err, "shells");
    if (request->argv == NULL || request->argv[0] == NULL)
        return LOCAL_FAIL(self, err, ALINEO_INVALID_ARGUMENT, NULL,
                          "start a command: there is no program to run");
    if (request->timeout_ms < 0 || request->timeout_ms > LOCAL_MS_MAX)
        return LOCAL_FAIL(self, err, ALINEO_INVALID_ARGUMENT, NULL,
                          "start a command: a time limit of %lld ms makes no sense",
                          (long long)request->timeout_ms);
    if (request->cwd != NULL && (request->cwd[0] != '/' || strlen(request->cwd) > LOCAL_PATH_MAX))
        return LOCAL_FAIL(self, err, ALINEO_INVALID_ARGUMENT, "give an absolute path",
                          "start a command in the folder %.200s", request->cwd);
    struct local_list env = local_list_of(request->env);
    if (!local_env_is_valid(&env))
        return LOCAL_FAIL(self, err, ALINEO_INVALID_ARGUMENT, NULL,
                          "start a command: a variable's name is empty or holds '='");
    return ALINEO_OK;
}

/* The script in memory, to be read from its beginning. */
static int make_script(const alineo_exec_request *request, int *out) {
    al_autofd int fd = memfd_create("script", MFD_CLOEXEC);
    if (fd < 0)
        return errno;
    int rc = al_write_full(fd, request->script, request->script_size);
    if (rc == 0 && lseek(fd, 0, SEEK_SET) != 0)
        rc = errno;
    if (rc == 0)
        *out = al_steal_fd(&fd);
    return rc;
}

/* The exec's socket, then the terminal, or stdout, stderr and perhaps stdin. */
static size_t fds_expected(uint32_t flags) {
    if ((flags & LOCAL_EXEC_TERMINAL) != 0)
        return 2;
    return (flags & LOCAL_EXEC_STDIN) != 0 ? 4 : 3;
}

alineo_code local_take_exec(alineo_provider *self, const char *id, struct local_message *in,
                            uint64_t number, uint32_t flags, alineo_exec_io *io,
                            alineo_error **err) {
    bool has_pty = (flags & LOCAL_EXEC_TERMINAL) != 0;
    if (in->fd_count != fds_expected(flags))
        return local_fail_garbled(self, err);
    struct alineo_provider_exec *exec = calloc(1, sizeof(*exec));
    al_autofd int status = -1;
    al_autofd int pty = -1;
    int rc = exec == NULL ? ENOMEM : al_fd_dup(in->fds[0], &status);
    if (rc == 0 && has_pty)
        rc = al_fd_dup(in->fds[1], &pty);
    if (rc != 0) {
        free(exec);
        return local_fail_errno(self, err, rc, "start a command");
    }
    exec->number = number;
    exec->fd = local_message_take_fd(in, 0);
    (void)al_str_copy(exec->id, sizeof(exec->id), id);
    io->exec = exec;
    io->status_fd = al_steal_fd(&status);
    exec->pty_fd = al_steal_fd(&pty);
    if (has_pty) {
        io->pty_fd = local_message_take_fd(in, 1);
        return ALINEO_OK;
    }
    io->stdout_fd = local_message_take_fd(in, 1);
    io->stderr_fd = local_message_take_fd(in, 2);
    io->stdin_fd = local_message_take_fd(in, 3);
    return ALINEO_OK;
}

/* Takes apart what came with STARTED. */
static alineo_code take_started(alineo_provider *self, const char *id,
                                struct local_connection *connection, uint32_t flags,
                                alineo_exec_io *io, alineo_error **err) {
    struct local_started started;
    if (local_message_decode(&connection->in, LOCAL_STARTED, &started) != 0)
        return local_fail_garbled(self, err);
    return local_take_exec(self, id, &connection->in, started.number, flags, io, err);
}

alineo_code local_exec_start(alineo_provider *self, const char *id,
                             const alineo_exec_request *request, alineo_exec_io *io,
                             alineo_error **err) {
    alineo_code code = check_request(self, request, err);
    if (code != ALINEO_OK)
        return code;
    al_autofd int script = -1;
    int rc = request->script != NULL ? make_script(request, &script) : 0;
    if (rc != 0)
        return local_fail_errno(self, err, rc, "start a command: keep its script");
    struct local_exec exec = {
        .exec_id = request->exec_id,
        .cwd = request->cwd,
        .user = request->user,
        .argv = local_list_of(request->argv),
        .env = local_list_of(request->env),
        .timeout_ms = request->timeout_ms,
        .flags = (script >= 0 ? LOCAL_EXEC_SCRIPT : 0U),
        .rows = request->rows,
        .columns = request->columns,
        .output_limit = request->output_limit,
    };
    if (request->want_pty != 0)
        exec.flags |= LOCAL_EXEC_TERMINAL;
    else if (request->want_stdin != 0)
        exec.flags |= LOCAL_EXEC_STDIN;
    if (request->background != 0)
        exec.flags |= LOCAL_EXEC_KEPT;
    /* When the call is cancelled the connection is dropped: the supervisor then ends what it has
     * started for it, also when its answer was already on the way. */
    struct local_connection *connection;
    code = local_ask(self, id, LOCAL_EXEC, &exec, &script, script >= 0 ? 1 : 0, request->call,
                     &connection, err);
    if (code != ALINEO_OK)
        return code;
    code = take_started(self, id, connection, exec.flags, io, err);
    if (code == ALINEO_OK)
        local_connection_give(self, connection);
    else
        local_connection_drop(connection);
    return code;
}

/* --- outcome -----------------------------------------------------------------------------------*/

static bool is_sandbox_gone(const alineo_provider *self, const char *id) {
    al_autofd int entries = -1;
    al_autofd int entry = -1;
    bool is_held = false;
    return local_folder_open(self->run_dir, LOCAL_SANDBOXES, &entries) != 0 ||
           local_entry_open(entries, id, &entry, &is_held) != 0 || !is_held;
}

/* The link ended without a word of how the command did. */
static void set_lost(const alineo_provider *self, alineo_provider_exec *exec) {
    bool is_gone = is_sandbox_gone(self, exec->id);
    exec->status.outcome = ALINEO_OUTCOME_LOST;
    exec->status.exit_code = -1;
    exec->status.may_still_run = is_gone ? ALINEO_NO : ALINEO_DEFAULT;
    exec->detail = al_strdup(is_gone ? "the sandbox and its supervisor ended"
                                     : "the link to the supervisor broke");
    exec->is_known = true;
}

static void set_outcome(alineo_provider_exec *exec, const struct local_outcome *outcome) {
    exec->status.outcome = (alineo_outcome)outcome->outcome;
    exec->status.exit_code = (int32_t)outcome->exit_code;
    exec->status.signal = (int32_t)outcome->signal;
    exec->status.oom = (int32_t)outcome->is_oom;
    exec->status.may_still_run = (alineo_choice)outcome->may_still_run;
    exec->detail = al_strdup(outcome->detail);
    exec->is_known = true;
}

static alineo_code receive_outcome(alineo_provider *self, alineo_provider_exec *exec,
                                   alineo_error **err) {
    al_auto(local_message_free) struct local_message in = {0};
    struct local_outcome outcome;
    int rc = local_link_receive(exec->fd, &local_link_trusted, &in, at_once);
    if (rc == ENOMEM)
        return local_fail_errno(self, err, rc, "wait for a command");
    if (rc == 0 && local_message_decode(&in, LOCAL_OUTCOME, &outcome) == 0)
        set_outcome(exec, &outcome);
    else
        set_lost(self, exec);
    return ALINEO_OK;
}

static alineo_code give_status(alineo_provider *self, const alineo_provider_exec *exec,
                               alineo_exec_status *status, alineo_error **err) {
    char *detail = NULL;
    if (exec->detail != NULL) {
        size_t size = strlen(exec->detail) + 1;
        detail = self->host->alloc(self->host, size);
        if (detail == NULL)
            return local_fail_errno(self, err, ENOMEM, "wait for a command");
        memcpy(detail, exec->detail, size);
    }
    size_t size = status->size;
    *status = exec->status;
    status->size = size;
    status->detail = detail;
    return ALINEO_OK;
}

alineo_code local_exec_wait(alineo_provider *self, alineo_provider_exec *exec, int64_t timeout_ms,
                            alineo_exec_status *status, alineo_error **err) {
    if (!exec->is_known) {
        int rc = al_poll_fd(exec->fd, POLLIN, al_deadline_after_ms(timeout_ms), NULL);
        if (rc == ETIMEDOUT)
            return LOCAL_FAIL(self, err, ALINEO_TIMEOUT, NULL, "wait for a command: it still runs");
        if (rc != 0)
            return local_fail_errno(self, err, rc, "wait for a command");
        alineo_code code = receive_outcome(self, exec, err);
        if (code != ALINEO_OK)
            return code;
    }
    return give_status(self, exec, status, err);
}

/* --- the rest ----------------------------------------------------------------------------------*/

alineo_code local_exec_cancel(alineo_provider *self, alineo_provider_exec *exec,
                              alineo_error **err) {
    int rc =
        local_link_send(exec->fd, LOCAL_CANCEL, 0, NULL, NULL, 0, al_deadline_after_ms(SIGNAL_MS));
    /* Nobody there: then the command has ended, one way or the other. */
    if (rc == 0 || rc == EPIPE || rc == ECONNRESET)
        return ALINEO_OK;
    return local_fail_errno(self, err, rc, "cancel a command");
}

void local_exec_free(alineo_provider *self, alineo_provider_exec *exec) {
    (void)self;
    if (exec == NULL)
        return;
    /* Without this word the end of the socket would end the command. Where it cannot be said there
     * is nobody left to hear it. */
    if (!exec->is_known && local_link_send(exec->fd, LOCAL_RELEASE, 0, NULL, NULL, 0, at_once) != 0)
        exec->is_known = true;
    al_close(exec->pty_fd);
    al_close(exec->fd);
    free(exec->detail);
    free(exec);
}

alineo_code local_exec_signal(alineo_provider *self, alineo_provider_exec *exec, int32_t signal,
                              alineo_error **err) {
    if (signal < 1 || signal > SIGNAL_MAX)
        return LOCAL_FAIL(self, err, ALINEO_INVALID_ARGUMENT, NULL,
                          "send a signal: there is no signal %d", signal);
    struct local_signal request = {exec->number, (uint32_t)signal};
    struct local_connection *connection;
    alineo_code code =
        local_ask(self, exec->id, LOCAL_SIGNAL, &request, NULL, 0, NULL, &connection, err);
    if (code != ALINEO_OK)
        return code;
    local_connection_give(self, connection);
    return ALINEO_OK;
}

alineo_code local_exec_resize(alineo_provider *self, alineo_provider_exec *exec, uint16_t rows,
                              uint16_t columns, alineo_error **err) {
    if (exec->pty_fd < 0)
        return LOCAL_FAIL(self, err, ALINEO_INVALID_ARGUMENT, NULL,
                          "resize: the command has no terminal");
    struct winsize size = {.ws_row = rows, .ws_col = columns};
    if (ioctl(exec->pty_fd, TIOCSWINSZ, &size) != 0)
        return local_fail_errno(self, err, errno, "resize a terminal");
    return ALINEO_OK;
}
