/* SPDX-License-Identifier: Apache-2.0 */
/* test: tsan timeout=300 */
/* Copies between the host and sandboxes: by commands, on real files. */
#include "support/file_world.h"

#include "core/util/random.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

typedef alineo_file_copy_result copy_result;

/* The host's side is "host" in the same folder, the sandbox's "box". */
static void make_sides(file_world *world) {
    assert_int_equal(mkdir(file_path(world, "host"), 0755), 0);
    assert_int_equal(mkdir(file_path(world, "box"), 0755), 0);
}

static void put_tree(file_world *world, const char *side) {
    char name[64];
    const char *const folders[] = {"t", "t/d", "t/d/e", "t/closed", "t/new\nline"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        (void)snprintf(name, sizeof(name), "%s/%s", side, folders[i]);
        assert_int_equal(mkdir(file_path(world, name), 0755), 0);
    }
    const struct {
        const char *name;
        const char *text;
        mode_t mode;
    } files[] = {{"t/a", "of a", 0640},
                 {"t/d/e/run", "#!", 0755},
                 {"t/d/$HOME", "", 0600},
                 {"t/closed/in", "x", 0400},
                 {"t/new\nline/'", "q", 0604}};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        (void)snprintf(name, sizeof(name), "%s/%s", side, files[i].name);
        file_put(world, name, files[i].text, strlen(files[i].text), files[i].mode);
    }
    (void)snprintf(name, sizeof(name), "%s/t/link", side);
    assert_int_equal(symlink("d/e/../../a", file_path(world, name)), 0);
    (void)snprintf(name, sizeof(name), "%s/t/out", side);
    assert_int_equal(symlink("/etc", file_path(world, name)), 0);
    (void)snprintf(name, sizeof(name), "%s/t/closed", side);
    assert_int_equal(chmod(file_path(world, name), 0550), 0);
}

static void is_link(file_world *world, const char *name, const char *target) {
    char text[128];
    ssize_t size = readlink(file_path(world, name), text, sizeof(text));
    assert_int_equal(size, strlen(target));
    assert_memory_equal(text, target, (size_t)size);
}

static void has_tree(file_world *world, const char *root) {
    char name[128];
#define NAME(rest) ((void)snprintf(name, sizeof(name), "%s/" rest, root), name)
    file_holds(world, NAME("a"), "of a", 4);
    assert_int_equal(file_mode(world, NAME("a")), 0640);
    file_holds(world, NAME("d/e/run"), "#!", 2);
    assert_int_equal(file_mode(world, NAME("d/e/run")), 0755);
    file_holds(world, NAME("d/$HOME"), "", 0);
    assert_int_equal(file_mode(world, NAME("closed")), 0550);
    file_holds(world, NAME("closed/in"), "x", 1);
    assert_int_equal(file_mode(world, NAME("closed/in")), 0400);
    file_holds(world, NAME("new\nline/'"), "q", 1);
    is_link(world, NAME("link"), "d/e/../../a");
    is_link(world, NAME("out"), "/etc");
#undef NAME
}

static void is_result(const copy_result *result, uint64_t files, uint64_t folders, uint64_t links,
                      uint64_t skipped, uint64_t bytes) {
    assert_int_equal(result->files, files);
    assert_int_equal(result->folders, folders);
    assert_int_equal(result->links, links);
    assert_int_equal(result->skipped, skipped);
    assert_int_equal(result->bytes, bytes);
}

/* --- both ways -------------------------------------------------------------------------------- */

static void a_file_is_copied_in_and_out(void **state) {
    file_world *world = *state;
    enum {
        SIZE = (1 << 20) + 17
    };
    alineo_error *err = NULL;
    copy_result result = ALINEO_FILE_COPY_RESULT_INIT;
    char *data = malloc(SIZE);
    assert_int_equal(al_random_bytes(data, SIZE), 0);
    make_sides(world);
    file_put(world, "host/x", data, SIZE, 04751);
    assert_int_equal(chmod(file_path(world, "host/x"), 04751), 0);
    FILE_OK(alineo_file_upload(world->sandbox, file_path(world, "host/x"),
                               file_path(world, "box/n/y"), NULL, &result, &err));
    is_result(&result, 1, 0, 0, 0, SIZE);
    file_holds(world, "box/n/y", data, SIZE);
    assert_int_equal(file_mode(world, "box/n/y"), 0751);
    FILE_OK(alineo_file_download(world->sandbox, file_path(world, "box/n/y"),
                                 file_path(world, "host/m/z"), NULL, &result, &err));
    is_result(&result, 1, 0, 0, 0, SIZE);
    file_holds(world, "host/m/z", data, SIZE);
    assert_int_equal(file_mode(world, "host/m/z"), 0751);
    free(data);
}

