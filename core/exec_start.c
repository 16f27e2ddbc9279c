/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a command: checked, then recorded, then asked of the provider; in this order, so that a
 * crash leaves "started, outcome unknown" and never a command that nobody knows of. */
#include "core/exec_private.h"

#include "core/call_private.h"
#include "core/thread.h"
#include "core/util/clock.h"
#include "core/util/io.h"
#include "core/util/random.h"

#include <string.h>

enum {
    CONFLICTS_MAX = 1000
};

/* Whatever fails, the exec can be freed. */
static alineo_code prepare(alineo_exec *exec, const al_exec_plan *plan, alineo_error **err) {
    exec->strict = plan->options.strict != ALINEO_NO;
    exec->is_terminal = plan->options.pty != 0;
    exec->is_background = plan->options.background != 0;
    exec->timeout_ms = plan->options.timeout_ms;
    exec->command = al_exec_plan_shown(plan);
    if (exec->command == NULL)
        return al_fail_memory(err);
    int rc = al_random_id(exec->id, AL_EXEC_ID_SIZE - 1);
    if (rc != 0)
        return al_fail_errno(err, ALINEO_IO, rc, NULL, "exec: make an id");
    exec->link = al_exec_link_new(exec->sandbox);
    if (exec->link == NULL)
        return al_fail_memory(err);
    alineo_code code = al_exec_input_init(&exec->input, &plan->options, err);
    if (code == ALINEO_OK)
        code = al_exec_events_init(exec, err);
    if (code == ALINEO_OK)
        code = al_exec_streams_init(exec, err);
    exec->watcher.closing = al_exec_closing;
    if (code == ALINEO_OK)
        code = al_sandbox_watch(exec->sandbox, &exec->watcher, err);
    exec->watching = code == ALINEO_OK;
    return code;
}

/* --- recording -------------------------------------------------------------------------------- */

static int32_t note_last_step(void *user, const alineo_session *session) {
    *(int32_t *)user = session->last_step;
    return 0;
}

/* Another process took the number: go on behind its last. */
static void learn_seq(alineo_sandbox *sandbox) {
    const al_storage_binding *storage = sandbox->client->storage;
    int32_t last = 0;
    alineo_error *failure = NULL;
    alineo_code code = storage->table->session_get(storage->self, NULL, sandbox->state->id,
                                                   note_last_step, &last, &failure);
    code = al_from_plugin(code, storage->plugin, "session_get", &failure);
    alineo_error_free(failure);
    al_autolock(&sandbox->state->lock);
    if (code == ALINEO_OK && last > sandbox->state->last_seq)
        sandbox->state->last_seq = last;
}

/* Stores exec_start under a number that is nobody else's. */
static alineo_code record_start(alineo_exec *exec, const al_exec_plan *plan, alineo_error **err) {
    for (int i = 0; i < CONFLICTS_MAX; i++) {
        exec->result.seq = al_sandbox_next_seq(exec->sandbox);
        al_ticket ticket;
        alineo_code code = al_exec_record_start(exec, plan, &ticket, err);
        if (code != ALINEO_OK)
            return code;
        alineo_error *failure = NULL;
        code =
            al_journal_wait(exec->sandbox->client->journal, ticket, plan->options.call, &failure);
        if (code == ALINEO_OK)
            return code;
        if (code != ALINEO_CONFLICT) {
            /* It is queued still, and will be stored some time: so must be that nothing ran. */
            al_exec_record_not_started(exec, failure);
            return al_error_give(&failure, err);
        }
        alineo_error_free(failure);
        learn_seq(exec->sandbox);
    }
    return al_fail(err, ALINEO_CONFLICT, "see what else runs commands in this sandbox",
                   "exec: no number for the command could be had in %d tries", CONFLICTS_MAX);
}

/* --- asking the provider ---------------------------------------------------------------------- */

static alineo_code ask_provider(alineo_exec *exec, const al_exec_plan *plan, alineo_exec_io *io,
                                alineo_error **err) {
    const al_provider_binding *provider = exec->sandbox->client->provider;
    const alineo_exec_options *options = &plan->options;
    alineo_exec_request request = {
        .size = sizeof(request),
        .exec_id = exec->id,
        .argv = plan->argv,
        .script = plan->script.size > 0 ? plan->script.data : NULL,
        .script_size = plan->script.size,
        .cwd = options->cwd,
        .env = options->env,
        .user = options->user,
        .timeout_ms = options->timeout_ms,
        .want_stdin = exec->input.kind != ALINEO_STDIN_NONE,
        .want_pty = options->pty != 0,
        .rows = options->rows,
        .columns = options->columns,
        .background = options->background != 0,
        .output_limit = options->output_limit,
        .call = options->call,
    };
    exec->result.started_at_ms = al_clock_realtime_ms();
    exec->started_ns = al_clock_monotonic_ns();
    alineo_error *failure = NULL;
    alineo_code code = provider->table->exec_start(provider->self, exec->sandbox->state->id,
                                                   &request, io, &failure);
    code = al_from_plugin(code, provider->plugin, "exec_start", &failure);
    if (code == ALINEO_OK && io->exec == NULL)
        code = al_fail(&failure, ALINEO_INTERNAL, "tell its author",
                       "provider %s said that the command started, and gave no exec", provider->id);
    if (code == ALINEO_OK)
        exec->link->handle = io->exec;
    return al_error_give(&failure, err);
}

