/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sandbox_private.h"

#include "core/call_private.h"
#include "core/check.h"
#include "core/provider_calls.h"
#include "core/struct.h"
#include "core/util/json.h"
#include "core/util/num.h"
#include "core/util/str.h"

#include <alineo/ledger.h>

#include <stdlib.h>

void alineo_connect_options_init(alineo_connect_options *options) {
    *options = (alineo_connect_options)ALINEO_CONNECT_OPTIONS_INIT;
}

/* What the ledger knows of a sandbox; all-zero: nothing. */
typedef struct record {
    int found;
    int no_memory;
    char *name;
    char *run_id;
    char *provider; /* NULL = not recorded */
    char *shell;    /* NULL = the default */
    int32_t last_step;
} record;

static void record_free(record *self) {
    free(self->name);
    free(self->run_id);
    free(self->provider);
    free(self->shell);
}
AL_CLEANUP_INSIDE(record, record_free);

/* The shell that it was created with. */
static int read_shell(const alineo_session *session, char **shell) {
    al_auto(al_json_free) al_json *document = NULL;
    const char *text = NULL;
    if (session->created_payload == NULL)
        return 0;
    int rc = al_json_parse(session->created_payload, session->created_payload_size, NULL, &document,
                           NULL);
    if (rc == ENOMEM)
        return rc;
    if (rc != 0 || !al_json_get_str(al_json_member(al_json_root(document), "shell"), &text))
        return 0;
    *shell = al_strdup(text);
    return *shell == NULL ? ENOMEM : 0;
}

static int32_t note_session(void *user, const alineo_session *session) {
    record *self = user;
    if (self->found)
        return 1;
    self->found = 1;
    self->last_step = session->last_step;
    self->name = al_strdup(session->name);
    self->run_id = al_strdup(session->run_id);
    self->provider = al_strdup(session->provider);
    self->no_memory = (session->name != NULL && self->name == NULL) ||
                      (session->run_id != NULL && self->run_id == NULL) ||
                      (session->provider != NULL && self->provider == NULL) ||
                      read_shell(session, &self->shell) != 0;
    return 0;
}

/* A sandbox that this ledger does not know may still be connected to. */
static alineo_code read_record(alineo_client *client, const char *id, record *out,
                               alineo_error **err) {
    alineo_error *failure = NULL;
    alineo_code code = alineo_session_get(client, NULL, id, note_session, out, &failure);
    if (code == ALINEO_SESSION_NOT_FOUND) {
        alineo_error_free(failure);
        return ALINEO_OK;
    }
    (void)al_error_give(&failure, err);
    if (code != ALINEO_OK)
        return code;
    if (out->no_memory)
        return al_fail_memory(err);
    if (out->provider == NULL || strcmp(out->provider, client->provider->id) == 0)
        return ALINEO_OK;
    al_fail(err, ALINEO_PROVIDER_MISMATCH, "open a client with the provider that made it",
            "sandbox %s was made by provider %s, this client has %s", id, out->provider,
            client->provider->id);
    return ALINEO_PROVIDER_MISMATCH;
}

/* --- whether it runs -------------------------------------------------------------------------- */

typedef struct condition {
    alineo_sandbox_state state;
    char reason[160];
} condition;

static int32_t note_condition(void *user, const alineo_sandbox_info *info) {
    condition *self = user;
    self->state = info->state;
    if (info->reason != NULL)
        (void)al_str_copy(self->reason, sizeof(self->reason), info->reason);
    return 0;
}

static alineo_code check_running(alineo_client *client, const char *id,
                                 const alineo_connect_options *options, alineo_error **err) {
    condition now = {.state = ALINEO_STATE_UNKNOWN};
    alineo_code code =
        al_provider_get(client->provider, id, options->call, note_condition, &now, err);
    if (code != ALINEO_OK || now.state == ALINEO_STATE_RUNNING ||
        (now.state == ALINEO_STATE_PAUSED && options->paused_too != 0))
        return code;
    return al_fail(err, ALINEO_SANDBOX_NOT_RUNNING,
                   now.state == ALINEO_STATE_PAUSED ? "unpause it first" : NULL,
                   "sandbox %s is %s%s%s", id, al_state_name(now.state),
                   now.reason[0] != '\0' ? ": " : "", now.reason);
}