static void a_tree_is_copied_in_and_out(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    copy_result result = ALINEO_FILE_COPY_RESULT_INIT;
    make_sides(world);
    put_tree(world, "host");
    FILE_OK(alineo_file_upload(world->sandbox, file_path(world, "host/t"),
                               file_path(world, "box/n/t"), NULL, &result, &err));
    is_result(&result, 5, 5, 2, 0, 8);
    has_tree(world, "box/n/t");
    FILE_OK(alineo_file_download(world->sandbox, file_path(world, "box/n/t"),
                                 file_path(world, "host/m/t"), NULL, &result, &err));
    is_result(&result, 5, 5, 2, 0, 8);
    has_tree(world, "host/m/t");
    FILE_OK(alineo_file_transfer(world->sandbox, file_path(world, "box/n/t"), world->sandbox,
                                 file_path(world, "box/u"), NULL, &result, &err));
    is_result(&result, 5, 5, 2, 0, 8);
    has_tree(world, "box/u");
}

static void a_folder_that_is_there_is_merged_into(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    make_sides(world);
    put_tree(world, "host");
    assert_int_equal(mkdir(file_path(world, "box/t"), 0711), 0);
    file_put(world, "box/t/a", "older and longer", 16, 0600);
    file_put(world, "box/t/own", "own", 3, 0600);
    assert_int_equal(symlink("elsewhere", file_path(world, "box/t/link")), 0);
    FILE_OK(alineo_file_upload(world->sandbox, file_path(world, "host/t"),
                               file_path(world, "box/t"), NULL, NULL, &err));
    has_tree(world, "box/t");
    file_holds(world, "box/t/own", "own", 3);
    assert_int_equal(file_mode(world, "box/t"), 0711);

    file_put(world, "host/t/own", "host's", 6, 0600);
    FILE_OK(alineo_file_download(world->sandbox, file_path(world, "box/t"),
                                 file_path(world, "host/t"), NULL, NULL, &err));
    has_tree(world, "host/t");
    file_holds(world, "host/t/own", "own", 3);
}

static void nothing_is_replaced_when_it_is_not_to_be(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    alineo_file_copy_options options = ALINEO_FILE_COPY_OPTIONS_INIT;
    options.replace = ALINEO_NO;
    make_sides(world);
    file_put(world, "host/x", "host", 4, 0600);
    file_put(world, "box/x", "box", 3, 0600);
    FILE_FAILS(ALINEO_FILE_EXISTS,
               alineo_file_upload(world->sandbox, file_path(world, "host/x"),
                                  file_path(world, "box/x"), &options, NULL, &err));
    FILE_FAILS(ALINEO_FILE_EXISTS,
               alineo_file_download(world->sandbox, file_path(world, "box/x"),
                                    file_path(world, "host/x"), &options, NULL, &err));
    file_holds(world, "host/x", "host", 4);
    file_holds(world, "box/x", "box", 3);
    FILE_OK(alineo_file_download(world->sandbox, file_path(world, "box/x"),
                                 file_path(world, "host/y"), &options, NULL, &err));
    file_holds(world, "host/y", "box", 3);
    options.parents = ALINEO_NO;
    FILE_FAILS(ALINEO_FILE_NOT_FOUND,
               alineo_file_download(world->sandbox, file_path(world, "box/x"),
                                    file_path(world, "host/no/y"), &options, NULL, &err));
    FILE_FAILS(ALINEO_FILE_NOT_FOUND,
               alineo_file_upload(world->sandbox, file_path(world, "host/x"),
                                  file_path(world, "box/no/y"), &options, NULL, &err));
}

