/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of sessions, environments, leases and meta. */
#include "tests/support/storage_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/buf.h"
#include "core/util/str.h"

static storage_test *test_of(void **state) {
    return *state;
}

/* --- sessions --------------------------------------------------------------------------------- */

/* What was listed: "id " for each, and the last of them. */
typedef struct listing {
    al_buf ids;
    size_t count;
    size_t stop_after; /* 0 = never */
    alineo_session last;
    char name[64];
    char run_id[64];
    char provider[64];
    char payload[256];
} listing;

static int32_t note(void *user, const alineo_session *session) {
    listing *l = user;
    al_buf_printf(&l->ids, "%s ", session->sandbox_id);
    l->last = *session;
    (void)snprintf(l->name, sizeof(l->name), "%s", session->name);
    (void)snprintf(l->run_id, sizeof(l->run_id), "%s", session->run_id);
    (void)snprintf(l->provider, sizeof(l->provider), "%s",
                   session->provider != NULL ? session->provider : "(none)");
    (void)snprintf(l->payload, sizeof(l->payload), "%s",
                   session->created_payload != NULL ? session->created_payload : "(none)");
    l->count++;
    return l->count == l->stop_after;
}

static void list(storage_test *t, const alineo_session_request *wanted, const char *expected) {
    listing l = {.count = 0};
    alineo_session_request request = *wanted;
    request.size = sizeof(request);
    char *cursor = NULL;
    alineo_error *error = NULL;
    assert_int_equal(t->table->session_list(t->self, &request, NULL, note, &l, &cursor, &error),
                     ALINEO_OK);
    assert_string_equal(al_buf_str(&l.ids), expected);
    t->host.host.free(&t->host.host, cursor);
    al_buf_free(&l.ids);
}

static void get(storage_test *t, const char *name, const char *id, listing *l) {
    memset(l, 0, sizeof(*l));
    alineo_error *error = NULL;
    assert_int_equal(t->table->session_get(t->self, name, id, note, l, &error), ALINEO_OK);
    assert_int_equal(l->count, 1);
    al_buf_free(&l->ids);
}

static void expect_no_session(storage_test *t, const char *name, const char *id) {
    listing l = {.count = 0};
    alineo_error *error = NULL;
    assert_int_equal(t->table->session_get(t->self, name, id, note, &l, &error),
                     ALINEO_SESSION_NOT_FOUND);
    assert_int_equal(l.count, 0);
    alineo_error_free(error);
}

void a_session_is_told_by_its_events(void **state) {
    storage_test *t = test_of(state);
    storage_put_one(t, "a", "sandbox_created", -1,
                    "{\"runId\":\"run-7\",\"provider\":\"local\",\"image\":\"x\"}", 1000);
    listing l;
    get(t, "name", "a", &l);
    assert_string_equal(l.name, "name");
    assert_string_equal(l.run_id, "run-7");
    assert_string_equal(l.provider, "local");
    storage_expect_json(l.payload, l.last.created_payload_size,
                        "{\"runId\":\"run-7\",\"provider\":\"local\",\"image\":\"x\"}");
    assert_int_equal(l.last.status, ALINEO_SESSION_RUNNING);
    assert_int_equal(l.last.started_at_ms, 1000);
    assert_int_equal(l.last.completed_at_ms, 0);
    assert_int_equal(l.last.exec_count, 0);
    assert_int_equal(l.last.last_step, -1);
    for (int32_t step = 1; step <= 3; step++) {
        storage_put_one(t, "a", "exec_start", step, "{}", 1000 + step);
        storage_put_one(t, "a", "exec_event", step, "{}", 1000 + step);
        if (step != 2)
            storage_put_one(t, "a", "exec_complete", step, "{}", 1000 + step);
    }
    storage_put_one(t, "a", "exec_lost", 2, "{}", 1004);
    storage_put_one(t, "a", "sandbox_closed", -1, "{}", 2000);
    get(t, NULL, "a", &l);
    assert_int_equal(l.last.status, ALINEO_SESSION_COMPLETED);
    assert_int_equal(l.last.completed_at_ms, 2000);
    assert_int_equal(l.last.exec_count, 2);
    assert_int_equal(l.last.last_step, 3);
    expect_no_session(t, NULL, "b");
    expect_no_session(t, "other", "a");
    /* Without a created there is no session, whatever else there is. */
    storage_put_one(t, "c", "exec_start", 1, "{}", 1);
    expect_no_session(t, NULL, "c");
    list(t, &(alineo_session_request){0}, "a ");
}

