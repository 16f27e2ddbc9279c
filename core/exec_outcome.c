/* SPDX-License-Identifier: Apache-2.0 */
/* How the command ended, and telling the ledger. */
#include "core/exec_private.h"

#include "core/lossy_text.h"
#include "core/util/clock.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    DETAIL_SIZE_MAX = 4096
};

void al_exec_status_arm(alineo_exec *exec, bool on) {
    if (exec->status_fd < 0 || exec->status_armed == on)
        return;
    if (!on)
        al_exec_disarm(exec, exec->status_fd);
    else if (al_exec_arm(exec, exec->status_fd, AL_READY_STATUS) != 0)
        return; /* no memory: the ticks look instead */
    exec->status_armed = on;
}

static void set_detail(alineo_exec *exec, const char *text) {
    al_auto(al_buf_free) al_buf detail = AL_BUF_INIT;
    if (text == NULL || text[0] == '\0')
        return;
    al_lossy_append(&detail, text, strlen(text), DETAIL_SIZE_MAX);
    free(exec->detail);
    exec->detail = al_buf_steal(&detail, NULL); /* without memory there is none */
    exec->result.detail = exec->detail;
}

/* From here on only what is in the pipes is read. */
static void begin_draining(alineo_exec *exec) {
    exec->result.duration_ms = (al_clock_monotonic_ns() - exec->started_ns) / 1000000;
    exec->phase = AL_EXEC_DRAINING;
    al_exec_input_close(exec);
    al_exec_streams_mark_end(exec);
    if (al_exec_pump_reads(exec->pump)) {
        exec->drain_end_ns = al_deadline_after_ms(AL_EXEC_END_GRACE_MS).at_ns;
        al_exec_status_arm(exec, false);
        al_exec_tick(exec, true);
    } else if (exec->held.size > 0) {
        al_exec_status_arm(exec, false);
    }
}

static void set_outcome(alineo_exec *exec, alineo_outcome outcome, int32_t exit_code,
                        int32_t signal_number) {
    exec->result.outcome = outcome;
    exec->result.exit_code = exit_code;
    exec->result.signal = signal_number;
}

void al_exec_outcome_lose(alineo_exec *exec, const char *detail) {
    if (exec->closing) {
        set_outcome(exec, ALINEO_OUTCOME_CANCELLED, -1, 0);
        set_detail(exec, "the sandbox was closed");
    } else {
        set_outcome(exec, ALINEO_OUTCOME_LOST, -1, 0);
        set_detail(exec, detail);
    }
    if (exec->phase == AL_EXEC_RUNNING)
        begin_draining(exec);
}

/* What the end of the sandbox does to a command is not how the command ended. */
static bool was_closed(const alineo_exec *exec, const alineo_exec_status *status) {
    return exec->closing && status->outcome == ALINEO_OUTCOME_SIGNALLED &&
           status->signal == SIGKILL;
}

static void take_status(alineo_exec *exec, const alineo_exec_status *status) {
    exec->may_still_run = status->may_still_run;
    exec->result.oom = status->oom != 0;
    set_detail(exec, status->detail);
    switch (status->outcome) {
    case ALINEO_OUTCOME_EXITED:
        set_outcome(exec, ALINEO_OUTCOME_EXITED, status->exit_code & 255, 0);
        break;
    case ALINEO_OUTCOME_SIGNALLED:
        if (was_closed(exec, status))
            set_outcome(exec, ALINEO_OUTCOME_CANCELLED, -1, 0);
        else
            set_outcome(exec, ALINEO_OUTCOME_SIGNALLED, 128 + status->signal, status->signal);
        break;
    case ALINEO_OUTCOME_TIMED_OUT:
        set_outcome(exec, ALINEO_OUTCOME_TIMED_OUT, 124, 0);
        break;
    case ALINEO_OUTCOME_CANCELLED:
        /* Ended by the backstop, because the provider let its own timeout pass. */
        if (exec->timed_out && !exec->cancelled && !exec->closing)
            set_outcome(exec, ALINEO_OUTCOME_TIMED_OUT, 124, 0);
        else
            set_outcome(exec, ALINEO_OUTCOME_CANCELLED, -1, 0);
        break;
    default:
        al_exec_outcome_lose(exec, status->detail != NULL ? status->detail
                                                          : "the link to the command broke");
        return;
    }
    begin_draining(exec);
}

void al_exec_look_by_clock(alineo_exec *exec) {
    exec->status_quiet = true;
    al_exec_tick(exec, true);
}

