/* SPDX-License-Identifier: Apache-2.0 */
/* Ports inside: the supervisor listens for them. */
#include <stdio.h>

#include "plugins/providers/local/local.h"

enum {
    PORT_MAX = 65535,
    URL_SIZE = 40
};

alineo_code local_sandbox_endpoint(alineo_provider *self, const char *id,
                                   const alineo_endpoint_request *request,
                                   alineo_endpoint_fn *found, void *user, alineo_error **err) {
    if (request->port < 1 || request->port > PORT_MAX)
        return LOCAL_FAIL(self, err, ALINEO_INVALID_ARGUMENT, NULL, "there is no port %d",
                          (int)request->port);
    if (request->flags != 0 || request->expires_at_ms != 0)
        return LOCAL_FAIL(self, err, ALINEO_INVALID_ARGUMENT,
                          "ask for one that lives as long as it",
                          "reach a port of the sandbox %s: there are no endpoints that end before "
                          "the sandbox",
                          id);
    struct local_endpoint endpoint = {(uint32_t)request->port};
    struct local_connection *connection;
    alineo_code code =
        local_ask(self, id, LOCAL_ENDPOINT, &endpoint, NULL, 0, request->call, &connection, err);
    if (code != ALINEO_OK)
        return code;
    if (local_message_decode(&connection->in, LOCAL_ENDPOINT, &endpoint) != 0) {
        local_connection_drop(connection);
        return local_fail_garbled(self, err);
    }
    char url[URL_SIZE];
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", (unsigned)endpoint.port);
    alineo_endpoint told = ALINEO_ENDPOINT_INIT;
    told.url = url;
    found(user, &told);
    local_connection_give(self, connection);
    return ALINEO_OK;
}
