/* SPDX-License-Identifier: Apache-2.0 */
/* test: no-valgrind */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/file.h"
#include "tests/support/fail_alloc.h"
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

static bool exists(const char *name) {
    struct stat status;
    return lstat(test_path(&folder, name), &status) == 0;
}

static void fill(const char *top) {
    char path[512];
    assert_int_equal(mkdir(test_path(&folder, top), 0700), 0);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(path, sizeof(path), "%s/dir%d", test_path(&folder, top), i);
        assert_int_equal(mkdir(path, 0700), 0);
        for (int k = 0; k < 20; k++) {
            (void)snprintf(path, sizeof(path), "%s/dir%d/file%d", test_path(&folder, top), i, k);
            test_write_file(path, "x", 0600);
        }
    }
}

static void a_tree_of_everything_goes(void **state) {
    (void)state;
    fill("tree");
    assert_int_equal(mkfifo(test_path(&folder, "tree/fifo"), 0600), 0);
    assert_int_equal(symlink("dir1", test_path(&folder, "tree/link")), 0);
    assert_int_equal(symlink("nowhere", test_path(&folder, "tree/dangling")), 0);
    test_write_file(test_path(&folder, "tree/with\nnewline"), "", 0);
    size_t fds = test_count_fds();
    assert_int_equal(al_remove_tree(AT_FDCWD, test_path(&folder, "tree//")), 0);
    assert_false(exists("tree"));
    assert_int_equal(test_count_fds(), fds);
}

