/* SPDX-License-Identifier: Apache-2.0 */
/* test: tsan */
#include "tests/support/test.h"

#include "core/client_private.h"
#include "core/fail.h"
#include "core/util/clock.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/world.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void a_client_tells_what_it_was_opened_with(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    assert_string_equal(alineo_client_provider(self.client), "counting");
    assert_string_equal(alineo_client_storage(self.client), "shared");
    assert_int_equal(strspn(alineo_client_ledger_id(self.client), "0123456789abcdef"), 32);
    world_close(&self);
}

static void clients_of_one_storage_have_one_ledger(void **state) {
    (void)state;
    world self;
    world other;
    world_open(&self, NULL);
    world_open(&other, NULL);
    alineo_client *second = world_client(&self, NULL);
    assert_string_equal(alineo_client_ledger_id(self.client), alineo_client_ledger_id(second));
    assert_string_not_equal(alineo_client_ledger_id(self.client),
                            alineo_client_ledger_id(other.client));
    alineo_client_free(second);
    world_close(&other);
    world_close(&self);
}

static void a_ledger_id_that_is_damaged_is_refused(void **state) {
    (void)state;
    world self;
    world_prepare(&self);
    assert_int_equal(
        self.storage.inner->meta_put(self.storage.memory, "ledger_id", "what?", 0, NULL),
        ALINEO_OK);
    alineo_client *client = NULL;
    alineo_error *error = NULL;
    assert_int_equal(world_open_client(&self, NULL, &client, &error), ALINEO_STORAGE_CORRUPT);
    assert_null(client);
    alineo_error_free(error);
    world_close(&self);
}

static void what_the_config_requires_is_looked_at_before_storage_is_opened(void **state) {
    (void)state;
    world self;
    world_prepare(&self);
    alineo_client *client = NULL;
    alineo_error *error = NULL;
    assert_int_equal(
        world_open_client(&self, "{\"require\": [\"list\", \"pty\"]}", &client, &error),
        ALINEO_CAPABILITY_UNSUPPORTED);
    assert_non_null(strstr(alineo_error_message(error), "pty"));
    alineo_error_free(error);
    assert_int_equal(atomic_load(&self.storage.opens), 0);
    assert_int_equal(world_open_client(&self, "{\"require\": [\"list\"]}", &client, NULL),
                     ALINEO_OK);
    alineo_client_free(client);
    world_close(&self);
}

static void a_client_that_cannot_be_opened_closes_what_it_opened(void **state) {
    (void)state;
    world self;
    world_prepare(&self);
    atomic_store(&self.storage.open_failures, 1);
    alineo_client *client = NULL;
    assert_int_equal(world_open_client(&self, NULL, &client, NULL), ALINEO_STORAGE_UNAVAILABLE);
    atomic_store(&self.storage.meta_failures, 1);
    assert_int_equal(world_open_client(&self, NULL, &client, NULL), ALINEO_STORAGE_UNAVAILABLE);
    assert_int_equal(atomic_load(&self.provider.opens), 2);
    assert_int_equal(atomic_load(&self.provider.closes), 2);
    world_close(&self);
}

