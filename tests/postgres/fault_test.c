/* SPDX-License-Identifier: Apache-2.0 */
/* test: timeout=300 no-valgrind */
/* A server that dies, hangs or refuses, and connections that break: what was reported stored is
 * there once, what was not is there at most once. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/util/clock.h"
#include "tests/support/postgres_server.h"
#include "tests/support/tcp_proxy.h"

static postgres_server server;

typedef struct fault_test {
    postgres_ledger ledger;
    tcp_proxy proxy;
    char url[96]; /* through the proxy */
} fault_test;

static int start_server(void **state) {
    (void)state;
    postgres_server_make(&server);
    return 0;
}

static int stop_server(void **state) {
    (void)state;
    postgres_server_remove(&server);
    return 0;
}

/* The ledger is reached through the proxy, the other side's connection goes straight. */
static int set_up(void **state) {
    fault_test *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    tcp_proxy_start(&f->proxy, server.port);
    (void)snprintf(f->url, sizeof(f->url), "postgresql://alineo@127.0.0.1:%d/postgres",
                   f->proxy.port);
    postgres_ledger_make(&f->ledger, server.url);
    f->ledger.url = f->url;
    postgres_ledger_open(&f->ledger, "1");
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fault_test *f = *state;
    storage_test_close(&f->ledger.test);
    /* The server was away perhaps. */
    PQreset(f->ledger.other);
    char text[96];
    (void)snprintf(text, sizeof(text), "SET search_path TO \"%s\"", f->ledger.schema);
    postgres_other_run(f->ledger.other, text);
    postgres_ledger_remove(&f->ledger);
    tcp_proxy_stop(&f->proxy);
    free(f);
    return 0;
}

/* Appends `count` entries of session "s", numbered on by their step; the code. */
static alineo_code put_numbered(fault_test *f, int32_t first, size_t count, size_t payload_size) {
    alineo_ledger_entry entries[16];
    char *payload = malloc(payload_size + 16);
    assert_non_null(payload);
    (void)snprintf(payload, payload_size + 16, "{\"x\":\"%0*d\"}", (int)payload_size, 7);
    for (size_t i = 0; i < count; i++)
        entries[i] = storage_entry("s", "exec_event", first + (int32_t)i, payload, 1000);
    alineo_code code = storage_put(&f->ledger.test, entries, count, NULL);
    free(payload);
    return code;
}

/* Asserts that session "s" holds the steps 1 to `count`, each once and in order. */
static void expect_steps(fault_test *f, int32_t count) {
    char text[256];
    (void)snprintf(text, sizeof(text),
                   "SELECT coalesce(string_agg(step_idx::text, ',' ORDER BY id), '') = "
                   "(SELECT coalesce(string_agg(g::text, ',' ORDER BY g), '') "
                   "FROM generate_series(1, %d) g) FROM alineo_events",
                   count);
    PGconn *db = postgres_other(server.url, f->ledger.schema);
    char *answer = postgres_other_ask(db, text);
    assert_string_equal(answer, "t\n");
    free(answer);
    PQfinish(db);
}

/* --- the server dies -------------------------------------------------------------------------- */

static void a_server_that_was_killed_between_batches_is_found_again(void **state) {
    fault_test *f = *state;
    assert_int_equal(put_numbered(f, 1, 3, 10), ALINEO_OK);
    postgres_server_kill(&server);
    postgres_server_start(&server);
    assert_int_equal(put_numbered(f, 4, 3, 10), ALINEO_OK);
    expect_steps(f, 6);
    assert_int_equal(storage_count(&f->ledger.test, "s"), 6);
}

static void while_the_server_is_away_the_answer_is_unavailable(void **state) {
    fault_test *f = *state;
    assert_int_equal(put_numbered(f, 1, 3, 10), ALINEO_OK);
    postgres_server_kill(&server);
    for (int i = 0; i < 3; i++)
        assert_int_equal(put_numbered(f, 4, 3, 10), ALINEO_STORAGE_UNAVAILABLE);
    postgres_server_start(&server);
    alineo_code code = ALINEO_STORAGE_UNAVAILABLE;
    for (int i = 0; i < 10 && code == ALINEO_STORAGE_UNAVAILABLE; i++)
        code = put_numbered(f, 4, 3, 10);
    assert_int_equal(code, ALINEO_OK);
    expect_steps(f, 6);
}

typedef struct sender {
    fault_test *test;
    atomic_bool stops;
    int32_t stored; /* entries reported stored */
    int unavailable;
} sender;

/* Sends each batch again until it is known to be stored, as the core does. */
static void *send_on(void *argument) {
    sender *s = argument;
    while (!atomic_load(&s->stops)) {
        alineo_code code = put_numbered(s->test, s->stored + 1, 4, 200);
        if (code == ALINEO_OK)
            s->stored += 4;
        else if (code == ALINEO_STORAGE_UNAVAILABLE)
            s->unavailable++;
        else
            break;
    }
    return NULL;
}

