/* SPDX-License-Identifier: Apache-2.0 */
/* Folders, moves, links, modes, lists, searches, replacements, copies. */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a case works on; paths are valid until five more were asked for. */
typedef struct place {
    contract *c;
    alineo_sandbox *sandbox;
    char *folder;
    alineo_error *err;
    char paths[6][512];
    unsigned turn;
} place;

static void place_open(contract *c, place *self) {
    *self = (place){.c = c, .sandbox = contract_sandbox(c)};
    self->folder = contract_folder(c, self->sandbox);
}

static void place_close(place *self) {
    free(self->folder);
}

static const char *at(place *self, const char *name) {
    char *path = self->paths[self->turn++ % 6];
    snprintf(path, sizeof(self->paths[0]), "%s/%s", self->folder, name);
    return path;
}

#define OK(self, call) CHECK_OK((self)->c, call, (self)->err)
#define FAILS(self, code, call) CHECK_CODE((self)->c, code, call, (self)->err)

static void put(place *self, const char *name, const char *text) {
    OK(self,
       alineo_file_write(self->sandbox, at(self, name), text, strlen(text), NULL, &self->err));
}

static void holds(place *self, const char *name, const char *text) {
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    OK(self, alineo_file_read(self->sandbox, at(self, name), NULL, &bytes, &self->err));
    CHECK_SAYING(self->c,
                 bytes.data_size == strlen(text) &&
                     (bytes.data_size == 0 || memcmp(bytes.data, text, bytes.data_size) == 0),
                 "%s holds \"%.40s\", not \"%s\"", name, bytes.data != NULL ? bytes.data : "",
                 text);
    alineo_bytes_clear(&bytes);
}

/* --- what is told of one ---------------------------------------------------------------------- */

typedef struct told {
    int count;
    alineo_file_info info; /* its texts are gone, but for these */
    char owner[64];
    char target[256];
} told;

static int32_t hear(void *user, const alineo_file_info *info) {
    told *self = user;
    self->count++;
    self->info = *info;
    snprintf(self->owner, sizeof(self->owner), "%s", info->owner != NULL ? info->owner : "");
    snprintf(self->target, sizeof(self->target), "%s",
             info->link_target != NULL ? info->link_target : "");
    return 0;
}

static told look_at(place *self, const char *name) {
    told heard = {.count = 0};
    OK(self, alineo_file_stat(self->sandbox, at(self, name), NULL, hear, &heard, &self->err));
    CHECK_SAYING(self->c, heard.count == 1, "%d files were told of at %s", heard.count, name);
    return heard;
}

static void is_gone(place *self, const char *name) {
    told heard = {.count = 0};
    FAILS(self, ALINEO_FILE_NOT_FOUND,
          alineo_file_stat(self->sandbox, at(self, name), NULL, hear, &heard, &self->err));
}

static void a_file_is_told_of_with_its_type_size_mode_and_time(contract *c) {
    place self;
    place_open(c, &self);
    put(&self, "x", "12345");
    OK(&self, alineo_file_chmod(self.sandbox, at(&self, "x"), 04751, NULL, &self.err));
    OK(&self, alineo_file_symlink(self.sandbox, at(&self, "link"), "x", NULL, &self.err));
    told heard = look_at(&self, "x");
    CHECK(c, heard.info.type == ALINEO_FILE_REGULAR && heard.info.bytes == 5);
    CHECK_SAYING(c, heard.info.mode == 04751, "the mode is told as 0%o", heard.info.mode);
    CHECK(c, heard.owner[0] != '\0' && heard.info.modified_at_ms > 1000000000000);
    heard = look_at(&self, "link");
    CHECK(c, heard.info.type == ALINEO_FILE_SYMLINK && strcmp(heard.target, "x") == 0);
    heard = look_at(&self, "");
    CHECK(c, heard.info.type == ALINEO_FILE_DIRECTORY);
    is_gone(&self, "no");
    FAILS(&self, ALINEO_NOT_A_DIRECTORY,
          alineo_file_stat(self.sandbox, at(&self, "x/y"), NULL, hear, &heard, &self.err));
    place_close(&self);
}

/* --- changes ---------------------------------------------------------------------------------- */

