/* SPDX-License-Identifier: Apache-2.0 */
/* test: timeout=300 */
/* Files of sandboxes of the local provider, and that none of the host's is ever among them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/file.h"
#include "core/util/io.h"
#include "core/util/str.h"
#include "tests/support/folder.h"
#include "tests/support/local_fixture.h"
#include "tests/support/test.h"

static local_fixture f;
static char id[129];

static int set_up(void **state) {
    (void)state;
    local_fixture_open(&f);
    local_fixture_create(&f, NULL, id);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    if (f.self != NULL)
        local_fixture_close(&f);
    f.self = NULL;
    return 0;
}

static alineo_file_request request_for(const char *path, uint32_t flags) {
    return (alineo_file_request){.size = sizeof(alineo_file_request), .path = path, .flags = flags};
}

/* Writes a whole file as the core does: by the descriptor, then the end. */
static alineo_code write_file(const alineo_file_request *request, const char *data, size_t size,
                              alineo_error **err) {
    alineo_file_io io = ALINEO_FILE_IO_INIT;
    alineo_code code = f.table->file_open_write(f.self, id, request, &io, err);
    if (code != ALINEO_OK)
        return code;
    assert_true(io.fd >= 0);
    assert_int_equal(al_write_full(io.fd, data, size), 0);
    code = f.table->file_finish(f.self, io.file, size, err);
    f.table->file_close(f.self, io.file);
    return code;
}

static void put(const char *path, const char *text) {
    alineo_error *err = NULL;
    alineo_file_request request = request_for(path, ALINEO_FILE_PARENTS);
    local_assert_ok(write_file(&request, text, strlen(text), &err), &err);
}

static alineo_code write_code(const char *path, uint32_t flags, alineo_error **err) {
    alineo_file_request request = request_for(path, flags);
    return write_file(&request, "x", 1, err);
}

static alineo_code read_file(const alineo_file_request *request, al_buf *out, alineo_error **err) {
    alineo_file_io io = ALINEO_FILE_IO_INIT;
    alineo_code code = f.table->file_open_read(f.self, id, request, &io, err);
    if (code != ALINEO_OK)
        return code;
    assert_int_equal(al_fd_read_all(io.fd, 1 << 24, out), 0);
    f.table->file_close(f.self, io.file);
    return ALINEO_OK;
}

static alineo_code read_code(const char *path, alineo_error **err) {
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    alineo_file_request request = request_for(path, 0);
    return read_file(&request, &text, err);
}

static void assert_content(const char *path, const char *expected) {
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    alineo_error *err = NULL;
    alineo_file_request request = request_for(path, 0);
    local_assert_ok(read_file(&request, &text, &err), &err);
    assert_string_equal(al_buf_str(&text), expected);
}

static void sh(const char *command) {
    free(local_output(&f, id, command));
}

/* --- writing and reading -----------------------------------------------------------------------*/

static void what_is_written_is_what_commands_and_readers_find(void **state) {
    (void)state;
    static const char bytes[] = "a\0b\377\n";
    alineo_error *err = NULL;
    alineo_file_request request = request_for("/data/deep/er/file", ALINEO_FILE_PARENTS);
    local_assert_ok(write_file(&request, bytes, sizeof(bytes), &err), &err);
    char *seen = local_output(&f, id, "od -An -tx1 /data/deep/er/file");
    assert_string_equal(seen, " 61 00 62 ff 0a 00\n");
    free(seen);
    sh("printf 'by a command' > /data/other");
    assert_content("/data/other", "by a command");
}

static void a_file_is_there_in_whole_as_soon_as_it_was_written(void **state) {
    (void)state;
    for (int i = 0; i < 50; i++) {
        char text[32];
        (void)snprintf(text, sizeof(text), "round %d", i);
        put("/data/rounds", text);
        char *seen = local_output(&f, id, "cat /data/rounds");
        assert_string_equal(seen, text);
        free(seen);
    }
}

