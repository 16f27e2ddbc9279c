/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes of the fake remote provider. */
#include "plugin.h"

#include "core/util/cleanup.h"
#include "core/util/str.h"
#include "core/util/strv.h"

#include <poll.h>
#include <string.h>

enum {
    POLL_MS = 5,
    READY_TRIES = 400
};

static void begin(al_json_writer *writer, al_buf *text, const char *op, const char *id) {
    al_json_write_init(writer, text);
    al_json_write_object_begin(writer);
    al_json_put_str(writer, "op", op);
    if (id != NULL)
        al_json_put_str(writer, "id", id);
}

/* One request, one answer. The writer's object is closed here. */
static alineo_code ask(alineo_provider *self, const char *what, al_json_writer *writer,
                       al_buf *text, al_json **answer, alineo_error **err) {
    int fd = -1;
    al_json_write_object_end(writer);
    alineo_code code = remote_begin(self, what, writer, text, &fd, err);
    if (code == ALINEO_OK) {
        code = remote_answer(self, what, fd, answer, err);
        close(fd);
    }
    return code;
}

static alineo_code ask_by_id(alineo_provider *self, const char *what, const char *op,
                             const char *id, al_json **answer, alineo_error **err) {
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    al_json_writer writer;
    begin(&writer, &text, op, id);
    return ask(self, what, &writer, &text, answer, err);
}

static int32_t tell(const al_json_node *node, alineo_sandbox_info_fn *found, void *user) {
    alineo_sandbox_info info = ALINEO_SANDBOX_INFO_INIT;
    const char *state = "";
    al_auto(al_strv_free) al_strv metadata = AL_STRV_INIT;
    (void)al_json_get_str(al_json_member(node, "id"), &info.id);
    (void)al_json_get_str(al_json_member(node, "name"), &info.name);
    (void)al_json_get_str(al_json_member(node, "image"), &info.image);
    (void)al_json_get_str(al_json_member(node, "state"), &state);
    (void)al_json_get_int(al_json_member(node, "createdAt"), &info.created_at_ms);
    (void)al_json_get_int(al_json_member(node, "expiresAt"), &info.expires_at_ms);
    info.state = strcmp(state, "Running") == 0 ? ALINEO_STATE_RUNNING : ALINEO_STATE_PENDING;
    const al_json_node *pairs = al_json_member(node, "metadata");
    for (const al_json_node *pair = al_json_first(pairs); pair != NULL; pair = al_json_next(pair)) {
        const char *value = "";
        (void)al_json_get_str(pair, &value);
        if (al_strv_append(&metadata, al_json_key(pair, NULL)) != 0 ||
            al_strv_append(&metadata, value) != 0)
            return 1;
    }
    info.metadata = (const char *const *)metadata.items;
    return found(user, &info);
}

/* Waits a little; non-zero when the call is over. */
static alineo_code nap(alineo_provider *self, const char *what, const alineo_call *call,
                       alineo_error **err) {
    const alineo_host *host = self->host;
    struct pollfd wait = {host->call_fd(host, call), POLLIN, 0};
    (void)poll(&wait, 1, POLL_MS);
    if (host->call_cancelled(host, call))
        return host->fail(host, err, ALINEO_CANCELLED, NULL, "%s: cancelled", what);
    if (host->call_remaining_ms(host, call) == 0)
        return host->fail(host, err, ALINEO_TIMEOUT, NULL, "%s: not in time", what);
    return ALINEO_OK;
}

/* Polls until commands can run. */
static alineo_code wait_until_ready(alineo_provider *self, const char *id, alineo_call *call,
                                    alineo_error **err) {
    for (int i = 0; i < READY_TRIES; i++) {
        al_auto(al_json_free) al_json *answer = NULL;
        bool ready = false;
        alineo_code code = ask_by_id(self, "wait for the sandbox", "get", id, &answer, err);
        if (code != ALINEO_OK)
            return code;
        const al_json_node *node = al_json_member(al_json_root(answer), "ok");
        if (al_json_get_bool(al_json_member(node, "ready"), &ready) && ready)
            return ALINEO_OK;
        self->host->call_progress(self->host, call, "create", (uint64_t)i, 0,
                                  "waiting for the server");
        code = nap(self, "create", call, err);
        if (code != ALINEO_OK)
            return code;
    }
    return self->host->fail(self->host, err, ALINEO_EXEC_NOT_READY, NULL,
                            "create: the sandbox %s was never ready for commands", id);
}

