/* SPDX-License-Identifier: Apache-2.0 */
/* test: tsan timeout=300 */
/* Changes of files and looking at them, by commands in the sandbox. */
#include "support/file_world.h"

#include "core/util/str.h"
#include "core/util/strv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const alineo_file_change_options defaults = ALINEO_FILE_CHANGE_OPTIONS_INIT;

/* --- folders ---------------------------------------------------------------------------------- */

static void folders_are_made_with_those_above(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    alineo_file_change_options options = defaults;
    FILE_OK(alineo_file_mkdir(world->sandbox, file_path(world, "a/b"), NULL, &err));
    assert_int_equal(file_mode(world, "a/b"), 0755);
    options.mode = 0700;
    FILE_OK(alineo_file_mkdir(world->sandbox, file_path(world, "a/b"), &options, &err));
    assert_int_equal(file_mode(world, "a/b"), 0755); /* it was there */
    FILE_OK(alineo_file_mkdir(world->sandbox, file_path(world, "a/c/d"), &options, &err));
    assert_int_equal(file_mode(world, "a/c/d"), 0700);
    assert_int_equal(file_mode(world, "a/c"), 0755);
    assert_int_equal(file_mode(world, "a"), 0755);
    options.mode = 01777;
    FILE_OK(alineo_file_mkdir(world->sandbox, file_path(world, "sticky/"), &options, &err));
    assert_int_equal(file_mode(world, "sticky"), 01777);
    FILE_OK(alineo_file_mkdir(world->sandbox, "/tmp", &options, &err));
}

static void a_folder_is_made_once_without_parents(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    alineo_file_change_options options = defaults;
    options.parents = ALINEO_NO;
    FILE_OK(alineo_file_mkdir(world->sandbox, file_path(world, "a"), &options, &err));
    FILE_FAILS(ALINEO_FILE_EXISTS,
               alineo_file_mkdir(world->sandbox, file_path(world, "a"), &options, &err));
    FILE_FAILS(ALINEO_FILE_NOT_FOUND,
               alineo_file_mkdir(world->sandbox, file_path(world, "x/y"), &options, &err));
    file_put(world, "f", "", 0, 0600);
    FILE_FAILS(ALINEO_FILE_EXISTS,
               alineo_file_mkdir(world->sandbox, file_path(world, "f"), &options, &err));
    FILE_FAILS(ALINEO_NOT_A_DIRECTORY,
               alineo_file_mkdir(world->sandbox, file_path(world, "f/x"), &options, &err));
    FILE_FAILS(ALINEO_NOT_A_DIRECTORY,
               alineo_file_mkdir(world->sandbox, file_path(world, "f"), NULL, &err));
    FILE_FAILS(ALINEO_NOT_A_DIRECTORY,
               alineo_file_mkdir(world->sandbox, file_path(world, "f/x/y"), NULL, &err));
}

