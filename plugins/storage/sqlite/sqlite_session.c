/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/sqlite/sqlite_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/buf.h"
#include "core/util/cleanup.h"
#include "plugins/common/session_page.h"

/* --- the query -------------------------------------------------------------------------------- */

/* Rows of the session of `e` with an event of one name, from alineo_c_ends. */
#define ENDS(event)                                                                                \
    "FROM alineo_events c INDEXED BY alineo_c_ends WHERE c.sandbox_id = e.sandbox_id AND "         \
    "c.event = '" event "' AND c.name = e.name"
#define NEWEST(event) "coalesce((SELECT max(c.ts) " ENDS(event) "), 0)"
/* A session begins with the first of its created rows, and is listed by it alone. */
#define NONE_EARLIER(event)                                                                        \
    " AND NOT EXISTS (SELECT 1 " ENDS(event) " AND (c.ts < e.ts OR (c.ts = e.ts AND "              \
                                             "c.id < e.id)))"
#define IS_CLOSED                                                                                  \
    "(EXISTS (SELECT 1 " ENDS("sandbox_closed") ") OR EXISTS (SELECT 1 " ENDS("sandbox.closed") "))"
/* Those of its execs, from alineo_c_steps. */
#define IS_STEP SQLITE_STEP("c.event")
#define STEPS                                                                                      \
    "FROM alineo_events c INDEXED BY alineo_c_steps WHERE c.sandbox_id = e.sandbox_id "            \
    "AND c.name = e.name AND " IS_STEP
#define EXEC_COUNT "(SELECT count(*) " STEPS " AND c.event IN ('exec_complete', 'exec.completed'))"
#define LAST_STEP "coalesce((SELECT c.step_idx " STEPS " ORDER BY c.step_idx DESC LIMIT 1), -1)"

enum {
    COLUMN_NAME,
    COLUMN_SANDBOX_ID,
    COLUMN_STARTED,
    COLUMN_PAYLOAD,
    COLUMN_RUN,
    COLUMN_PROVIDER,
    COLUMN_COMPLETED,
    COLUMN_EXECS,
    COLUMN_LAST_STEP
};

#define RUN SQLITE_RUN_OF("e.payload", "e.sandbox_id")
#define PROVIDER "CASE WHEN json_valid(e.payload) THEN json_extract(e.payload, '$.provider') END"
#define COMPLETED "max(" NEWEST("sandbox_closed") ", " NEWEST("sandbox.closed") ")"
#define COLUMNS                                                                                    \
    "SELECT e.name, e.sandbox_id, e.ts, e.payload, " RUN ", " PROVIDER ", " COMPLETED              \
    ", " EXEC_COUNT ", " LAST_STEP " FROM alineo_events e "

#define CONDITION                                                                                  \
    "WHERE " SQLITE_CREATED("e") NONE_EARLIER("sandbox_created") NONE_EARLIER("sandbox.created")

/* What the parameters stand for. */
enum {
    BIND_NAME = 1,
    BIND_RUN,
    BIND_BEFORE,
    BIND_LIMIT,
    BIND_CURSOR_TS,
    BIND_CURSOR_ID,
    BIND_CURSOR_NAME
};

/* The index is named, since it is what makes a list cost what it returns: SQLite has no statistics
 * that would tell it so. */
static void write_list_query(const alineo_session_request *request, bool has_cursor, al_buf *out) {
    const char *index = request->run_id != NULL ? "alineo_c_created_run"
                        : request->name != NULL ? "alineo_c_created_name"
                                                : "alineo_c_created";
    al_buf_printf(out, COLUMNS "INDEXED BY %s " CONDITION, index);
    if (request->name != NULL)
        al_buf_append_str(out, " AND e.name = ?1");
    if (request->run_id != NULL)
        al_buf_append_str(out, " AND " SQLITE_RUN_OF("e.payload", "e.sandbox_id") " = ?2");
    if (request->before_ms != 0)
        al_buf_append_str(out, " AND e.ts < ?3");
    if (request->status != ALINEO_SESSION_ANY)
        al_buf_append_str(out, request->status == ALINEO_SESSION_RUNNING ? " AND NOT " IS_CLOSED
                                                                         : " AND " IS_CLOSED);
    if (has_cursor)
        al_buf_append_str(out, " AND e.ts <= ?5 AND (e.ts < ?5 OR e.sandbox_id > ?6 OR "
                               "(e.sandbox_id = ?6 AND e.name > ?7))");
    al_buf_append_str(out, " ORDER BY e.ts DESC, e.sandbox_id, e.name LIMIT ?4");
}

