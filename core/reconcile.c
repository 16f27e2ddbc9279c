/* SPDX-License-Identifier: Apache-2.0 */
/* Compares what the provider has with what the ledger says. First all is collected, then judged:
 * neither side is asked anything from inside a listing of the other. */
#include <alineo/ledger.h>

#include "core/call_private.h"
#include "core/client_private.h"
#include "core/ledger_event.h"
#include "core/pairs.h"
#include "core/provider_calls.h"
#include "core/stamp.h"
#include "core/struct.h"
#include "core/util/buf.h"
#include "core/util/hash.h"
#include "core/util/list.h"
#include "core/util/str.h"

#include <stdlib.h>

void alineo_reconcile_options_init(alineo_reconcile_options *options) {
    *options = (alineo_reconcile_options)ALINEO_RECONCILE_OPTIONS_INIT;
}

/* A sandbox that carries a stamp, or an open session. */
typedef struct subject {
    al_list link;
    char *id;
    char *name; /* NULL = not known */
    int ours;   /* its stamp names this ledger */
    int bound;
    al_owner owner;
    const char *owner_reason;
} subject;

typedef struct reconcile {
    alineo_client *client;
    alineo_call *call;
    int repair;
    alineo_reconcile_fn *found;
    void *user;
    al_list sandboxes; /* of subject.link; only such that run */
    al_list sessions;
    al_hash running; /* ids of all that run, stamped or not */
    int no_memory;
    int stopped; /* found had enough */
} reconcile;

static void free_subjects(al_list *list) {
    al_list *link;
    while ((link = al_list_take_first(list)) != NULL) {
        subject *each = AL_CONTAINER(link, subject, link);
        free(each->id);
        free(each->name);
        free(each);
    }
}

static subject *add_subject(al_list *list, const char *id, const char *name) {
    subject *self = calloc(1, sizeof(*self));
    if (self == NULL)
        return NULL;
    al_list_init(&self->link);
    self->id = al_strdup(id);
    self->name = al_strdup(name);
    if (self->id == NULL || (name != NULL && self->name == NULL)) {
        free(self->id);
        free(self->name);
        free(self);
        return NULL;
    }
    al_list_append(list, &self->link);
    return self;
}

/* --- collecting ------------------------------------------------------------------------------- */

static int has_ended(alineo_sandbox_state state) {
    return state == ALINEO_STATE_TERMINATED || state == ALINEO_STATE_FAILED;
}

static int32_t collect_sandbox(void *user, const alineo_sandbox_info *info) {
    reconcile *self = user;
    if (has_ended(info->state))
        return 0;
    self->no_memory = al_hash_set(&self->running, info->id, self, NULL) != 0;
    const char *ledger = al_pairs_get(info->metadata, AL_STAMP_LEDGER);
    if (ledger == NULL || self->no_memory)
        return self->no_memory;
    subject *each = add_subject(&self->sandboxes, info->id, info->name);
    if (each == NULL)
        return self->no_memory = 1;
    each->ours = strcmp(ledger, self->client->ledger_id) == 0;
    each->bound = al_str_equal(al_pairs_get(info->metadata, AL_STAMP_LIFETIME), "bound");
    each->owner = al_stamp_owner(info->metadata, &each->owner_reason);
    return 0;
}

/* Rows of before the provider was recorded may be any provider's: nothing can be said of them. */
static int32_t collect_session(void *user, const alineo_session *session) {
    reconcile *self = user;
    if (!al_str_equal(session->provider, self->client->provider->id) ||
        al_hash_get(&self->running, session->sandbox_id) != NULL)
        return 0;
    self->no_memory = add_subject(&self->sessions, session->sandbox_id, session->name) == NULL;
    return self->no_memory;
}

static alineo_code collect(reconcile *self, int *complete, alineo_error **err) {
    alineo_code code = al_provider_list(self->client->provider, NULL, self->call, collect_sandbox,
                                        self, complete, err);
    if (code == ALINEO_OK && self->no_memory)
        code = al_fail_memory(err);
    if (code != ALINEO_OK)
        return code;
    alineo_session_list_options open = ALINEO_SESSION_LIST_OPTIONS_INIT;
    open.status = ALINEO_SESSION_RUNNING;
    open.call = self->call;
    code = alineo_session_list(self->client, &open, collect_session, self, err);
    if (code == ALINEO_OK && self->no_memory)
        code = al_fail_memory(err);
    return code;
}

