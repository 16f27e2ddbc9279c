/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include "core/mounts.h"

#include "core/util/cleanup.h"
#include "core/util/file.h"
#include "core/util/path.h"
#include "tests/support/folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder with data/x, database/y, a link data/out to database and a link in to data. */
static char base[64];

static char *below(const char *name) {
    char *path = al_path_join(base, name);
    assert_non_null(path);
    return path;
}

static int set_up(void **state) {
    (void)state;
    (void)snprintf(base, sizeof(base), "%s/alineo-mounts-XXXXXX", test_temporary());
    assert_non_null(mkdtemp(base));
    al_autofree char *data = below("data/x");
    al_autofree char *database = below("database/y");
    al_autofree char *out = below("data/out");
    al_autofree char *in = below("in");
    assert_int_equal(al_mkdir_parents(data, 0700), 0);
    assert_int_equal(al_mkdir_parents(database, 0700), 0);
    assert_int_equal(symlink("../database", out), 0);
    assert_int_equal(symlink("data", in), 0);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    return al_remove_tree(AT_FDCWD, base);
}

/* Checks a mount of base/NAME with one allowed folder, base/ALLOWED. */
static alineo_code check(const char *allowed, const char *name, char **source) {
    al_autofree char *folder = below(allowed);
    al_autofree char *path = below(name);
    const char *const list[] = {folder, NULL};
    alineo_mount mount = ALINEO_MOUNT_INIT;
    mount.source = path;
    mount.target = "/mnt//x/./y";
    char *target = NULL;
    alineo_code code = al_mount_check(list, &mount, source, &target, NULL);
    if (code == ALINEO_OK)
        assert_string_equal(target, "/mnt/x/y");
    free(target);
    return code;
}

static void what_lies_below_an_allowed_folder_passes_with_its_real_path(void **state) {
    (void)state;
    char *source = NULL;
    assert_int_equal(check("data", "data/x", &source), ALINEO_OK);
    al_autofree char *expected = below("data/x");
    assert_string_equal(source, expected);
    free(source);
    source = NULL;
    assert_int_equal(check("data", "data", &source), ALINEO_OK);
    free(source);
}

static void links_are_resolved_on_both_sides(void **state) {
    (void)state;
    char *source = NULL;
    assert_int_equal(check("in", "data/x", &source), ALINEO_OK);
    free(source);
    source = NULL;
    assert_int_equal(check("data", "in/x", &source), ALINEO_OK);
    al_autofree char *expected = below("data/x");
    assert_string_equal(source, expected);
    free(source);
}

static void a_link_that_leads_out_is_refused(void **state) {
    (void)state;
    char *source = NULL;
    assert_int_equal(check("data", "data/out/y", &source), ALINEO_PERMISSION_DENIED);
    assert_int_equal(check("data", "data/../database", &source), ALINEO_PERMISSION_DENIED);
    assert_null(source);
}

static void a_name_that_begins_alike_is_not_below(void **state) {
    (void)state;
    char *source = NULL;
    assert_int_equal(check("data", "database/y", &source), ALINEO_PERMISSION_DENIED);
}

static void an_empty_list_allows_nothing(void **state) {
    (void)state;
    const char *const none[] = {NULL};
    alineo_mount mount = ALINEO_MOUNT_INIT;
    mount.source = "/tmp";
    mount.target = "/mnt";
    char *source = NULL;
    char *target = NULL;
    alineo_error *error = NULL;
    assert_int_equal(al_mount_check(NULL, &mount, &source, &target, &error),
                     ALINEO_PERMISSION_DENIED);
    assert_non_null(strstr(alineo_error_hint(error), "allowMounts"));
    alineo_error_free(error);
    assert_int_equal(al_mount_check(none, &mount, &source, &target, NULL),
                     ALINEO_PERMISSION_DENIED);
}

static void odd_mounts_are_refused(void **state) {
    (void)state;
    const char *const all[] = {"/", NULL};
    const alineo_mount odd[] = {
        {sizeof(alineo_mount), "tmp", "/mnt", ALINEO_DEFAULT},
        {sizeof(alineo_mount), NULL, "/mnt", ALINEO_DEFAULT},
        {sizeof(alineo_mount), "/no/such/folder", "/mnt", ALINEO_DEFAULT},
        {sizeof(alineo_mount), "/tmp", "mnt", ALINEO_DEFAULT},
        {sizeof(alineo_mount), "/tmp", NULL, ALINEO_DEFAULT},
        {sizeof(alineo_mount), "/tmp", "/", ALINEO_DEFAULT},
        {sizeof(alineo_mount), "/tmp", "/mnt/..", ALINEO_DEFAULT},
        {sizeof(alineo_mount), "/tmp", "/mnt", 7},
    };
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        char *source = NULL;
        char *target = NULL;
        assert_int_equal(al_mount_check(all, &odd[i], &source, &target, NULL),
                         ALINEO_INVALID_ARGUMENT);
        assert_null(source);
        assert_null(target);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lies_below_an_allowed_folder_passes_with_its_real_path),
        cmocka_unit_test(links_are_resolved_on_both_sides),
        cmocka_unit_test(a_link_that_leads_out_is_refused),
        cmocka_unit_test(a_name_that_begins_alike_is_not_below),
        cmocka_unit_test(an_empty_list_allows_nothing),
        cmocka_unit_test(odd_mounts_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
