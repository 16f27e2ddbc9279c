/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/locale.h"

#include <fcntl.h>
#include <ftw.h>
#include <locale.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/folder.h"

extern char **environ;

static bool has_comma(void) {
    return strcmp(localeconv()->decimal_point, ",") == 0;
}

static bool use_installed(void) {
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8",
                                        "nl_NL.UTF-8"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (setlocale(LC_ALL, names[i]) != NULL && has_comma())
            return true;
    }
    return false;
}

static bool make_locale(const char *folder) {
    char target[128];
    (void)snprintf(target, sizeof(target), "%s/de_DE.UTF-8", folder);
    const char *const argv[] = {"localedef", "-i", "de_DE", "-f", "UTF-8", target, NULL};
    posix_spawn_file_actions_t quiet;
    pid_t child;
    int status = -1;
    if (posix_spawn_file_actions_init(&quiet) != 0)
        return false;
    bool started =
        posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
        posix_spawnp(&child, argv[0], &quiet, NULL, (char **)argv, environ) == 0;
    (void)posix_spawn_file_actions_destroy(&quiet);
    return started && waitpid(child, &status, 0) == child && status == 0;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *ftw) {
    (void)status;
    (void)type;
    (void)ftw;
    return remove(path);
}

bool use_comma_locale(void) {
    if (use_installed())
        return true;
    char folder[64];
    (void)snprintf(folder, sizeof(folder), "%s/alineo-locale-XXXXXX", test_temporary());
    if (mkdtemp(folder) == NULL)
        return false;
    bool used = make_locale(folder) && setenv("LOCPATH", folder, 1) == 0 && use_installed();
    (void)unsetenv("LOCPATH");
    (void)nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    return used;
}

void use_c_locale(void) {
    (void)setlocale(LC_ALL, "C");
}