static void files_and_folders_are_removed_by_their_own_calls(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    alineo_file_change_options options = defaults;
    options.recursive = ALINEO_NO;
    assert_int_equal(mkdir(file_path(world, "d"), 0700), 0);
    assert_int_equal(mkdir(file_path(world, "d/e"), 0700), 0);
    file_put(world, "d/x", "", 0, 0400);
    assert_int_equal(symlink("d", file_path(world, "link")), 0);
    FILE_FAILS(ALINEO_IS_A_DIRECTORY,
               alineo_file_remove(world->sandbox, file_path(world, "d"), NULL, &err));
    FILE_FAILS(ALINEO_NOT_A_DIRECTORY,
               alineo_file_rmdir(world->sandbox, file_path(world, "d/x"), NULL, &err));
    FILE_FAILS(ALINEO_NOT_A_DIRECTORY,
               alineo_file_rmdir(world->sandbox, file_path(world, "link"), NULL, &err));
    FILE_FAILS(ALINEO_NOT_A_DIRECTORY,
               alineo_file_rmdir(world->sandbox, file_path(world, "link/"), NULL, &err));
    FILE_FAILS(ALINEO_DIRECTORY_NOT_EMPTY,
               alineo_file_rmdir(world->sandbox, file_path(world, "d"), &options, &err));
    assert_true(file_is_there(world, "d/x"));
    FILE_OK(alineo_file_rmdir(world->sandbox, file_path(world, "d/e"), &options, &err));
    FILE_OK(alineo_file_remove(world->sandbox, file_path(world, "d/x"), NULL, &err));
    FILE_OK(alineo_file_rmdir(world->sandbox, file_path(world, "d"), &options, &err));
    FILE_OK(alineo_file_remove(world->sandbox, file_path(world, "link"), NULL, &err));
    FILE_FAILS(ALINEO_FILE_NOT_FOUND,
               alineo_file_remove(world->sandbox, file_path(world, "link"), NULL, &err));
    FILE_FAILS(ALINEO_FILE_NOT_FOUND,
               alineo_file_rmdir(world->sandbox, file_path(world, "d"), NULL, &err));
    FILE_FAILS(ALINEO_FILE_NOT_FOUND,
               alineo_file_rmdir(world->sandbox, file_path(world, "d"), &options, &err));
    assert_int_equal(file_count(world), 0);
}

static void a_tree_is_removed_and_what_its_links_lead_to_stays(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    assert_int_equal(mkdir(file_path(world, "keep"), 0700), 0);
    file_put(world, "keep/x", "x", 1, 0600);
    assert_int_equal(mkdir(file_path(world, "d"), 0700), 0);
    assert_int_equal(mkdir(file_path(world, "d/e"), 0700), 0);
    file_put(world, "d/e/f", "", 0, 0400);
    assert_int_equal(symlink("../keep", file_path(world, "d/link")), 0);
    FILE_OK(alineo_file_rmdir(world->sandbox, file_path(world, "d/"), NULL, &err));
    assert_false(file_is_there(world, "d"));
    file_holds(world, "keep/x", "x", 1);
    FILE_FAILS(ALINEO_INVALID_ARGUMENT, alineo_file_rmdir(world->sandbox, "/", NULL, &err));
    FILE_FAILS(ALINEO_INVALID_ARGUMENT, alineo_file_rmdir(world->sandbox, "//", NULL, &err));
    FILE_FAILS(ALINEO_INVALID_ARGUMENT,
               alineo_file_rmdir(world->sandbox, file_path(world, "keep/."), NULL, &err));
    FILE_FAILS(ALINEO_INVALID_ARGUMENT,
               alineo_file_rmdir(world->sandbox, file_path(world, "keep/../"), NULL, &err));
    file_holds(world, "keep/x", "x", 1);
}

/* --- moving ----------------------------------------------------------------------------------- */

static void a_move_gives_the_new_name_itself(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    file_put(world, "x", "x", 1, 0604);
    FILE_OK(alineo_file_move(world->sandbox, file_path(world, "x"), file_path(world, "n/e/w"), NULL,
                             &err));
    file_holds(world, "n/e/w", "x", 1);
    assert_int_equal(file_mode(world, "n/e/w"), 0604);
    assert_false(file_is_there(world, "x"));
    FILE_OK(
        alineo_file_move(world->sandbox, file_path(world, "n"), file_path(world, "m"), NULL, &err));
    file_holds(world, "m/e/w", "x", 1);
    /* A folder of that name is no folder to move into. */
    file_put(world, "y", "y", 1, 0600);
    assert_int_equal(mkdir(file_path(world, "d"), 0700), 0);
    FILE_FAILS(ALINEO_FILE_EXISTS, alineo_file_move(world->sandbox, file_path(world, "y"),
                                                    file_path(world, "d"), NULL, &err));
    FILE_FAILS(ALINEO_FILE_EXISTS, alineo_file_move(world->sandbox, file_path(world, "y"),
                                                    file_path(world, "d/"), NULL, &err));
    FILE_FAILS(ALINEO_FILE_NOT_FOUND, alineo_file_move(world->sandbox, file_path(world, "no"),
                                                       file_path(world, "z"), NULL, &err));
    FILE_FAILS(ALINEO_INVALID_ARGUMENT, alineo_file_move(world->sandbox, file_path(world, "m"),
                                                         file_path(world, "m/e/in"), NULL, &err));
    alineo_file_change_options options = defaults;
    options.parents = ALINEO_NO;
    FILE_FAILS(ALINEO_FILE_NOT_FOUND, alineo_file_move(world->sandbox, file_path(world, "y"),
                                                       file_path(world, "no/z"), &options, &err));
    FILE_FAILS(ALINEO_NOT_A_DIRECTORY, alineo_file_move(world->sandbox, file_path(world, "m"),
                                                        file_path(world, "y/z"), &options, &err));
    assert_int_equal(file_count(world), 3);
}