static void folders_are_made_once_and_stay_as_they_are(contract *c) {
    place self;
    place_open(c, &self);
    alineo_file_change_options options = ALINEO_FILE_CHANGE_OPTIONS_INIT;
    OK(&self, alineo_file_mkdir(self.sandbox, at(&self, "a/b"), NULL, &self.err));
    CHECK(c, look_at(&self, "a/b").info.mode == 0755);
    options.mode = 0700;
    OK(&self, alineo_file_mkdir(self.sandbox, at(&self, "a/b"), &options, &self.err));
    CHECK(c, look_at(&self, "a/b").info.mode == 0755);
    OK(&self, alineo_file_mkdir(self.sandbox, at(&self, "a/c/d"), &options, &self.err));
    CHECK(c, look_at(&self, "a/c/d").info.mode == 0700);
    CHECK(c, look_at(&self, "a/c").info.mode == 0755);
    CHECK(c, look_at(&self, "a").info.mode == 0755);
    options.parents = ALINEO_NO;
    FAILS(&self, ALINEO_FILE_EXISTS,
          alineo_file_mkdir(self.sandbox, at(&self, "a"), &options, &self.err));
    FAILS(&self, ALINEO_FILE_NOT_FOUND,
          alineo_file_mkdir(self.sandbox, at(&self, "n/o"), &options, &self.err));
    put(&self, "f", "");
    FAILS(&self, ALINEO_NOT_A_DIRECTORY,
          alineo_file_mkdir(self.sandbox, at(&self, "f/x"), NULL, &self.err));
    place_close(&self);
}

static void files_and_folders_are_removed_by_their_own_calls(contract *c) {
    place self;
    place_open(c, &self);
    alineo_file_change_options options = ALINEO_FILE_CHANGE_OPTIONS_INIT;
    options.recursive = ALINEO_NO;
    put(&self, "keep/x", "kept");
    put(&self, "d/e/x", "");
    OK(&self, alineo_file_symlink(self.sandbox, at(&self, "d/link"), "../keep", NULL, &self.err));
    FAILS(&self, ALINEO_IS_A_DIRECTORY,
          alineo_file_remove(self.sandbox, at(&self, "d"), NULL, &self.err));
    FAILS(&self, ALINEO_NOT_A_DIRECTORY,
          alineo_file_rmdir(self.sandbox, at(&self, "d/e/x"), NULL, &self.err));
    FAILS(&self, ALINEO_NOT_A_DIRECTORY,
          alineo_file_rmdir(self.sandbox, at(&self, "d/link"), NULL, &self.err));
    FAILS(&self, ALINEO_DIRECTORY_NOT_EMPTY,
          alineo_file_rmdir(self.sandbox, at(&self, "d"), &options, &self.err));
    OK(&self, alineo_file_remove(self.sandbox, at(&self, "d/e/x"), NULL, &self.err));
    OK(&self, alineo_file_rmdir(self.sandbox, at(&self, "d/e"), &options, &self.err));
    put(&self, "d/f/g/h", "");
    OK(&self, alineo_file_rmdir(self.sandbox, at(&self, "d"), NULL, &self.err));
    is_gone(&self, "d");
    holds(&self, "keep/x", "kept");
    FAILS(&self, ALINEO_FILE_NOT_FOUND,
          alineo_file_remove(self.sandbox, at(&self, "no"), NULL, &self.err));
    FAILS(&self, ALINEO_FILE_NOT_FOUND,
          alineo_file_rmdir(self.sandbox, at(&self, "no"), NULL, &self.err));
    place_close(&self);
}

