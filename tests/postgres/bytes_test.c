/* SPDX-License-Identifier: Apache-2.0 */
/* test: timeout=300 */
/* What JSONB makes of payloads, and what it refuses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/buf.h"
#include "tests/support/postgres_server.h"

static int set_up(void **state) {
    postgres_ledger *ledger = calloc(1, sizeof(*ledger));
    assert_non_null(ledger);
    postgres_ledger_make(ledger, postgres_shared_url());
    postgres_ledger_open(ledger, "1");
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

static void expect_round_trip(postgres_ledger *ledger, const char *payload, const char *name) {
    const alineo_storage_table *table = ledger->test.table;
    alineo_ledger_entry entry = storage_entry("s", "exec_event", 1, payload, 1);
    alineo_storage_reader *reader = NULL;
    alineo_ledger_record record = ALINEO_LEDGER_RECORD_INIT;
    int32_t found = 0;
    entry.name = name;
    assert_int_equal(storage_put(&ledger->test, &entry, 1, NULL), ALINEO_OK);
    const alineo_read_request request = {.size = sizeof(request), .name = name};
    assert_int_equal(table->read_open(ledger->test.self, &request, &reader, NULL), ALINEO_OK);
    assert_int_equal(table->read_next(ledger->test.self, reader, &record, &found, NULL), ALINEO_OK);
    assert_true(found);
    assert_string_equal(record.name, name);
    storage_expect_json(record.payload, record.payload_size, payload);
    table->read_close(ledger->test.self, reader);
    uint64_t removed = 0;
    assert_int_equal(table->session_delete(ledger->test.self, name, "s", &removed, NULL),
                     ALINEO_OK);
    assert_int_equal(removed, 1);
}

static void numbers_and_texts_keep_their_values(void **state) {
    static const char *const payloads[] = {
        "{\"n\":9007199254740993}",
        "{\"n\":-9223372036854775808}",
        "{\"n\":123456789012345678901234567890.123456789}",
        "{\"text\":\"\\ud83d\\ude00 \\u0001 \\\"\\\\\\/\"}",
        "{\"text\":\"\xf0\x9f\x98\x80 100%s ' -- \"}",
        "{\"\":{\"a\":[null,true,false,[],{}]}}",
    };
    for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++)
        expect_round_trip(*state, payloads[i], "name");
}

static void odd_names_are_names(void **state) {
    static const char *const names[] = {
        "it's", "\"", "\\", "100%", "a*b", "x:y", "{}", "a,b\"", "NULL", "\xf0\x9f\x98\x80", " "};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        expect_round_trip(*state, "{}", names[i]);
}

static char *nested(size_t depth) {
    al_buf text = AL_BUF_INIT;
    al_buf_append_str(&text, "{\"a\":");
    for (size_t i = 0; i < depth; i++)
        al_buf_append_char(&text, '[');
    for (size_t i = 0; i < depth; i++)
        al_buf_append_char(&text, ']');
    al_buf_append_char(&text, '}');
    char *payload = al_buf_steal(&text, NULL);
    assert_non_null(payload);
    return payload;
}

static void deep_nesting_is_kept_or_refused(void **state) {
    postgres_ledger *ledger = *state;
    char *fine = nested(60), *deep = nested(1000), *too_deep = nested(1000000);
    expect_round_trip(ledger, fine, "name");
    storage_put_one(&ledger->test, "d", "exec_event", 1, deep, 1);
    assert_int_equal(storage_count(&ledger->test, "d"), 1);
    alineo_ledger_entry entry = storage_entry("d", "exec_event", 1, too_deep, 1);
    size_t failed = SIZE_MAX;
    assert_int_equal(storage_put(&ledger->test, &entry, 1, &failed), ALINEO_STORAGE_REJECTED);
    assert_int_equal(failed, 0);
    free(fine);
    free(deep);
    free(too_deep);
}

/* Wherever it stands among the others; and these can be stored when it is left out. */
static void what_can_never_be_stored_is_named(void **state) {
    postgres_ledger *ledger = *state;
    enum {
        COUNT = 37
    };
    static const char *const refused[] = {"{\"a\":\"\\u0000\"}",
                                          "{\"a\":\"\\ud800\"}",
                                          "{\"a\":\"\\udc00x\"}",
                                          "{\"n\":1e999999}",
                                          "{\"a\":",
                                          "",
                                          "\xff"};
    static const size_t places[] = {0, 1, 17, 35, 36};
    alineo_ledger_entry entries[COUNT];
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        size_t place = places[i % 5], failed = SIZE_MAX;
        for (size_t k = 0; k < COUNT; k++)
            entries[k] = storage_entry("s", "exec_event", (int32_t)k + 1, "{\"fine\":1}", 1);
        entries[place].payload = refused[i];
        entries[place].payload_size = strlen(refused[i]);
        assert_int_equal(storage_put(&ledger->test, entries, COUNT, &failed),
                         ALINEO_STORAGE_REJECTED);
        assert_int_equal(failed, place);
        assert_int_equal(storage_count(&ledger->test, NULL), 0);
    }
    entries[places[1]].payload = "{\"marker\":1}";
    entries[places[1]].payload_size = strlen(entries[places[1]].payload);
    assert_int_equal(storage_put(&ledger->test, entries, COUNT, NULL), ALINEO_OK);
    assert_int_equal(storage_count(&ledger->test, NULL), COUNT);
}

static void a_refusal_tells_nothing_of_what_was_refused(void **state) {
    postgres_ledger *ledger = *state;
    static const char payload[] = "{\"token\":\"S3CRET\\u0000\"}";
    alineo_ledger_entry entry = storage_entry("s", "exec_event", 1, payload, 1);
    const alineo_ledger_entry *pointers[] = {&entry};
    const alineo_ledger_batch batch = {sizeof(batch), "w", 1, pointers, 1};
    size_t failed = 0;
    alineo_error *error = NULL;
    assert_int_equal(ledger->test.table->append(ledger->test.self, &batch, &failed, &error),
                     ALINEO_STORAGE_REJECTED);
    assert_null(strstr(alineo_error_message(error), "S3CRET"));
    alineo_error_free(error);
}

/* A run id has no limit, though rows of an index have. */
static void a_very_long_run_id_is_found(void **state) {
    postgres_ledger *ledger = *state;
    al_auto(al_buf_free) al_buf payload = AL_BUF_INIT;
    al_buf_append_str(&payload, "{\"runId\":\"");
    for (int i = 0; i < 20000; i++)
        al_buf_printf(&payload, "%d", i);
    al_buf_append_str(&payload, "\"}");
    storage_put_one(&ledger->test, "s", "sandbox_created", -1, al_buf_str(&payload), 1);
    char *answer =
        postgres_other_ask(ledger->other, "SELECT length(payload->>'runId') FROM alineo_events");
    assert_string_equal(answer, "88890\n");
    free(answer);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(numbers_and_texts_keep_their_values),
        CASE(odd_names_are_names),
        CASE(deep_nesting_is_kept_or_refused),
        CASE(what_can_never_be_stored_is_named),
        CASE(a_refusal_tells_nothing_of_what_was_refused),
        CASE(a_very_long_run_id_is_found),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
