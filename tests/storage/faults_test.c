/* SPDX-License-Identifier: Apache-2.0 */
/* Each allocation of an adapter fails in turn: what was asked for happens whole or not at all, says
 * so, and the next try works. */
#include "tests/support/storage_cases.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/fail_alloc.h"

extern const alineo_plugin alineo_plugin_storage_memory;
extern const alineo_plugin alineo_plugin_storage_sqlite;

typedef struct script {
    const alineo_plugin *plugin;
    const char *const *pairs;
} script;

static int32_t count_session(void *user, const alineo_session *session) {
    assert_non_null(session->run_id);
    (*(size_t *)user)++;
    return 0;
}

static int32_t count_environment(void *user, const alineo_environment_record *record) {
    assert_non_null(record->image);
    (*(size_t *)user)++;
    return 0;
}

/* Success, or the want of memory that was made. */
static bool worked(alineo_code code, alineo_error *error) {
    assert_int_equal(code, alineo_error_code(error));
    alineo_error_free(error);
    if (code != ALINEO_OK) {
        assert_int_equal(code, ALINEO_NO_MEMORY);
        assert_true(fail_alloc_happened());
    }
    return code == ALINEO_OK;
}

static bool append(storage_test *t) {
    alineo_ledger_entry entries[] = {
        storage_entry("a", "sandbox_created", -1, "{\"runId\":\"r\",\"provider\":\"p\"}", 1),
        storage_entry("a", "exec_start", 1, "{}", 2), storage_entry("b", "x.own", -1, "{}", 2)};
    entries[1].flags = ALINEO_ENTRY_CLAIMS_STEP;
    entries[2].error = "text";
    const alineo_ledger_entry *pointers[] = {&entries[0], &entries[1], &entries[2]};
    const alineo_ledger_batch batch = {sizeof(batch), "w", 1, pointers, 3};
    size_t failed = 0;
    alineo_error *error = NULL;
    alineo_code code = t->table->append(t->self, &batch, &failed, &error);
    return worked(code, error);
}

static bool read_all(storage_test *t, size_t *count) {
    static const char *const events[] = {"exec_start", "sandbox_created", "x.own", NULL};
    const alineo_read_request request = {.size = sizeof(request), .events = events};
    alineo_storage_reader *reader = NULL;
    alineo_error *error = NULL;
    alineo_code code = t->table->read_open(t->self, &request, &reader, &error);
    *count = 0;
    if (!worked(code, error))
        return false;
    int32_t found = 1;
    while (code == ALINEO_OK && found) {
        alineo_ledger_record record = ALINEO_LEDGER_RECORD_INIT;
        error = NULL;
        code = t->table->read_next(t->self, reader, &record, &found, &error);
        if (!worked(code, error)) {
            /* What failed is given by the next try. */
            code = t->table->read_next(t->self, reader, &record, &found, NULL);
        }
        *count += code == ALINEO_OK && found;
    }
    t->table->read_close(t->self, reader);
    return code == ALINEO_OK;
}

static void use(storage_test *t) {
    bool stored = append(t);
    size_t count = 0;
    if (read_all(t, &count))
        assert_int_equal(count, stored ? 3 : 0);
    /* Sent again as the core would. */
    if (!stored)
        stored = append(t);
    const alineo_session_request request = {.size = sizeof(request), .limit = 5};
    char *cursor = NULL;
    alineo_error *error = NULL;
    count = 0;
    alineo_code code =
        t->table->session_list(t->self, &request, NULL, count_session, &count, &cursor, &error);
    if (worked(code, error))
        assert_int_equal(count, stored);
    count = 0;
    error = NULL;
    code = t->table->session_get(t->self, "name", "a", count_session, &count, &error);
    if (code != ALINEO_SESSION_NOT_FOUND)
        (void)worked(code, error);
    else
        alineo_error_free(error);
    const alineo_environment_record record = {sizeof(record), "e", "s", "i", 1, "{}"};
    error = NULL;
    code = t->table->environment_put(t->self, &record, &error);
    bool put = worked(code, error);
    count = 0;
    error = NULL;
    code = t->table->environment_list(t->self, count_environment, &count, &error);
    if (worked(code, error))
        assert_int_equal(count, put);
    error = NULL;
    code = t->table->lease_acquire(t->self, "k", "o", 1000, &error);
    (void)worked(code, error);
    error = NULL;
    code = t->table->meta_put(t->self, "k", "v", 0, &error);
    put = worked(code, error);
    char *value = NULL;
    error = NULL;
    code = t->table->meta_get(t->self, "k", &value, &error);
    if (worked(code, error))
        assert_true((value != NULL) == put);
    t->host.host.free(&t->host.host, value);
    uint64_t removed = 0;
    error = NULL;
    code = t->table->session_delete(t->self, NULL, "a", &removed, &error);
    if (worked(code, error))
        assert_int_equal(removed, stored ? 2 : 0);
    error = NULL;
    code = t->table->prune(t->self, 1000, NULL, &removed, &error);
    (void)worked(code, error);
}

static void play(void *state) {
    const script *s = state;
    storage_test test;
    alineo_error *error = NULL;
    alineo_code code = storage_test_try(&test, s->plugin, s->pairs, &error);
    if (!worked(code, error))
        return;
    use(&test);
    storage_test_close(&test);
}

static void memory_bears_every_want_of_memory(void **state) {
    (void)state;
    script s = {&alineo_plugin_storage_memory, NULL};
    assert_true(fail_alloc_each(play, &s) > 10);
}

static void sqlite_bears_every_want_of_memory(void **state) {
    (void)state;
    static const char *const pairs[] = {"path", ":memory:", NULL};
    script s = {&alineo_plugin_storage_sqlite, pairs};
    assert_true(fail_alloc_each(play, &s) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_bears_every_want_of_memory),
        cmocka_unit_test(sqlite_bears_every_want_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
