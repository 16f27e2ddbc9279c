/* SPDX-License-Identifier: Apache-2.0 */
/* test: timeout=300 */
/* One database, used by this library and by the software whose tables these are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/buf.h"
#include "tests/support/postgres_server.h"

/* What the other side does when it connects. */
static const char *const ITS_SCHEMA =
    "CREATE TABLE IF NOT EXISTS alineo_events (id BIGSERIAL PRIMARY KEY, sandbox_id TEXT NOT NULL, "
    "name TEXT NOT NULL, step_idx INTEGER NOT NULL, branch INTEGER, event TEXT NOT NULL, "
    "payload JSONB, error TEXT, ts BIGINT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS alineo_events_sandbox_id ON alineo_events(sandbox_id);"
    "CREATE INDEX IF NOT EXISTS alineo_events_name ON alineo_events(name);"
    "CREATE TABLE IF NOT EXISTS alineo_environments (name TEXT PRIMARY KEY, snapshot_id TEXT NOT "
    "NULL, image TEXT NOT NULL, built_at BIGINT NOT NULL);";

/* How it lists sessions; newer versions with dotted names. */
#define ITS_LIST(created, closed, complete)                                                        \
    "SELECT name, sandbox_id, min(CASE WHEN event = '" created "' THEN ts END) AS started, "       \
    "max(CASE WHEN event = '" closed "' THEN ts END) AS completed, "                               \
    "sum(CASE WHEN event = '" complete "' THEN 1 ELSE 0 END), "                                    \
    "coalesce(max(CASE WHEN event = '" created                                                     \
    "' THEN payload->>'runId' END), sandbox_id) FROM alineo_events "                               \
    "GROUP BY name, sandbox_id HAVING min(CASE WHEN event = '" created                             \
    "' THEN ts END) IS NOT NULL ORDER BY started DESC, sandbox_id"
static const char *const ITS_FLAT_LIST =
    ITS_LIST("sandbox_created", "sandbox_closed", "exec_complete");
static const char *const ITS_DOTTED_LIST =
    ITS_LIST("sandbox.created", "sandbox.closed", "exec.completed");

typedef struct both {
    postgres_ledger ours; /* with the other side's connection */
    bool is_open;
} both;

static void run(both *b, const char *text) {
    postgres_other_run(b->ours.other, text);
}

static void open_other(both *b) {
    run(b, ITS_SCHEMA);
}

static void open_ours(both *b) {
    postgres_ledger_open(&b->ours, "2");
    b->is_open = true;
}

static int set_up(void **state) {
    both *b = calloc(1, sizeof(*b));
    assert_non_null(b);
    postgres_ledger_make(&b->ours, postgres_shared_url());
    *state = b;
    return 0;
}

static int tear_down(void **state) {
    both *b = *state;
    if (b->is_open)
        storage_test_close(&b->ours.test);
    postgres_ledger_remove(&b->ours);
    free(b);
    return 0;
}

/* A row as the other side writes it. */
static void its_row(both *b, const char *id, const char *name, int step, const char *event,
                    const char *payload, int64_t ts) {
    char step_text[16], ts_text[24];
    (void)snprintf(step_text, sizeof(step_text), "%d", step);
    (void)snprintf(ts_text, sizeof(ts_text), "%lld", (long long)ts);
    const char *values[] = {id, name, step_text, event, payload, ts_text};
    PGresult *result =
        PQexecParams(b->ours.other,
                     "INSERT INTO alineo_events (sandbox_id, name, step_idx, branch, event, "
                     "payload, error, ts) VALUES ($1, $2, $3, NULL, $4, $5, NULL, $6)",
                     6, NULL, values, NULL, NULL, 0);
    assert_int_equal(PQresultStatus(result), PGRES_COMMAND_OK);
    PQclear(result);
}

static void its_answer(both *b, const char *text, al_buf *out) {
    char *rows = postgres_other_ask(b->ours.other, text);
    al_buf_append_str(out, rows);
    free(rows);
}

static int32_t write_line(void *user, const alineo_session *session) {
    al_buf *out = user;
    al_buf_printf(out, "%s|%s|%lld|", session->name, session->sandbox_id,
                  (long long)session->started_at_ms);
    if (session->completed_at_ms != 0)
        al_buf_printf(out, "%lld", (long long)session->completed_at_ms);
    else
        al_buf_append_char(out, '-');
    al_buf_printf(out, "|%llu|%s\n", (unsigned long long)session->exec_count, session->run_id);
    return 0;
}

