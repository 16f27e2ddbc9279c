/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/sqlite/sqlite_query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/buf.h"
#include "core/util/cleanup.h"
#include "plugins/common/session_page.h"

/* --- rows ------------------------------------------------------------------------------------- */

static const char *text_of(sqlite3_stmt *row, int column) {
    return (const char *)sqlite3_column_text(row, column);
}

static int add_session(sqlite3_stmt *row, common_session_page *page) {
    alineo_session session = {.size = sizeof(session)};
    session.name = text_of(row, SQLITE_COLUMN_NAME);
    session.sandbox_id = text_of(row, SQLITE_COLUMN_SANDBOX_ID);
    session.run_id = text_of(row, SQLITE_COLUMN_RUN);
    session.provider = text_of(row, SQLITE_COLUMN_PROVIDER);
    session.started_at_ms = sqlite3_column_int64(row, SQLITE_COLUMN_STARTED);
    session.completed_at_ms = sqlite3_column_int64(row, SQLITE_COLUMN_COMPLETED);
    session.status =
        session.completed_at_ms != 0 ? ALINEO_SESSION_COMPLETED : ALINEO_SESSION_RUNNING;
    session.exec_count = (uint64_t)sqlite3_column_int64(row, SQLITE_COLUMN_EXECS);
    session.last_step = sqlite3_column_int(row, SQLITE_COLUMN_LAST_STEP);
    session.created_payload = text_of(row, SQLITE_COLUMN_PAYLOAD);
    session.created_payload_size = (size_t)sqlite3_column_bytes(row, SQLITE_COLUMN_PAYLOAD);
    if (session.name == NULL || session.sandbox_id == NULL || session.run_id == NULL)
        return SQLITE_NOMEM;
    return common_session_page_add(page, &session) == 0 ? SQLITE_OK : SQLITE_NOMEM;
}

