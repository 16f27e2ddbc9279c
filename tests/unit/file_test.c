/* SPDX-License-Identifier: Apache-2.0 */
#include "core/util/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/util/io.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

static test_folder folder;

static int set_up(void **state) {
    (void)state;
    test_folder_make(&folder);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

static unsigned mode_of(const char *path) {
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 07777;
}

static void missing_folders_are_made_and_others_left_alone(void **state) {
    (void)state;
    assert_int_equal(chmod(folder.path, 0750), 0);
    mode_t before = umask(022);
    assert_int_equal(al_mkdir_parents(test_path(&folder, "a//b/./c/"), 0700), 0);
    (void)umask(before);
    assert_int_equal(mode_of(test_path(&folder, "a")), 0700);
    assert_int_equal(mode_of(test_path(&folder, "a/b/c")), 0700);
    assert_int_equal(mode_of(folder.path), 0750);
    assert_int_equal(al_mkdir_parents(test_path(&folder, "a/b/c"), 0755), 0);
    assert_int_equal(mode_of(test_path(&folder, "a/b/c")), 0700);
    assert_int_equal(al_mkdir_parents("/", 0700), 0);
    assert_int_equal(al_mkdir_parents(".", 0700), 0);
    assert_int_equal(al_mkdir_parents_of(test_path(&folder, "d/e/file"), 0700), 0);
    assert_int_equal(mode_of(test_path(&folder, "d/e")), 0700);
    assert_int_equal(access(test_path(&folder, "d/e/file"), F_OK), -1);
    assert_int_equal(al_mkdir_parents_of("file", 0700), 0);
}

static void something_else_in_the_place_of_a_folder_is_an_error(void **state) {
    (void)state;
    test_write_file(test_path(&folder, "file"), "", 0600);
    assert_int_equal(al_mkdir_parents(test_path(&folder, "file"), 0700), ENOTDIR);
    assert_int_equal(al_mkdir_parents(test_path(&folder, "file/x"), 0700), ENOTDIR);
    assert_int_equal(al_mkdir_parents("", 0700), ENOENT);
    assert_int_equal(symlink("nowhere", test_path(&folder, "link")), 0);
    assert_int_not_equal(al_mkdir_parents(test_path(&folder, "link/x"), 0700), 0);
}

static size_t count_entries(const char *path) {
    al_autodir DIR *dir = opendir(path);
    assert_non_null(dir);
    size_t count = 0;
    while (readdir(dir) != NULL)
        count++;
    return count - 2;
}

static void a_written_file_is_whole_with_exactly_its_mode(void **state) {
    (void)state;
    const char *path = test_path(&folder, "config.json");
    mode_t before = umask(022);
    assert_int_equal(al_file_write_atomic(path, "one\0two", 7, 0600), 0);
    assert_int_equal(mode_of(path), 0600);
    assert_int_equal(al_file_write_atomic(path, "three", 5, 0666), 0);
    assert_int_equal(mode_of(path), 0666);
    (void)umask(before);
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    assert_int_equal(al_file_read(path, 100, &text), 0);
    assert_string_equal(text.data, "three");
    assert_int_equal(al_file_write_atomic(path, NULL, 0, 0600), 0);
    assert_int_equal(al_file_read(path, 0, &text), 0);
    assert_int_equal(text.size, 5);
    assert_int_equal(count_entries(folder.path), 1);
}

static void a_link_is_replaced_and_not_followed(void **state) {
    (void)state;
    test_write_file(test_path(&folder, "target"), "kept", 0600);
    assert_int_equal(symlink("target", test_path(&folder, "link")), 0);
    assert_int_equal(al_file_write_atomic(test_path(&folder, "link"), "new", 3, 0600), 0);
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    assert_int_equal(al_file_read(test_path(&folder, "target"), 100, &text), 0);
    assert_string_equal(text.data, "kept");
}

static void a_failed_write_leaves_no_trace(void **state) {
    (void)state;
    assert_int_equal(mkdir(test_path(&folder, "dir"), 0700), 0);
    assert_int_equal(al_file_write_atomic(test_path(&folder, "dir"), "x", 1, 0600), EISDIR);
    assert_int_equal(al_file_write_atomic(test_path(&folder, "dir/"), "x", 1, 0600), EISDIR);
    assert_int_equal(al_file_write_atomic(test_path(&folder, "no/file"), "x", 1, 0600), ENOENT);
    assert_int_equal(count_entries(folder.path), 1);
}

static void reading_is_limited(void **state) {
    (void)state;
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    al_buf_append_str(&text, "before");
    const char *path = test_path(&folder, "file");
    test_write_file(path, "0123456789", 0600);
    assert_int_equal(al_file_read(path, 9, &text), EFBIG);
    assert_string_equal(text.data, "before");
    assert_int_equal(al_file_read(path, 10, &text), 0);
    assert_string_equal(text.data, "before0123456789");
    al_auto(al_buf_free) al_buf small = {.max_size = 9};
    assert_int_equal(al_file_read(path, 100, &small), EFBIG);
    small.max_size = 10;
    al_buf_clear(&small);
    assert_int_equal(al_file_read(path, 100, &small), 0);
    assert_int_equal(small.size, 10);
}

static void large_files_are_read_whole(void **state) {
    (void)state;
    enum {
        SIZE = 300000
    };
    al_autofree char *data = malloc(SIZE);
    assert_non_null(data);
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (char)(i * 7);
    const char *path = test_path(&folder, "large");
    assert_int_equal(al_file_write_atomic(path, data, SIZE, 0600), 0);
    al_auto(al_buf_free) al_buf back = AL_BUF_INIT;
    assert_int_equal(al_file_read(path, SIZE - 1, &back), EFBIG);
    assert_int_equal(al_file_read(path, SIZE, &back), 0);
    assert_int_equal(back.size, SIZE);
    assert_memory_equal(back.data, data, SIZE);
}

static void only_regular_files_are_read_by_name(void **state) {
    (void)state;
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    assert_int_equal(al_file_read(folder.path, 10, &text), EISDIR);
    assert_int_equal(mkfifo(test_path(&folder, "fifo"), 0600), 0);
    assert_int_equal(al_file_read(test_path(&folder, "fifo"), 10, &text), EINVAL);
    assert_int_equal(al_file_read("/dev/zero", 10, &text), EINVAL);
    assert_int_equal(al_file_read(test_path(&folder, "none"), 10, &text), ENOENT);
    assert_int_equal(al_file_read("/proc/self/status", 1 << 16, &text), 0);
    assert_true(text.size > 100);
}

static void a_pipe_is_read_to_its_end(void **state) {
    (void)state;
    al_autofd int read_fd = -1;
    al_autofd int write_fd = -1;
    assert_int_equal(al_pipe(&read_fd, &write_fd), 0);
    assert_int_equal(al_write_full(write_fd, "abc", 3), 0);
    al_close(al_steal_fd(&write_fd));
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    assert_int_equal(al_fd_read_all(read_fd, 3, &text), 0);
    assert_string_equal(text.data, "abc");
    assert_int_equal(al_fd_read_all(-1, 3, &text), EBADF);
    assert_string_equal(text.data, "abc");
}

static void a_link_is_read_as_text(void **state) {
    (void)state;
    char *target = NULL;
    assert_int_equal(symlink("some/where", test_path(&folder, "link")), 0);
    assert_int_equal(al_link_read(AT_FDCWD, test_path(&folder, "link"), &target), 0);
    assert_string_equal(target, "some/where");
    free(target);
    target = NULL;
    assert_int_equal(al_link_read(AT_FDCWD, folder.path, &target), EINVAL);
    assert_null(target);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(missing_folders_are_made_and_others_left_alone),
        TEST(something_else_in_the_place_of_a_folder_is_an_error),
        TEST(a_written_file_is_whole_with_exactly_its_mode),
        TEST(a_link_is_replaced_and_not_followed),
        TEST(a_failed_write_leaves_no_trace),
        TEST(reading_is_limited),
        TEST(large_files_are_read_whole),
        TEST(only_regular_files_are_read_by_name),
        TEST(a_pipe_is_read_to_its_end),
        TEST(a_link_is_read_as_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