static void single_files_go_and_missing_ones_are_no_error(void **state) {
    (void)state;
    test_write_file(test_path(&folder, "file"), "x", 0600);
    assert_int_equal(al_remove_tree(AT_FDCWD, test_path(&folder, "file")), 0);
    assert_false(exists("file"));
    assert_int_equal(al_remove_tree(AT_FDCWD, test_path(&folder, "file")), 0);
    assert_int_equal(al_remove_tree(AT_FDCWD, test_path(&folder, "no/such/file")), 0);
    al_autofd int fd = open(folder.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(mkdir(test_path(&folder, "dir"), 0700), 0);
    assert_int_equal(al_remove_tree(fd, "dir"), 0);
    assert_false(exists("dir"));
    static const char *const refused[] = {"", "/", ".", "..", "a/..", "a/."};
    for (size_t i = 0; i < AL_COUNT(refused); i++)
        assert_int_equal(al_remove_tree(fd, refused[i]), EINVAL);
}

static void links_are_removed_and_never_followed(void **state) {
    (void)state;
    fill("outside");
    assert_int_equal(mkdir(test_path(&folder, "tree"), 0700), 0);
    assert_int_equal(symlink(test_path(&folder, "outside"), test_path(&folder, "tree/link")), 0);
    assert_int_equal(symlink("tree", test_path(&folder, "top")), 0);
    assert_int_equal(al_remove_tree(AT_FDCWD, test_path(&folder, "top")), 0);
    assert_false(exists("top"));
    assert_true(exists("tree/link"));
    assert_int_equal(al_remove_tree(AT_FDCWD, test_path(&folder, "tree")), 0);
    assert_false(exists("tree"));
    assert_true(exists("outside/dir19/file19"));
}

/* Makes nested folders with a file in each, and gives the descriptor of the lowest. */
static void make_deep(const char *top, int depth) {
    assert_int_equal(mkdir(test_path(&folder, top), 0700), 0);
    al_autofd int fd = open(test_path(&folder, top), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < depth; i++) {
        assert_int_equal(mkdirat(fd, "a directory with a long name", 0700), 0);
        assert_int_equal(mkdirat(fd, "z", 0700), 0);
        int file = openat(fd, "b", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(file >= 0);
        al_close(file);
        int next = openat(fd, "a directory with a long name", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        al_close(fd);
        fd = next;
    }
}

static void depth_beyond_any_path_costs_few_descriptors(void **state) {
    (void)state;
    make_deep("deep", 2000);
    assert_int_equal(al_remove_tree(AT_FDCWD, test_path(&folder, "deep")), 0);
    assert_false(exists("deep"));
}

static void own_folders_without_permissions_go_too(void **state) {
    (void)state;
    fill("tree");
    assert_int_equal(chmod(test_path(&folder, "tree/dir3"), 0), 0);
    assert_int_equal(chmod(test_path(&folder, "tree/dir4"), 0500), 0);
    assert_int_equal(chmod(test_path(&folder, "tree"), 0500), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        /* root needs no permissions, so another user must try, on folders of its own */
        if (geteuid() == 0) {
            if (chmod(folder.path, 0777) != 0 || chown(test_path(&folder, "tree"), 65534, 65534) ||
                chown(test_path(&folder, "tree/dir3"), 65534, 65534) != 0 ||
                chown(test_path(&folder, "tree/dir4"), 65534, 65534) != 0)
                _exit(1);
            for (int i = 0; i < 20; i++) {
                char name[32];
                (void)snprintf(name, sizeof(name), "tree/dir%d", i);
                if (chown(test_path(&folder, name), 65534, 65534) != 0)
                    _exit(2);
            }
            if (setgid(65534) != 0 || setuid(65534) != 0)
                _exit(3);
        }
        _exit(al_remove_tree(AT_FDCWD, test_path(&folder, "tree")));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_false(exists("tree"));
}

static void what_cannot_go_is_reported_and_the_rest_goes(void **state) {
    (void)state;
    if (geteuid() != 0)
        skip();
    fill("tree");
    assert_int_equal(chmod(folder.path, 0755), 0);
    assert_int_equal(chown(test_path(&folder, "tree"), 65534, 65534), 0);
    assert_int_equal(chown(test_path(&folder, "tree/dir0"), 65534, 65534), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (setgid(65534) != 0 || setuid(65534) != 0)
            _exit(1);
        _exit(al_remove_tree(AT_FDCWD, test_path(&folder, "tree")));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), EACCES);
    assert_false(exists("tree/dir0"));
    assert_true(exists("tree/dir1/file1"));
}

static int remove_beside_a_mount(void) {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", "", MS_REC | MS_PRIVATE, NULL) != 0)
        return 77;
    if (mount(test_path(&folder, "outside"), test_path(&folder, "tree/dir5"), "", MS_BIND, NULL) !=
        0)
        return 77;
    if (al_remove_tree(AT_FDCWD, test_path(&folder, "tree")) != EXDEV)
        return 1;
    if (al_remove_tree(AT_FDCWD, test_path(&folder, "tree/dir5")) != EXDEV)
        return 2;
    return exists("tree/dir6") ? 3 : 0;
}

static void what_is_mounted_stays_whole(void **state) {
    (void)state;
    fill("tree");
    fill("outside");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(remove_beside_a_mount());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
    assert_true(exists("outside/dir0/file0"));
}

static void remove_under_failing_allocations(void *unused) {
    (void)unused;
    int rc = al_remove_tree(AT_FDCWD, test_path(&folder, "tree"));
    if (fail_alloc_happened())
        assert_int_equal(rc, ENOMEM);
    else
        assert_int_equal(rc, 0);
}

static void a_lack_of_memory_is_an_error_and_leaks_nothing(void **state) {
    (void)state;
    make_deep("tree", 40);
    size_t fds = test_count_fds();
    assert_true(fail_alloc_each(remove_under_failing_allocations, NULL) > 2);
    assert_int_equal(test_count_fds(), fds);
    assert_false(exists("tree"));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_tree_of_everything_goes),
        TEST(single_files_go_and_missing_ones_are_no_error),
        TEST(links_are_removed_and_never_followed),
        TEST(depth_beyond_any_path_costs_few_descriptors),
        TEST(own_folders_without_permissions_go_too),
        TEST(what_cannot_go_is_reported_and_the_rest_goes),
        TEST(what_is_mounted_stays_whole),
        TEST(a_lack_of_memory_is_an_error_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
