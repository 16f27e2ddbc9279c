/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/common/session_page.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plugins/common/event_name.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/test.h"
#include "tests/support/test_host.h"

static const alineo_option_spec *const no_options[] = {NULL};

static alineo_session session_of(const char *id, const char *name, int64_t started_ms) {
    alineo_session session = ALINEO_SESSION_INIT;
    session.sandbox_id = id;
    session.name = name;
    session.run_id = "run";
    session.started_at_ms = started_ms;
    session.created_payload = "{\"a\":1}";
    session.created_payload_size = 7;
    return session;
}

static void a_page_owns_what_is_in_it(void **state) {
    (void)state;
    static common_session_page page;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < COMMON_PAGE_COUNT; i++) {
            char id[16];
            (void)snprintf(id, sizeof(id), "id-%d", i);
            alineo_session session = session_of(id, "n", i);
            assert_int_equal(common_session_page_add(&page, &session), 0);
            memset(id, 'x', sizeof(id));
        }
        assert_int_equal(page.count, COMMON_PAGE_COUNT);
        assert_string_equal(page.sessions[77].sandbox_id, "id-77");
        assert_string_equal(page.sessions[77].created_payload, "{\"a\":1}");
        assert_null(page.sessions[77].provider);
        common_session_page_clear(&page);
    }
    common_session_page_free(&page);
}

static int32_t stop_at_two(void *user, const alineo_session *session) {
    (void)session;
    return ++*(int *)user == 2;
}

static void giving_ends_where_the_receiver_says_so(void **state) {
    (void)state;
    static common_session_page page;
    alineo_session session = session_of("a", "n", 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(common_session_page_add(&page, &session), 0);
    int calls = 0;
    size_t given = 0;
    assert_false(common_session_page_give(&page, stop_at_two, &calls, &given));
    assert_int_equal(given, 2);
    assert_int_equal(calls, 2);
    common_session_page_free(&page);
}

static void a_cursor_leads_behind_its_session(void **state) {
    (void)state;
    static const struct {
        const char *id, *name;
        int64_t started_ms;
    } rows[] = {{"box", "name", 17}, {"b/1", "a/b 12/3/", -5}, {"x", "\xc3\xa4", INT64_MAX}};
    test_host host;
    test_host_open(&host, no_options, NULL);
    for (size_t i = 0; i < AL_COUNT(rows); i++) {
        alineo_session session = session_of(rows[i].id, rows[i].name, rows[i].started_ms);
        char *text = common_session_cursor_make(&host.host, &session);
        assert_non_null(text);
        common_session_cursor cursor;
        assert_int_equal(common_session_cursor_parse(&cursor, text), 0);
        assert_int_equal(cursor.started_at_ms, rows[i].started_ms);
        assert_string_equal(cursor.sandbox_id, rows[i].id);
        assert_string_equal(cursor.name, rows[i].name);
        assert_false(
            common_session_is_behind(&cursor, rows[i].started_ms, rows[i].id, rows[i].name));
        assert_true(common_session_is_behind(&cursor, rows[i].started_ms - 1, "", ""));
        assert_true(common_session_is_behind(&cursor, rows[i].started_ms, "zz", ""));
        assert_false(common_session_is_behind(&cursor, rows[i].started_ms, "", "zz"));
        common_session_cursor_free(&cursor);
        host.host.free(&host.host, text);
    }
    test_host_close(&host);
}

static void what_is_no_cursor_is_refused(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",      "1",        "1/",     "1/2",    "x/1/ab",
        "1/x/a", "1/0/name", "1/-1/a", "1/3/ab", "1/99999999999999999999/a"};
    for (size_t i = 0; i < AL_COUNT(bad); i++) {
        common_session_cursor cursor;
        assert_int_equal(common_session_cursor_parse(&cursor, bad[i]), EINVAL);
    }
}

static void try_all(void *state) {
    (void)state;
    static common_session_page page;
    alineo_session session = session_of("a", "n", 1);
    int rc = common_session_page_add(&page, &session);
    assert_true(rc == 0 || (rc == ENOMEM && fail_alloc_happened()));
    assert_int_equal(page.count, rc == 0);
    common_session_page_free(&page);
    common_session_cursor cursor;
    rc = common_session_cursor_parse(&cursor, "1/1/ab");
    assert_true(rc == 0 || (rc == ENOMEM && fail_alloc_happened()));
    common_session_cursor_free(&cursor);
    static const char *const events[] = {"exec_start", "x.a", "x.b", NULL};
    common_event_filter filter;
    rc = common_event_filter_init(&filter, events);
    assert_true(rc == 0 || (rc == ENOMEM && fail_alloc_happened()));
    if (rc == 0)
        common_event_filter_free(&filter);
}

static void want_of_memory_is_told(void **state) {
    (void)state;
    assert_true(fail_alloc_each(try_all, NULL) > 0);
}

static void a_filter_matches_both_dialects_and_strange_names(void **state) {
    (void)state;
    static const char *const events[] = {"exec_start", "x.a", NULL};
    common_event_filter filter;
    assert_int_equal(common_event_filter_init(&filter, events), 0);
    assert_true(
        common_event_filter_match(&filter, common_event_of("exec.started"), "exec.started"));
    assert_false(common_event_filter_match(&filter, common_event_of("exec_event"), "exec_event"));
    assert_true(common_event_filter_match(&filter, COMMON_EVENT_UNKNOWN, "x.a"));
    assert_false(common_event_filter_match(&filter, COMMON_EVENT_UNKNOWN, "x.b"));
    common_event_filter_free(&filter);
    assert_int_equal(common_event_filter_init(&filter, NULL), 0);
    assert_true(common_event_filter_match(&filter, COMMON_EVENT_UNKNOWN, "x.b"));
    common_event_filter_free(&filter);
    assert_string_equal(common_event_dotted(COMMON_EXEC_EVENT), "exec.output");
    assert_null(common_event_flat(COMMON_EVENT_UNKNOWN));
    assert_null(common_event_dotted(COMMON_EVENT_UNKNOWN));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_owns_what_is_in_it),
        cmocka_unit_test(giving_ends_where_the_receiver_says_so),
        cmocka_unit_test(a_cursor_leads_behind_its_session),
        cmocka_unit_test(what_is_no_cursor_is_refused),
        cmocka_unit_test(want_of_memory_is_told),
        cmocka_unit_test(a_filter_matches_both_dialects_and_strange_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
