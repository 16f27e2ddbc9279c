/* SPDX-License-Identifier: Apache-2.0 */
/* Each allocation of the journal fails in turn, once or from then on: what it took is stored when
 * there is memory again, and nothing else is. */
#include "core/journal.h"

#include <stdlib.h>
#include <string.h>

#include "core/util/base64.h"
#include "core/util/cleanup.h"
#include "core/util/json.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/storage_cases.h"

extern const alineo_plugin alineo_plugin_storage_memory;

typedef struct taken {
    size_t events;
    al_buf output;
} taken;

static void check(storage_test *t, const taken *expected) {
    const alineo_read_request all = {.size = sizeof(all)};
    alineo_storage_reader *reader = NULL;
    assert_int_equal(t->table->read_open(t->self, &all, &reader, NULL), ALINEO_OK);
    al_auto(al_buf_free) al_buf output = AL_BUF_INIT;
    size_t events = 0;
    for (;;) {
        alineo_ledger_record record = ALINEO_LEDGER_RECORD_INIT;
        int32_t found = 0;
        assert_int_equal(t->table->read_next(t->self, reader, &record, &found, NULL), ALINEO_OK);
        if (!found)
            break;
        if (strcmp(record.event, "exec_event") != 0) {
            events++;
            continue;
        }
        al_auto(al_json_free) al_json *document = NULL;
        assert_int_equal(al_json_parse(record.payload, record.payload_size, NULL, &document, NULL),
                         0);
        const char *text = NULL;
        size_t size = 0;
        const al_json_node *root = al_json_root(document);
        if (al_json_get_bytes(al_json_member(root, "text"), &text, &size))
            al_buf_append(&output, text, size);
        else if (al_json_get_bytes(al_json_member(root, "data"), &text, &size))
            assert_int_equal(al_base64_decode_append(text, size, &output), 0);
        else
            fail_msg("%s", record.payload);
    }
    t->table->read_close(t->self, reader);
    assert_int_equal(events, expected->events);
    assert_int_equal(output.size, expected->output.size);
    if (output.size > 0)
        assert_memory_equal(output.data, expected->output.data, output.size);
}

static void put(al_journal *journal, taken *t) {
    const al_event event = {.sandbox_id = "s",
                            .name = "n",
                            .event = "sandbox_paused",
                            .payload = "{}",
                            .payload_size = 2,
                            .step_idx = -1};
    alineo_error *error = NULL;
    alineo_code code = al_journal_put(journal, &event, NULL, &error);
    t->events += code == ALINEO_OK;
    assert_true(code == ALINEO_OK || (code == ALINEO_NO_MEMORY && fail_alloc_happened()));
    alineo_error_free(error);
}

static char block[150000];
static char copy[sizeof(block) * 3];

/* The copy of what was taken must not depend on memory. */
static void chunk(al_journal_stream *stream, size_t size, taken *t) {
    al_room room = al_journal_chunk(stream, block, size);
    if (room != AL_ROOM_TAKEN) {
        assert_int_equal(room, AL_ROOM_NO_MEMORY);
        assert_true(fail_alloc_happened());
        return;
    }
    memcpy(copy + t->output.size, block, size);
    t->output.size += size;
}

static void use(al_journal *journal, taken *t) {
    put(journal, t);
    al_journal_stream *stream = NULL;
    alineo_error *error = NULL;
    alineo_code code = al_journal_stream_new(journal, "s", "n", 1, "e", "stdout", &stream, &error);
    if (code != ALINEO_OK) {
        assert_int_equal(code, ALINEO_NO_MEMORY);
        alineo_error_free(error);
        return;
    }
    chunk(stream, sizeof(block), t);
    chunk(stream, 3, t);
    chunk(stream, sizeof(block), t);
    chunk(stream, 5, t);
    put(journal, t);
    al_journal_stream_end(stream);
    t->output.size -= (size_t)al_journal_stream_gap(stream);
    al_journal_stream_free(stream);
}

static void play(void *state) {
    (void)state;
    storage_test test;
    alineo_error *error = NULL;
    if (storage_test_try(&test, &alineo_plugin_storage_memory, NULL, &error) != ALINEO_OK) {
        alineo_error_free(error);
        return;
    }
    al_storage_binding binding = {.id = "memory",
                                  .plugin = "storage/memory",
                                  .descriptor = alineo_plugin_storage_memory.descriptor,
                                  .table = test.table,
                                  .self = test.self,
                                  .host = &test.host.host};
    const al_journal_options options = {.patience_ms = 60000};
    al_journal *journal = NULL;
    if (al_journal_new(&binding, &options, &journal, &error) == ALINEO_OK) {
        taken t = {.output.data = copy};
        use(journal, &t);
        bool happened = fail_alloc_happened();
        fail_alloc_at(0);
        assert_int_equal(al_journal_flush(journal, 10000, NULL), ALINEO_OK);
        check(&test, &t);
        al_journal_free(journal, 0);
        /* For who counts the rounds. */
        if (happened) {
            fail_alloc_at(1);
            void *volatile memory = malloc(1);
            free(memory);
            assert_true(fail_alloc_happened());
        }
    } else {
        alineo_error_free(error);
    }
    storage_test_close(&test);
}

static void what_was_taken_is_stored_when_there_is_memory_again(void **state) {
    (void)state;
    /* Plain text, text that grows to six times its size, and no text. */
    for (size_t i = 0; i < sizeof(block); i++)
        block[i] = (char)(i < 40000 ? 'a' + i % 26 : i < 110000 ? 1 : 200 + i % 50);
    assert_true(fail_alloc_each(play, NULL) > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_taken_is_stored_when_there_is_memory_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
