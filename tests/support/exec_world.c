/* SPDX-License-Identifier: Apache-2.0 */
#include "support/exec_world.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/cleanup.h"
#include "core/util/json.h"
#include "core/util/str.h"

/* --- the rest of a storage ---------------------------------------------------------------------
 * Its self is the fake storage, the first member of the world. */

static exec_world *world_of(alineo_storage *self) {
    return (exec_world *)(void *)self;
}

static alineo_code open_storage(const alineo_host *host, const alineo_options *options,
                                alineo_storage **self, alineo_error **err) {
    (void)host;
    (void)options;
    (void)self;
    (void)err;
    return ALINEO_OK;
}

static void close_storage(alineo_storage *self) {
    (void)self;
}

static alineo_code append(alineo_storage *self, const alineo_ledger_batch *batch,
                          size_t *failed_index, alineo_error **err) {
    exec_world *world = world_of(self);
    if (world->drops)
        return ALINEO_OK;
    return world->storage.binding.table->append(self, batch, failed_index, err);
}

static alineo_code meta_get(alineo_storage *self, const char *key, char **value,
                            alineo_error **err) {
    (void)key;
    (void)err;
    *value = al_strdup(world_of(self)->ledger_id); /* the host's allocator is malloc */
    return ALINEO_OK;
}

static alineo_code meta_put(alineo_storage *self, const char *key, const char *value,
                            uint32_t flags, alineo_error **err) {
    (void)key;
    (void)flags;
    (void)err;
    exec_world *world = world_of(self);
    if (world->ledger_id == NULL)
        world->ledger_id = al_strdup(value);
    return ALINEO_OK;
}

static alineo_code session_get(alineo_storage *self, const char *name, const char *sandbox_id,
                               alineo_session_fn *found, void *user, alineo_error **err) {
    (void)err;
    alineo_session session = ALINEO_SESSION_INIT;
    session.name = name;
    session.sandbox_id = sandbox_id;
    session.last_step = world_of(self)->last_step;
    (void)found(user, &session);
    return ALINEO_OK;
}

/* Never called in these tests. */
static alineo_code nothing(void) {
    abort();
}

static void fill_table(alineo_storage_table *table) {
    *table = (alineo_storage_table){
        .size = sizeof(*table),
        .open = open_storage,
        .close = close_storage,
        .append = append,
        .session_get = session_get,
        .meta_get = meta_get,
        .meta_put = meta_put,
    };
    void (*missing)(void) = (void (*)(void))nothing;
    memcpy(&table->read_open, &missing, sizeof(missing));
    memcpy(&table->read_next, &missing, sizeof(missing));
    memcpy(&table->read_close, &missing, sizeof(missing));
    memcpy(&table->session_list, &missing, sizeof(missing));
    memcpy(&table->session_delete, &missing, sizeof(missing));
    memcpy(&table->environment_get, &missing, sizeof(missing));
    memcpy(&table->environment_put, &missing, sizeof(missing));
    memcpy(&table->environment_delete, &missing, sizeof(missing));
    memcpy(&table->environment_list, &missing, sizeof(missing));
    memcpy(&table->lease_acquire, &missing, sizeof(missing));
    memcpy(&table->lease_renew, &missing, sizeof(missing));
    memcpy(&table->lease_release, &missing, sizeof(missing));
}

/* --- the world -------------------------------------------------------------------------------- */

void exec_world_open(exec_world *world, const char *config_text) {
    process_behaviour behaviour = world->provider.behaviour;
    memset(world, 0, sizeof(*world));
    fake_storage_open(&world->storage);
    world->provider.behaviour = behaviour;
    process_provider_init(&world->provider);
    world->provider.behaviour = behaviour;
    fill_table(&world->storage_table);
    world->own_storage =
        (alineo_own_storage){sizeof(world->own_storage), "fake", world->storage.binding.descriptor,
                             &world->storage_table, world};

    alineo_config *config = NULL;
    alineo_error *err = NULL;
    if (config_text == NULL)
        config_text = "{}";
    if (alineo_config_parse(config_text, strlen(config_text), "test", &config, &err) != ALINEO_OK)
        fail_msg("%s", alineo_error_message(err));
    alineo_client_options options = ALINEO_CLIENT_OPTIONS_INIT;
    options.provider = &world->provider.own;
    options.storage = &world->own_storage;
    if (alineo_client_open(config, &options, &world->client, &err) != ALINEO_OK)
        fail_msg("%s", alineo_error_message(err));
    alineo_config_free(config);
    if (alineo_sandbox_create(world->client, NULL, &world->sandbox, &err) != ALINEO_OK)
        fail_msg("%s", alineo_error_message(err));
}

