/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_TESTS_SUPPORT_WORLD_H
#define ALINEO_TESTS_SUPPORT_WORLD_H

/* A client with a counting provider, a shared storage, hooks that are counted and a log that is
 * kept: what tests of the core's calls stand on. */

#include <alineo/alineo.h>

#include "tests/support/counting_provider.h"
#include "tests/support/shared_storage.h"

typedef struct world {
    counting_provider provider;
    shared_storage storage;
    alineo_hooks hooks; /* counts below; given to every client */
    atomic_int created, closed, failed, failed_with_id;
    pthread_mutex_t lock;
    char log[16384]; /* guarded by lock; a line each */
    alineo_client *client;
} world;

/* `config` is JSON, NULL = {}. */
void world_open(world *self, const char *config);
/* Frees the client, if the test has not, and asserts that nothing is left open. */
void world_close(world *self);

/* Only provider and storage; change them, then world_open_client. */
void world_prepare(world *self);
/* One more client, as another process would open it. */
alineo_client *world_client(world *self, const char *config);
alineo_code world_open_client(world *self, const char *config, alineo_client **out,
                              alineo_error **err);

/* A sandbox by default options, asserted. */
alineo_sandbox *world_sandbox(world *self);
/* Whether a line of the log holds the text. */
int world_logged(world *self, const char *text);

/* A call with a deadline; 0 = none. */
alineo_call *world_call(int64_t timeout_ms);
/* Cancels it after so many milliseconds, on another thread; join it by world_cancel_end. */
typedef struct world_cancel {
    alineo_call *call;
    int64_t after_us;
    pthread_t thread;
} world_cancel;
void world_cancel_start(world_cancel *self, alineo_call *call, int64_t after_us);
void world_cancel_end(world_cancel *self);

#endif
