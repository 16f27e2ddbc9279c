/* SPDX-License-Identifier: Apache-2.0 */
/* Consuming an exec piece by piece, or to its end. */
#include "core/exec_private.h"

#include "core/util/clock.h"

const char *alineo_exec_id(const alineo_exec *exec) {
    return exec->id;
}

int32_t alineo_exec_seq(const alineo_exec *exec) {
    return exec->result.seq;
}

int alineo_exec_poll_fd(const alineo_exec *exec) {
    return exec->epoll_fd;
}

alineo_code al_exec_enter(const alineo_exec *exec, alineo_error **err) {
    if (exec == NULL)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "see why it was not started",
                       "the exec is NULL");
    return al_client_enter(exec->sandbox->client, err);
}

/* Tells the end, once. */
static void give_end(alineo_exec *exec, alineo_exec_event *event) {
    if (exec->exit_given)
        return;
    exec->exit_given = true;
    event->type = ALINEO_EXEC_EXIT;
    event->result = &exec->result;
}

alineo_code alineo_exec_next(alineo_exec *exec, int64_t timeout_ms, alineo_exec_event *out,
                             alineo_error **err) {
    alineo_code code = al_exec_enter(exec, err);
    if (code != ALINEO_OK)
        return code;
    alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
    al_deadline deadline = al_deadline_after_ms(timeout_ms);
    al_exec_chunk chunk;
    al_step step;
    do {
        step = al_exec_step(exec, al_deadline_poll_ms(deadline), &chunk, err);
    } while (step == AL_STEP_IDLE && !al_deadline_passed(deadline));

    if (step == AL_STEP_FAILED)
        return exec->failed_code;
    if (step == AL_STEP_OVERDUE)
        return al_exec_fail_storage(exec, err);
    if (step == AL_STEP_DONE) {
        give_end(exec, &event);
    } else if (step == AL_STEP_CHUNK) {
        event.type = chunk.stream->type;
        event.data = chunk.data;
        event.data_size = chunk.size;
    }
    al_exec_give(out, &event, sizeof(event));
    return ALINEO_OK;
}

alineo_code alineo_exec_wait(alineo_exec *exec, alineo_exec_result *result, alineo_error **err) {
    alineo_code code = al_exec_enter(exec, err);
    if (code != ALINEO_OK)
        return code;
    al_exec_chunk chunk;
    al_step step;
    do {
        step = al_exec_step(exec, -1, &chunk, err);
    } while (step == AL_STEP_IDLE || step == AL_STEP_CHUNK);
    return al_exec_answer(exec, step, result, err);
}
