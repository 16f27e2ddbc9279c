/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "plugins/providers/local/runtime/idrange.h"
#include "support/test.h"

static int set_up(void **state) {
    (void)state;
    if (geteuid() == 0)
        return 0;
    (void)fprintf(stderr, "skipped: the table of id ranges is root's\n");
    exit(77);
}

static int claim(const char *id, uint32_t *base) {
    int fd = -1;
    struct local_fault fault;
    assert_int_equal(local_range_claim(id, &fd, base, &fault), 0);
    return fd;
}

static void ranges_are_whole_and_above_those_of_containers(void **state) {
    uint32_t base = 0;
    (void)state;
    al_autofd int fd = claim("idrange-test", &base);
    assert_true(fd >= 0);
    assert_int_equal(base % LOCAL_RANGE_COUNT, 0);
    assert_in_range(base, 0x70000000U, 0x7fff0000U);
}

static void two_holders_never_have_the_same_range(void **state) {
    uint32_t bases[16];
    int fds[16];
    (void)state;
    for (size_t i = 0; i < AL_COUNT(bases); i++)
        fds[i] = claim("idrange-test", &bases[i]);
    for (size_t i = 0; i < AL_COUNT(bases); i++)
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(bases[i], bases[k]);
    for (size_t i = 0; i < AL_COUNT(bases); i++)
        al_close(fds[i]);
}

static void a_range_is_free_when_its_last_holder_is_gone(void **state) {
    uint32_t first = 0;
    uint32_t second = 0;
    uint32_t third = 0;
    int hold[2];
    char byte;
    (void)state;
    assert_int_equal(pipe(hold), 0);
    int fd = claim("idrange-test", &first);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        al_close(hold[1]);
        (void)!read(hold[0], &byte, 1);
        _exit(0);
    }
    /* The child still has its copy. */
    al_close(fd);
    al_close(hold[0]);
    fd = claim("idrange-test", &second);
    assert_int_not_equal(second, first);
    al_close(fd);
    al_close(hold[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    fd = claim("idrange-test", &third);
    assert_int_equal(third, first);
    al_close(fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_whole_and_above_those_of_containers),
        cmocka_unit_test(two_holders_never_have_the_same_range),
        cmocka_unit_test(a_range_is_free_when_its_last_holder_is_gone),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
