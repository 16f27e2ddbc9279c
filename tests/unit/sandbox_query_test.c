/* SPDX-License-Identifier: Apache-2.0 */
/* test: tsan */
#include "tests/support/test.h"

#include "core/fail.h"
#include "tests/support/world.h"

#include <string.h>

typedef struct seen {
    size_t count;
    size_t stop_at; /* 0 = never */
    char last_id[128];
    alineo_sandbox_state state;
} seen;

static int32_t see(void *user, const alineo_sandbox_info *info) {
    seen *self = user;
    self->count++;
    self->state = info->state;
    (void)snprintf(self->last_id, sizeof(self->last_id), "%s", info->id);
    return self->count == self->stop_at;
}

static void inspect_tells_of_one_sandbox(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    seen info = {0};
    assert_int_equal(
        alineo_sandbox_inspect(self.client, alineo_sandbox_id(sandbox), NULL, see, &info, NULL),
        ALINEO_OK);
    assert_int_equal(info.count, 1);
    assert_string_equal(info.last_id, alineo_sandbox_id(sandbox));
    assert_int_equal(info.state, ALINEO_STATE_RUNNING);
    alineo_error *error = NULL;
    assert_int_equal(alineo_sandbox_inspect(self.client, "never-was", NULL, see, &info, &error),
                     ALINEO_SANDBOX_NOT_FOUND);
    assert_string_equal(alineo_error_sandbox_id(error), "never-was");
    alineo_error_free(error);
    assert_int_equal(alineo_sandbox_inspect(self.client, "a/b", NULL, see, &info, NULL),
                     ALINEO_INVALID_ARGUMENT);
    assert_int_equal(alineo_sandbox_inspect(self.client, "a", NULL, NULL, NULL, NULL),
                     ALINEO_INVALID_ARGUMENT);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void a_list_goes_through_all_pages(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    for (int i = 0; i < 7; i++)
        (void)counting_plant(&self.provider, NULL);
    self.provider.page = 3;
    seen info = {0};
    assert_int_equal(alineo_sandbox_list(self.client, NULL, see, &info, NULL), ALINEO_OK);
    assert_int_equal(info.count, 7);
    assert_int_equal(atomic_load(&self.provider.lists), 3);
    info = (seen){.stop_at = 2};
    assert_int_equal(alineo_sandbox_list(self.client, NULL, see, &info, NULL), ALINEO_OK);
    assert_int_equal(info.count, 2);
    assert_int_equal(atomic_load(&self.provider.lists), 4);
    world_close(&self);
}

static void a_list_that_is_not_whole_says_so_after_what_it_has(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    (void)counting_plant(&self.provider, NULL);
    self.provider.incomplete = 1;
    seen info = {0};
    assert_int_equal(alineo_sandbox_list(self.client, NULL, see, &info, NULL),
                     ALINEO_PROVIDER_UNAVAILABLE);
    assert_int_equal(info.count, 1);
    world_close(&self);
}

static void a_list_without_end_is_the_plugins_mistake(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    (void)counting_plant(&self.provider, NULL);
    self.provider.same_cursor = 1;
    seen info = {0};
    alineo_error *error = NULL;
    assert_int_equal(alineo_sandbox_list(self.client, NULL, see, &info, &error), ALINEO_INTERNAL);
    assert_non_null(strstr(alineo_error_message(error), "list"));
    alineo_error_free(error);
    world_close(&self);
}

static void a_renewal_is_passed_on_and_its_end_told(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    atomic_store(&self.provider.now_ms, 1000);
    int64_t expires_at_ms = -1;
    assert_int_equal(alineo_sandbox_renew(sandbox, 500, NULL, &expires_at_ms, NULL), ALINEO_OK);
    assert_int_equal(expires_at_ms, 1500);
    assert_int_equal(alineo_sandbox_renew(sandbox, ALINEO_FOREVER, NULL, &expires_at_ms, NULL),
                     ALINEO_OK);
    assert_int_equal(expires_at_ms, 0);
    assert_int_equal(counting_last(&self.provider)->lifetime_ms, ALINEO_FOREVER);
    assert_int_equal(alineo_sandbox_renew(sandbox, INT64_MIN, NULL, &expires_at_ms, NULL),
                     ALINEO_INVALID_ARGUMENT);
    assert_int_equal(atomic_load(&self.provider.renews), 2);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void a_renewal_at_the_end_is_either_kept_or_too_late(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    for (int i = 0; i < 200; i++) {
        alineo_sandbox *sandbox = world_sandbox(&self);
        assert_int_equal(alineo_sandbox_renew(sandbox, 100, NULL, NULL, NULL), ALINEO_OK);
        atomic_fetch_add(&self.provider.now_ms, 99 + i % 3);
        int64_t expires_at_ms = 0;
        alineo_code code = alineo_sandbox_renew(sandbox, 100, NULL, &expires_at_ms, NULL);
        if (i % 3 == 0) {
            assert_int_equal(code, ALINEO_OK);
            assert_int_equal(expires_at_ms, atomic_load(&self.provider.now_ms) + 100);
            assert_int_equal(alineo_sandbox_close(sandbox, NULL, NULL), ALINEO_OK);
        } else {
            assert_int_equal(code, ALINEO_SANDBOX_NOT_FOUND);
        }
        alineo_sandbox_free(sandbox);
    }
    world_close(&self);
}

static void what_a_provider_cannot_do_is_refused(void **state) {
    (void)state;
    world self;
    world_prepare(&self);
    static const alineo_capability *const none[] = {NULL};
    self.provider.descriptor.capabilities = none;
    self.provider.table.list = NULL;
    self.provider.table.renew = NULL;
    self.client = world_client(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    seen info = {0};
    assert_int_equal(alineo_sandbox_list(self.client, NULL, see, &info, NULL),
                     ALINEO_CAPABILITY_UNSUPPORTED);
    assert_int_equal(alineo_sandbox_renew(sandbox, 1, NULL, NULL, NULL),
                     ALINEO_CAPABILITY_UNSUPPORTED);
    alineo_sandbox_options bound = ALINEO_SANDBOX_OPTIONS_INIT;
    bound.bound = ALINEO_YES;
    alineo_sandbox *out = NULL;
    assert_int_equal(alineo_sandbox_create(self.client, &bound, &out, NULL),
                     ALINEO_CAPABILITY_UNSUPPORTED);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inspect_tells_of_one_sandbox),
        cmocka_unit_test(a_list_goes_through_all_pages),
        cmocka_unit_test(a_list_that_is_not_whole_says_so_after_what_it_has),
        cmocka_unit_test(a_list_without_end_is_the_plugins_mistake),
        cmocka_unit_test(a_renewal_is_passed_on_and_its_end_told),
        cmocka_unit_test(a_renewal_at_the_end_is_either_kept_or_too_late),
        cmocka_unit_test(what_a_provider_cannot_do_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
