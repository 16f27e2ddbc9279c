/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_TESTS_SUPPORT_EXEC_WORLD_H
#define ALINEO_TESTS_SUPPORT_EXEC_WORLD_H

/* A client with a sandbox, for tests of running commands: real processes (process_provider), a
 * ledger that can be looked into and told to fail (fake_storage). */

#include <alineo/alineo.h>

#include "support/fake_storage.h"
#include "support/process_provider.h"
#include "support/test.h"

typedef struct exec_world {
    fake_storage storage;
    process_provider provider;
    alineo_own_storage own_storage;
    alineo_storage_table storage_table;
    char *ledger_id;
    int32_t last_step; /* what session_get answers */
    bool drops;        /* the storage forgets what it is given */
    alineo_client *client;
    alineo_sandbox *sandbox;
} exec_world;

/* `config` is JSON, NULL = "{}". Behaviour may be set before or after. */
void exec_world_open(exec_world *world, const char *config);
/* Asserts that every exec was freed, by the core and by it to the provider, and nothing is left. */
void exec_world_close(exec_world *world);

/* cmocka setup and teardown: the state is the world. */
int exec_world_setup(void **state);
int exec_world_setup_pumped(void **state); /* a provider without descriptors */
int exec_world_teardown(void **state);

/* Entries for cmocka: with descriptors, without, with each. */
#define EXEC_TEST(test)                                                                            \
    { #test, test, exec_world_setup, exec_world_teardown, NULL }
#define EXEC_TEST_PUMPED(test)                                                                     \
    { #test " (without descriptors)", test, exec_world_setup_pumped, exec_world_teardown, NULL }
#define EXEC_TEST_BOTH(test) EXEC_TEST(test), EXEC_TEST_PUMPED(test)

/* Whether valgrind makes everything slow. */
bool exec_is_slow(void);

/* Starts a command; asserts that it starts. */
alineo_exec *exec_start(exec_world *world, const char *command, const alineo_exec_options *options);
/* Starts, collects and frees. `options`, `result` may be NULL; `output` is cleared first. */
alineo_code exec_run(exec_world *world, const char *command, const alineo_exec_options *options,
                     alineo_output *output, alineo_exec_result *result);
/* Asserts that the command gives exactly this on stdout, nothing on stderr, and 0. */
void exec_gives(exec_world *world, const char *command, const alineo_exec_options *options,
                const void *data, size_t size);

/* What the ledger holds now, after a flush: the payload of that event of the exec, for
 * al_json_free; asserts that there is exactly one. */
struct al_json *exec_event(exec_world *world, int32_t seq, const char *event);
size_t exec_event_count(exec_world *world, int32_t seq, const char *event);
/* Asserts that the chunks in the ledger, joined, are these bytes. */
void exec_ledger_holds(exec_world *world, int32_t seq, const char *type, const void *data,
                       size_t size);

/* Descriptors open in this process. */
size_t exec_open_descriptors(void);

#endif
