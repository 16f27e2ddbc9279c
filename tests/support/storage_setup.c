/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/storage_cases.h"

#include <stdlib.h>
#include <string.h>

#include "core/util/json.h"

alineo_code storage_test_try(storage_test *test, const alineo_plugin *plugin,
                             const char *const *pairs, alineo_error **err) {
    const alineo_storage_descriptor *descriptor = plugin->descriptor;
    memset(test, 0, sizeof(*test));
    test->table = plugin->table;
    static const alineo_option_spec *const none[] = {NULL};
    test_host_open(&test->host, descriptor->options != NULL ? descriptor->options : none, pairs);
    test->next_number = 1;
    alineo_code code = test->table->open(&test->host.host, test->host.options, &test->self, err);
    if (code != ALINEO_OK)
        test_host_close(&test->host);
    return code;
}

void storage_test_open(storage_test *test, const alineo_plugin *plugin, const char *const *pairs) {
    alineo_error *error = NULL;
    alineo_code code = storage_test_try(test, plugin, pairs, &error);
    if (code != ALINEO_OK)
        print_error("%s\n", alineo_error_message(error));
    assert_int_equal(code, ALINEO_OK);
}

void storage_test_close(storage_test *test) {
    test->table->close(test->self);
    test_host_close(&test->host);
}

alineo_ledger_entry storage_entry(const char *sandbox_id, const char *event, int32_t step_idx,
                                  const char *payload, int64_t ts_ms) {
    alineo_ledger_entry entry = ALINEO_LEDGER_ENTRY_INIT;
    entry.sandbox_id = sandbox_id;
    entry.name = "name";
    entry.event = event;
    entry.step_idx = step_idx;
    entry.payload = payload;
    entry.payload_size = payload != NULL ? strlen(payload) : 0;
    entry.ts_ms = ts_ms;
    return entry;
}

alineo_code storage_put(storage_test *test, const alineo_ledger_entry *entries, size_t count,
                        size_t *failed_index) {
    const alineo_ledger_entry **pointers = calloc(count, sizeof(*pointers));
    assert_non_null(pointers);
    for (size_t i = 0; i < count; i++)
        pointers[i] = &entries[i];
    const alineo_ledger_batch batch = {sizeof(batch), "w", test->next_number, pointers, count};
    size_t ignored = 0;
    alineo_error *error = NULL;
    alineo_code code = test->table->append(test->self, &batch,
                                           failed_index != NULL ? failed_index : &ignored, &error);
    assert_int_equal(code, alineo_error_code(error));
    alineo_error_free(error);
    free(pointers);
    if (code == ALINEO_OK)
        test->next_number += count;
    return code;
}

void storage_put_one(storage_test *test, const char *sandbox_id, const char *event,
                     int32_t step_idx, const char *payload, int64_t ts_ms) {
    alineo_ledger_entry entry = storage_entry(sandbox_id, event, step_idx, payload, ts_ms);
    assert_int_equal(storage_put(test, &entry, 1, NULL), ALINEO_OK);
}

size_t storage_count(storage_test *test, const char *sandbox_id) {
    const alineo_read_request request = {.size = sizeof(request), .sandbox_id = sandbox_id};
    alineo_storage_reader *reader = NULL;
    assert_int_equal(test->table->read_open(test->self, &request, &reader, NULL), ALINEO_OK);
    size_t count = 0;
    alineo_ledger_record record = ALINEO_LEDGER_RECORD_INIT;
    int32_t found = 0;
    alineo_error *error = NULL;
    while (test->table->read_next(test->self, reader, &record, &found, &error) == ALINEO_OK &&
           found) {
        if (sandbox_id != NULL)
            assert_string_equal(record.sandbox_id, sandbox_id);
        count++;
    }
    assert_null(error);
    test->table->read_close(test->self, reader);
    return count;
}

/* --- payloads --------------------------------------------------------------------------------- */

static void expect_node(const al_json_node *node, const al_json_node *expected) {
    const char *text = NULL, *expected_text = NULL;
    assert_int_equal(al_json_type_of(node), al_json_type_of(expected));
    assert_int_equal(al_json_count(node), al_json_count(expected));
    if (al_json_get_str(expected, &expected_text)) {
        assert_true(al_json_get_str(node, &text));
        assert_string_equal(text, expected_text);
    } else if (al_json_get_number_text(expected, &expected_text)) {
        assert_true(al_json_get_number_text(node, &text));
        assert_string_equal(text, expected_text);
    }
    size_t index = 0;
    for (const al_json_node *at = al_json_first(expected); at != NULL; at = al_json_next(at)) {
        const char *key = al_json_key(at, NULL);
        const al_json_node *same =
            key != NULL ? al_json_member(node, key) : al_json_item(node, index++);
        assert_non_null(same);
        expect_node(same, at);
    }
}

void storage_expect_json(const char *text, size_t size, const char *expected) {
    al_json *document = NULL, *wanted = NULL;
    assert_non_null(text);
    assert_int_equal(strlen(text), size);
    assert_int_equal(al_json_parse(text, size, NULL, &document, NULL), 0);
    assert_int_equal(al_json_parse(expected, strlen(expected), NULL, &wanted, NULL), 0);
    expect_node(al_json_root(document), al_json_root(wanted));
    al_json_free(document);
    al_json_free(wanted);
}
