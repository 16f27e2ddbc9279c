/* SPDX-License-Identifier: Apache-2.0 */
/* Commands of the fake remote provider: a connection each, no descriptors to hand over. */
#include "plugin.h"

#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/io.h"
#include "core/util/str.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

struct alineo_provider_exec {
    const alineo_host *host;
    int fd;
    pthread_mutex_t send_lock; /* frames of several threads must not mix */
    pthread_mutex_t lock;      /* of the outcome */
    pthread_cond_t known;
    bool ended;
    alineo_exec_status status; /* detail is our own */
    char *detail;
    frame chunk; /* the reader's, with what was not handed on yet */
    size_t taken;
    bool finished; /* the reader saw the end */
};

static void end_with(alineo_provider_exec *exec, const alineo_exec_status *status,
                     const char *detail) {
    pthread_mutex_lock(&exec->lock);
    if (!exec->ended) {
        exec->ended = true;
        exec->status = *status;
        exec->detail = al_strdup(detail);
        pthread_cond_broadcast(&exec->known);
    }
    pthread_mutex_unlock(&exec->lock);
}

static void end_lost(alineo_provider_exec *exec) {
    alineo_exec_status status = ALINEO_EXEC_STATUS_INIT;
    status.outcome = ALINEO_OUTCOME_LOST;
    status.may_still_run = ALINEO_YES;
    end_with(exec, &status, "the link to the server broke");
}

static void end_as_told(alineo_provider_exec *exec, const frame *said) {
    al_auto(al_json_free) al_json *json = NULL;
    if (al_json_parse(said->bytes.data, said->bytes.size, NULL, &json, NULL) != 0) {
        end_lost(exec);
        return;
    }
    const al_json_node *root = al_json_root(json);
    alineo_exec_status status = ALINEO_EXEC_STATUS_INIT;
    const char *outcome = "";
    const char *detail = NULL;
    int64_t exit_code = -1;
    int64_t signal = 0;
    (void)al_json_get_str(al_json_member(root, "outcome"), &outcome);
    (void)al_json_get_str(al_json_member(root, "detail"), &detail);
    (void)al_json_get_int(al_json_member(root, "exitCode"), &exit_code);
    (void)al_json_get_int(al_json_member(root, "signal"), &signal);
    status.exit_code = (int32_t)exit_code;
    if (strcmp(outcome, "signalled") == 0) {
        status.outcome = ALINEO_OUTCOME_SIGNALLED;
        status.signal = (int32_t)signal;
    } else if (strcmp(outcome, "timed_out") == 0) {
        status.outcome = ALINEO_OUTCOME_TIMED_OUT;
        status.exit_code = 124;
    } else if (strcmp(outcome, "cancelled") == 0) {
        status.outcome = ALINEO_OUTCOME_CANCELLED;
        status.exit_code = -1;
    } else
        status.outcome = ALINEO_OUTCOME_EXITED;
    end_with(exec, &status, detail);
}