static void a_link_is_moved_and_not_followed(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    assert_int_equal(mkdir(file_path(world, "d"), 0700), 0);
    assert_int_equal(symlink("d", file_path(world, "link")), 0);
    assert_int_equal(symlink("nowhere", file_path(world, "dangling")), 0);
    FILE_OK(alineo_file_move(world->sandbox, file_path(world, "link/"), file_path(world, "link2"),
                             NULL, &err));
    FILE_OK(alineo_file_move(world->sandbox, file_path(world, "dangling"),
                             file_path(world, "dangling2"), NULL, &err));
    struct stat status;
    assert_int_equal(lstat(file_path(world, "link2"), &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_true(file_is_there(world, "dangling2"));
    assert_int_equal(file_count(world), 3);
}

static void a_move_takes_a_place_only_when_told_so(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    alineo_file_change_options options = defaults;
    options.replace = ALINEO_YES;
    file_put(world, "x", "x", 1, 0600);
    file_put(world, "y", "y", 1, 0600);
    FILE_FAILS(ALINEO_FILE_EXISTS, alineo_file_move(world->sandbox, file_path(world, "x"),
                                                    file_path(world, "y"), NULL, &err));
    FILE_OK(alineo_file_move(world->sandbox, file_path(world, "x"), file_path(world, "y"), &options,
                             &err));
    file_holds(world, "y", "x", 1);
    assert_int_equal(mkdir(file_path(world, "d"), 0700), 0);
    assert_int_equal(mkdir(file_path(world, "e"), 0700), 0);
    file_put(world, "d/x", "x", 1, 0600);
    FILE_FAILS(ALINEO_IS_A_DIRECTORY, alineo_file_move(world->sandbox, file_path(world, "y"),
                                                       file_path(world, "d"), &options, &err));
    FILE_FAILS(ALINEO_NOT_A_DIRECTORY, alineo_file_move(world->sandbox, file_path(world, "d"),
                                                        file_path(world, "y"), &options, &err));
    FILE_FAILS(ALINEO_DIRECTORY_NOT_EMPTY, alineo_file_move(world->sandbox, file_path(world, "e"),
                                                            file_path(world, "d"), &options, &err));
    FILE_OK(alineo_file_move(world->sandbox, file_path(world, "d"), file_path(world, "e"), &options,
                             &err));
    file_holds(world, "e/x", "x", 1);
    /* The same file by another name of it. */
    FILE_OK(alineo_file_move(world->sandbox, file_path(world, "e"), file_path(world, "./e"),
                             &options, &err));
    file_holds(world, "e/x", "x", 1);
    assert_int_equal(mkdir(file_path(world, "empty"), 0700), 0);
    FILE_OK(alineo_file_move(world->sandbox, file_path(world, "empty"), file_path(world, "empty"),
                             &options, &err));
    assert_true(file_is_there(world, "empty"));
    /* A link to a folder gives its place, not the folder's. */
    assert_int_equal(symlink("e", file_path(world, "link")), 0);
    FILE_OK(alineo_file_move(world->sandbox, file_path(world, "y"), file_path(world, "link"),
                             &options, &err));
    file_holds(world, "link", "x", 1);
    assert_false(file_is_there(world, "e/y"));
}

/* --- attributes and links --------------------------------------------------------------------- */

static void modes_and_owners_are_set(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    struct stat status;
    file_put(world, "x", "", 0, 0600);
    assert_int_equal(mkdir(file_path(world, "d"), 02755), 0);
    assert_int_equal(chmod(file_path(world, "d"), 02755), 0);
    assert_int_equal(symlink("x", file_path(world, "link")), 0);
    assert_int_equal(symlink("nowhere", file_path(world, "dangling")), 0);
    FILE_OK(alineo_file_chmod(world->sandbox, file_path(world, "link"), 04711, NULL, &err));
    assert_int_equal(file_mode(world, "x"), 04711);
    FILE_OK(alineo_file_chmod(world->sandbox, file_path(world, "x"), 0, NULL, &err));
    assert_int_equal(file_mode(world, "x"), 0);
    FILE_OK(alineo_file_chmod(world->sandbox, file_path(world, "d"), 0755, NULL, &err));
    assert_int_equal(file_mode(world, "d"), 0755);
    FILE_FAILS(ALINEO_FILE_NOT_FOUND,
               alineo_file_chmod(world->sandbox, file_path(world, "dangling"), 0600, NULL, &err));
    FILE_FAILS(ALINEO_FILE_NOT_FOUND,
               alineo_file_chmod(world->sandbox, file_path(world, "no"), 0600, NULL, &err));
    FILE_FAILS(ALINEO_INVALID_ARGUMENT,
               alineo_file_chmod(world->sandbox, file_path(world, "x"), 010000, NULL, &err));

    if (geteuid() != 0)
        return;
    FILE_OK(alineo_file_chown(world->sandbox, file_path(world, "link"), "1234", NULL, NULL, &err));
    assert_int_equal(stat(file_path(world, "x"), &status), 0);
    assert_int_equal(status.st_uid, 1234);
    assert_int_equal(status.st_gid, 0);
    FILE_OK(alineo_file_chown(world->sandbox, file_path(world, "x"), NULL, "77", NULL, &err));
    FILE_OK(alineo_file_chown(world->sandbox, file_path(world, "x"), "root", NULL, NULL, &err));
    assert_int_equal(stat(file_path(world, "x"), &status), 0);
    assert_int_equal(status.st_uid, 0);
    assert_int_equal(status.st_gid, 77);
    FILE_FAILS(ALINEO_INVALID_ARGUMENT, alineo_file_chown(world->sandbox, file_path(world, "x"),
                                                          "nobody-knows", NULL, NULL, &err));
    FILE_FAILS(ALINEO_INVALID_ARGUMENT, alineo_file_chown(world->sandbox, file_path(world, "x"),
                                                          NULL, "nobody-knows", NULL, &err));
    FILE_FAILS(ALINEO_FILE_NOT_FOUND,
               alineo_file_chown(world->sandbox, file_path(world, "no"), "0", "0", NULL, &err));
    static const char *const odd[] = {"", "a:b", "-R", "+x", "a b"};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
        FILE_FAILS(ALINEO_INVALID_ARGUMENT, alineo_file_chown(world->sandbox, file_path(world, "x"),
                                                              odd[i], NULL, NULL, &err));
    FILE_FAILS(ALINEO_INVALID_ARGUMENT,
               alineo_file_chown(world->sandbox, file_path(world, "x"), NULL, NULL, NULL, &err));
}

static void links_hold_any_text(void **state) {
    file_world *world = *state;
    static const char *const targets[] = {"x", "/etc/passwd", "-rf", "$HOME", "a\nb", "'", " -> "};
    alineo_error *err = NULL;
    char text[256];
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        FILE_OK(alineo_file_symlink(world->sandbox, file_path(world, "n/link"), targets[i], NULL,
                                    &err));
        ssize_t size = readlink(file_path(world, "n/link"), text, sizeof(text) - 1);
        assert_int_equal(size, strlen(targets[i]));
        assert_memory_equal(text, targets[i], (size_t)size);
        FILE_FAILS(
            ALINEO_FILE_EXISTS,
            alineo_file_symlink(world->sandbox, file_path(world, "n/link"), "y", NULL, &err));
        assert_int_equal(unlink(file_path(world, "n/link")), 0);
    }
    FILE_FAILS(ALINEO_FILE_EXISTS,
               alineo_file_symlink(world->sandbox, file_path(world, "n"), "y", NULL, &err));
    FILE_FAILS(ALINEO_INVALID_ARGUMENT,
               alineo_file_symlink(world->sandbox, file_path(world, "x"), "", NULL, &err));
    assert_int_equal(file_count(world), 1);
}

/* --- looking ---------------------------------------------------------------------------------- */

typedef struct seen {
    al_strv paths;
    al_strv targets;
    alineo_file_info last; /* its texts are gone */
    char owner[64];
    size_t stop_at;
} seen;

static int32_t see(void *user, const alineo_file_info *info) {
    seen *self = user;
    assert_int_equal(al_strv_append(&self->paths, info->path), 0);
    assert_int_equal(
        al_strv_append(&self->targets, info->link_target != NULL ? info->link_target : ""), 0);
    self->last = *info;
    (void)snprintf(self->owner, sizeof(self->owner), "%s", info->owner);
    return self->paths.count == self->stop_at;
}

static void seen_clear(seen *self) {
    al_strv_free(&self->paths);
    al_strv_free(&self->targets);
}

static void all_is_told_of_a_file(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    seen info = {.stop_at = 0};
    struct stat status;
    file_put(world, "a\nb'", "12345", 5, 04640);
    assert_int_equal(chown(file_path(world, "a\nb'"), 0, 54321), 0);
    assert_int_equal(chmod(file_path(world, "a\nb'"), 04640), 0);
    assert_int_equal(stat(file_path(world, "a\nb'"), &status), 0);
    FILE_OK(alineo_file_stat(world->sandbox, file_path(world, "a\nb'"), NULL, see, &info, &err));
    assert_int_equal(info.paths.count, 1);
    assert_string_equal(info.paths.items[0], file_path(world, "a\nb'"));
    assert_int_equal(info.last.type, ALINEO_FILE_REGULAR);
    assert_int_equal(info.last.mode, 04640);
    assert_int_equal(info.last.bytes, 5);
    assert_int_equal(info.last.modified_at_ms,
                     (int64_t)status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1000000);
    assert_string_equal(info.owner, "root");
    seen_clear(&info);

    static const char *const targets[] = {"to ' -> 'x", "a\nb", "'q'", "plain"};
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        info = (seen){.stop_at = 0};
        assert_int_equal(symlink(targets[i], file_path(world, "l'")), 0);
        FILE_OK(alineo_file_stat(world->sandbox, file_path(world, "l'"), NULL, see, &info, &err));
        assert_int_equal(info.last.type, ALINEO_FILE_SYMLINK);
        assert_string_equal(info.targets.items[0], targets[i]);
        seen_clear(&info);
        assert_int_equal(unlink(file_path(world, "l'")), 0);
    }
    info = (seen){.stop_at = 0};
    FILE_OK(alineo_file_stat(world->sandbox, "/", NULL, see, &info, &err));
    assert_int_equal(info.last.type, ALINEO_FILE_DIRECTORY);
    FILE_OK(alineo_file_stat(world->sandbox, "/dev/null", NULL, see, &info, &err));
    assert_int_equal(info.last.type, ALINEO_FILE_OTHER);
    FILE_FAILS(ALINEO_FILE_NOT_FOUND,
               alineo_file_stat(world->sandbox, file_path(world, "no"), NULL, see, &info, &err));
    FILE_FAILS(ALINEO_NOT_A_DIRECTORY, alineo_file_stat(world->sandbox, file_path(world, "a\nb'/x"),
                                                        NULL, see, &info, &err));
    seen_clear(&info);
}