/* --- connect ---------------------------------------------------------------------------------- */

static alineo_code check_options(const char *id, const alineo_connect_options *options,
                                 alineo_error **err) {
    int64_t quantity;
    alineo_code code = al_sandbox_id_check(id, err);
    if (code == ALINEO_OK)
        code = al_name_check("name", options->name, err);
    if (code == ALINEO_OK)
        code = al_name_check("run_id", options->run_id, err);
    if (code == ALINEO_OK && options->shell != NULL)
        code = al_path_check("shell", options->shell, err);
    if (code == ALINEO_OK && options->cpu != NULL && al_parse_cpu(options->cpu, &quantity) != 0)
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, "write \"500m\" or \"2\"",
                       "cpu is no such quantity");
    if (code == ALINEO_OK && options->memory != NULL &&
        al_parse_size(options->memory, &quantity) != 0)
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, "write \"512Mi\" or \"1Gi\"",
                       "memory is no such quantity");
    return code;
}

static const char *first_of(const char *a, const char *b, const char *c) {
    return a != NULL ? a : b != NULL ? b : c;
}

/* With a slot in hand. */
static alineo_code make_handle(alineo_client *client, const char *id,
                               const alineo_connect_options *options, const record *known,
                               alineo_sandbox **out, alineo_error **err) {
    al_hooks hooks = client->hooks;
    alineo_code code = al_hooks_add(&hooks, options->hooks, err);
    if (code != ALINEO_OK)
        return code;
    char name[32];
    (void)snprintf(name, sizeof(name), "sandbox-%.8s", id);
    al_sandbox_parts parts = {.id = id,
                              .name = first_of(options->name, known->name, name),
                              .run_id = first_of(options->run_id, known->run_id, id),
                              .shell = first_of(options->shell, known->shell, NULL),
                              .last_seq = known->last_step,
                              .hooks = &hooks};
    alineo_sandbox *sandbox = NULL;
    code = al_sandbox_new(client, &parts, &sandbox, err);
    if (code != ALINEO_OK)
        return code;
    /* Another handle of this client may be closing it. */
    code = al_sandbox_enter(sandbox, err);
    if (code == ALINEO_OK)
        *out = sandbox;
    else
        alineo_sandbox_free(sandbox);
    return code;
}

static alineo_code connect_in_slot(alineo_client *client, const char *id,
                                   const alineo_connect_options *options, const record *known,
                                   alineo_sandbox **out, alineo_error **err) {
    alineo_code code = al_slots_take(client->slots, options->call, err);
    if (code != ALINEO_OK)
        return code;
    alineo_sandbox *sandbox = NULL;
    code = make_handle(client, id, options, known, &sandbox, err);
    /* The wait may have been long. */
    if (code == ALINEO_OK && client->values.max_concurrency > 0)
        code = check_running(client, id, options, err);
    if (code != ALINEO_OK) {
        alineo_sandbox_free(sandbox);
        al_slots_give(client->slots);
        return code;
    }
    al_sandbox_keep_slot(sandbox);
    *out = sandbox;
    return ALINEO_OK;
}

alineo_code alineo_sandbox_connect(alineo_client *client, const char *id,
                                   const alineo_connect_options *given, alineo_sandbox **out,
                                   alineo_error **err) {
    alineo_code code = al_client_enter(client, err);
    if (code != ALINEO_OK)
        return code;
    alineo_connect_options options;
    code = AL_STRUCT_READ(&options, given, "connect options", err);
    if (code == ALINEO_OK && out == NULL)
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "connect: `out` is NULL");
    if (code == ALINEO_OK)
        code = check_options(id, &options, err);
    if (code == ALINEO_OK)
        code = al_call_check(options.call, "connect to a sandbox", err);
    if (code != ALINEO_OK)
        return code;

    al_auto(record_free) record known = {0};
    code = read_record(client, id, &known, err);
    if (code == ALINEO_OK)
        code = check_running(client, id, &options, err);
    if (code == ALINEO_OK)
        code = connect_in_slot(client, id, &options, &known, out, err);
    if (code != ALINEO_OK)
        al_error_set_sandbox(err, id);
    return code;
}
