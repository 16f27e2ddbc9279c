/* SPDX-License-Identifier: Apache-2.0 */
/* Stopping a sandbox for a while, and letting it go on. */
#include "core/sandbox_private.h"

#include "core/ledger_event.h"
#include "core/provider_calls.h"

/* One of the two directions. */
typedef struct change {
    const char *doing;
    const char *function;
    alineo_sandbox_state goal;
    al_event_kind event;
} change;

static const change PAUSE = {"pause", "pause", ALINEO_STATE_PAUSED, AL_EVENT_SANDBOX_PAUSED};
static const change UNPAUSE = {"unpause", "unpause", ALINEO_STATE_RUNNING,
                               AL_EVENT_SANDBOX_RESUMED};

static int32_t note_state(void *user, const alineo_sandbox_info *info) {
    *(alineo_sandbox_state *)user = info->state;
    return 0;
}

/* *DONE: it was so before, and nobody needs to hear of it. */
static alineo_code ask_provider(alineo_sandbox *sandbox, const change *what, alineo_call *call,
                                bool *done, alineo_error **err) {
    al_provider_binding *provider = sandbox->client->provider;
    const char *id = sandbox->state->id;
    alineo_sandbox_state state = ALINEO_STATE_UNKNOWN;
    alineo_error *failure = NULL;
    alineo_code code = al_provider_get(provider, id, call, note_state, &state, &failure);
    *done = state == what->goal;
    if (code == ALINEO_OK && !*done) {
        code = what == &PAUSE ? provider->table->pause(provider->self, id, call, &failure)
                              : provider->table->unpause(provider->self, id, call, &failure);
        code = al_from_plugin(code, provider->plugin, what->function, &failure);
    }
    return code == ALINEO_OK ? code : al_sandbox_op_fail(sandbox, what->doing, &failure, err);
}

/* The hooks are called once the event is queued. */
static alineo_code record(alineo_sandbox *sandbox, const change *what, alineo_call *call,
                          alineo_error **err) {
    al_event event = {.sandbox_id = sandbox->state->id,
                      .name = sandbox->name,
                      .event = al_event_flat(what->event),
                      .step_idx = -1};
    al_ticket ticket;
    alineo_error *failure = NULL;
    alineo_code code = al_journal_put(sandbox->client->journal, &event, &ticket, &failure);
    if (code == ALINEO_OK) {
        if (what == &PAUSE)
            al_hooks_sandbox_paused(&sandbox->hooks, sandbox->state->id);
        else
            al_hooks_sandbox_resumed(&sandbox->hooks, sandbox->state->id);
        code = al_journal_wait(sandbox->client->journal, ticket, call, &failure);
    }
    if (code == ALINEO_OK)
        return code;
    (void)al_wrap(&failure, "it is done, but that is not stored yet");
    return al_sandbox_op_fail(sandbox, what->doing, &failure, err);
}

static alineo_code go(alineo_sandbox *sandbox, const change *what, const alineo_op_options *given,
                      alineo_error **err) {
    alineo_op_options options;
    bool done = false;
    alineo_code code =
        al_sandbox_op_enter(sandbox, given, what->doing, ALINEO_CAP_PAUSE, &options, err);
    if (code == ALINEO_OK)
        code = ask_provider(sandbox, what, options.call, &done, err);
    return code != ALINEO_OK || done ? code : record(sandbox, what, options.call, err);
}

alineo_code alineo_sandbox_pause(alineo_sandbox *sandbox, const alineo_op_options *options,
                                 alineo_error **err) {
    return go(sandbox, &PAUSE, options, err);
}

alineo_code alineo_sandbox_unpause(alineo_sandbox *sandbox, const alineo_op_options *options,
                                   alineo_error **err) {
    return go(sandbox, &UNPAUSE, options, err);
}
