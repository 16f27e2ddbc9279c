/* SPDX-License-Identifier: Apache-2.0 */
#include "core/util/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

static test_folder folder;

static int set_up(void **state) {
    (void)state;
    test_folder_make(&folder);
    assert_int_equal(chmod(folder.path, 0755), 0);
    assert_int_equal(mkdir(test_path(&folder, "plugins"), 0755), 0);
    assert_int_equal(chmod(test_path(&folder, "plugins"), 0755), 0);
    test_write_file(test_path(&folder, "plugins/acme.so"), "contents", 0644);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

/* Gives the code of al_trust_open; REASON must contain WORD when it is not NULL. */
static int open_trusted(const char *name, const char *word) {
    al_auto(al_buf_free) al_buf reason = AL_BUF_INIT;
    al_autofd int fd = -1;
    size_t fds = test_count_fds();
    int rc = al_trust_open(test_path(&folder, name), &fd, &reason);
    assert_int_equal(fd >= 0, rc == 0);
    assert_int_equal(test_count_fds(), fds + (rc == 0));
    if (word != NULL && strstr(al_buf_str(&reason), word) == NULL)
        fail_msg("'%s' does not say '%s'", al_buf_str(&reason), word);
    if (rc == 0)
        assert_int_equal(reason.size, 0);
    assert_int_equal(al_trust_open(test_path(&folder, name), &fd, NULL), rc);
    return rc;
}

static void an_ordinary_file_is_trusted_and_opened(void **state) {
    (void)state;
    assert_int_equal(open_trusted("plugins/acme.so", NULL), 0);
    al_autofd int fd = -1;
    assert_int_equal(al_trust_open(test_path(&folder, "plugins/acme.so"), &fd, NULL), 0);
    char text[16] = "";
    assert_int_equal(read(fd, text, sizeof(text)), 8);
    assert_string_equal(text, "contents");
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(al_trust_folder(test_path(&folder, "plugins"), NULL), 0);
    assert_int_equal(al_trust_folder("/", NULL), 0);
}

static void a_file_that_others_may_write_is_not_trusted(void **state) {
    (void)state;
    assert_int_equal(chmod(test_path(&folder, "plugins/acme.so"), 0646), 0);
    assert_int_equal(open_trusted("plugins/acme.so", "written by everyone (mode 0646)"), EPERM);
}

static void a_folder_that_others_may_write_is_not_trusted(void **state) {
    (void)state;
    assert_int_equal(chmod(test_path(&folder, "plugins"), 0777), 0);
    assert_int_equal(open_trusted("plugins/acme.so", "plugins can be written by everyone"), EPERM);
    al_auto(al_buf_free) al_buf reason = AL_BUF_INIT;
    assert_int_equal(al_trust_folder(test_path(&folder, "plugins"), &reason), EPERM);
    assert_non_null(strstr(reason.data, "(mode 0777)"));
    /* The sticky bit is no help in the folder itself: new names can still be put there. */
    assert_int_equal(chmod(test_path(&folder, "plugins"), 01777), 0);
    assert_int_equal(open_trusted("plugins/acme.so", "mode 1777"), EPERM);
}

static void a_folder_further_up_may_be_shared_only_with_the_sticky_bit(void **state) {
    (void)state;
    assert_int_equal(chmod(folder.path, 0777), 0);
    assert_int_equal(open_trusted("plugins/acme.so", "lacks the sticky bit"), EPERM);
    assert_int_equal(chmod(folder.path, 01777), 0);
    assert_int_equal(open_trusted("plugins/acme.so", NULL), 0);
}

static void writing_by_the_group_counts_unless_it_is_the_users_own(void **state) {
    (void)state;
    const char *file = test_path(&folder, "plugins/acme.so");
    assert_int_equal(chmod(file, 0664), 0);
    assert_int_equal(chown(file, (uid_t)-1, getegid()), 0);
    assert_int_equal(open_trusted("plugins/acme.so", NULL), 0);
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(file, (uid_t)-1, 12345), 0);
    assert_int_equal(chmod(file, 0664), 0);
    assert_int_equal(open_trusted("plugins/acme.so", "written by group 12345"), EPERM);
    assert_int_equal(chmod(file, 0644), 0);
    assert_int_equal(open_trusted("plugins/acme.so", NULL), 0);
}

static void what_belongs_to_someone_else_is_not_trusted(void **state) {
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(test_path(&folder, "plugins/acme.so"), 65534, 0), 0);
    assert_int_equal(open_trusted("plugins/acme.so", "belongs to user 65534"), EPERM);
    assert_int_equal(chown(test_path(&folder, "plugins/acme.so"), 0, 0), 0);
    assert_int_equal(chown(test_path(&folder, "plugins"), 65534, 0), 0);
    assert_int_equal(open_trusted("plugins/acme.so", "belongs to user 65534"), EPERM);
}

static void a_link_is_as_good_as_where_it_is_and_where_it_leads(void **state) {
    (void)state;
    assert_int_equal(mkdir(test_path(&folder, "links"), 0755), 0);
    assert_int_equal(symlink("../plugins/acme.so", test_path(&folder, "links/rel")), 0);
    assert_int_equal(symlink(test_path(&folder, "links/rel"), test_path(&folder, "links/abs")), 0);
    assert_int_equal(symlink("links", test_path(&folder, "way")), 0);
    assert_int_equal(open_trusted("links/rel", NULL), 0);
    assert_int_equal(open_trusted("links/abs", NULL), 0);
    assert_int_equal(open_trusted("way/abs", NULL), 0);
    assert_int_equal(chmod(test_path(&folder, "links"), 0757), 0);
    assert_int_equal(open_trusted("links/rel", "links can be written by everyone"), EPERM);
    assert_int_equal(chmod(test_path(&folder, "links"), 0755), 0);
    assert_int_equal(chmod(test_path(&folder, "plugins"), 0757), 0);
    assert_int_equal(open_trusted("way/abs", "plugins can be written by everyone"), EPERM);
}

static void what_is_no_file_is_refused_without_waiting(void **state) {
    (void)state;
    assert_int_equal(open_trusted("plugins", "not a regular file"), EISDIR);
    assert_int_equal(mkfifo(test_path(&folder, "plugins/fifo"), 0600), 0);
    assert_int_equal(open_trusted("plugins/fifo", "not a regular file"), EINVAL);
    assert_int_equal(open_trusted("plugins/none", "cannot open"), ENOENT);
    assert_int_equal(open_trusted("none/acme.so", "cannot find"), ENOENT);
    assert_int_equal(symlink("loop", test_path(&folder, "plugins/loop")), 0);
    assert_int_equal(open_trusted("plugins/loop", "too many links"), ELOOP);
    al_auto(al_buf_free) al_buf reason = AL_BUF_INIT;
    assert_int_equal(al_trust_folder(test_path(&folder, "plugins/acme.so"), &reason), ENOTDIR);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(an_ordinary_file_is_trusted_and_opened),
        TEST(a_file_that_others_may_write_is_not_trusted),
        TEST(a_folder_that_others_may_write_is_not_trusted),
        TEST(a_folder_further_up_may_be_shared_only_with_the_sticky_bit),
        TEST(writing_by_the_group_counts_unless_it_is_the_users_own),
        TEST(what_belongs_to_someone_else_is_not_trusted),
        TEST(a_link_is_as_good_as_where_it_is_and_where_it_leads),
        TEST(what_is_no_file_is_refused_without_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
