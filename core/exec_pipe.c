/* SPDX-License-Identifier: Apache-2.0 */
/* Output straight to the caller's descriptors. */
#include "core/exec_private.h"

#include "core/util/clock.h"
#include "core/util/io.h"

#include <errno.h>

enum {
    CANCELLED_STALL_MS = 1000 /* so long a reader that stopped is waited for after a cancel */
};

static alineo_code open_sink(al_caller_fd *sink, const char *name, int fd, alineo_error **err) {
    int rc = al_caller_fd_init(sink, fd, true);
    if (rc == 0)
        return ALINEO_OK;
    return al_fail_errno(err, ALINEO_INVALID_ARGUMENT, rc,
                         "pass one that is open for writing, or -1", "pipe: %s is %d", name, fd);
}

/* Waits until the sink takes more. The reader's pace is the command's: for as long as it wants, but
 * not once the command was cancelled. 0, or the errno value to give up with. */
static int wait_for_sink(const alineo_exec *exec, const al_caller_fd *sink) {
    al_deadline stalled = AL_DEADLINE_NONE;
    for (;;) {
        int rc = al_poll_fd(sink->fd, POLLOUT, al_deadline_after_ms(AL_EXEC_TICK_MS), NULL);
        if (rc != ETIMEDOUT)
            return rc;
        if (!exec->cancelled && !exec->closing)
            continue;
        if (al_deadline_is_none(stalled))
            stalled = al_deadline_after_ms(CANCELLED_STALL_MS);
        if (al_deadline_passed(stalled))
            return ETIMEDOUT;
    }
}

static int write_chunk(const alineo_exec *exec, al_caller_fd *sink, const al_exec_chunk *chunk) {
    size_t done = 0;
    while (done < chunk->size) {
        size_t used = 0;
        int rc = al_caller_fd_write(sink, chunk->data + done, chunk->size - done, &used);
        if (rc == EAGAIN)
            rc = wait_for_sink(exec, sink);
        if (rc != 0)
            return rc;
        done += used;
    }
    return 0;
}

/* A sink that failed is written to no more; the command is read on. */
static void deliver(alineo_exec *exec, al_caller_fd *sink, const al_exec_chunk *chunk) {
    if (sink->fd < 0)
        return;
    int rc = write_chunk(exec, sink, chunk);
    if (rc == 0)
        return;
    sink->fd = -1;
    if (exec->sink_error == 0)
        exec->sink_error = rc;
}

static al_step move_all(alineo_exec *exec, al_caller_fd sinks[2], alineo_error **err) {
    al_exec_chunk chunk;
    for (;;) {
        al_step step = al_exec_step(exec, -1, &chunk, err);
        if (step == AL_STEP_CHUNK)
            deliver(exec, &sinks[chunk.stream - exec->streams], &chunk);
        else if (step != AL_STEP_IDLE)
            return step;
    }
}

alineo_code alineo_exec_pipe(alineo_exec *exec, int out_fd, int err_fd, alineo_exec_result *result,
                             alineo_error **err) {
    al_caller_fd sinks[2] = {{.own = -1}, {.own = -1}};
    alineo_code code = al_exec_enter(exec, err);
    if (code == ALINEO_OK)
        code = open_sink(&sinks[0], "out_fd", out_fd, err);
    if (code == ALINEO_OK)
        code = open_sink(&sinks[1], "err_fd", err_fd, err);
    if (code != ALINEO_OK) {
        al_caller_fd_end(&sinks[0]);
        return code;
    }

    al_sigpipe sigpipe;
    al_sigpipe_block(&sigpipe);
    al_step step = move_all(exec, sinks, err);
    al_sigpipe_restore(&sigpipe);
    al_caller_fd_end(&sinks[0]);
    al_caller_fd_end(&sinks[1]);
    return al_exec_answer(exec, step, result, err);
}