/* --- telling and mending ---------------------------------------------------------------------- */

static void tell(reconcile *self, const subject *what, alineo_finding finding, int repaired,
                 const char *reason) {
    alineo_reconcile_item item = {.size = sizeof(item),
                                  .finding = finding,
                                  .repaired = repaired,
                                  .sandbox_id = what->id,
                                  .name = what->name,
                                  .reason = reason};
    self->stopped = self->found(self->user, &item) != 0;
}

static alineo_code record_closed(reconcile *self, const subject *what, const char *name,
                                 const char *reason, alineo_error **err) {
    al_auto(al_buf_free) al_buf payload = AL_BUF_INIT;
    if (al_payload_sandbox_closed(&payload, reason) != 0)
        return al_fail_memory(err);
    al_event event = {.sandbox_id = what->id,
                      .name = name,
                      .event = al_event_flat(AL_EVENT_SANDBOX_CLOSED),
                      .payload = payload.data,
                      .payload_size = payload.size,
                      .step_idx = -1};
    al_ticket ticket;
    alineo_code code = al_journal_put(self->client->journal, &event, &ticket, err);
    return code != ALINEO_OK ? code
                             : al_journal_wait(self->client->journal, ticket, self->call, err);
}

/* Destroys a sandbox and, where `session_name` is not NULL, closes its session. */
static alineo_code destroy(reconcile *self, const subject *what, const char *session_name,
                           alineo_error **err) {
    alineo_error *failure = NULL;
    alineo_code code = al_provider_destroy(self->client->provider, what->id, self->call, &failure);
    if (code != ALINEO_OK && code != ALINEO_SANDBOX_NOT_FOUND)
        return al_error_give(&failure, err);
    alineo_error_free(failure);
    return session_name == NULL ? ALINEO_OK
                                : record_closed(self, what, session_name, "reconciled", err);
}

/* Tells of a finding after its repair; a repair that failed is told of and does not end the rest.
 */
static void tell_repair(reconcile *self, const subject *what, alineo_finding finding,
                        alineo_code code, const alineo_error *error, const char *reason) {
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    if (code != ALINEO_OK)
        al_buf_printf(&text, "%s; not repaired: %s", reason, alineo_error_message(error));
    tell(self, what, finding, code == ALINEO_OK, text.size > 0 ? text.data : reason);
}

/* --- judging ---------------------------------------------------------------------------------- */

typedef struct session_facts {
    alineo_session_status status; /* ANY = there is no sandbox_created */
    char *name;
    int no_memory;
} session_facts;

static int32_t note_session(void *user, const alineo_session *session) {
    session_facts *self = user;
    free(self->name);
    self->name = al_strdup(session->name);
    self->status = session->status;
    self->no_memory = session->name != NULL && self->name == NULL;
    return self->no_memory;
}

static alineo_code read_session(reconcile *self, const char *id, session_facts *facts,
                                alineo_error **err) {
    alineo_error *failure = NULL;
    alineo_code code = alineo_session_get(self->client, NULL, id, note_session, facts, &failure);
    if (code == ALINEO_SESSION_NOT_FOUND) {
        alineo_error_free(failure);
        return ALINEO_OK;
    }
    (void)al_error_give(&failure, err);
    return code == ALINEO_OK && facts->no_memory ? al_fail_memory(err) : code;
}

/* What is wrong with a sandbox of ours whose owner is gone; 0 = nothing. */
static alineo_finding judge(const subject *what, alineo_session_status status) {
    if (status == ALINEO_SESSION_ANY)
        return ALINEO_FINDING_UNRECORDED;
    if (status == ALINEO_SESSION_COMPLETED)
        return ALINEO_FINDING_CLOSED;
    return what->bound ? ALINEO_FINDING_ORPHAN : 0;
}