void both_dialects_are_one_session(void **state) {
    storage_test *t = test_of(state);
    /* As older software wrote it: no run, no provider, and even no payload. */
    storage_put_one(t, "old", "sandbox.created", -1, NULL, 100);
    storage_put_one(t, "old", "exec.started", 1, "{\"cmd\":\"ls\",\"seq\":1}", 101);
    storage_put_one(t, "old", "exec.completed", 1, "{\"seq\":1,\"exitCode\":0}", 102);
    storage_put_one(t, "old", "exec_start", 2, "{\"cmd\":\"ls\",\"seq\":2}", 103);
    storage_put_one(t, "old", "exec_complete", 2, "{\"seq\":2,\"exitCode\":0}", 104);
    storage_put_one(t, "old", "exec.started", 3, "{\"cmd\":\"ls\",\"seq\":3}", 105);
    listing l;
    get(t, NULL, "old", &l);
    assert_string_equal(l.run_id, "old");
    assert_string_equal(l.provider, "(none)");
    assert_string_equal(l.payload, "(none)");
    assert_int_equal(l.last.exec_count, 2);
    assert_int_equal(l.last.last_step, 3);
    assert_int_equal(l.last.status, ALINEO_SESSION_RUNNING);
    storage_put_one(t, "old", "sandbox.closed", -1, NULL, 200);
    storage_put_one(t, "old", "sandbox_closed", -1, NULL, 300);
    get(t, NULL, "old", &l);
    assert_int_equal(l.last.completed_at_ms, 300);
    /* A second created row is no second session. */
    storage_put_one(t, "old", "sandbox_created", -1, "{\"runId\":\"later\"}", 400);
    list(t, &(alineo_session_request){0}, "old ");
    list(t, &(alineo_session_request){.run_id = "later"}, "");
    list(t, &(alineo_session_request){.run_id = "old"}, "old ");
    /* Payloads that are not what they should be are not in the way. */
    storage_put_one(t, "odd", "sandbox_created", -1, "[1,\"runId\"]", 500);
    list(t, &(alineo_session_request){.run_id = "odd"}, "odd ");
}

static void put_session(storage_test *t, const char *id, const char *name, const char *run,
                        int64_t started_ms, int64_t closed_ms) {
    al_auto(al_buf_free) al_buf payload = AL_BUF_INIT;
    al_buf_printf(&payload, "{\"runId\":\"%s\"}", run);
    alineo_ledger_entry entries[] = {
        storage_entry(id, "sandbox_created", -1, al_buf_str(&payload), started_ms),
        storage_entry(id, "sandbox_closed", -1, NULL, closed_ms)};
    entries[0].name = entries[1].name = name;
    assert_int_equal(storage_put(t, entries, closed_ms != 0 ? 2 : 1, NULL), ALINEO_OK);
}

void lists_are_newest_first_and_keep_to_their_filters(void **state) {
    storage_test *t = test_of(state);
    put_session(t, "c", "x", "r1", 300, 0);
    put_session(t, "a", "x", "r1", 100, 150);
    put_session(t, "b", "y", "r2", 300, 400);
    put_session(t, "d", "y", "r1", 200, 0);
    put_session(t, "e", "x", "r2", 50, 0);
    list(t, &(alineo_session_request){0}, "b c d a e ");
    list(t, &(alineo_session_request){.name = "x"}, "c a e ");
    list(t, &(alineo_session_request){.run_id = "r1"}, "c d a ");
    list(t, &(alineo_session_request){.name = "x", .run_id = "r1"}, "c a ");
    list(t, &(alineo_session_request){.status = ALINEO_SESSION_RUNNING}, "c d e ");
    list(t, &(alineo_session_request){.status = ALINEO_SESSION_COMPLETED}, "b a ");
    list(t, &(alineo_session_request){.before_ms = 300}, "d a e ");
    list(t, &(alineo_session_request){.before_ms = 201, .limit = 2}, "d a ");
    list(t, &(alineo_session_request){.limit = 1}, "b ");
    list(t,
         &(alineo_session_request){
             .name = "x", .run_id = "r2", .status = ALINEO_SESSION_RUNNING, .before_ms = 51},
         "e ");
    list(t, &(alineo_session_request){.name = "z"}, "");
}

