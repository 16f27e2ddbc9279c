/* SPDX-License-Identifier: Apache-2.0 */
/* What a command writes, and what the reader and the ledger get of it. Each test runs with a
 * provider that hands over descriptors and with one that does not. */
#include "support/exec_world.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/digest.h"
#include "core/util/hex.h"
#include "core/util/json.h"
#include "core/util/str.h"

static void output_is_what_was_written_to_the_byte(void **state) {
    exec_world *world = *state;
    exec_gives(world, "printf 'a\\n\\nb'", NULL, "a\n\nb", 4);
    exec_gives(world, "printf '\\n'", NULL, "\n", 1);
    exec_gives(world, "printf 'x\\r\\n\\r\\ny'", NULL, "x\r\n\r\ny", 6);
    exec_gives(world, "printf 'one\\ntwo'", NULL, "one\ntwo", 7);
    exec_gives(world, "printf x", NULL, "x", 1);
    exec_gives(world, "true", NULL, NULL, 0);
    exec_gives(world, "printf 'a\\0b\\0'", NULL, "a\0b", 4);
    exec_gives(world, "printf '\\377\\376\\200A'", NULL,
               "\xff\xfe\x80"
               "A",
               4);
}

static void a_command_without_output_has_one_exit_event_and_then_nothing(void **state) {
    exec_world *world = *state;
    alineo_exec *exec = exec_start(world, "true", NULL);
    alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
    assert_int_equal(alineo_exec_next(exec, ALINEO_FOREVER, &event, NULL), ALINEO_OK);
    assert_int_equal(event.type, ALINEO_EXEC_EXIT);
    assert_int_equal(event.result->outcome, ALINEO_OUTCOME_EXITED);
    assert_int_equal(event.result->exit_code, 0);
    assert_int_equal(event.result->ledger_code, ALINEO_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(alineo_exec_next(exec, 0, &event, NULL), ALINEO_OK);
        assert_int_equal(event.type, ALINEO_EXEC_NONE);
        assert_null(event.result);
    }
    alineo_exec_free(exec);
}

static void both_streams_come_apart(void **state) {
    exec_world *world = *state;
    alineo_output output = ALINEO_OUTPUT_INIT;
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    assert_int_equal(exec_run(world, "echo out; echo err >&2; echo out2", NULL, &output, &result),
                     ALINEO_OK);
    assert_string_equal(output.stdout_data, "out\nout2\n");
    assert_string_equal(output.stderr_data, "err\n");
    assert_int_equal(result.stdout_bytes, 9);
    assert_int_equal(result.stderr_bytes, 4);
    exec_ledger_holds(world, result.seq, "stdout", "out\nout2\n", 9);
    exec_ledger_holds(world, result.seq, "stderr", "err\n", 4);
    alineo_output_clear(&output);
}

/* The digest that the command itself made of its bytes stands on stderr. */
static void random_bytes_survive_with_one_digest_everywhere(void **state) {
    exec_world *world = *state;
    alineo_output output = ALINEO_OUTPUT_INIT;
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    assert_int_equal(exec_run(world, "head -c 300000 /dev/urandom >r; sha256sum <r >&2; cat r",
                              NULL, &output, &result),
                     ALINEO_OK);
    char here[AL_SHA256_HEX_SIZE], told[AL_SHA256_HEX_SIZE];
    assert_int_equal(output.stdout_size, 300000);
    assert_int_equal(al_sha256_hex_of(output.stdout_data, output.stdout_size, here), 0);
    al_hex_encode(result.stdout_sha256, AL_SHA256_SIZE, told);
    assert_string_equal(told, here);
    assert_memory_equal(output.stderr_data, here, 64);
    exec_ledger_holds(world, result.seq, "stdout", output.stdout_data, output.stdout_size);

    al_auto(al_json_free) al_json *complete = exec_event(world, result.seq, "exec_complete");
    const char *stored = NULL;
    assert_true(al_json_get_str(
        al_json_member(al_json_member(al_json_root(complete), "sha256"), "stdout"), &stored));
    assert_string_equal(stored, here);
    alineo_output_clear(&output);
}