static int bind_text(sqlite3_stmt *statement, int at, const char *text) {
    return text != NULL ? sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC) : SQLITE_OK;
}

static int bind_list_query(sqlite3_stmt *statement, const alineo_session_request *request,
                           const common_session_cursor *cursor, int64_t limit) {
    int rc = bind_text(statement, BIND_NAME, request->name);
    if (rc == SQLITE_OK)
        rc = bind_text(statement, BIND_RUN, request->run_id);
    if (rc == SQLITE_OK && request->before_ms != 0)
        rc = sqlite3_bind_int64(statement, BIND_BEFORE, request->before_ms);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(statement, BIND_LIMIT, limit);
    if (rc == SQLITE_OK && cursor != NULL) {
        rc = sqlite3_bind_int64(statement, BIND_CURSOR_TS, cursor->started_at_ms);
        if (rc == SQLITE_OK)
            rc = bind_text(statement, BIND_CURSOR_ID, cursor->sandbox_id);
        if (rc == SQLITE_OK)
            rc = bind_text(statement, BIND_CURSOR_NAME, cursor->name);
    }
    return rc;
}

/* --- rows ------------------------------------------------------------------------------------- */

static const char *text_of(sqlite3_stmt *row, int column) {
    return (const char *)sqlite3_column_text(row, column);
}

static int add_session(sqlite3_stmt *row, common_session_page *page) {
    alineo_session session = {.size = sizeof(session)};
    session.name = text_of(row, COLUMN_NAME);
    session.sandbox_id = text_of(row, COLUMN_SANDBOX_ID);
    session.run_id = text_of(row, COLUMN_RUN);
    session.provider = text_of(row, COLUMN_PROVIDER);
    session.started_at_ms = sqlite3_column_int64(row, COLUMN_STARTED);
    session.completed_at_ms = sqlite3_column_int64(row, COLUMN_COMPLETED);
    session.status =
        session.completed_at_ms != 0 ? ALINEO_SESSION_COMPLETED : ALINEO_SESSION_RUNNING;
    session.exec_count = (uint64_t)sqlite3_column_int64(row, COLUMN_EXECS);
    session.last_step = sqlite3_column_int(row, COLUMN_LAST_STEP);
    session.created_payload = text_of(row, COLUMN_PAYLOAD);
    session.created_payload_size = (size_t)sqlite3_column_bytes(row, COLUMN_PAYLOAD);
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
    al_auto(al_buf_free) al_buf query = AL_BUF_INIT;
    write_list_query(request, cursor != NULL, &query);
    if (query.error != 0)
        return SQLITE_NOMEM;
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(connection->db, query.data, (int)query.size, &statement, NULL);
    if (rc == SQLITE_OK)
        rc = bind_list_query(statement, request, cursor, (int64_t)limit + 1);
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
    if (code == ALINEO_OK)
        *next_cursor = cursor;
    else
        self->host->free(self->host, cursor);
    return code;
}

/* --- one session ------------------------------------------------------------------------------ */

#define GET_QUERY                                                                                  \
    COLUMNS "INDEXED BY alineo_c_ends " CONDITION                                                  \
            " AND e.sandbox_id = ?2 AND " SQLITE_END("e.event")
/* Of several names the one that started last. */
#define GET_ORDER " ORDER BY e.ts DESC, e.name LIMIT 1"

static int read_session(sqlite_connection *connection, const char *name, const char *sandbox_id,
                        common_session_page *page) {
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(
        connection->db, name != NULL ? GET_QUERY " AND e.name = ?1" GET_ORDER : GET_QUERY GET_ORDER,
        -1, &statement, NULL);
    if (rc == SQLITE_OK)
        rc = bind_text(statement, 1, name);
    if (rc == SQLITE_OK)
        rc = bind_text(statement, 2, sandbox_id);
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
    return self->host->fail(self->host, err, ALINEO_SESSION_NOT_FOUND, NULL,
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