static void a_move_gives_the_new_name_and_takes_a_place_only_when_told_so(contract *c) {
    place self;
    place_open(c, &self);
    alineo_file_change_options options = ALINEO_FILE_CHANGE_OPTIONS_INIT;
    options.replace = ALINEO_YES;
    put(&self, "x", "x");
    put(&self, "y", "y");
    put(&self, "d/in", "in");
    OK(&self, alineo_file_move(self.sandbox, at(&self, "x"), at(&self, "n/e/w"), NULL, &self.err));
    holds(&self, "n/e/w", "x");
    is_gone(&self, "x");
    FAILS(&self, ALINEO_FILE_EXISTS,
          alineo_file_move(self.sandbox, at(&self, "y"), at(&self, "n/e/w"), NULL, &self.err));
    FAILS(&self, ALINEO_FILE_EXISTS,
          alineo_file_move(self.sandbox, at(&self, "y"), at(&self, "d"), NULL, &self.err));
    OK(&self,
       alineo_file_move(self.sandbox, at(&self, "y"), at(&self, "n/e/w"), &options, &self.err));
    holds(&self, "n/e/w", "y");
    FAILS(&self, ALINEO_IS_A_DIRECTORY,
          alineo_file_move(self.sandbox, at(&self, "n/e/w"), at(&self, "d"), &options, &self.err));
    OK(&self, alineo_file_move(self.sandbox, at(&self, "d"), at(&self, "m"), NULL, &self.err));
    holds(&self, "m/in", "in");
    FAILS(&self, ALINEO_FILE_NOT_FOUND,
          alineo_file_move(self.sandbox, at(&self, "no"), at(&self, "z"), NULL, &self.err));
    FAILS(&self, ALINEO_INVALID_ARGUMENT,
          alineo_file_move(self.sandbox, at(&self, "m"), at(&self, "m/z"), NULL, &self.err));
    place_close(&self);
}

static void links_are_followed_for_contents_and_modes_and_not_for_their_own_names(contract *c) {
    place self;
    place_open(c, &self);
    put(&self, "x", "old");
    OK(&self, alineo_file_symlink(self.sandbox, at(&self, "n/link"), "../x", NULL, &self.err));
    put(&self, "n/link", "new");
    holds(&self, "x", "new");
    OK(&self, alineo_file_chmod(self.sandbox, at(&self, "n/link"), 0600, NULL, &self.err));
    CHECK(c, look_at(&self, "x").info.mode == 0600);
    FAILS(&self, ALINEO_FILE_EXISTS,
          alineo_file_symlink(self.sandbox, at(&self, "n/link"), "y", NULL, &self.err));
    OK(&self, alineo_file_remove(self.sandbox, at(&self, "n/link"), NULL, &self.err));
    holds(&self, "x", "new");
    OK(&self, alineo_file_symlink(self.sandbox, at(&self, "dangling"), "nowhere", NULL, &self.err));
    FAILS(&self, ALINEO_FILE_NOT_FOUND,
          alineo_file_chmod(self.sandbox, at(&self, "dangling"), 0600, NULL, &self.err));
    place_close(&self);
}

static void an_owner_that_there_is_none_of_is_refused(contract *c) {
    place self;
    place_open(c, &self);
    put(&self, "x", "");
    FAILS(&self, ALINEO_INVALID_ARGUMENT,
          alineo_file_chown(self.sandbox, at(&self, "x"), "nobody-knows-them", NULL, NULL,
                            &self.err));
    FAILS(&self, ALINEO_FILE_NOT_FOUND,
          alineo_file_chown(self.sandbox, at(&self, "no"), "0", "0", NULL, &self.err));
    /* To whom it belongs already it may be given by everybody. */
    told heard = look_at(&self, "x");
    OK(&self, alineo_file_chown(self.sandbox, at(&self, "x"), heard.owner, NULL, NULL, &self.err));
    place_close(&self);
}

static void text_is_replaced_and_counted(contract *c) {
    place self;
    place_open(c, &self);
    uint64_t count = 99;
    put(&self, "x", "one two one\none");
    OK(&self, alineo_file_chmod(self.sandbox, at(&self, "x"), 0640, NULL, &self.err));
    OK(&self, alineo_file_replace(self.sandbox, at(&self, "x"), "one", 3, "three", 5, NULL, &count,
                                  &self.err));
    CHECK_SAYING(c, count == 3, "%llu were counted", (unsigned long long)count);
    holds(&self, "x", "three two three\nthree");
    CHECK(c, look_at(&self, "x").info.mode == 0640);
    OK(&self, alineo_file_replace(self.sandbox, at(&self, "x"), "absent", 6, "y", 1, NULL, &count,
                                  &self.err));
    CHECK(c, count == 0);
    holds(&self, "x", "three two three\nthree");
    put(&self, "empty", "");
    OK(&self, alineo_file_replace(self.sandbox, at(&self, "empty"), "a", 1, "b", 1, NULL, &count,
                                  &self.err));
    CHECK(c, count == 0);
    FAILS(
        &self, ALINEO_INVALID_ARGUMENT,
        alineo_file_replace(self.sandbox, at(&self, "x"), "", 0, "y", 1, NULL, &count, &self.err));
    FAILS(&self, ALINEO_FILE_NOT_FOUND,
          alineo_file_replace(self.sandbox, at(&self, "no"), "a", 1, "y", 1, NULL, &count,
                              &self.err));
    place_close(&self);
}

