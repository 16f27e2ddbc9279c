/* SPDX-License-Identifier: Apache-2.0 */
/* test: tsan */
#include "tests/support/test.h"

#include "core/fail.h"
#include "core/sandbox_private.h"
#include "core/util/cleanup.h"
#include "core/util/str.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/world.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static alineo_code close_it(alineo_sandbox *sandbox) {
    alineo_error *error = NULL;
    alineo_code code = alineo_sandbox_close(sandbox, NULL, &error);
    assert_int_equal(code, alineo_error_code(error));
    if (error != NULL && code != ALINEO_NO_MEMORY)
        assert_string_equal(alineo_error_sandbox_id(error), alineo_sandbox_id(sandbox));
    alineo_error_free(error);
    return code;
}

static void expect_closed(world *self, const char *id, size_t count, const char *reason) {
    assert_int_equal(shared_storage_count(&self->storage, id, "sandbox_closed"), count);
    al_autofree char *payload = shared_storage_payload(&self->storage, id, "sandbox_closed");
    assert_non_null(strstr(payload, reason));
}

static void close_ends_the_sandbox_and_stores_that(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    assert_int_equal(close_it(sandbox), ALINEO_OK);
    assert_int_equal(counting_there(&self.provider), 0);
    expect_closed(&self, alineo_sandbox_id(sandbox), 1, "\"closed\"");
    assert_int_equal(atomic_load(&self.closed), 1);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void close_twice_is_close_once(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    assert_int_equal(close_it(sandbox), ALINEO_OK);
    assert_int_equal(close_it(sandbox), ALINEO_OK);
    assert_int_equal(atomic_load(&self.provider.destroys), 1);
    assert_int_equal(atomic_load(&self.closed), 1);
    expect_closed(&self, alineo_sandbox_id(sandbox), 1, "\"closed\"");
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void *close_on_thread(void *user) {
    return (void *)(intptr_t)alineo_sandbox_close(user, NULL, NULL);
}

static void close_from_many_threads_is_close_once(void **state) {
    (void)state;
    world self;
    world_open(&self, "{\"maxConcurrency\": 1}");
    for (int round = 0; round < 20; round++) {
        alineo_sandbox *sandbox = world_sandbox(&self);
        pthread_t threads[4];
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, close_on_thread, sandbox), 0);
        for (size_t i = 0; i < 4; i++) {
            void *code = NULL;
            assert_int_equal(pthread_join(threads[i], &code), 0);
            assert_int_equal((intptr_t)code, ALINEO_OK);
        }
        assert_int_equal(
            shared_storage_count(&self.storage, alineo_sandbox_id(sandbox), "sandbox_closed"), 1);
        assert_int_equal(atomic_load(&self.closed), round + 1);
        alineo_sandbox_free(sandbox);
    }
    world_close(&self);
}