static void odd_options_are_refused(void **state) {
    (void)state;
    struct {
        alineo_client_options known;
        size_t unknown;
    } longer = {ALINEO_CLIENT_OPTIONS_INIT, 0};
    longer.known.size = sizeof(longer);
    longer.unknown = 1;
    alineo_client *client = NULL;
    assert_int_equal(alineo_client_open(NULL, &longer.known, &client, NULL),
                     ALINEO_INVALID_ARGUMENT);
    alineo_client_options unset = {0};
    assert_int_equal(alineo_client_open(NULL, &unset, &client, NULL), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(alineo_client_open(NULL, NULL, NULL, NULL), ALINEO_INVALID_ARGUMENT);
}

static void calls_on_no_client_are_refused(void **state) {
    (void)state;
    alineo_sandbox *sandbox = NULL;
    assert_int_equal(alineo_sandbox_create(NULL, NULL, &sandbox, NULL), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(alineo_client_flush(NULL, 0, NULL), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(alineo_sandbox_close(NULL, NULL, NULL), ALINEO_INVALID_ARGUMENT);
    alineo_client_free(NULL);
    alineo_sandbox_free(NULL);
}

static void a_flush_waits_no_longer_than_it_may(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    assert_int_equal(alineo_client_flush(self.client, 0, NULL), ALINEO_OK);
    assert_int_equal(alineo_client_flush(self.client, INT64_MAX, NULL), ALINEO_OK);
    assert_int_equal(alineo_client_flush(self.client, ALINEO_FOREVER, NULL), ALINEO_OK);
    assert_int_equal(alineo_client_flush(self.client, -2, NULL), ALINEO_INVALID_ARGUMENT);

    atomic_store(&self.storage.append_failures, -1);
    al_event event = {.sandbox_id = alineo_sandbox_id(sandbox),
                      .name = alineo_sandbox_name(sandbox),
                      .event = "x_test",
                      .step_idx = -1};
    al_ticket ticket;
    assert_int_equal(al_journal_put(self.client->journal, &event, &ticket, NULL), ALINEO_OK);
    assert_int_equal(alineo_client_flush(self.client, 0, NULL), ALINEO_STORAGE_UNAVAILABLE);
    assert_int_equal(alineo_client_flush(self.client, 20, NULL), ALINEO_STORAGE_UNAVAILABLE);
    atomic_store(&self.storage.append_failures, 0);
    assert_int_equal(alineo_client_flush(self.client, 10000, NULL), ALINEO_OK);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void handles_outlive_the_free_of_their_client(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *first = world_sandbox(&self);
    alineo_sandbox *second = world_sandbox(&self);
    alineo_client_free(self.client);
    self.client = NULL;
    assert_int_equal(atomic_load(&self.provider.closes), 0);
    assert_int_equal(alineo_sandbox_close(first, NULL, NULL), ALINEO_OK);
    alineo_sandbox_free(first);
    assert_int_equal(atomic_load(&self.provider.closes), 0);
    alineo_sandbox_free(second);
    assert_int_equal(atomic_load(&self.provider.closes), 1);
    assert_int_equal(atomic_load(&self.storage.closes), 1);
    assert_int_equal(counting_there(&self.provider), 1);
    world_close(&self);
}

static void freeing_waits_for_storage_no_longer_than_the_patience_and_says_so(void **state) {
    (void)state;
    world self;
    world_open(&self, "{\"ledger\": {\"patienceMs\": 50}}");
    alineo_sandbox *sandbox = world_sandbox(&self);
    atomic_store(&self.storage.append_failures, -1);
    assert_int_equal(alineo_sandbox_close(sandbox, NULL, NULL), ALINEO_STORAGE_UNAVAILABLE);
    alineo_sandbox_free(sandbox);
    int64_t before_ms = al_clock_monotonic_ms();
    alineo_client_free(self.client);
    self.client = NULL;
    assert_true(al_clock_monotonic_ms() - before_ms < 5000);
    assert_true(world_logged(&self, "free the client"));
    world_close(&self);
}

static int32_t count_capability(void *user, const alineo_capability *capability) {
    assert_non_null(capability->name);
    assert_non_null(capability->value);
    (*(int *)user)++;
    return 0;
}

static void capabilities_are_listed(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    int count = 0;
    assert_int_equal(alineo_client_capabilities(self.client, NULL, count_capability, &count, NULL),
                     ALINEO_OK);
    assert_true(count > 10);
    alineo_capabilities_options options = ALINEO_CAPABILITIES_OPTIONS_INIT;
    options.probe = 9;
    assert_int_equal(
        alineo_client_capabilities(self.client, &options, count_capability, &count, NULL),
        ALINEO_INVALID_ARGUMENT);
    assert_int_equal(alineo_client_capabilities(self.client, NULL, NULL, NULL, NULL),
                     ALINEO_INVALID_ARGUMENT);
    world_close(&self);
}

/* --- fork ------------------------------------------------------------------------------------- */

static int32_t see_sandbox(void *user, const alineo_sandbox_info *info) {
    (void)user;
    (void)info;
    return 0;
}

static int32_t see_item(void *user, const alineo_reconcile_item *item) {
    (void)user;
    (void)item;
    return 0;
}

/* 0 when every call in the child answers as it should. */
static int try_all(world *self, alineo_sandbox *sandbox) {
    const alineo_code forked = ALINEO_CLIENT_FORKED;
    alineo_client *client = self->client;
    alineo_sandbox *out = NULL;
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    int wrong = 0;
    wrong |= alineo_sandbox_create(client, NULL, &out, NULL) != forked;
    wrong |= alineo_sandbox_connect(client, alineo_sandbox_id(sandbox), NULL, &out, NULL) != forked;
    wrong |= alineo_sandbox_inspect(client, "x", NULL, see_sandbox, NULL, NULL) != forked;
    wrong |= alineo_sandbox_list(client, NULL, see_sandbox, NULL, NULL) != forked;
    wrong |= alineo_sandbox_renew(sandbox, 1, NULL, NULL, NULL) != forked;
    wrong |= alineo_sandbox_close(sandbox, NULL, NULL) != forked;
    wrong |= alineo_client_flush(client, 0, NULL) != forked;
    wrong |= alineo_client_capabilities(client, NULL, count_capability, NULL, NULL) != forked;
    wrong |= alineo_reconcile(client, NULL, see_item, NULL, NULL) != forked;
    wrong |= alineo_file_write(sandbox, "/x", "", 0, NULL, NULL) != forked;
    wrong |= alineo_file_read(sandbox, "/x", NULL, &bytes, NULL) != forked;
    alineo_error *error = NULL;
    wrong |= alineo_client_flush(client, 0, &error) != forked || alineo_error_hint(error) == NULL;
    alineo_error_free(error);
    alineo_sandbox_free(sandbox);
    alineo_client_free(client);
    /* The plugins belong to the parent. */
    wrong |= atomic_load(&self->provider.closes) != 0 || atomic_load(&self->storage.closes) != 0;
    return wrong;
}

static void in_a_forked_child_every_call_is_refused_and_free_touches_nothing(void **state) {
    (void)state;
    world self;
    world_open(&self, "{\"maxConcurrency\": 2}");
    alineo_sandbox *sandbox = world_sandbox(&self);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(20);
        _exit(try_all(&self, sandbox));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);

    assert_int_equal(alineo_sandbox_close(sandbox, NULL, NULL), ALINEO_OK);
    assert_int_equal(
        shared_storage_count(&self.storage, alineo_sandbox_id(sandbox), "sandbox_closed"), 1);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void *create_and_close(void *user) {
    world *self = user;
    for (int i = 0; i < 100; i++) {
        alineo_sandbox *sandbox = NULL;
        if (alineo_sandbox_create(self->client, NULL, &sandbox, NULL) == ALINEO_OK)
            (void)alineo_sandbox_close(sandbox, NULL, NULL);
        alineo_sandbox_free(sandbox);
    }
    return NULL;
}

static void a_fork_at_any_moment_leaves_a_child_that_can_free(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, create_and_close, &self), 0);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            alarm(20);
            alineo_client_free(self.client);
            _exit(0);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    world_close(&self);
}

/* --- memory ----------------------------------------------------------------------------------- */

static void open_without_memory(void *user) {
    world *self = user;
    alineo_client *client = NULL;
    alineo_error *error = NULL;
    alineo_code code = world_open_client(self, NULL, &client, &error);
    assert_int_equal(code, alineo_error_code(error));
    assert_true(code == ALINEO_OK || fail_alloc_happened());
    assert_true((code == ALINEO_OK) == (client != NULL));
    alineo_error_free(error);
    alineo_client_free(client);
}

static void without_memory_opening_fails_and_leaves_nothing(void **state) {
    (void)state;
    world self;
    world_prepare(&self);
    assert_true(fail_alloc_each(open_without_memory, &self) > 0);
    world_close(&self);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_tells_what_it_was_opened_with),
        cmocka_unit_test(clients_of_one_storage_have_one_ledger),
        cmocka_unit_test(a_ledger_id_that_is_damaged_is_refused),
        cmocka_unit_test(what_the_config_requires_is_looked_at_before_storage_is_opened),
        cmocka_unit_test(a_client_that_cannot_be_opened_closes_what_it_opened),
        cmocka_unit_test(odd_options_are_refused),
        cmocka_unit_test(calls_on_no_client_are_refused),
        cmocka_unit_test(a_flush_waits_no_longer_than_it_may),
        cmocka_unit_test(handles_outlive_the_free_of_their_client),
        cmocka_unit_test(freeing_waits_for_storage_no_longer_than_the_patience_and_says_so),
        cmocka_unit_test(capabilities_are_listed),
        cmocka_unit_test(in_a_forked_child_every_call_is_refused_and_free_touches_nothing),
        cmocka_unit_test(a_fork_at_any_moment_leaves_a_child_that_can_free),
        cmocka_unit_test(without_memory_opening_fails_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
