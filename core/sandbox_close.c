/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sandbox_private.h"

#include "core/call_private.h"
#include "core/ledger_event.h"
#include "core/provider_calls.h"
#include "core/struct.h"
#include "core/util/buf.h"

#include <alineo/ledger.h>

void al_sandbox_mark_closed(alineo_sandbox *sandbox) {
    al_sandbox_state *state = sandbox->state;
    al_autolock(&state->lock);
    if (state->closed)
        return;
    state->closed = 1;
    /* A watcher may take itself out, later and under this lock; it never does so in `closing`. */
    for (al_sandbox_watcher *each = state->watchers; each != NULL; each = each->next)
        each->closing(each);
}

/* Under the state's lock, so that it is put once. */
static alineo_code put_event(alineo_sandbox *sandbox, const char *reason, al_ticket *ticket,
                             alineo_error **err) {
    al_auto(al_buf_free) al_buf payload = AL_BUF_INIT;
    if (al_payload_sandbox_closed(&payload, reason) != 0)
        return al_fail_memory(err);
    al_event event = {.sandbox_id = sandbox->state->id,
                      .name = sandbox->name,
                      .event = al_event_flat(AL_EVENT_SANDBOX_CLOSED),
                      .payload = payload.data,
                      .payload_size = payload.size,
                      .step_idx = -1};
    return al_journal_put(sandbox->client->journal, &event, ticket, err);
}

alineo_code al_sandbox_put_closed(alineo_sandbox *sandbox, const char *reason, al_ticket *ticket,
                                  alineo_error **err) {
    al_sandbox_state *state = sandbox->state;
    int first;
    {
        al_autolock(&state->lock);
        state->gone = 1;
        if (state->close_ticket == 0 && !state->close_is_stored) {
            alineo_code code = put_event(sandbox, reason, &state->close_ticket, err);
            if (code != ALINEO_OK)
                return code;
        }
        first = !state->close_is_told;
        state->close_is_told = 1;
        *ticket = state->close_ticket;
    }
    if (first)
        al_hooks_sandbox_closed(&sandbox->hooks, state->id);
    return ALINEO_OK;
}

/* --- close ------------------------------------------------------------------------------------ */

static int32_t note_status(void *user, const alineo_session *session) {
    *(alineo_session_status *)user = session->status;
    return 0;
}

/* A sandbox that was found gone: another process may have closed it, and said so. */
static void look_for_closed(alineo_sandbox *sandbox) {
    alineo_session_status status = ALINEO_SESSION_ANY;
    if (alineo_session_get(sandbox->client, sandbox->name, sandbox->state->id, note_status, &status,
                           NULL) != ALINEO_OK ||
        status != ALINEO_SESSION_COMPLETED)
        return;
    al_autolock(&sandbox->state->lock);
    sandbox->state->close_is_stored = 1;
}

static int is_gone(al_sandbox_state *state) {
    al_autolock(&state->lock);
    return state->gone;
}

/* Ends it, unless that was done. *reason: for the ledger. */
static alineo_code end(alineo_sandbox *sandbox, alineo_call *call, const char **reason,
                       alineo_error **err) {
    *reason = "closed";
    if (is_gone(sandbox->state))
        return ALINEO_OK;
    alineo_error *failure = NULL;
    alineo_code code =
        al_provider_destroy(sandbox->client->provider, sandbox->state->id, call, &failure);
    if (code == ALINEO_SANDBOX_NOT_FOUND) {
        alineo_error_free(failure);
        *reason = "gone";
        /* Unless it was this client's other handle that ended it just now. */
        if (!is_gone(sandbox->state))
            look_for_closed(sandbox);
        return ALINEO_OK;
    }
    (void)al_error_give(&failure, err);
    if (code != ALINEO_OK) {
        (void)al_wrap(err, "close sandbox %s", sandbox->state->id);
        al_error_set_sandbox(err, sandbox->state->id);
    }
    return code;
}

alineo_code alineo_sandbox_close(alineo_sandbox *sandbox, const alineo_op_options *given,
                                 alineo_error **err) {
    if (sandbox == NULL)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "close: the sandbox is NULL");
    alineo_code code = al_client_enter(sandbox->client, err);
    if (code != ALINEO_OK)
        return code;
    alineo_op_options options;
    code = AL_STRUCT_READ(&options, given, "op options", err);
    if (code == ALINEO_OK)
        code = al_call_check(options.call, "close a sandbox", err);
    if (code != ALINEO_OK)
        return code;

    al_sandbox_mark_closed(sandbox);
    const char *reason;
    code = end(sandbox, options.call, &reason, err);
    if (code != ALINEO_OK)
        return code;
    al_sandbox_give_slot(sandbox);
    al_ticket ticket = 0;
    code = al_sandbox_put_closed(sandbox, reason, &ticket, err);
    if (code == ALINEO_OK && ticket != 0)
        code = al_journal_wait(sandbox->client->journal, ticket, options.call, err);
    if (code != ALINEO_OK) {
        (void)al_wrap(err, "close sandbox %s: it is gone, but that is not stored yet",
                      sandbox->state->id);
        al_error_set_sandbox(err, sandbox->state->id);
    }
    return code;
}