/* --- lists ------------------------------------------------------------------------------------ */

typedef struct seen {
    const char *prefix; /* of every path */
    char text[4096];    /* the rest of each, a '|' behind */
} seen;

static int32_t collect(void *user, const alineo_file_info *info) {
    seen *self = user;
    size_t size = strlen(self->prefix);
    size_t used = strlen(self->text);
    const char *rest =
        strncmp(info->path, self->prefix, size) == 0 ? info->path + size : info->path;
    snprintf(self->text + used, sizeof(self->text) - used, "%s|", rest);
    return 0;
}

/* That each of the names is there once, and no more. */
static void are(place *self, const seen *found, const char *const *names) {
    size_t size = 0;
    for (size_t i = 0; names[i] != NULL; i++) {
        char wanted[256];
        int used = snprintf(wanted, sizeof(wanted), "/%s|", names[i]);
        CHECK_SAYING(self->c, strstr(found->text, wanted) != NULL, "%s is missing in %s", names[i],
                     found->text);
        size += (size_t)used;
    }
    CHECK_SAYING(self->c, strlen(found->text) == size, "there is too much in %s", found->text);
}

static void a_folder_is_listed_as_deep_as_asked_for(contract *c) {
    place self;
    place_open(c, &self);
    alineo_file_list_options options = ALINEO_FILE_LIST_OPTIONS_INIT;
    put(&self, "t/a b", "");
    put(&self, "t/.hidden", "");
    put(&self, "t/d/new\nline", "");
    put(&self, "t/d/e/f", "");
    OK(&self, alineo_file_symlink(self.sandbox, at(&self, "t/link"), "d", NULL, &self.err));
    char prefix[512];
    snprintf(prefix, sizeof(prefix), "%s", at(&self, "t"));
    static const char *const one[] = {"a b", ".hidden", "d", "link", NULL};
    static const char *const two[] = {"a b", ".hidden", "d", "link", "d/e", "d/new\nline", NULL};
    static const char *const all[] = {"a b", ".hidden",     "d",     "link",
                                      "d/e", "d/new\nline", "d/e/f", NULL};
    const char *const *const lists[] = {one, one, two, all};
    const uint32_t depths[] = {0, 1, 2, UINT32_MAX};
    for (size_t i = 0; i < 4; i++) {
        seen found = {.prefix = prefix};
        options.depth = depths[i];
        OK(&self, alineo_file_list(self.sandbox, prefix, &options, collect, &found, &self.err));
        are(&self, &found, lists[i]);
        const char *folder = strstr(found.text, "/d/e|");
        const char *inside = strstr(found.text, "/d/e/f|");
        CHECK(c, inside == NULL || (folder != NULL && folder < inside));
    }
    seen none = {.prefix = prefix};
    FAILS(&self, ALINEO_NOT_A_DIRECTORY,
          alineo_file_list(self.sandbox, at(&self, "t/a b"), NULL, collect, &none, &self.err));
    FAILS(&self, ALINEO_FILE_NOT_FOUND,
          alineo_file_list(self.sandbox, at(&self, "no"), NULL, collect, &none, &self.err));
    place_close(&self);
}

static void files_are_searched_for_by_pattern(contract *c) {
    static const struct {
        const char *pattern;
        const char *names[4];
    } searches[] = {
        {"*.ts", {"index.ts", ".util.ts", "d/deep.ts"}},
        {"d*.ts", {"d/deep.ts"}},
        {"[a-i]*.ts", {"index.ts", "d/deep.ts"}},
        {"*/d/*", {"d/deep.ts", "d/read.me"}},
        {"d", {NULL}},
    };
    place self;
    place_open(c, &self);
    put(&self, "s/index.ts", "");
    put(&self, "s/.util.ts", "");
    put(&self, "s/d/deep.ts", "");
    put(&self, "s/d/read.me", "");
    char prefix[512];
    snprintf(prefix, sizeof(prefix), "%s", at(&self, "s"));
    for (size_t i = 0; i < sizeof(searches) / sizeof(searches[0]); i++) {
        seen found = {.prefix = prefix};
        OK(&self, alineo_file_search(self.sandbox, searches[i].pattern, prefix, NULL, collect,
                                     &found, &self.err));
        are(&self, &found, searches[i].names);
    }
    place_close(&self);
}

