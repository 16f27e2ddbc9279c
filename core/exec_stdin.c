/* SPDX-License-Identifier: Apache-2.0 */
/* The command's stdin. Bytes and a caller's descriptor are moved in the steps of whoever consumes
 * the exec; alineo_exec_write_stdin writes on the thread that calls it. */
#include "core/exec_private.h"

#include "core/thread.h"
#include "core/util/clock.h"
#include "core/util/io.h"

#include <errno.h>
#include <string.h>

enum {
    PIECE_SIZE = 64 * 1024,
    PIECES_A_STEP = 16, /* so that output is read in between */
    END_MS = 5000       /* in which a terminal takes the end of its input */
};

#define END_OF_FILE "\4\4"

alineo_code al_exec_input_init(al_exec_input *input, const alineo_exec_options *options,
                               alineo_error **err) {
    input->kind = options->stdin_kind;
    input->is_terminal = options->pty != 0;
    /* A terminal can always be typed into. */
    if (input->is_terminal && input->kind == ALINEO_STDIN_NONE)
        input->kind = ALINEO_STDIN_PIPE;
    input->secret = options->stdin_secret != 0;
    int rc = 0;
    if (input->kind == ALINEO_STDIN_BYTES) {
        al_buf_append(&input->pending, options->stdin_data, options->stdin_size);
        rc = input->pending.error;
    } else if (input->kind == ALINEO_STDIN_FD) {
        rc = options->stdin_fd < 0 ? EBADF
                                   : al_caller_fd_init(&input->source, options->stdin_fd, false);
        if (rc == EBADF)
            return al_fail(err, ALINEO_INVALID_ARGUMENT, "pass one that is open for reading",
                           "exec: stdin_fd is %d, which cannot be read", options->stdin_fd);
    } else if (input->kind == ALINEO_STDIN_PIPE) {
        rc = al_event_new(&input->wake_fd);
    }
    return rc == 0 ? ALINEO_OK : al_fail_errno(err, ALINEO_IO, rc, NULL, "exec: prepare stdin");
}

void al_exec_input_clear(al_exec_input *input) {
    al_caller_fd_end(&input->source);
    al_close(input->fd);
    al_close(input->wake_fd);
    if (input->secret)
        al_buf_wipe(&input->pending);
    else
        al_buf_free(&input->pending);
}

/* --- moved by the consumer -------------------------------------------------------------------- */

static void want(alineo_exec *exec, bool *armed, int fd, unsigned bit, bool on) {
    if (fd < 0 || *armed == on)
        return;
    *armed = on;
    if (!on)
        al_exec_disarm(exec, fd);
    else if (al_exec_arm(exec, fd, bit) != 0)
        al_exec_tick(exec, true); /* it cannot be watched: look now and then */
}

/* Waits for the source, for the command, or for neither. */
static void wait_for(alineo_exec *exec, unsigned bit) {
    al_exec_input *input = &exec->input;
    want(exec, &input->source_armed, input->source.fd, AL_READY_SOURCE, bit == AL_READY_SOURCE);
    want(exec, &input->fd_armed, input->fd, AL_READY_STDIN, bit == AL_READY_STDIN);
}

/* The end of the input, or nobody there who reads it. */
static void end_input(alineo_exec *exec) {
    al_exec_input *input = &exec->input;
    wait_for(exec, 0);
    al_close(al_steal_fd(&input->fd));
    input->source.fd = -1;
    if (input->secret)
        al_buf_wipe(&input->pending);
    else
        al_buf_free(&input->pending);
    input->offset = 0;
}

/* Reads ahead; 0, EAGAIN, or ENODATA at the end. */
static int fill(al_exec_input *input) {
    al_buf_clear(&input->pending);
    input->offset = 0;
    if (input->source.fd < 0)
        return ENODATA;
    char *room = al_buf_reserve(&input->pending, PIECE_SIZE);
    if (room == NULL)
        return EAGAIN; /* without memory: later */
    size_t used = 0;
    int rc = al_caller_fd_read(&input->source, room, PIECE_SIZE, &used);
    if (rc == EAGAIN)
        return EAGAIN;
    al_buf_commit(&input->pending, used);
    return rc == 0 && used > 0 ? 0 : ENODATA;
}

static size_t end_size(const al_exec_input *input) {
    return input->is_line_open ? 2 : 1;
}