static void our_answer(both *b, al_buf *out) {
    const alineo_session_request request = {.size = sizeof(request)};
    char *cursor = NULL;
    alineo_error *error = NULL;
    assert_int_equal(b->ours.test.table->session_list(b->ours.test.self, &request, NULL, write_line,
                                                      out, &cursor, &error),
                     ALINEO_OK);
    assert_null(cursor);
}

static void expect_same_list(both *b, const char *its_list) {
    al_auto(al_buf_free) al_buf theirs = AL_BUF_INIT;
    al_auto(al_buf_free) al_buf own = AL_BUF_INIT;
    its_answer(b, its_list, &theirs);
    our_answer(b, &own);
    assert_true(theirs.size > 0);
    assert_string_equal(al_buf_str(&own), al_buf_str(&theirs));
}

/* Sessions as older versions (flat) and newer ones (dotted) leave them. */
static void write_old_sessions(both *b, bool dotted) {
    const char *created = dotted ? "sandbox.created" : "sandbox_created";
    const char *closed = dotted ? "sandbox.closed" : "sandbox_closed";
    const char *start = dotted ? "exec.started" : "exec_start";
    const char *output = dotted ? "exec.output" : "exec_event";
    const char *complete = dotted ? "exec.completed" : "exec_complete";
    its_row(b, "s-1", "ci", -1, created, NULL, 1000);
    its_row(b, "s-1", "ci", 1, start, "{\"cmd\":\"npm ci\",\"seq\":1}", 1001);
    its_row(b, "s-1", "ci", 1, output, "{\"seq\":1,\"type\":\"stdout\",\"text\":\"ok\\n\"}", 1002);
    its_row(b, "s-1", "ci", 1, complete, "{\"seq\":1,\"exitCode\":0}", 1003);
    its_row(b, "s-1", "ci", -1, closed, NULL, 1004);
    its_row(b, "s-2", "ci", -1, created, "{\"runId\":\"run-1\"}", 1500);
    its_row(b, "s-2", "ci", 1, start, "{\"cmd\":\"sleep 1\",\"seq\":1}", 1501);
    its_row(b, "s-3", "dev", -1, created, "{\"runId\":\"run-1\",\"provider\":\"opensandbox\"}",
            1500);
    its_row(b, "s-4", "dev", 1, start, "{\"cmd\":\"x\",\"seq\":1}", 1600);
}

/* --- cases ------------------------------------------------------------------------------------ */

/* Columns and indexes of the shared tables, as the database tells them; and whatever of ours is
 * not named so. */
static const char *const SHAPE =
    "SELECT table_name, column_name, data_type, is_nullable, column_default "
    "FROM information_schema.columns WHERE table_schema = current_schema() "
    "AND table_name IN ('alineo_events', 'alineo_environments') "
    "UNION ALL SELECT tablename, indexname, regexp_replace(indexdef, 'ON \"?[^.]*\"?\\.', 'ON '), '', '' "
    "FROM pg_indexes WHERE schemaname = current_schema() AND indexname NOT LIKE 'alineo\\_c\\_%' "
    "UNION ALL SELECT tablename, '', '', '', '' FROM pg_tables WHERE schemaname = current_schema() "
    "AND tablename NOT LIKE 'alineo\\_c\\_%' ORDER BY 1, 2";

static void the_shared_tables_are_made_to_the_letter(void **state) {
    both *b = *state;
    open_other(b);
    al_auto(al_buf_free) al_buf theirs = AL_BUF_INIT;
    its_answer(b, SHAPE, &theirs);
    run(b, "DROP TABLE alineo_events; DROP TABLE alineo_environments");
    open_ours(b);
    al_auto(al_buf_free) al_buf own = AL_BUF_INIT;
    its_answer(b, SHAPE, &own);
    assert_string_equal(al_buf_str(&own), al_buf_str(&theirs));
    /* It finds all there, and changes nothing. */
    open_other(b);
    al_buf_clear(&own);
    its_answer(b, SHAPE, &own);
    assert_string_equal(al_buf_str(&own), al_buf_str(&theirs));
}

static void its_ledger_is_taken_over(void **state) {
    both *b = *state;
    open_other(b);
    write_old_sessions(b, false);
    open_ours(b);
    expect_same_list(b, ITS_FLAT_LIST);
    assert_int_equal(storage_count(&b->ours.test, NULL), 9);
}

static void a_newer_one_too(void **state) {
    both *b = *state;
    open_other(b);
    write_old_sessions(b, true);
    open_ours(b);
    expect_same_list(b, ITS_DOTTED_LIST);
}

