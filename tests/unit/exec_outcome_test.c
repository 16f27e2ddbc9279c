/* SPDX-License-Identifier: Apache-2.0 */
/* test: timeout=300 */
/* How a command ends, and that nothing else is ever told. */
#include "support/exec_world.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/exec_private.h"
#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/io.h"
#include "core/util/json.h"
#include "core/util/str.h"

static alineo_exec_options with_timeout(int64_t timeout_ms) {
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.timeout_ms = timeout_ms;
    return options;
}

/* Runs to the end; asserts the code and the outcome, that the ledger says the same, and that each
 * kind of end has one event. */
static void ends(exec_world *world, const char *command, const alineo_exec_options *options,
                 alineo_code code, alineo_exec_result *result) {
    alineo_output output = ALINEO_OUTPUT_INIT;
    alineo_exec_result own = ALINEO_EXEC_RESULT_INIT;
    assert_int_equal(exec_run(world, command, options, &output, &own), code);
    alineo_output_clear(&output);
    bool lost = own.outcome == ALINEO_OUTCOME_LOST;
    assert_int_equal(exec_event_count(world, own.seq, "exec_start"), 1);
    assert_int_equal(exec_event_count(world, own.seq, "exec_lost"), lost);
    assert_int_equal(exec_event_count(world, own.seq, "exec_complete"), !lost);
    if (!lost) {
        al_auto(al_json_free) al_json *complete = exec_event(world, own.seq, "exec_complete");
        int64_t exit_code;
        assert_true(
            al_json_get_int(al_json_member(al_json_root(complete), "exitCode"), &exit_code));
        assert_int_equal(exit_code, own.exit_code);
    }
    *result = own;
}

/* Waits until the command has ended, without consuming the exec. */
static void wait_until_ended(const alineo_exec *exec) {
    assert_int_equal(al_poll_fd(exec->status_fd, POLLIN, al_deadline_after_ms(10000), NULL), 0);
}

static void an_exit_code_is_what_the_command_gave(void **state) {
    exec_world *world = *state;
    alineo_exec_result result;
    int codes[] = {1, 2, 42, 126, 127, 128, 137, 255};
    for (size_t i = 0; i < AL_COUNT(codes); i++) {
        char command[32];
        (void)snprintf(command, sizeof(command), "exit %d", codes[i]);
        ends(world, command, NULL, ALINEO_COMMAND_FAILED, &result);
        assert_int_equal(result.outcome, ALINEO_OUTCOME_EXITED);
        assert_int_equal(result.exit_code, codes[i]);
        assert_int_equal(result.signal, 0);
    }
}

static void a_signal_is_told_as_one(void **state) {
    exec_world *world = *state;
    alineo_exec_result result;
    const struct {
        const char *command;
        int signal;
    } cases[] = {{"kill -TERM $$; echo alive", SIGTERM},
                 {"kill -9 $$; echo alive", SIGKILL},
                 {"kill -ABRT $$; echo alive", SIGABRT},
                 {"kill -SEGV $$; echo alive", SIGSEGV}};
    for (size_t i = 0; i < AL_COUNT(cases); i++) {
        ends(world, cases[i].command, NULL, ALINEO_COMMAND_FAILED, &result);
        assert_int_equal(result.outcome, ALINEO_OUTCOME_SIGNALLED);
        assert_int_equal(result.signal, cases[i].signal);
        assert_int_equal(result.exit_code, 128 + cases[i].signal);
        assert_int_equal(result.stdout_bytes, 0);
    }
}

static void the_error_of_a_failed_command_says_all(void **state) {
    exec_world *world = *state;
    alineo_exec *exec = exec_start(world, "echo out; exit 42", NULL);
    alineo_error *err = NULL;
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    assert_int_equal(alineo_exec_wait(exec, &result, &err), ALINEO_COMMAND_FAILED);
    assert_string_equal(alineo_error_message(err),
                        "Command exited with code 42: echo out; exit 42");
    assert_string_equal(alineo_error_command(err), "echo out; exit 42");
    assert_int_equal(alineo_error_exit_code(err), 42);
    assert_string_equal(alineo_error_sandbox_id(err), alineo_sandbox_id(world->sandbox));
    assert_int_equal(result.exit_code, 42);
    alineo_error_free(err);
    alineo_exec_free(exec);
}

