/* SPDX-License-Identifier: Apache-2.0 */
#include "core/create_job.h"

#include "core/call_private.h"
#include "core/ledger_event.h"
#include "core/sandbox_private.h"
#include "core/struct.h"
#include "core/sweeper.h"

void alineo_mount_init(alineo_mount *mount) {
    *mount = (alineo_mount)ALINEO_MOUNT_INIT;
}

void alineo_sandbox_options_init(alineo_sandbox_options *options) {
    *options = (alineo_sandbox_options)ALINEO_SANDBOX_OPTIONS_INIT;
}

/* What a create works with, besides the client. */
typedef struct create {
    alineo_client *client;
    const alineo_sandbox_options *options;
    const al_hooks *hooks; /* the client's and the caller's */
    al_create_job *job;
    alineo_sandbox *sandbox;
} create;

static alineo_code make_handle(create *self, alineo_error **err) {
    const al_sandbox_plan *plan = al_create_job_plan(self->job);
    const char *id = al_create_job_id(self->job);
    char name[32];
    (void)snprintf(name, sizeof(name), "sandbox-%.8s", id);
    al_sandbox_parts parts = {.id = id,
                              .name = plan->request.name != NULL ? plan->request.name : name,
                              .run_id = plan->run_id != NULL ? plan->run_id : id,
                              .shell = plan->shell,
                              .hooks = self->hooks};
    return al_sandbox_new(self->client, &parts, &self->sandbox, err);
}

static int write_payload(const create *self, al_buf *out) {
    static const char *const networks[] = {NULL, "none", "outbound", "host"};
    const al_sandbox_plan *plan = al_create_job_plan(self->job);
    al_created_facts facts = {.run_id = self->sandbox->run_id,
                              .provider = self->client->provider->id,
                              .image = plan->request.image,
                              .cpu = plan->cpu,
                              .memory = plan->memory,
                              .disk = plan->disk,
                              .gpu = plan->gpu,
                              .pids = plan->resources.pids,
                              .lifetime_ms = plan->request.lifetime_ms,
                              .bound = plan->request.bound,
                              .shell = plan->shell,
                              .user = plan->request.user,
                              .network = networks[plan->request.network],
                              .metadata = self->options->metadata,
                              .env = plan->request.env};
    return al_payload_sandbox_created(out, &facts);
}

/* Stores the first event. *queued: it may be in the ledger, now or later, whatever comes back. */
static alineo_code record(create *self, int *queued, alineo_error **err) {
    al_auto(al_buf_free) al_buf payload = AL_BUF_INIT;
    if (write_payload(self, &payload) != 0)
        return al_fail_memory(err);
    al_event event = {.sandbox_id = self->sandbox->state->id,
                      .name = self->sandbox->name,
                      .event = al_event_flat(AL_EVENT_SANDBOX_CREATED),
                      .payload = payload.data,
                      .payload_size = payload.size,
                      .step_idx = -1};
    al_ticket ticket;
    alineo_code code = al_journal_put(self->client->journal, &event, &ticket, err);
    if (code != ALINEO_OK)
        return code;
    *queued = 1;
    code = al_journal_wait(self->client->journal, ticket, self->options->call, err);
    if (code != ALINEO_OK)
        (void)al_wrap(err, "create a sandbox: store its first event (it was destroyed again)");
    return code;
}

/* The sandbox exists and nobody gets it. */
static void undo(create *self, int queued) {
    const char *id = al_create_job_id(self->job);
    al_auto(alineo_error_free) alineo_error *error = NULL;
    alineo_code code = al_sweeper_destroy(self->client->sweeper,
                                          al_create_job_plan(self->job)->create_id, id, &error);
    if (code != ALINEO_OK)
        al_log_line(&self->client->log, ALINEO_LOG_WARNING, "",
                    "destroy sandbox %s, whose create failed: %s; it is tried again", id,
                    alineo_error_message(error));
    if (self->sandbox == NULL)
        return;
    al_sandbox_mark_closed(self->sandbox);
    al_ticket ticket;
    if (code == ALINEO_OK && queued)
        (void)al_sandbox_put_closed(self->sandbox, "failed", &ticket, NULL);
    alineo_sandbox_free(self->sandbox);
    self->sandbox = NULL;
}

/* With a slot in hand. */
static alineo_code make(create *self, al_sandbox_plan *plan, alineo_error **err) {
    alineo_call *call = self->options->call;
    al_call_progress(call, "create", 0, 0, "making the sandbox");
    alineo_code code = al_create_job_run(self->client, plan, call, &self->job, err);
    if (code != ALINEO_OK)
        return code;
    int queued = 0;
    code = make_handle(self, err);
    if (code == ALINEO_OK)
        code = al_call_check(call, "create a sandbox", err);
    if (code == ALINEO_OK)
        code = record(self, &queued, err);
    if (code != ALINEO_OK)
        undo(self, queued);
    return code;
}

/* Arguments are right and capabilities are there: waits for a slot, and makes it. */
static alineo_code make_in_slot(create *self, al_sandbox_plan *plan, alineo_error **err) {
    al_slots *slots = self->client->slots;
    alineo_code code = al_slots_take(slots, self->options->call, err);
    if (code != ALINEO_OK) {
        al_sandbox_plan_free(plan);
        return code;
    }
    alineo_error *failure = NULL;
    code = make(self, plan, &failure);
    if (code != ALINEO_OK) {
        al_slots_give(slots);
        const char *id = self->job == NULL ? NULL : al_create_job_id(self->job);
        al_error_set_sandbox(&failure, id);
        al_error_set_provider(&failure, self->client->provider->id);
        al_hooks_sandbox_failed(self->hooks, id, failure);
        return al_error_give(&failure, err);
    }
    al_sandbox_keep_slot(self->sandbox);
    al_hooks_sandbox_created(self->hooks, self->sandbox->state->id, self->sandbox->name);
    return ALINEO_OK;
}

/* Everything that is known before anything exists. */
static alineo_code prepare(create *self, al_sandbox_plan **plan, alineo_error **err) {
    alineo_call *call = self->options->call;
    alineo_code code = al_call_check(call, "create a sandbox", err);
    if (code != ALINEO_OK)
        return code;
    code = al_sandbox_plan_new(self->client, self->options, plan, err);
    if (code == ALINEO_OK && (*plan)->needs.count > 0)
        code = al_capabilities_require(self->client->capabilities,
                                       (const char *const *)(*plan)->needs.items, call, err);
    if (code != ALINEO_OK)
        (void)al_wrap(err, "create a sandbox");
    return code;
}

alineo_code alineo_sandbox_create(alineo_client *client, const alineo_sandbox_options *given,
                                  alineo_sandbox **out, alineo_error **err) {
    alineo_code code = al_client_enter(client, err);
    if (code != ALINEO_OK)
        return code;
    alineo_sandbox_options options;
    code = AL_STRUCT_READ(&options, given, "sandbox options", err);
    if (code == ALINEO_OK && out == NULL)
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "create a sandbox: `out` is NULL");
    if (code != ALINEO_OK)
        return code;
    al_hooks hooks = client->hooks;
    code = al_hooks_add(&hooks, options.hooks, err);
    if (code != ALINEO_OK)
        return code;

    create self = {.client = client, .options = &options, .hooks = &hooks};
    al_auto(al_sandbox_plan_free) al_sandbox_plan *plan = NULL;
    code = prepare(&self, &plan, err);
    if (code == ALINEO_OK)
        code = make_in_slot(&self, AL_STEAL(plan), err);
    al_create_job_free(self.job);
    if (code == ALINEO_OK)
        *out = self.sandbox;
    return code;
}
