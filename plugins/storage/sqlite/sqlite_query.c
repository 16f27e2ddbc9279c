/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/sqlite/sqlite_query.h"

#include "core/util/buf.h"

/* clang-format off */
#define NEWEST(event) "coalesce((SELECT max(c.ts) " SQLITE_ENDS(event) "), 0)"
/* A session begins with the first of its created rows, and is listed by it alone. */
#define NONE_EARLIER(event)                                                                        \
    " AND NOT EXISTS (SELECT 1 " SQLITE_ENDS(event)                                                \
    " AND (c.ts < e.ts OR (c.ts = e.ts AND c.id < e.id)))"
/* Rows of its execs, from alineo_c_steps. */
#define STEPS                                                                                      \
    "FROM alineo_events c INDEXED BY alineo_c_steps WHERE c.sandbox_id = e.sandbox_id "            \
    "AND c.name = e.name AND " SQLITE_STEP("c.event")
#define EXEC_COUNT "(SELECT count(*) " STEPS " AND c.event IN ('exec_complete', 'exec.completed'))"
#define LAST_STEP "coalesce((SELECT c.step_idx " STEPS " ORDER BY c.step_idx DESC LIMIT 1), -1)"

#define COLUMNS                                                                                    \
    "SELECT e.name, e.sandbox_id, e.ts, e.payload, "                                               \
    SQLITE_RUN_OF("e.payload", "e.sandbox_id") ", "                                                \
    "CASE WHEN json_valid(e.payload) THEN json_extract(e.payload, '$.provider') END, "             \
    "max(" NEWEST("sandbox_closed") ", " NEWEST("sandbox.closed") "), "                            \
    EXEC_COUNT ", " LAST_STEP " "
#define CONDITION                                                                                  \
    "WHERE " SQLITE_CREATED("e.event") NONE_EARLIER("sandbox_created")                             \
    NONE_EARLIER("sandbox.created")
/* clang-format on */

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

static void write_filters(const alineo_session_request *request, bool has_cursor, al_buf *out) {
    if (request->name != NULL)
        al_buf_append_str(out, " AND e.name = ?1");
    if (request->run_id != NULL)
        al_buf_append_str(out, " AND " SQLITE_RUN_OF("e.payload", "e.sandbox_id") " = ?2");
    if (request->before_ms != 0)
        al_buf_append_str(out, " AND e.ts < ?3");
    if (request->status == ALINEO_SESSION_RUNNING)
        al_buf_append_str(out, " AND NOT " SQLITE_IS_CLOSED);
    else if (request->status == ALINEO_SESSION_COMPLETED)
        al_buf_append_str(out, " AND " SQLITE_IS_CLOSED);
    if (has_cursor)
        al_buf_append_str(out, " AND e.ts <= ?5 AND (e.ts < ?5 OR e.sandbox_id > ?6 OR "
                               "(e.sandbox_id = ?6 AND e.name > ?7))");
}

/* The index is named, since it is what makes a list cost what it returns: SQLite has no statistics
 * that would tell it so. Open sessions are few among many closed ones, which no index tells apart:
 * those of old come from the set of what was open, and only new ones are looked at. */
static void write_list(const alineo_session_request *request, bool has_cursor, al_buf *out) {
    const char *index = request->run_id != NULL ? "alineo_c_created_run"
                        : request->name != NULL ? "alineo_c_created_name"
                                                : "alineo_c_created";
    bool is_open = request->status == ALINEO_SESSION_RUNNING;
    al_buf_printf(out, "%sFROM alineo_events e INDEXED BY %s %s", COLUMNS, index, CONDITION);
    if (is_open)
        al_buf_append_str(out, " AND e.id > " SQLITE_OPEN_UPTO);
    write_filters(request, has_cursor, out);
    if (is_open) {
        al_buf_append_str(out, " UNION ALL " COLUMNS "FROM alineo_c_open o CROSS JOIN "
                               "alineo_events e ON e.id = o.created_id " CONDITION
                               " AND e.id <= " SQLITE_OPEN_UPTO);
        write_filters(request, has_cursor, out);
    }
    al_buf_append_str(out, " ORDER BY 3 DESC, 2, 1 LIMIT ?4");
}

static int bind_text(sqlite3_stmt *statement, int at, const char *text) {
    return text != NULL ? sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC) : SQLITE_OK;
}

static int bind_list(sqlite3_stmt *statement, const alineo_session_request *request,
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

int sqlite_query_list(sqlite3 *db, const alineo_session_request *request,
                      const common_session_cursor *cursor, int64_t limit, sqlite3_stmt **out) {
    al_auto(al_buf_free) al_buf query = AL_BUF_INIT;
    write_list(request, cursor != NULL, &query);
    if (query.error != 0)
        return SQLITE_NOMEM;
    int rc = sqlite3_prepare_v2(db, query.data, (int)query.size, out, NULL);
    return rc == SQLITE_OK ? bind_list(*out, request, cursor, limit) : rc;
}

#define GET_QUERY                                                                                  \
    COLUMNS "FROM alineo_events e INDEXED BY alineo_c_ends " CONDITION                             \
            " AND e.sandbox_id = ?2 AND " SQLITE_END("e.event")
#define GET_ORDER " ORDER BY e.ts DESC, e.name LIMIT 1"

int sqlite_query_session(sqlite3 *db, const char *name, const char *sandbox_id,
                         sqlite3_stmt **out) {
    int rc = sqlite3_prepare_v2(
        db, name != NULL ? GET_QUERY " AND e.name = ?1" GET_ORDER : GET_QUERY GET_ORDER, -1, out,
        NULL);
    if (rc == SQLITE_OK)
        rc = bind_text(*out, 1, name);
    return rc == SQLITE_OK ? bind_text(*out, 2, sandbox_id) : rc;
}
