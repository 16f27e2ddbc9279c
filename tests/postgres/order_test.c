/* SPDX-License-Identifier: Apache-2.0 */
/* test: timeout=300 no-valgrind */
/* A reader with a position never misses what becomes visible below it later; who waits for whom;
 * and what several processes do at once. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/util/buf.h"
#include "core/util/clock.h"
#include "core/util/random.h"
#include "tests/support/postgres_server.h"

static int set_up(void **state) {
    postgres_ledger *ledger = calloc(1, sizeof(*ledger));
    assert_non_null(ledger);
    postgres_ledger_make(ledger, postgres_shared_url());
    postgres_ledger_open(ledger, "3");
    *state = ledger;
    return 0;
}

static int tear_down(void **state) {
    postgres_ledger *ledger = *state;
    storage_test_close(&ledger->test);
    postgres_ledger_remove(ledger);
    free(ledger);
    return 0;
}

static void nap_ms(long ms) {
    struct timespec nap = {ms / 1000, ms % 1000 * 1000000};
    (void)nanosleep(&nap, NULL);
}

static alineo_storage_reader *open_reader(postgres_ledger *ledger, const char *sandbox_id) {
    const alineo_read_request request = {.size = sizeof(request), .sandbox_id = sandbox_id};
    alineo_storage_reader *reader = NULL;
    assert_int_equal(ledger->test.table->read_open(ledger->test.self, &request, &reader, NULL),
                     ALINEO_OK);
    return reader;
}

/* The step of the next record, 0 = none now. */
static int32_t next_step(postgres_ledger *ledger, alineo_storage_reader *reader) {
    alineo_ledger_record record = ALINEO_LEDGER_RECORD_INIT;
    int32_t found = 0;
    alineo_error *error = NULL;
    alineo_code code =
        ledger->test.table->read_next(ledger->test.self, reader, &record, &found, &error);
    if (code != ALINEO_OK)
        fail_msg("%s", alineo_error_message(error));
    return found ? record.step_idx : 0;
}

/* An insert of other software. */
static void its_insert(postgres_ledger *ledger, const char *sandbox_id, int step) {
    char text[256];
    (void)snprintf(text, sizeof(text),
                   "INSERT INTO alineo_events(sandbox_id, name, step_idx, event, payload, ts) "
                   "VALUES('%s', 'name', %d, 'exec_event', '{}', 1)",
                   sandbox_id, step);
    postgres_other_run(ledger->other, text);
}

static void put(postgres_ledger *ledger, const char *sandbox_id, int32_t step) {
    storage_put_one(&ledger->test, sandbox_id, "exec_event", step, "{}", 1);
}

static void *commit_later(void *argument) {
    nap_ms(300);
    postgres_other_run(argument, "COMMIT");
    return NULL;
}

/* --- late commits ----------------------------------------------------------------------------- */

static void expect_late_commit_is_read_in_order(postgres_ledger *ledger, const char *sandbox_id) {
    put(ledger, "s", 1);
    alineo_storage_reader *reader = open_reader(ledger, sandbox_id);
    assert_int_equal(next_step(ledger, reader), 1);
    /* It takes the smaller number, and commits later. */
    postgres_other_run(ledger->other, "BEGIN");
    its_insert(ledger, "s", 2);
    put(ledger, "s", 3);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, commit_later, ledger->other), 0);
    assert_int_equal(next_step(ledger, reader), 2);
    assert_int_equal(next_step(ledger, reader), 3);
    assert_int_equal(next_step(ledger, reader), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    ledger->test.table->read_close(ledger->test.self, reader);
}

static void a_late_commit_is_read_by_a_reader_of_its_session(void **state) {
    expect_late_commit_is_read_in_order(*state, "s");
}

static void a_late_commit_is_read_by_a_reader_of_all(void **state) {
    expect_late_commit_is_read_in_order(*state, NULL);
}

static void a_rolled_back_insert_is_not_waited_for_again(void **state) {
    postgres_ledger *ledger = *state;
    postgres_other_run(ledger->other, "BEGIN");
    its_insert(ledger, "s", 1);
    postgres_other_run(ledger->other, "ROLLBACK");
    put(ledger, "s", 2);
    alineo_storage_reader *reader = open_reader(ledger, NULL);
    assert_int_equal(next_step(ledger, reader), 2);
    assert_int_equal(next_step(ledger, reader), 0);
    ledger->test.table->read_close(ledger->test.self, reader);
}

static void a_transaction_that_stays_open_is_named(void **state) {
    postgres_ledger *ledger = *state;
    put(ledger, "s", 1);
    postgres_other_run(ledger->other, "BEGIN");
    its_insert(ledger, "t", 2);
    char process[32];
    (void)snprintf(process, sizeof(process), "process %d", PQbackendPID(ledger->other));
    alineo_storage_reader *reader = open_reader(ledger, "s");
    alineo_ledger_record record = ALINEO_LEDGER_RECORD_INIT;
    int32_t found = 0;
    alineo_error *error = NULL;
    assert_int_equal(
        ledger->test.table->read_next(ledger->test.self, reader, &record, &found, &error),
        ALINEO_STORAGE_UNAVAILABLE);
    assert_non_null(strstr(alineo_error_message(error), process));
    alineo_error_free(error);
    postgres_other_run(ledger->other, "ROLLBACK");
    assert_int_equal(next_step(ledger, reader), 1);
    ledger->test.table->read_close(ledger->test.self, reader);
}