static void make_tree(file_world *world) {
    assert_int_equal(mkdir(file_path(world, "t"), 0700), 0);
    assert_int_equal(mkdir(file_path(world, "t/d"), 0700), 0);
    assert_int_equal(mkdir(file_path(world, "t/d/e"), 0700), 0);
    file_put(world, "t/a.txt", "a", 1, 0600);
    file_put(world, "t/.b.txt", "b", 1, 0600);
    file_put(world, "t/d/new\nline.txt", "c", 1, 0600);
    file_put(world, "t/d/e/f.c", "d", 1, 0600);
    assert_int_equal(symlink("d", file_path(world, "t/link")), 0);
}

/* Asserts that the paths are those, in any order. */
static void are(file_world *world, seen *info, const char *const *names) {
    size_t count = 0;
    for (; names[count] != NULL; count++)
        if (!al_strv_has(&info->paths, file_path(world, names[count])))
            fail_msg("%s was not told of", names[count]);
    assert_int_equal(info->paths.count, count);
    seen_clear(info);
    *info = (seen){.stop_at = 0};
}

static void a_folder_is_listed_as_deep_as_asked_for(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    seen info = {.stop_at = 0};
    alineo_file_list_options options = ALINEO_FILE_LIST_OPTIONS_INIT;
    make_tree(world);
    const char *const first[] = {"t/d", "t/a.txt", "t/.b.txt", "t/link", NULL};
    FILE_OK(alineo_file_list(world->sandbox, file_path(world, "t"), NULL, see, &info, &err));
    are(world, &info, first);
    FILE_OK(alineo_file_list(world->sandbox, file_path(world, "t//"), NULL, see, &info, &err));
    are(world, &info, first);
    options.depth = 2;
    const char *const second[] = {"t/d",   "t/a.txt",           "t/.b.txt", "t/link",
                                  "t/d/e", "t/d/new\nline.txt", NULL};
    FILE_OK(alineo_file_list(world->sandbox, file_path(world, "t"), &options, see, &info, &err));
    are(world, &info, second);
    options.depth = UINT32_MAX;
    const char *const all[] = {"t/d",   "t/a.txt",           "t/.b.txt",  "t/link",
                               "t/d/e", "t/d/new\nline.txt", "t/d/e/f.c", NULL};
    FILE_OK(alineo_file_list(world->sandbox, file_path(world, "t"), &options, see, &info, &err));
    size_t folder = 0;
    size_t inside = 0;
    for (size_t i = 0; i < info.paths.count; i++) {
        folder = strcmp(info.paths.items[i], file_path(world, "t/d/e")) == 0 ? i : folder;
        inside = strcmp(info.paths.items[i], file_path(world, "t/d/e/f.c")) == 0 ? i : inside;
    }
    assert_true(folder < inside);
    are(world, &info, all);
    const char *const by_link[] = {"t/link/e", "t/link/new\nline.txt", NULL};
    FILE_OK(alineo_file_list(world->sandbox, file_path(world, "t/link"), NULL, see, &info, &err));
    are(world, &info, by_link);
    info.stop_at = 2;
    FILE_OK(alineo_file_list(world->sandbox, file_path(world, "t"), &options, see, &info, &err));
    assert_int_equal(info.paths.count, 2);
    seen_clear(&info);
}

