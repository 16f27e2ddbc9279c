/* SPDX-License-Identifier: Apache-2.0 */
/* test: no-valgrind */
#include "core/util/proc.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/io.h"
#include "tests/support/test.h"

static void this_process_is_running_since_its_start_only(void **state) {
    (void)state;
    uint64_t ticks = 0;
    bool running = false;
    assert_int_equal(al_proc_start_time(getpid(), &ticks), 0);
    assert_int_equal(al_proc_is_running(getpid(), ticks, &running), 0);
    assert_true(running);
    assert_int_equal(al_proc_is_running(getpid(), ticks + 1, &running), 0);
    assert_false(running);
}

static void a_name_with_brackets_and_blanks_confuses_nothing(void **state) {
    (void)state;
    uint64_t before = 0;
    uint64_t after = 1;
    char name[16];
    assert_int_equal(prctl(PR_GET_NAME, name), 0);
    assert_int_equal(al_proc_start_time(getpid(), &before), 0);
    assert_int_equal(prctl(PR_SET_NAME, "a) Z 1 2 (x) 9"), 0);
    assert_int_equal(al_proc_start_time(getpid(), &after), 0);
    assert_int_equal(prctl(PR_SET_NAME, name), 0);
    assert_true(before == after);
}

static void a_process_that_ended_is_not_running(void **state) {
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)pause();
        _exit(0);
    }
    uint64_t ticks = 0;
    bool running = false;
    al_autofd int fd = -1;
    assert_int_equal(al_proc_start_time(child, &ticks), 0);
    assert_int_equal(al_proc_is_running(child, ticks, &running), 0);
    assert_true(running);
    int rc = al_pidfd_open(child, &fd);
    if (rc == ENOSYS) {
        /* valgrind lacks the call */
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        skip();
    }
    assert_int_equal(rc, 0);
    assert_int_equal(al_poll_fd(fd, POLLIN, al_deadline_after_ms(0), NULL), ETIMEDOUT);
    assert_int_equal(al_pidfd_signal(fd, SIGKILL), 0);
    assert_int_equal(al_poll_fd(fd, POLLIN, AL_DEADLINE_NONE, NULL), 0);
    /* A zombie now. */
    assert_int_equal(al_proc_is_running(child, ticks, &running), 0);
    assert_false(running);
    assert_int_equal(waitpid(child, NULL, 0), child);
    running = true;
    assert_int_equal(al_proc_is_running(child, ticks, &running), 0);
    assert_false(running);
    assert_int_equal(al_proc_start_time(child, &ticks), ESRCH);
    assert_int_equal(al_pidfd_signal(fd, SIGKILL), ESRCH);
    int none = -1;
    assert_int_equal(al_pidfd_open(child, &none), ESRCH);
    assert_int_equal(none, -1);
}

static void boot_and_namespace_have_names(void **state) {
    (void)state;
    char one[AL_BOOT_ID_SIZE];
    char two[AL_BOOT_ID_SIZE];
    assert_int_equal(al_proc_boot_id(one), 0);
    assert_int_equal(al_proc_boot_id(two), 0);
    assert_string_equal(one, two);
    assert_int_equal(strlen(one), 36);
    assert_int_equal(strspn(one, "0123456789abcdef-"), 36);
    uint64_t own = 0;
    uint64_t by_pid = 1;
    assert_int_equal(al_proc_pid_namespace(0, &own), 0);
    assert_int_equal(al_proc_pid_namespace(getpid(), &by_pid), 0);
    assert_true(own == by_pid && own != 0);
    assert_int_equal(al_proc_pid_namespace(0x3fffffff, &own), ESRCH);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_process_is_running_since_its_start_only),
        cmocka_unit_test(a_name_with_brackets_and_blanks_confuses_nothing),
        cmocka_unit_test(a_process_that_ended_is_not_running),
        cmocka_unit_test(boot_and_namespace_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
