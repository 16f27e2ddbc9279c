/* SPDX-License-Identifier: Apache-2.0 */
/* test: timeout=300 */
/* The supervisor is killed at any moment: the sandbox goes with it, and what stays can be removed.
 * */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "box_harness.h"
#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/io.h"
#include "core/util/proc.h"
#include "support/test.h"

enum {
    ROUNDS = 150,
    LAST_MOMENT_US = 12000
};

static void wait_us(long us) {
    const struct timespec moment = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    (void)nanosleep(&moment, NULL);
}

static void reclaim(const char *id) {
    static struct box_run run;
    box_run(&run, "--id %s --reclaim", id);
    if (run.code != 0)
        fail_msg("reclaim of %s: code %d, %s", id, run.code, run.errors);
}

static void a_sandbox_dies_with_its_supervisor(void **state) {
    char line[64] = "";
    int output = -1;
    int input = -1;
    int pid1 = 0;
    int supervisor = 0;
    (void)state;
    pid_t driver = box_start(&input, &output, "--id boxtest-crash --hold");
    assert_true(read(output, line, sizeof(line) - 1) > 0);
    assert_int_equal(sscanf(line, "ready %d %d", &pid1, &supervisor), 2);
    int pid_fd = -1;
    assert_int_equal(al_pidfd_open(pid1, &pid_fd), 0);
    assert_int_equal(kill(supervisor, SIGKILL), 0);
    assert_int_equal(al_poll_fd(pid_fd, POLLIN, al_deadline_after_ms(2000), NULL), 0);
    assert_int_equal(box_finish(driver), 128 + SIGKILL);
    al_close(pid_fd);
    al_close(input);
    al_close(output);
    reclaim("boxtest-crash");
    box_assert_nothing_left();
}

/* The driver is the supervisor's parent; with --direct it is the supervisor. */
static void killed_at_any_moment_nothing_stays_after_removal(void **state) {
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        char id[64];
        (void)snprintf(id, sizeof(id), "boxtest-crash-%d", round);
        pid_t driver = box_start(NULL, NULL,
                                 "--direct --id %s --memory 100000000 --cpu 500 "
                                 "--sh sleep 60 & sleep 60",
                                 id);
        wait_us((long)round * LAST_MOMENT_US / ROUNDS);
        assert_int_equal(kill(driver, SIGKILL), 0);
        (void)box_finish(driver);
        reclaim(id);
    }
    box_assert_nothing_left();
}

static void removing_what_is_not_there_is_fine(void **state) {
    (void)state;
    reclaim("boxtest-never-was");
}

static void removing_twice_at_once_is_fine(void **state) {
    (void)state;
    pid_t driver = box_start(NULL, NULL, "--direct --id boxtest-twice --sh sleep 60");
    wait_us(20000);
    assert_int_equal(kill(driver, SIGKILL), 0);
    (void)box_finish(driver);
    pid_t first = box_start(NULL, NULL, "--id boxtest-twice --reclaim");
    pid_t second = box_start(NULL, NULL, "--id boxtest-twice --reclaim");
    (void)box_finish(first);
    (void)box_finish(second);
    reclaim("boxtest-twice");
    box_assert_nothing_left();
}

static void an_id_range_is_free_again_after_a_crash(void **state) {
    static struct box_run run;
    char first[64] = "";
    (void)state;
    /* The range follows from the id as long as nobody holds it. */
    box_run(&run, "--id boxtest-range -- cut -c1-22 /proc/self/uid_map");
    (void)snprintf(first, sizeof(first), "%.63s", run.output);
    pid_t driver = box_start(NULL, NULL, "--direct --id boxtest-range --sh sleep 60");
    wait_us(20000);
    assert_int_equal(kill(driver, SIGKILL), 0);
    (void)box_finish(driver);
    reclaim("boxtest-range");
    box_run(&run, "--id boxtest-range -- cut -c1-22 /proc/self/uid_map");
    assert_string_equal(run.output, first);
    box_assert_nothing_left();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sandbox_dies_with_its_supervisor),
        cmocka_unit_test(killed_at_any_moment_nothing_stays_after_removal),
        cmocka_unit_test(removing_what_is_not_there_is_fine),
        cmocka_unit_test(removing_twice_at_once_is_fine),
        cmocka_unit_test(an_id_range_is_free_again_after_a_crash),
    };
    return cmocka_run_group_tests(tests, box_set_up, box_tear_down);
}
