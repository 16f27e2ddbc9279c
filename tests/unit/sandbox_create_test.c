/* SPDX-License-Identifier: Apache-2.0 */
/* test: tsan timeout=240 */
#include "tests/support/test.h"

#include "core/fail.h"
#include "core/pairs.h"
#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/random.h"
#include "core/util/str.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/world.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static alineo_code create(world *self, const alineo_sandbox_options *options,
                          alineo_sandbox **out) {
    alineo_error *error = NULL;
    alineo_code code = alineo_sandbox_create(self->client, options, out, &error);
    assert_int_equal(code, alineo_error_code(error));
    alineo_error_free(error);
    return code;
}

/* Creates with these options, which must be refused before the provider is asked. */
static void refuse(world *self, const alineo_sandbox_options *options, alineo_code code) {
    alineo_sandbox *sandbox = NULL;
    int before = atomic_load(&self->provider.creates);
    assert_int_equal(create(self, options, &sandbox), code);
    assert_null(sandbox);
    assert_int_equal(atomic_load(&self->provider.creates), before);
}

static const char *metadata_of(world *self, const char *key) {
    return al_pairs_get((const char *const *)counting_last(&self->provider)->metadata.items, key);
}

/* --- what is asked for ------------------------------------------------------------------------ */

static void without_options_it_has_a_name_of_its_id(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    const char *id = alineo_sandbox_id(sandbox);
    assert_true(al_str_starts(alineo_sandbox_name(sandbox), "sandbox-"));
    assert_memory_equal(alineo_sandbox_name(sandbox) + 8, id, 8);
    assert_int_equal(strlen(alineo_sandbox_name(sandbox)), 16);
    assert_string_equal(alineo_sandbox_run_id(sandbox), id);
    counting_sandbox *made = counting_last(&self.provider);
    assert_null(made->name);
    assert_string_equal(made->image, "counting:default");
    assert_int_equal(made->memory_bytes, 0);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void the_run_id_is_the_option_else_of_the_metadata(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    const char *const metadata[] = {"runId", "ci-42", "team", "a b", NULL};
    alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
    options.metadata = metadata;
    alineo_sandbox *sandbox = NULL;
    assert_int_equal(create(&self, &options, &sandbox), ALINEO_OK);
    assert_string_equal(alineo_sandbox_run_id(sandbox), "ci-42");
    assert_string_equal(metadata_of(&self, "alineo-run"), "ci-42");
    assert_string_equal(metadata_of(&self, "team"), "a b");
    alineo_sandbox_free(sandbox);

    options.run_id = "run 7";
    options.name = "mine";
    assert_int_equal(create(&self, &options, &sandbox), ALINEO_OK);
    assert_string_equal(alineo_sandbox_run_id(sandbox), "run 7");
    assert_string_equal(alineo_sandbox_name(sandbox), "mine");
    assert_string_equal(counting_last(&self.provider)->name, "mine");
    assert_true(al_str_starts(metadata_of(&self, "alineo-run"), "sha256-"));
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void it_is_stamped(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
    options.bound = ALINEO_YES;
    alineo_sandbox *sandbox = NULL;
    assert_int_equal(create(&self, &options, &sandbox), ALINEO_OK);
    assert_string_equal(metadata_of(&self, "alineo-ledger"), alineo_client_ledger_id(self.client));
    assert_string_equal(metadata_of(&self, "alineo-lifetime"), "bound");
    assert_int_equal(strlen(metadata_of(&self, "alineo-create")), 32);
    char pid[32];
    (void)snprintf(pid, sizeof(pid), "%ld", (long)getpid());
    assert_string_equal(metadata_of(&self, "alineo-pid"), pid);
    assert_int_equal(counting_last(&self.provider)->bound, 1);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void defaults_of_the_config_stand_in_and_options_win(void **state) {
    (void)state;
    world self;
    world_open(&self,
               "{\"defaults\": {\"image\": \"conf:1\", \"lifetimeMs\": 60000, \"resources\": "
               "{\"cpu\": \"500m\", \"memory\": \"512Mi\"}}}");
    alineo_sandbox *sandbox = world_sandbox(&self);
    counting_sandbox *made = counting_last(&self.provider);
    assert_string_equal(made->image, "conf:1");
    assert_int_equal(made->cpu_milli, 500);
    assert_int_equal(made->memory_bytes, 512 << 20);
    assert_int_equal(made->lifetime_ms, 60000);
    alineo_sandbox_free(sandbox);

    alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
    options.image = "own:2";
    options.cpu = "2";
    options.memory = "1Gi";
    options.lifetime_ms = ALINEO_FOREVER;
    assert_int_equal(create(&self, &options, &sandbox), ALINEO_OK);
    made = counting_last(&self.provider);
    assert_string_equal(made->image, "own:2");
    assert_int_equal(made->cpu_milli, 2000);
    assert_int_equal(made->memory_bytes, 1 << 30);
    assert_int_equal(made->lifetime_ms, ALINEO_FOREVER);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void without_any_image_it_is_refused(void **state) {
    (void)state;
    world self;
    world_prepare(&self);
    self.provider.descriptor.default_image = NULL;
    self.provider.descriptor.default_cpu_milli = 1000;
    self.provider.descriptor.default_memory_bytes = 1 << 30;
    self.client = world_client(&self, NULL);
    refuse(&self, NULL, ALINEO_INVALID_ARGUMENT);
    alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
    options.image = "some";
    alineo_sandbox *sandbox = NULL;
    assert_int_equal(create(&self, &options, &sandbox), ALINEO_OK);
    assert_int_equal(counting_last(&self.provider)->cpu_milli, 1000);
    al_autofree char *payload =
        shared_storage_payload(&self.storage, alineo_sandbox_id(sandbox), "sandbox_created");
    assert_non_null(strstr(payload, "1000m"));
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

/* --- what is refused -------------------------------------------------------------------------- */

static void odd_arguments_are_refused_before_anything_exists(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    const alineo_sandbox_options good = ALINEO_SANDBOX_OPTIONS_INIT;
    const char *const env[] = {"A;touch /data/p", "1", NULL};
    const char *const metadata[] = {"alineo-run", "x", NULL};
    const char *const entrypoint[] = {NULL};
    const char *const require[] = {"no-such-thing", NULL};
    char long_name[257];
    memset(long_name, 'n', sizeof(long_name));
    long_name[256] = '\0';
#define REFUSE(member, value)                                                                      \
    do {                                                                                           \
        alineo_sandbox_options odd = good;                                                         \
        odd.member = value;                                                                        \
        refuse(&self, &odd, ALINEO_INVALID_ARGUMENT);                                              \
    } while (0)
    REFUSE(size, 3);
    REFUSE(image, "");
    REFUSE(image, "a\nb");
    REFUSE(image_password, "secret");
    REFUSE(name, "");
    REFUSE(name, long_name);
    REFUSE(name, "a\x07");
    REFUSE(name, "\xff");
    REFUSE(run_id, "");
    REFUSE(cpu, "");
    REFUSE(cpu, "0");
    REFUSE(cpu, "-1");
    REFUSE(cpu, "two");
    REFUSE(cpu, "99999999999999999999");
    REFUSE(memory, "1Gib");
    REFUSE(memory, "0");
    REFUSE(memory, "1e3");
    REFUSE(disk, "x");
    REFUSE(pids, -1);
    REFUSE(env, env);
    REFUSE(metadata, metadata);
    REFUSE(entrypoint, entrypoint);
    REFUSE(shell, "sh");
    REFUSE(shell, "");
    REFUSE(user, "");
    REFUSE(lifetime_ms, -2);
    REFUSE(lifetime_ms, INT64_MIN);
    REFUSE(bound, 3);
    REFUSE(network, 4);
    REFUSE(network, -1);
    REFUSE(mount_count, 1);
    REFUSE(provider_options, "[]");
    REFUSE(provider_options, "{\"a\": 1");
    REFUSE(provider_options, "");
    REFUSE(require, require);
#undef REFUSE
    assert_int_equal(alineo_sandbox_create(self.client, NULL, NULL, NULL), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(atomic_load(&self.failed), 0);
    assert_int_equal(shared_storage_count(&self.storage, NULL, NULL), 0);
    world_close(&self);
}

static void a_password_is_in_no_message_and_no_ledger(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    const char *const env[] = {"TOKEN", "tok123", "EMPTY", "", NULL};
    alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
    options.image_username = "me";
    options.image_password = "pass123";
    options.env = env;
    alineo_sandbox *sandbox = NULL;
    assert_int_equal(create(&self, &options, &sandbox), ALINEO_OK);
    al_autofree char *payload =
        shared_storage_payload(&self.storage, alineo_sandbox_id(sandbox), "sandbox_created");
    assert_non_null(strstr(payload, "TOKEN"));
    assert_null(strstr(payload, "tok123"));
    assert_null(strstr(payload, "pass123"));
    alineo_sandbox_free(sandbox);

    /* What one sandbox was given, the next one has not. */
    sandbox = world_sandbox(&self);
    assert_int_equal(counting_last(&self.provider)->env.count, 0);
    alineo_sandbox_free(sandbox);

    self.provider.create_fault = COUNTING_FAIL;
    alineo_error *error = NULL;
    assert_int_equal(alineo_sandbox_create(self.client, &options, &sandbox, &error),
                     ALINEO_PROVIDER_UNAVAILABLE);
    assert_null(strstr(alineo_error_message(error), "pass123"));
    assert_false(world_logged(&self, "pass123"));
    alineo_error_free(error);
    world_close(&self);
}

static void a_missing_capability_is_refused_at_once_though_no_slot_is_free(void **state) {
    (void)state;
    world self;
    world_open(&self, "{\"maxConcurrency\": 1}");
    alineo_sandbox *sandbox = world_sandbox(&self);
    const char *const require[] = {"pause=processes", NULL};
    const alineo_sandbox_options good = ALINEO_SANDBOX_OPTIONS_INIT;
#define REFUSE(member, value)                                                                      \
    do {                                                                                           \
        alineo_sandbox_options odd = good;                                                         \
        odd.member = value;                                                                        \
        refuse(&self, &odd, ALINEO_CAPABILITY_UNSUPPORTED);                                        \
    } while (0)
    REFUSE(disk, "1Gi");
    REFUSE(gpu, "one");
    REFUSE(network, ALINEO_NETWORK_HOST);
    REFUSE(network, ALINEO_NETWORK_OUTBOUND);
    REFUSE(require, require);
#undef REFUSE
    alineo_sandbox_options options = good;
    options.cpu = "nonsense";
    refuse(&self, &options, ALINEO_INVALID_ARGUMENT);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void mounts_are_allowed_by_the_config_alone(void **state) {
    (void)state;
    world self;
    world_open(&self, "{\"allowMounts\": [\"/usr\"]}");
    alineo_mount mount = ALINEO_MOUNT_INIT;
    mount.source = "/usr/bin";
    mount.target = "/mnt/bin";
    alineo_mount other = mount;
    const alineo_mount *mounts[] = {&mount, &other};
    alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
    options.mounts = mounts;
    options.mount_count = 1;
    alineo_sandbox *sandbox = NULL;
    assert_int_equal(create(&self, &options, &sandbox), ALINEO_OK);
    alineo_sandbox_free(sandbox);
    options.mount_count = 2;
    refuse(&self, &options, ALINEO_INVALID_ARGUMENT); /* one target twice */
    options.mount_count = 1;
    mount.source = "/etc";
    refuse(&self, &options, ALINEO_PERMISSION_DENIED);
    mounts[0] = NULL;
    refuse(&self, &options, ALINEO_INVALID_ARGUMENT);
    world_close(&self);
}

/* --- what goes wrong -------------------------------------------------------------------------- */

static void its_first_event_is_stored_when_create_returns(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox *sandbox = world_sandbox(&self);
    const char *id = alineo_sandbox_id(sandbox);
    assert_int_equal(shared_storage_count(&self.storage, id, "sandbox_created"), 1);
    al_autofree char *payload = shared_storage_payload(&self.storage, id, "sandbox_created");
    assert_non_null(strstr(payload, "\"provider\":\"counting\""));
    assert_non_null(strstr(payload, "\"image\":\"counting:default\""));
    assert_int_equal(atomic_load(&self.created), 1);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void a_create_whose_first_event_cannot_be_stored_destroys_the_sandbox(void **state) {
    (void)state;
    world self;
    world_open(&self, "{\"maxConcurrency\": 1, \"ledger\": {\"patienceMs\": 50}}");
    atomic_store(&self.storage.append_failures, -1);
    alineo_sandbox *sandbox = NULL;
    alineo_error *error = NULL;
    assert_int_equal(alineo_sandbox_create(self.client, NULL, &sandbox, &error),
                     ALINEO_STORAGE_UNAVAILABLE);
    assert_null(sandbox);
    assert_non_null(alineo_error_sandbox_id(error));
    alineo_error_free(error);
    assert_int_equal(counting_there(&self.provider), 0);
    assert_int_equal(atomic_load(&self.failed_with_id), 1);
    assert_int_equal(atomic_load(&self.created), 0);

    /* What was queued comes as a whole: made, and ended. */
    atomic_store(&self.storage.append_failures, 0);
    assert_int_equal(alineo_client_flush(self.client, 10000, NULL), ALINEO_OK);
    assert_int_equal(shared_storage_count(&self.storage, NULL, "sandbox_created"),
                     shared_storage_count(&self.storage, NULL, "sandbox_closed"));
    sandbox = world_sandbox(&self); /* the slot is free */
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void an_append_whose_answer_is_lost_stores_the_event_once(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    atomic_store(&self.storage.append_unknowns, 2);
    alineo_sandbox *sandbox = world_sandbox(&self);
    assert_int_equal(
        shared_storage_count(&self.storage, alineo_sandbox_id(sandbox), "sandbox_created"), 1);
    alineo_sandbox_free(sandbox);
    world_close(&self);
}

static void twenty_creates_that_fail_in_all_ways_leave_every_slot_free(void **state) {
    (void)state;
    world self;
    world_open(&self, "{\"maxConcurrency\": 3}");
    const counting_fault faults[] = {COUNTING_FAIL, COUNTING_LOSE, COUNTING_WAIT, COUNTING_BAD_ID,
                                     COUNTING_SILENT};
    const alineo_code codes[] = {ALINEO_PROVIDER_UNAVAILABLE, ALINEO_PROVIDER_UNAVAILABLE,
                                 ALINEO_CANCELLED, ALINEO_INTERNAL, ALINEO_INTERNAL};
    alineo_sandbox *sandbox = NULL;
    for (size_t i = 0; i < 20; i++) {
        self.provider.create_fault = faults[i % 5];
        alineo_call *call = world_call(0);
        world_cancel cancel;
        if (faults[i % 5] == COUNTING_WAIT)
            world_cancel_start(&cancel, call, 2000);
        alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
        options.call = call;
        assert_int_equal(create(&self, &options, &sandbox), codes[i % 5]);
        assert_null(sandbox);
        if (faults[i % 5] == COUNTING_WAIT)
            world_cancel_end(&cancel);
        alineo_call_free(call);
        assert_int_equal(counting_there(&self.provider), 0);
    }
    assert_int_equal(atomic_load(&self.failed), 20);
    assert_int_equal(shared_storage_count(&self.storage, NULL, NULL), 0);

    self.provider.create_fault = COUNTING_NONE;
    alineo_sandbox *good[3];
    for (size_t i = 0; i < 3; i++)
        good[i] = world_sandbox(&self);
    for (size_t i = 0; i < 3; i++)
        alineo_sandbox_free(good[i]);
    world_close(&self);
}

static void a_plugin_that_does_not_keep_to_the_rules_is_named(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    self.provider.create_fault = COUNTING_BAD_ID;
    alineo_sandbox *sandbox = NULL;
    alineo_error *error = NULL;
    assert_int_equal(alineo_sandbox_create(self.client, NULL, &sandbox, &error), ALINEO_INTERNAL);
    assert_non_null(strstr(alineo_error_message(error), "create"));
    assert_non_null(alineo_error_plugin(error));
    alineo_error_free(error);
    assert_int_equal(counting_there(&self.provider), 0);
    world_close(&self);
}

static void a_sandbox_that_arrives_late_is_found_by_its_stamp_and_destroyed(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    self.provider.create_fault = COUNTING_LATE;
    self.provider.late_ms = 300;
    const char *const others[] = {"alineo-create", "0123456789abcdef0123456789abcdef", NULL};
    (void)counting_plant(&self.provider, others);
    alineo_sandbox *sandbox = NULL;
    assert_int_equal(create(&self, NULL, &sandbox), ALINEO_PROVIDER_UNAVAILABLE);
    assert_int_equal(counting_wait_there(&self.provider, 2), 2);
    assert_int_equal(counting_wait_there(&self.provider, 1), 1);
    assert_true(world_logged(&self, "which a failed create left"));
    world_close(&self);
    /* The one that somebody else made stayed. */
}

static void a_client_that_ends_looks_a_last_time(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    self.provider.create_fault = COUNTING_LATE;
    self.provider.late_ms = 200;
    alineo_sandbox *sandbox = NULL;
    assert_int_equal(create(&self, NULL, &sandbox), ALINEO_PROVIDER_UNAVAILABLE);
    assert_int_equal(counting_wait_there(&self.provider, 1), 1);
    alineo_client_free(self.client);
    self.client = NULL;
    assert_int_equal(counting_there(&self.provider), 0);
    world_close(&self);
}

static void a_provider_that_cannot_list_is_told_of_in_the_log(void **state) {
    (void)state;
    world self;
    world_prepare(&self);
    static const alineo_capability *const none[] = {NULL};
    self.provider.descriptor.capabilities = none;
    self.provider.table.list = NULL;
    self.client = world_client(&self, NULL);
    self.provider.create_fault = COUNTING_LOSE;
    alineo_sandbox *sandbox = NULL;
    assert_int_equal(create(&self, NULL, &sandbox), ALINEO_PROVIDER_UNAVAILABLE);
    assert_true(world_logged(&self, "cannot list"));
    world_close(&self);
}

static void a_destroy_that_fails_at_first_is_tried_again(void **state) {
    (void)state;
    world self;
    world_open(&self, "{\"ledger\": {\"patienceMs\": 20}}");
    atomic_store(&self.storage.append_failures, -1);
    atomic_store(&self.provider.destroy_failures, 1);
    alineo_sandbox *sandbox = NULL;
    assert_int_equal(create(&self, NULL, &sandbox), ALINEO_STORAGE_UNAVAILABLE);
    assert_int_equal(counting_wait_there(&self.provider, 0), 0);
    atomic_store(&self.storage.append_failures, 0);
    world_close(&self);
}

/* --- cancel ----------------------------------------------------------------------------------- */

static void a_cancelled_or_late_call_makes_nothing(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
    options.call = world_call(0);
    alineo_call_cancel(options.call);
    refuse(&self, &options, ALINEO_CANCELLED);
    alineo_call_free(options.call);
    options.call = world_call(1);
    (void)usleep(3000);
    refuse(&self, &options, ALINEO_TIMEOUT);
    alineo_call_free(options.call);
    world_close(&self);
}

static void a_create_cancelled_at_random_moments_leaves_nothing(void **state) {
    (void)state;
    world self;
    world_open(&self, "{\"maxConcurrency\": 2}");
    self.provider.create_ms = 2;
    for (int i = 0; i < 60; i++) {
        uint16_t chance = 0;
        assert_int_equal(al_random_bytes(&chance, sizeof(chance)), 0);
        alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
        options.call = world_call(0);
        world_cancel cancel;
        world_cancel_start(&cancel, options.call, chance % 4000);
        alineo_sandbox *sandbox = NULL;
        alineo_code code = create(&self, &options, &sandbox);
        world_cancel_end(&cancel);
        if (code == ALINEO_OK)
            assert_int_equal(alineo_sandbox_close(sandbox, NULL, NULL), ALINEO_OK);
        else
            assert_int_equal(code, ALINEO_CANCELLED);
        alineo_sandbox_free(sandbox);
        alineo_call_free(options.call);
        assert_int_equal(counting_there(&self.provider), 0);
    }
    assert_int_equal(alineo_client_flush(self.client, 10000, NULL), ALINEO_OK);
    assert_int_equal(shared_storage_count(&self.storage, NULL, "sandbox_created"),
                     shared_storage_count(&self.storage, NULL, "sandbox_closed"));
    world_close(&self);
}

static void a_deadline_is_for_the_whole_create(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    self.provider.create_fault = COUNTING_WAIT;
    alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
    options.call = world_call(100);
    alineo_sandbox *sandbox = NULL;
    int64_t before_ms = al_clock_monotonic_ms();
    assert_int_equal(create(&self, &options, &sandbox), ALINEO_TIMEOUT);
    int64_t took_ms = al_clock_monotonic_ms() - before_ms;
    assert_true(took_ms >= 100 && took_ms < 10000);
    alineo_call_free(options.call);
    world_close(&self);
}

static void hang_and_leave(counting_fault fault) {
    world self;
    world_open(&self, "{\"maxConcurrency\": 1}");
    self.provider.create_fault = fault;
    alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
    options.call = world_call(0);
    world_cancel cancel;
    world_cancel_start(&cancel, options.call, 5000);
    alineo_sandbox *sandbox = NULL;
    assert_int_equal(create(&self, &options, &sandbox), ALINEO_CANCELLED);
    world_cancel_end(&cancel);
    alineo_call_free(options.call); /* the provider is still inside */

    /* The slot is free, and the client may be let go. */
    self.provider.create_fault = COUNTING_NONE;
    sandbox = world_sandbox(&self);
    assert_int_equal(alineo_sandbox_close(sandbox, NULL, NULL), ALINEO_OK);
    alineo_sandbox_free(sandbox);
    alineo_client_free(self.client);
    self.client = NULL;
    counting_release(&self.provider);
    while (atomic_load(&self.provider.closes) == 0)
        (void)usleep(1000);
    assert_int_equal(counting_there(&self.provider), 0);
    /* The client's end is on the thread that was left; what it closes last is the storage. */
    while (atomic_load(&self.storage.closes) == 0)
        (void)usleep(1000);
    (void)usleep(50000);
    world_close(&self);
}

static void a_provider_that_hangs_is_left_alone_and_its_sandbox_destroyed(void **state) {
    (void)state;
    hang_and_leave(COUNTING_HANG);
    hang_and_leave(COUNTING_HANG_FAIL);
}

/* --- slots ------------------------------------------------------------------------------------ */

typedef struct creator {
    world *self;
    pthread_t thread;
    alineo_code code;
    alineo_sandbox *sandbox;
    int64_t timeout_ms;
} creator;

static void *create_on_thread(void *user) {
    creator *self = user;
    alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
    options.call = self->timeout_ms != 0 ? world_call(self->timeout_ms) : NULL;
    self->code = create(self->self, &options, &self->sandbox);
    alineo_call_free(options.call);
    return NULL;
}

static void twenty_that_wait_for_a_slot_time_out_and_make_nothing(void **state) {
    (void)state;
    world self;
    world_open(&self, "{\"maxConcurrency\": 3}");
    alineo_sandbox *held[3];
    for (size_t i = 0; i < 3; i++)
        held[i] = world_sandbox(&self);
    creator creators[20];
    for (size_t i = 0; i < 20; i++) {
        creators[i] = (creator){.self = &self, .timeout_ms = 100};
        assert_int_equal(pthread_create(&creators[i].thread, NULL, create_on_thread, &creators[i]),
                         0);
    }
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(pthread_join(creators[i].thread, NULL), 0);
        assert_int_equal(creators[i].code, ALINEO_TIMEOUT);
    }
    assert_int_equal(atomic_load(&self.provider.creates), 3);
    assert_int_equal(atomic_load(&self.failed), 0);
    for (size_t i = 0; i < 3; i++)
        alineo_sandbox_free(held[i]);
    world_close(&self);
}

static void a_sandbox_outlives_the_thread_that_made_it(void **state) {
    (void)state;
    world self;
    world_open(&self, NULL);
    creator maker = {.self = &self, .timeout_ms = 10000};
    assert_int_equal(pthread_create(&maker.thread, NULL, create_on_thread, &maker), 0);
    assert_int_equal(pthread_join(maker.thread, NULL), 0);
    assert_int_equal(maker.code, ALINEO_OK);
    assert_int_equal(alineo_file_write(maker.sandbox, "/x", "abc", 3, NULL, NULL), ALINEO_OK);
    alineo_sandbox_free(maker.sandbox);
    world_close(&self);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* True when an allocation failed. */
static int create_with_failure(world *self, void (*fail_alloc)(size_t n), size_t n) {
    const char *const env[] = {"A", "1", NULL};
    alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
    options.env = env;
    options.name = "n";
    options.cpu = "1";
    alineo_sandbox *sandbox = NULL;
    alineo_error *error = NULL;
    fail_alloc(n);
    alineo_code code = alineo_sandbox_create(self->client, &options, &sandbox, &error);
    int happened = fail_alloc_happened();
    fail_alloc_at(0);
    assert_int_equal(code, alineo_error_code(error));
    assert_true(code == ALINEO_OK || happened);
    alineo_error_free(error);
    assert_int_equal(alineo_client_flush(self->client, 10000, NULL), ALINEO_OK);
    if (code == ALINEO_OK)
        assert_int_equal(alineo_sandbox_close(sandbox, NULL, NULL), ALINEO_OK);
    alineo_sandbox_free(sandbox);
    return happened;
}

static void without_memory_a_create_fails_and_leaves_nothing(void **state) {
    (void)state;
    world self;
    world_open(&self, "{\"maxConcurrency\": 1, \"ledger\": {\"patienceMs\": 20}}");
    size_t n = 1;
    while (create_with_failure(&self, fail_alloc_at, n)) {
        assert_int_equal(counting_there(&self.provider), 0);
        n++;
    }
    assert_true(n > 20);
    for (n = 1; create_with_failure(&self, fail_alloc_from, n); n++)
        assert_int_equal(counting_there(&self.provider), 0);
    world_close(&self);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_options_it_has_a_name_of_its_id),
        cmocka_unit_test(the_run_id_is_the_option_else_of_the_metadata),
        cmocka_unit_test(it_is_stamped),
        cmocka_unit_test(defaults_of_the_config_stand_in_and_options_win),
        cmocka_unit_test(without_any_image_it_is_refused),
        cmocka_unit_test(odd_arguments_are_refused_before_anything_exists),
        cmocka_unit_test(a_password_is_in_no_message_and_no_ledger),
        cmocka_unit_test(a_missing_capability_is_refused_at_once_though_no_slot_is_free),
        cmocka_unit_test(mounts_are_allowed_by_the_config_alone),
        cmocka_unit_test(its_first_event_is_stored_when_create_returns),
        cmocka_unit_test(a_create_whose_first_event_cannot_be_stored_destroys_the_sandbox),
        cmocka_unit_test(an_append_whose_answer_is_lost_stores_the_event_once),
        cmocka_unit_test(twenty_creates_that_fail_in_all_ways_leave_every_slot_free),
        cmocka_unit_test(a_plugin_that_does_not_keep_to_the_rules_is_named),
        cmocka_unit_test(a_sandbox_that_arrives_late_is_found_by_its_stamp_and_destroyed),
        cmocka_unit_test(a_client_that_ends_looks_a_last_time),
        cmocka_unit_test(a_provider_that_cannot_list_is_told_of_in_the_log),
        cmocka_unit_test(a_destroy_that_fails_at_first_is_tried_again),
        cmocka_unit_test(a_cancelled_or_late_call_makes_nothing),
        cmocka_unit_test(a_create_cancelled_at_random_moments_leaves_nothing),
        cmocka_unit_test(a_deadline_is_for_the_whole_create),
        cmocka_unit_test(a_provider_that_hangs_is_left_alone_and_its_sandbox_destroyed),
        cmocka_unit_test(twenty_that_wait_for_a_slot_time_out_and_make_nothing),
        cmocka_unit_test(a_sandbox_outlives_the_thread_that_made_it),
        cmocka_unit_test(without_memory_a_create_fails_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