static void lists_of_what_is_no_folder_fail(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    seen info = {.stop_at = 0};
    file_put(world, "f", "", 0, 0600);
    assert_int_equal(mkdir(file_path(world, "empty"), 0700), 0);
    FILE_FAILS(ALINEO_NOT_A_DIRECTORY,
               alineo_file_list(world->sandbox, file_path(world, "f"), NULL, see, &info, &err));
    FILE_FAILS(ALINEO_FILE_NOT_FOUND,
               alineo_file_list(world->sandbox, file_path(world, "no"), NULL, see, &info, &err));
    FILE_FAILS(
        ALINEO_FILE_NOT_FOUND,
        alineo_file_search(world->sandbox, "*", file_path(world, "no"), NULL, see, &info, &err));
    FILE_OK(alineo_file_list(world->sandbox, file_path(world, "empty"), NULL, see, &info, &err));
    assert_int_equal(info.paths.count, 0);
}

static void many_entries_are_told_of_each_once(void **state) {
    file_world *world = *state;
    enum {
        COUNT = 3000
    };
    alineo_error *err = NULL;
    seen info = {.stop_at = 0};
    char name[128];
    assert_int_equal(mkdir(file_path(world, "many"), 0700), 0);
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(name, sizeof(name), "many/%060d", i);
        file_put(world, name, "", 0, 0600);
    }
    FILE_OK(alineo_file_list(world->sandbox, file_path(world, "many"), NULL, see, &info, &err));
    assert_int_equal(info.paths.count, COUNT);
    al_strv_sort(&info.paths);
    for (size_t i = 1; i < info.paths.count; i++)
        assert_string_not_equal(info.paths.items[i - 1], info.paths.items[i]);
    seen_clear(&info);
}

