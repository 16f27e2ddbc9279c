/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a sandbox, and changes to a running one. */
#include <unistd.h>

#include "plugins/providers/local/local.h"

static void forget_note(const alineo_provider *self, const char *id) {
    al_autofd int folder = -1;
    if (local_id_is_valid(id) && local_folder_open(self->run_dir, LOCAL_ENDED, &folder) == 0)
        (void)unlinkat(folder, id, 0);
}

alineo_code local_destroy(alineo_provider *self, const char *id, alineo_call *call,
                          alineo_error **err) {
    struct local_connection *connection;
    alineo_code code = local_ask(self, id, LOCAL_DESTROY, NULL, NULL, 0, call, &connection, err);
    /* Whoever closes it has no further question. */
    if (code == ALINEO_SANDBOX_NOT_FOUND)
        forget_note(self, id);
    if (code != ALINEO_OK)
        return code;
    local_connection_drop(connection);
    local_connections_forget(self, id);
    return ALINEO_OK;
}

/* A request whose answer is the state after it. FOUND may be NULL. */
static alineo_code change(alineo_provider *self, const char *id, uint32_t type, const void *request,
                          const alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                          alineo_error **err) {
    struct local_connection *connection;
    alineo_code code = local_ask(self, id, type, request, NULL, 0, call, &connection, err);
    if (code != ALINEO_OK)
        return code;
    struct local_state state;
    if (local_message_decode(&connection->in, LOCAL_STATE, &state) != 0) {
        local_connection_drop(connection);
        return local_fail_garbled(self, err);
    }
    if (found != NULL)
        (void)local_tell(&state, found, user);
    local_clear(&local_state_schema, &state);
    local_connection_give(self, connection);
    return ALINEO_OK;
}

alineo_code local_renew_sandbox(alineo_provider *self, const char *id, int64_t lifetime_ms,
                                alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                                alineo_error **err) {
    if (lifetime_ms < ALINEO_FOREVER || lifetime_ms > LOCAL_MS_MAX)
        return LOCAL_FAIL(self, err, ALINEO_INVALID_ARGUMENT, NULL,
                          "renew the sandbox %s: a lifetime of %lld ms makes no sense", id,
                          (long long)lifetime_ms);
    struct local_renew renew = {lifetime_ms == 0 ? ALINEO_FOREVER : lifetime_ms};
    return change(self, id, LOCAL_RENEW, &renew, call, found, user, err);
}

alineo_code local_pause(alineo_provider *self, const char *id, alineo_call *call,
                        alineo_error **err) {
    return change(self, id, LOCAL_PAUSE, NULL, call, NULL, NULL, err);
}

alineo_code local_unpause(alineo_provider *self, const char *id, alineo_call *call,
                          alineo_error **err) {
    return change(self, id, LOCAL_UNPAUSE, NULL, call, NULL, NULL, err);
}

alineo_code local_patch_metadata(alineo_provider *self, const char *id, const char *const *metadata,
                                 alineo_call *call, alineo_error **err) {
    struct local_metadata patch = {local_list_of(metadata)};
    if (patch.pairs.count % 2 != 0)
        return LOCAL_FAIL(self, err, ALINEO_INVALID_ARGUMENT, NULL,
                          "change the metadata of the sandbox %s: a value is missing", id);
    return change(self, id, LOCAL_METADATA, &patch, call, NULL, NULL, err);
}
