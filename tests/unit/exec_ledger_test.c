/* SPDX-License-Identifier: Apache-2.0 */
/* test: timeout=300 */
/* What the ledger gets, and what becomes of an exec when the ledger cannot be written. */
#include "support/exec_world.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/exec_private.h"
#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/io.h"
#include "core/util/json.h"

/* Little patience and a queue of 1 MiB, so that it is soon over and soon full. */
#define IMPATIENT "{\"ledger\":{\"patienceMs\":300,\"queueBytes\":1048576}}"

static int impatient_setup(void **state) {
    exec_world *world = calloc(1, sizeof(*world));
    assert_non_null(world);
    exec_world_open(world, IMPATIENT);
    *state = world;
    return 0;
}

static int gap_setup(void **state) {
    exec_world *world = calloc(1, sizeof(*world));
    assert_non_null(world);
    exec_world_open(
        world, "{\"ledger\":{\"patienceMs\":300,\"queueBytes\":1048576,\"onFailure\":\"gap\"}}");
    *state = world;
    return 0;
}

static void break_storage(exec_world *world) {
    al_autolock(&world->storage.lock);
    world->storage.failures = SIZE_MAX;
}

static void mend_storage(exec_world *world) {
    al_autolock(&world->storage.lock);
    world->storage.failures = 0;
}

/* --- what it gets ----------------------------------------------------------------------------- */

static const char *text_of(const al_json *document, const char *key) {
    const char *text = NULL;
    assert_true(al_json_get_str(al_json_member(al_json_root(document), key), &text));
    return text;
}

static void start_and_end_carry_number_and_id(void **state) {
    exec_world *world = *state;
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.timeout_ms = 60000;
    options.cwd = "/";
    alineo_exec *exec = exec_start(world, "echo x; exit 3", &options);
    assert_int_equal(alineo_exec_wait(exec, NULL, NULL), ALINEO_COMMAND_FAILED);
    al_auto(al_json_free) al_json *start = exec_event(world, 1, "exec_start");
    al_auto(al_json_free) al_json *complete = exec_event(world, 1, "exec_complete");
    assert_string_equal(text_of(start, "cmd"), "echo x; exit 3");
    assert_string_equal(text_of(start, "cwd"), "/");
    assert_string_equal(text_of(start, "execId"), alineo_exec_id(exec));
    assert_string_equal(text_of(complete, "execId"), alineo_exec_id(exec));
    assert_string_equal(text_of(complete, "outcome"), "exited");
    alineo_exec_free(exec);
}

/* What a call reported is there without anything being asked of the client. */
static void what_was_reported_is_stored(void **state) {
    exec_world *world = *state;
    for (int i = 1; i <= 20; i++) {
        alineo_exec *exec = exec_start(world, "echo x", NULL);
        {
            al_autolock(&world->storage.lock);
            const fake_row *last = &world->storage.rows[world->storage.row_count - 1];
            assert_string_equal(last->event, "exec_start");
            assert_int_equal(last->step_idx, i);
        }
        assert_int_equal(alineo_exec_wait(exec, NULL, NULL), ALINEO_OK);
        al_autolock(&world->storage.lock);
        const fake_row *last = &world->storage.rows[world->storage.row_count - 1];
        assert_string_equal(last->event, "exec_complete");
        assert_int_equal(last->step_idx, i);
        alineo_exec_free(exec);
    }
}

/* The provider is not asked before the start is stored. */
static void note_rows(void *user) {
    exec_world *world = user;
    al_autolock(&world->storage.lock);
    const fake_row *last = &world->storage.rows[world->storage.row_count - 1];
    assert_string_equal(last->event, "exec_start");
}

static void the_start_is_stored_before_the_provider_is_asked(void **state) {
    exec_world *world = *state;
    world->provider.behaviour.starting = note_rows;
    world->provider.behaviour.user = world;
    exec_gives(world, "echo x", NULL, "x\n", 2);
}

static void a_number_that_is_taken_is_left_to_its_owner(void **state) {
    exec_world *world = *state;
    world->storage.taken_step = 1;
    alineo_exec *exec = exec_start(world, "echo x", NULL);
    assert_int_equal(alineo_exec_seq(exec), 2);
    assert_int_equal(alineo_exec_wait(exec, NULL, NULL), ALINEO_OK);
    alineo_exec_free(exec);
    world->storage.taken_step = 3;
    world->last_step = 41;
    exec = exec_start(world, "echo x", NULL);
    assert_int_equal(alineo_exec_seq(exec), 42);
    assert_int_equal(alineo_exec_wait(exec, NULL, NULL), ALINEO_OK);
    alineo_exec_free(exec);
    assert_int_equal(exec_event_count(world, 42, "exec_start"), 1);
    assert_int_equal(atomic_load(&world->provider.calls.starts), 2);
}