void exec_world_close(exec_world *world) {
    alineo_error *err = NULL;
    if (world->sandbox != NULL) {
        if (alineo_sandbox_close(world->sandbox, NULL, &err) != ALINEO_OK)
            fail_msg("%s", alineo_error_message(err));
        assert_int_equal(process_provider_count(alineo_sandbox_id(world->sandbox)), 0);
        alineo_sandbox_free(world->sandbox);
    }
    alineo_client_free(world->client);
    bool has_unfreed = !al_list_empty(&world->provider.execs);
    process_provider_end(&world->provider);
    fake_storage_close(&world->storage);
    free(world->ledger_id);
    assert_false(has_unfreed);
}

static int setup(void **state, bool pumped) {
    exec_world *world = calloc(1, sizeof(*world));
    assert_non_null(world);
    world->provider.behaviour.pumped = pumped;
    exec_world_open(world, NULL);
    *state = world;
    return 0;
}

int exec_world_setup(void **state) {
    return setup(state, false);
}

int exec_world_setup_pumped(void **state) {
    return setup(state, true);
}

int exec_world_teardown(void **state) {
    exec_world_close(*state);
    free(*state);
    return 0;
}

bool exec_is_slow(void) {
    return getenv("ALINEO_UNDER_VALGRIND") != NULL;
}

/* --- running ---------------------------------------------------------------------------------- */

alineo_exec *exec_start(exec_world *world, const char *command,
                        const alineo_exec_options *options) {
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    if (alineo_sandbox_exec(world->sandbox, command, options, &exec, &err) != ALINEO_OK)
        fail_msg("%s", alineo_error_message(err));
    return exec;
}

alineo_code exec_run(exec_world *world, const char *command, const alineo_exec_options *options,
                     alineo_output *output, alineo_exec_result *result) {
    alineo_exec *exec = exec_start(world, command, options);
    alineo_output_clear(output);
    alineo_code code = alineo_exec_output(exec, 0, output, result, NULL);
    alineo_exec_free(exec);
    if (result != NULL)
        result->detail = NULL; /* it went with the exec */
    return code;
}

void exec_gives(exec_world *world, const char *command, const alineo_exec_options *options,
                const void *data, size_t size) {
    alineo_output output = ALINEO_OUTPUT_INIT;
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    assert_int_equal(exec_run(world, command, options, &output, &result), ALINEO_OK);
    assert_int_equal(output.stderr_size, 0);
    assert_int_equal(output.stdout_size, size);
    if (size > 0)
        assert_memory_equal(output.stdout_data, data, size);
    assert_int_equal(result.stdout_bytes, size);
    exec_ledger_holds(world, result.seq, "stdout", data, size);
    alineo_output_clear(&output);
}

/* --- the ledger ------------------------------------------------------------------------------- */

static void flush(exec_world *world) {
    assert_int_equal(alineo_client_flush(world->client, 10000, NULL), ALINEO_OK);
}

size_t exec_event_count(exec_world *world, int32_t seq, const char *event) {
    flush(world);
    size_t count = 0;
    al_autolock(&world->storage.lock);
    for (size_t i = 0; i < world->storage.row_count; i++)
        if (world->storage.rows[i].step_idx == seq &&
            strcmp(world->storage.rows[i].event, event) == 0)
            count++;
    return count;
}

al_json *exec_event(exec_world *world, int32_t seq, const char *event) {
    assert_int_equal(exec_event_count(world, seq, event), 1);
    al_json *document = NULL;
    al_autolock(&world->storage.lock);
    for (size_t i = 0; i < world->storage.row_count; i++) {
        const fake_row *row = &world->storage.rows[i];
        if (row->step_idx == seq && strcmp(row->event, event) == 0)
            assert_int_equal(al_json_parse(row->payload, row->payload_size, NULL, &document, NULL),
                             0);
    }
    return document;
}

void exec_ledger_holds(exec_world *world, int32_t seq, const char *type, const void *data,
                       size_t size) {
    flush(world);
    al_auto(al_buf_free) al_buf joined = AL_BUF_INIT;
    fake_storage_output(&world->storage, seq, type, &joined);
    assert_int_equal(joined.size, size);
    if (size > 0)
        assert_memory_equal(joined.data, data, size);
}

size_t exec_open_descriptors(void) {
    al_autodir DIR *folder = opendir("/proc/self/fd");
    size_t count = 0;
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    return count;
}
