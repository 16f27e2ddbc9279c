/* SPDX-License-Identifier: Apache-2.0 */
/* Files that the sandbox's user may not touch, by commands. Runs as somebody who is not root. */
#include "support/file_world.h"

#include "core/util/strv.h"

#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    NOBODY = 65534
};

/* A folder with a file in it, that may be entered and read but not changed. */
static void make_closed(file_world *world) {
    assert_int_equal(mkdir(file_path(world, "closed"), 0755), 0);
    file_put(world, "closed/x", "text", 4, 0644);
    file_put(world, "closed/secret", "text", 4, 0);
    assert_int_equal(mkdir(file_path(world, "closed/dark"), 0755), 0);
    file_put(world, "closed/dark/in", "text", 4, 0644);
    assert_int_equal(chmod(file_path(world, "closed/dark"), 0), 0);
    assert_int_equal(chmod(file_path(world, "closed"), 0555), 0);
}

static void reading_and_writing_are_denied(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    make_closed(world);
    FILE_FAILS(
        ALINEO_PERMISSION_DENIED,
        alineo_file_read(world->sandbox, file_path(world, "closed/secret"), NULL, &bytes, &err));
    FILE_FAILS(
        ALINEO_PERMISSION_DENIED,
        alineo_file_read(world->sandbox, file_path(world, "closed/dark/in"), NULL, &bytes, &err));
    FILE_FAILS(
        ALINEO_PERMISSION_DENIED,
        alineo_file_write(world->sandbox, file_path(world, "closed/secret"), "x", 1, NULL, &err));
    FILE_FAILS(
        ALINEO_PERMISSION_DENIED,
        alineo_file_write(world->sandbox, file_path(world, "closed/new"), "x", 1, NULL, &err));
    FILE_FAILS(
        ALINEO_PERMISSION_DENIED,
        alineo_file_write(world->sandbox, file_path(world, "closed/n/e/w"), "x", 1, NULL, &err));
    FILE_FAILS(ALINEO_PERMISSION_DENIED,
               alineo_file_write(world->sandbox, "/etc/passwd", "x", 1, NULL, &err));
}

static void changes_are_denied(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    alineo_file_change_options plain = ALINEO_FILE_CHANGE_OPTIONS_INIT;
    uint64_t count = 0;
    plain.parents = ALINEO_NO;
    make_closed(world);
    FILE_FAILS(ALINEO_PERMISSION_DENIED,
               alineo_file_mkdir(world->sandbox, file_path(world, "closed/d"), &plain, &err));
    FILE_FAILS(ALINEO_PERMISSION_DENIED,
               alineo_file_mkdir(world->sandbox, file_path(world, "closed/d/e"), NULL, &err));
    FILE_FAILS(ALINEO_PERMISSION_DENIED,
               alineo_file_remove(world->sandbox, file_path(world, "closed/x"), NULL, &err));
    FILE_FAILS(ALINEO_PERMISSION_DENIED,
               alineo_file_rmdir(world->sandbox, file_path(world, "closed/dark"), NULL, &err));
    FILE_FAILS(ALINEO_PERMISSION_DENIED,
               alineo_file_move(world->sandbox, file_path(world, "closed/x"), file_path(world, "y"),
                                NULL, &err));
    FILE_FAILS(ALINEO_PERMISSION_DENIED,
               alineo_file_symlink(world->sandbox, file_path(world, "closed/l"), "x", NULL, &err));
    FILE_FAILS(ALINEO_PERMISSION_DENIED,
               alineo_file_chmod(world->sandbox, "/etc/passwd", 0666, NULL, &err));
    FILE_FAILS(
        ALINEO_PERMISSION_DENIED,
        alineo_file_chown(world->sandbox, file_path(world, "closed/x"), "0", NULL, NULL, &err));
    FILE_FAILS(ALINEO_PERMISSION_DENIED,
               alineo_file_replace(world->sandbox, file_path(world, "closed/x"), "t", 1, "T", 1,
                                   NULL, &count, &err));
    file_holds(world, "closed/x", "text", 4);
}

static int32_t collect(void *user, const alineo_file_info *info) {
    assert_int_equal(al_strv_append(user, info->path), 0);
    return 0;
}

static void a_list_that_is_not_whole_is_denied_and_a_search_passes_over(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    al_strv paths = AL_STRV_INIT;
    alineo_file_list_options all = ALINEO_FILE_LIST_OPTIONS_INIT;
    all.depth = UINT32_MAX;
    make_closed(world);
    FILE_FAILS(ALINEO_PERMISSION_DENIED,
               alineo_file_list(world->sandbox, file_path(world, "closed/dark"), NULL, collect,
                                &paths, &err));
    assert_int_equal(paths.count, 0);
    FILE_FAILS(
        ALINEO_PERMISSION_DENIED,
        alineo_file_list(world->sandbox, file_path(world, "closed"), &all, collect, &paths, &err));
    assert_int_equal(paths.count, 3);
    al_strv_free(&paths);
    FILE_OK(alineo_file_search(world->sandbox, "*", file_path(world, "closed"), NULL, collect,
                               &paths, &err));
    assert_int_equal(paths.count, 2);
    al_strv_free(&paths);
    FILE_FAILS(ALINEO_PERMISSION_DENIED,
               alineo_file_stat(world->sandbox, file_path(world, "closed/dark/in"), NULL, collect,
                                &paths, &err));
}

static void entries_that_cannot_be_looked_at_are_denied(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    al_strv paths = AL_STRV_INIT;
    assert_int_equal(mkdir(file_path(world, "d"), 0755), 0);
    assert_int_equal(mkdir(file_path(world, "d/names"), 0755), 0);
    file_put(world, "d/names/x", "", 0, 0644);
    assert_int_equal(chmod(file_path(world, "d/names"), 0444), 0);
    alineo_file_list_options all = ALINEO_FILE_LIST_OPTIONS_INIT;
    all.depth = UINT32_MAX;
    FILE_FAILS(ALINEO_PERMISSION_DENIED, alineo_file_list(world->sandbox, file_path(world, "d"),
                                                          &all, collect, &paths, &err));
    al_strv_free(&paths);
}

static void copies_are_denied(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    make_closed(world);
    FILE_FAILS(ALINEO_PERMISSION_DENIED,
               alineo_file_download(world->sandbox, file_path(world, "closed"),
                                    file_path(world, "copy"), NULL, NULL, &err));
    FILE_FAILS(ALINEO_PERMISSION_DENIED,
               alineo_file_download(world->sandbox, file_path(world, "closed/x"),
                                    file_path(world, "closed/y"), NULL, NULL, &err));
    FILE_FAILS(ALINEO_PERMISSION_DENIED,
               alineo_file_upload(world->sandbox, file_path(world, "closed/secret"),
                                  file_path(world, "copy2"), NULL, NULL, &err));
    FILE_FAILS(ALINEO_PERMISSION_DENIED,
               alineo_file_upload(world->sandbox, file_path(world, "closed"),
                                  file_path(world, "copy3"), NULL, NULL, &err));
    assert_false(file_is_there(world, "copy2"));
}

int main(void) {
    if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
                           setresuid(NOBODY, NOBODY, NOBODY) != 0)) {
        perror("become somebody else");
        return 1;
    }
    const struct CMUnitTest tests[] = {
        FILE_TEST(reading_and_writing_are_denied),
        FILE_TEST(changes_are_denied),
        FILE_TEST(a_list_that_is_not_whole_is_denied_and_a_search_passes_over),
        FILE_TEST(entries_that_cannot_be_looked_at_are_denied),
        FILE_TEST(copies_are_denied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