static void files_are_searched_for_by_pattern(void **state) {
    file_world *world = *state;
    static const struct {
        const char *pattern;
        const char *found[4];
    } searches[] = {
        {"*.txt", {"t/a.txt", "t/.b.txt", "t/d/new\nline.txt"}},
        {"?.c", {"t/d/e/f.c"}},
        {"[a-e].txt", {"t/a.txt"}},
        {"[!a]*.txt", {"t/.b.txt", "t/d/new\nline.txt"}},
        {"\\a.txt", {"t/a.txt"}},
        {"*/d/*.txt", {"t/d/new\nline.txt"}},
        {"*/e/[f].c", {"t/d/e/f.c"}},
        {"d", {NULL}},
        {"link", {NULL}},
    };
    alineo_error *err = NULL;
    seen info = {.stop_at = 0};
    make_tree(world);
    for (size_t i = 0; i < sizeof(searches) / sizeof(searches[0]); i++) {
        FILE_OK(alineo_file_search(world->sandbox, searches[i].pattern, file_path(world, "t"), NULL,
                                   see, &info, &err));
        are(world, &info, searches[i].found);
    }
    FILE_FAILS(ALINEO_INVALID_ARGUMENT,
               alineo_file_search(world->sandbox, "", "/", NULL, see, &info, &err));
}

