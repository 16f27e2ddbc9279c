/* SPDX-License-Identifier: Apache-2.0 */
/* Background commands: the supervisor keeps what they print. */
#include "plugins/providers/local/local.h"

alineo_code local_background_attach(alineo_provider *self, const char *id, const char *exec_id,
                                    uint64_t stdout_offset, uint64_t stderr_offset,
                                    alineo_call *call, alineo_exec_io *io, uint64_t *stdout_gap,
                                    uint64_t *stderr_gap, alineo_error **err) {
    struct local_attach attach = {exec_id, stdout_offset, stderr_offset};
    struct local_connection *connection;
    alineo_code code = local_ask(self, id, LOCAL_ATTACH, &attach, NULL, 0, call, &connection, err);
    if (code != ALINEO_OK)
        return code;
    struct local_attached attached;
    if (local_message_decode(&connection->in, LOCAL_ATTACHED, &attached) != 0)
        code = local_fail_garbled(self, err);
    else
        code = local_take_exec(self, id, &connection->in, attached.number, 0, io, err);
    if (code != ALINEO_OK) {
        local_connection_drop(connection);
        return code;
    }
    *stdout_gap = attached.stdout_gap;
    *stderr_gap = attached.stderr_gap;
    local_connection_give(self, connection);
    return ALINEO_OK;
}

static void describe(const struct local_background *one, alineo_background_info *info) {
    *info = (alineo_background_info){.size = sizeof(*info),
                                     .exec_id = one->exec_id,
                                     .command = one->program,
                                     .started_at_ms = one->started_at_ms,
                                     .status = ALINEO_EXEC_STATUS_INIT,
                                     .stdout_size = one->stdout_size,
                                     .stderr_size = one->stderr_size};
    info->status.outcome = (alineo_outcome)one->outcome.outcome;
    info->status.exit_code = (int32_t)one->outcome.exit_code;
    info->status.signal = (int32_t)one->outcome.signal;
    info->status.oom = (int32_t)one->outcome.is_oom;
}

alineo_code local_background_list(alineo_provider *self, const char *id, alineo_call *call,
                                  alineo_background_info_fn *found, void *user,
                                  alineo_error **err) {
    struct local_started after = {0};
    for (;;) {
        struct local_connection *connection;
        struct local_background one;
        alineo_code code =
            local_ask(self, id, LOCAL_BACKGROUND_LIST, &after, NULL, 0, call, &connection, err);
        if (code != ALINEO_OK)
            return code;
        if (local_message_decode(&connection->in, LOCAL_BACKGROUND, &one) != 0) {
            local_connection_drop(connection);
            return local_fail_garbled(self, err);
        }
        alineo_background_info info;
        describe(&one, &info);
        bool is_over = one.number == 0 || found(user, &info) != 0;
        after.number = one.number;
        local_connection_give(self, connection);
        if (is_over)
            return ALINEO_OK;
    }
}

alineo_code local_background_kill(alineo_provider *self, const char *id, const char *exec_id,
                                  alineo_call *call, alineo_error **err) {
    struct local_attach attach = {.exec_id = exec_id};
    struct local_connection *connection;
    alineo_code code =
        local_ask(self, id, LOCAL_BACKGROUND_KILL, &attach, NULL, 0, call, &connection, err);
    if (code == ALINEO_OK)
        local_connection_give(self, connection);
    return code;
}