typedef struct hook_log {
    int starts, ends;
    char command[64];
    alineo_outcome outcome;
} hook_log;

static void hook_start(void *user, const char *sandbox_id, int32_t seq, const char *command) {
    hook_log *log = user;
    assert_non_null(sandbox_id);
    assert_int_equal(seq, 1);
    log->starts++;
    (void)snprintf(log->command, sizeof(log->command), "%s", command);
}

static void hook_end(void *user, const char *sandbox_id, int32_t seq,
                     const alineo_exec_result *result) {
    hook_log *log = user;
    assert_non_null(sandbox_id);
    assert_int_equal(seq, 1);
    log->ends++;
    log->outcome = result->outcome;
}

static void hooks_hear_of_start_and_end_once(void **state) {
    exec_world *world = *state;
    hook_log log = {0};
    alineo_hooks hooks = ALINEO_HOOKS_INIT;
    hooks.user = &log;
    hooks.exec_start = hook_start;
    hooks.exec_complete = hook_end;
    alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
    options.hooks = &hooks;
    alineo_sandbox *sandbox = NULL;
    assert_int_equal(alineo_sandbox_create(world->client, &options, &sandbox, NULL), ALINEO_OK);
    alineo_exec *exec = NULL;
    assert_int_equal(alineo_sandbox_exec(sandbox, "exit 3", NULL, &exec, NULL), ALINEO_OK);
    assert_int_equal(log.starts, 1);
    assert_string_equal(log.command, "exit 3");
    assert_int_equal(alineo_exec_wait(exec, NULL, NULL), ALINEO_COMMAND_FAILED);
    assert_int_equal(alineo_exec_wait(exec, NULL, NULL), ALINEO_COMMAND_FAILED);
    assert_int_equal(log.ends, 1);
    assert_int_equal(log.outcome, ALINEO_OUTCOME_EXITED);
    alineo_exec_free(exec);
    assert_int_equal(alineo_sandbox_close(sandbox, NULL, NULL), ALINEO_OK);
    alineo_sandbox_free(sandbox);
}

static void what_the_core_runs_for_itself_is_not_recorded(void **state) {
    exec_world *world = *state;
    alineo_exec *exec = NULL;
    size_t before = world->storage.row_count;
    assert_int_equal(al_exec_open(world->sandbox, "echo x; exit 3", NULL, false, &exec, NULL),
                     ALINEO_OK);
    alineo_output output = ALINEO_OUTPUT_INIT;
    assert_int_equal(alineo_exec_output(exec, 0, &output, NULL, NULL), ALINEO_COMMAND_FAILED);
    assert_string_equal(output.stdout_data, "x\n");
    alineo_output_clear(&output);
    alineo_exec_free(exec);
    assert_int_equal(alineo_client_flush(world->client, 10000, NULL), ALINEO_OK);
    assert_int_equal(world->storage.row_count, before);
    exec = exec_start(world, "true", NULL);
    assert_int_equal(alineo_exec_seq(exec), 1);
    alineo_exec_free(exec);
}

/* --- storage that stays away ------------------------------------------------------------------ */

static void without_storage_nothing_starts(void **state) {
    exec_world *world = *state;
    break_storage(world);
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    assert_int_equal(alineo_sandbox_exec(world->sandbox, "touch ran", NULL, &exec, &err),
                     ALINEO_STORAGE_UNAVAILABLE);
    assert_non_null(strstr(alineo_error_message(err), "told to fail"));
    alineo_error_free(err);
    assert_int_equal(atomic_load(&world->provider.calls.starts), 0);
    mend_storage(world);
    assert_int_equal(exec_event_count(world, 1, "exec_start"), 1);
    al_auto(al_json_free) al_json *lost = exec_event(world, 1, "exec_lost");
    assert_string_equal(text_of(lost, "reason"), "not_started");
    exec_gives(world, "ls", NULL, NULL, 0);
}

