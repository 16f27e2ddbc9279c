/* SPDX-License-Identifier: Apache-2.0 */
#include <alineo/ledger.h>

#include "core/client_private.h"
#include "core/sandbox_private.h"
#include "core/struct.h"

#include <string.h>

void alineo_session_list_options_init(alineo_session_list_options *options) {
    *options = (alineo_session_list_options)ALINEO_SESSION_LIST_OPTIONS_INIT;
}

/* What this client has queued is to be seen by it. Where it cannot be stored, what is there can
 * still be read: whoever waits for the events hears of the failure. */
static void store_queued(alineo_client *client) {
    (void)al_journal_flush(client->journal, al_journal_patience_ms(client->journal), NULL);
}

/* Hands sessions on in the size of our own struct, whatever the plugin was built with. */
typedef struct receiver {
    alineo_session_fn *found;
    void *user;
} receiver;

static int32_t receive(void *user, const alineo_session *session) {
    const receiver *self = user;
    alineo_session own = ALINEO_SESSION_INIT;
    memcpy(&own, session, session->size < sizeof(own) ? session->size : sizeof(own));
    own.size = sizeof(own);
    return self->found(self->user, &own);
}

/* --- lists ------------------------------------------------------------------------------------ */

static alineo_code check_options(const alineo_session_list_options *options,
                                 alineo_session_fn *found, alineo_error **err) {
    if (found == NULL)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL,
                       "list sessions: there is no function to give them to");
    if (options->status < ALINEO_SESSION_ANY || options->status > ALINEO_SESSION_COMPLETED)
        return al_fail(err, ALINEO_INVALID_ARGUMENT,
                       "use ALINEO_SESSION_ANY, _RUNNING or _COMPLETED",
                       "list sessions: status is %d", (int)options->status);
    if (options->before_ms < 0)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "use 0 for any time",
                       "list sessions: before_ms is negative");
    return ALINEO_OK;
}

alineo_code alineo_session_list(alineo_client *client, const alineo_session_list_options *options,
                                alineo_session_fn *found, void *user, alineo_error **err) {
    alineo_code code = al_client_enter(client, err);
    if (code != ALINEO_OK)
        return code;
    alineo_session_list_options own;
    code = AL_STRUCT_READ(&own, options, "alineo_session_list_options", err);
    if (code == ALINEO_OK)
        code = check_options(&own, found, err);
    if (code != ALINEO_OK)
        return code;
    store_queued(client);
    const al_storage_binding *storage = client->storage;
    const alineo_session_request request = {.size = sizeof(request),
                                            .name = own.name,
                                            .run_id = own.run_id,
                                            .status = own.status,
                                            .before_ms = own.before_ms,
                                            .limit = own.limit};
    receiver to = {found, user};
    char *cursor = NULL;
    alineo_error *failure = NULL;
    code = storage->table->session_list(storage->self, &request, own.call, receive, &to, &cursor,
                                        &failure);
    storage->host->free(storage->host, cursor);
    if (al_from_plugin(code, storage->plugin, "session_list", &failure) != ALINEO_OK)
        return al_error_give(&failure, err);
    return ALINEO_OK;
}

/* --- one session ------------------------------------------------------------------------------ */

static alineo_code enter_session(alineo_client *client, const char *doing, const char *sandbox_id,
                                 alineo_error **err) {
    alineo_code code = al_client_enter(client, err);
    if (code == ALINEO_OK && (sandbox_id == NULL || sandbox_id[0] == '\0'))
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "%s: there is no sandbox id", doing);
    return code;
}

alineo_code alineo_session_get(alineo_client *client, const char *name, const char *sandbox_id,
                               alineo_session_fn *found, void *user, alineo_error **err) {
    alineo_code code = enter_session(client, "look up a session", sandbox_id, err);
    if (code != ALINEO_OK)
        return code;
    if (found == NULL)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL,
                       "look up a session: there is no function to give it to");
    store_queued(client);
    const al_storage_binding *storage = client->storage;
    receiver to = {found, user};
    alineo_error *failure = NULL;
    code = storage->table->session_get(storage->self, name, sandbox_id, receive, &to, &failure);
    if (al_from_plugin(code, storage->plugin, "session_get", &failure) != ALINEO_OK)
        return al_error_give(&failure, err);
    return ALINEO_OK;
}

alineo_code alineo_session_delete(alineo_client *client, const char *name, const char *sandbox_id,
                                  uint64_t *removed, alineo_error **err) {
    alineo_code code = enter_session(client, "delete a session", sandbox_id, err);
    if (code != ALINEO_OK)
        return code;
    if (al_sandbox_table_has(client->open, sandbox_id)) {
        code =
            al_fail(err, ALINEO_CONFLICT, "free its handles first",
                    "delete the session %s: this client has a handle on the sandbox", sandbox_id);
        al_error_set_sandbox(err, sandbox_id);
        return code;
    }
    store_queued(client);
    const al_storage_binding *storage = client->storage;
    alineo_error *failure = NULL;
    uint64_t count = 0;
    code = storage->table->session_delete(storage->self, name, sandbox_id, &count, &failure);
    if (al_from_plugin(code, storage->plugin, "session_delete", &failure) != ALINEO_OK)
        return al_error_give(&failure, err);
    if (count == 0) {
        code = al_fail(err, ALINEO_SESSION_NOT_FOUND, NULL,
                       "delete the session %s: the ledger has none%s%s", sandbox_id,
                       name != NULL ? " of the name " : "", name != NULL ? name : "");
        al_error_set_sandbox(err, sandbox_id);
        return code;
    }
    if (removed != NULL)
        *removed = count;
    return ALINEO_OK;
}