/* Steps through the rows; the statement is ended. *more: there are others than `limit` of them. */
static int collect(sqlite3_stmt *statement, int rc, size_t limit, common_session_page *page,
                   bool *more) {
    *more = false;
    while (rc == SQLITE_OK && !*more && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        *more = page->count == limit;
        rc = *more ? SQLITE_OK : add_session(statement, page);
    }
    (void)sqlite3_finalize(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* --- lists ------------------------------------------------------------------------------------ */

/* With the lock of the connection. */
static int read_page(sqlite_connection *connection, const alineo_session_request *request,
                     const common_session_cursor *cursor, size_t limit, common_session_page *page,
                     bool *more) {
    common_session_page_clear(page);
    sqlite3_stmt *statement = NULL;
    int rc = sqlite_query_list(connection->db, request, cursor, (int64_t)limit + 1, &statement);
    return collect(statement, rc, limit, page, more);
}

static alineo_code fetch_page(alineo_storage *self, const alineo_session_request *request,
                              const char *from, size_t limit, alineo_call *call,
                              common_session_page *page, bool *more, alineo_error **err) {
    common_session_cursor cursor = {0};
    int rc = from != NULL ? common_session_cursor_parse(&cursor, from) : 0;
    if (rc == EINVAL)
        return self->host->fail(self->host, err, ALINEO_INVALID_ARGUMENT,
                                "use a cursor that an earlier listing gave",
                                "list sessions of %s: \"%.63s\" is no cursor", self->path, from);
    if (rc != 0)
        return sqlite_no_memory(self, "list sessions of storage sqlite", err);
    sqlite_connection *connection = self->reader;
    (void)al_lock(&connection->lock);
    alineo_code code = sqlite_connect(connection, err);
    if (code == ALINEO_OK) {
        connection->call = call;
        rc = read_page(connection, request, from != NULL ? &cursor : NULL, limit, page, more);
        if (rc != SQLITE_OK)
            code = sqlite_fail(connection, rc, "list sessions of", err);
        connection->call = NULL;
    }
    (void)pthread_mutex_unlock(&connection->lock);
    common_session_cursor_free(&cursor);
    return code;
}

/* One page: read with the lock, given without. *left is what the limit leaves. */
static alineo_code list_page(alineo_storage *self, const alineo_session_request *request,
                             alineo_call *call, char **cursor, common_session_page *page,
                             uint64_t *left, alineo_session_fn *found, void *user, bool *goes_on,
                             alineo_error **err) {
    bool more = false;
    size_t limit = *left < COMMON_PAGE_COUNT ? (size_t)*left : COMMON_PAGE_COUNT;
    alineo_code code = fetch_page(self, request, *cursor != NULL ? *cursor : request->cursor, limit,
                                  call, page, &more, err);
    if (code != ALINEO_OK)
        return code;
    size_t given = 0;
    bool whole = common_session_page_give(page, found, user, &given);
    *left -= given;
    self->host->free(self->host, AL_STEAL(*cursor));
    *goes_on = whole && more && *left > 0;
    if (!more && whole)
        return ALINEO_OK;
    *cursor = common_session_cursor_make(self->host, &page->sessions[given - 1]);
    return *cursor != NULL ? ALINEO_OK
                           : sqlite_no_memory(self, "list sessions of storage sqlite", err);
}

alineo_code sqlite_session_list(alineo_storage *self, const alineo_session_request *request,
                                alineo_call *call, alineo_session_fn *found, void *user,
                                char **next_cursor, alineo_error **err) {
    common_session_page *page = calloc(1, sizeof(*page));
    if (page == NULL)
        return sqlite_no_memory(self, "list sessions of storage sqlite", err);
    uint64_t left = request->limit != 0 ? request->limit : UINT64_MAX;
    char *cursor = NULL;
    bool goes_on = true;
    alineo_code code = ALINEO_OK;
    while (code == ALINEO_OK && goes_on)
        code = list_page(self, request, call, &cursor, page, &left, found, user, &goes_on, err);
    common_session_page_free(page);
    free(page);
    if (code == ALINEO_OK && request->status == ALINEO_SESSION_RUNNING)
        sqlite_open_set_refresh(self);
    if (code == ALINEO_OK)
        *next_cursor = cursor;
    else
        self->host->free(self->host, cursor);
    return code;
}

/* --- one session ------------------------------------------------------------------------------ */

static int read_session(sqlite_connection *connection, const char *name, const char *sandbox_id,
                        common_session_page *page) {
    sqlite3_stmt *statement = NULL;
    int rc = sqlite_query_session(connection->db, name, sandbox_id, &statement);
    bool more = false;
    return collect(statement, rc, 1, page, &more);
}

static alineo_code find_session(alineo_storage *self, const char *name, const char *sandbox_id,
                                common_session_page *page, alineo_error **err) {
    sqlite_connection *connection = self->reader;
    al_autolock(&connection->lock);
    alineo_code code = sqlite_connect(connection, err);
    if (code != ALINEO_OK)
        return code;
    int rc = read_session(connection, name, sandbox_id, page);
    if (rc != SQLITE_OK)
        return sqlite_fail(connection, rc, "look up a session in", err);
    if (page->count > 0)
        return ALINEO_OK;
    return self->host->fail(self->host, err, ALINEO_SESSION_NOT_FOUND,
                            "`alineo ps --all` lists the sessions of the ledger",
                            "%s has no session %s%s%s", self->path, sandbox_id,
                            name != NULL ? " of the name " : "", name != NULL ? name : "");
}

alineo_code sqlite_session_get(alineo_storage *self, const char *name, const char *sandbox_id,
                               alineo_session_fn *found, void *user, alineo_error **err) {
    common_session_page *page = calloc(1, sizeof(*page));
    if (page == NULL)
        return sqlite_no_memory(self, "look up a session in storage sqlite", err);
    alineo_code code = find_session(self, name, sandbox_id, page, err);
    size_t given = 0;
    if (code == ALINEO_OK)
        (void)common_session_page_give(page, found, user, &given);
    common_session_page_free(page);
    free(page);
    return code;
}