static void an_end_that_cannot_be_stored_is_said_and_stored_later(void **state) {
    exec_world *world = *state;
    alineo_exec *exec = exec_start(world, "sleep 0.1; echo x", NULL);
    break_storage(world);
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    alineo_error *err = NULL;
    int64_t begun = al_clock_monotonic_ms();
    assert_int_equal(alineo_exec_wait(exec, &result, &err), ALINEO_STORAGE_UNAVAILABLE);
    assert_int_equal(result.outcome, ALINEO_OUTCOME_EXITED);
    assert_int_equal(result.exit_code, 0);
    assert_int_equal(result.ledger_code, ALINEO_STORAGE_UNAVAILABLE);
    assert_non_null(strstr(alineo_error_message(err), "told to fail"));
    alineo_error_free(err);
    /* Once more waits as long again. */
    assert_int_equal(alineo_exec_wait(exec, &result, NULL), ALINEO_STORAGE_UNAVAILABLE);
    assert_true(al_clock_monotonic_ms() - begun >= 600);
    mend_storage(world);
    assert_int_equal(alineo_exec_wait(exec, &result, NULL), ALINEO_OK);
    assert_int_equal(result.ledger_code, ALINEO_OK);
    alineo_exec_free(exec);
    assert_int_equal(exec_event_count(world, 1, "exec_complete"), 1);
    exec_ledger_holds(world, 1, "stdout", "x\n", 2);
}

static void a_failure_of_the_command_goes_before_that_of_storage(void **state) {
    exec_world *world = *state;
    alineo_exec *exec = exec_start(world, "exit 3", NULL);
    break_storage(world);
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    assert_int_equal(alineo_exec_wait(exec, &result, NULL), ALINEO_COMMAND_FAILED);
    assert_int_equal(result.ledger_code, ALINEO_STORAGE_UNAVAILABLE);
    mend_storage(world);
    assert_int_equal(alineo_exec_wait(exec, &result, NULL), ALINEO_COMMAND_FAILED);
    assert_int_equal(result.ledger_code, ALINEO_OK);
    alineo_exec_free(exec);
}

#define FLOOD "head -c 6000000 /dev/urandom >r; cat r"
enum {
    FLOOD_SIZE = 6000000
};

/* The queue is full: the command is held, and goes on when storage is back. */
static void a_command_is_held_while_its_output_cannot_be_stored(void **state) {
    exec_world *world = *state;
    alineo_exec *exec = exec_start(world, FLOOD, NULL);
    break_storage(world);
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    alineo_error *err = NULL;
    assert_int_equal(alineo_exec_wait(exec, &result, &err), ALINEO_STORAGE_UNAVAILABLE);
    assert_int_equal(result.outcome, ALINEO_OUTCOME_RUNNING);
    assert_int_equal(result.ledger_code, ALINEO_STORAGE_UNAVAILABLE);
    assert_non_null(strstr(alineo_error_message(err), "held"));
    alineo_error_free(err);
    assert_true(result.stdout_bytes > 500000 && result.stdout_bytes < 2000000);
    mend_storage(world);
    assert_int_equal(alineo_exec_wait(exec, &result, NULL), ALINEO_OK);
    assert_int_equal(result.stdout_bytes, FLOOD_SIZE);
    assert_int_equal(result.ledger_code, ALINEO_OK);
    alineo_exec_free(exec);
    al_auto(al_buf_free) al_buf stored = AL_BUF_INIT;
    assert_int_equal(alineo_client_flush(world->client, 10000, NULL), ALINEO_OK);
    fake_storage_output(&world->storage, 1, "stdout", &stored);
    assert_int_equal(stored.size, FLOOD_SIZE);
    alineo_output output = ALINEO_OUTPUT_INIT;
    assert_int_equal(exec_run(world, "cat r", NULL, &output, NULL), ALINEO_OK);
    assert_memory_equal(output.stdout_data, stored.data, FLOOD_SIZE);
    alineo_output_clear(&output);
}

static void output_goes_on_where_storage_left_it(void **state) {
    exec_world *world = *state;
    alineo_exec *exec = exec_start(world, FLOOD, NULL);
    break_storage(world);
    alineo_output first = ALINEO_OUTPUT_INIT;
    alineo_output all = ALINEO_OUTPUT_INIT;
    assert_int_equal(alineo_exec_output(exec, 0, &first, NULL, NULL), ALINEO_STORAGE_UNAVAILABLE);
    assert_true(first.stdout_size > 500000 && first.stdout_size < 2000000);
    mend_storage(world);
    assert_int_equal(alineo_exec_output(exec, 0, &all, NULL, NULL), ALINEO_OK);
    assert_int_equal(all.stdout_size, FLOOD_SIZE);
    assert_memory_equal(all.stdout_data, first.stdout_data, first.stdout_size);
    exec_ledger_holds(world, 1, "stdout", all.stdout_data, all.stdout_size);
    alineo_output_clear(&first);
    alineo_output_clear(&all);
    alineo_exec_free(exec);
}