static void files_and_folders_do_not_take_each_others_place(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    make_sides(world);
    const char *const sides[] = {"host", "box"};
    for (size_t i = 0; i < 2; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "%s/x", sides[i]);
        file_put(world, name, "x", 1, 0600);
        (void)snprintf(name, sizeof(name), "%s/d", sides[i]);
        assert_int_equal(mkdir(file_path(world, name), 0755), 0);
        (void)snprintf(name, sizeof(name), "%s/d/y", sides[i]);
        file_put(world, name, "y", 1, 0600);
    }
    FILE_FAILS(ALINEO_IS_A_DIRECTORY,
               alineo_file_upload(world->sandbox, file_path(world, "host/x"),
                                  file_path(world, "box/d"), NULL, NULL, &err));
    FILE_FAILS(ALINEO_NOT_A_DIRECTORY,
               alineo_file_upload(world->sandbox, file_path(world, "host/d"),
                                  file_path(world, "box/x"), NULL, NULL, &err));
    FILE_FAILS(ALINEO_IS_A_DIRECTORY,
               alineo_file_download(world->sandbox, file_path(world, "box/x"),
                                    file_path(world, "host/d"), NULL, NULL, &err));
    FILE_FAILS(ALINEO_IS_A_DIRECTORY,
               alineo_file_download(world->sandbox, file_path(world, "box/x"),
                                    file_path(world, "host/d/"), NULL, NULL, &err));
    FILE_FAILS(ALINEO_NOT_A_DIRECTORY,
               alineo_file_download(world->sandbox, file_path(world, "box/d"),
                                    file_path(world, "host/x"), NULL, NULL, &err));
    file_holds(world, "box/x", "x", 1);
    file_holds(world, "host/d/y", "y", 1);
    file_holds(world, "box/d/y", "y", 1);
}

static void what_is_neither_file_nor_folder_is_refused_or_passed_over(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    copy_result result = ALINEO_FILE_COPY_RESULT_INIT;
    make_sides(world);
    assert_int_equal(mkdir(file_path(world, "host/d"), 0755), 0);
    assert_int_equal(mkfifo(file_path(world, "host/d/fifo"), 0600), 0);
    file_put(world, "host/d/x", "x", 1, 0600);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s",
                   file_path(world, "host/d/socket"));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    (void)close(fd);
    FILE_FAILS(ALINEO_INVALID_ARGUMENT,
               alineo_file_upload(world->sandbox, file_path(world, "host/d/fifo"),
                                  file_path(world, "box/x"), NULL, NULL, &err));
    FILE_FAILS(ALINEO_INVALID_ARGUMENT,
               alineo_file_upload(world->sandbox, "/dev/zero", file_path(world, "box/x"), NULL,
                                  NULL, &err));
    FILE_FAILS(ALINEO_INVALID_ARGUMENT,
               alineo_file_download(world->sandbox, file_path(world, "host/d/fifo"),
                                    file_path(world, "host/x"), NULL, NULL, &err));
    FILE_OK(alineo_file_upload(world->sandbox, file_path(world, "host/d"),
                               file_path(world, "box/d"), NULL, &result, &err));
    is_result(&result, 1, 1, 0, 2, 1);
    FILE_OK(alineo_file_download(world->sandbox, file_path(world, "host/d"),
                                 file_path(world, "host/e"), NULL, &result, &err));
    is_result(&result, 1, 1, 0, 2, 1);
}

static void a_link_that_is_named_is_followed(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    make_sides(world);
    put_tree(world, "host");
    file_put(world, "host/x", "x", 1, 0640);
    assert_int_equal(symlink("x", file_path(world, "host/to-x")), 0);
    assert_int_equal(symlink("to-x", file_path(world, "host/to-to-x")), 0);
    assert_int_equal(symlink("t", file_path(world, "host/to-t")), 0);
    assert_int_equal(symlink("loop", file_path(world, "host/loop")), 0);
    FILE_OK(alineo_file_upload(world->sandbox, file_path(world, "host/to-to-x"),
                               file_path(world, "box/x"), NULL, NULL, &err));
    file_holds(world, "box/x", "x", 1);
    FILE_OK(alineo_file_download(world->sandbox, file_path(world, "host/to-to-x"),
                                 file_path(world, "box/y"), NULL, NULL, &err));
    file_holds(world, "box/y", "x", 1);
    assert_int_equal(file_mode(world, "box/y"), 0640);
    FILE_OK(alineo_file_upload(world->sandbox, file_path(world, "host/to-t"),
                               file_path(world, "box/t"), NULL, NULL, &err));
    has_tree(world, "box/t");
    FILE_OK(alineo_file_download(world->sandbox, file_path(world, "host/to-t"),
                                 file_path(world, "box/u"), NULL, NULL, &err));
    has_tree(world, "box/u");
    FILE_FAILS(ALINEO_INVALID_ARGUMENT,
               alineo_file_download(world->sandbox, file_path(world, "host/loop"),
                                    file_path(world, "box/z"), NULL, NULL, &err));
    FILE_FAILS(ALINEO_FILE_NOT_FOUND,
               alineo_file_download(world->sandbox, file_path(world, "no"),
                                    file_path(world, "box/z"), NULL, NULL, &err));
    FILE_FAILS(ALINEO_FILE_NOT_FOUND,
               alineo_file_upload(world->sandbox, file_path(world, "no"), file_path(world, "box/z"),
                                  NULL, NULL, &err));
}