/* What is read from a terminal and what is typed into it go by one descriptor. */
static alineo_code split_terminal(alineo_exec_io *io, alineo_error **err) {
    if (io->pty_fd < 0 || io->stdin_fd >= 0)
        return ALINEO_OK;
    int rc = al_fd_dup(io->pty_fd, &io->stdin_fd);
    return rc == 0 ? ALINEO_OK : al_fail_errno(err, ALINEO_IO, rc, NULL, "exec: prepare stdin");
}

/* The command runs; from here on a failure ends it again. */
static alineo_code take_io(alineo_exec *exec, alineo_exec_io *io, alineo_error **err) {
    bool want_stdin = exec->input.kind != ALINEO_STDIN_NONE;
    alineo_code code = exec->is_terminal ? split_terminal(io, err) : ALINEO_OK;
    if (code == ALINEO_OK)
        code = al_exec_pump_start(exec->link, io, want_stdin, &exec->pump, err);
    exec->status_fd = al_steal_fd(&io->status_fd);
    if (code == ALINEO_OK)
        code = al_exec_streams_open(exec, io, err);
    if (code == ALINEO_OK)
        code = al_exec_input_open(exec, al_steal_fd(&io->stdin_fd), err);
    if (code == ALINEO_OK)
        code = al_exec_backstop_start(exec, err);
    al_exec_status_arm(exec, true);
    if (!exec->status_armed)
        al_exec_look_by_clock(exec);
    int rest[] = {io->stdin_fd, io->stdout_fd, io->stderr_fd, io->pty_fd};
    for (size_t i = 0; i < AL_COUNT(rest); i++)
        al_close(rest[i]);
    return code;
}

static alineo_code start(alineo_exec *exec, const al_exec_plan *plan, alineo_error **err) {
    alineo_exec_io io = ALINEO_EXEC_IO_INIT;
    alineo_error *failure = NULL;
    alineo_code code = al_exec_streams_record(exec, &failure);
    if (code == ALINEO_OK)
        code = al_call_check(plan->options.call, "start the command", &failure);
    if (code == ALINEO_OK)
        code = ask_provider(exec, plan, &io, &failure);
    if (code != ALINEO_OK) {
        if (exec->recorded)
            al_exec_record_not_started(exec, failure);
        return al_error_give(&failure, err);
    }
    exec->phase = AL_EXEC_RUNNING;
    return take_io(exec, &io, err);
}

/* --- the handle ------------------------------------------------------------------------------- */

static void end_locks(alineo_exec *exec) {
    (void)pthread_cond_destroy(&exec->input.idle);
    (void)pthread_mutex_destroy(&exec->input.lock);
    (void)pthread_mutex_destroy(&exec->lock);
}

static alineo_exec *exec_new(alineo_sandbox *sandbox) {
    alineo_exec *exec = calloc(1, sizeof(*exec));
    if (exec == NULL)
        return NULL;
    if (pthread_mutex_init(&exec->lock, NULL) != 0)
        goto no_lock;
    if (pthread_mutex_init(&exec->input.lock, NULL) != 0)
        goto no_input_lock;
    if (al_condition_init(&exec->input.idle) != 0)
        goto no_condition;
    exec->epoll_fd = exec->wake_fd = exec->timer_fd = exec->status_fd = -1;
    exec->streams[0].fd = exec->streams[1].fd = -1;
    exec->input.fd = exec->input.wake_fd = exec->input.source.fd = exec->input.source.own = -1;
    exec->result = (alineo_exec_result)ALINEO_EXEC_RESULT_INIT;
    exec->sandbox = sandbox;
    al_sandbox_ref(sandbox);
    return exec;

no_condition:
    (void)pthread_mutex_destroy(&exec->input.lock);
no_input_lock:
    (void)pthread_mutex_destroy(&exec->lock);
no_lock:
    free(exec);
    return NULL;
}