static void pipe_goes_on_where_storage_left_it(void **state) {
    exec_world *world = *state;
    char path[] = "/tmp/alineo-ledger.XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    alineo_exec *exec = exec_start(world, FLOOD, NULL);
    break_storage(world);
    assert_int_equal(alineo_exec_pipe(exec, fd, -1, NULL, NULL), ALINEO_STORAGE_UNAVAILABLE);
    mend_storage(world);
    assert_int_equal(alineo_exec_pipe(exec, fd, -1, NULL, NULL), ALINEO_OK);
    alineo_exec_free(exec);
    al_autofree char *data = malloc(FLOOD_SIZE);
    size_t used = 0;
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(al_read_full(fd, data, FLOOD_SIZE, &used), 0);
    exec_ledger_holds(world, 1, "stdout", data, used);
    assert_int_equal(close(fd), 0);
}

/* By the descriptor: no busy waiting, and it is told when the patience is over. */
static void the_poll_fd_tells_when_the_patience_is_over(void **state) {
    exec_world *world = *state;
    alineo_exec *exec = exec_start(world, FLOOD, NULL);
    break_storage(world);
    int reports = 0, wakes = 0;
    alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
    int64_t first_ms = 0;
    while (first_ms == 0 || al_clock_monotonic_ms() - first_ms < 1000) {
        struct pollfd fds = {.fd = alineo_exec_poll_fd(exec), .events = POLLIN};
        (void)poll(&fds, 1, 1000);
        alineo_code code = alineo_exec_next(exec, 0, &event, NULL);
        reports += code == ALINEO_STORAGE_UNAVAILABLE;
        if (reports == 1 && first_ms == 0)
            first_ms = al_clock_monotonic_ms();
        if (code == ALINEO_OK && event.type == ALINEO_EXEC_NONE)
            wakes++;
    }
    assert_true(reports >= 2 && reports <= 5);
    assert_true(wakes < 100);
    mend_storage(world);
    while (event.type != ALINEO_EXEC_EXIT) {
        struct pollfd fds = {.fd = alineo_exec_poll_fd(exec), .events = POLLIN};
        assert_int_equal(poll(&fds, 1, 10000), 1);
        alineo_code code = alineo_exec_next(exec, 0, &event, NULL);
        /* A last report may have been due before the mending was noticed. */
        assert_true(code == ALINEO_OK || code == ALINEO_STORAGE_UNAVAILABLE);
    }
    assert_int_equal(event.result->stdout_bytes, FLOOD_SIZE);
    alineo_exec_free(exec);
}

static void a_command_that_is_held_can_be_cancelled_and_times_out(void **state) {
    exec_world *world = *state;
    for (int i = 0; i < 2; i++) {
        alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
        options.timeout_ms = i == 0 ? 0 : 3000;
        alineo_exec *exec = exec_start(world, "yes", &options);
        break_storage(world);
        alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
        assert_int_equal(alineo_exec_wait(exec, &result, NULL), ALINEO_STORAGE_UNAVAILABLE);
        assert_int_equal(result.outcome, ALINEO_OUTCOME_RUNNING);
        if (i == 0)
            assert_int_equal(alineo_exec_cancel(exec, NULL), ALINEO_OK);
        alineo_code code;
        do {
            code = alineo_exec_wait(exec, &result, NULL);
        } while (result.outcome == ALINEO_OUTCOME_RUNNING);
        assert_int_equal(code, i == 0 ? ALINEO_CANCELLED : ALINEO_TIMEOUT);
        assert_int_equal(result.ledger_code, ALINEO_STORAGE_UNAVAILABLE);
        assert_int_equal(process_provider_count(alineo_sandbox_id(world->sandbox)), 0);
        mend_storage(world);
        /* On a slow machine the patience may be over once more before the queue is written. */
        do {
            assert_int_equal(alineo_exec_wait(exec, &result, NULL), code);
        } while (result.ledger_code == ALINEO_STORAGE_UNAVAILABLE);
        assert_int_equal(result.ledger_code, ALINEO_OK);
        alineo_exec_free(exec);
        assert_int_equal(exec_event_count(world, i + 1, "exec_complete"), 1);
    }
}

