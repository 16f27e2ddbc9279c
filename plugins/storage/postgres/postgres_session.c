/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/postgres/postgres_store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/cleanup.h"
#include "plugins/storage/postgres/postgres_statements.h"

/* --- the query -------------------------------------------------------------------------------- */

#define ID POSTGRES_ID("e.")
#define NAME POSTGRES_NAME("e.")
#define RUN POSTGRES_RUN("e.")
#define IS_CREATED POSTGRES_IS_CREATED("c.")
#define IS_CLOSED POSTGRES_IS_CLOSED("c.")
#define IS_STEP POSTGRES_IS_STEP("c.")
#define OTHER_ID POSTGRES_ID("c.")
#define OTHER_NAME POSTGRES_NAME("c.")
/* Rows `c` of the session of `e`. */
#define OF_SESSION                                                                                 \
    "FROM alineo_events c WHERE " OTHER_ID " = " ID " AND " OTHER_NAME " = " NAME " AND "
/* A session begins with the first of its created rows, and is listed by it alone. A subquery that
 * counts is not turned into a join, which would read all rows before it gives the first. */
#define NONE_EARLIER                                                                               \
    "(SELECT count(*) " OF_SESSION IS_CREATED " AND (c.ts, c.id) < (e.ts, e.id)) = 0"
#define CLOSED_COUNT "(SELECT count(*) " OF_SESSION IS_CLOSED ")"
#define COMPLETED "coalesce((SELECT max(c.ts) " OF_SESSION IS_CLOSED "), 0)"
#define EXEC_COUNT                                                                                 \
    "(SELECT count(*) " OF_SESSION IS_STEP " AND c.event IN ('exec_complete', 'exec.completed'))"
#define LAST_STEP                                                                                  \
    "coalesce((SELECT c.step_idx " OF_SESSION IS_STEP " ORDER BY c.step_idx DESC LIMIT 1), -1)"

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

#define IS_LISTED POSTGRES_IS_CREATED("e.") " AND " NONE_EARLIER
#define COLUMNS                                                                                    \
    "SELECT e.name, e.sandbox_id, e.ts, e.payload::text, " RUN                                     \
    ", e.payload ->> 'provider', " COMPLETED ", " EXEC_COUNT ", " LAST_STEP                        \
    " FROM alineo_events e WHERE " IS_LISTED

/* What the parameters stand for. */
enum {
    BIND_NAME,
    BIND_RUN,
    BIND_BEFORE,
    BIND_LIMIT,
    BIND_CURSOR_TS,
    BIND_CURSOR_ID,
    BIND_CURSOR_NAME,
    BIND_COUNT
};

/* What fits into the index finds the rows, and the whole decides. */
#define RUN_IS_WANTED POSTGRES_RUN_KEY(RUN) " = " POSTGRES_RUN_KEY("$2::text") " AND " RUN " = $2"

/* Parameters that are not used are there all the same, and need a type. */
static void write_list_query(const alineo_session_request *request, bool has_cursor, al_buf *out) {
    al_buf_append_str(out, COLUMNS);
    al_buf_append_str(out,
                      request->name != NULL ? " AND " NAME " = $1::text" : " AND $1::text IS NULL");
    al_buf_append_str(out,
                      request->run_id != NULL ? " AND " RUN_IS_WANTED : " AND $2::text IS NULL");
    al_buf_append_str(out,
                      request->before_ms != 0 ? " AND e.ts < $3::int8" : " AND $3::int8 IS NULL");
    if (request->status != ALINEO_SESSION_ANY)
        al_buf_append_str(out, request->status == ALINEO_SESSION_RUNNING
                                   ? " AND " CLOSED_COUNT " = 0"
                                   : " AND " CLOSED_COUNT " > 0");
    al_buf_append_str(out, has_cursor
                               ? " AND e.ts <= $5::int8 AND (e.ts < $5 OR (" ID ", " NAME
                                 ") > ($6::text, $7::text))"
                               : " AND $5::int8 IS NULL AND $6::text IS NULL AND $7::text IS NULL");
    al_buf_append_str(out, " ORDER BY e.ts DESC, " ID ", " NAME " LIMIT $4::int8");
}

/* --- rows ------------------------------------------------------------------------------------- */