void pages_by_cursor_give_each_session_once(void **state) {
    storage_test *t = test_of(state);
    enum {
        COUNT = 300
    };
    for (int i = 0; i < COUNT; i++) {
        char id[16];
        (void)snprintf(id, sizeof(id), "box-%03d", i);
        /* Many start in the same millisecond. */
        put_session(t, id, i % 3 == 0 ? "a/b 1" : "n", "r", 1000 + i / 50, 0);
    }
    static const uint64_t limits[] = {1, 7, 128, 129, 299, 300};
    for (size_t k = 0; k < AL_COUNT(limits); k++) {
        alineo_session_request request = {.size = sizeof(request), .limit = limits[k]};
        listing l = {.count = 0};
        char *cursor = NULL;
        do {
            char *next_cursor = NULL;
            size_t before = l.count;
            request.cursor = cursor;
            alineo_error *error = NULL;
            assert_int_equal(
                t->table->session_list(t->self, &request, NULL, note, &l, &next_cursor, &error),
                ALINEO_OK);
            assert_true(l.count - before <= limits[k]);
            t->host.host.free(&t->host.host, cursor);
            cursor = next_cursor;
        } while (cursor != NULL);
        assert_int_equal(l.count, COUNT);
        for (int i = 0; i < COUNT; i++) {
            char id[16];
            (void)snprintf(id, sizeof(id), "box-%03d ", i);
            const char *first = strstr(al_buf_str(&l.ids), id);
            assert_non_null(first);
            assert_null(strstr(first + 1, id));
        }
        al_buf_free(&l.ids);
    }
    const alineo_session_request bad = {.size = sizeof(bad), .cursor = "12/x"};
    listing l = {.count = 0};
    char *cursor = NULL;
    alineo_error *error = NULL;
    assert_int_equal(t->table->session_list(t->self, &bad, NULL, note, &l, &cursor, &error),
                     ALINEO_INVALID_ARGUMENT);
    alineo_error_free(error);
}

void a_listing_ends_when_it_is_told_to(void **state) {
    storage_test *t = test_of(state);
    put_session(t, "a", "n", "r", 100, 0);
    put_session(t, "b", "n", "r", 200, 0);
    put_session(t, "c", "n", "r", 300, 0);
    listing l = {.stop_after = 2};
    alineo_session_request request = {.size = sizeof(request)};
    char *cursor = NULL;
    alineo_error *error = NULL;
    assert_int_equal(t->table->session_list(t->self, &request, NULL, note, &l, &cursor, &error),
                     ALINEO_OK);
    assert_string_equal(al_buf_str(&l.ids), "c b ");
    al_buf_free(&l.ids);
    /* And can be gone on with. */
    assert_non_null(cursor);
    request.cursor = cursor;
    list(t, &request, "a ");
    t->host.host.free(&t->host.host, cursor);
    alineo_call *call = NULL;
    assert_int_equal(alineo_call_new(NULL, &call, NULL), ALINEO_OK);
    alineo_call_cancel(call);
    cursor = NULL;
    request.cursor = NULL;
    alineo_code code = t->table->session_list(t->self, &request, call, note, &l, &cursor, &error);
    assert_true(code == ALINEO_CANCELLED || code == ALINEO_OK);
    alineo_error_free(error);
    t->host.host.free(&t->host.host, cursor);
    al_buf_free(&l.ids);
    alineo_call_free(call);
}

void one_sandbox_may_have_sessions_of_several_names(void **state) {
    storage_test *t = test_of(state);
    put_session(t, "a", "first", "r", 100, 0);
    put_session(t, "a", "second", "r", 200, 300);
    list(t, &(alineo_session_request){0}, "a a ");
    listing l;
    get(t, "first", "a", &l);
    assert_int_equal(l.last.status, ALINEO_SESSION_RUNNING);
    get(t, NULL, "a", &l);
    assert_string_equal(l.name, "second");
    assert_int_equal(l.last.status, ALINEO_SESSION_COMPLETED);
    uint64_t removed = 0;
    assert_int_equal(t->table->session_delete(t->self, "second", "a", &removed, NULL), ALINEO_OK);
    assert_int_equal(removed, 2);
    get(t, NULL, "a", &l);
    assert_string_equal(l.name, "first");
}

