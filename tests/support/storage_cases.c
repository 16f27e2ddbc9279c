/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of events: order, batches, bytes, reading. */
#include "tests/support/storage_cases.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/buf.h"

static storage_test *test_of(void **state) {
    return *state;
}

static alineo_storage_reader *open_reader(storage_test *t, const alineo_read_request *request) {
    alineo_storage_reader *reader = NULL;
    alineo_error *error = NULL;
    assert_int_equal(t->table->read_open(t->self, request, &reader, &error), ALINEO_OK);
    return reader;
}

/* False when there is none. */
static bool next(storage_test *t, alineo_storage_reader *reader, alineo_ledger_record *record) {
    *record = (alineo_ledger_record)ALINEO_LEDGER_RECORD_INIT;
    int32_t found = 0;
    alineo_error *error = NULL;
    assert_int_equal(t->table->read_next(t->self, reader, record, &found, &error), ALINEO_OK);
    return found != 0;
}

static void expect_steps(storage_test *t, const alineo_read_request *request, const int32_t *steps,
                         size_t count) {
    alineo_storage_reader *reader = open_reader(t, request);
    alineo_ledger_record record;
    for (size_t i = 0; i < count; i++) {
        assert_true(next(t, reader, &record));
        assert_int_equal(record.step_idx, steps[i]);
    }
    assert_false(next(t, reader, &record));
    t->table->read_close(t->self, reader);
}

/* --- order and batches ------------------------------------------------------------------------ */

void order_is_that_of_append_whatever_the_clock_does(void **state) {
    storage_test *t = test_of(state);
    static const struct {
        const char *id;
        int64_t ts_ms, stored_ms;
    } rows[] = {{"a", 1000, 1000}, {"b", 500, 500},   {"a", 1000, 1000}, {"a", 10, 1000},
                {"b", 499, 500},   {"a", 1001, 1001}, {"a", 1000, 1001}, {"b", 2000, 2000}};
    for (size_t i = 0; i < AL_COUNT(rows); i++)
        storage_put_one(t, rows[i].id, "exec_event", (int32_t)i + 1, NULL, rows[i].ts_ms);
    const alineo_read_request all = {.size = sizeof(all)};
    alineo_storage_reader *reader = open_reader(t, &all);
    alineo_ledger_record record;
    for (size_t i = 0; i < AL_COUNT(rows); i++) {
        assert_true(next(t, reader, &record));
        assert_string_equal(record.sandbox_id, rows[i].id);
        assert_int_equal(record.step_idx, (int32_t)i + 1);
        assert_int_equal(record.ts_ms, rows[i].stored_ms);
    }
    assert_false(next(t, reader, &record));
    t->table->read_close(t->self, reader);
    const alineo_read_request one = {.size = sizeof(one), .sandbox_id = "b"};
    expect_steps(t, &one, (const int32_t[]){2, 5, 8}, 3);
}

void a_batch_is_stored_whole_or_not_at_all(void **state) {
    storage_test *t = test_of(state);
    storage_put_one(t, "a", "exec_start", 2, "{}", 1);
    alineo_ledger_entry entries[] = {storage_entry("a", "exec_start", 1, "{}", 2),
                                     storage_entry("b", "sandbox_created", -1, "{}", 2),
                                     storage_entry("a", "exec_start", 2, "{}", 2),
                                     storage_entry("a", "exec_event", 2, "{}", 2)};
    for (size_t i = 0; i < AL_COUNT(entries); i++)
        entries[i].flags = i != 3 ? ALINEO_ENTRY_CLAIMS_STEP : 0;
    size_t failed = SIZE_MAX;
    assert_int_equal(storage_put(t, entries, 4, &failed), ALINEO_CONFLICT);
    assert_int_equal(failed, 2);
    assert_int_equal(storage_count(t, NULL), 1);
    /* Nothing of it is left behind that would be in the way. */
    assert_int_equal(storage_put(t, entries, 2, NULL), ALINEO_OK);
    assert_int_equal(storage_count(t, NULL), 3);
}