static void nap_ms(long ms) {
    struct timespec nap = {ms / 1000, ms % 1000 * 1000000};
    (void)nanosleep(&nap, NULL);
}

static void a_server_killed_during_batches_loses_and_doubles_nothing(void **state) {
    fault_test *f = *state;
    sender s = {.test = f};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, send_on, &s), 0);
    for (int round = 0; round < 3; round++) {
        nap_ms(150 + 37 * round);
        postgres_server_kill(&server);
        nap_ms(30);
        postgres_server_start(&server);
    }
    nap_ms(2500); /* the longest pause before the next attempt */
    atomic_store(&s.stops, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(s.stored > 0);
    /* The last may have been stored without an answer. */
    alineo_code code = ALINEO_STORAGE_UNAVAILABLE;
    for (int i = 0; i < 10 && code == ALINEO_STORAGE_UNAVAILABLE; i++)
        code = put_numbered(f, s.stored + 1, 4, 200);
    assert_int_equal(code, ALINEO_OK);
    expect_steps(f, s.stored + 4);
}

static void backends_that_are_ended_are_replaced(void **state) {
    fault_test *f = *state;
    assert_int_equal(put_numbered(f, 1, 1, 10), ALINEO_OK);
    for (int32_t i = 0; i < 5; i++) {
        char *ended = postgres_other_ask(
            f->ledger.other, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                             "WHERE application_name = 'alineo'");
        free(ended);
        assert_int_equal(put_numbered(f, i + 2, 1, 10), ALINEO_OK);
    }
    expect_steps(f, 6);
}

/* --- connections break ------------------------------------------------------------------------ */

static void a_connection_cut_half_way_leaves_no_part_of_a_batch(void **state) {
    fault_test *f = *state;
    assert_int_equal(put_numbered(f, 1, 1, 10), ALINEO_OK);
    static const long bytes[] = {0, 1, 40, 300, 500, 700, 900, 1500, 20000, 60000, 120000};
    int32_t stored = 1;
    for (size_t i = 0; i < AL_COUNT(bytes); i++) {
        int cuts = atomic_load(&f->proxy.cuts);
        atomic_store(&f->proxy.cut_after, bytes[i]);
        alineo_code code = put_numbered(f, stored + 1, 4, 32768);
        assert_int_equal(atomic_load(&f->proxy.cuts), cuts + 1);
        /* The second attempt came through, or nothing is there of both. */
        if (code == ALINEO_OK)
            stored += 4;
        else
            assert_int_equal(code, ALINEO_STORAGE_UNAVAILABLE);
        expect_steps(f, stored);
    }
    assert_true(stored > 1);
}

static void an_answer_lost_after_the_commit_stores_nothing_twice(void **state) {
    fault_test *f = *state;
    assert_int_equal(put_numbered(f, 1, 1, 10), ALINEO_OK);
    for (int32_t i = 0; i < 5; i++) {
        atomic_store(&f->proxy.swallow, "COMMIT");
        alineo_code code = put_numbered(f, 2 + 4 * i, 4, 100);
        assert_int_equal(atomic_load(&f->proxy.cuts), i + 1);
        for (int again = 0; again < 10 && code == ALINEO_STORAGE_UNAVAILABLE; again++)
            code = put_numbered(f, 2 + 4 * i, 4, 100);
        assert_int_equal(code, ALINEO_OK);
        expect_steps(f, 5 + 4 * i);
    }
}

static void a_read_goes_on_after_its_connection_broke(void **state) {
    fault_test *f = *state;
    for (int32_t i = 0; i < 20; i++)
        assert_int_equal(put_numbered(f, 1 + 16 * i, 16, 2000), ALINEO_OK);
    const alineo_read_request request = {.size = sizeof(request), .sandbox_id = "s"};
    alineo_storage_reader *reader = NULL;
    const alineo_storage_table *table = f->ledger.test.table;
    assert_int_equal(table->read_open(f->ledger.test.self, &request, &reader, NULL), ALINEO_OK);
    alineo_ledger_record record = ALINEO_LEDGER_RECORD_INIT;
    int32_t found = 1;
    for (int32_t step = 1; step <= 320; step++) {
        if (step % 64 == 0)
            atomic_store(&f->proxy.cut_after, 20);
        assert_int_equal(table->read_next(f->ledger.test.self, reader, &record, &found, NULL),
                         ALINEO_OK);
        assert_true(found);
        assert_int_equal(record.step_idx, step);
    }
    atomic_store(&f->proxy.cut_after, -1);
    assert_int_equal(table->read_next(f->ledger.test.self, reader, &record, &found, NULL),
                     ALINEO_OK);
    assert_false(found);
    assert_true(atomic_load(&f->proxy.cuts) > 0);
    table->read_close(f->ledger.test.self, reader);
}

