/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include "core/client_private.h"
#include "tests/support/world.h"

#include <string.h>

static const alineo_capability can_pause = {sizeof(can_pause), ALINEO_CAP_PAUSE, "processes", NULL,
                                            NULL};
static const alineo_capability *const capabilities[] = {&can_pause, NULL};

/* The world of the test that runs; what the provider was asked, and is to answer. */
static world self;
static int pauses_asked, unpauses_asked;
static alineo_code answer;
static int paused_told, resumed_told;

static alineo_code change(const char *id, alineo_sandbox_state state, alineo_error **err) {
    if (answer != ALINEO_OK)
        return (self.provider.host->fail)(self.provider.host, err, answer, NULL, "it is changing");
    counting_set_state(&self.provider, id, state);
    return ALINEO_OK;
}

static alineo_code do_pause(alineo_provider *provider, const char *id, alineo_call *call,
                            alineo_error **err) {
    (void)provider, (void)call;
    pauses_asked++;
    return change(id, ALINEO_STATE_PAUSED, err);
}

static alineo_code do_unpause(alineo_provider *provider, const char *id, alineo_call *call,
                              alineo_error **err) {
    (void)provider, (void)call;
    unpauses_asked++;
    return change(id, ALINEO_STATE_RUNNING, err);
}

static void note_paused(void *user, const char *id) {
    (void)user;
    assert_non_null(id);
    paused_told++;
}

static void note_resumed(void *user, const char *id) {
    (void)user;
    assert_non_null(id);
    resumed_told++;
}

static alineo_sandbox *open_world(void) {
    world_prepare(&self);
    pauses_asked = unpauses_asked = paused_told = resumed_told = 0;
    answer = ALINEO_OK;
    self.provider.table.pause = do_pause;
    self.provider.table.unpause = do_unpause;
    self.provider.descriptor.capabilities = capabilities;
    self.hooks.sandbox_paused = note_paused;
    self.hooks.sandbox_resumed = note_resumed;
    self.client = world_client(&self, NULL);
    return world_sandbox(&self);
}

static void close_world(alineo_sandbox *sandbox) {
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static size_t events_of(alineo_sandbox *sandbox, const char *event) {
    assert_int_equal(alineo_client_flush(self.client, 5000, NULL), ALINEO_OK);
    return shared_storage_count(&self.storage, alineo_sandbox_id(sandbox), event);
}

static void both_are_asked_for_told_and_recorded_once(void **state) {
    (void)state;
    alineo_sandbox *sandbox = open_world();
    for (int i = 0; i < 2; i++)
        assert_int_equal(alineo_sandbox_pause(sandbox, NULL, NULL), ALINEO_OK);
    assert_int_equal(pauses_asked, 1);
    for (int i = 0; i < 2; i++)
        assert_int_equal(alineo_sandbox_unpause(sandbox, NULL, NULL), ALINEO_OK);
    assert_int_equal(unpauses_asked, 1);
    assert_int_equal(paused_told, 1);
    assert_int_equal(resumed_told, 1);
    assert_int_equal(events_of(sandbox, "sandbox_paused"), 1);
    assert_int_equal(events_of(sandbox, "sandbox_resumed"), 1);
    close_world(sandbox);
}

static void a_refusal_is_handed_on_and_nothing_is_recorded(void **state) {
    (void)state;
    alineo_sandbox *sandbox = open_world();
    alineo_error *error = NULL;
    answer = ALINEO_CONFLICT;
    assert_int_equal(alineo_sandbox_pause(sandbox, NULL, &error), ALINEO_CONFLICT);
    assert_non_null(strstr(alineo_error_message(error), "pause sandbox"));
    assert_string_equal(alineo_error_sandbox_id(error), alineo_sandbox_id(sandbox));
    alineo_error_free(error);
    assert_int_equal(paused_told, 0);
    assert_int_equal(events_of(sandbox, "sandbox_paused"), 0);
    close_world(sandbox);
}

static void a_provider_that_cannot_pause_is_not_asked(void **state) {
    (void)state;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    assert_int_equal(alineo_sandbox_pause(sandbox, NULL, NULL), ALINEO_CAPABILITY_UNSUPPORTED);
    assert_int_equal(alineo_sandbox_unpause(sandbox, NULL, NULL), ALINEO_CAPABILITY_UNSUPPORTED);
    close_world(sandbox);
}

static void a_closed_sandbox_is_not_paused(void **state) {
    (void)state;
    alineo_sandbox *sandbox = open_world();
    assert_int_equal(alineo_sandbox_close(sandbox, NULL, NULL), ALINEO_OK);
    assert_int_equal(alineo_sandbox_pause(sandbox, NULL, NULL), ALINEO_SANDBOX_CLOSED);
    assert_int_equal(pauses_asked, 0);
    close_world(sandbox);
}

static void a_paused_one_can_be_connected_to_on_purpose(void **state) {
    (void)state;
    alineo_sandbox *sandbox = open_world();
    alineo_sandbox *other = NULL;
    assert_int_equal(alineo_sandbox_pause(sandbox, NULL, NULL), ALINEO_OK);
    assert_int_equal(
        alineo_sandbox_connect(self.client, alineo_sandbox_id(sandbox), NULL, &other, NULL),
        ALINEO_SANDBOX_NOT_RUNNING);
    alineo_connect_options options = ALINEO_CONNECT_OPTIONS_INIT;
    options.paused_too = 1;
    assert_int_equal(
        alineo_sandbox_connect(self.client, alineo_sandbox_id(sandbox), &options, &other, NULL),
        ALINEO_OK);
    assert_int_equal(alineo_sandbox_unpause(other, NULL, NULL), ALINEO_OK);
    alineo_sandbox_free(other);
    close_world(sandbox);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_are_asked_for_told_and_recorded_once),
        cmocka_unit_test(a_refusal_is_handed_on_and_nothing_is_recorded),
        cmocka_unit_test(a_provider_that_cannot_pause_is_not_asked),
        cmocka_unit_test(a_closed_sandbox_is_not_paused),
        cmocka_unit_test(a_paused_one_can_be_connected_to_on_purpose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