static void a_shorter_content_leaves_nothing_of_the_longer_one(void **state) {
    (void)state;
    put("/data/shrinks", "a rather long text");
    put("/data/shrinks", "short");
    assert_content("/data/shrinks", "short");
    put("/data/shrinks", "");
    assert_content("/data/shrinks", "");
}

static void names_are_taken_as_they_are(void **state) {
    (void)state;
    static const char *const names[] = {"/data/$HOME.txt", "/data/~x", "/data/a b'c\"d",
                                        "/data/line\nbreak", "/data/%2F+#?"};
    for (size_t i = 0; i < AL_COUNT(names); i++) {
        put(names[i], "literal");
        assert_content(names[i], "literal");
    }
    char *seen = local_output(&f, id, "test -e '/data/$HOME.txt' && echo there");
    assert_string_equal(seen, "there\n");
    free(seen);
}

static void modes_are_exact_and_only_new_folders_are_made(void **state) {
    (void)state;
    static const uint32_t modes[] = {0600, 0755, 04755, 0666};
    alineo_error *err = NULL;
    for (size_t i = 0; i < AL_COUNT(modes); i++) {
        char expected[16];
        alineo_file_request request =
            request_for("/data/mode", ALINEO_FILE_MODE | ALINEO_FILE_PARENTS);
        request.mode = modes[i];
        local_assert_ok(write_file(&request, "x", 1, &err), &err);
        (void)snprintf(expected, sizeof(expected), "%o\n", modes[i]);
        char *seen = local_output(&f, id, "stat -c %a /data/mode");
        assert_string_equal(seen, expected);
        free(seen);
    }
    alineo_file_request request = request_for("/tmp/a/b", ALINEO_FILE_PARENTS | ALINEO_FILE_MODE);
    request.mode = 0700;
    local_assert_ok(f.table->file_mkdir(f.self, id, &request, &err), &err);
    request = request_for("/tmp", ALINEO_FILE_PARENTS);
    local_assert_ok(f.table->file_mkdir(f.self, id, &request, &err), &err);
    request = request_for("/tmp", 0);
    local_assert_code(f.table->file_mkdir(f.self, id, &request, &err), &err, ALINEO_FILE_EXISTS);
    char *seen = local_output(&f, id, "stat -c %a /tmp /tmp/a /tmp/a/b");
    assert_string_equal(seen, "1777\n755\n700\n");
    free(seen);
}

static void what_is_appended_goes_to_the_end_and_what_is_exclusive_must_be_new(void **state) {
    (void)state;
    alineo_error *err = NULL;
    put("/data/log", "one,");
    alineo_file_request request = request_for("/data/log", ALINEO_FILE_APPEND);
    local_assert_ok(write_file(&request, "two", 3, &err), &err);
    assert_content("/data/log", "one,two");
    local_assert_code(write_code("/data/log", ALINEO_FILE_EXCLUSIVE, &err), &err,
                      ALINEO_FILE_EXISTS);
    assert_content("/data/log", "one,two");
}

static void a_part_of_a_file_can_be_read(void **state) {
    (void)state;
    put("/data/parts", "0123456789");
    alineo_error *err = NULL;
    alineo_file_io io = ALINEO_FILE_IO_INIT;
    alineo_file_request request = request_for("/data/parts", 0);
    request.offset = 4;
    request.length = 3;
    local_assert_ok(f.table->file_open_read(f.self, id, &request, &io, &err), &err);
    assert_int_equal(io.bytes, 3);
    char text[4] = "";
    size_t used = 0;
    local_assert_ok(f.table->file_read(f.self, io.file, text, 3, &used, &err), &err);
    assert_int_equal(used, 3);
    assert_string_equal(text, "456");
    f.table->file_close(f.self, io.file);
}

/* --- what cannot be ----------------------------------------------------------------------------*/