void deleting_a_session_leaves_others_and_positions_alone(void **state) {
    storage_test *t = test_of(state);
    put_session(t, "a", "name", "r", 100, 0);
    put_session(t, "b", "name", "r", 200, 0);
    storage_put_one(t, "a", "exec_start", 1, "{}", 300);
    const alineo_read_request all = {.size = sizeof(all)};
    alineo_storage_reader *reader = NULL;
    assert_int_equal(t->table->read_open(t->self, &all, &reader, NULL), ALINEO_OK);
    alineo_ledger_record record = ALINEO_LEDGER_RECORD_INIT;
    int32_t found = 0;
    while (t->table->read_next(t->self, reader, &record, &found, NULL) == ALINEO_OK && found)
        continue;
    uint64_t removed = 9;
    assert_int_equal(t->table->session_delete(t->self, NULL, "a", &removed, NULL), ALINEO_OK);
    assert_int_equal(removed, 2);
    assert_int_equal(t->table->session_delete(t->self, NULL, "a", &removed, NULL), ALINEO_OK);
    assert_int_equal(removed, 0);
    expect_no_session(t, NULL, "a");
    list(t, &(alineo_session_request){0}, "b ");
    assert_int_equal(storage_count(t, NULL), 1);
    /* Positions are not used again: a reader sees what comes and nothing twice. Neither is the
     * step, nor the time, of a session that is gone in the way of a new one. */
    alineo_ledger_entry entry = storage_entry("a", "exec_start", 1, "{}", 5);
    entry.flags = ALINEO_ENTRY_CLAIMS_STEP;
    assert_int_equal(storage_put(t, &entry, 1, NULL), ALINEO_OK);
    assert_int_equal(t->table->read_next(t->self, reader, &record, &found, NULL), ALINEO_OK);
    assert_int_equal(found, 1);
    assert_string_equal(record.sandbox_id, "a");
    assert_int_equal(record.ts_ms, 5);
    assert_int_equal(t->table->read_next(t->self, reader, &record, &found, NULL), ALINEO_OK);
    assert_int_equal(found, 0);
    t->table->read_close(t->self, reader);
}

void old_closed_sessions_are_pruned(void **state) {
    storage_test *t = test_of(state);
    if (t->table->prune == NULL)
        skip();
    put_session(t, "a", "n", "r", 100, 150);
    put_session(t, "b", "n", "r", 100, 250);
    put_session(t, "c", "n", "r", 100, 0);
    put_session(t, "d", "n", "r", 120, 200);
    storage_put_one(t, "e", "sandbox.created", -1, NULL, 10);
    storage_put_one(t, "e", "sandbox.closed", -1, NULL, 20);
    uint64_t removed = 0;
    assert_int_equal(t->table->prune(t->self, 200, NULL, &removed, NULL), ALINEO_OK);
    assert_int_equal(removed, 2);
    list(t, &(alineo_session_request){0}, "d b c ");
    assert_int_equal(t->table->prune(t->self, 200, NULL, &removed, NULL), ALINEO_OK);
    assert_int_equal(removed, 0);
    assert_int_equal(storage_count(t, NULL), 5);
}

void stats_count_sessions_and_events(void **state) {
    storage_test *t = test_of(state);
    if (t->table->stats == NULL)
        skip();
    alineo_storage_stats stats = {.size = sizeof(stats)};
    assert_int_equal(t->table->stats(t->self, NULL, &stats, NULL), ALINEO_OK);
    assert_int_equal(stats.sessions, 0);
    assert_int_equal(stats.events, 0);
    put_session(t, "a", "n", "r", 100, 150);
    put_session(t, "b", "n", "r", 100, 0);
    storage_put_one(t, "b", "sandbox.created", -1, NULL, 200);
    assert_int_equal(t->table->stats(t->self, NULL, &stats, NULL), ALINEO_OK);
    assert_int_equal(stats.sessions, 3); /* the last has another name */
    assert_int_equal(stats.events, 4);
}

/* --- environments, leases, meta --------------------------------------------------------------- */

static int32_t note_environment(void *user, const alineo_environment_record *record) {
    al_buf *out = user;
    al_buf_printf(out, "%s=%s,%s,%lld,%s;", record->name, record->snapshot_id, record->image,
                  (long long)record->built_at_ms,
                  record->detail != NULL ? record->detail : "(none)");
    return 0;
}

static void put_environment(storage_test *t, const char *name, const char *snapshot,
                            int64_t built_at_ms, const char *detail) {
    const alineo_environment_record record = {sizeof(record), name,        snapshot,
                                              "image",        built_at_ms, detail};
    assert_int_equal(t->table->environment_put(t->self, &record, NULL), ALINEO_OK);
}

static void expect_environments(storage_test *t, const char *expected) {
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    assert_int_equal(t->table->environment_list(t->self, note_environment, &text, NULL), ALINEO_OK);
    assert_string_equal(al_buf_str(&text), expected);
}