void a_batch_that_is_sent_again_stores_nothing_twice(void **state) {
    storage_test *t = test_of(state);
    alineo_ledger_entry entries[] = {storage_entry("a", "exec_start", 1, "{}", 1),
                                     storage_entry("a", "exec_complete", 1, "{}", 2)};
    entries[0].flags = ALINEO_ENTRY_CLAIMS_STEP;
    for (int i = 0; i < 3; i++) {
        t->next_number = 1;
        assert_int_equal(storage_put(t, entries, 2, NULL), ALINEO_OK);
        assert_int_equal(storage_count(t, NULL), 2);
    }
    /* Another writer has numbers of its own. */
    const alineo_ledger_entry *pointers[] = {&entries[1]};
    const alineo_ledger_batch other = {sizeof(other), "v", 1, pointers, 1};
    size_t failed = 0;
    alineo_error *error = NULL;
    assert_int_equal(t->table->append(t->self, &other, &failed, &error), ALINEO_OK);
    assert_int_equal(storage_count(t, NULL), 3);
}

void what_is_new_in_a_batch_that_overlaps_is_stored(void **state) {
    storage_test *t = test_of(state);
    alineo_ledger_entry entries[4];
    for (int32_t i = 0; i < 4; i++)
        entries[i] = storage_entry("a", "exec_event", i + 1, NULL, 1);
    assert_int_equal(storage_put(t, entries, 2, NULL), ALINEO_OK);
    t->next_number = 1;
    assert_int_equal(storage_put(t, entries, 4, NULL), ALINEO_OK);
    const alineo_read_request all = {.size = sizeof(all)};
    expect_steps(t, &all, (const int32_t[]){1, 2, 3, 4}, 4);
}

void a_step_can_be_claimed_once(void **state) {
    storage_test *t = test_of(state);
    alineo_ledger_entry entry = storage_entry("a", "exec_start", 3, "{}", 1);
    entry.flags = ALINEO_ENTRY_CLAIMS_STEP;
    assert_int_equal(storage_put(t, &entry, 1, NULL), ALINEO_OK);
    size_t failed = SIZE_MAX;
    assert_int_equal(storage_put(t, &entry, 1, &failed), ALINEO_CONFLICT);
    assert_int_equal(failed, 0);
    /* The number is the sandbox's, whatever a handle calls it. */
    entry.name = "other";
    assert_int_equal(storage_put(t, &entry, 1, NULL), ALINEO_CONFLICT);
    entry.sandbox_id = "b";
    assert_int_equal(storage_put(t, &entry, 1, NULL), ALINEO_OK);
    entry.step_idx = 1;
    assert_int_equal(storage_put(t, &entry, 1, NULL), ALINEO_OK);
    /* One that other software has started counts, in its dialect. */
    storage_put_one(t, "c", "exec.started", 1, "{}", 1);
    entry.sandbox_id = "c";
    assert_int_equal(storage_put(t, &entry, 1, NULL), ALINEO_CONFLICT);
    /* So do two in one batch; output of a step claims nothing. */
    alineo_ledger_entry twice[] = {storage_entry("d", "exec_event", 1, "{}", 1),
                                   storage_entry("d", "exec_start", 1, "{}", 1),
                                   storage_entry("d", "exec_start", 1, "{}", 1)};
    twice[1].flags = twice[2].flags = ALINEO_ENTRY_CLAIMS_STEP;
    failed = SIZE_MAX;
    assert_int_equal(storage_put(t, twice, 3, &failed), ALINEO_CONFLICT);
    assert_int_equal(failed, 2);
    assert_int_equal(storage_put(t, twice, 2, NULL), ALINEO_OK);
}

