/* SPDX-License-Identifier: Apache-2.0 */
/* Open sessions among many closed ones, whoever opened, closed, renamed or deleted them. */
#include "tests/support/storage_cases.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/buf.h"
#include "tests/support/folder.h"

extern const alineo_plugin alineo_plugin_storage_sqlite;

typedef struct setting {
    test_folder folder;
    storage_test test;
    sqlite3 *other; /* other software on the same file */
} setting;

static void sql(setting *s, const char *text) {
    char *message = NULL;
    if (sqlite3_exec(s->other, text, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", text, message);
}

static int64_t number(setting *s, const char *text) {
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(s->other, text, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(statement, 0);
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    return value;
}

/* More than makes the set stale, all closed but every hundredth. */
enum {
    SESSIONS = 3000
};

static int set_up(void **state) {
    setting *s = calloc(1, sizeof(*s));
    assert_non_null(s);
    test_folder_make(&s->folder);
    const char *pairs[] = {"path", test_path(&s->folder, "l.db"), "sync", "normal", NULL};
    storage_test_open(&s->test, &alineo_plugin_storage_sqlite, pairs);
    assert_int_equal(sqlite3_open(pairs[1], &s->other), SQLITE_OK);
    assert_int_equal(sqlite3_busy_timeout(s->other, 10000), SQLITE_OK);
    sql(s, "BEGIN");
    for (int i = 0; i < SESSIONS; i++) {
        char text[300];
        (void)snprintf(text, sizeof(text),
                       "INSERT INTO alineo_events(sandbox_id, name, step_idx, event, ts) "
                       "VALUES('s-%04d', 'n', -1, 'sandbox_created', %d), "
                       "('s-%04d', 'n', -1, '%s', %d)",
                       i, i + 1, i, i % 100 == 0 ? "sandbox_paused" : "sandbox_closed", i + 2);
        sql(s, text);
    }
    sql(s, "COMMIT");
    *state = s;
    return 0;
}

static int tear_down(void **state) {
    setting *s = *state;
    storage_test_close(&s->test);
    assert_int_equal(sqlite3_close(s->other), SQLITE_OK);
    test_folder_remove(&s->folder);
    free(s);
    return 0;
}

static int32_t note(void *user, const alineo_session *session) {
    assert_int_equal(session->status, ALINEO_SESSION_RUNNING);
    al_buf_printf(user, "%s ", session->sandbox_id);
    return 0;
}

static void running(setting *s, const alineo_session_request *filters, al_buf *out) {
    alineo_session_request request = *filters;
    request.size = sizeof(request);
    request.status = ALINEO_SESSION_RUNNING;
    char *cursor = NULL;
    alineo_error *error = NULL;
    al_buf_clear(out);
    assert_int_equal(
        s->test.table->session_list(s->test.self, &request, NULL, note, out, &cursor, &error),
        ALINEO_OK);
    s->test.host.host.free(&s->test.host.host, cursor);
}

static void expect_running(setting *s, const alineo_session_request *filters, const char *ids) {
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    running(s, filters, &text);
    assert_string_equal(al_buf_str(&text), ids);
}

/* All that run, as one text, and the count by SQL alone. */
static void expect_all_running(setting *s, size_t count) {
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    running(s, &(alineo_session_request){0}, &text);
    size_t blanks = 0;
    for (size_t i = 0; i < text.size; i++)
        blanks += text.data[i] == ' ';
    assert_int_equal(blanks, count);
    assert_int_equal(
        number(s, "SELECT count(*) FROM alineo_events e WHERE event IN ('sandbox_created', "
                  "'sandbox.created') AND NOT EXISTS (SELECT 1 FROM alineo_events c WHERE "
                  "c.sandbox_id = e.sandbox_id AND +c.name = e.name AND c.event IN "
                  "('sandbox_closed', 'sandbox.closed'))"),
        count);
}

static void lists_before_and_after_the_set_is_made_are_the_same(void **state) {
    setting *s = *state;
    assert_int_equal(number(s, "SELECT count(*) FROM alineo_c_open"), 0);
    expect_all_running(s, SESSIONS / 100);
    assert_int_equal(number(s, "SELECT count(*) FROM alineo_c_open"), SESSIONS / 100);
    expect_all_running(s, SESSIONS / 100);
    expect_running(s, &(alineo_session_request){.limit = 3}, "s-2900 s-2800 s-2700 ");
    expect_running(s, &(alineo_session_request){.limit = 2, .before_ms = 201}, "s-0100 s-0000 ");
    expect_running(s, &(alineo_session_request){.run_id = "s-0500"}, "s-0500 ");
    expect_running(s, &(alineo_session_request){.name = "n", .limit = 1}, "s-2900 ");
    expect_running(s, &(alineo_session_request){.name = "m"}, "");
}

static void old_and_new_open_sessions_are_in_one_order(void **state) {
    setting *s = *state;
    expect_all_running(s, SESSIONS / 100);
    /* Began later, and by its clock in between. */
    storage_put_one(&s->test, "late", "sandbox_created", -1, "{}", 2850);
    storage_put_one(&s->test, "last", "sandbox_created", -1, "{}", 9000);
    expect_running(s, &(alineo_session_request){.limit = 4}, "last s-2900 late s-2800 ");
    alineo_session_request request = {
        .size = sizeof(request), .limit = 2, .status = ALINEO_SESSION_RUNNING};
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    char *cursor = NULL;
    for (int page = 0; page < 2; page++) {
        char *next_cursor = NULL;
        request.cursor = cursor;
        assert_int_equal(s->test.table->session_list(s->test.self, &request, NULL, note, &text,
                                                     &next_cursor, NULL),
                         ALINEO_OK);
        s->test.host.host.free(&s->test.host.host, cursor);
        cursor = next_cursor;
    }
    s->test.host.host.free(&s->test.host.host, cursor);
    assert_string_equal(al_buf_str(&text), "last s-2900 late s-2800 ");
}

static void whatever_others_do_the_list_is_right(void **state) {
    setting *s = *state;
    expect_all_running(s, SESSIONS / 100);
    sql(s, "INSERT INTO alineo_events(sandbox_id, name, step_idx, event, ts) "
           "VALUES('s-0100', 'n', -1, 'sandbox.closed', 9999)");
    expect_all_running(s, SESSIONS / 100 - 1);
    sql(s, "DELETE FROM alineo_events WHERE name = 'n' AND sandbox_id = 's-0200'");
    expect_all_running(s, SESSIONS / 100 - 2);
    sql(s, "UPDATE alineo_events SET event = 'sandbox.created' WHERE event = 'sandbox_created';"
           "UPDATE alineo_events SET event = 'sandbox.closed' WHERE event = 'sandbox_closed'");
    expect_all_running(s, SESSIONS / 100 - 2);
    sql(s, "INSERT INTO alineo_events(sandbox_id, name, step_idx, event, ts) "
           "VALUES('s-0200', 'n', -1, 'sandbox.created', 1), "
           "('s-0001', 'other', -1, 'sandbox_created', 1)");
    expect_all_running(s, SESSIONS / 100);
    /* A new round of many events, then the set is made anew. */
    sql(s, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000) "
           "INSERT INTO alineo_events(sandbox_id, name, step_idx, event, ts) "
           "SELECT 's-0000', 'n', 1, 'exec_event', 10000 FROM n");
    expect_all_running(s, SESSIONS / 100);
    assert_int_equal(number(s, "SELECT count(*) FROM alineo_c_open"), SESSIONS / 100);
    assert_int_equal(number(s, "SELECT count(*) FROM alineo_c_open o LEFT JOIN alineo_events e ON "
                               "e.id = o.created_id WHERE e.id IS NULL"),
                     0);
    expect_all_running(s, SESSIONS / 100);
}

static void a_lock_in_the_way_only_puts_it_off(void **state) {
    setting *s = *state;
    sql(s, "BEGIN IMMEDIATE");
    expect_running(s, &(alineo_session_request){.limit = 1}, "s-2900 ");
    sql(s, "ROLLBACK");
    assert_int_equal(number(s, "SELECT count(*) FROM alineo_c_open"), 0);
    expect_all_running(s, SESSIONS / 100);
    assert_int_equal(number(s, "SELECT count(*) FROM alineo_c_open"), SESSIONS / 100);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(lists_before_and_after_the_set_is_made_are_the_same),
        CASE(old_and_new_open_sessions_are_in_one_order),
        CASE(whatever_others_do_the_list_is_right),
        CASE(a_lock_in_the_way_only_puts_it_off),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
