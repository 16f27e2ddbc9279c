/* SPDX-License-Identifier: Apache-2.0 */
/* test: tsan */
#include "tests/support/test.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/client_private.h"
#include "tests/support/world.h"

typedef struct seen {
    size_t count;
    size_t stop_at; /* 0 = never */
    char ids[512];
    alineo_session last;
} seen;

static int32_t see(void *user, const alineo_session *session) {
    seen *self = user;
    assert_int_equal(session->size, sizeof(*session));
    size_t used = strlen(self->ids);
    (void)snprintf(self->ids + used, sizeof(self->ids) - used, "%s ", session->sandbox_id);
    self->last = *session;
    self->count++;
    return self->count == self->stop_at;
}

static void put(world *self, const char *id, const char *event, const char *payload) {
    shared_storage_put(&self->storage, id, "name", event, payload);
}

static void sessions_are_listed_by_what_is_asked_for(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    put(&self, "s1", "sandbox_created", "{\"runId\":\"r1\"}");
    put(&self, "s2", "sandbox.created", "{\"runId\":\"r1\"}");
    put(&self, "s3", "sandbox_created", "{}");
    put(&self, "s2", "sandbox.closed", NULL);
    seen all = {.count = 0};
    assert_int_equal(alineo_session_list(self.client, NULL, see, &all, NULL), ALINEO_OK);
    assert_int_equal(all.count, 3);
    alineo_session_list_options options = ALINEO_SESSION_LIST_OPTIONS_INIT;
    options.run_id = "r1";
    options.status = ALINEO_SESSION_RUNNING;
    seen one = {.count = 0};
    assert_int_equal(alineo_session_list(self.client, &options, see, &one, NULL), ALINEO_OK);
    assert_string_equal(one.ids, "s1 ");
    alineo_session_list_options_init(&options);
    options.limit = 2;
    seen two = {.count = 0};
    assert_int_equal(alineo_session_list(self.client, &options, see, &two, NULL), ALINEO_OK);
    assert_int_equal(two.count, 2);
    seen stopped = {.stop_at = 1};
    assert_int_equal(alineo_session_list(self.client, NULL, see, &stopped, NULL), ALINEO_OK);
    assert_int_equal(stopped.count, 1);
    world_close(&self);
}

static void what_this_client_has_queued_is_listed(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    const al_event event = {.sandbox_id = "queued",
                            .name = "n",
                            .event = "sandbox_created",
                            .payload = "{}",
                            .payload_size = 2,
                            .step_idx = -1};
    assert_int_equal(al_journal_put(self.client->journal, &event, NULL, NULL), ALINEO_OK);
    seen all = {.count = 0};
    assert_int_equal(alineo_session_list(self.client, NULL, see, &all, NULL), ALINEO_OK);
    assert_string_equal(all.ids, "queued ");
    world_close(&self);
}

static void a_storage_that_cannot_be_written_can_still_be_read(void **state) {
    (void)state;
    world self;
    world_open(&self, "{\"ledger\": {\"patienceMs\": 30}}");
    put(&self, "s1", "sandbox_created", "{}");
    atomic_store(&self.storage.append_failures, -1);
    const al_event event = {.sandbox_id = "queued", .name = "n", .event = "x", .step_idx = -1};
    assert_int_equal(al_journal_put(self.client->journal, &event, NULL, NULL), ALINEO_OK);
    seen all = {.count = 0};
    assert_int_equal(alineo_session_list(self.client, NULL, see, &all, NULL), ALINEO_OK);
    assert_string_equal(all.ids, "s1 ");
    atomic_store(&self.storage.append_failures, 0);
    world_close(&self);
}