static int32_t see_passwd(void *user, const alineo_file_info *info) {
    *(bool *)user = strcmp(info->path, "/etc/passwd") == 0;
    return *(bool *)user;
}

static int32_t see_kernel_files(void *user, const alineo_file_info *info) {
    if (al_str_starts(info->path, "/proc/") || al_str_starts(info->path, "/sys/"))
        *(bool *)user = true;
    return 0;
}

static void a_search_begins_at_the_root_and_what_the_kernel_makes_up_is_left_out(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    bool is_told = false;
    FILE_OK(alineo_file_search(world->sandbox, "passwd", NULL, NULL, see_passwd, &is_told, &err));
    assert_true(is_told);
    is_told = false;
    alineo_file_list_options options = ALINEO_FILE_LIST_OPTIONS_INIT;
    options.depth = 2;
    FILE_OK(alineo_file_list(world->sandbox, "/", &options, see_kernel_files, &is_told, &err));
    assert_false(is_told);
    FILE_OK(alineo_file_list(world->sandbox, "/proc", NULL, see_kernel_files, &is_told, &err));
    assert_true(is_told);
}

/* --- replacing -------------------------------------------------------------------------------- */

static uint64_t replace(file_world *world, const char *name, const char *find, const char *with) {
    alineo_error *err = NULL;
    uint64_t count = 99;
    FILE_OK(alineo_file_replace(world->sandbox, file_path(world, name), find, strlen(find), with,
                                strlen(with), NULL, &count, &err));
    return count;
}

