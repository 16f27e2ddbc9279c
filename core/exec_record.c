/* SPDX-License-Identifier: Apache-2.0 */
/* The events of an exec on their way to the journal. */
#include "core/exec_private.h"

#include "core/ledger_event.h"
#include "core/lossy_text.h"

#include <string.h>

enum {
    STDIN_KEPT_MAX = 64 * 1024, /* bytes given beforehand that the ledger keeps, not only counts */
    ERROR_SIZE_MAX = 4096
};

static alineo_code put(alineo_exec *exec, al_event_kind kind, const al_buf *payload,
                       const char *error, al_ticket *ticket, alineo_error **err) {
    al_event event = {.sandbox_id = exec->sandbox->state->id,
                      .name = exec->sandbox->name,
                      .event = al_event_flat(kind),
                      .payload = al_buf_str(payload),
                      .payload_size = payload->size,
                      .error = error,
                      .step_idx = exec->result.seq,
                      .claims_step = kind == AL_EVENT_EXEC_START};
    return al_journal_put(exec->sandbox->client->journal, &event, ticket, err);
}

alineo_code al_exec_record_start(alineo_exec *exec, const al_exec_plan *plan, al_ticket *ticket,
                                 alineo_error **err) {
    const alineo_exec_options *options = &plan->options;
    bool kept = options->stdin_size <= STDIN_KEPT_MAX;
    al_exec_start_facts facts = {.seq = exec->result.seq,
                                 .exec_id = exec->id,
                                 .command = plan->command,
                                 .argv = plan->command == NULL ? plan->argv : NULL,
                                 .shell = options->shell,
                                 .cwd = options->cwd,
                                 .user = options->user,
                                 .env = options->env,
                                 .timeout_ms = options->timeout_ms,
                                 .pty = options->pty,
                                 .background = options->background,
                                 .stdin_kind = options->stdin_kind,
                                 .stdin_data = kept ? options->stdin_data : NULL,
                                 .stdin_size = options->stdin_size,
                                 .stdin_secret = options->stdin_secret};
    al_auto(al_buf_free) al_buf payload = AL_BUF_INIT;
    if (al_payload_exec_start(&payload, &facts) != 0)
        return al_fail_memory(err);
    return put(exec, AL_EVENT_EXEC_START, &payload, NULL, ticket, err);
}

void al_exec_record_not_started(alineo_exec *exec, const alineo_error *why) {
    al_auto(al_buf_free) al_buf payload = AL_BUF_INIT;
    al_auto(al_buf_free) al_buf message = AL_BUF_INIT;
    const char *text = why == NULL ? "" : alineo_error_message(why);
    al_lossy_append(&message, text, strlen(text), ERROR_SIZE_MAX);
    const char *reason = alineo_error_code(why) == ALINEO_EXEC_LOST ? "start_lost" : "not_started";
    al_ticket ticket;
    if (al_payload_exec_lost(&payload, exec->id, &exec->result, reason) == 0)
        (void)put(exec, AL_EVENT_EXEC_LOST, &payload, al_buf_str(&message), &ticket, NULL);
}

alineo_code al_exec_record_end(alineo_exec *exec, al_ticket *ticket, alineo_error **err) {
    bool lost = exec->result.outcome == ALINEO_OUTCOME_LOST;
    al_auto(al_buf_free) al_buf payload = AL_BUF_INIT;
    int rc = lost ? al_payload_exec_lost(&payload, exec->id, &exec->result, exec->detail)
                  : al_payload_exec_complete(&payload, exec->id, &exec->result);
    if (rc != 0)
        return al_fail_memory(err);
    return put(exec, lost ? AL_EVENT_EXEC_LOST : AL_EVENT_EXEC_COMPLETE, &payload, NULL, ticket,
               err);
}