static void odd_questions_are_refused(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    seen none = {.count = 0};
    alineo_session_list_options options = ALINEO_SESSION_LIST_OPTIONS_INIT;
    assert_int_equal(alineo_session_list(self.client, &options, NULL, NULL, NULL),
                     ALINEO_INVALID_ARGUMENT);
    options.status = 3;
    assert_int_equal(alineo_session_list(self.client, &options, see, &none, NULL),
                     ALINEO_INVALID_ARGUMENT);
    options.status = ALINEO_SESSION_ANY;
    options.before_ms = -1;
    assert_int_equal(alineo_session_list(self.client, &options, see, &none, NULL),
                     ALINEO_INVALID_ARGUMENT);
    assert_int_equal(alineo_session_get(self.client, NULL, NULL, see, &none, NULL),
                     ALINEO_INVALID_ARGUMENT);
    assert_int_equal(alineo_session_get(self.client, NULL, "s", NULL, NULL, NULL),
                     ALINEO_INVALID_ARGUMENT);
    assert_int_equal(alineo_session_delete(self.client, NULL, "", NULL, NULL),
                     ALINEO_INVALID_ARGUMENT);
    assert_int_equal(alineo_session_list(NULL, NULL, see, &none, NULL), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(none.count, 0);
    world_close(&self);
}

static void one_session_is_found_by_its_sandbox(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    put(&self, "s1", "sandbox_created", "{\"provider\":\"local\"}");
    seen one = {.count = 0};
    assert_int_equal(alineo_session_get(self.client, "name", "s1", see, &one, NULL), ALINEO_OK);
    assert_int_equal(alineo_session_get(self.client, NULL, "s1", see, &one, NULL), ALINEO_OK);
    assert_int_equal(one.count, 2);
    alineo_error *error = NULL;
    assert_int_equal(alineo_session_get(self.client, "other", "s1", see, &one, &error),
                     ALINEO_SESSION_NOT_FOUND);
    assert_non_null(strstr(alineo_error_message(error), "s1"));
    alineo_error_free(error);
    world_close(&self);
}

static void a_session_is_deleted_when_nobody_here_uses_it(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    char id[129];
    (void)snprintf(id, sizeof(id), "%s", alineo_sandbox_id(sandbox));
    alineo_error *error = NULL;
    assert_int_equal(alineo_session_delete(self.client, NULL, id, NULL, &error), ALINEO_CONFLICT);
    assert_string_equal(alineo_error_sandbox_id(error), id);
    alineo_error_free(error);
    assert_int_equal(alineo_sandbox_close(sandbox, NULL, NULL), ALINEO_OK);
    alineo_sandbox_free(sandbox);
    uint64_t removed = 0;
    assert_int_equal(alineo_session_delete(self.client, NULL, id, &removed, NULL), ALINEO_OK);
    assert_true(removed >= 2);
    assert_int_equal(shared_storage_count(&self.storage, id, NULL), 0);
    assert_int_equal(alineo_session_delete(self.client, NULL, id, &removed, NULL),
                     ALINEO_SESSION_NOT_FOUND);
    world_close(&self);
}

/* --- events ----------------------------------------------------------------------------------- */

static void expect_events(alineo_event_reader *reader, const char *const *events) {
    alineo_ledger_record record = ALINEO_LEDGER_RECORD_INIT;
    int32_t found = 0;
    for (size_t i = 0; events[i] != NULL; i++) {
        assert_int_equal(alineo_events_next(reader, &record, &found, NULL), ALINEO_OK);
        assert_int_equal(found, 1);
        assert_int_equal(record.size, sizeof(record));
        assert_string_equal(record.event, events[i]);
    }
    assert_int_equal(alineo_events_next(reader, &record, &found, NULL), ALINEO_OK);
    assert_int_equal(found, 0);
}

static void events_are_read_with_filters_and_from_a_position(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    put(&self, "s1", "sandbox_created", "{}");
    put(&self, "s2", "sandbox.created", "{}");
    put(&self, "s1", "x.y", "{}");
    put(&self, "s1", "sandbox_closed", "{}");
    alineo_event_reader *reader = NULL;
    assert_int_equal(alineo_events_open(self.client, NULL, &reader, NULL), ALINEO_OK);
    expect_events(reader, (const char *const[]){"sandbox_created", "sandbox.created", "x.y",
                                                "sandbox_closed", NULL});
    alineo_events_free(reader);
    alineo_event_options options = ALINEO_EVENT_OPTIONS_INIT;
    options.events = (const char *const[]){"sandbox_created", NULL};
    assert_int_equal(alineo_events_open(self.client, &options, &reader, NULL), ALINEO_OK);
    alineo_ledger_record record = ALINEO_LEDGER_RECORD_INIT;
    int32_t found = 0;
    assert_int_equal(alineo_events_next(reader, &record, &found, NULL), ALINEO_OK);
    char position[64];
    (void)snprintf(position, sizeof(position), "%s", record.position);
    alineo_events_free(reader);
    alineo_event_options_init(&options);
    options.sandbox_id = "s1";
    options.after = position;
    assert_int_equal(alineo_events_open(self.client, &options, &reader, NULL), ALINEO_OK);
    expect_events(reader, (const char *const[]){"x.y", "sandbox_closed", NULL});
    put(&self, "s1", "late", "{}");
    expect_events(reader, (const char *const[]){"late", NULL});
    alineo_events_free(reader);
    options.after = "nonsense";
    reader = NULL;
    assert_int_equal(alineo_events_open(self.client, &options, &reader, NULL),
                     ALINEO_INVALID_ARGUMENT);
    assert_null(reader);
    options.after = NULL;
    options.seq = -1;
    assert_int_equal(alineo_events_open(self.client, &options, &reader, NULL),
                     ALINEO_INVALID_ARGUMENT);
    world_close(&self);
}

static void a_reader_fills_no_more_than_the_caller_has(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    put(&self, "s1", "sandbox_created", "{}");
    alineo_event_reader *reader = NULL;
    assert_int_equal(alineo_events_open(self.client, NULL, &reader, NULL), ALINEO_OK);
    alineo_ledger_record record = ALINEO_LEDGER_RECORD_INIT;
    record.size = offsetof(alineo_ledger_record, step_idx);
    record.ts_ms = 77;
    int32_t found = 0;
    assert_int_equal(alineo_events_next(reader, &record, &found, NULL), ALINEO_OK);
    assert_string_equal(record.sandbox_id, "s1");
    assert_int_equal(record.size, offsetof(alineo_ledger_record, step_idx));
    assert_int_equal(record.ts_ms, 77);
    record.size = 0;
    assert_int_equal(alineo_events_next(reader, &record, &found, NULL), ALINEO_INVALID_ARGUMENT);
    alineo_events_free(reader);
    world_close(&self);
}

static void a_reader_holds_its_client(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    put(&self, "s1", "sandbox_created", "{}");
    alineo_event_reader *reader = NULL;
    assert_int_equal(alineo_events_open(self.client, NULL, &reader, NULL), ALINEO_OK);
    alineo_client_free(self.client);
    self.client = NULL;
    assert_int_equal(atomic_load(&self.storage.closes), 0);
    expect_events(reader, (const char *const[]){"sandbox_created", NULL});
    alineo_events_free(reader);
    assert_int_equal(atomic_load(&self.storage.closes), 1);
    alineo_events_free(NULL);
    world_close(&self);
}

static void in_a_forked_child_nothing_is_read(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    put(&self, "s1", "sandbox_created", "{}");
    alineo_event_reader *reader = NULL;
    assert_int_equal(alineo_events_open(self.client, NULL, &reader, NULL), ALINEO_OK);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alineo_ledger_record record = ALINEO_LEDGER_RECORD_INIT;
        int32_t found = 0;
        seen none = {.count = 0};
        int right =
            alineo_events_next(reader, &record, &found, NULL) == ALINEO_CLIENT_FORKED &&
            alineo_session_list(self.client, NULL, see, &none, NULL) == ALINEO_CLIENT_FORKED &&
            alineo_session_get(self.client, NULL, "s1", see, &none, NULL) == ALINEO_CLIENT_FORKED &&
            alineo_session_delete(self.client, NULL, "s1", NULL, NULL) == ALINEO_CLIENT_FORKED;
        alineo_events_free(reader);
        _exit(right ? 0 : 1);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    alineo_events_free(reader);
    world_close(&self);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sessions_are_listed_by_what_is_asked_for),
        cmocka_unit_test(what_this_client_has_queued_is_listed),
        cmocka_unit_test(a_storage_that_cannot_be_written_can_still_be_read),
        cmocka_unit_test(odd_questions_are_refused),
        cmocka_unit_test(one_session_is_found_by_its_sandbox),
        cmocka_unit_test(a_session_is_deleted_when_nobody_here_uses_it),
        cmocka_unit_test(events_are_read_with_filters_and_from_a_position),
        cmocka_unit_test(a_reader_fills_no_more_than_the_caller_has),
        cmocka_unit_test(a_reader_holds_its_client),
        cmocka_unit_test(in_a_forked_child_nothing_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