alineo_code remote_create(alineo_provider *self, const alineo_create_request *request,
                          alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                          alineo_error **err) {
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    al_auto(al_json_free) al_json *answer = NULL;
    al_json_writer writer;
    const char *id = "";
    alineo_code code = nap(self, "create", call, err);
    if (code != ALINEO_OK)
        return code;
    begin(&writer, &text, "create", NULL);
    al_json_put_str(&writer, "image", request->image);
    al_json_put_str(&writer, "name", request->name);
    al_json_put_int(&writer, "lifetimeMs", request->lifetime_ms);
    remote_put_pairs(&writer, "env", request->env);
    remote_put_pairs(&writer, "metadata", request->metadata);
    code = ask(self, "create", &writer, &text, &answer, err);
    if (code != ALINEO_OK)
        return code;
    (void)al_json_get_str(al_json_member(al_json_member(al_json_root(answer), "ok"), "id"), &id);
    code = wait_until_ready(self, id, call, err);
    if (code == ALINEO_OK)
        code = remote_get(self, id, call, found, user, err);
    if (code != ALINEO_OK) {
        alineo_error *second = NULL;
        (void)remote_destroy(self, id, NULL, &second);
        self->host->drop_error(self->host, second);
    }
    return code;
}

alineo_code remote_get(alineo_provider *self, const char *id, alineo_call *call,
                       alineo_sandbox_info_fn *found, void *user, alineo_error **err) {
    (void)call;
    al_auto(al_json_free) al_json *answer = NULL;
    alineo_code code = ask_by_id(self, "get", "get", id, &answer, err);
    if (code == ALINEO_OK)
        (void)tell(al_json_member(al_json_root(answer), "ok"), found, user);
    return code;
}

alineo_code remote_destroy(alineo_provider *self, const char *id, alineo_call *call,
                           alineo_error **err) {
    (void)call;
    al_auto(al_json_free) al_json *answer = NULL;
    return ask_by_id(self, "destroy", "destroy", id, &answer, err);
}

alineo_code remote_list(alineo_provider *self, const alineo_list_request *request,
                        alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                        char **next_cursor, int32_t *complete, alineo_error **err) {
    (void)call;
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    al_auto(al_json_free) al_json *answer = NULL;
    al_json_writer writer;
    const char *next = NULL;
    begin(&writer, &text, "list", NULL);
    if (request->cursor != NULL)
        al_json_put_str(&writer, "after", request->cursor);
    remote_put_pairs(&writer, "metadata", request->metadata);
    alineo_code code = ask(self, "list", &writer, &text, &answer, err);
    if (code != ALINEO_OK)
        return code;
    const al_json_node *list = al_json_member(al_json_root(answer), "ok");
    for (const al_json_node *item = al_json_first(list); item != NULL; item = al_json_next(item))
        if (tell(item, found, user) != 0)
            break;
    char *cursor = NULL;
    if (al_json_get_str(al_json_member(al_json_root(answer), "next"), &next)) {
        size_t size = strlen(next) + 1;
        cursor = self->host->alloc(self->host, size);
        if (cursor == NULL)
            return self->host->fail(self->host, err, ALINEO_NO_MEMORY, NULL, "list: no memory");
        memcpy(cursor, next, size);
    }
    *next_cursor = cursor;
    *complete = 1;
    return ALINEO_OK;
}

alineo_code remote_renew(alineo_provider *self, const char *id, int64_t lifetime_ms,
                         alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                         alineo_error **err) {
    (void)call;
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    al_auto(al_json_free) al_json *answer = NULL;
    al_json_writer writer;
    begin(&writer, &text, "renew", id);
    al_json_put_int(&writer, "lifetimeMs", lifetime_ms);
    alineo_code code = ask(self, "renew", &writer, &text, &answer, err);
    if (code == ALINEO_OK)
        (void)tell(al_json_member(al_json_root(answer), "ok"), found, user);
    return code;
}
