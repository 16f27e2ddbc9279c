/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/environment.h"

#include "tests/support/test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const cleared[] = {
    "ALINEO_CONFIG",   "ALINEO_PROVIDER", "ALINEO_STORAGE",  "ALINEO_PLUGIN_PATH",
    "XDG_CONFIG_HOME", "XDG_DATA_HOME",   "XDG_RUNTIME_DIR",
};

void test_setenv(const char *name, const char *value) {
    assert_int_equal(value != NULL ? setenv(name, value, 1) : unsetenv(name), 0);
}

void test_environment_make(test_environment *environment) {
    for (size_t i = 0; i < sizeof(cleared) / sizeof(cleared[0]); i++)
        test_setenv(cleared[i], NULL);
    test_folder_make(&environment->folder);
    static const char *const folders[] = {"work", "user", "home"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        assert_int_equal(mkdir(test_path(&environment->folder, folders[i]), 0700), 0);
    test_setenv("HOME", test_path(&environment->folder, "user"));
    test_setenv("ALINEO_HOME", test_path(&environment->folder, "home"));
    environment->old_directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(environment->old_directory >= 0);
    assert_int_equal(chdir(test_path(&environment->folder, "work")), 0);
}

void test_environment_remove(test_environment *environment) {
    assert_int_equal(fchdir(environment->old_directory), 0);
    assert_int_equal(close(environment->old_directory), 0);
    test_folder_remove(&environment->folder);
}
