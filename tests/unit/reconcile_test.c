/* SPDX-License-Identifier: Apache-2.0 */
/* test: tsan */
#include "tests/support/test.h"

#include <alineo/ledger.h>

#include "core/fail.h"
#include "core/stamp.h"
#include "core/util/cleanup.h"
#include "core/util/str.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/world.h"

#include <stdlib.h>
#include <string.h>

/* --- what is found ---------------------------------------------------------------------------- */

typedef struct findings {
    size_t count;
    size_t stop_at; /* 0 = never */
    alineo_finding finding[16];
    int repaired[16];
    char id[16][64];
    char reason[16][256];
} findings;

static int32_t note(void *user, const alineo_reconcile_item *item) {
    findings *self = user;
    assert_true(self->count < 16);
    self->finding[self->count] = item->finding;
    self->repaired[self->count] = item->repaired;
    (void)al_str_copy(self->id[self->count], 64, item->sandbox_id);
    (void)al_str_copy(self->reason[self->count], 256, item->reason);
    self->count++;
    return self->count == self->stop_at;
}

static findings reconcile(world *self, int repair) {
    findings found = {0};
    alineo_reconcile_options options = ALINEO_RECONCILE_OPTIONS_INIT;
    options.repair = repair;
    alineo_error *error = NULL;
    if (alineo_reconcile(self->client, &options, note, &found, &error) != ALINEO_OK)
        fail_msg("reconcile: %s", alineo_error_message(error));
    return found;
}

static void expect_one(const findings *found, alineo_finding finding, const char *id,
                       int repaired) {
    assert_int_equal(found->count, 1);
    assert_int_equal(found->finding[0], finding);
    assert_string_equal(found->id[0], id);
    assert_int_equal(found->repaired[0], repaired);
    assert_true(strlen(found->reason[0]) > 5);
}

/* Makes a sandbox of this ledger whose owner is another process: one that has ended, or init. */
static const char *plant(world *self, int bound, int owner_gone) {
    al_auto(al_strv_free) al_strv metadata = AL_STRV_INIT;
    al_stamp stamp = {.ledger_id = alineo_client_ledger_id(self->client),
                      .create_id = "0123456789abcdef0123456789abcdef",
                      .bound = bound};
    assert_int_equal(al_stamp_write(&stamp, &metadata, NULL), ALINEO_OK);
    for (size_t i = 0; owner_gone && i < metadata.count; i += 2)
        if (strcmp(metadata.items[i], AL_STAMP_START) == 0)
            assert_int_equal(al_str_replace(&metadata.items[i + 1], "1"), 0);
    return counting_plant(&self->provider, (const char *const *)metadata.items);
}

static void record(world *self, const char *id, const char *event) {
    shared_storage_put(&self->storage, id, "name", event, "{\"provider\": \"counting\"}");
}

/* --- the cases -------------------------------------------------------------------------------- */

