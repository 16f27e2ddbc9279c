/* SPDX-License-Identifier: Apache-2.0 */
/* Ending a command from outside: by the caller, by the close of its sandbox, by its timeout. */
#include "core/exec_private.h"

#include "core/call_private.h"
#include "core/provider_calls.h"
#include "core/util/clock.h"
#include "core/util/io.h"

/* By then the outcome is there, or it is lost. */
static void expect_end(alineo_exec *exec) {
    long long none = 0;
    long long at_ns = al_deadline_after_ms(AL_EXEC_END_GRACE_MS).at_ns;
    if (atomic_compare_exchange_strong(&exec->lost_ns, &none, at_ns))
        al_exec_tick_to_the_end(exec);
}

/* Whether the outcome is there already, read or not. */
static bool has_ended(const alineo_exec *exec) {
    return exec->status_fd >= 0 && !exec->status_quiet &&
           al_poll_fd(exec->status_fd, POLLIN, al_deadline_after_ms(0), NULL) == 0;
}

static alineo_code cancel_by_provider(alineo_exec *exec, al_exec_link *link, alineo_error **err) {
    const al_provider_binding *provider = al_exec_link_provider(link);
    alineo_error *failure = NULL;
    alineo_code code = provider->table->exec_cancel(provider->self, link->handle, &failure);
    code = al_from_plugin(code, provider->plugin, "exec_cancel", &failure);
    if (code == ALINEO_OK || code == ALINEO_SANDBOX_NOT_FOUND || code == ALINEO_EXEC_NOT_FOUND) {
        alineo_error_free(failure);
        expect_end(exec);
        return ALINEO_OK;
    }
    (void)al_wrap(&failure, "cancel the command");
    al_error_set_sandbox(&failure, exec->sandbox->state->id);
    return al_error_give(&failure, err);
}

alineo_code al_exec_end_command(alineo_exec *exec, alineo_error **err) {
    al_exec_link *link = al_exec_link_take(exec);
    if (link == NULL)
        return ALINEO_OK;
    alineo_code code = has_ended(exec) ? ALINEO_OK : cancel_by_provider(exec, link, err);
    al_exec_link_drop(link);
    return code;
}

void al_exec_end_or_lose(alineo_exec *exec) {
    (void)al_exec_end_command(exec, NULL);
    expect_end(exec);
}

alineo_code alineo_exec_cancel(alineo_exec *exec, alineo_error **err) {
    alineo_code code = al_exec_enter(exec, err);
    if (code != ALINEO_OK)
        return code;
    atomic_store(&exec->cancelled, 1);
    return al_exec_end_command(exec, err);
}

alineo_code alineo_exec_signal(alineo_exec *exec, int32_t signal_number, alineo_error **err) {
    static const char *const needs[] = {ALINEO_CAP_SIGNALS, NULL};
    alineo_code code = al_exec_enter(exec, err);
    if (code != ALINEO_OK)
        return code;
    alineo_client *client = exec->sandbox->client;
    if (signal_number < 1 || signal_number > 64)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "use 1 to 64", "there is no signal %d",
                       (int)signal_number);
    code = al_capabilities_require(client->capabilities, needs, NULL, err);
    if (code != ALINEO_OK)
        return code;
    al_exec_link *link = has_ended(exec) ? NULL : al_exec_link_take(exec);
    if (link == NULL)
        return al_fail(err, ALINEO_EXEC_NOT_FOUND, NULL,
                       "send signal %d: the command has ended: %s", (int)signal_number,
                       exec->command);
    alineo_error *failure = NULL;
    code = client->provider->table->exec_signal(client->provider->self, link->handle, signal_number,
                                                &failure);
    code = al_from_plugin(code, client->provider->plugin, "exec_signal", &failure);
    if (code != ALINEO_OK)
        (void)al_wrap(&failure, "send signal %d", (int)signal_number);
    al_exec_link_drop(link);
    return code == ALINEO_OK ? code : al_error_give(&failure, err);
}