void a_payload_that_is_too_large_is_named(void **state) {
    storage_test *t = test_of(state);
    size_t size = (size_t)32 * 1024 * 1024 + 1;
    char *payload = malloc(size + 1);
    assert_non_null(payload);
    memset(payload, ' ', size);
    payload[0] = '{';
    payload[size - 1] = '}';
    payload[size] = '\0';
    alineo_ledger_entry entries[] = {storage_entry("a", "sandbox_created", -1, "{}", 1),
                                     storage_entry("a", "exec_event", 1, payload, 1)};
    size_t failed = SIZE_MAX;
    assert_int_equal(storage_put(t, entries, 2, &failed), ALINEO_STORAGE_REJECTED);
    assert_int_equal(failed, 1);
    assert_int_equal(storage_count(t, NULL), 0);
    free(payload);
}

/* --- bytes ------------------------------------------------------------------------------------ */

void every_field_comes_back_as_it_went_in(void **state) {
    storage_test *t = test_of(state);
    alineo_ledger_entry entries[] = {
        storage_entry("box-1._", "exec_event", 7,
                      "{\"a\":\"100%s \\u0001 \xc3\xa4\xf0\x9f\x98\x80\"}", 1700000000123),
        storage_entry("box-1._", "x_unknown", -1, NULL, 1700000000124),
        storage_entry("box-1._", "sandbox_paused", INT32_MAX, "{}", INT64_MAX)};
    entries[0].name = "a 'quoted' \"name\" \xc3\xa4";
    entries[0].has_branch = 1;
    entries[0].branch = -5;
    entries[1].error = "it broke: %n";
    assert_int_equal(storage_put(t, entries, 3, NULL), ALINEO_OK);
    const alineo_read_request all = {.size = sizeof(all)};
    alineo_storage_reader *reader = open_reader(t, &all);
    alineo_ledger_record record;
    for (size_t i = 0; i < AL_COUNT(entries); i++) {
        assert_true(next(t, reader, &record));
        assert_string_equal(record.sandbox_id, entries[i].sandbox_id);
        assert_string_equal(record.name, entries[i].name);
        assert_string_equal(record.event, entries[i].event);
        assert_int_equal(record.step_idx, entries[i].step_idx);
        assert_int_equal(record.has_branch, entries[i].has_branch);
        assert_int_equal(record.branch, entries[i].branch);
        assert_int_equal(record.ts_ms, entries[i].ts_ms);
        if (entries[i].payload == NULL)
            assert_null(record.payload);
        else
            storage_expect_json(record.payload, record.payload_size, entries[i].payload);
        if (entries[i].error == NULL)
            assert_null(record.error);
        else
            assert_string_equal(record.error, entries[i].error);
    }
    assert_false(next(t, reader, &record));
    t->table->read_close(t->self, reader);
}

void large_payloads_come_back_whole(void **state) {
    storage_test *t = test_of(state);
    static const size_t sizes[] = {1, 4000, 65536, 1024 * 1024, 16 * 1024 * 1024};
    al_auto(al_buf_free) al_buf payload = AL_BUF_INIT;
    for (size_t i = 0; i < AL_COUNT(sizes); i++) {
        al_buf_clear(&payload);
        al_buf_append_str(&payload, "{\"text\":\"");
        char *room = al_buf_reserve(&payload, sizes[i]);
        assert_non_null(room);
        for (size_t k = 0; k < sizes[i]; k++)
            room[k] = (char)('a' + (k * 7 + k / 26) % 26);
        al_buf_commit(&payload, sizes[i]);
        al_buf_append_str(&payload, "\"}");
        storage_put_one(t, "a", "exec_event", (int32_t)i + 1, al_buf_str(&payload), 1);
        const alineo_read_request one = {.size = sizeof(one), .step_idx = (int32_t)i + 1};
        alineo_storage_reader *reader = open_reader(t, &one);
        alineo_ledger_record record;
        assert_true(next(t, reader, &record));
        storage_expect_json(record.payload, record.payload_size, al_buf_str(&payload));
        t->table->read_close(t->self, reader);
    }
}

