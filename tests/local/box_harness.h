/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_TESTS_LOCAL_BOX_HARNESS_H
#define ALINEO_TESTS_LOCAL_BOX_HARNESS_H

/* Runs box_driver and looks at what it leaves behind. */

#include <stdbool.h>
#include <sys/types.h>

enum {
    BOX_OUTPUT_SIZE = 65536
};

struct box_run {
    int code; /* as a shell tells it */
    char output[BOX_OUTPUT_SIZE];
    char errors[BOX_OUTPUT_SIZE];
};

/* A temporary state folder, and the state of the machine before the tests. Skips the whole program
 * (exit code 77, with the reason) where boxes cannot be built. */
int box_set_up(void **state);
int box_tear_down(void **state);

/* The state folder. */
const char *box_home(void);

/* The path of a program that was built beside the tests. */
const char *box_program(const char *name);

/* Runs "box_driver --home HOME ARGUMENTS", the arguments split at blanks; what follows the word
 * "--sh" is one argument to "sh -c". Ends with a failure of the test after a minute. */
void box_run(struct box_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Starts it without waiting; *OUTPUT_FD (may be NULL) is its standard output, *INPUT_FD (may be
 * NULL) its standard input. */
pid_t box_start(int *input_fd, int *output_fd, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Waits for it and gives its exit code. */
int box_finish(pid_t pid);

/* The result of one attack, run by itself in a box of the host image with OPTIONS. */
void box_attack(const char *options, const char *attack, char *result, size_t size);

/* Asserts that nothing is left of any box: no process, mount, cgroup or folder, within 2 s. */
void box_assert_nothing_left(void);

#endif