static int add_session(const PGresult *rows, int row, common_session_page *page) {
    alineo_session session = {.size = sizeof(session)};
    session.name = postgres_text(rows, row, COLUMN_NAME);
    session.sandbox_id = postgres_text(rows, row, COLUMN_SANDBOX_ID);
    session.run_id = postgres_text(rows, row, COLUMN_RUN);
    session.provider = postgres_text(rows, row, COLUMN_PROVIDER);
    session.started_at_ms = postgres_int64(rows, row, COLUMN_STARTED);
    session.completed_at_ms = postgres_int64(rows, row, COLUMN_COMPLETED);
    session.status =
        session.completed_at_ms != 0 ? ALINEO_SESSION_COMPLETED : ALINEO_SESSION_RUNNING;
    session.exec_count = (uint64_t)postgres_int64(rows, row, COLUMN_EXECS);
    session.last_step = (int32_t)postgres_int64(rows, row, COLUMN_LAST_STEP);
    session.created_payload = postgres_text(rows, row, COLUMN_PAYLOAD);
    session.created_payload_size = (size_t)PQgetlength(rows, row, COLUMN_PAYLOAD);
    return common_session_page_add(page, &session);
}

/* At most `limit` of the rows. */
static int add_sessions(const PGresult *rows, size_t limit, common_session_page *page) {
    int rc = 0;
    common_session_page_clear(page);
    for (int row = 0; rc == 0 && row < PQntuples(rows) && page->count < limit; row++)
        rc = add_session(rows, row, page);
    return rc;
}

/* --- lists ------------------------------------------------------------------------------------ */

static const char listing[] = "list sessions of";

/* One page: read with a connection, given without. */
typedef struct listing_page {
    const alineo_session_request *request;
    const common_session_cursor *cursor; /* NULL = from the newest */
    size_t limit;
    bool more; /* there are others behind it */
    common_session_page sessions;
} listing_page;

static alineo_code read_page(postgres_connection *connection, void *user, alineo_error **err) {
    listing_page *page = user;
    const alineo_session_request *request = page->request;
    char before[24], limit[24], cursor_ts[24];
    (void)snprintf(before, sizeof(before), "%" PRId64, request->before_ms);
    (void)snprintf(limit, sizeof(limit), "%zu", page->limit + 1);
    al_auto(al_buf_free) al_buf query = AL_BUF_INIT;
    write_list_query(request, page->cursor != NULL, &query);
    if (query.error != 0)
        return postgres_no_memory(connection->store, listing, err);
    postgres_step step = {.text = query.data, .count = BIND_COUNT};
    step.values[BIND_NAME] = request->name;
    step.values[BIND_RUN] = request->run_id;
    step.values[BIND_BEFORE] = request->before_ms != 0 ? before : NULL;
    step.values[BIND_LIMIT] = limit;
    if (page->cursor != NULL) {
        (void)snprintf(cursor_ts, sizeof(cursor_ts), "%" PRId64, page->cursor->started_at_ms);
        step.values[BIND_CURSOR_TS] = cursor_ts;
        step.values[BIND_CURSOR_ID] = page->cursor->sandbox_id;
        step.values[BIND_CURSOR_NAME] = page->cursor->name;
    }
    PGresult *rows = NULL;
    alineo_code code = postgres_run(connection, POSTGRES_ANSWER_ANY, &step, listing, &rows, err);
    if (code != ALINEO_OK)
        return code;
    page->more = PQntuples(rows) > (int)page->limit;
    if (add_sessions(rows, page->limit, &page->sessions) != 0)
        code = postgres_no_memory(connection->store, listing, err);
    PQclear(rows);
    return code;
}

static alineo_code fetch_page(alineo_storage *self, const char *from, alineo_call *call,
                              listing_page *page, alineo_error **err) {
    common_session_cursor cursor = {0};
    int rc = from != NULL ? common_session_cursor_parse(&cursor, from) : 0;
    if (rc == EINVAL)
        return self->host->fail(self->host, err, ALINEO_INVALID_ARGUMENT,
                                "use a cursor that an earlier listing gave",
                                "list sessions of %s: \"%.63s\" is no cursor", self->target, from);
    if (rc != 0)
        return postgres_no_memory(self, listing, err);
    page->cursor = from != NULL ? &cursor : NULL;
    alineo_code code = postgres_do(self, call, read_page, page, err);
    page->cursor = NULL;
    common_session_cursor_free(&cursor);
    return code;
}