void environments_are_kept_by_name(void **state) {
    storage_test *t = test_of(state);
    expect_environments(t, "");
    put_environment(t, "py", "snap-1", 100, "{\"provider\":\"local\"}");
    put_environment(t, "node", "snap-2", 200, NULL);
    expect_environments(t, "node=snap-2,image,200,(none);"
                           "py=snap-1,image,100,{\"provider\":\"local\"};");
    put_environment(t, "py", "snap-3", 300, NULL);
    expect_environments(t, "py=snap-3,image,300,(none);node=snap-2,image,200,(none);");
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    assert_int_equal(t->table->environment_get(t->self, "node", note_environment, &text, NULL),
                     ALINEO_OK);
    assert_string_equal(al_buf_str(&text), "node=snap-2,image,200,(none);");
    int32_t removed = 0;
    assert_int_equal(t->table->environment_delete(t->self, "node", &removed, NULL), ALINEO_OK);
    assert_int_equal(removed, 1);
    assert_int_equal(t->table->environment_delete(t->self, "node", &removed, NULL), ALINEO_OK);
    assert_int_equal(removed, 0);
    assert_int_equal(t->table->environment_get(t->self, "node", note_environment, &text, NULL),
                     ALINEO_ENVIRONMENT_NOT_FOUND);
}

static void let_pass(storage_test *t, int64_t ms) {
    if (t->pass_time != NULL)
        t->pass_time(t, ms);
    else
        (void)atomic_fetch_add(&t->host.boottime_shift_ms, ms);
}

void a_lease_is_one_owners_until_it_expires(void **state) {
    storage_test *t = test_of(state);
    const alineo_storage_table *table = t->table;
    assert_int_equal(table->lease_acquire(t->self, "k", "A", 60000, NULL), ALINEO_OK);
    assert_int_equal(table->lease_acquire(t->self, "k", "B", 60000, NULL), ALINEO_CONFLICT);
    assert_int_equal(table->lease_acquire(t->self, "other", "B", 60000, NULL), ALINEO_OK);
    assert_int_equal(table->lease_acquire(t->self, "k", "A", 60000, NULL), ALINEO_OK);
    assert_int_equal(table->lease_renew(t->self, "k", "B", 60000, NULL), ALINEO_CONFLICT);
    assert_int_equal(table->lease_release(t->self, "k", "B", NULL), ALINEO_CONFLICT);
    let_pass(t, 55000);
    assert_int_equal(table->lease_renew(t->self, "k", "A", 60000, NULL), ALINEO_OK);
    let_pass(t, 55000);
    /* Whatever the wall clock does meanwhile. */
    atomic_store(&t->host.now_shift_ms, 86400000LL * 365);
    assert_int_equal(table->lease_acquire(t->self, "k", "B", 60000, NULL), ALINEO_CONFLICT);
    let_pass(t, 5000);
    assert_int_equal(table->lease_renew(t->self, "k", "A", 60000, NULL), ALINEO_CONFLICT);
    assert_int_equal(table->lease_acquire(t->self, "k", "B", 60000, NULL), ALINEO_OK);
    assert_int_equal(table->lease_release(t->self, "k", "A", NULL), ALINEO_CONFLICT);
    assert_int_equal(table->lease_release(t->self, "k", "B", NULL), ALINEO_OK);
    assert_int_equal(table->lease_acquire(t->self, "k", "A", 1, NULL), ALINEO_OK);
}

static void expect_meta(storage_test *t, const char *key, const char *expected) {
    char *value = NULL;
    assert_int_equal(t->table->meta_get(t->self, key, &value, NULL), ALINEO_OK);
    assert_true(al_str_equal(value, expected));
    t->host.host.free(&t->host.host, value);
}

void meta_values_are_kept(void **state) {
    storage_test *t = test_of(state);
    expect_meta(t, "a", NULL);
    assert_int_equal(t->table->meta_put(t->self, "a", "1", ALINEO_META_IF_ABSENT, NULL), ALINEO_OK);
    expect_meta(t, "a", "1");
    assert_int_equal(t->table->meta_put(t->self, "a", "2", ALINEO_META_IF_ABSENT, NULL), ALINEO_OK);
    expect_meta(t, "a", "1");
    assert_int_equal(t->table->meta_put(t->self, "a", "3", 0, NULL), ALINEO_OK);
    expect_meta(t, "a", "3");
    expect_meta(t, "b", NULL);
}