/* An append of another of our processes, which is open still, and its lock with it. */
static void readers_of_one_session_do_not_wait_for_appends_to_others(void **state) {
    postgres_ledger *ledger = *state;
    put(ledger, "s", 1);
    postgres_other_run(ledger->other,
                       "BEGIN; SELECT pg_advisory_xact_lock(1634496868, hashtext('t'))");
    its_insert(ledger, "t", 2);
    alineo_storage_reader *reader = open_reader(ledger, "s");
    int64_t start = al_clock_monotonic_ms();
    assert_int_equal(next_step(ledger, reader), 1);
    assert_int_equal(next_step(ledger, reader), 0);
    put(ledger, "s", 3); /* nor do appends */
    assert_int_equal(next_step(ledger, reader), 3);
    assert_true(al_clock_monotonic_ms() - start < 4000);
    postgres_other_run(ledger->other, "ROLLBACK");
    ledger->test.table->read_close(ledger->test.self, reader);
}

/* --- following -------------------------------------------------------------------------------- */

typedef struct late_put {
    postgres_ledger *ledger;
    const char *sandbox_id;
} late_put;

static void *put_later(void *argument) {
    const late_put *late = argument;
    nap_ms(100);
    put(late->ledger, late->sandbox_id, 7);
    return NULL;
}

/* Rounds of a follower's limit of half a second that a notice of an append has cut short. */
static int rounds_cut_short(postgres_ledger *ledger, const char *followed, const char *appended) {
    const alineo_storage_table *table = ledger->test.table;
    int count = 0;
    assert_int_equal(table->follow(ledger->test.self, followed, 5000, NULL, NULL), ALINEO_OK);
    for (int i = 0; i < 4; i++) {
        late_put late = {ledger, appended};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, put_later, &late), 0);
        int64_t start = al_clock_monotonic_ms();
        assert_int_equal(table->follow(ledger->test.self, followed, 5000, NULL, NULL), ALINEO_OK);
        count += al_clock_monotonic_ms() - start < 490;
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    return count;
}

static void followers_are_told_of_what_they_follow_alone(void **state) {
    postgres_ledger *ledger = *state;
    assert_true(rounds_cut_short(ledger, "s", "s") > 0);
    assert_true(rounds_cut_short(ledger, NULL, "s") > 0);
    assert_int_equal(rounds_cut_short(ledger, "u", "s"), 0);
}

/* --- several processes ------------------------------------------------------------------------ */

enum {
    PROCESSES = 8,
    APPENDS = 40
};

/* Opens at the same time as others, on a schema without tables, and takes numbers of one session.
 * */
static int write_many(const char *url, const char *schema) {
    postgres_ledger ledger = {.url = url};
    char writer[17];
    (void)snprintf(ledger.schema, sizeof(ledger.schema), "%s", schema);
    if (al_random_id(writer, 16) != 0)
        return 1;
    postgres_ledger_open(&ledger, "1");
    uint64_t number = 1;
    int32_t step = 1;
    for (int done = 0; done < APPENDS; step++) {
        alineo_ledger_entry entry = storage_entry("shared", "exec_start", step, "{}", 1);
        entry.flags = ALINEO_ENTRY_CLAIMS_STEP;
        const alineo_ledger_entry *pointers[] = {&entry};
        const alineo_ledger_batch batch = {sizeof(batch), writer, number, pointers, 1};
        size_t failed = 0;
        alineo_error *error = NULL;
        alineo_code code = ledger.test.table->append(ledger.test.self, &batch, &failed, &error);
        if (code != ALINEO_OK && code != ALINEO_CONFLICT) {
            print_error("%s\n", alineo_error_message(error));
            return 2;
        }
        alineo_error_free(error);
        number += code == ALINEO_OK;
        done += code == ALINEO_OK;
    }
    storage_test_close(&ledger.test);
    return 0;
}

static void processes_may_start_at_once_and_share_a_session(void **state) {
    (void)state;
    postgres_ledger ledger;
    postgres_ledger_make(&ledger, postgres_shared_url());
    pid_t children[PROCESSES];
    (void)fflush(NULL);
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            _exit(write_many(ledger.url, ledger.schema));
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = 0;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    char *answer = postgres_other_ask(
        ledger.other, "SELECT count(*), count(DISTINCT step_idx), min(step_idx), max(step_idx) "
                      "FROM alineo_events");
    assert_string_equal(answer, "320|320|1|320\n");
    free(answer);
    postgres_ledger_remove(&ledger);
}

static void a_child_is_refused_and_its_parent_not_disturbed(void **state) {
    postgres_ledger *ledger = *state;
    put(ledger, "s", 1);
    (void)fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char *value = NULL;
        alineo_error *error = NULL;
        alineo_code code = ledger->test.table->meta_get(ledger->test.self, "k", &value, &error);
        ledger->test.table->close(ledger->test.self);
        _exit(code == ALINEO_CLIENT_FORKED ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    char *before = postgres_other_ask(ledger->other, "SELECT count(*) FROM pg_stat_activity WHERE "
                                                     "application_name = 'alineo'");
    put(ledger, "s", 2);
    assert_int_equal(storage_count(&ledger->test, "s"), 2);
    assert_string_not_equal(before, "0\n");
    free(before);
}

int main(void) {
    /* Before any child is made, so that all use the same. */
    (void)setenv("ALINEO_TEST_POSTGRES", postgres_shared_url(), 1);
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_late_commit_is_read_by_a_reader_of_its_session),
        CASE(a_late_commit_is_read_by_a_reader_of_all),
        CASE(a_rolled_back_insert_is_not_waited_for_again),
        CASE(a_transaction_that_stays_open_is_named),
        CASE(readers_of_one_session_do_not_wait_for_appends_to_others),
        CASE(followers_are_told_of_what_they_follow_alone),
        cmocka_unit_test(processes_may_start_at_once_and_share_a_session),
        CASE(a_child_is_refused_and_its_parent_not_disturbed),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