static void what_is_in_order_is_no_finding(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    /* Detached, with an open session, its owner gone: that is what detached is for. */
    record(&self, plant(&self, 0, 1), "sandbox_created");
    /* Bound, and its owner runs. */
    record(&self, plant(&self, 1, 0), "sandbox_created");
    /* Not stamped at all: somebody else's. */
    (void)counting_plant(&self.provider, NULL);
    findings found = reconcile(&self, 1);
    assert_int_equal(found.count, 0);
    assert_int_equal(counting_there(&self.provider), 4);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void a_bound_sandbox_whose_owner_is_gone_is_an_orphan(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    const char *id = plant(&self, 1, 1);
    char copy[64];
    (void)al_str_copy(copy, sizeof(copy), id);
    record(&self, id, "sandbox.created");
    findings found = reconcile(&self, 0);
    expect_one(&found, ALINEO_FINDING_ORPHAN, copy, 0);
    assert_int_equal(counting_there(&self.provider), 1);
    found = reconcile(&self, 1);
    expect_one(&found, ALINEO_FINDING_ORPHAN, copy, 1);
    assert_int_equal(counting_there(&self.provider), 0);
    assert_int_equal(shared_storage_count(&self.storage, copy, "sandbox_closed"), 1);
    al_autofree char *payload = shared_storage_payload(&self.storage, copy, "sandbox_closed");
    assert_non_null(strstr(payload, "reconciled"));
    assert_int_equal(reconcile(&self, 1).count, 0);
    world_close(&self);
}

static void one_that_was_never_recorded_is_destroyed_once_its_owner_is_gone(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    const char *id = plant(&self, 0, 0); /* its create is still on the way */
    assert_int_equal(reconcile(&self, 1).count, 0);
    counting_kill(&self.provider, id);
    char copy[64];
    (void)al_str_copy(copy, sizeof(copy), plant(&self, 0, 1));
    findings found = reconcile(&self, 0);
    expect_one(&found, ALINEO_FINDING_UNRECORDED, copy, 0);
    found = reconcile(&self, 1);
    expect_one(&found, ALINEO_FINDING_UNRECORDED, copy, 1);
    assert_int_equal(counting_there(&self.provider), 0);
    assert_int_equal(shared_storage_count(&self.storage, copy, NULL), 0);
    world_close(&self);
}

static void one_that_was_closed_and_runs_is_destroyed(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    char copy[64];
    (void)al_str_copy(copy, sizeof(copy), plant(&self, 0, 1));
    record(&self, copy, "sandbox_created");
    record(&self, copy, "sandbox_closed");
    findings found = reconcile(&self, 1);
    expect_one(&found, ALINEO_FINDING_CLOSED, copy, 1);
    assert_int_equal(counting_there(&self.provider), 0);
    assert_int_equal(shared_storage_count(&self.storage, copy, "sandbox_closed"), 1);
    world_close(&self);
}

static void an_open_session_whose_sandbox_is_gone_is_closed(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    char copy[64];
    (void)al_str_copy(copy, sizeof(copy), alineo_sandbox_id(sandbox));
    alineo_sandbox_free(sandbox);
    counting_kill(&self.provider, copy);
    findings found = reconcile(&self, 0);
    expect_one(&found, ALINEO_FINDING_GONE, copy, 0);
    assert_int_equal(shared_storage_count(&self.storage, copy, "sandbox_closed"), 0);
    found = reconcile(&self, 1);
    expect_one(&found, ALINEO_FINDING_GONE, copy, 1);
    assert_int_equal(shared_storage_count(&self.storage, copy, "sandbox_closed"), 1);
    assert_int_equal(reconcile(&self, 1).count, 0);
    world_close(&self);
}

static void one_that_the_provider_remembers_as_ended_is_gone_too(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    counting_set_state(&self.provider, alineo_sandbox_id(sandbox), ALINEO_STATE_TERMINATED);
    findings found = reconcile(&self, 1);
    expect_one(&found, ALINEO_FINDING_GONE, alineo_sandbox_id(sandbox), 1);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void a_list_that_left_it_out_does_not_make_it_gone(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    self.provider.hides = 1;
    assert_int_equal(reconcile(&self, 1).count, 0);
    assert_int_equal(
        shared_storage_count(&self.storage, alineo_sandbox_id(sandbox), "sandbox_closed"), 0);
    self.provider.incomplete = 1;
    findings found = {0};
    assert_int_equal(alineo_reconcile(self.client, NULL, note, &found, NULL),
                     ALINEO_PROVIDER_UNAVAILABLE);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void sessions_of_another_provider_are_left_alone(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    shared_storage_put(&self.storage, "s1", "n", "sandbox_created", "{\"provider\": \"other\"}");
    shared_storage_put(&self.storage, "s2", "n", "sandbox.created", "{}");
    assert_int_equal(reconcile(&self, 1).count, 0);
    world_close(&self);
}

static void another_ledgers_sandbox_is_told_of_and_never_touched(void **state) {
    (void)state;
    world self;
    world other;
    world_open(&self, NULL);
    world_open(&other, NULL);
    const char *const metadata[] = {AL_STAMP_LEDGER, alineo_client_ledger_id(other.client), NULL};
    char copy[64];
    (void)al_str_copy(copy, sizeof(copy), counting_plant(&self.provider, metadata));
    findings found = reconcile(&self, 1);
    expect_one(&found, ALINEO_FINDING_FOREIGN, copy, 0);
    assert_int_equal(counting_there(&self.provider), 1);
    assert_int_equal(atomic_load(&self.provider.destroys), 0);
    world_close(&other);
    world_close(&self);
}

static void a_repair_that_fails_is_told_and_the_others_go_on(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    (void)plant(&self, 0, 1);
    (void)plant(&self, 0, 1);
    atomic_store(&self.provider.destroy_failures, 1);
    findings found = reconcile(&self, 1);
    assert_int_equal(found.count, 2);
    assert_int_equal(found.repaired[0], 0);
    assert_non_null(strstr(found.reason[0], "not repaired"));
    assert_int_equal(found.repaired[1], 1);
    assert_int_equal(counting_there(&self.provider), 1);
    world_close(&self);
}

static void the_caller_may_stop_it(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    for (int i = 0; i < 3; i++)
        (void)plant(&self, 0, 1);
    findings found = {.stop_at = 1};
    alineo_reconcile_options options = ALINEO_RECONCILE_OPTIONS_INIT;
    options.repair = 1;
    assert_int_equal(alineo_reconcile(self.client, &options, note, &found, NULL), ALINEO_OK);
    assert_int_equal(found.count, 1);
    assert_int_equal(counting_there(&self.provider), 2);

    options.call = world_call(0);
    alineo_call_cancel(options.call);
    assert_int_equal(alineo_reconcile(self.client, &options, note, &found, NULL), ALINEO_CANCELLED);
    assert_int_equal(alineo_reconcile(self.client, NULL, NULL, NULL, NULL),
                     ALINEO_INVALID_ARGUMENT);
    alineo_call_free(options.call);
    world_close(&self);
}

static void a_provider_that_is_away_is_an_error_and_nothing_is_recorded(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    atomic_store(&self.provider.list_failures, 1);
    findings found = {0};
    assert_int_equal(alineo_reconcile(self.client, NULL, note, &found, NULL),
                     ALINEO_PROVIDER_UNAVAILABLE);
    assert_int_equal(found.count, 0);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void reconcile_without_memory(void *user) {
    world *self = user;
    findings found = {0};
    alineo_error *error = NULL;
    alineo_code code = alineo_reconcile(self->client, NULL, note, &found, &error);
    assert_int_equal(code, alineo_error_code(error));
    assert_true(code == ALINEO_OK || fail_alloc_happened());
    alineo_error_free(error);
}

static void without_memory_there_is_an_error_and_no_leak(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    (void)plant(&self, 0, 1);
    record(&self, "gone", "sandbox_created");
    assert_true(fail_alloc_each(reconcile_without_memory, &self) > 0);
    world_close(&self);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_in_order_is_no_finding),
        cmocka_unit_test(a_bound_sandbox_whose_owner_is_gone_is_an_orphan),
        cmocka_unit_test(one_that_was_never_recorded_is_destroyed_once_its_owner_is_gone),
        cmocka_unit_test(one_that_was_closed_and_runs_is_destroyed),
        cmocka_unit_test(an_open_session_whose_sandbox_is_gone_is_closed),
        cmocka_unit_test(one_that_the_provider_remembers_as_ended_is_gone_too),
        cmocka_unit_test(a_list_that_left_it_out_does_not_make_it_gone),
        cmocka_unit_test(sessions_of_another_provider_are_left_alone),
        cmocka_unit_test(another_ledgers_sandbox_is_told_of_and_never_touched),
        cmocka_unit_test(a_repair_that_fails_is_told_and_the_others_go_on),
        cmocka_unit_test(the_caller_may_stop_it),
        cmocka_unit_test(a_provider_that_is_away_is_an_error_and_nothing_is_recorded),
        cmocka_unit_test(without_memory_there_is_an_error_and_no_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