static alineo_provider_exec *new_exec(alineo_provider *self, int fd) {
    alineo_provider_exec *exec = calloc(1, sizeof(*exec));
    if (exec == NULL)
        return NULL;
    exec->host = self->host;
    exec->fd = fd;
    pthread_mutex_init(&exec->send_lock, NULL);
    pthread_mutex_init(&exec->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&exec->known, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return exec;
}

static void write_request(const alineo_provider *self, const char *id,
                          const alineo_exec_request *request, al_json_writer *writer,
                          al_buf *text) {
    al_json_write_init(writer, text);
    al_json_write_object_begin(writer);
    al_json_put_str(writer, "op", "exec");
    al_json_put_str(writer, "id", id);
    al_json_put_str(writer, "execId", request->exec_id);
    al_json_put_array_begin(writer, "argv");
    for (const char *const *arg = request->argv; *arg != NULL; arg++)
        al_json_write_str(writer, *arg);
    al_json_write_array_end(writer);
    remote_put_pairs(writer, "env", request->env);
    if (request->cwd != NULL)
        al_json_put_str(writer, "cwd", request->cwd);
    al_json_put_int(writer, "timeoutMs", request->timeout_ms);
    al_json_put_bool(writer, "stdin", request->want_stdin != 0);
    if (self->break_after >= 0)
        al_json_put_int(writer, "breakAfter", self->break_after);
    al_json_write_object_end(writer);
}

alineo_code remote_exec_start(alineo_provider *self, const char *id,
                              const alineo_exec_request *request, alineo_exec_io *io,
                              alineo_error **err) {
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    al_auto(al_json_free) al_json *answer = NULL;
    al_json_writer writer;
    int fd = -1;
    write_request(self, id, request, &writer, &text);
    alineo_code code = remote_begin(self, "exec", &writer, &text, &fd, err);
    if (code != ALINEO_OK)
        return code;
    if (frame_send(fd, FRAME_SCRIPT, request->script, request->script_size) != 0)
        code = self->host->fail(self->host, err, ALINEO_PROVIDER_UNAVAILABLE, NULL,
                                "exec: the link broke");
    else
        code = remote_answer(self, "exec", fd, &answer, err);
    alineo_provider_exec *exec = code == ALINEO_OK ? new_exec(self, fd) : NULL;
    if (exec == NULL) {
        close(fd);
        return code != ALINEO_OK
                   ? code
                   : self->host->fail(self->host, err, ALINEO_NO_MEMORY, NULL, "exec: no memory");
    }
    io->exec = exec;
    return ALINEO_OK;
}

/* The next frame of output into the chunk; the end is noted. */
static void receive_chunk(alineo_provider_exec *exec) {
    exec->taken = 0;
    for (;;) {
        if (frame_receive(exec->fd, &exec->chunk) != 0)
            end_lost(exec);
        else if (exec->chunk.kind == FRAME_EXIT)
            end_as_told(exec, &exec->chunk);
        else if (exec->chunk.bytes.size == 0 ||
                 (exec->chunk.kind != FRAME_STDOUT && exec->chunk.kind != FRAME_STDERR))
            continue;
        else
            return;
        exec->finished = true;
        al_buf_clear(&exec->chunk.bytes);
        return;
    }
}

alineo_code remote_exec_read(alineo_provider *self, alineo_provider_exec *exec, void *buffer,
                             size_t capacity, alineo_stream *stream, size_t *used,
                             alineo_error **err) {
    if (exec->taken == exec->chunk.bytes.size && !exec->finished)
        receive_chunk(exec);
    if (exec->finished) {
        pthread_mutex_lock(&exec->lock);
        bool lost = exec->status.outcome == ALINEO_OUTCOME_LOST;
        pthread_mutex_unlock(&exec->lock);
        if (lost)
            return self->host->fail(self->host, err, ALINEO_EXEC_LOST, NULL,
                                    "read: the link to the server broke");
        *used = 0;
        return ALINEO_OK;
    }
    size_t size = exec->chunk.bytes.size - exec->taken;
    if (size > capacity)
        size = capacity;
    memcpy(buffer, exec->chunk.bytes.data + exec->taken, size);
    exec->taken += size;
    *stream = exec->chunk.kind == FRAME_STDOUT ? ALINEO_STREAM_STDOUT : ALINEO_STREAM_STDERR;
    *used = size;
    return ALINEO_OK;
}

alineo_code remote_exec_wait(alineo_provider *self, alineo_provider_exec *exec, int64_t timeout_ms,
                             alineo_exec_status *status, alineo_error **err) {
    al_deadline deadline = al_deadline_after_ms(timeout_ms);
    struct timespec until = {deadline.at_ns / 1000000000, deadline.at_ns % 1000000000};
    pthread_mutex_lock(&exec->lock);
    int rc = 0;
    while (!exec->ended && rc == 0)
        rc = al_deadline_is_none(deadline)
                 ? pthread_cond_wait(&exec->known, &exec->lock)
                 : pthread_cond_timedwait(&exec->known, &exec->lock, &until);
    bool ended = exec->ended;
    if (ended) {
        size_t size = exec->detail != NULL ? strlen(exec->detail) + 1 : 0;
        *status = exec->status;
        status->size = sizeof(*status);
        status->detail = size > 0 ? self->host->alloc(self->host, size) : NULL;
        if (status->detail != NULL)
            memcpy(status->detail, exec->detail, size);
    }
    pthread_mutex_unlock(&exec->lock);
    return ended ? ALINEO_OK
                 : self->host->fail(self->host, err, ALINEO_TIMEOUT, NULL, "wait: it still runs");
}

static alineo_code send_frame(alineo_provider *self, alineo_provider_exec *exec, const char *what,
                              char kind, const void *bytes, size_t size, alineo_error **err) {
    pthread_mutex_lock(&exec->send_lock);
    int rc = frame_send(exec->fd, kind, bytes, size);
    pthread_mutex_unlock(&exec->send_lock);
    if (rc == 0)
        return ALINEO_OK;
    return self->host->fail(self->host, err, ALINEO_IO, NULL, "%s: %s", what, strerror(rc));
}

alineo_code remote_exec_cancel(alineo_provider *self, alineo_provider_exec *exec,
                               alineo_error **err) {
    pthread_mutex_lock(&exec->lock);
    bool ended = exec->ended;
    pthread_mutex_unlock(&exec->lock);
    if (ended)
        return ALINEO_OK;
    alineo_error *ignored = NULL;
    (void)err; /* a link that is gone shows in what is read from it */
    (void)send_frame(self, exec, "cancel", FRAME_CANCEL, NULL, 0, &ignored);
    self->host->drop_error(self->host, ignored);
    return ALINEO_OK;
}

alineo_code remote_exec_signal(alineo_provider *self, alineo_provider_exec *exec, int32_t signal,
                               alineo_error **err) {
    pthread_mutex_lock(&exec->lock);
    bool ended = exec->ended;
    pthread_mutex_unlock(&exec->lock);
    if (ended)
        return self->host->fail(self->host, err, ALINEO_EXEC_NOT_FOUND, NULL,
                                "signal: the command has ended");
    unsigned char byte = (unsigned char)signal;
    return send_frame(self, exec, "signal", FRAME_SIGNAL, &byte, 1, err);
}

alineo_code remote_exec_write(alineo_provider *self, alineo_provider_exec *exec, const void *data,
                              size_t data_size, size_t *used, alineo_error **err) {
    size_t size = data_size < 32768 ? data_size : 32768;
    alineo_code code = send_frame(self, exec, "write", FRAME_STDIN, data, size, err);
    if (code == ALINEO_OK)
        *used = size;
    return code;
}

alineo_code remote_exec_close_stdin(alineo_provider *self, alineo_provider_exec *exec,
                                    alineo_error **err) {
    alineo_error *ignored = NULL;
    (void)err; /* a command that is gone has no stdin to close */
    (void)send_frame(self, exec, "close stdin", FRAME_STDIN_END, NULL, 0, &ignored);
    self->host->drop_error(self->host, ignored);
    return ALINEO_OK;
}

void remote_exec_free(alineo_provider *self, alineo_provider_exec *exec) {
    (void)self;
    if (exec == NULL)
        return;
    close(exec->fd);
    pthread_mutex_destroy(&exec->send_lock);
    pthread_mutex_destroy(&exec->lock);
    pthread_cond_destroy(&exec->known);
    al_buf_free(&exec->chunk.bytes);
    free(exec->detail);
    free(exec);
}