static void a_long_command_is_cut_in_an_error(void **state) {
    exec_world *world = *state;
    al_auto(al_buf_free) al_buf command = AL_BUF_INIT;
    al_buf_append_str(&command, "exit 3 # ");
    for (int i = 0; i < 5000; i++)
        al_buf_append_str(&command, "\xc3\xa4\xff");
    alineo_exec *exec = exec_start(world, al_buf_str(&command), NULL);
    alineo_error *err = NULL;
    assert_int_equal(alineo_exec_wait(exec, NULL, &err), ALINEO_COMMAND_FAILED);
    assert_true(strlen(alineo_error_message(err)) < 2000);
    assert_true(al_str_ends(alineo_error_message(err), "..."));
    alineo_error_free(err);
    alineo_exec_free(exec);
}

static void not_strict_is_content_with_any_exit_code(void **state) {
    exec_world *world = *state;
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.strict = ALINEO_NO;
    alineo_exec_result result;
    ends(world, "exit 3", &options, ALINEO_OK, &result);
    assert_int_equal(result.exit_code, 3);
    ends(world, "kill -9 $$", &options, ALINEO_OK, &result);
    options.timeout_ms = 100;
    ends(world, "sleep 20", &options, ALINEO_TIMEOUT, &result);
}

static void a_program_that_cannot_run_is_an_outcome(void **state) {
    exec_world *world = *state;
    alineo_exec_result result;
    exec_gives(world, "echo hi >plain; mkdir folder; chmod 0644 plain", NULL, NULL, 0);
    const struct {
        const char *name;
        int code;
    } cases[] = {{"no-such-bin", 127}, {"./plain", 126}, {"./folder", 126}, {"./none", 127}};
    for (size_t i = 0; i < AL_COUNT(cases); i++) {
        const char *argv[] = {cases[i].name, "x", NULL};
        alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
        options.argv = argv;
        ends(world, NULL, &options, ALINEO_COMMAND_FAILED, &result);
        assert_int_equal(result.exit_code, cases[i].code);
        alineo_exec *exec = exec_start(world, NULL, &options);
        alineo_error *err = NULL;
        assert_int_equal(alineo_exec_wait(exec, &result, &err), ALINEO_COMMAND_FAILED);
        assert_non_null(strstr(alineo_error_message(err), cases[i].name));
        assert_non_null(strstr(result.detail, cases[i].name));
        alineo_error_free(err);
        alineo_exec_free(exec);
    }
}

/* --- timeouts --------------------------------------------------------------------------------- */

static void a_timeout_ends_all_that_the_command_started(void **state) {
    exec_world *world = *state;
    const char *commands[] = {"sleep 40 & sleep 20; :", "(sleep 40 | cat) & wait",
                              "trap '' TERM; sleep 30; sleep 30", "setsid sleep 40 & sleep 30"};
    alineo_exec_options options = with_timeout(200);
    for (size_t i = 0; i < AL_COUNT(commands); i++) {
        alineo_exec_result result;
        int64_t begun = al_clock_monotonic_ms();
        ends(world, commands[i], &options, ALINEO_TIMEOUT, &result);
        assert_int_equal(result.outcome, ALINEO_OUTCOME_TIMED_OUT);
        assert_int_equal(result.exit_code, 124);
        assert_true(al_clock_monotonic_ms() - begun < 5000);
        assert_true(result.duration_ms >= 190);
        assert_int_equal(process_provider_count(alineo_sandbox_id(world->sandbox)), 0);
    }
}

static void what_was_to_come_after_a_timeout_does_not_come(void **state) {
    exec_world *world = *state;
    alineo_exec_options options = with_timeout(800);
    alineo_exec_result result;
    ends(world, "echo before; sleep 1.2; touch late; echo after", &options, ALINEO_TIMEOUT,
         &result);
    assert_int_equal(result.stdout_bytes, 7);
    (void)usleep(800000);
    exec_gives(world, "ls", NULL, NULL, 0);
}

static void a_timeout_that_is_not_reached_does_nothing(void **state) {
    exec_world *world = *state;
    int64_t timeouts[] = {60000, INT64_C(2147483648), INT64_MAX};
    for (size_t i = 0; i < AL_COUNT(timeouts); i++) {
        alineo_exec_options options = with_timeout(timeouts[i]);
        exec_gives(world, "echo x", &options, "x\n", 2);
    }
}