/* Frees what is ended, or was never started. `forked`: no lock is touched and nobody is called. */
static void exec_destroy(alineo_exec *exec, bool forked) {
    if (!forked) {
        al_exec_backstop_stop(exec);
        if (exec->watching)
            al_sandbox_unwatch(exec->sandbox, &exec->watcher);
        if (exec->recorded && exec->wake_fd >= 0)
            al_journal_unwatch(exec->sandbox->client->journal, exec->wake_fd);
    }
    al_exec_input_clear(&exec->input);
    al_exec_streams_clear(exec, forked);
    al_close(exec->status_fd);
    if (forked) {
        al_exec_pump_forget(exec->pump, exec->link == NULL);
        al_exec_link_forget(exec->link);
    } else {
        al_exec_pump_free(exec->pump, AL_EXEC_END_GRACE_MS);
        al_exec_link_drop(exec->link);
        end_locks(exec);
    }
    al_close(exec->timer_fd);
    al_close(exec->wake_fd);
    al_close(exec->epoll_fd);
    free(exec->command);
    free(exec->detail);
    for (size_t i = 0; i < AL_COUNT(exec->collected); i++)
        al_buf_free(&exec->collected[i]);
    al_sandbox_unref(exec->sandbox);
    free(exec);
}

/* Sees the command to its end, as far as that can be had in the time, and puts it in the ledger. */
static void end_running(alineo_exec *exec) {
    al_deadline deadline = al_deadline_after_ms(AL_EXEC_FREE_GRACE_MS);
    if (exec->is_attached && exec->phase < AL_EXEC_STORING) {
        al_exec_outcome_lose(exec, "detached");
        al_exec_streams_give_up(exec);
        (void)al_exec_finish(exec, NULL);
        return;
    }
    if (exec->phase == AL_EXEC_RUNNING) {
        atomic_store(&exec->cancelled, 1);
        (void)al_exec_end_command(exec, NULL);
    }
    while (exec->phase < AL_EXEC_STORING && !al_deadline_passed(deadline)) {
        al_exec_chunk chunk;
        if (al_exec_step(exec, al_deadline_poll_ms(deadline), &chunk, NULL) == AL_STEP_FAILED)
            break;
    }
    if (exec->phase == AL_EXEC_RUNNING)
        al_exec_outcome_lose(exec, "the handle was freed before the provider said how it ended");
    if (exec->phase == AL_EXEC_DRAINING) {
        al_exec_streams_give_up(exec);
        (void)al_exec_finish(exec, NULL);
    }
}

void alineo_exec_free(alineo_exec *exec) {
    if (exec == NULL)
        return;
    bool forked = al_client_is_forked(exec->sandbox->client);
    if (!forked)
        end_running(exec);
    exec_destroy(exec, forked);
}

alineo_code al_exec_new(alineo_sandbox *sandbox, const al_exec_plan *plan, alineo_exec **out,
                        alineo_error **err) {
    alineo_exec *exec = exec_new(sandbox);
    if (exec == NULL)
        return al_fail_memory(err);
    exec->phase = AL_EXEC_DONE; /* until it runs there is nothing to end */
    alineo_code code = prepare(exec, plan, err);
    if (code == ALINEO_OK)
        *out = exec;
    else
        alineo_exec_free(exec);
    return code;
}

alineo_code al_exec_take(alineo_exec *exec, alineo_exec_io *io, alineo_error **err) {
    exec->link->handle = io->exec;
    exec->phase = AL_EXEC_RUNNING;
    return take_io(exec, io, err);
}

alineo_code al_exec_open(alineo_sandbox *sandbox, const char *command,
                         const alineo_exec_options *options, bool recorded, alineo_exec **out,
                         alineo_error **err) {
    al_exec_plan plan;
    alineo_code code = al_exec_plan_make(sandbox, command, options, &plan, err);
    if (code == ALINEO_OK)
        code = al_exec_plan_require(sandbox, &plan, err);
    alineo_exec *exec = code == ALINEO_OK ? exec_new(sandbox) : NULL;
    if (code == ALINEO_OK && exec == NULL)
        code = al_fail_memory(err);
    if (code != ALINEO_OK) {
        al_exec_plan_clear(&plan);
        return code;
    }
    exec->phase = AL_EXEC_DONE; /* until it runs there is nothing to end */
    exec->recorded = recorded;
    code = prepare(exec, &plan, err);
    if (code == ALINEO_OK && recorded)
        code = record_start(exec, &plan, err);
    if (code == ALINEO_OK && recorded)
        al_hooks_exec_start(&sandbox->hooks, sandbox->state->id, exec->result.seq,
                            command != NULL ? command : exec->command);
    if (code == ALINEO_OK)
        code = start(exec, &plan, err);
    al_exec_plan_clear(&plan);
    if (code == ALINEO_OK) {
        *out = exec;
        return code;
    }
    al_error_set_sandbox(err, sandbox->state->id);
    if (recorded)
        al_error_set_command(err, exec->command, -1);
    al_error_set_provider(err, sandbox->client->provider->id);
    alineo_exec_free(exec);
    return code;
}

alineo_code alineo_sandbox_exec(alineo_sandbox *sandbox, const char *command,
                                const alineo_exec_options *options, alineo_exec **out,
                                alineo_error **err) {
    alineo_code code = al_sandbox_enter(sandbox, err);
    if (code != ALINEO_OK)
        return code;
    if (out == NULL)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "exec: `out` is NULL");
    return al_exec_open(sandbox, command, options, true, out, err);
}