static void text_that_is_written_byte_by_byte_is_text_in_the_ledger(void **state) {
    exec_world *world = *state;
    const char *text = "gr\xc3\xbc\xc3\x9f dich \xf0\x9f\x8c\x8d\n";
    const char *command = "for c in g r '\\303' '\\274' '\\303' '\\237' ' ' d i c h ' ' '\\360' "
                          "'\\237' '\\214' '\\215' '\\n'; do printf \"$c\"; sleep 0.005; done";
    exec_gives(world, command, NULL, text, strlen(text));
    al_autolock(&world->storage.lock);
    for (size_t i = 0; i < world->storage.row_count; i++)
        if (strcmp(world->storage.rows[i].event, "exec_event") == 0)
            assert_non_null(strstr(world->storage.rows[i].payload, "\"text\""));
}

static void a_hundred_thousand_lines_come_whole(void **state) {
    exec_world *world = *state;
    int count = exec_is_slow() ? 10000 : 100000;
    al_auto(al_buf_free) al_buf expected = AL_BUF_INIT;
    for (int i = 1; i <= count; i++)
        al_buf_printf(&expected, "line %d\n", i);
    char command[64];
    (void)snprintf(command, sizeof(command), "seq -f 'line %%.0f' 1 %d", count);
    exec_gives(world, command, NULL, expected.data, expected.size);
}

static void single_bytes_come_whole(void **state) {
    exec_world *world = *state;
    int count = exec_is_slow() ? 300 : 3000;
    al_auto(al_buf_free) al_buf expected = AL_BUF_INIT;
    for (int i = 0; i < count; i++)
        al_buf_append_char(&expected, (char)('0' + i % 10));
    char command[128];
    (void)snprintf(command, sizeof(command),
                   "i=0; while [ $i -lt %d ]; do printf $((i%%10)); i=$((i+1)); done", count);
    exec_gives(world, command, NULL, expected.data, expected.size);
}

/* A reader that sleeps: nothing is lost, and neither stream starves. */
static void a_slow_reader_loses_nothing(void **state) {
    exec_world *world = *state;
    alineo_exec *exec =
        exec_start(world, "seq 1 60000; echo mid >&2; seq 1 60000; echo end >&2", NULL);
    al_auto(al_buf_free) al_buf out = AL_BUF_INIT;
    al_auto(al_buf_free) al_buf errors = AL_BUF_INIT;
    alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
    do {
        assert_int_equal(alineo_exec_next(exec, ALINEO_FOREVER, &event, NULL), ALINEO_OK);
        if (event.type == ALINEO_EXEC_STDOUT)
            al_buf_append(&out, event.data, event.data_size);
        if (event.type == ALINEO_EXEC_STDERR)
            al_buf_append(&errors, event.data, event.data_size);
        (void)usleep(2000);
    } while (event.type != ALINEO_EXEC_EXIT);
    assert_int_equal(event.result->stdout_bytes, out.size);
    assert_string_equal(al_buf_str(&errors), "mid\nend\n");
    assert_int_equal(out.size, 2 * 348894);
    assert_memory_equal(out.data, out.data + 348894, 348894);
    exec_ledger_holds(world, alineo_exec_seq(exec), "stdout", out.data, out.size);
    alineo_exec_free(exec);
}

/* The command is stopped by a reader that does not read; nothing piles up here. */
static void a_reader_that_stops_stops_the_command(void **state) {
    exec_world *world = *state;
    alineo_exec *exec = exec_start(world, "yes x | head -c 20000000; touch done", NULL);
    alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
    assert_int_equal(alineo_exec_next(exec, ALINEO_FOREVER, &event, NULL), ALINEO_OK);
    assert_int_equal(event.type, ALINEO_EXEC_STDOUT);
    (void)usleep(200000);
    exec_gives(world, "test -e done || echo not yet", NULL, "not yet\n", 8);
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    assert_int_equal(alineo_exec_wait(exec, &result, NULL), ALINEO_OK);
    assert_int_equal(result.stdout_bytes, 20000000);
    alineo_exec_free(exec);
    exec_gives(world, "test -e done && echo done", NULL, "done\n", 5);
}

static void a_command_that_closes_its_output_and_runs_on_is_waited_for(void **state) {
    exec_world *world = *state;
    exec_gives(world, "echo x; exec >&- 2>&-; sleep 0.3; exit 0", NULL, "x\n", 2);
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    alineo_output output = ALINEO_OUTPUT_INIT;
    assert_int_equal(exec_run(world, "exec >&- 2>&-; sleep 0.3; exit 7", NULL, &output, &result),
                     ALINEO_COMMAND_FAILED);
    assert_int_equal(result.exit_code, 7);
    assert_true(result.duration_ms >= 290);
    alineo_output_clear(&output);
}