static void text_is_replaced_and_counted(void **state) {
    file_world *world = *state;
    file_put(world, "x", "one two one\none", 15, 0640);
    if (geteuid() == 0)
        assert_int_equal(chown(file_path(world, "x"), 12, 34), 0);
    assert_int_equal(symlink("x", file_path(world, "link")), 0);
    assert_int_equal(replace(world, "link", "one", "three"), 3);
    file_holds(world, "x", "three two three\nthree", 21);
    assert_int_equal(file_mode(world, "x"), 0640);
    struct stat status;
    assert_int_equal(lstat(file_path(world, "link"), &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(stat(file_path(world, "x"), &status), 0);
    if (geteuid() == 0)
        assert_true(status.st_uid == 12 && status.st_gid == 34);
    assert_int_equal(replace(world, "x", "three", ""), 3);
    file_holds(world, "x", " two \n", 6);
    assert_int_equal(file_count(world), 2);
}

static void without_an_occurrence_the_file_is_untouched(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    uint64_t count = 7;
    struct stat before;
    struct stat after;
    file_put(world, "x", "text", 4, 0600);
    file_put(world, "empty", "", 0, 0600);
    assert_int_equal(stat(file_path(world, "x"), &before), 0);
    assert_int_equal(replace(world, "x", "absent", "y"), 0);
    assert_int_equal(replace(world, "empty", "a", "y"), 0);
    FILE_FAILS(ALINEO_INVALID_ARGUMENT, alineo_file_replace(world->sandbox, file_path(world, "x"),
                                                            "", 0, "x", 1, NULL, &count, &err));
    FILE_FAILS(ALINEO_FILE_NOT_FOUND, alineo_file_replace(world->sandbox, file_path(world, "no"),
                                                          "a", 1, "x", 1, NULL, &count, &err));
    FILE_FAILS(ALINEO_IS_A_DIRECTORY, alineo_file_replace(world->sandbox, world->folder.path, "a",
                                                          1, "x", 1, NULL, &count, &err));
    assert_int_equal(count, 7);
    assert_int_equal(stat(file_path(world, "x"), &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
    assert_int_equal(file_count(world), 2);
}

static void large_files_are_replaced_in(void **state) {
    file_world *world = *state;
    enum {
        SIZE = 3 << 20
    };
    alineo_error *err = NULL;
    uint64_t count = 0;
    char *data = calloc(1, SIZE);
    assert_non_null(data);
    for (size_t i = 0; i + 3 < SIZE; i += 65535)
        memcpy(data + i, "\1\2\3", 3);
    file_put(world, "x", data, SIZE, 0600);
    FILE_OK(alineo_file_replace(world->sandbox, file_path(world, "x"), "\1\2\3", 3, "\4\5\6", 3,
                                NULL, &count, &err));
    assert_int_equal(count, (SIZE - 4) / 65535 + 1);
    for (size_t i = 0; i + 3 < SIZE; i += 65535)
        memcpy(data + i, "\4\5\6", 3);
    file_holds(world, "x", data, SIZE);
    free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FILE_TEST(folders_are_made_with_those_above),
        FILE_TEST(a_folder_is_made_once_without_parents),
        FILE_TEST(files_and_folders_are_removed_by_their_own_calls),
        FILE_TEST(a_tree_is_removed_and_what_its_links_lead_to_stays),
        FILE_TEST(a_move_gives_the_new_name_itself),
        FILE_TEST(a_link_is_moved_and_not_followed),
        FILE_TEST(a_move_takes_a_place_only_when_told_so),
        FILE_TEST(modes_and_owners_are_set),
        FILE_TEST(links_hold_any_text),
        FILE_TEST(all_is_told_of_a_file),
        FILE_TEST(a_folder_is_listed_as_deep_as_asked_for),
        FILE_TEST(lists_of_what_is_no_folder_fail),
        FILE_TEST(many_entries_are_told_of_each_once),
        FILE_TEST(files_are_searched_for_by_pattern),
        FILE_TEST(a_search_begins_at_the_root_and_what_the_kernel_makes_up_is_left_out),
        FILE_TEST(text_is_replaced_and_counted),
        FILE_TEST(without_an_occurrence_the_file_is_untouched),
        FILE_TEST(large_files_are_replaced_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