static void freeing_without_storage_comes_back_and_is_stored_later(void **state) {
    exec_world *world = *state;
    alineo_exec *exec = exec_start(world, "yes", NULL);
    break_storage(world);
    assert_int_equal(alineo_exec_wait(exec, NULL, NULL), ALINEO_STORAGE_UNAVAILABLE);
    int64_t begun = al_clock_monotonic_ms();
    alineo_exec_free(exec);
    assert_true(al_clock_monotonic_ms() - begun < 9000);
    mend_storage(world);
    al_auto(al_json_free) al_json *complete = exec_event(world, 1, "exec_complete");
    assert_string_equal(text_of(complete, "outcome"), "cancelled");
    /* What could not be stored is told. */
    int64_t gap = 0;
    assert_true(al_json_get_int(
        al_json_member(al_json_member(al_json_root(complete), "gap"), "stdout"), &gap));
    assert_true(gap > 0);
}

static void with_gaps_the_command_goes_on_and_the_ledger_says_what_is_missing(void **state) {
    exec_world *world = *state;
    alineo_exec *exec = exec_start(world, FLOOD, NULL);
    break_storage(world);
    alineo_output output = ALINEO_OUTPUT_INIT;
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    assert_int_equal(alineo_exec_output(exec, 0, &output, &result, NULL),
                     ALINEO_STORAGE_UNAVAILABLE);
    assert_int_equal(result.outcome, ALINEO_OUTCOME_EXITED);
    assert_int_equal(output.stdout_size, FLOOD_SIZE);
    assert_true(result.stdout_gap > 0);
    alineo_output_clear(&output);
    mend_storage(world);
    assert_int_equal(alineo_exec_wait(exec, &result, NULL), ALINEO_OK);
    alineo_exec_free(exec);
    al_auto(al_buf_free) al_buf stored = AL_BUF_INIT;
    assert_int_equal(alineo_client_flush(world->client, 10000, NULL), ALINEO_OK);
    fake_storage_output(&world->storage, 1, "stdout", &stored);
    assert_int_equal(stored.size + result.stdout_gap, FLOOD_SIZE);
}

/* A storage that is slow and never fails: the command is slowed, and nothing else. */
static void slow_storage_slows_the_command_and_loses_nothing(void **state) {
    exec_world *world = *state;
    {
        al_autolock(&world->storage.lock);
        world->storage.append_ns = 20 * 1000000;
    }
    alineo_output output = ALINEO_OUTPUT_INIT;
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    assert_int_equal(exec_run(world, FLOOD, NULL, &output, &result), ALINEO_OK);
    assert_int_equal(output.stdout_size, FLOOD_SIZE);
    exec_ledger_holds(world, result.seq, "stdout", output.stdout_data, output.stdout_size);
    alineo_output_clear(&output);
}

#define EXEC_TEST_IMPATIENT(test)                                                                  \
    { #test, test, impatient_setup, exec_world_teardown, NULL }

int main(void) {
    const struct CMUnitTest tests[] = {
        EXEC_TEST_BOTH(start_and_end_carry_number_and_id),
        EXEC_TEST_BOTH(what_was_reported_is_stored),
        EXEC_TEST(the_start_is_stored_before_the_provider_is_asked),
        EXEC_TEST(a_number_that_is_taken_is_left_to_its_owner),
        EXEC_TEST(hooks_hear_of_start_and_end_once),
        EXEC_TEST_BOTH(what_the_core_runs_for_itself_is_not_recorded),
        EXEC_TEST_IMPATIENT(without_storage_nothing_starts),
        EXEC_TEST_IMPATIENT(an_end_that_cannot_be_stored_is_said_and_stored_later),
        EXEC_TEST_IMPATIENT(a_failure_of_the_command_goes_before_that_of_storage),
        EXEC_TEST_IMPATIENT(a_command_is_held_while_its_output_cannot_be_stored),
        EXEC_TEST_IMPATIENT(output_goes_on_where_storage_left_it),
        EXEC_TEST_IMPATIENT(pipe_goes_on_where_storage_left_it),
        EXEC_TEST_IMPATIENT(the_poll_fd_tells_when_the_patience_is_over),
        EXEC_TEST_IMPATIENT(a_command_that_is_held_can_be_cancelled_and_times_out),
        EXEC_TEST_IMPATIENT(freeing_without_storage_comes_back_and_is_stored_later),
        {"with_gaps_the_command_goes_on_and_the_ledger_says_what_is_missing",
         with_gaps_the_command_goes_on_and_the_ledger_says_what_is_missing, gap_setup,
         exec_world_teardown, NULL},
        EXEC_TEST_IMPATIENT(slow_storage_slows_the_command_and_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