static void handles_of_one_client_are_closed_together(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    alineo_sandbox *other = NULL;
    assert_int_equal(
        alineo_sandbox_connect(self.client, alineo_sandbox_id(sandbox), NULL, &other, NULL),
        ALINEO_OK);
    assert_int_equal(close_it(other), ALINEO_OK);
    assert_int_equal(alineo_sandbox_renew(sandbox, 1000, NULL, NULL, NULL), ALINEO_SANDBOX_CLOSED);
    assert_int_equal(close_it(sandbox), ALINEO_OK);
    expect_closed(&self, alineo_sandbox_id(sandbox), 1, "\"closed\"");
    alineo_sandbox_free(other);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void two_processes_may_close_the_same_sandbox(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_client *second = world_client(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    alineo_sandbox *other = NULL;
    assert_int_equal(alineo_sandbox_connect(second, alineo_sandbox_id(sandbox), NULL, &other, NULL),
                     ALINEO_OK);
    assert_int_equal(close_it(other), ALINEO_OK);
    assert_int_equal(close_it(sandbox), ALINEO_OK);
    assert_int_equal(atomic_load(&self.provider.destroys), 2);
    assert_int_equal(atomic_load(&self.closed), 2); /* each told its own hooks */
    expect_closed(&self, alineo_sandbox_id(sandbox), 1, "\"closed\"");
    alineo_sandbox_free(other);
    alineo_sandbox_free(sandbox);
    alineo_client_free(second);
    world_close(&self);
}

static void a_sandbox_that_is_gone_is_recorded_as_gone(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    counting_kill(&self.provider, alineo_sandbox_id(sandbox));
    assert_int_equal(close_it(sandbox), ALINEO_OK);
    expect_closed(&self, alineo_sandbox_id(sandbox), 1, "\"gone\"");
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void a_destroy_that_fails_is_told_and_may_be_tried_again(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    atomic_store(&self.provider.destroy_failures, 1);
    assert_int_equal(close_it(sandbox), ALINEO_PROVIDER_UNAVAILABLE);
    assert_int_equal(counting_there(&self.provider), 1);
    assert_int_equal(
        shared_storage_count(&self.storage, alineo_sandbox_id(sandbox), "sandbox_closed"), 0);
    assert_int_equal(atomic_load(&self.closed), 0);
    assert_int_equal(close_it(sandbox), ALINEO_OK);
    expect_closed(&self, alineo_sandbox_id(sandbox), 1, "\"closed\"");
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void a_close_that_cannot_be_stored_says_so_and_mends_itself(void **state) {
    (void)state;
    world self;
    world_open(&self, "{\"maxConcurrency\": 1, \"ledger\": {\"patienceMs\": 30}}");
    alineo_sandbox *sandbox = world_sandbox(&self);
    atomic_store(&self.storage.append_failures, -1);
    assert_int_equal(close_it(sandbox), ALINEO_STORAGE_UNAVAILABLE);
    assert_int_equal(counting_there(&self.provider), 0);
    atomic_store(&self.storage.append_failures, 0);
    alineo_sandbox *next = world_sandbox(&self); /* the slot is free */
    assert_int_equal(close_it(sandbox), ALINEO_OK);
    expect_closed(&self, alineo_sandbox_id(sandbox), 1, "\"closed\"");
    alineo_sandbox_free(next);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void a_cancelled_close_does_nothing(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    alineo_op_options options = ALINEO_OP_OPTIONS_INIT;
    options.call = world_call(0);
    alineo_call_cancel(options.call);
    assert_int_equal(alineo_sandbox_close(sandbox, &options, NULL), ALINEO_CANCELLED);
    assert_int_equal(atomic_load(&self.provider.destroys), 0);
    assert_int_equal(alineo_sandbox_renew(sandbox, 1000, NULL, NULL, NULL), ALINEO_OK);
    alineo_call_free(options.call);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void a_slot_is_given_back_once(void **state) {
    (void)state;
    world self;
    world_open(&self, "{\"maxConcurrency\": 2}");
    alineo_sandbox *first = world_sandbox(&self);
    alineo_sandbox *second = world_sandbox(&self);
    assert_int_equal(close_it(first), ALINEO_OK);
    assert_int_equal(close_it(first), ALINEO_OK);
    alineo_sandbox_free(first);
    alineo_sandbox *third = world_sandbox(&self);
    alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
    options.call = world_call(20);
    alineo_sandbox *fourth = NULL;
    assert_int_equal(alineo_sandbox_create(self.client, &options, &fourth, NULL), ALINEO_TIMEOUT);
    alineo_call_free(options.call);
    alineo_sandbox_free(second);
    alineo_sandbox_free(third);
    world_close(&self);
}

/* --- what execs are told ---------------------------------------------------------------------- */

typedef struct watcher {
    al_sandbox_watcher base;
    int told;
} watcher;

static void note_closing(al_sandbox_watcher *base) {
    ((watcher *)(void *)base)->told++;
}

static void watchers_are_told_once_and_late_ones_refused(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    watcher watchers[4] = {0};
    for (size_t i = 0; i < 4; i++) {
        watchers[i].base.closing = note_closing;
        assert_int_equal(al_sandbox_watch(sandbox, &watchers[i].base, NULL), ALINEO_OK);
    }
    al_sandbox_unwatch(sandbox, &watchers[1].base);
    al_sandbox_unwatch(sandbox, &watchers[3].base);
    al_sandbox_unwatch(sandbox, &watchers[3].base);
    assert_int_equal(close_it(sandbox), ALINEO_OK);
    assert_int_equal(close_it(sandbox), ALINEO_OK);
    assert_int_equal(watchers[0].told, 1);
    assert_int_equal(watchers[1].told, 0);
    assert_int_equal(watchers[2].told, 1);
    assert_int_equal(watchers[3].told, 0);
    assert_int_equal(al_sandbox_watch(sandbox, &watchers[1].base, NULL), ALINEO_SANDBOX_CLOSED);
    al_sandbox_unwatch(sandbox, &watchers[2].base);
    al_sandbox_unwatch(sandbox, &watchers[0].base);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void calls_on_a_closed_sandbox_say_that_it_is_closed(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    assert_int_equal(close_it(sandbox), ALINEO_OK);
    alineo_error *error = NULL;
    assert_int_equal(al_sandbox_enter(sandbox, &error), ALINEO_SANDBOX_CLOSED);
    assert_non_null(strstr(alineo_error_message(error), alineo_sandbox_id(sandbox)));
    alineo_error_free(error);
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    assert_int_equal(alineo_file_read(sandbox, "/x", NULL, &bytes, NULL), ALINEO_SANDBOX_CLOSED);
    assert_int_equal(alineo_file_write(sandbox, "/x", "", 0, NULL, NULL), ALINEO_SANDBOX_CLOSED);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

/* --- memory ----------------------------------------------------------------------------------- */

static void without_memory_a_close_may_be_tried_again(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    int happened = 1;
    for (size_t n = 1; happened; n++) {
        alineo_sandbox *sandbox = world_sandbox(&self);
        fail_alloc_at(n);
        alineo_code code = close_it(sandbox);
        happened = fail_alloc_happened();
        fail_alloc_at(0);
        assert_true(code == ALINEO_OK || happened);
        assert_int_equal(close_it(sandbox), ALINEO_OK);
        expect_closed(&self, alineo_sandbox_id(sandbox), 1, "\"closed\"");
        alineo_sandbox_free(sandbox);
    }
    world_close(&self);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(close_ends_the_sandbox_and_stores_that),
        cmocka_unit_test(close_twice_is_close_once),
        cmocka_unit_test(close_from_many_threads_is_close_once),
        cmocka_unit_test(handles_of_one_client_are_closed_together),
        cmocka_unit_test(two_processes_may_close_the_same_sandbox),
        cmocka_unit_test(a_sandbox_that_is_gone_is_recorded_as_gone),
        cmocka_unit_test(a_destroy_that_fails_is_told_and_may_be_tried_again),
        cmocka_unit_test(a_close_that_cannot_be_stored_says_so_and_mends_itself),
        cmocka_unit_test(a_cancelled_close_does_nothing),
        cmocka_unit_test(a_slot_is_given_back_once),
        cmocka_unit_test(watchers_are_told_once_and_late_ones_refused),
        cmocka_unit_test(calls_on_a_closed_sandbox_say_that_it_is_closed),
        cmocka_unit_test(without_memory_a_close_may_be_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