static void a_child_that_holds_the_pipes_is_not_waited_for(void **state) {
    exec_world *world = *state;
    int64_t begun = al_clock_monotonic_ms();
    exec_gives(world, "sleep 30 & echo started", NULL, "started\n", 8);
    exec_gives(world, "setsid sh -c 'sleep 30' & echo started", NULL, "started\n", 8);
    exec_gives(world, "(sleep 30 &) ; echo started", NULL, "started\n", 8);
    assert_true(al_clock_monotonic_ms() - begun < 10000);
}

/* A flood from the background does not keep the exec from ending. */
static void a_child_that_floods_the_pipes_is_not_waited_for(void **state) {
    exec_world *world = *state;
    alineo_exec *exec = exec_start(world, "yes & sleep 0.1; exit 3", NULL);
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    assert_int_equal(alineo_exec_wait(exec, &result, NULL), ALINEO_COMMAND_FAILED);
    assert_int_equal(result.exit_code, 3);
    alineo_exec_free(exec);
}

/* What it writes after the end of the exec goes nowhere, and it meets neither SIGPIPE nor a full
 * pipe. */
static void a_child_left_behind_lives_on(void **state) {
    exec_world *world = *state;
    exec_gives(world, "(sleep 0.2; yes | head -c 1000000; echo $? >lived) & echo started", NULL,
               "started\n", 8);
    exec_gives(world, "for i in $(seq 100); do [ -s lived ] && break; sleep 0.05; done; cat lived",
               NULL, "0\n", 2);
}

static void next_only_looks_when_it_is_told_to(void **state) {
    exec_world *world = *state;
    alineo_exec *exec = exec_start(world, "sleep 0.3", NULL);
    alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
    int64_t begun = al_clock_monotonic_ms();
    assert_int_equal(alineo_exec_next(exec, 0, &event, NULL), ALINEO_OK);
    assert_int_equal(event.type, ALINEO_EXEC_NONE);
    assert_int_equal(alineo_exec_next(exec, 20, &event, NULL), ALINEO_OK);
    assert_int_equal(event.type, ALINEO_EXEC_NONE);
    assert_true(al_clock_monotonic_ms() - begun >= 20);
    assert_int_equal(alineo_exec_wait(exec, NULL, NULL), ALINEO_OK);
    assert_int_equal(alineo_exec_wait(exec, NULL, NULL), ALINEO_OK);
    alineo_exec_free(exec);
}

/* The end is told only when it is stored, and while that is waited for nothing is readable. */
static void the_poll_fd_sleeps_while_the_ledger_is_flushed(void **state) {
    exec_world *world = *state;
    alineo_exec *exec = exec_start(world, "echo x", NULL);
    fake_storage_hang(&world->storage, true);
    alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
    int64_t begun = al_clock_monotonic_ms();
    int calls = 0;
    while (al_clock_monotonic_ms() - begun < 500) {
        struct pollfd fds = {.fd = alineo_exec_poll_fd(exec), .events = POLLIN};
        (void)poll(&fds, 1, 100);
        assert_int_equal(alineo_exec_next(exec, 0, &event, NULL), ALINEO_OK);
        assert_int_not_equal(event.type, ALINEO_EXEC_EXIT);
        calls++;
    }
    assert_true(calls < 20);
    fake_storage_hang(&world->storage, false);
    struct pollfd fds = {.fd = alineo_exec_poll_fd(exec), .events = POLLIN};
    while (event.type != ALINEO_EXEC_EXIT) {
        assert_int_equal(poll(&fds, 1, 10000), 1);
        assert_int_equal(alineo_exec_next(exec, 0, &event, NULL), ALINEO_OK);
    }
    /* And then it stays quiet. */
    assert_int_equal(poll(&fds, 1, 0), 0);
    alineo_exec_free(exec);
}

/* Gives the number of execs that this round saw end. */
static int serve(alineo_exec **execs, al_buf *outputs, const struct epoll_event *events,
                 int count) {
    int ended = 0;
    for (int i = 0; i < count; i++) {
        uint32_t which = events[i].data.u32;
        alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
        assert_int_equal(alineo_exec_next(execs[which], 0, &event, NULL), ALINEO_OK);
        if (event.type == ALINEO_EXEC_STDOUT)
            al_buf_append(&outputs[which], event.data, event.data_size);
        ended += event.type == ALINEO_EXEC_EXIT;
    }
    return ended;
}