/* --- reading ---------------------------------------------------------------------------------- */

void a_read_takes_its_filters_in_both_dialects(void **state) {
    storage_test *t = test_of(state);
    static const struct {
        const char *id, *name, *event;
        int32_t step;
    } rows[] = {{"a", "n", "sandbox_created", -1}, {"a", "n", "exec.started", 1},
                {"a", "m", "exec_start", 2},       {"a", "n", "exec.output", 1},
                {"b", "n", "exec_event", 2},       {"a", "n", "x.other", 3},
                {"b", "n", "exec_start", 1},       {"a", "n", "exec_event", 1}};
    for (size_t i = 0; i < AL_COUNT(rows); i++) {
        alineo_ledger_entry entry =
            storage_entry(rows[i].id, rows[i].event, rows[i].step, NULL, (int64_t)i);
        entry.name = rows[i].name;
        assert_int_equal(storage_put(t, &entry, 1, NULL), ALINEO_OK);
    }
    const char *const starts[] = {"exec_start", NULL};
    const char *const mixed[] = {"x.other", "exec_event", "sandbox_created", NULL};
    const char *const none[] = {NULL};
    const struct {
        alineo_read_request request;
        int32_t steps[8];
        size_t count;
    } cases[] = {
        {{.events = starts}, {1, 2, 1}, 3},
        {{.sandbox_id = "a", .events = starts}, {1, 2}, 2},
        {{.sandbox_id = "a", .name = "n", .events = starts}, {1}, 1},
        {{.name = "n", .step_idx = 1}, {1, 1, 1, 1}, 4},
        {{.sandbox_id = "a", .events = mixed}, {-1, 1, 3, 1}, 4},
        {{.sandbox_id = "a", .events = none}, {0}, 0},
        {{.sandbox_id = "c"}, {0}, 0},
        {{.name = "m"}, {2}, 1},
    };
    for (size_t i = 0; i < AL_COUNT(cases); i++) {
        alineo_read_request request = cases[i].request;
        request.size = sizeof(request);
        expect_steps(t, &request, cases[i].steps, cases[i].count);
    }
}

void a_read_goes_on_from_a_position(void **state) {
    storage_test *t = test_of(state);
    enum {
        COUNT = 1000
    };
    alineo_ledger_entry *entries = calloc(COUNT, sizeof(*entries));
    assert_non_null(entries);
    for (int32_t i = 0; i < COUNT; i++)
        entries[i] = storage_entry(i % 2 == 0 ? "a" : "b", "exec_event", i + 1, "{}", i);
    assert_int_equal(storage_put(t, entries, COUNT, NULL), ALINEO_OK);
    free(entries);
    char position[64] = "";
    int32_t expected = 1;
    while (expected <= COUNT) {
        alineo_read_request request = {.size = sizeof(request)};
        request.after = position[0] != '\0' ? position : NULL;
        alineo_storage_reader *reader = open_reader(t, &request);
        alineo_ledger_record record;
        for (int i = 0; i < 301 && next(t, reader, &record); i++) {
            assert_int_equal(record.step_idx, expected++);
            assert_true(strlen(record.position) < sizeof(position));
            (void)snprintf(position, sizeof(position), "%s", record.position);
        }
        t->table->read_close(t->self, reader);
    }
    const alineo_read_request bad = {.size = sizeof(bad), .after = "1; DROP"};
    alineo_storage_reader *reader = NULL;
    alineo_error *error = NULL;
    assert_int_equal(t->table->read_open(t->self, &bad, &reader, &error), ALINEO_INVALID_ARGUMENT);
    assert_null(reader);
    alineo_error_free(error);
}

