/* SPDX-License-Identifier: Apache-2.0 */
/* The one step that every way of consuming an exec is made of. */
#include "core/exec_private.h"

#include "core/util/clock.h"

/* Storage has no room for the chunk in hand: read no more until it has. */
static void hold(alineo_exec *exec, al_room room) {
    al_exec_streams_arm(exec, false);
    /* It stays readable from now on; the journal is what is waited for. */
    if (exec->phase == AL_EXEC_DRAINING)
        al_exec_status_arm(exec, false);
    /* Past the patience the journal would call at once, and again: look now and then. */
    if (room != AL_ROOM_FULL ||
        al_journal_watch_room(exec->sandbox->client->journal, exec->wake_fd, NULL) != ALINEO_OK)
        al_exec_tick(exec, true);
}

static void release(alineo_exec *exec) {
    exec->held.size = 0;
    exec->overdue_ns = 0;
    exec->result.ledger_code = ALINEO_OK;
    al_exec_tick(exec, exec->status_quiet);
    al_exec_streams_arm(exec, true);
    al_exec_status_arm(exec, true);
}

/* Offers the held chunk to the journal again; AL_STEP_DONE when it was taken. */
static al_step place_held(alineo_exec *exec, alineo_error **err) {
    al_room room = al_journal_chunk(exec->held.stream->journal, exec->held.data, exec->held.size);
    if (room == AL_ROOM_TAKEN) {
        release(exec);
        return AL_STEP_DONE;
    }
    if (room == AL_ROOM_NO_MEMORY) {
        exec->failed_code = al_fail_memory(err);
        return AL_STEP_FAILED;
    }
    hold(exec, room);
    return room == AL_ROOM_FULL ? AL_STEP_IDLE : al_exec_report_overdue(exec);
}

/* Output, if there is some: to the journal first, to the reader in any case. */
static al_step read_chunk(alineo_exec *exec, unsigned ready, al_exec_chunk *chunk) {
    if (!al_exec_streams_read(exec, ready, chunk))
        return AL_STEP_IDLE;
    al_room room = chunk->stream->journal == NULL
                       ? AL_ROOM_TAKEN
                       : al_journal_chunk(chunk->stream->journal, chunk->data, chunk->size);
    if (room != AL_ROOM_TAKEN) {
        exec->held = *chunk;
        hold(exec, room);
    }
    return AL_STEP_CHUNK;
}

/* What does not wait for a descriptor: a sandbox that is being closed, and time that is up. */
static void look_at_clock(alineo_exec *exec) {
    int64_t now = al_clock_monotonic_ns();
    int64_t closing_ns = exec->closing_ns;
    if (closing_ns != 0 && exec->lost_ns == 0) {
        al_exec_tick(exec, true);
        if (now - closing_ns >= (int64_t)AL_EXEC_CLOSING_GRACE_MS * 1000000)
            al_exec_end_or_lose(exec);
    }
    int64_t lost_ns = exec->lost_ns;
    if (lost_ns != 0 && now >= lost_ns)
        al_exec_outcome_lose(exec, "the provider did not say how the command ended");
}

static void step_running(alineo_exec *exec, unsigned ready) {
    al_exec_input_step(exec, ready);
    if ((ready & AL_READY_STATUS) != 0 || exec->status_quiet)
        al_exec_outcome_look(exec);
    if (exec->phase == AL_EXEC_RUNNING && (ready & (AL_READY_WAKE | AL_READY_TICK)) != 0)
        look_at_clock(exec);
}

al_step al_exec_step(alineo_exec *exec, int timeout_ms, al_exec_chunk *chunk, alineo_error **err) {
    if (exec->phase == AL_EXEC_DONE)
        return AL_STEP_DONE;
    unsigned ready = al_exec_events_wait(exec, timeout_ms);
    if (exec->phase == AL_EXEC_RUNNING)
        step_running(exec, ready);
    if (exec->phase == AL_EXEC_STORING)
        return al_exec_stored(exec);

    if (exec->held.size > 0) {
        al_step placed = place_held(exec, err);
        if (placed != AL_STEP_DONE)
            return placed;
    }
    al_step step = read_chunk(exec, ready, chunk);
    if (step == AL_STEP_CHUNK || exec->phase == AL_EXEC_RUNNING || !al_exec_outcome_drained(exec))
        return step;
    exec->failed_code = al_exec_finish(exec, err);
    return exec->failed_code == ALINEO_OK ? al_exec_stored(exec) : AL_STEP_FAILED;
}
