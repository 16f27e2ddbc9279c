/* SPDX-License-Identifier: Apache-2.0 */
/* Several threads, and several processes. */
#include "support/exec_world.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/clock.h"

/* --- many execs at once ----------------------------------------------------------------------- */

typedef struct runner {
    exec_world *world;
    int count;
    int failures;
} runner;

static void *run_many(void *argument) {
    runner *r = argument;
    for (int i = 0; i < r->count; i++) {
        alineo_exec *exec = NULL;
        alineo_output output = ALINEO_OUTPUT_INIT;
        alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
        if (alineo_sandbox_exec(r->world->sandbox, "echo x", NULL, &exec, NULL) != ALINEO_OK ||
            alineo_exec_output(exec, 0, &output, &result, NULL) != ALINEO_OK ||
            output.stdout_size != 2 || memcmp(output.stdout_data, "x\n", 2) != 0)
            r->failures++;
        alineo_output_clear(&output);
        alineo_exec_free(exec);
    }
    return NULL;
}

static void commands_of_many_threads_do_not_mix(void **state) {
    exec_world *world = *state;
    enum {
        THREADS = 8
    };
    int count = exec_is_slow() ? 3 : 40;
    runner runners[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        runners[i] = (runner){world, count, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, run_many, &runners[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(runners[i].failures, 0);
    }
    assert_int_equal(alineo_client_flush(world->client, 10000, NULL), ALINEO_OK);
    for (int32_t seq = 1; seq <= THREADS * count; seq++) {
        assert_int_equal(exec_event_count(world, seq, "exec_start"), 1);
        assert_int_equal(exec_event_count(world, seq, "exec_complete"), 1);
    }
}

/* --- everything at once on one exec ----------------------------------------------------------- */

typedef struct disturber {
    alineo_exec *exec;
    atomic_bool stop;
} disturber;

static void *write_often(void *argument) {
    disturber *d = argument;
    while (!d->stop)
        (void)alineo_exec_write_stdin(d->exec, "some line\n", 10, 5, NULL, NULL);
    return NULL;
}

static void *signal_often(void *argument) {
    disturber *d = argument;
    while (!d->stop) {
        (void)alineo_exec_signal(d->exec, SIGCONT, NULL);
        (void)usleep(100);
    }
    return NULL;
}

static void *cancel_later(void *argument) {
    disturber *d = argument;
    (void)usleep(30000);
    (void)alineo_exec_cancel(d->exec, NULL);
    (void)alineo_exec_close_stdin(d->exec, NULL);
    return NULL;
}

static void an_exec_bears_all_that_other_threads_may_do(void **state) {
    exec_world *world = *state;
    for (int round = 0; round < (exec_is_slow() ? 2 : 10); round++) {
        alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
        options.stdin_kind = ALINEO_STDIN_PIPE;
        options.timeout_ms = 60000;
        disturber d = {.exec = exec_start(world, "cat", &options)};
        pthread_t threads[4];
        assert_int_equal(pthread_create(&threads[0], NULL, write_often, &d), 0);
        assert_int_equal(pthread_create(&threads[1], NULL, write_often, &d), 0);
        assert_int_equal(pthread_create(&threads[2], NULL, signal_often, &d), 0);
        assert_int_equal(pthread_create(&threads[3], NULL, cancel_later, &d), 0);
        alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
        assert_int_equal(alineo_exec_wait(d.exec, &result, NULL), ALINEO_CANCELLED);
        d.stop = true;
        for (size_t i = 0; i < AL_COUNT(threads); i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        alineo_exec_free(d.exec);
        assert_int_equal(exec_event_count(world, result.seq, "exec_complete"), 1);
    }
}

typedef struct starter {
    exec_world *world;
    alineo_exec *exec;
} starter;

static void *start_one(void *argument) {
    starter *s = argument;
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.timeout_ms = 60000;
    if (alineo_sandbox_exec(s->world->sandbox, "sleep 0.2; echo x", &options, &s->exec, NULL) !=
        ALINEO_OK)
        abort();
    return NULL;
}

static void a_command_outlives_the_thread_that_started_it(void **state) {
    exec_world *world = *state;
    starter s = {.world = world};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, start_one, &s), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    alineo_output output = ALINEO_OUTPUT_INIT;
    assert_int_equal(alineo_exec_output(s.exec, 0, &output, NULL, NULL), ALINEO_OK);
    assert_string_equal(output.stdout_data, "x\n");
    alineo_output_clear(&output);
    alineo_exec_free(s.exec);
}

static void *close_sandbox(void *argument) {
    (void)usleep(20000);
    if (alineo_sandbox_close(argument, NULL, NULL) != ALINEO_OK)
        abort();
    return NULL;
}

static void a_close_in_the_middle_ends_a_flood(void **state) {
    exec_world *world = *state;
    alineo_exec *exec = exec_start(world, "yes", NULL);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, close_sandbox, world->sandbox), 0);
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    assert_int_equal(alineo_exec_wait(exec, &result, NULL), ALINEO_CANCELLED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    alineo_exec_free(exec);
}

/* --- fork() ----------------------------------------------------------------------------------- */

/* In the child: everything is refused, and freeing only frees. Gives its exit status. */
static int try_in_child(exec_world *world, alineo_exec *exec) {
    alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    alineo_output output = ALINEO_OUTPUT_INIT;
    alineo_exec *other = NULL;
    alineo_code codes[] = {
        alineo_sandbox_exec(world->sandbox, "true", NULL, &other, NULL),
        alineo_exec_next(exec, 0, &event, NULL),
        alineo_exec_wait(exec, &result, NULL),
        alineo_exec_pipe(exec, -1, -1, &result, NULL),
        alineo_exec_output(exec, 0, &output, &result, NULL),
        alineo_exec_write_stdin(exec, "x", 1, 0, NULL, NULL),
        alineo_exec_close_stdin(exec, NULL),
        alineo_exec_signal(exec, SIGTERM, NULL),
        alineo_exec_cancel(exec, NULL),
    };
    for (size_t i = 0; i < AL_COUNT(codes); i++)
        if (codes[i] != ALINEO_CLIENT_FORKED)
            return (int)i + 1;
    alineo_exec_free(exec);
    return 0;
}

static void a_forked_child_cannot_touch_the_exec(void **state) {
    exec_world *world = *state;
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.stdin_kind = ALINEO_STDIN_PIPE;
    options.timeout_ms = 60000;
    alineo_exec *exec = exec_start(world, "echo begun; cat; exit 5", &options);
    alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
    assert_int_equal(alineo_exec_next(exec, ALINEO_FOREVER, &event, NULL), ALINEO_OK);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(try_in_child(world, exec));
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    /* The parent's goes on as if nothing had been. */
    assert_int_equal(alineo_exec_write_stdin(exec, "more", 4, ALINEO_FOREVER, NULL, NULL),
                     ALINEO_OK);
    assert_int_equal(alineo_exec_close_stdin(exec, NULL), ALINEO_OK);
    alineo_output output = ALINEO_OUTPUT_INIT;
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    assert_int_equal(alineo_exec_output(exec, 0, &output, &result, NULL), ALINEO_COMMAND_FAILED);
    assert_string_equal(output.stdout_data, "more");
    assert_int_equal(result.exit_code, 5);
    alineo_output_clear(&output);
    alineo_exec_free(exec);
    exec_ledger_holds(world, result.seq, "stdout", "begun\nmore", 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        EXEC_TEST_BOTH(commands_of_many_threads_do_not_mix),
        EXEC_TEST_BOTH(an_exec_bears_all_that_other_threads_may_do),
        EXEC_TEST_BOTH(a_command_outlives_the_thread_that_started_it),
        EXEC_TEST_BOTH(a_close_in_the_middle_ends_a_flood),
        EXEC_TEST_BOTH(a_forked_child_cannot_touch_the_exec),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