static void links_in_the_way_on_the_host_are_not_followed(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    make_sides(world);
    assert_int_equal(mkdir(file_path(world, "precious"), 0755), 0);
    file_put(world, "precious/x", "precious", 8, 0600);
    assert_int_equal(mkdir(file_path(world, "box/t"), 0755), 0);
    assert_int_equal(mkdir(file_path(world, "box/t/d"), 0755), 0);
    file_put(world, "box/t/d/x", "evil", 4, 0600);
    file_put(world, "box/t/x", "evil", 4, 0600);
    /* A folder of the copy, and a file of it, are links to elsewhere on the host. */
    assert_int_equal(mkdir(file_path(world, "host/t"), 0755), 0);
    assert_int_equal(symlink("../../precious", file_path(world, "host/t/d")), 0);
    assert_int_equal(symlink("../../precious/x", file_path(world, "host/t/x")), 0);
    FILE_FAILS(ALINEO_NOT_A_DIRECTORY,
               alineo_file_download(world->sandbox, file_path(world, "box/t"),
                                    file_path(world, "host/t"), NULL, NULL, &err));
    file_holds(world, "precious/x", "precious", 8);
    assert_int_equal(unlink(file_path(world, "host/t/d")), 0);
    FILE_OK(alineo_file_download(world->sandbox, file_path(world, "box/t"),
                                 file_path(world, "host/t"), NULL, NULL, &err));
    file_holds(world, "precious/x", "precious", 8);
    file_holds(world, "host/t/x", "evil", 4);
    struct stat status;
    assert_int_equal(lstat(file_path(world, "host/t/x"), &status), 0);
    assert_true(S_ISREG(status.st_mode));
}

static void a_failed_download_leaves_the_older_file(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    alineo_file_copy_options options = ALINEO_FILE_COPY_OPTIONS_INIT;
    make_sides(world);
    file_put(world, "host/x", "older", 5, 0600);
    file_put(world, "box/x", "", 0, 0600);
    assert_int_equal(truncate(file_path(world, "box/x"), 64 << 20), 0);
    alineo_call_options call_options = ALINEO_CALL_OPTIONS_INIT;
    call_options.timeout_ms = 20;
    assert_int_equal(alineo_call_new(&call_options, &options.call, NULL), ALINEO_OK);
    alineo_code code = alineo_file_download(world->sandbox, file_path(world, "box/x"),
                                            file_path(world, "host/x"), &options, NULL, &err);
    alineo_call_free(options.call);
    if (code == ALINEO_OK)
        skip(); /* the machine was faster */
    file_fails(ALINEO_TIMEOUT, code, &err);
    file_holds(world, "host/x", "older", 5);
    assert_false(file_is_there(world, "host/y"));
}

static void zeros_arrive_as_holes(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    struct stat status;
    const off_t size = (20 << 20) + 5;
    make_sides(world);
    file_put(world, "box/x", "begin", 5, 0600);
    assert_int_equal(truncate(file_path(world, "box/x"), size), 0);
    FILE_OK(alineo_file_download(world->sandbox, file_path(world, "box/x"),
                                 file_path(world, "host/x"), NULL, NULL, &err));
    assert_int_equal(stat(file_path(world, "host/x"), &status), 0);
    assert_int_equal(status.st_size, size);
    assert_true(status.st_blocks * 512 < 1 << 20);
    al_autofree char *data = calloc(1, (size_t)size);
    memcpy(data, "begin", 5);
    file_holds(world, "host/x", data, (size_t)size);
}

static void a_sparse_file_of_nine_gibibytes_arrives_sparse(void **state) {
    file_world *world = *state;
    if (getenv("ALINEO_TEST_FULL") == NULL)
        skip();
    alineo_error *err = NULL;
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    struct stat status;
    const off_t size = (off_t)9 << 30;
    make_sides(world);
    file_put(world, "box/x", "", 0, 0600);
    assert_int_equal(truncate(file_path(world, "box/x"), size), 0);
    alineo_file_options options = ALINEO_FILE_OPTIONS_INIT;
    options.append = ALINEO_YES;
    FILE_OK(alineo_file_write(world->sandbox, file_path(world, "box/x"), "z", 1, &options, &err));
    FILE_OK(alineo_file_download(world->sandbox, file_path(world, "box/x"),
                                 file_path(world, "host/x"), NULL, NULL, &err));
    assert_int_equal(stat(file_path(world, "host/x"), &status), 0);
    assert_true(status.st_size == size + 1);
    assert_true(status.st_blocks * 512 < 1 << 20);
    options.append = ALINEO_DEFAULT;
    options.offset = (uint64_t)size - 1;
    FILE_OK(alineo_file_read(world->sandbox, file_path(world, "host/x"), &options, &bytes, &err));
    assert_int_equal(bytes.data_size, 2);
    assert_memory_equal(bytes.data, "\0z", 2);
    alineo_bytes_clear(&bytes);
}