static void it_reads_what_we_write(void **state) {
    both *b = *state;
    open_ours(b);
    open_other(b);
    storage_put_one(&b->ours.test, "n-1", "sandbox_created", -1,
                    "{\"runId\":\"r\",\"provider\":\"local\"}", 2000);
    storage_put_one(&b->ours.test, "n-1", "exec_start", 1, "{\"cmd\":\"a\",\"seq\":1}", 2001);
    /* Our clock went back: it sorts by time, and must see our order all the same. */
    storage_put_one(&b->ours.test, "n-1", "exec_event", 1,
                    "{\"seq\":1,\"type\":\"stdout\",\"text\":\"x\"}", 1990);
    storage_put_one(&b->ours.test, "n-1", "exec_complete", 1, "{\"seq\":1,\"exitCode\":0}", 1995);
    storage_put_one(&b->ours.test, "n-1", "sandbox_closed", -1, "{}", 2010);
    expect_same_list(b, ITS_FLAT_LIST);
    al_auto(al_buf_free) al_buf events = AL_BUF_INIT;
    its_answer(b,
               "SELECT event, ts FROM alineo_events WHERE name = 'name' AND sandbox_id = 'n-1' "
               "ORDER BY ts ASC, id ASC",
               &events);
    assert_string_equal(al_buf_str(&events),
                        "sandbox_created|2000\nexec_start|2001\nexec_event|2001\n"
                        "exec_complete|2001\nsandbox_closed|2010\n");
}

static void both_may_append_by_turns_and_rename_all_rows(void **state) {
    both *b = *state;
    open_other(b);
    write_old_sessions(b, false);
    open_ours(b);
    storage_put_one(&b->ours.test, "s-2", "exec_complete", 1, "{\"seq\":1,\"exitCode\":0}", 1700);
    its_row(b, "s-9", "ci", -1, "sandbox_created", NULL, 1800);
    expect_same_list(b, ITS_FLAT_LIST);
    /* A newer version connects. */
    run(b, "UPDATE alineo_events SET event = 'sandbox.created' WHERE event = 'sandbox_created';"
           "UPDATE alineo_events SET event = 'sandbox.closed' WHERE event = 'sandbox_closed';"
           "UPDATE alineo_events SET event = 'exec.started' WHERE event = 'exec_start';"
           "UPDATE alineo_events SET event = 'exec.output' WHERE event = 'exec_event';"
           "UPDATE alineo_events SET event = 'exec.completed' WHERE event = 'exec_complete'");
    expect_same_list(b, ITS_DOTTED_LIST);
    alineo_ledger_entry entry = storage_entry("s-2", "exec_start", 1, "{}", 1900);
    entry.flags = ALINEO_ENTRY_CLAIMS_STEP;
    assert_int_equal(storage_put(&b->ours.test, &entry, 1, NULL), ALINEO_CONFLICT);
    entry.step_idx = 2;
    assert_int_equal(storage_put(&b->ours.test, &entry, 1, NULL), ALINEO_OK);
    /* It deletes a session, as it does. */
    run(b, "DELETE FROM alineo_events WHERE name = 'ci' AND sandbox_id = 's-1'");
    expect_same_list(b, ITS_DOTTED_LIST);
}

static int32_t note_detail(void *user, const alineo_environment_record *record) {
    al_buf *out = user;
    al_buf_printf(out, "%s %s", record->snapshot_id,
                  record->detail != NULL ? record->detail : "(none)");
    return 0;
}

static void an_environment_it_builds_anew_loses_our_detail(void **state) {
    both *b = *state;
    open_ours(b);
    open_other(b);
    const alineo_environment_record record = {sizeof(record), "py", "snap-1",
                                              "img",          100,  "{\"provider\":\"local\"}"};
    assert_int_equal(b->ours.test.table->environment_put(b->ours.test.self, &record, NULL),
                     ALINEO_OK);
    run(b, "INSERT INTO alineo_environments (name, snapshot_id, image, built_at) "
           "VALUES ('py', 'snap-2', 'img', 200) ON CONFLICT(name) DO UPDATE SET "
           "snapshot_id = excluded.snapshot_id, built_at = excluded.built_at");
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    assert_int_equal(
        b->ours.test.table->environment_get(b->ours.test.self, "py", note_detail, &text, NULL),
        ALINEO_OK);
    assert_string_equal(al_buf_str(&text), "snap-2 (none)");
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(the_shared_tables_are_made_to_the_letter),
        CASE(its_ledger_is_taken_over),
        CASE(a_newer_one_too),
        CASE(it_reads_what_we_write),
        CASE(both_may_append_by_turns_and_rename_all_rows),
        CASE(an_environment_it_builds_anew_loses_our_detail),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
