/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_TESTS_SUPPORT_FOLDER_H
#define ALINEO_TESTS_SUPPORT_FOLDER_H

#include <sys/types.h>

/* A temporary folder for one test. */
typedef struct test_folder {
    char path[64];
} test_folder;

/* Where temporary things of tests are made: $TMPDIR, or /tmp when that is unset or too long for the
 * sockets and buffers of tests. */
const char *test_temporary(void);

/* Made there, mode 0700; fails the test when it cannot be. */
void test_folder_make(test_folder *folder);

/* Removes it and everything in it, folders without permissions too; fails the test when something
 * stays. */
void test_folder_remove(test_folder *folder);

/* "FOLDER/NAME"; one of eight buffers used in turn, so a few of them may be held at once. */
const char *test_path(const test_folder *folder, const char *name);

/* A file with this text and exactly this mode. */
void test_write_file(const char *path, const char *text, mode_t mode);

/* Number of descriptors this process has open. */
size_t test_count_fds(void);

#endif
