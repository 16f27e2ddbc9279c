/* SPDX-License-Identifier: Apache-2.0 */
/* test: timeout=300 */
/* Who takes more than the share that was given. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "box_harness.h"
#include "core/util/cleanup.h"
#include "support/test.h"

#define DRIVER "--id boxtest-limits "
#define WITH_ATTACKER DRIVER "--mount %s:/attacker:ro "

static struct box_run result;

static void a_memory_bomb_is_ended_and_said_to_be_one(void **state) {
    (void)state;
    /* The second command shows that the sandbox lives on. */
    box_run(&result, WITH_ATTACKER "--memory 67108864 --count 2 -- /attacker memory",
            box_program("attacker"));
    assert_int_equal(result.code, 128 + 9);
    assert_string_equal(result.errors, "oom\noom\n");
}

static void the_shell_around_a_memory_bomb_lives_on(void **state) {
    (void)state;
    box_run(&result, WITH_ATTACKER "--memory 67108864 --sh /attacker memory; echo $?",
            box_program("attacker"));
    assert_int_equal(result.code, 0);
    assert_non_null(strstr(result.output, "137\n"));
}

static void memory_taken_by_files_in_memory_counts_too(void **state) {
    (void)state;
    box_run(&result, WITH_ATTACKER "--memory 67108864 -- /attacker memory-in-files",
            box_program("attacker"));
    assert_int_equal(result.code, 128 + 9);
    assert_string_equal(result.errors, "oom\n");
}

static void a_command_that_keeps_to_its_memory_is_not_said_to_lack_it(void **state) {
    (void)state;
    box_run(&result,
            DRIVER "--memory 67108864 --sh head -c 30000000 /dev/zero | tail -c 1 | wc -c; "
                   "kill -9 $$");
    assert_int_equal(result.code, 128 + 9);
    assert_string_equal(result.output, "1\n");
    assert_string_equal(result.errors, "");
}

static void processes_are_counted_and_the_rest_of_the_sandbox_can_go_on(void **state) {
    int count = 0;
    (void)state;
    box_run(&result, WITH_ATTACKER "--pids 50 --timeout 3000 --sh /attacker processes; sleep 60",
            box_program("attacker"));
    assert_int_equal(result.code, 124);
    assert_int_equal(sscanf(result.output, "%d processes EAGAIN", &count), 1);
    assert_in_range(count, 40, 50);
}

static void a_fork_bomb_is_ended_with_its_group(void **state) {
    (void)state;
    box_run(&result,
            DRIVER "--pids 100 --timeout 1000 --sh b() { b | b & }; b 2>/dev/null; sleep 60");
    assert_int_equal(result.code, 124);
}

static void without_a_limit_of_processes_there_still_is_one(void **state) {
    int count = 0;
    (void)state;
    box_run(&result, WITH_ATTACKER "-- /attacker processes", box_program("attacker"));
    assert_int_equal(sscanf(result.output, "%d processes EAGAIN", &count), 1);
    assert_in_range(count, 4000, 4096);
}

static void more_processes_than_the_kernel_can_have_are_no_limit(void **state) {
    (void)state;
    box_run(&result, DRIVER "--pids 4194305 -- true");
    assert_int_equal(result.code, 0);
    box_run(&result, DRIVER "--pids 4294967295 -- true");
    assert_int_equal(result.code, 0);
}

static void descriptors_end_at_a_limit_of_their_own(void **state) {
    char text[64];
    (void)state;
    box_attack(DRIVER, "descriptors", text, sizeof(text));
    assert_string_equal(text, "EMFILE");
}

static void the_folder_of_devices_cannot_be_filled_without_end(void **state) {
    char text[64];
    (void)state;
    box_attack(DRIVER, "fill-dev", text, sizeof(text));
    assert_string_equal(text, "ENOSPC");
}

static void folders_too_deep_for_a_path_are_removed(void **state) {
    char text[64];
    (void)state;
    box_attack(DRIVER, "deep-folders", text, sizeof(text));
    assert_string_equal(text, "done");
    box_assert_nothing_left();
}

/* A tenth of a processor for a command that is busy for a second and a half. */
static void the_share_of_processors_holds(void **state) {
    (void)state;
    box_run(&result, DRIVER "--cpu 100 --timeout 30000 --sh python3 -c '\n"
                            "import time, resource\n"
                            "end = time.monotonic() + 1.5\n"
                            "while time.monotonic() < end: pass\n"
                            "used = resource.getrusage(resource.RUSAGE_SELF)\n"
                            "print(int((used.ru_utime + used.ru_stime) * 1000))'");
    assert_int_equal(result.code, 0);
    assert_in_range(strtol(result.output, NULL, 10), 1, 700);
}

static void a_tiny_share_of_processors_can_be_given(void **state) {
    (void)state;
    box_run(&result, DRIVER "--cpu 5 --timeout 30000 -- true");
    assert_int_equal(result.code, 0);
}

static void nothing_is_left_of_all_that(void **state) {
    (void)state;
    box_assert_nothing_left();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_memory_bomb_is_ended_and_said_to_be_one),
        cmocka_unit_test(the_shell_around_a_memory_bomb_lives_on),
        cmocka_unit_test(memory_taken_by_files_in_memory_counts_too),
        cmocka_unit_test(a_command_that_keeps_to_its_memory_is_not_said_to_lack_it),
        cmocka_unit_test(processes_are_counted_and_the_rest_of_the_sandbox_can_go_on),
        cmocka_unit_test(a_fork_bomb_is_ended_with_its_group),
        cmocka_unit_test(without_a_limit_of_processes_there_still_is_one),
        cmocka_unit_test(more_processes_than_the_kernel_can_have_are_no_limit),
        cmocka_unit_test(descriptors_end_at_a_limit_of_their_own),
        cmocka_unit_test(the_folder_of_devices_cannot_be_filled_without_end),
        cmocka_unit_test(folders_too_deep_for_a_path_are_removed),
        cmocka_unit_test(the_share_of_processors_holds),
        cmocka_unit_test(a_tiny_share_of_processors_can_be_given),
        cmocka_unit_test(nothing_is_left_of_all_that),
    };
    return cmocka_run_group_tests(tests, box_set_up, box_tear_down);
}
