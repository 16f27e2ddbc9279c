/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that anybody may have written, listed and read by two adapters that must agree; and output
 * of any bytes, which must come out of its payload as it went in. */
#include <alineo/storage.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/journal_private.h"
#include "core/util/base64.h"
#include "core/util/cleanup.h"
#include "core/util/json.h"
#include "tests/support/test_host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const alineo_plugin alineo_plugin_storage_memory;
extern const alineo_plugin alineo_plugin_storage_sqlite;

static void need(bool condition) {
    if (!condition)
        abort();
}

/* --- rows ------------------------------------------------------------------------------------- */

typedef struct adapter {
    test_host host;
    const alineo_storage_table *table;
    alineo_storage *self;
    uint64_t number;
} adapter;

static void open_adapter(adapter *a, const alineo_plugin *plugin) {
    static const alineo_option_spec *const none[] = {NULL};
    static const char *const pairs[] = {"path", ":memory:", NULL};
    const alineo_storage_descriptor *descriptor = plugin->descriptor;
    bool has_options = descriptor->options != NULL;
    test_host_open(&a->host, has_options ? descriptor->options : none, has_options ? pairs : NULL);
    a->table = plugin->table;
    alineo_error *error = NULL;
    need(a->table->open(&a->host.host, a->host.options, &a->self, &error) == ALINEO_OK);
    a->number = 1;
}

typedef struct told {
    size_t count;
    al_buf run_id;
    al_buf provider;
    al_buf payload;
} told;

static int32_t note(void *user, const alineo_session *session) {
    told *t = user;
    t->count++;
    al_buf_append_str(&t->run_id, session->run_id);
    al_buf_append_str(&t->provider, session->provider != NULL ? session->provider : "(none)");
    al_buf_append(&t->payload, session->created_payload, session->created_payload_size);
    return 0;
}

static void told_free(told *t) {
    al_buf_free(&t->run_id);
    al_buf_free(&t->provider);
    al_buf_free(&t->payload);
}

/* The created row of a session, and what is made of it. */
static void ask(adapter *a, const uint8_t *data, size_t size, told *t) {
    alineo_ledger_entry entry = ALINEO_LEDGER_ENTRY_INIT;
    entry.sandbox_id = "s";
    entry.name = "n";
    entry.event = "sandbox_created";
    entry.payload = (const char *)data;
    entry.payload_size = size;
    entry.ts_ms = 1;
    const alineo_ledger_entry *entries[] = {&entry};
    const alineo_ledger_batch batch = {sizeof(batch), "w", a->number++, entries, 1};
    size_t failed = 0;
    alineo_error *error = NULL;
    need(a->table->append(a->self, &batch, &failed, &error) == ALINEO_OK);
    const alineo_session_request request = {.size = sizeof(request)};
    char *cursor = NULL;
    need(a->table->session_list(a->self, &request, NULL, note, t, &cursor, &error) == ALINEO_OK);
    need(t->count == 1 && cursor == NULL);
    uint64_t removed = 0;
    need(a->table->session_delete(a->self, NULL, "s", &removed, &error) == ALINEO_OK);
    need(removed == 1);
}

static bool is_string_or_absent(const al_json *document, const char *key) {
    const al_json_node *node = al_json_member(al_json_root(document), key);
    const char *text = NULL;
    return node == NULL || al_json_get_str(node, &text);
}

static void compare_adapters(const uint8_t *data, size_t size) {
    static adapter memory, sqlite;
    if (memory.self == NULL) {
        open_adapter(&memory, &alineo_plugin_storage_memory);
        open_adapter(&sqlite, &alineo_plugin_storage_sqlite);
    }
    told a = {.count = 0}, b = {.count = 0};
    ask(&memory, data, size, &a);
    ask(&sqlite, data, size, &b);
    al_auto(al_json_free) al_json *document = NULL;
    /* Where it is JSON as we write it they must agree; all else must only do no harm. */
    if (al_json_parse(data, size, NULL, &document, NULL) == 0 &&
        al_json_type_of(al_json_root(document)) == AL_JSON_OBJECT &&
        memchr(data, '\0', size) == NULL && is_string_or_absent(document, "runId") &&
        is_string_or_absent(document, "provider")) {
        need(strcmp(al_buf_str(&a.run_id), al_buf_str(&b.run_id)) == 0);
        need(strcmp(al_buf_str(&a.provider), al_buf_str(&b.provider)) == 0);
        need(a.payload.size == size && b.payload.size == size);
        need(size == 0 || memcmp(a.payload.data, b.payload.data, size) == 0);
    }
    told_free(&a);
    told_free(&b);
}

/* --- output ----------------------------------------------------------------------------------- */

static void seal_and_open(const uint8_t *data, size_t size) {
    const al_event event = {.sandbox_id = "s", .name = "n", .event = "exec_event", .step_idx = 1};
    al_journal_entry *entry =
        al_journal_entry_new(&event, "{\"seq\":1,\"type\":\"stdout\",", ",\"execId\":\"e\"}");
    need(entry != NULL);
    al_buf_append(&entry->raw, data, size);
    need(al_journal_seal(entry) == 0);
    al_auto(al_json_free) al_json *document = NULL;
    need(al_json_parse(entry->row.payload, entry->row.payload_size, NULL, &document, NULL) == 0);
    const al_json_node *root = al_json_root(document);
    const char *text = NULL;
    size_t text_size = 0;
    al_auto(al_buf_free) al_buf bytes = AL_BUF_INIT;
    if (al_json_get_bytes(al_json_member(root, "text"), &text, &text_size)) {
        al_buf_append(&bytes, text, text_size);
    } else {
        need(al_json_get_bytes(al_json_member(root, "data"), &text, &text_size));
        need(al_base64_decode_append(text, text_size, &bytes) == 0);
    }
    need(bytes.size == size);
    need(size == 0 || memcmp(bytes.data, data, size) == 0);
    al_journal_entry_free(entry);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    compare_adapters(data, size);
    seal_and_open(data, size);
    return 0;
}
