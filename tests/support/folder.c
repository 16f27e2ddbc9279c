/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/test.h"

const char *test_temporary(void) {
    const char *base = getenv("TMPDIR");
    return base != NULL && strlen(base) <= 30 ? base : "/tmp";
}

void test_folder_make(test_folder *folder) {
    (void)snprintf(folder->path, sizeof(folder->path), "%s/alineo-test-XXXXXX", test_temporary());
    assert_non_null(mkdtemp(folder->path));
}

static int allow_entry(const char *path, const struct stat *status, int type, struct FTW *ftw) {
    (void)status;
    (void)ftw;
    return type == FTW_DNR || type == FTW_D ? chmod(path, 0700) : 0;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *ftw) {
    (void)status;
    (void)type;
    (void)ftw;
    return remove(path);
}

void test_folder_remove(test_folder *folder) {
    (void)nftw(folder->path, allow_entry, 16, FTW_PHYS);
    assert_int_equal(nftw(folder->path, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

const char *test_path(const test_folder *folder, const char *name) {
    static char buffers[8][512];
    static size_t turn;
    char *out = buffers[turn++ % 8];
    int length = snprintf(out, sizeof(buffers[0]), "%s/%s", folder->path, name);
    assert_true(length > 0 && (size_t)length < sizeof(buffers[0]));
    return out;
}

void test_write_file(const char *path, const char *text, mode_t mode) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    size_t size = strlen(text);
    assert_int_equal(write(fd, text, size), (ssize_t)size);
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(close(fd), 0);
}

size_t test_count_fds(void) {
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    size_t count = 0;
    while (readdir(dir) != NULL)
        count++;
    assert_int_equal(closedir(dir), 0);
    return count;
}
