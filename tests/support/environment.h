/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_TESTS_SUPPORT_ENVIRONMENT_H
#define ALINEO_TESTS_SUPPORT_ENVIRONMENT_H

/* What a config is found and read by, for one test: none of alineo's variables are set, the user's
 * folders and the working directory are new and empty. */

#include "tests/support/folder.h"

typedef struct test_environment {
    test_folder
        folder; /* has work/ (the working directory), user/ (HOME) and home/ (ALINEO_HOME) */
    int old_directory;
} test_environment;

void test_environment_make(test_environment *environment);
void test_environment_remove(test_environment *environment);

/* Sets a variable, or (NULL) takes it away. */
void test_setenv(const char *name, const char *value);

#endif