/* --- copies ----------------------------------------------------------------------------------- */

static void a_tree_goes_out_and_comes_back(contract *c) {
    place self;
    place_open(c, &self);
    alineo_file_copy_result result = ALINEO_FILE_COPY_RESULT_INIT;
    char host[] = "/tmp/alineo-contract-XXXXXX";
    CHECK(c, mkdtemp(host) != NULL);
    put(&self, "t/a", "of a");
    put(&self, "t/d/run", "#!");
    OK(&self, alineo_file_chmod(self.sandbox, at(&self, "t/d/run"), 0755, NULL, &self.err));
    OK(&self, alineo_file_symlink(self.sandbox, at(&self, "t/link"), "d/run", NULL, &self.err));
    char copy[64];
    snprintf(copy, sizeof(copy), "%s/t", host);
    OK(&self, alineo_file_download(self.sandbox, at(&self, "t"), copy, NULL, &result, &self.err));
    CHECK(c, result.files == 2 && result.folders == 2 && result.links == 1 && result.bytes == 6);
    OK(&self, alineo_file_upload(self.sandbox, copy, at(&self, "u/v"), NULL, &result, &self.err));
    CHECK(c, result.files == 2 && result.folders == 2 && result.links == 1 && result.bytes == 6);
    static const char *const below[] = {"a", "d/run", "link", "d", ""};
    for (size_t i = 0; i < 3; i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", copy, below[i]);
        (void)unlink(path);
    }
    for (size_t i = 3; i < 5; i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", copy, below[i]);
        (void)rmdir(path);
    }
    (void)rmdir(host);
    holds(&self, "u/v/a", "of a");
    holds(&self, "u/v/link", "#!");
    CHECK(c, look_at(&self, "u/v/d/run").info.mode == 0755);
    CHECK(c, look_at(&self, "u/v/link").info.type == ALINEO_FILE_SYMLINK);
    place_close(&self);
}

static void a_file_goes_from_one_sandbox_to_another(contract *c) {
    place self;
    place_open(c, &self);
    alineo_sandbox *other = contract_sandbox(c);
    char *folder = contract_folder(c, other);
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    char target[512];
    put(&self, "bundle.js", "bundle");
    snprintf(target, sizeof(target), "%s/n/copy.js", folder);
    OK(&self, alineo_file_transfer(self.sandbox, at(&self, "bundle.js"), other, target, NULL, NULL,
                                   &self.err));
    OK(&self, alineo_file_read(other, target, NULL, &bytes, &self.err));
    CHECK(c, bytes.data_size == 6 && memcmp(bytes.data, "bundle", 6) == 0);
    alineo_bytes_clear(&bytes);
    free(folder);
    place_close(&self);
}

const contract_case contract_file_name_cases[] = {
    {"files/a file is told of with its type, size, mode and time", "files",
     a_file_is_told_of_with_its_type_size_mode_and_time, 0},
    {"files/folders are made once and stay as they are", "files",
     folders_are_made_once_and_stay_as_they_are, 0},
    {"files/files and folders are removed by their own calls", "files",
     files_and_folders_are_removed_by_their_own_calls, 0},
    {"files/a move gives the new name, and takes a place only when told so", "files",
     a_move_gives_the_new_name_and_takes_a_place_only_when_told_so, 0},
    {"files/links are followed for contents and modes, and not for their own names", "files",
     links_are_followed_for_contents_and_modes_and_not_for_their_own_names, 0},
    {"files/an owner that there is none of is refused", "files",
     an_owner_that_there_is_none_of_is_refused, 0},
    {"files/text is replaced and counted", "files", text_is_replaced_and_counted, 0},
    {"files/a folder is listed as deep as asked for", "files",
     a_folder_is_listed_as_deep_as_asked_for, 0},
    {"files/files are searched for by pattern", "files", files_are_searched_for_by_pattern, 0},
    {"files/a tree goes out and comes back", "files", a_tree_goes_out_and_comes_back, 0},
    {"files/a file goes from one sandbox to another", "files",
     a_file_goes_from_one_sandbox_to_another, 0},
    {NULL, NULL, NULL, 0},
};