/* A terminal has no end that could be closed: it is typed. */
static bool has_typed_end(al_exec_input *input) {
    if (!input->is_terminal || input->is_end_typed)
        return false;
    al_buf_append(&input->pending, END_OF_FILE, end_size(input));
    input->is_end_typed = true;
    return input->pending.error == 0;
}

static void note_written(al_exec_input *input, const char *data, size_t written) {
    if (written > 0)
        input->is_line_open = data[written - 1] != '\n';
}

/* Moves one piece; 0 when another may follow at once. */
static int move_piece(alineo_exec *exec) {
    al_exec_input *input = &exec->input;
    int rc = 0;
    if (input->offset == input->pending.size) {
        rc = fill(input);
        if (rc == ENODATA && has_typed_end(input))
            rc = 0;
        if (rc == EAGAIN)
            wait_for(exec, AL_READY_SOURCE);
        else if (rc == ENODATA)
            end_input(exec);
        if (rc != 0)
            return rc;
    }
    size_t written = 0;
    rc = al_write_some(input->fd, input->pending.data + input->offset,
                       input->pending.size - input->offset, &written);
    if (rc == 0) {
        note_written(input, input->pending.data + input->offset, written);
        input->offset += written;
    } else if (rc == EAGAIN)
        wait_for(exec, AL_READY_STDIN);
    else
        end_input(exec);
    return rc;
}

void al_exec_input_step(alineo_exec *exec, unsigned ready) {
    const unsigned wanted = AL_READY_STDIN | AL_READY_SOURCE | AL_READY_TICK;
    al_exec_input *input = &exec->input;
    if (input->kind != ALINEO_STDIN_BYTES && input->kind != ALINEO_STDIN_FD)
        return;
    if ((input->fd_armed || input->source_armed) && (ready & wanted) == 0)
        return;
    for (int i = 0; i < PIECES_A_STEP; i++)
        if (input->fd < 0 || move_piece(exec) != 0)
            return;
    wait_for(exec, AL_READY_STDIN);
}

alineo_code al_exec_input_open(alineo_exec *exec, int fd, alineo_error **err) {
    al_exec_input *input = &exec->input;
    if (input->kind == ALINEO_STDIN_NONE) {
        al_close(fd);
        return ALINEO_OK;
    }
    /* There is none when the program could not be started. */
    input->closed = fd < 0;
    if (fd < 0)
        return ALINEO_OK;
    input->fd = fd;
    int rc = al_fd_set_nonblock(fd, true);
    if (rc != 0)
        return al_fail_errno(err, ALINEO_IO, rc, NULL, "exec: prepare stdin");
    al_exec_input_step(exec, 0);
    return ALINEO_OK;
}

/* --- written by any thread -------------------------------------------------------------------- */

static void close_locked(al_exec_input *input) {
    input->closed = true;
    if (input->busy)
        al_event_signal(input->wake_fd); /* whoever writes closes it */
    else
        al_close(al_steal_fd(&input->fd));
    (void)pthread_cond_broadcast(&input->idle);
}

void al_exec_input_close(alineo_exec *exec) {
    al_exec_input *input = &exec->input;
    if (input->kind != ALINEO_STDIN_PIPE) {
        end_input(exec);
        return;
    }
    al_autolock(&input->lock);
    close_locked(input);
}

/* Waits for the other writers; 0, EPIPE (closed) or ETIMEDOUT. */
static int begin_write(al_exec_input *input, al_deadline deadline) {
    al_autolock(&input->lock);
    while (input->busy && !input->closed) {
        int rc;
        if (al_deadline_is_none(deadline)) {
            rc = pthread_cond_wait(&input->idle, &input->lock);
        } else {
            struct timespec at = {.tv_sec = deadline.at_ns / 1000000000,
                                  .tv_nsec = deadline.at_ns % 1000000000};
            rc = pthread_cond_timedwait(&input->idle, &input->lock, &at);
        }
        if (rc == ETIMEDOUT)
            return ETIMEDOUT;
    }
    if (input->closed)
        return EPIPE;
    input->busy = true;
    return 0;
}

static void end_write(al_exec_input *input) {
    al_autolock(&input->lock);
    input->busy = false;
    if (input->closed)
        al_close(al_steal_fd(&input->fd));
    (void)pthread_cond_broadcast(&input->idle);
}