static void what_is_no_regular_file_is_refused_without_waiting(void **state) {
    (void)state;
    sh("mkdir -p /data/dir; rm -f /data/fifo; mkfifo /data/fifo");
    alineo_error *err = NULL;
    local_assert_code(read_code("/data/dir", &err), &err, ALINEO_IS_A_DIRECTORY);
    local_assert_code(write_code("/data/dir", 0, &err), &err, ALINEO_IS_A_DIRECTORY);
    static const char *const paths[] = {"/data/fifo", "/dev/null"};
    for (size_t i = 0; i < AL_COUNT(paths); i++) {
        local_assert_code(read_code(paths[i], &err), &err, ALINEO_INVALID_ARGUMENT);
        local_assert_code(write_code(paths[i], 0, &err), &err, ALINEO_INVALID_ARGUMENT);
    }
    sh("test -d /data/dir && test -p /data/fifo");
}

static void what_is_missing_or_in_the_way_has_its_code(void **state) {
    (void)state;
    put("/data/plain", "x");
    alineo_error *err = NULL;
    local_assert_code(read_code("/data/none", &err), &err, ALINEO_FILE_NOT_FOUND);
    local_assert_code(write_code("/no/such/folder/x", 0, &err), &err, ALINEO_FILE_NOT_FOUND);
    local_assert_code(write_code("/data/plain/x", ALINEO_FILE_PARENTS, &err), &err,
                      ALINEO_NOT_A_DIRECTORY);
    local_assert_code(read_code("relative", &err), &err, ALINEO_INVALID_ARGUMENT);
    local_assert_code(write_code("/data/x", 1U << 30, &err), &err, ALINEO_INVALID_ARGUMENT);
    static const uint32_t kinds[] = {0, 1, 2, 3, 4};
    for (size_t i = 0; i < AL_COUNT(kinds); i++) {
        alineo_file_request request = request_for("/data/none", 0);
        request.target = "/data/elsewhere";
        alineo_code (*const calls[])(alineo_provider *, const char *, const alineo_file_request *,
                                     alineo_error **) = {f.table->file_remove, f.table->file_rmdir,
                                                         f.table->file_move, f.table->file_chmod,
                                                         f.table->file_chown};
        local_assert_code(calls[kinds[i]](f.self, id, &request, &err), &err, ALINEO_FILE_NOT_FOUND);
    }
}

static void the_kernels_own_files_are_not_written(void **state) {
    (void)state;
    static const char *const paths[] = {"/proc/self/oom_score_adj", "/proc/1/oom_score_adj",
                                        "/proc/self/mem", "/proc/sys/kernel/hostname"};
    for (size_t i = 0; i < AL_COUNT(paths); i++) {
        alineo_error *err = NULL;
        local_assert_code(write_code(paths[i], 0, &err), &err, ALINEO_PERMISSION_DENIED);
    }
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    alineo_error *err = NULL;
    alineo_file_request request = request_for("/proc/meminfo", 0);
    local_assert_ok(read_file(&request, &text, &err), &err);
    assert_non_null(strstr(al_buf_str(&text), "MemTotal"));
}

/* --- links -------------------------------------------------------------------------------------*/