static void fifty_execs_work_on_one_epoll_thread(void **state) {
    exec_world *world = *state;
    enum {
        COUNT = 50
    };
    int count = exec_is_slow() ? 10 : COUNT;
    alineo_exec *execs[COUNT];
    al_buf outputs[COUNT];
    int set = epoll_create1(EPOLL_CLOEXEC);
    assert_true(set >= 0);
    for (int i = 0; i < count; i++) {
        outputs[i] = (al_buf)AL_BUF_INIT;
        execs[i] = exec_start(world, "sleep 0.1; seq 1 2000; echo err >&2", NULL);
        struct epoll_event event = {.events = EPOLLIN, .data = {.u32 = (uint32_t)i}};
        assert_int_equal(epoll_ctl(set, EPOLL_CTL_ADD, alineo_exec_poll_fd(execs[i]), &event), 0);
    }
    for (int ended = 0; ended < count;) {
        struct epoll_event events[8];
        int ready = epoll_wait(set, events, 8, 20000);
        assert_true(ready > 0);
        ended += serve(execs, outputs, events, ready);
    }
    for (int i = 0; i < count; i++) {
        assert_int_equal(outputs[i].size, 8893);
        assert_true(al_str_ends(al_buf_str(&outputs[i]), "1999\n2000\n"));
        alineo_exec_free(execs[i]);
        al_buf_free(&outputs[i]);
    }
    assert_int_equal(close(set), 0);
}

static void what_is_beyond_the_limit_is_too_large_and_the_outcome_known(void **state) {
    exec_world *world = *state;
    alineo_exec *exec = exec_start(world, "yes | head -c 1000000; exit 0", NULL);
    alineo_output output = ALINEO_OUTPUT_INIT;
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    alineo_error *err = NULL;
    assert_int_equal(alineo_exec_output(exec, 1000, &output, &result, &err), ALINEO_TOO_LARGE);
    assert_non_null(strstr(alineo_error_message(err), "yes | head"));
    assert_int_equal(output.stdout_size, 1000);
    assert_int_equal(result.outcome, ALINEO_OUTCOME_EXITED);
    assert_int_equal(result.stdout_bytes, 1000000);
    alineo_error_free(err);
    alineo_output_clear(&output);
    alineo_exec_free(exec);
}

static void every_short_command_gives_its_line(void **state) {
    exec_world *world = *state;
    for (int i = 0; i < (exec_is_slow() ? 20 : 300); i++)
        exec_gives(world, "echo x", NULL, "x\n", 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        EXEC_TEST_BOTH(output_is_what_was_written_to_the_byte),
        EXEC_TEST_BOTH(a_command_without_output_has_one_exit_event_and_then_nothing),
        EXEC_TEST_BOTH(both_streams_come_apart),
        EXEC_TEST_BOTH(random_bytes_survive_with_one_digest_everywhere),
        EXEC_TEST_BOTH(text_that_is_written_byte_by_byte_is_text_in_the_ledger),
        EXEC_TEST_BOTH(a_hundred_thousand_lines_come_whole),
        EXEC_TEST_BOTH(single_bytes_come_whole),
        EXEC_TEST_BOTH(a_slow_reader_loses_nothing),
        EXEC_TEST_BOTH(a_reader_that_stops_stops_the_command),
        EXEC_TEST_BOTH(a_command_that_closes_its_output_and_runs_on_is_waited_for),
        EXEC_TEST_BOTH(a_child_that_holds_the_pipes_is_not_waited_for),
        EXEC_TEST_BOTH(a_child_that_floods_the_pipes_is_not_waited_for),
        EXEC_TEST_BOTH(a_child_left_behind_lives_on),
        EXEC_TEST_BOTH(next_only_looks_when_it_is_told_to),
        EXEC_TEST_BOTH(the_poll_fd_sleeps_while_the_ledger_is_flushed),
        EXEC_TEST_BOTH(fifty_execs_work_on_one_epoll_thread),
        EXEC_TEST_BOTH(what_is_beyond_the_limit_is_too_large_and_the_outcome_known),
        EXEC_TEST_BOTH(every_short_command_gives_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