/* The provider forgets its timeout, and nobody consumes: the client's own timer ends it. */
static void the_backstop_ends_what_the_provider_forgets(void **state) {
    exec_world *world = *state;
    world->provider.behaviour.ignores_timeout = true;
    alineo_exec_options options = with_timeout(1);
    alineo_exec *exec = exec_start(world, "sleep 60", &options);
    for (int i = 0; i < 200 && atomic_load(&world->provider.calls.cancels) == 0; i++)
        (void)usleep(50000);
    assert_int_equal(atomic_load(&world->provider.calls.cancels), 1);
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    assert_int_equal(alineo_exec_wait(exec, &result, NULL), ALINEO_TIMEOUT);
    assert_int_equal(result.outcome, ALINEO_OUTCOME_TIMED_OUT);
    assert_int_equal(result.exit_code, 124);
    alineo_exec_free(exec);
}

/* --- cancelling ------------------------------------------------------------------------------- */

static void a_cancel_ends_the_command_and_says_so(void **state) {
    exec_world *world = *state;
    alineo_exec *exec = exec_start(world, "echo begun; sleep 60 & sleep 50", NULL);
    alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
    assert_int_equal(alineo_exec_next(exec, ALINEO_FOREVER, &event, NULL), ALINEO_OK);
    assert_int_equal(alineo_exec_cancel(exec, NULL), ALINEO_OK);
    assert_int_equal(alineo_exec_cancel(exec, NULL), ALINEO_OK);
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    alineo_error *err = NULL;
    assert_int_equal(alineo_exec_wait(exec, &result, &err), ALINEO_CANCELLED);
    assert_non_null(strstr(alineo_error_message(err), "echo begun"));
    alineo_error_free(err);
    assert_int_equal(result.outcome, ALINEO_OUTCOME_CANCELLED);
    assert_int_equal(result.exit_code, -1);
    assert_int_equal(result.stdout_bytes, 6);
    assert_int_equal(process_provider_count(alineo_sandbox_id(world->sandbox)), 0);
    assert_int_equal(alineo_exec_cancel(exec, NULL), ALINEO_OK);
    alineo_exec_free(exec);
    assert_int_equal(exec_event_count(world, result.seq, "exec_complete"), 1);
}

static void a_cancel_after_the_end_changes_nothing(void **state) {
    exec_world *world = *state;
    alineo_exec *exec = exec_start(world, "exit 5", NULL);
    wait_until_ended(exec);
    assert_int_equal(alineo_exec_cancel(exec, NULL), ALINEO_OK);
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    assert_int_equal(alineo_exec_wait(exec, &result, NULL), ALINEO_COMMAND_FAILED);
    assert_int_equal(result.exit_code, 5);
    alineo_exec_free(exec);
}

static void a_cancel_that_comes_first_prevents_the_start(void **state) {
    exec_world *world = *state;
    alineo_call *call = NULL;
    assert_int_equal(alineo_call_new(NULL, &call, NULL), ALINEO_OK);
    alineo_call_cancel(call);
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.call = call;
    alineo_exec *exec = NULL;
    assert_int_equal(alineo_sandbox_exec(world->sandbox, "touch started", &options, &exec, NULL),
                     ALINEO_CANCELLED);
    assert_null(exec);
    alineo_call_free(call);
    exec_gives(world, "ls", NULL, NULL, 0);
}

static void a_cancel_that_the_provider_refuses_may_be_tried_again(void **state) {
    exec_world *world = *state;
    alineo_exec *exec = exec_start(world, "sleep 60", NULL);
    world->provider.behaviour.cancel_failure = ALINEO_PROVIDER_UNAVAILABLE;
    assert_int_equal(alineo_exec_cancel(exec, NULL), ALINEO_PROVIDER_UNAVAILABLE);
    world->provider.behaviour.cancel_failure = ALINEO_OK;
    assert_int_equal(alineo_exec_cancel(exec, NULL), ALINEO_OK);
    assert_int_equal(alineo_exec_wait(exec, NULL, NULL), ALINEO_CANCELLED);
    alineo_exec_free(exec);
}

