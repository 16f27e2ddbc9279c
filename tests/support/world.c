/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/world.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "tests/support/test.h"

static void note_created(void *user, const char *sandbox_id, const char *name) {
    assert_non_null(sandbox_id);
    assert_non_null(name);
    atomic_fetch_add(&((world *)user)->created, 1);
}

static void note_closed(void *user, const char *sandbox_id) {
    assert_non_null(sandbox_id);
    atomic_fetch_add(&((world *)user)->closed, 1);
}

static void note_failed(void *user, const char *sandbox_id, const alineo_error *error) {
    assert_int_not_equal(alineo_error_code(error), ALINEO_OK);
    atomic_fetch_add(&((world *)user)->failed, 1);
    atomic_fetch_add(&((world *)user)->failed_with_id, sandbox_id != NULL);
}

static void keep_line(void *user, alineo_log_level level, const char *plugin, const char *message) {
    (void)level;
    (void)plugin;
    world *self = user;
    al_autolock(&self->lock);
    size_t used = strlen(self->log);
    (void)snprintf(self->log + used, sizeof(self->log) - used, "%s\n", message);
}

int world_logged(world *self, const char *text) {
    al_autolock(&self->lock);
    return strstr(self->log, text) != NULL;
}

void world_prepare(world *self) {
    memset(self, 0, sizeof(*self));
    assert_int_equal(pthread_mutex_init(&self->lock, NULL), 0);
    counting_open(&self->provider);
    shared_storage_open(&self->storage);
    self->hooks = (alineo_hooks){.size = sizeof(self->hooks),
                                 .user = self,
                                 .sandbox_created = note_created,
                                 .sandbox_closed = note_closed,
                                 .sandbox_failed = note_failed};
}

alineo_code world_open_client(world *self, const char *config, alineo_client **out,
                              alineo_error **err) {
    const char *json = config != NULL ? config : "{}";
    alineo_config *parsed = NULL;
    alineo_code code = alineo_config_parse(json, strlen(json), "test", &parsed, err);
    if (code != ALINEO_OK)
        return code;
    alineo_client_options options = ALINEO_CLIENT_OPTIONS_INIT;
    options.provider = &self->provider.own;
    options.storage = &self->storage.own;
    options.hooks = &self->hooks;
    options.log = keep_line;
    options.log_user = self;
    code = alineo_client_open(parsed, &options, out, err);
    alineo_config_free(parsed);
    return code;
}

alineo_client *world_client(world *self, const char *config) {
    alineo_client *client = NULL;
    alineo_error *error = NULL;
    if (world_open_client(self, config, &client, &error) != ALINEO_OK)
        fail_msg("open a client: %s", alineo_error_message(error));
    return client;
}

void world_open(world *self, const char *config) {
    world_prepare(self);
    self->client = world_client(self, config);
}

void world_close(world *self) {
    alineo_client_free(self->client);
    shared_storage_close(&self->storage);
    counting_close(&self->provider);
    (void)pthread_mutex_destroy(&self->lock);
}

alineo_sandbox *world_sandbox(world *self) {
    alineo_sandbox *sandbox = NULL;
    alineo_error *error = NULL;
    if (alineo_sandbox_create(self->client, NULL, &sandbox, &error) != ALINEO_OK)
        fail_msg("create a sandbox: %s", alineo_error_message(error));
    return sandbox;
}

alineo_call *world_call(int64_t timeout_ms) {
    alineo_call_options options = ALINEO_CALL_OPTIONS_INIT;
    options.timeout_ms = timeout_ms;
    alineo_call *call = NULL;
    assert_int_equal(alineo_call_new(&options, &call, NULL), ALINEO_OK);
    return call;
}

static void *cancel_later(void *argument) {
    world_cancel *self = argument;
    (void)usleep((useconds_t)self->after_us);
    alineo_call_cancel(self->call);
    return NULL;
}

void world_cancel_start(world_cancel *self, alineo_call *call, int64_t after_us) {
    *self = (world_cancel){.call = call, .after_us = after_us};
    assert_int_equal(pthread_create(&self->thread, NULL, cancel_later, self), 0);
}

void world_cancel_end(world_cancel *self) {
    assert_int_equal(pthread_join(self->thread, NULL), 0);
}