/* Waits until the command takes more; 0, EPIPE (closed or ended) or ETIMEDOUT. */
static int wait_writable(alineo_exec *exec, al_deadline deadline) {
    struct pollfd fds[] = {{.fd = exec->input.fd, .events = POLLOUT},
                           {.fd = exec->input.wake_fd, .events = POLLIN},
                           {.fd = exec->status_quiet ? -1 : exec->status_fd, .events = POLLIN}};
    for (;;) {
        int count = poll(fds, AL_COUNT(fds), al_deadline_poll_ms(deadline));
        if (count < 0 && errno != EINTR)
            return errno;
        if (count > 0 && (fds[1].revents != 0 || fds[2].revents != 0))
            return EPIPE;
        if (count > 0)
            return 0;
        if (al_deadline_passed(deadline))
            return ETIMEDOUT;
    }
}

static int write_all(alineo_exec *exec, const char *data, size_t size, al_deadline deadline,
                     size_t *written) {
    while (*written < size) {
        size_t used = 0;
        int rc = al_write_some(exec->input.fd, data + *written, size - *written, &used);
        if (rc == EAGAIN)
            rc = wait_writable(exec, deadline);
        if (rc != 0)
            return rc;
        note_written(&exec->input, data + *written, used);
        *written += used;
    }
    return 0;
}

alineo_code alineo_exec_write_stdin(alineo_exec *exec, const void *data, size_t size,
                                    int64_t timeout_ms, size_t *written, alineo_error **err) {
    size_t done = 0;
    if (written != NULL)
        *written = 0;
    alineo_code code = al_exec_enter(exec, err);
    if (code != ALINEO_OK)
        return code;
    if (exec->input.kind != ALINEO_STDIN_PIPE || (data == NULL && size > 0))
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "start it with ALINEO_STDIN_PIPE",
                       "write to stdin: %s",
                       data == NULL ? "`data` is NULL" : "this command has no such stdin");

    al_deadline deadline = al_deadline_after_ms(timeout_ms);
    int rc = begin_write(&exec->input, deadline);
    if (rc == 0) {
        rc = write_all(exec, data, size, deadline, &done);
        end_write(&exec->input);
    }
    if (written != NULL)
        *written = done;
    if (rc == 0)
        return ALINEO_OK;
    if (rc == ETIMEDOUT)
        return al_fail(
            err, ALINEO_TIMEOUT, "call again with the rest",
            "write to stdin: the command read nothing for %lld ms; %zu of %zu bytes went "
            "in",
            (long long)timeout_ms, done, size);
    if (rc == EPIPE)
        return al_fail(err, ALINEO_IO, NULL,
                       "write to stdin: the command does not read any more; %zu of %zu bytes went "
                       "in",
                       done, size);
    return al_fail_errno(err, ALINEO_IO, rc, NULL, "write to stdin");
}

/* A command that has ended or does not read any more needs no end. */
static alineo_code type_end(alineo_exec *exec, alineo_error **err) {
    al_exec_input *input = &exec->input;
    al_deadline deadline = al_deadline_after_ms(END_MS);
    size_t done = 0;
    int rc = begin_write(input, deadline);
    if (rc == 0) {
        rc = write_all(exec, END_OF_FILE, end_size(input), deadline, &done);
        end_write(input);
    }
    if (rc == ETIMEDOUT)
        return al_fail(err, ALINEO_TIMEOUT, "call again",
                       "close stdin: the command reads nothing from its terminal");
    return ALINEO_OK;
}

alineo_code alineo_exec_close_stdin(alineo_exec *exec, alineo_error **err) {
    alineo_code code = al_exec_enter(exec, err);
    if (code != ALINEO_OK)
        return code;
    if (exec->input.kind == ALINEO_STDIN_BYTES || exec->input.kind == ALINEO_STDIN_FD)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "it ends by itself, with the input",
                       "close stdin: this command's is not written by the caller");
    if (exec->input.is_terminal) {
        code = type_end(exec, err);
        if (code != ALINEO_OK)
            return code;
    }
    if (exec->input.kind == ALINEO_STDIN_PIPE) {
        al_autolock(&exec->input.lock);
        if (!exec->input.closed)
            close_locked(&exec->input);
    }
    return ALINEO_OK;
}