/* *left is what the limit leaves; *cursor goes on behind what was given, NULL at the end. */
static alineo_code list_page(alineo_storage *self, listing_page *page, alineo_call *call,
                             char **cursor, uint64_t *left, alineo_session_fn *found, void *user,
                             bool *goes_on, alineo_error **err) {
    page->limit = *left < COMMON_PAGE_COUNT ? (size_t)*left : COMMON_PAGE_COUNT;
    alineo_code code =
        fetch_page(self, *cursor != NULL ? *cursor : page->request->cursor, call, page, err);
    if (code != ALINEO_OK)
        return code;
    size_t given = 0;
    bool whole = common_session_page_give(&page->sessions, found, user, &given);
    *left -= given;
    self->host->free(self->host, AL_STEAL(*cursor));
    *goes_on = whole && page->more && *left > 0;
    if (!page->more && whole)
        return ALINEO_OK;
    *cursor = common_session_cursor_make(self->host, &page->sessions.sessions[given - 1]);
    return *cursor != NULL ? ALINEO_OK : postgres_no_memory(self, listing, err);
}

alineo_code postgres_session_list(alineo_storage *self, const alineo_session_request *request,
                                  alineo_call *call, alineo_session_fn *found, void *user,
                                  char **next_cursor, alineo_error **err) {
    listing_page *page = calloc(1, sizeof(*page));
    if (page == NULL)
        return postgres_no_memory(self, listing, err);
    page->request = request;
    uint64_t left = request->limit != 0 ? request->limit : UINT64_MAX;
    char *cursor = NULL;
    bool goes_on = true;
    alineo_code code = ALINEO_OK;
    while (code == ALINEO_OK && goes_on)
        code = list_page(self, page, call, &cursor, &left, found, user, &goes_on, err);
    common_session_page_free(&page->sessions);
    free(page);
    if (code == ALINEO_OK)
        *next_cursor = cursor;
    else
        self->host->free(self->host, cursor);
    return code;
}

/* --- one session ------------------------------------------------------------------------------ */

#define IS_END POSTGRES_IS_END("e.")
#define GET_QUERY COLUMNS " AND " IS_END " AND " ID " = $1"
/* Of several names the one that started last. */
#define GET_ORDER " ORDER BY e.ts DESC, " NAME " LIMIT 1"

typedef struct one_session {
    const char *name;
    const char *sandbox_id;
    common_session_page page;
} one_session;

static alineo_code find_session(postgres_connection *connection, void *user, alineo_error **err) {
    static const char doing[] = "look up a session in";
    one_session *one = user;
    const alineo_storage *self = connection->store;
    postgres_step step = {.text = one->name != NULL ? GET_QUERY
                                      " AND " POSTGRES_NAME("e.") " = $2" GET_ORDER
                                                    : GET_QUERY GET_ORDER,
                          .count = one->name != NULL ? 2 : 1,
                          .values = {one->sandbox_id, one->name}};
    PGresult *rows = NULL;
    alineo_code code = postgres_run(connection, POSTGRES_ANSWER_MS, &step, doing, &rows, err);
    if (code != ALINEO_OK)
        return code;
    if (add_sessions(rows, 1, &one->page) != 0)
        code = postgres_no_memory(self, doing, err);
    else if (one->page.count == 0)
        code = self->host->fail(self->host, err, ALINEO_SESSION_NOT_FOUND,
                                "`alineo ps --all` lists the sessions of the ledger",
                                "%s has no session %s%s%s", self->target, one->sandbox_id,
                                one->name != NULL ? " of the name " : "",
                                one->name != NULL ? one->name : "");
    PQclear(rows);
    return code;
}

alineo_code postgres_session_get(alineo_storage *self, const char *name, const char *sandbox_id,
                                 alineo_session_fn *found, void *user, alineo_error **err) {
    one_session *one = calloc(1, sizeof(*one));
    if (one == NULL)
        return postgres_no_memory(self, "look up a session in", err);
    one->name = name;
    one->sandbox_id = sandbox_id;
    alineo_code code = postgres_do(self, NULL, find_session, one, err);
    size_t given = 0;
    if (code == ALINEO_OK)
        (void)common_session_page_give(&one->page, found, user, &given);
    common_session_page_free(&one->page);
    free(one);
    return code;
}