static void freeing_a_running_exec_cancels_it_and_tells_the_ledger(void **state) {
    exec_world *world = *state;
    alineo_exec *exec = exec_start(world, "echo x; sleep 60", NULL);
    int32_t seq = alineo_exec_seq(exec);
    for (int i = 0; i < 100 && process_provider_count(alineo_sandbox_id(world->sandbox)) < 2; i++)
        (void)usleep(10000);
    alineo_exec_free(exec);
    assert_int_equal(process_provider_count(alineo_sandbox_id(world->sandbox)), 0);
    al_auto(al_json_free) al_json *complete = exec_event(world, seq, "exec_complete");
    const char *outcome = NULL;
    assert_true(al_json_get_str(al_json_member(al_json_root(complete), "outcome"), &outcome));
    assert_string_equal(outcome, "cancelled");
    exec_ledger_holds(world, seq, "stdout", "x\n", 2);
}

static void freeing_an_exec_that_ended_unseen_tells_its_true_end(void **state) {
    exec_world *world = *state;
    alineo_exec *exec = exec_start(world, "echo unread; exit 9", NULL);
    int32_t seq = alineo_exec_seq(exec);
    wait_until_ended(exec);
    alineo_exec_free(exec);
    al_auto(al_json_free) al_json *complete = exec_event(world, seq, "exec_complete");
    int64_t exit_code = 0;
    assert_true(al_json_get_int(al_json_member(al_json_root(complete), "exitCode"), &exit_code));
    assert_int_equal(exit_code, 9);
    exec_ledger_holds(world, seq, "stdout", "unread\n", 7);
}

static void closing_the_sandbox_ends_its_execs_as_cancelled(void **state) {
    exec_world *world = *state;
    alineo_exec *execs[3];
    for (size_t i = 0; i < AL_COUNT(execs); i++)
        execs[i] = exec_start(world, "echo x; sleep 60", NULL);
    assert_int_equal(alineo_sandbox_close(world->sandbox, NULL, NULL), ALINEO_OK);
    for (size_t i = 0; i < AL_COUNT(execs); i++) {
        alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
        assert_int_equal(alineo_exec_wait(execs[i], &result, NULL), ALINEO_CANCELLED);
        assert_int_equal(result.outcome, ALINEO_OUTCOME_CANCELLED);
        alineo_exec_free(execs[i]);
    }
    alineo_exec *late = NULL;
    assert_int_equal(alineo_sandbox_exec(world->sandbox, "true", NULL, &late, NULL),
                     ALINEO_SANDBOX_CLOSED);
}

static void an_exec_outlives_the_handles_of_its_sandbox_and_client(void **state) {
    exec_world *world = *state;
    alineo_exec *exec = exec_start(world, "sleep 0.2; echo x; exit 4", NULL);
    alineo_sandbox *sandbox = world->sandbox;
    alineo_sandbox_free(sandbox);
    world->sandbox = NULL;
    alineo_client *client = world->client;
    world->client = NULL;
    alineo_client_free(client);
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    assert_int_equal(alineo_exec_wait(exec, &result, NULL), ALINEO_COMMAND_FAILED);
    assert_int_equal(result.exit_code, 4);
    alineo_exec_free(exec);
}