/* --- the server hangs or refuses -------------------------------------------------------------- */

static void *cancel_later(void *argument) {
    nap_ms(200);
    alineo_call_cancel(argument);
    return NULL;
}

static int32_t ignore_session(void *user, const alineo_session *session) {
    (void)user, (void)session;
    return 0;
}

/* Another holds the table, so that the list gets no answer. */
static void a_list_that_hangs_can_be_cancelled(void **state) {
    fault_test *f = *state;
    const alineo_session_request request = {.size = sizeof(request)};
    alineo_call *call = NULL;
    pthread_t thread;
    char *cursor = NULL;
    alineo_error *error = NULL;
    postgres_other_run(f->ledger.other, "BEGIN; LOCK TABLE alineo_events");
    assert_int_equal(alineo_call_new(NULL, &call, NULL), ALINEO_OK);
    assert_int_equal(pthread_create(&thread, NULL, cancel_later, call), 0);
    int64_t start = al_clock_monotonic_ms();
    alineo_code code = f->ledger.test.table->session_list(f->ledger.test.self, &request, call,
                                                          ignore_session, NULL, &cursor, &error);
    assert_int_equal(code, ALINEO_CANCELLED);
    assert_true(al_clock_monotonic_ms() - start < 5000);
    assert_int_equal(pthread_join(thread, NULL), 0);
    alineo_error_free(error);
    alineo_call_free(call);
    postgres_other_run(f->ledger.other, "ROLLBACK");
    assert_int_equal(put_numbered(f, 1, 1, 10), ALINEO_OK);
}

static void a_database_that_can_only_be_read_is_unavailable_until_it_can(void **state) {
    fault_test *f = *state;
    assert_int_equal(put_numbered(f, 1, 1, 10), ALINEO_OK);
    postgres_other_run(f->ledger.other,
                       "ALTER DATABASE postgres SET default_transaction_read_only = on");
    char *ended =
        postgres_other_ask(f->ledger.other, "SELECT count(pg_terminate_backend(pid)) FROM "
                                            "pg_stat_activity WHERE application_name = 'alineo'");
    free(ended);
    assert_int_equal(put_numbered(f, 2, 1, 10), ALINEO_STORAGE_UNAVAILABLE);
    postgres_other_run(f->ledger.other,
                       "ALTER DATABASE postgres RESET default_transaction_read_only");
    alineo_code code = ALINEO_STORAGE_UNAVAILABLE;
    for (int i = 0; i < 10 && code == ALINEO_STORAGE_UNAVAILABLE; i++)
        code = put_numbered(f, 2, 1, 10);
    assert_int_equal(code, ALINEO_OK);
    expect_steps(f, 2);
}

/* Whatever goes wrong in the server, nothing of the batch is there, and it may be sent again. */
static void a_failure_in_the_transaction_leaves_nothing(void **state) {
    fault_test *f = *state;
    static const char *const states[] = {"40001", "40P01", "53100", "53200", "55P03", "58030"};
    postgres_other_run(f->ledger.other,
                       "CREATE TABLE failure(state TEXT); INSERT INTO failure VALUES('');"
                       "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ "
                       "DECLARE s TEXT; BEGIN SELECT state INTO s FROM failure; "
                       "IF s <> '' THEN RAISE EXCEPTION 'a failure' USING ERRCODE = s; END IF; "
                       "RETURN NEW; END $$;"
                       "CREATE CONSTRAINT TRIGGER fails AFTER INSERT ON alineo_events "
                       "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail()");
    int32_t stored = 0;
    for (size_t i = 0; i < AL_COUNT(states); i++) {
        char text[64];
        (void)snprintf(text, sizeof(text), "UPDATE failure SET state = '%s'", states[i]);
        postgres_other_run(f->ledger.other, text);
        assert_int_equal(put_numbered(f, stored + 1, 4, 10), ALINEO_STORAGE_UNAVAILABLE);
        expect_steps(f, stored);
        postgres_other_run(f->ledger.other, "UPDATE failure SET state = ''");
        assert_int_equal(put_numbered(f, stored + 1, 4, 10), ALINEO_OK);
        stored += 4;
        expect_steps(f, stored);
    }
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_server_that_was_killed_between_batches_is_found_again),
        CASE(while_the_server_is_away_the_answer_is_unavailable),
        CASE(a_server_killed_during_batches_loses_and_doubles_nothing),
        CASE(backends_that_are_ended_are_replaced),
        CASE(a_connection_cut_half_way_leaves_no_part_of_a_batch),
        CASE(an_answer_lost_after_the_commit_stores_nothing_twice),
        CASE(a_read_goes_on_after_its_connection_broke),
        CASE(a_list_that_hangs_can_be_cancelled),
        CASE(a_database_that_can_only_be_read_is_unavailable_until_it_can),
        CASE(a_failure_in_the_transaction_leaves_nothing),
    };
#undef CASE
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