static alineo_code look_at_sandbox(reconcile *self, const subject *what, alineo_error **err) {
    if (!what->ours) {
        tell(self, what, ALINEO_FINDING_FOREIGN, 0, "it belongs to another ledger");
        return ALINEO_OK;
    }
    if (what->owner != AL_OWNER_GONE)
        return ALINEO_OK;
    session_facts facts = {.status = ALINEO_SESSION_ANY};
    alineo_code code = read_session(self, what->id, &facts, err);
    alineo_finding finding = code == ALINEO_OK ? judge(what, facts.status) : 0;
    if (finding != 0 && !self->repair) {
        tell(self, what, finding, 0, what->owner_reason);
    } else if (finding != 0) {
        const char *session_name = finding == ALINEO_FINDING_ORPHAN ? facts.name : NULL;
        alineo_error *failure = NULL;
        alineo_code repaired = destroy(self, what, session_name, &failure);
        tell_repair(self, what, finding, repaired, failure, what->owner_reason);
        alineo_error_free(failure);
    }
    free(facts.name);
    return code;
}

static int32_t note_ended(void *user, const alineo_sandbox_info *info) {
    *(int *)user = has_ended(info->state);
    return 0;
}

/* An open session whose sandbox was in no list: only the provider's word on that one counts. */
static alineo_code look_at_session(reconcile *self, const subject *what, alineo_error **err) {
    static const char reason[] = "the provider has no such sandbox any more";
    int ended = 0;
    alineo_error *failure = NULL;
    alineo_code code =
        al_provider_get(self->client->provider, what->id, self->call, note_ended, &ended, &failure);
    if (code != ALINEO_OK && code != ALINEO_SANDBOX_NOT_FOUND)
        return al_error_give(&failure, err);
    alineo_error_free(failure);
    if (code == ALINEO_OK && !ended)
        return ALINEO_OK;
    if (!self->repair) {
        tell(self, what, ALINEO_FINDING_GONE, 0, reason);
        return ALINEO_OK;
    }
    failure = NULL;
    code = record_closed(self, what, what->name, "gone", &failure);
    tell_repair(self, what, ALINEO_FINDING_GONE, code, failure, reason);
    alineo_error_free(failure);
    return ALINEO_OK;
}

static alineo_code look_at_each(reconcile *self, al_list *list,
                                alineo_code (*look)(reconcile *self, const subject *what,
                                                    alineo_error **err),
                                alineo_error **err) {
    AL_LIST_FOREACH(link, list) {
        if (self->stopped)
            break;
        alineo_code code = al_call_check(self->call, "look at a sandbox", err);
        if (code == ALINEO_OK)
            code = look(self, AL_CONTAINER(link, subject, link), err);
        if (code != ALINEO_OK)
            return code;
    }
    return ALINEO_OK;
}

static alineo_code look_at_all(reconcile *self, alineo_error **err) {
    int complete = 1;
    alineo_code code = collect(self, &complete, err);
    if (code != ALINEO_OK)
        return code;
    code = look_at_each(self, &self->sandboxes, look_at_sandbox, err);
    if (code == ALINEO_OK)
        code = look_at_each(self, &self->sessions, look_at_session, err);
    if (code != ALINEO_OK)
        return code;
    if (complete || self->stopped)
        return ALINEO_OK;
    return al_fail(err, ALINEO_PROVIDER_UNAVAILABLE, "run it again later",
                   "provider %s left some sandboxes out of its list", self->client->provider->id);
}

alineo_code alineo_reconcile(alineo_client *client, const alineo_reconcile_options *given,
                             alineo_reconcile_fn *found, void *user, alineo_error **err) {
    alineo_code code = al_client_enter(client, err);
    if (code != ALINEO_OK)
        return code;
    alineo_reconcile_options options;
    code = AL_STRUCT_READ(&options, given, "reconcile options", err);
    if (code == ALINEO_OK && found == NULL)
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "reconcile: `found` is NULL");
    if (code == ALINEO_OK)
        code = al_call_check(options.call, "reconcile", err);
    const char *const needs[] = {ALINEO_CAP_LIST, NULL};
    if (code == ALINEO_OK)
        code = al_capabilities_require(client->capabilities, needs, options.call, err);
    if (code != ALINEO_OK)
        return code;

    reconcile self = {.client = client,
                      .call = options.call,
                      .repair = options.repair != 0,
                      .found = found,
                      .user = user};
    al_list_init(&self.sandboxes);
    al_list_init(&self.sessions);
    code = look_at_all(&self, err);
    if (code != ALINEO_OK)
        (void)al_wrap(err, "reconcile");
    free_subjects(&self.sandboxes);
    free_subjects(&self.sessions);
    al_hash_free(&self.running);
    return code;
}
