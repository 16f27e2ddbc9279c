/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_TESTS_SUPPORT_LOCAL_FIXTURE_H
#define ALINEO_TESTS_SUPPORT_LOCAL_FIXTURE_H

/* The local provider, called through its table, in a temporary folder of its own. */

#include <alineo/provider.h>

#include <stdbool.h>

#include "core/util/buf.h"
#include "tests/support/test_host.h"

typedef struct local_fixture {
    char home[64]; /* the temporary folder */
    char state_dir[80];
    char run_dir[80];
    char plugin_path[256];
    const alineo_provider_table *table;
    test_host host;
    alineo_provider *self;
} local_fixture;

/* Opens an instance. Skips the test where this is not root, since there can be no sandbox then. */
void local_fixture_open(local_fixture *fixture);

/* Ends all sandboxes and the instance, and asserts that nothing of them is left on the machine. */
void local_fixture_close(local_fixture *fixture);

/* Another instance on the same folders, as another process has it; close it with table->close. */
alineo_provider *local_fixture_again(local_fixture *fixture);

/* A sandbox of the image "host"; REQUEST (may be NULL) says what else. Its id is in ID. */
void local_fixture_create(local_fixture *fixture, const alineo_create_request *request,
                          char id[129]);

/* Asserts that a call succeeded, else fails with the error's text. */
void local_assert_ok(alineo_code code, alineo_error **err);
/* Asserts that it gave EXPECTED, and drops the error. */
void local_assert_code(alineo_code code, alineo_error **err, alineo_code expected);

/* A command and what came of it. */
typedef struct local_ran {
    alineo_exec_status status; /* detail too; freed by local_ran_clear */
    al_buf out;
    al_buf err;
} local_ran;

/* Starts REQUEST, writes INPUT (may be NULL) to its stdin, collects its streams, waits for its
 * outcome and reads what is still in the pipes. */
void local_run(local_fixture *fixture, const char *id, const alineo_exec_request *request,
               const char *input, local_ran *ran);
/* The same for a shell command without options. */
void local_sh(local_fixture *fixture, const char *id, const char *command, local_ran *ran);
void local_ran_clear(local_fixture *fixture, local_ran *ran);

/* Runs a shell command, asserts that it ended with 0, and gives its output (free it). */
char *local_output(local_fixture *fixture, const char *id, const char *command);

/* Starts a command without waiting; its descriptors are in IO. */
void local_start(local_fixture *fixture, const char *id, const char *command, int64_t timeout_ms,
                 alineo_exec_io *io);
/* Frees the exec and closes its descriptors. */
void local_let_go(local_fixture *fixture, alineo_exec_io *io);

/* Waits up to 5 s until CONDITION(USER) holds; gives whether it did. */
bool local_eventually(bool (*condition)(void *user), void *user);

/* How many processes on this machine are of sandbox ID, found by its cgroups; supervisors are not
 * among them. */
size_t local_count_processes(const char *id);
/* Whether anything is left of sandbox ID: entry, folder, cgroup. */
bool local_is_there(local_fixture *fixture, const char *id);
/* The pid of its supervisor; 0 = none. */
int local_supervisor_pid(local_fixture *fixture, const char *id);

#endif
