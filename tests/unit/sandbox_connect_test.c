/* SPDX-License-Identifier: Apache-2.0 */
/* test: tsan */
#include "tests/support/test.h"

#include "core/fail.h"
#include "core/sandbox_private.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/world.h"

#include <string.h>

static alineo_code try_connect(alineo_client *client, const char *id,
                               const alineo_connect_options *options, alineo_sandbox **out) {
    alineo_error *error = NULL;
    alineo_code code = alineo_sandbox_connect(client, id, options, out, &error);
    assert_int_equal(code, alineo_error_code(error));
    alineo_error_free(error);
    return code;
}

static alineo_sandbox *connect_to(alineo_client *client, const char *id,
                                  const alineo_connect_options *options) {
    alineo_sandbox *sandbox = NULL;
    assert_int_equal(try_connect(client, id, options, &sandbox), ALINEO_OK);
    return sandbox;
}

static void another_process_finds_what_the_ledger_knows(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox_options made = ALINEO_SANDBOX_OPTIONS_INIT;
    made.name = "mine";
    made.run_id = "run-1";
    made.shell = "/bin/bash";
    alineo_sandbox *sandbox = NULL;
    assert_int_equal(alineo_sandbox_create(self.client, &made, &sandbox, NULL), ALINEO_OK);
    const char *id = alineo_sandbox_id(sandbox);
    shared_storage_put(&self.storage, id, "mine", "x_step", NULL);

    alineo_client *second = world_client(&self, NULL);
    alineo_sandbox *other = connect_to(second, id, NULL);
    assert_string_equal(alineo_sandbox_id(other), id);
    assert_string_equal(alineo_sandbox_name(other), "mine");
    assert_string_equal(alineo_sandbox_run_id(other), "run-1");
    assert_string_equal(other->shell, "/bin/bash");
    assert_int_equal(shared_storage_count(&self.storage, id, "sandbox_created"), 1);
    alineo_sandbox_free(other);
    alineo_client_free(second);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void options_win_over_what_the_ledger_knows(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    alineo_connect_options options = ALINEO_CONNECT_OPTIONS_INIT;
    options.name = "other";
    options.run_id = "run-2";
    options.shell = "/bin/dash";
    options.cpu = "1";
    options.memory = "1Gi";
    alineo_sandbox *other = connect_to(self.client, alineo_sandbox_id(sandbox), &options);
    assert_string_equal(alineo_sandbox_name(other), "other");
    assert_string_equal(alineo_sandbox_run_id(other), "run-2");
    assert_string_equal(other->shell, "/bin/dash");
    alineo_sandbox_free(other);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void handles_share_the_numbers_of_their_execs(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    alineo_sandbox *other = connect_to(self.client, alineo_sandbox_id(sandbox), NULL);
    assert_int_equal(al_sandbox_next_seq(sandbox), 1);
    assert_int_equal(al_sandbox_next_seq(other), 2);
    assert_int_equal(al_sandbox_next_seq(sandbox), 3);
    alineo_sandbox_free(sandbox);
    assert_int_equal(al_sandbox_next_seq(other), 4);
    alineo_sandbox_free(other);
    world_close(&self);
}

static void numbers_go_on_where_the_ledger_ends(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    al_event event = {.sandbox_id = alineo_sandbox_id(sandbox),
                      .name = alineo_sandbox_name(sandbox),
                      .event = "exec_start",
                      .payload = "{\"seq\": 41}",
                      .payload_size = 11,
                      .step_idx = 41,
                      .claims_step = 1};
    al_ticket ticket;
    assert_int_equal(al_journal_put(self.client->journal, &event, &ticket, NULL), ALINEO_OK);
    alineo_client *second = world_client(&self, NULL);
    assert_int_equal(alineo_client_flush(self.client, 5000, NULL), ALINEO_OK);
    alineo_sandbox *other = connect_to(second, alineo_sandbox_id(sandbox), NULL);
    assert_int_equal(al_sandbox_next_seq(other), 42);
    alineo_sandbox_free(other);
    alineo_client_free(second);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void one_that_the_ledger_does_not_know_can_be_connected_to(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    const char *id = counting_plant(&self.provider, NULL);
    alineo_sandbox *sandbox = connect_to(self.client, id, NULL);
    assert_memory_equal(alineo_sandbox_name(sandbox), "sandbox-", 8);
    assert_string_equal(alineo_sandbox_run_id(sandbox), id);
    assert_string_equal(sandbox->shell, "/bin/sh");
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void what_is_not_there_or_does_not_run_is_refused(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    const char *id = alineo_sandbox_id(sandbox);
    alineo_sandbox *out = NULL;
    assert_int_equal(try_connect(self.client, "never-was", NULL, &out), ALINEO_SANDBOX_NOT_FOUND);

    counting_set_state(&self.provider, id, ALINEO_STATE_PAUSED);
    alineo_error *error = NULL;
    assert_int_equal(alineo_sandbox_connect(self.client, id, NULL, &out, &error),
                     ALINEO_SANDBOX_NOT_RUNNING);
    assert_non_null(strstr(alineo_error_message(error), "paused"));
    assert_non_null(strstr(alineo_error_hint(error), "unpause"));
    assert_string_equal(alineo_error_sandbox_id(error), id);
    alineo_error_free(error);
    counting_set_state(&self.provider, id, ALINEO_STATE_TERMINATED);
    assert_int_equal(try_connect(self.client, id, NULL, &out), ALINEO_SANDBOX_NOT_RUNNING);
    assert_null(out);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void another_providers_sandbox_is_a_mismatch(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    const char *id = counting_plant(&self.provider, NULL);
    shared_storage_put(&self.storage, id, "n", "sandbox_created", "{\"provider\": \"other\"}");
    alineo_sandbox *out = NULL;
    int gets = atomic_load(&self.provider.gets);
    assert_int_equal(try_connect(self.client, id, NULL, &out), ALINEO_PROVIDER_MISMATCH);
    assert_int_equal(atomic_load(&self.provider.gets), gets);
    world_close(&self);
}

static void a_row_without_a_provider_is_anybodys(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    const char *id = counting_plant(&self.provider, NULL);
    shared_storage_put(&self.storage, id, "old", "sandbox.created", "{\"runId\": \"r\"}");
    alineo_sandbox *sandbox = connect_to(self.client, id, NULL);
    assert_string_equal(alineo_sandbox_name(sandbox), "old");
    assert_string_equal(alineo_sandbox_run_id(sandbox), "r");
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void odd_arguments_are_refused(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *out = NULL;
    const char *const ids[] = {"", "../x", "a b", NULL};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(try_connect(self.client, ids[i], NULL, &out), ALINEO_INVALID_ARGUMENT);
    const alineo_connect_options good = ALINEO_CONNECT_OPTIONS_INIT;
#define REFUSE(member, value)                                                                      \
    do {                                                                                           \
        alineo_connect_options odd = good;                                                         \
        odd.member = value;                                                                        \
        assert_int_equal(try_connect(self.client, "x", &odd, &out), ALINEO_INVALID_ARGUMENT);      \
    } while (0)
    REFUSE(name, "");
    REFUSE(run_id, "\n");
    REFUSE(shell, "bash");
    REFUSE(cpu, "much");
    REFUSE(memory, "much");
    REFUSE(size, 1);
#undef REFUSE
    assert_int_equal(alineo_sandbox_connect(self.client, "x", NULL, NULL, NULL),
                     ALINEO_INVALID_ARGUMENT);
    assert_int_equal(atomic_load(&self.provider.gets), 0);
    world_close(&self);
}

static void existence_is_checked_before_waiting_for_a_slot(void **state) {
    (void)state;
    world self;
    world_open(&self, "{\"maxConcurrency\": 1}");
    alineo_sandbox *sandbox = world_sandbox(&self);
    alineo_connect_options options = ALINEO_CONNECT_OPTIONS_INIT;
    options.call = world_call(60000);
    alineo_sandbox *out = NULL;
    assert_int_equal(try_connect(self.client, "never-was", &options, &out),
                     ALINEO_SANDBOX_NOT_FOUND);
    assert_true(alineo_call_remaining_ms(options.call) > 30000);
    alineo_call_free(options.call);

    options.call = world_call(20);
    assert_int_equal(try_connect(self.client, alineo_sandbox_id(sandbox), &options, &out),
                     ALINEO_TIMEOUT);
    alineo_call_free(options.call);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void a_handle_on_one_that_is_being_closed_is_refused(void **state) {
    (void)state;
    world self;
    world_open(&self, "{\"maxConcurrency\": 3}");
    alineo_sandbox *sandbox = world_sandbox(&self);
    atomic_store(&self.provider.destroy_failures, 1);
    assert_int_equal(alineo_sandbox_close(sandbox, NULL, NULL), ALINEO_PROVIDER_UNAVAILABLE);
    alineo_sandbox *out = NULL;
    for (int i = 0; i < 5; i++)
        assert_int_equal(try_connect(self.client, alineo_sandbox_id(sandbox), NULL, &out),
                         ALINEO_SANDBOX_CLOSED);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

typedef struct connecting {
    world *self;
    const char *id;
} connecting;

static void connect_without_memory(void *user) {
    connecting *self = user;
    alineo_sandbox *sandbox = NULL;
    alineo_code code = try_connect(self->self->client, self->id, NULL, &sandbox);
    assert_true(code == ALINEO_OK || fail_alloc_happened());
    alineo_sandbox_free(sandbox);
}

static void without_memory_there_is_an_error_and_the_slot_is_free(void **state) {
    (void)state;
    world self;
    world_open(&self, "{\"maxConcurrency\": 2}");
    alineo_sandbox *sandbox = world_sandbox(&self);
    connecting user = {&self, alineo_sandbox_id(sandbox)};
    assert_true(fail_alloc_each(connect_without_memory, &user) > 0);
    alineo_sandbox_free(connect_to(self.client, user.id, NULL));
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_process_finds_what_the_ledger_knows),
        cmocka_unit_test(options_win_over_what_the_ledger_knows),
        cmocka_unit_test(handles_share_the_numbers_of_their_execs),
        cmocka_unit_test(numbers_go_on_where_the_ledger_ends),
        cmocka_unit_test(one_that_the_ledger_does_not_know_can_be_connected_to),
        cmocka_unit_test(what_is_not_there_or_does_not_run_is_refused),
        cmocka_unit_test(another_providers_sandbox_is_a_mismatch),
        cmocka_unit_test(a_row_without_a_provider_is_anybodys),
        cmocka_unit_test(odd_arguments_are_refused),
        cmocka_unit_test(existence_is_checked_before_waiting_for_a_slot),
        cmocka_unit_test(a_handle_on_one_that_is_being_closed_is_refused),
        cmocka_unit_test(without_memory_there_is_an_error_and_the_slot_is_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
