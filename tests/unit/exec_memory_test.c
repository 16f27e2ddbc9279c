/* SPDX-License-Identifier: Apache-2.0 */
/* test: timeout=300 no-valgrind */
/* Every allocation on the way of an exec fails once, and then all from there on. */
#include "support/exec_world.h"
#include "support/fail_alloc.h"

#include <stdlib.h>
#include <string.h>

#include "core/util/cleanup.h"

static int setup(void **state, bool pumped) {
    exec_world *world = calloc(1, sizeof(*world));
    assert_non_null(world);
    world->provider.behaviour.pumped = pumped;
    exec_world_open(world, "{\"ledger\":{\"patienceMs\":100}}");
    world->drops = true;
    *state = world;
    return 0;
}

static int setup_descriptors(void **state) {
    return setup(state, false);
}

static int setup_pumped(void **state) {
    return setup(state, true);
}

/* What is lacking may be told a round late, since the ledger is written by a thread of its own. */
static void check(alineo_code code, alineo_code wanted) {
    if (code != wanted && code != ALINEO_NO_MEMORY && code != ALINEO_STORAGE_UNAVAILABLE) {
        fail_alloc_at(0);
        fail_msg("it gave %s", alineo_code_name(code));
    }
}

static void run_command(void *state) {
    exec_world *world = state;
    const char *env[] = {"A", "1", NULL};
    const char *argv[] = {"sh", "-c", "cat; echo err >&2; exit 3", NULL};
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.argv = argv;
    options.env = env;
    options.timeout_ms = 60000;
    options.stdin_kind = ALINEO_STDIN_BYTES;
    options.stdin_data = "some bytes";
    options.stdin_size = 10;
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    alineo_code code = alineo_sandbox_exec(world->sandbox, NULL, &options, &exec, &err);
    check(code, ALINEO_OK);
    assert_int_equal(alineo_error_code(err), code);
    alineo_error_free(err);
    err = NULL;
    if (code != ALINEO_OK) {
        assert_null(exec);
        return;
    }
    alineo_output output = ALINEO_OUTPUT_INIT;
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    code = alineo_exec_output(exec, 0, &output, &result, &err);
    check(code, ALINEO_COMMAND_FAILED);
    alineo_error_free(err);
    if (result.outcome == ALINEO_OUTCOME_EXITED)
        assert_int_equal(result.exit_code, 3);
    if (code == ALINEO_COMMAND_FAILED) {
        assert_int_equal(output.stdout_size, 10);
        assert_memory_equal(output.stdout_data, "some bytes", 10);
        assert_int_equal(output.stderr_size, 4);
    }
    alineo_output_clear(&output);
    alineo_exec_free(exec);
}

static void run_and_free(void *state) {
    exec_world *world = state;
    alineo_exec *exec = NULL;
    check(alineo_sandbox_exec(world->sandbox, "sleep 30", NULL, &exec, NULL), ALINEO_OK);
    alineo_exec_free(exec);
}

static void no_failing_allocation_makes_a_wrong_outcome(void **state) {
    exec_world *world = *state;
    assert_true(fail_alloc_each(run_command, world) > 20);
    assert_true(fail_alloc_each(run_and_free, world) > 20);
    alineo_output output = ALINEO_OUTPUT_INIT;
    assert_int_equal(exec_run(world, "echo x", NULL, &output, NULL), ALINEO_OK);
    assert_string_equal(output.stdout_data, "x\n");
    alineo_output_clear(&output);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        {"no_failing_allocation_makes_a_wrong_outcome", no_failing_allocation_makes_a_wrong_outcome,
         setup_descriptors, exec_world_teardown, NULL},
        {"no_failing_allocation_makes_a_wrong_outcome (without descriptors)",
         no_failing_allocation_makes_a_wrong_outcome, setup_pumped, exec_world_teardown, NULL},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