static void a_signal_reaches_the_command(void **state) {
    exec_world *world = *state;
    alineo_exec *exec =
        exec_start(world, "trap 'echo got it; exit 3' USR1; echo ready; sleep 20 & wait", NULL);
    alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
    assert_int_equal(alineo_exec_next(exec, ALINEO_FOREVER, &event, NULL), ALINEO_OK);
    assert_int_equal(alineo_exec_signal(exec, 0, NULL), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(alineo_exec_signal(exec, 65, NULL), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(alineo_exec_signal(exec, SIGUSR1, NULL), ALINEO_OK);
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    assert_int_equal(alineo_exec_wait(exec, &result, NULL), ALINEO_COMMAND_FAILED);
    assert_int_equal(result.exit_code == 3 || result.signal == SIGUSR1, 1);
    assert_int_equal(alineo_exec_signal(exec, SIGUSR1, NULL), ALINEO_EXEC_NOT_FOUND);
    alineo_exec_free(exec);
}

/* --- lost ------------------------------------------------------------------------------------- */

static void a_link_that_breaks_is_lost_and_never_a_success(void **state) {
    exec_world *world = *state;
    int64_t places[] = {1, 2, 5, 6};
    for (size_t i = 0; i < AL_COUNT(places); i++) {
        world->provider.behaviour.lose_after = places[i];
        alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
        options.strict = ALINEO_NO;
        alineo_exec *exec = exec_start(world, "echo hello; sleep 0.2", &options);
        alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
        alineo_output output = ALINEO_OUTPUT_INIT;
        alineo_error *err = NULL;
        assert_int_equal(alineo_exec_output(exec, 0, &output, &result, &err), ALINEO_EXEC_LOST);
        assert_int_equal(result.outcome, ALINEO_OUTCOME_LOST);
        assert_int_equal(result.exit_code, -1);
        assert_int_equal(output.stdout_size, places[i]);
        assert_memory_equal(output.stdout_data, "hello\n", (size_t)places[i]);
        assert_non_null(strstr(alineo_error_hint(err), "may still run"));
        alineo_error_free(err);
        alineo_output_clear(&output);
        alineo_exec_free(exec);
        assert_int_equal(exec_event_count(world, result.seq, "exec_lost"), 1);
        assert_int_equal(exec_event_count(world, result.seq, "exec_complete"), 0);
        exec_ledger_holds(world, result.seq, "stdout", "hello\n", (size_t)places[i]);
    }
}

/* Cancelled, and the provider never says that it ended. */
static void an_outcome_that_never_comes_is_lost_after_a_cancel(void **state) {
    exec_world *world = *state;
    world->provider.behaviour.never_tells = true;
    alineo_exec *exec = exec_start(world, "sleep 60", NULL);
    assert_int_equal(alineo_exec_cancel(exec, NULL), ALINEO_OK);
    /* The time that it is given is up. */
    atomic_store(&exec->lost_ns, al_clock_monotonic_ns() + 300000000);
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    assert_int_equal(alineo_exec_wait(exec, &result, NULL), ALINEO_EXEC_LOST);
    world->provider.behaviour.never_tells = false; /* so that its threads end */
    alineo_exec_free(exec);
}

static void a_status_that_tells_too_early_is_asked_again(void **state) {
    exec_world *world = *state;
    world->provider.behaviour.tells_early = true;
    exec_gives(world, "sleep 0.3; echo x", NULL, "x\n", 2);
}

static void a_status_that_tells_too_early_does_not_hinder_a_cancel(void **state) {
    exec_world *world = *state;
    world->provider.behaviour.tells_early = true;
    for (int i = 0; i < 2; i++) {
        alineo_exec *exec = exec_start(world, "sleep 60", NULL);
        alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
        if (i == 0)
            assert_int_equal(alineo_exec_next(exec, 50, &event, NULL), ALINEO_OK);
        assert_int_equal(alineo_exec_cancel(exec, NULL), ALINEO_OK);
        assert_int_equal(alineo_exec_wait(exec, NULL, NULL), ALINEO_CANCELLED);
        alineo_exec_free(exec);
    }
}

static void a_provider_may_hand_over_streams_without_a_status(void **state) {
    exec_world *world = *state;
    world->provider.behaviour.no_status = true;
    exec_gives(world, "echo x; sleep 0.1; echo y", NULL, "x\ny\n", 4);
    alineo_exec_result result;
    ends(world, "exit 6", NULL, ALINEO_COMMAND_FAILED, &result);
    assert_int_equal(result.exit_code, 6);
}

/* --- a start that fails ----------------------------------------------------------------------- */

static void a_start_that_fails_leaves_a_start_that_did_not_happen(void **state) {
    exec_world *world = *state;
    alineo_code codes[] = {ALINEO_PROVIDER_UNAVAILABLE, ALINEO_FILE_NOT_FOUND,
                           ALINEO_SANDBOX_PAUSED, ALINEO_EXEC_LOST};
    for (size_t i = 0; i < AL_COUNT(codes); i++) {
        world->provider.behaviour.start_failure = codes[i];
        alineo_exec *exec = NULL;
        alineo_error *err = NULL;
        assert_int_equal(alineo_sandbox_exec(world->sandbox, "true", NULL, &exec, &err), codes[i]);
        assert_null(exec);
        assert_non_null(strstr(alineo_error_message(err), "told to fail"));
        assert_string_equal(alineo_error_sandbox_id(err), alineo_sandbox_id(world->sandbox));
        alineo_error_free(err);
        int32_t seq = (int32_t)i + 1;
        assert_int_equal(exec_event_count(world, seq, "exec_start"), 1);
        assert_int_equal(exec_event_count(world, seq, "exec_complete"), 0);
        al_auto(al_json_free) al_json *lost = exec_event(world, seq, "exec_lost");
        const char *reason = NULL;
        assert_true(al_json_get_str(al_json_member(al_json_root(lost), "reason"), &reason));
        assert_string_equal(reason, codes[i] == ALINEO_EXEC_LOST ? "start_lost" : "not_started");
    }
    world->provider.behaviour.start_failure = ALINEO_OK;
    exec_gives(world, "echo x", NULL, "x\n", 2);
}

static void a_folder_that_is_not_there_is_told_by_the_start(void **state) {
    exec_world *world = *state;
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    alineo_exec *exec = NULL;
    options.cwd = "/no/such/folder";
    assert_int_equal(alineo_sandbox_exec(world->sandbox, "pwd", &options, &exec, NULL),
                     ALINEO_FILE_NOT_FOUND);
    options.cwd = "/etc/passwd";
    assert_int_equal(alineo_sandbox_exec(world->sandbox, "pwd", &options, &exec, NULL),
                     ALINEO_NOT_A_DIRECTORY);
    options.cwd = NULL;
    options.shell = "/no/such/shell";
    alineo_exec_result result;
    ends(world, "true", &options, ALINEO_COMMAND_FAILED, &result);
    assert_int_equal(result.exit_code, 127);
}

static void a_missing_program_leaks_no_descriptor(void **state) {
    exec_world *world = *state;
    const char *argv[] = {"no-such-bin", NULL};
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.argv = argv;
    alineo_exec_result result;
    ends(world, NULL, &options, ALINEO_COMMAND_FAILED, &result);
    size_t before = exec_open_descriptors();
    for (int i = 0; i < (exec_is_slow() ? 20 : 500); i++) {
        alineo_exec *exec = exec_start(world, NULL, &options);
        assert_int_equal(alineo_exec_wait(exec, NULL, NULL), ALINEO_COMMAND_FAILED);
        alineo_exec_free(exec);
    }
    /* The keeper of the provider closes its own a little later. */
    for (int i = 0; i < 100 && exec_open_descriptors() > before; i++)
        (void)usleep(10000);
    assert_true(exec_open_descriptors() <= before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        EXEC_TEST_BOTH(an_exit_code_is_what_the_command_gave),
        EXEC_TEST_BOTH(a_signal_is_told_as_one),
        EXEC_TEST(the_error_of_a_failed_command_says_all),
        EXEC_TEST(a_long_command_is_cut_in_an_error),
        EXEC_TEST(not_strict_is_content_with_any_exit_code),
        EXEC_TEST_BOTH(a_program_that_cannot_run_is_an_outcome),
        EXEC_TEST_BOTH(a_timeout_ends_all_that_the_command_started),
        EXEC_TEST_BOTH(what_was_to_come_after_a_timeout_does_not_come),
        EXEC_TEST(a_timeout_that_is_not_reached_does_nothing),
        EXEC_TEST(the_backstop_ends_what_the_provider_forgets),
        EXEC_TEST_BOTH(a_cancel_ends_the_command_and_says_so),
        EXEC_TEST_BOTH(a_cancel_after_the_end_changes_nothing),
        EXEC_TEST(a_cancel_that_comes_first_prevents_the_start),
        EXEC_TEST(a_cancel_that_the_provider_refuses_may_be_tried_again),
        EXEC_TEST_BOTH(freeing_a_running_exec_cancels_it_and_tells_the_ledger),
        EXEC_TEST_BOTH(freeing_an_exec_that_ended_unseen_tells_its_true_end),
        EXEC_TEST_BOTH(closing_the_sandbox_ends_its_execs_as_cancelled),
        EXEC_TEST_BOTH(an_exec_outlives_the_handles_of_its_sandbox_and_client),
        EXEC_TEST_BOTH(a_signal_reaches_the_command),
        EXEC_TEST_PUMPED(a_link_that_breaks_is_lost_and_never_a_success),
        EXEC_TEST_BOTH(an_outcome_that_never_comes_is_lost_after_a_cancel),
        EXEC_TEST(a_status_that_tells_too_early_is_asked_again),
        EXEC_TEST(a_status_that_tells_too_early_does_not_hinder_a_cancel),
        EXEC_TEST(a_provider_may_hand_over_streams_without_a_status),
        EXEC_TEST(a_start_that_fails_leaves_a_start_that_did_not_happen),
        EXEC_TEST_BOTH(a_folder_that_is_not_there_is_told_by_the_start),
        EXEC_TEST_BOTH(a_missing_program_leaks_no_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