void a_reader_finds_what_comes_later(void **state) {
    storage_test *t = test_of(state);
    const alineo_read_request all = {.size = sizeof(all), .sandbox_id = "a"};
    alineo_storage_reader *reader = open_reader(t, &all);
    alineo_ledger_record record;
    assert_false(next(t, reader, &record));
    for (int32_t i = 1; i < 4; i++) {
        storage_put_one(t, "b", "exec_event", 9, NULL, 1);
        storage_put_one(t, "a", "exec_event", i, NULL, 1);
        assert_true(next(t, reader, &record));
        assert_int_equal(record.step_idx, i);
        assert_false(next(t, reader, &record));
    }
    t->table->read_close(t->self, reader);
}

/* --- following and threads -------------------------------------------------------------------- */

typedef struct late_append {
    storage_test *test;
    pthread_t thread;
} late_append;

static void *append_later(void *argument) {
    late_append *late = argument;
    struct timespec pause = {0, 50000000};
    (void)nanosleep(&pause, NULL);
    storage_put_one(late->test, "a", "exec_event", 1, NULL, 1);
    return NULL;
}

void a_follower_wakes_when_something_comes(void **state) {
    storage_test *t = test_of(state);
    if (t->table->follow == NULL)
        skip();
    const alineo_read_request all = {.size = sizeof(all), .sandbox_id = "a"};
    alineo_storage_reader *reader = open_reader(t, &all);
    alineo_ledger_record record;
    assert_false(next(t, reader, &record));
    late_append late = {.test = t};
    assert_int_equal(pthread_create(&late.thread, NULL, append_later, &late), 0);
    alineo_error *error = NULL;
    while (!next(t, reader, &record))
        assert_int_equal(t->table->follow(t->self, "a", 60000, NULL, &error), ALINEO_OK);
    assert_int_equal(record.step_idx, 1);
    assert_int_equal(pthread_join(late.thread, NULL), 0);
    /* Nothing comes: it ends by itself, and by its call. */
    assert_false(next(t, reader, &record));
    assert_int_equal(t->table->follow(t->self, NULL, 30, NULL, &error), ALINEO_OK);
    alineo_call *call = NULL;
    assert_int_equal(alineo_call_new(NULL, &call, NULL), ALINEO_OK);
    alineo_call_cancel(call);
    alineo_code code;
    do
        code = t->table->follow(t->self, NULL, 60000, call, &error);
    while (code == ALINEO_OK);
    assert_int_equal(code, ALINEO_CANCELLED);
    alineo_error_free(error);
    alineo_call_free(call);
    t->table->read_close(t->self, reader);
}

enum {
    THREADS = 4,
    BATCHES = 50
};

typedef struct appender {
    storage_test *test;
    pthread_t thread;
    char id[16];
} appender;

static void *append_many(void *argument) {
    appender *a = argument;
    for (uint64_t i = 0; i < BATCHES; i++) {
        alineo_ledger_entry entry = storage_entry(a->id, "exec_event", (int32_t)i + 1, "{}", 1);
        const alineo_ledger_entry *pointers[] = {&entry, &entry};
        const alineo_ledger_batch batch = {sizeof(batch), a->id, 2 * i + 1, pointers, 2};
        size_t failed = 0;
        alineo_error *error = NULL;
        assert_int_equal(a->test->table->append(a->test->self, &batch, &failed, &error), ALINEO_OK);
        if (i % 10 == 0)
            assert_int_equal(storage_count(a->test, a->id), 2 * i + 2);
    }
    return NULL;
}

void many_threads_may_append_and_read(void **state) {
    storage_test *t = test_of(state);
    appender appenders[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        appenders[i].test = t;
        (void)snprintf(appenders[i].id, sizeof(appenders[i].id), "box-%zu", i);
        assert_int_equal(pthread_create(&appenders[i].thread, NULL, append_many, &appenders[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(appenders[i].thread, NULL), 0);
    assert_int_equal(storage_count(t, NULL), THREADS * BATCHES * 2);
}
