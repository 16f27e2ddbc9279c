/* SPDX-License-Identifier: Apache-2.0 */
/* test: no-valgrind no-asan no-tsan */
/* A program that runs with the rights of another user than its caller takes nothing from the
 * caller's environment. The program is this one, copied and made to run as nobody. */
#include <alineo/config.h>

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/util/file.h"
#include "core/util/io.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

#define NOBODY 65534

/* What the copy says of a config that it makes; the exit code tells whether it ran securely. */
static int tell_config(void) {
    alineo_config *config = NULL;
    static const char plain[] = "{}";
    static const char variable[] = "{\"defaults\": {\"image\": \"${AL_TEST_IMAGE}\"}}";
    if (chdir("/") != 0 ||
        alineo_config_parse(plain, sizeof(plain) - 1, NULL, &config, NULL) != ALINEO_OK)
        return 3;
    (void)printf("provider %s\nhome %s\n", alineo_config_provider(config),
                 alineo_config_home(config));
    alineo_config_free(config);
    alineo_error *error = NULL;
    if (alineo_config_parse(variable, sizeof(variable) - 1, NULL, &config, &error) == ALINEO_OK)
        alineo_config_free(config);
    else
        (void)printf("variable %s\n", alineo_error_message(error));
    alineo_error_free(error);
    return getauxval(AT_SECURE) != 0 ? 0 : 2;
}

static int run(const char *program, char *out, size_t size) {
    int from = -1;
    int to = -1;
    assert_int_equal(al_pipe(&from, &to), 0);
    posix_spawn_file_actions_t actions;
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO), 0);
    char *const arguments[] = {(char *)program, (char *)"tell", NULL};
    char *const environment[] = {(char *)"ALINEO_PROVIDER=other", (char *)"ALINEO_HOME=/tmp/other",
                                 (char *)"AL_TEST_IMAGE=secret-image", NULL};
    pid_t pid = -1;
    assert_int_equal(posix_spawn(&pid, program, &actions, NULL, arguments, environment), 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    assert_int_equal(close(to), 0);
    size_t used = 0;
    assert_int_equal(al_read_full(from, out, size - 1, &used), 0);
    out[used] = '\0';
    assert_int_equal(close(from), 0);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_program_with_borrowed_rights_does_not_read_the_environment(void **state) {
    (void)state;
    if (geteuid() != 0)
        skip();
    test_folder folder;
    test_folder_make(&folder);
    assert_int_equal(chmod(folder.path, 0755), 0);
    const char *copy = test_path(&folder, "copy");
    al_auto(al_buf_free) al_buf bytes = AL_BUF_INIT;
    assert_int_equal(al_file_read("/proc/self/exe", (size_t)256 << 20, &bytes), 0);
    assert_int_equal(al_file_write_atomic(copy, bytes.data, bytes.size, 0755), 0);
    char out[1024];
    assert_int_equal(run(copy, out, sizeof(out)), 2);
    assert_non_null(strstr(out, "provider other\n"));
    assert_non_null(strstr(out, "home /tmp/other\n"));
    assert_null(strstr(out, "variable "));

    assert_int_equal(chown(copy, NOBODY, 0), 0);
    assert_int_equal(chmod(copy, 04755), 0);
    int code = run(copy, out, sizeof(out));
    test_folder_remove(&folder);
    if (code == 2)
        skip(); /* a file system on which programs borrow no rights */
    assert_int_equal(code, 0);
    assert_non_null(strstr(out, "provider local\n"));
    assert_null(strstr(out, "/tmp/other"));
    assert_non_null(strstr(out, "variable "));
    assert_non_null(strstr(out, "the environment is not read"));
    assert_null(strstr(out, "secret-image"));
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "tell") == 0)
        return tell_config();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_with_borrowed_rights_does_not_read_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