void al_exec_outcome_look(alineo_exec *exec) {
    const al_provider_binding *provider = exec->sandbox->client->provider;
    alineo_exec_status status = ALINEO_EXEC_STATUS_INIT;
    alineo_error *error = NULL;
    alineo_code code;
    if (al_exec_pump_waits(exec->pump)) {
        code = al_exec_pump_status(exec->pump, &status, &error);
    } else {
        code = provider->table->exec_wait(provider->self, exec->link->handle, 0, &status, &error);
        code = al_from_plugin(code, provider->plugin, "exec_wait", &error);
    }
    if (code == ALINEO_TIMEOUT) {
        /* It told too early. Its descriptor would wake us all the time: ask by the clock. */
        bool was_believed = !exec->status_quiet;
        al_exec_status_arm(exec, false);
        al_exec_look_by_clock(exec);
        /* A cancel did nothing then, since it seemed to have ended. */
        if (was_believed && exec->cancelled)
            al_exec_end_or_lose(exec);
    } else if (code == ALINEO_OK) {
        take_status(exec, &status);
    } else {
        al_exec_outcome_lose(exec, alineo_error_message(error));
    }
    provider->host->free(provider->host, status.detail);
    alineo_error_free(error);
}

/* A pump whose ends do not come: the provider does not keep to its word. */
static bool waits_for_pump(alineo_exec *exec) {
    if (al_clock_monotonic_ns() < exec->drain_end_ns)
        return true;
    exec->is_cut = true;
    al_exec_streams_give_up(exec);
    return false;
}

bool al_exec_outcome_drained(alineo_exec *exec) {
    if (al_exec_streams_drained(exec))
        return true;
    return al_exec_pump_reads(exec->pump) && !waits_for_pump(exec);
}

/* An outcome beside output that went astray would say too much. */
static void judge_output(alineo_exec *exec) {
    const char *failure = al_exec_pump_failure(exec->pump);
    if (failure == NULL && exec->is_cut)
        failure = "the output could not be read to its end";
    bool ended_by_itself = exec->result.outcome == ALINEO_OUTCOME_EXITED ||
                           exec->result.outcome == ALINEO_OUTCOME_SIGNALLED;
    if (failure != NULL && ended_by_itself)
        al_exec_outcome_lose(exec, failure);
}

/* --- storing it ------------------------------------------------------------------------------- */

static void let_go(alineo_exec *exec) {
    al_exec_status_arm(exec, false);
    if (exec->watching)
        al_sandbox_unwatch(exec->sandbox, &exec->watcher);
    exec->watching = false;
    al_exec_link *link;
    {
        al_autolock(&exec->lock);
        link = AL_STEAL(exec->link);
    }
    al_exec_tick(exec, false);
    al_exec_link_drop(link);
}

alineo_code al_exec_finish(alineo_exec *exec, alineo_error **err) {
    exec->result.stdout_bytes = exec->streams[0].bytes;
    exec->result.stderr_bytes = exec->streams[1].bytes;
    if (!exec->finished)
        judge_output(exec);
    al_exec_streams_finish(exec);
    if (exec->recorded) {
        alineo_code code = al_exec_record_end(exec, &exec->ticket, err);
        if (code != ALINEO_OK)
            return code;
    }
    exec->phase = AL_EXEC_STORING;
    exec->overdue_ns = 0;
    let_go(exec);
    if (!exec->recorded) {
        exec->phase = AL_EXEC_DONE;
        return ALINEO_OK;
    }
    al_hooks_exec_complete(&exec->sandbox->hooks, exec->sandbox->state->id, exec->result.seq,
                           &exec->result);
    if (al_journal_watch(exec->sandbox->client->journal, exec->ticket, exec->wake_fd, NULL) !=
        ALINEO_OK)
        al_exec_tick(exec, true);
    return ALINEO_OK;
}

al_step al_exec_stored(alineo_exec *exec) {
    if (exec->phase == AL_EXEC_DONE)
        return AL_STEP_DONE;
    switch (al_journal_state(exec->sandbox->client->journal, exec->ticket)) {
    case AL_TICKET_STORED:
        exec->result.ledger_code = ALINEO_OK;
        exec->phase = AL_EXEC_DONE;
        al_exec_tick(exec, false);
        return AL_STEP_DONE;
    case AL_TICKET_QUEUED:
        return AL_STEP_IDLE;
    default:
        return al_exec_report_overdue(exec);
    }
}

/* Once in each patience: a caller that comes again at once waits as long as the first time. */
al_step al_exec_report_overdue(alineo_exec *exec) {
    int64_t now = al_clock_monotonic_ns();
    int64_t patience_ms = al_journal_patience_ms(exec->sandbox->client->journal);
    exec->result.ledger_code = ALINEO_STORAGE_UNAVAILABLE;
    al_exec_tick(exec, true);
    if (exec->overdue_ns != 0 && now - exec->overdue_ns < patience_ms * 1000000)
        return AL_STEP_IDLE;
    exec->overdue_ns = now;
    return AL_STEP_OVERDUE;
}