static void a_tree_is_not_copied_into_itself(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    make_sides(world);
    file_put(world, "box/x", "x", 1, 0600);
    FILE_FAILS(ALINEO_INVALID_ARGUMENT,
               alineo_file_transfer(world->sandbox, file_path(world, "box"), world->sandbox,
                                    file_path(world, "box/in/it"), NULL, NULL, &err));
    FILE_FAILS(ALINEO_INVALID_ARGUMENT,
               alineo_file_transfer(world->sandbox, file_path(world, "box/x"), world->sandbox, NULL,
                                    NULL, NULL, &err));
    file_holds(world, "box/x", "x", 1);
    FILE_OK(alineo_file_transfer(world->sandbox, file_path(world, "box/x"), world->sandbox,
                                 file_path(world, "box/y"), NULL, NULL, &err));
    file_holds(world, "box/y", "x", 1);
}

typedef struct told {
    uint64_t done, total;
    int count;
} told;

static void hear_progress(void *user, const char *stage, uint64_t done, uint64_t total,
                          const char *text) {
    told *self = user;
    if (strcmp(stage, "copy") != 0)
        return;
    assert_non_null(text);
    assert_true(done >= self->done);
    *self = (told){done, total, self->count + 1};
}

static void progress_is_told(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    told heard = {0, 0, 0};
    alineo_file_copy_options options = ALINEO_FILE_COPY_OPTIONS_INIT;
    alineo_call_options call_options = ALINEO_CALL_OPTIONS_INIT;
    call_options.progress = hear_progress;
    call_options.progress_user = &heard;
    assert_int_equal(alineo_call_new(&call_options, &options.call, NULL), ALINEO_OK);
    make_sides(world);
    put_tree(world, "box");
    FILE_OK(alineo_file_download(world->sandbox, file_path(world, "box/t"),
                                 file_path(world, "host/t"), &options, NULL, &err));
    assert_true(heard.count >= 4);
    assert_int_equal(heard.done, 8);
    assert_int_equal(heard.total, 8);
    alineo_call_free(options.call);
}

static void odd_host_paths_are_refused_or_taken_as_they_are(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    make_sides(world);
    put_tree(world, "box");
    FILE_FAILS(
        ALINEO_INVALID_ARGUMENT,
        alineo_file_download(world->sandbox, file_path(world, "box/t"), "", NULL, NULL, &err));
    FILE_FAILS(
        ALINEO_INVALID_ARGUMENT,
        alineo_file_upload(world->sandbox, NULL, file_path(world, "box/t"), NULL, NULL, &err));
    FILE_OK(alineo_file_download(world->sandbox, file_path(world, "box/t"),
                                 file_path(world, "host/"), NULL, NULL, &err));
    has_tree(world, "host");
    FILE_OK(alineo_file_download(world->sandbox, file_path(world, "box/t"),
                                 file_path(world, "host/new/"), NULL, NULL, &err));
    has_tree(world, "host/new");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FILE_TEST(a_file_is_copied_in_and_out),
        FILE_TEST(a_tree_is_copied_in_and_out),
        FILE_TEST(a_folder_that_is_there_is_merged_into),
        FILE_TEST(nothing_is_replaced_when_it_is_not_to_be),
        FILE_TEST(files_and_folders_do_not_take_each_others_place),
        FILE_TEST(what_is_neither_file_nor_folder_is_refused_or_passed_over),
        FILE_TEST(a_link_that_is_named_is_followed),
        FILE_TEST(links_in_the_way_on_the_host_are_not_followed),
        FILE_TEST(a_failed_download_leaves_the_older_file),
        FILE_TEST(zeros_arrive_as_holes),
        FILE_TEST_ONCE(a_sparse_file_of_nine_gibibytes_arrives_sparse),
        FILE_TEST(a_tree_is_not_copied_into_itself),
        FILE_TEST(progress_is_told),
        FILE_TEST(odd_host_paths_are_refused_or_taken_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