static alineo_code check_resize(alineo_exec *exec, uint16_t rows, uint16_t columns,
                                alineo_error **err) {
    if (!exec->is_terminal)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "start it with options.pty",
                       "resize: the command has no terminal: %s", exec->command);
    if (rows == 0 || columns == 0)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "resize: %u rows, %u columns",
                       (unsigned)rows, (unsigned)columns);
    return ALINEO_OK;
}

alineo_code alineo_exec_resize(alineo_exec *exec, uint16_t rows, uint16_t columns,
                               alineo_error **err) {
    alineo_code code = al_exec_enter(exec, err);
    if (code == ALINEO_OK)
        code = check_resize(exec, rows, columns, err);
    if (code != ALINEO_OK)
        return code;
    alineo_client *client = exec->sandbox->client;
    al_exec_link *link = has_ended(exec) ? NULL : al_exec_link_take(exec);
    if (link == NULL)
        return al_fail(err, ALINEO_EXEC_NOT_FOUND, NULL, "resize: the command has ended: %s",
                       exec->command);
    alineo_error *failure = NULL;
    code = client->provider->table->exec_resize(client->provider->self, link->handle, rows, columns,
                                                &failure);
    code = al_from_plugin(code, client->provider->plugin, "exec_resize", &failure);
    if (code != ALINEO_OK)
        (void)al_wrap(&failure, "resize the terminal");
    al_exec_link_drop(link);
    return code == ALINEO_OK ? code : al_error_give(&failure, err);
}

void al_exec_closing(al_sandbox_watcher *watcher) {
    alineo_exec *exec = AL_CONTAINER(watcher, alineo_exec, watcher);
    atomic_store(&exec->closing, 1);
    atomic_store(&exec->closing_ns, al_clock_monotonic_ns());
    al_event_signal(exec->wake_fd);
}

/* --- the backstop of the timeout -------------------------------------------------------------- */

static int32_t note_state(void *user, const alineo_sandbox_info *info) {
    *(alineo_sandbox_state *)user = info->state;
    return 0;
}

/* A timeout stops while the sandbox is paused. */
static bool is_paused(alineo_exec *exec) {
    al_provider_binding *provider = exec->sandbox->client->provider;
    if (!AL_HAS(provider->table, pause))
        return false;
    al_auto(alineo_call_free) alineo_call *call = NULL;
    alineo_sandbox_state state = ALINEO_STATE_UNKNOWN;
    if (al_call_derive(NULL, AL_EXEC_TIMEOUT_GRACE_MS, &call, NULL) != ALINEO_OK ||
        al_provider_get(provider, exec->sandbox->state->id, call, note_state, &state, NULL) !=
            ALINEO_OK)
        return false;
    return state == ALINEO_STATE_PAUSED || state == ALINEO_STATE_PAUSING ||
           state == ALINEO_STATE_RESUMING;
}

static int64_t backstop_ms(const alineo_exec *exec) {
    return exec->timeout_ms > INT64_MAX - AL_EXEC_TIMEOUT_GRACE_MS
               ? INT64_MAX
               : exec->timeout_ms + AL_EXEC_TIMEOUT_GRACE_MS;
}

/* The provider let its own timeout pass. How long the sandbox was paused is not known here, so one
 * that is found paused gets all of its time again. */
static int64_t fire_backstop(al_timer *timer) {
    alineo_exec *exec = AL_CONTAINER(timer, alineo_exec, backstop);
    /* If that is not true, it is found out by whoever consumes it. */
    if (has_ended(exec))
        return AL_EXEC_TIMEOUT_GRACE_MS;
    if (is_paused(exec))
        return backstop_ms(exec);
    atomic_store(&exec->timed_out, 1);
    al_exec_end_or_lose(exec);
    return 0;
}

alineo_code al_exec_backstop_start(alineo_exec *exec, alineo_error **err) {
    if (exec->timeout_ms == 0)
        return ALINEO_OK;
    exec->backstop.fire = fire_backstop;
    return al_timer_start(exec->sandbox->client->timers, &exec->backstop, backstop_ms(exec), err);
}

void al_exec_backstop_stop(alineo_exec *exec) {
    al_timer_stop(exec->sandbox->client->timers, &exec->backstop);
}