static void links_and_dots_lead_nowhere_but_into_the_sandbox(void **state) {
    (void)state;
    test_folder outside;
    test_folder_make(&outside);
    test_write_file(test_path(&outside, "secret"), "of the host", 0644);
    al_autofree char *commands =
        al_strf("mkdir -p /data; cd /data; ln -s %s/secret x; ln -s %s d; ln -s /proc/1/root r; "
                "ln -s ../../../../../..%s/secret up; ln -s /proc/self/fd/3 fd",
                outside.path, outside.path, outside.path);
    sh(commands);
    alineo_error *err = NULL;
    char up[128];
    (void)snprintf(up, sizeof(up), "/data/../../../../../..%s/secret", outside.path);
    const char *const paths[] = {"/data/x", "/data/d/secret", "/data/up", up};
    for (size_t i = 0; i < AL_COUNT(paths); i++)
        local_assert_code(read_code(paths[i], &err), &err, ALINEO_FILE_NOT_FOUND);
    alineo_code code = read_code("/data/r/etc/passwd", &err);
    assert_int_not_equal(code, ALINEO_OK);
    alineo_error_free(err);
    err = NULL;
    code = read_code("/data/fd", &err);
    assert_int_not_equal(code, ALINEO_OK);
    alineo_error_free(err);
    err = NULL;
    /* A write through such a link makes the file inside, where the link leads there. */
    sh("rm /data/x; ln -s /data/inside /data/x");
    local_assert_ok(write_code("/data/x", 0, &err), &err);
    assert_content("/data/inside", "x");
    for (size_t i = 1; i < AL_COUNT(paths); i++) {
        alineo_file_request request = request_for(paths[i], 0);
        request.mode = 0777;
        code = f.table->file_chmod(f.self, id, &request, &err);
        assert_int_not_equal(code, ALINEO_OK);
        alineo_error_free(err);
        err = NULL;
    }
    struct stat status;
    assert_int_equal(stat(test_path(&outside, "secret"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0644);
    assert_int_equal(status.st_size, (off_t)strlen("of the host"));
    test_folder_remove(&outside);
}

static void a_link_that_is_changed_all_the_time_never_leads_out(void **state) {
    (void)state;
    test_folder outside;
    test_folder_make(&outside);
    test_write_file(test_path(&outside, "target"), "untouched", 0644);
    al_autofree char *command =
        al_strf("mkdir -p /race/real; ln -s %s /race/evil; "
                "while :; do mv -T /race/real /race/d 2>/dev/null; mv -T /race/d /race/real; "
                "mv -T /race/evil /race/d 2>/dev/null; mv -T /race/d /race/evil; done",
                outside.path);
    alineo_exec_io io;
    alineo_error *err = NULL;
    local_start(&f, id, command, 3000, &io);
    for (int i = 0; i < 2000; i++) {
        if (write_code("/race/d/target", 0, &err) != ALINEO_OK)
            alineo_error_free(err);
        err = NULL;
    }
    local_assert_ok(f.table->exec_cancel(f.self, io.exec, &err), &err);
    local_let_go(&f, &io);
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    assert_int_equal(al_file_read(test_path(&outside, "target"), 4096, &text), 0);
    assert_string_equal(al_buf_str(&text), "untouched");
    test_folder_remove(&outside);
}

/* --- what is there -----------------------------------------------------------------------------*/

struct listing {
    char text[8192];
    size_t count;
    size_t stop_at;
};

static int32_t add_entry(void *user, const alineo_file_info *info) {
    static const char kinds[] = "?-dlo";
    struct listing *listing = user;
    size_t size = strlen(listing->text);
    listing->count++;
    (void)snprintf(listing->text + size, sizeof(listing->text) - size, "%c %o %s:%s %s%s%s\n",
                   kinds[info->type], info->mode, info->owner, info->group, info->path,
                   info->link_target != NULL ? " -> " : "",
                   info->link_target != NULL ? info->link_target : "");
    return listing->count == listing->stop_at;
}

static void stat_shows_what_is_there_without_following(void **state) {
    (void)state;
    sh("mkdir -p /see; cd /see; echo 12345 > file; chmod 640 file; chown 1000:100 file; "
       "ln -s file link");
    alineo_error *err = NULL;
    struct listing listing = {0};
    static const char *const paths[] = {"/see/file", "/see/link", "/see", "/"};
    for (size_t i = 0; i < AL_COUNT(paths); i++) {
        alineo_file_request request = request_for(paths[i], 0);
        local_assert_ok(f.table->file_stat(f.self, id, &request, add_entry, &listing, &err), &err);
    }
    assert_non_null(strstr(listing.text, "- 640 user:users /see/file\n"));
    assert_non_null(strstr(listing.text, "l 777 root:root /see/link -> file\n"));
    assert_non_null(strstr(listing.text, "d 755 root:root /see\n"));
}

static void a_list_goes_as_deep_as_it_was_asked_to(void **state) {
    (void)state;
    sh("mkdir -p /tree/a/b/c; touch /tree/x /tree/a/y /tree/a/b/z; ln -s /etc /tree/link");
    alineo_error *err = NULL;
    static const size_t counts[] = {3, 3, 5, 7, 7};
    for (uint32_t depth = 0; depth < AL_COUNT(counts); depth++) {
        struct listing listing = {0};
        alineo_file_request request = request_for("/tree", 0);
        request.depth = depth;
        local_assert_ok(f.table->file_list(f.self, id, &request, add_entry, &listing, &err), &err);
        assert_int_equal(listing.count, counts[depth]);
    }
    struct listing listing = {.stop_at = 2};
    alineo_file_request request = request_for("/tree", 0);
    local_assert_ok(f.table->file_list(f.self, id, &request, add_entry, &listing, &err), &err);
    assert_int_equal(listing.count, 2);
    request.path = "/tree/none";
    local_assert_code(f.table->file_list(f.self, id, &request, add_entry, &listing, &err), &err,
                      ALINEO_FILE_NOT_FOUND);
    request.path = "/tree/x";
    local_assert_code(f.table->file_list(f.self, id, &request, add_entry, &listing, &err), &err,
                      ALINEO_NOT_A_DIRECTORY);
}

static void a_list_of_many_entries_is_whole(void **state) {
    (void)state;
    sh("mkdir -p /many; cd /many; seq 5000 | xargs touch");
    static struct listing listing;
    alineo_error *err = NULL;
    memset(&listing, 0, sizeof(listing));
    alineo_file_request request = request_for("/many", 0);
    local_assert_ok(f.table->file_list(f.self, id, &request, add_entry, &listing, &err), &err);
    assert_int_equal(listing.count, 5000);
}

static void a_search_finds_regular_files_by_name_or_path(void **state) {
    (void)state;
    sh("mkdir -p /find/one/two; touch /find/a.txt /find/one/b.txt /find/one/two/c.md; "
       "ln -s a.txt /find/l.txt; mkdir /find/d.txt");
    static const struct {
        const char *pattern;
        size_t count;
    } cases[] = {{"*.txt", 2}, {"?.md", 1}, {"/find/*/b.txt", 1}, {"none", 0}};
    for (size_t i = 0; i < AL_COUNT(cases); i++) {
        struct listing listing = {0};
        alineo_error *err = NULL;
        alineo_file_request request = request_for("/find", 0);
        request.pattern = cases[i].pattern;
        local_assert_ok(f.table->file_search(f.self, id, &request, add_entry, &listing, &err),
                        &err);
        assert_int_equal(listing.count, cases[i].count);
    }
}

/* --- changing ----------------------------------------------------------------------------------*/

static void files_and_folders_are_removed_and_links_not_followed(void **state) {
    (void)state;
    sh("mkdir -p /rm/full/deep /rm/kept; touch /rm/full/deep/x /rm/file /rm/kept/y; "
       "ln -s /rm/kept /rm/full/link; ln -s /rm/kept /rm/link");
    alineo_error *err = NULL;
    alineo_file_request request = request_for("/rm/full", 0);
    local_assert_code(f.table->file_remove(f.self, id, &request, &err), &err,
                      ALINEO_IS_A_DIRECTORY);
    local_assert_code(f.table->file_rmdir(f.self, id, &request, &err), &err,
                      ALINEO_DIRECTORY_NOT_EMPTY);
    request.flags = ALINEO_FILE_RECURSIVE;
    local_assert_ok(f.table->file_rmdir(f.self, id, &request, &err), &err);
    local_assert_code(f.table->file_rmdir(f.self, id, &request, &err), &err, ALINEO_FILE_NOT_FOUND);
    request = request_for("/rm/link", ALINEO_FILE_RECURSIVE);
    local_assert_code(f.table->file_rmdir(f.self, id, &request, &err), &err,
                      ALINEO_NOT_A_DIRECTORY);
    local_assert_ok(f.table->file_remove(f.self, id, &request, &err), &err);
    request = request_for("/", 0);
    local_assert_code(f.table->file_rmdir(f.self, id, &request, &err), &err,
                      ALINEO_INVALID_ARGUMENT);
    char *seen = local_output(&f, id, "cd /rm; find . | sort");
    assert_string_equal(seen, ".\n./file\n./kept\n./kept/y\n");
    free(seen);
}

static void a_move_replaces_only_when_it_may(void **state) {
    (void)state;
    put("/mv/a", "a");
    put("/mv/b", "b");
    alineo_error *err = NULL;
    alineo_file_request request = request_for("/mv/a", 0);
    request.target = "/mv/b";
    local_assert_code(f.table->file_move(f.self, id, &request, &err), &err, ALINEO_FILE_EXISTS);
    assert_content("/mv/b", "b");
    request.flags = ALINEO_FILE_REPLACE;
    local_assert_ok(f.table->file_move(f.self, id, &request, &err), &err);
    assert_content("/mv/b", "a");
    local_assert_code(read_code("/mv/a", &err), &err, ALINEO_FILE_NOT_FOUND);
}

static void a_move_across_file_systems_takes_everything_along(void **state) {
    (void)state;
    sh("mkdir -p /from/sub/empty; cd /from; printf data > sub/file; chown 1000:1000 sub/file; "
       "chmod 4711 sub/file; ln -s sub/file link; mkfifo pipe; touch -d @1000000 sub; "
       "chmod 750 sub");
    alineo_error *err = NULL;
    alineo_file_request request = request_for("/from", 0);
    request.target = "/dev/shm/to";
    local_assert_ok(f.table->file_move(f.self, id, &request, &err), &err);
    char *seen = local_output(&f, id,
                              "test ! -e /from; cd /dev/shm/to; cat link; echo; "
                              "stat -c '%n %a %u %F' sub sub/file sub/empty link pipe; "
                              "stat -c %Y sub; ls -A /dev/shm");
    assert_string_equal(seen, "data\nsub 750 0 directory\nsub/file 4711 1000 regular file\n"
                              "sub/empty 755 0 directory\nlink 777 0 symbolic link\n"
                              "pipe 644 0 fifo\n1000000\nto\n");
    free(seen);
    request = request_for("/dev/shm/to", 0);
    request.target = "/etc";
    local_assert_code(f.table->file_move(f.self, id, &request, &err), &err, ALINEO_FILE_EXISTS);
    sh("test -d /dev/shm/to/sub && ls -A / | grep -q etc && ! ls -A / | grep alineo");
}

static void owner_and_mode_can_be_changed_by_name_and_number(void **state) {
    (void)state;
    put("/own/file", "x");
    alineo_error *err = NULL;
    alineo_file_request request = request_for("/own/file", 0);
    request.owner = "nobody";
    request.group = "100";
    local_assert_ok(f.table->file_chown(f.self, id, &request, &err), &err);
    request.mode = 0400;
    local_assert_ok(f.table->file_chmod(f.self, id, &request, &err), &err);
    char *seen = local_output(&f, id, "stat -c '%U %g %a' /own/file");
    assert_string_equal(seen, "nobody 100 400\n");
    free(seen);
    request.owner = "no-such-user";
    local_assert_code(f.table->file_chown(f.self, id, &request, &err), &err,
                      ALINEO_INVALID_ARGUMENT);
}

static void a_link_holds_its_text(void **state) {
    (void)state;
    alineo_error *err = NULL;
    alineo_file_request request = request_for("/link/here", ALINEO_FILE_PARENTS);
    request.target = "../anywhere at all";
    local_assert_ok(f.table->file_link(f.self, id, &request, &err), &err);
    local_assert_code(f.table->file_link(f.self, id, &request, &err), &err, ALINEO_FILE_EXISTS);
    char *seen = local_output(&f, id, "readlink /link/here");
    assert_string_equal(seen, "../anywhere at all\n");
    free(seen);
}

static void replacing_counts_and_keeps_what_the_file_is(void **state) {
    (void)state;
    put("/rep/file", "aXbXXc");
    put("/rep/empty", "");
    sh("chmod 751 /rep/file; chown 1000 /rep/file; ln -s file /rep/link");
    alineo_error *err = NULL;
    uint64_t count = 77;
    alineo_file_request request = request_for("/rep/link", 0);
    request.find = "X";
    request.find_size = 1;
    request.replacement = "yy";
    request.replacement_size = 2;
    local_assert_ok(f.table->file_replace(f.self, id, &request, &count, &err), &err);
    assert_int_equal(count, 3);
    assert_content("/rep/file", "ayybyyyyc");
    local_assert_ok(f.table->file_replace(f.self, id, &request, &count, &err), &err);
    assert_int_equal(count, 0);
    request.path = "/rep/empty";
    local_assert_ok(f.table->file_replace(f.self, id, &request, &count, &err), &err);
    assert_int_equal(count, 0);
    request.path = "/rep/file";
    request.find_size = 0;
    local_assert_code(f.table->file_replace(f.self, id, &request, &count, &err), &err,
                      ALINEO_INVALID_ARGUMENT);
    char *seen = local_output(&f, id, "cd /rep; stat -c '%a %u' file; readlink link; ls -A");
    assert_string_equal(seen, "751 1000\nfile\nempty\nfile\nlink\n");
    free(seen);
}

static void files_leave_no_descriptor(void **state) {
    (void)state;
    size_t before = test_count_fds();
    for (int i = 0; i < 100; i++) {
        alineo_error *err = NULL;
        put("/fds/file", "x");
        assert_content("/fds/file", "x");
        local_assert_code(read_code("/fds", &err), &err, ALINEO_IS_A_DIRECTORY);
    }
    assert_int_equal(test_count_fds(), before);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        TEST(what_is_written_is_what_commands_and_readers_find),
        TEST(a_file_is_there_in_whole_as_soon_as_it_was_written),
        TEST(a_shorter_content_leaves_nothing_of_the_longer_one),
        TEST(names_are_taken_as_they_are),
        TEST(modes_are_exact_and_only_new_folders_are_made),
        TEST(what_is_appended_goes_to_the_end_and_what_is_exclusive_must_be_new),
        TEST(a_part_of_a_file_can_be_read),
        TEST(what_is_no_regular_file_is_refused_without_waiting),
        TEST(what_is_missing_or_in_the_way_has_its_code),
        TEST(the_kernels_own_files_are_not_written),
        TEST(links_and_dots_lead_nowhere_but_into_the_sandbox),
        TEST(a_link_that_is_changed_all_the_time_never_leads_out),
        TEST(stat_shows_what_is_there_without_following),
        TEST(a_list_goes_as_deep_as_it_was_asked_to),
        TEST(a_list_of_many_entries_is_whole),
        TEST(a_search_finds_regular_files_by_name_or_path),
        TEST(files_and_folders_are_removed_and_links_not_followed),
        TEST(a_move_replaces_only_when_it_may),
        TEST(a_move_across_file_systems_takes_everything_along),
        TEST(owner_and_mode_can_be_changed_by_name_and_number),
        TEST(a_link_holds_its_text),
        TEST(replacing_counts_and_keeps_what_the_file_is),
        TEST(files_leave_no_descriptor),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
