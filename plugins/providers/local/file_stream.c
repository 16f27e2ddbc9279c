/* SPDX-License-Identifier: Apache-2.0 */
/* Work on trees of files: a process in the sandbox does it and tells on a socket of its own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/msg.h"
#include "plugins/providers/local/local.h"

enum {
    SILENCE_MS = 600000 /* a worker that finds nothing for so long is taken for dead */
};

/* Takes one message; *IS_END when it was the last. */
static alineo_code take_message(alineo_provider *self, const struct local_message *in,
                                const struct local_file *file, alineo_file_info_fn *found,
                                void *user, uint64_t *count, bool *is_end, alineo_error **err) {
    struct local_entry entry;
    struct local_stream_end end;
    if (found != NULL && local_message_decode(in, LOCAL_ENTRY, &entry) == 0) {
        *is_end = local_file_tell(entry.path, &entry.info, found, user) != 0;
        return ALINEO_OK;
    }
    if (local_message_decode(in, LOCAL_STREAM_END, &end) != 0)
        return local_fail_garbled(self, err);
    *is_end = true;
    if (end.errnum != 0)
        return local_file_fail(self, err, file, (int)end.errnum, end.path);
    if (count != NULL)
        *count = end.count;
    return ALINEO_OK;
}

static alineo_code follow(alineo_provider *self, int fd, const struct local_file *file,
                          const alineo_call *call, alineo_file_info_fn *found, void *user,
                          uint64_t *count, alineo_error **err) {
    al_auto(local_message_free) struct local_message in = {0};
    bool is_end = false;
    alineo_code code = ALINEO_OK;
    while (code == ALINEO_OK && !is_end) {
        code = local_wait(self, fd, call, al_deadline_after_ms(SILENCE_MS),
                          "wait for work on files of the sandbox", err);
        if (code != ALINEO_OK)
            break;
        int rc = local_link_receive(fd, &local_link_untrusted, &in, al_deadline_after_ms(0));
        if (rc == 0)
            code = take_message(self, &in, file, found, user, count, &is_end, err);
        else if (rc == ENOTCONN)
            code = LOCAL_FAIL(self, err, ALINEO_IO, NULL,
                              "work on %s: it was cut short in the sandbox", file->path);
        else if (rc != ETIMEDOUT)
            code = local_fail_errno(self, err, rc, "hear of work on files of the sandbox");
    }
    return code;
}

alineo_code local_file_stream(alineo_provider *self, const char *id, const struct local_file *file,
                              const alineo_call *call, alineo_file_info_fn *found, void *user,
                              uint64_t *count, alineo_error **err) {
    int pair[2];
    struct local_file_done done;
    struct local_connection *connection;
    int rc = al_msg_pair(&pair[0], &pair[1]);
    if (rc != 0)
        return local_fail_errno(self, err, rc, "work on files of the sandbox");
    al_autofd int ours = pair[0];
    alineo_code code = local_file_ask(self, id, file, pair[1], call, &connection, &done, err);
    al_close(pair[1]);
    if (code != ALINEO_OK)
        return code;
    local_connection_give(self, connection);
    return follow(self, ours, file, call, found, user, count, err);
}

alineo_code local_file_list(alineo_provider *self, const char *id,
                            const alineo_file_request *request, alineo_file_info_fn *found,
                            void *user, alineo_error **err) {
    struct local_file file;
    alineo_code code = local_file_fill(self, LOCAL_FILE_LIST, request, &file, err);
    if (code == ALINEO_OK)
        code = local_file_stream(self, id, &file, request->call, found, user, NULL, err);
    return code;
}

alineo_code local_file_search(alineo_provider *self, const char *id,
                              const alineo_file_request *request, alineo_file_info_fn *found,
                              void *user, alineo_error **err) {
    struct local_file file;
    alineo_file_request below = *request;
    if (below.path == NULL)
        below.path = "/";
    if (request->pattern == NULL || request->pattern[0] == '\0')
        return LOCAL_FAIL(self, err, ALINEO_INVALID_ARGUMENT, NULL,
                          "search %s: there is no pattern", below.path);
    alineo_code code = local_file_fill(self, LOCAL_FILE_SEARCH, &below, &file, err);
    if (code != ALINEO_OK)
        return code;
    file.pattern = request->pattern;
    return local_file_stream(self, id, &file, request->call, found, user, NULL, err);
}

alineo_code local_file_replace(alineo_provider *self, const char *id,
                               const alineo_file_request *request, uint64_t *count,
                               alineo_error **err) {
    struct local_file file;
    if (request->find == NULL || request->find_size == 0)
        return LOCAL_FAIL(self, err, ALINEO_INVALID_ARGUMENT, NULL,
                          "replace in %s: there is nothing to look for", request->path);
    alineo_code code = local_file_fill(self, LOCAL_FILE_REPLACE, request, &file, err);
    if (code != ALINEO_OK)
        return code;
    file.find = (struct local_bytes){request->find, request->find_size};
    file.replacement = (struct local_bytes){request->replacement, request->replacement_size};
    if (file.replacement.data == NULL)
        file.replacement.data = "";
    return local_file_stream(self, id, &file, request->call, NULL, NULL, count, err);
}

alineo_code local_file_rmdir(alineo_provider *self, const char *id,
                             const alineo_file_request *request, alineo_error **err) {
    struct local_file file;
    struct local_file_done done;
    struct local_connection *connection;
    bool is_tree = (request->flags & ALINEO_FILE_RECURSIVE) != 0;
    alineo_code code =
        local_file_fill(self, is_tree ? LOCAL_FILE_RMTREE : LOCAL_FILE_RMDIR, request, &file, err);
    if (code != ALINEO_OK)
        return code;
    if (is_tree)
        return local_file_stream(self, id, &file, request->call, NULL, NULL, NULL, err);
    code = local_file_ask(self, id, &file, -1, request->call, &connection, &done, err);
    if (code == ALINEO_OK)
        local_connection_give(self, connection);
    return code;
}

alineo_code local_file_move(alineo_provider *self, const char *id,
                            const alineo_file_request *request, alineo_error **err) {
    struct local_file file;
    struct local_connection *connection;
    alineo_code code = local_file_fill(self, LOCAL_FILE_MOVE, request, &file, err);
    if (code == ALINEO_OK)
        code = local_ask(self, id, LOCAL_FILE, &file, NULL, 0, request->call, &connection, err);
    if (code != ALINEO_OK)
        return code;
    struct local_file_done done;
    if (local_message_decode(&connection->in, LOCAL_FILE_DONE, &done) != 0) {
        local_connection_drop(connection);
        return local_fail_garbled(self, err);
    }
    uint32_t errnum = done.errnum;
    local_connection_give(self, connection);
    if (errnum == EXDEV) {
        file.op = LOCAL_FILE_COPY;
        return local_file_stream(self, id, &file, request->call, NULL, NULL, NULL, err);
    }
    return errnum == 0 ? ALINEO_OK : local_file_fail(self, err, &file, (int)errnum, NULL);
}
