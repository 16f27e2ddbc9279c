/* SPDX-License-Identifier: Apache-2.0 */
/* The file: where it is made, who may read it, and what is said when it cannot be used. */
#include "tests/support/storage_cases.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/io.h"
#include "core/util/str.h"
#include "tests/support/folder.h"

extern const alineo_plugin alineo_plugin_storage_sqlite;

static int make_folder(void **state) {
    test_folder *folder = malloc(sizeof(*folder));
    assert_non_null(folder);
    test_folder_make(folder);
    *state = folder;
    return 0;
}

static int remove_folder(void **state) {
    test_folder_remove(*state);
    free(*state);
    return 0;
}

static void open_at(storage_test *test, const char *path) {
    const char *pairs[] = {"path", path, NULL};
    storage_test_open(test, &alineo_plugin_storage_sqlite, pairs);
}

/* Opening must fail so, with a message that says both. */
static void expect_failure(const char *path, const char *busy, alineo_code expected,
                           const char *first, const char *second) {
    const char *pairs[] = {"path", path, "busyTimeout", busy, NULL};
    storage_test test;
    alineo_error *error = NULL;
    alineo_code code = storage_test_try(&test, &alineo_plugin_storage_sqlite, pairs, &error);
    assert_int_equal(code, expected);
    assert_int_equal(alineo_error_code(error), expected);
    if (strstr(alineo_error_message(error), first) == NULL ||
        strstr(alineo_error_message(error), second) == NULL)
        fail_msg("\"%s\" lacks \"%s\" or \"%s\"", alineo_error_message(error), first, second);
    alineo_error_free(error);
}

static mode_t mode_of(const char *path) {
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 07777;
}

/* --- making it -------------------------------------------------------------------------------- */

static void folders_are_made_private_and_so_are_the_files(void **state) {
    const test_folder *folder = *state;
    mode_t old = umask(022);
    storage_test test;
    open_at(&test, test_path(folder, "a/b/c/l.db"));
    storage_put_one(&test, "a", "sandbox_created", -1, "{}", 1);
    assert_int_equal(mode_of(test_path(folder, "a")), 0700);
    assert_int_equal(mode_of(test_path(folder, "a/b/c")), 0700);
    assert_int_equal(mode_of(test_path(folder, "a/b/c/l.db")), 0600);
    assert_int_equal(mode_of(test_path(folder, "a/b/c/l.db-wal")), 0600);
    assert_int_equal(mode_of(test_path(folder, "a/b/c/l.db-shm")), 0600);
    storage_test_close(&test);
    (void)umask(old);
    /* Nothing but the file stays. */
    assert_int_not_equal(access(test_path(folder, "a/b/c/l.db-wal"), F_OK), 0);
    open_at(&test, test_path(folder, "a/b/c/l.db"));
    assert_int_equal(storage_count(&test, NULL), 1);
    storage_test_close(&test);
}

static void a_relative_path_stays_what_it_was(void **state) {
    const test_folder *folder = *state;
    char *before = getcwd(NULL, 0);
    assert_non_null(before);
    assert_int_equal(chdir(folder->path), 0);
    storage_test test;
    open_at(&test, "l.db");
    storage_put_one(&test, "a", "sandbox_created", -1, "{}", 1);
    assert_int_equal(chdir("/"), 0);
    /* The reading connection is only made now. */
    assert_int_equal(storage_count(&test, NULL), 1);
    storage_test_close(&test);
    assert_int_equal(access(test_path(folder, "l.db"), F_OK), 0);
    assert_int_equal(chdir(before), 0);
    free(before);
}

static int64_t pragma_of(const char *path, const char *text) {
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, text, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(statement, 0);
    if (strcmp((const char *)sqlite3_column_text(statement, 0), "wal") == 0)
        value = 1;
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return value;
}

static void it_is_in_wal_mode_and_open_again_without_a_write(void **state) {
    const test_folder *folder = *state;
    const char *path = test_path(folder, "l.db");
    storage_test test;
    open_at(&test, path);
    storage_test_close(&test);
    assert_int_equal(pragma_of(path, "PRAGMA journal_mode"), 1);
    struct stat before, after;
    assert_int_equal(stat(path, &before), 0);
    open_at(&test, path);
    assert_int_equal(storage_count(&test, NULL), 0);
    storage_test_close(&test);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
    assert_int_equal(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
}

static void no_descriptor_stays_open(void **state) {
    const test_folder *folder = *state;
    size_t before = test_count_fds();
    for (int i = 0; i < 3; i++) {
        storage_test test;
        open_at(&test, test_path(folder, "l.db"));
        storage_put_one(&test, "a", "sandbox_created", -1, "{}", 1);
        (void)storage_count(&test, NULL);
        storage_test_close(&test);
    }
    assert_int_equal(test_count_fds(), before);
}

/* --- what cannot be used ---------------------------------------------------------------------- */

static void a_path_that_is_no_file_is_named(void **state) {
    const test_folder *folder = *state;
    assert_int_equal(mkdir(test_path(folder, "d"), 0700), 0);
    expect_failure(test_path(folder, "d"), "1s", ALINEO_STORAGE_UNAVAILABLE, "/d", "is a folder");
    expect_failure(test_path(folder, "d/"), "1s", ALINEO_STORAGE_UNAVAILABLE, "/d/", "is a folder");
    assert_int_equal(mkfifo(test_path(folder, "fifo"), 0600), 0);
    expect_failure(test_path(folder, "fifo"), "1s", ALINEO_STORAGE_UNAVAILABLE, "/fifo",
                   "no plain file");
    test_write_file(test_path(folder, "file"), "x", 0600);
    expect_failure(test_path(folder, "file/l.db"), "1s", ALINEO_STORAGE_UNAVAILABLE, "/file/l.db",
                   "Not a directory");
    expect_failure("", "1s", ALINEO_CONFIG_INVALID, "no path", "");
}

static void odd_options_are_refused(void **state) {
    const test_folder *folder = *state;
    storage_test test;
    alineo_error *error = NULL;
    const char *sync[] = {"path", test_path(folder, "l.db"), "sync", "sometimes", NULL};
    assert_int_equal(storage_test_try(&test, &alineo_plugin_storage_sqlite, sync, &error),
                     ALINEO_CONFIG_INVALID);
    assert_non_null(strstr(alineo_error_message(error), "sometimes"));
    alineo_error_free(error);
    assert_int_not_equal(access(test_path(folder, "l.db"), F_OK), 0);
}

/* Runs as a user that is not root, who may do everything. 77 = that is not possible here. */
static int as_nobody(void (*run)(const test_folder *folder), const test_folder *folder) {
    (void)fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (setgid(65534) != 0 || setuid(65534) != 0)
            _exit(77);
        run(folder);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void try_read_only(const test_folder *folder) {
    expect_failure(test_path(folder, "new.db"), "1s", ALINEO_STORAGE_UNAVAILABLE, "/new.db",
                   "Permission denied");
    expect_failure(test_path(folder, "l.db"), "1s", ALINEO_STORAGE_UNAVAILABLE, "/l.db", "");
    expect_failure(test_path(folder, "sub/l.db"), "1s", ALINEO_STORAGE_UNAVAILABLE, "sub/l.db",
                   "Permission denied");
}

static void a_read_only_folder_is_named(void **state) {
    const test_folder *folder = *state;
    if (getuid() != 0) {
        print_message("needs root to be another user\n");
        skip();
    }
    storage_test test;
    open_at(&test, test_path(folder, "l.db"));
    storage_test_close(&test);
    assert_int_equal(chmod(test_path(folder, "l.db"), 0444), 0);
    assert_int_equal(chmod(folder->path, 0555), 0);
    int rc = as_nobody(try_read_only, folder);
    assert_int_equal(chmod(folder->path, 0700), 0);
    if (rc == 77)
        skip();
    assert_int_equal(rc, 0);
}

static void what_is_no_database_is_corrupt(void **state) {
    const test_folder *folder = *state;
    const char *path = test_path(folder, "l.db");
    char text[8192];
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    test_write_file(path, text, 0600);
    expect_failure(path, "1s", ALINEO_STORAGE_CORRUPT, "/l.db", "not a database");
}

static void damage_is_told_and_the_rest_of_the_process_lives(void **state) {
    const test_folder *folder = *state;
    const char *path = test_path(folder, "l.db");
    storage_test test;
    open_at(&test, path);
    for (int i = 0; i < 500; i++)
        storage_put_one(&test, "a", "exec_event", 1, "{\"text\":\"some output of a command\"}", i);
    storage_test_close(&test);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    char noise[4096];
    memset(noise, 0xa5, sizeof(noise));
    for (off_t at = 8192; at + 4096 <= status.st_size; at += 4096)
        assert_int_equal(pwrite(fd, noise, sizeof(noise), at), sizeof(noise));
    assert_int_equal(close(fd), 0);
    const char *pairs[] = {"path", path, NULL};
    alineo_error *error = NULL;
    alineo_code code = storage_test_try(&test, &alineo_plugin_storage_sqlite, pairs, &error);
    if (code == ALINEO_OK) {
        alineo_ledger_entry entry = storage_entry("a", "exec_event", 1, "{}", 1);
        code = storage_put(&test, &entry, 1, NULL);
        storage_test_close(&test);
    }
    assert_int_equal(code, ALINEO_STORAGE_CORRUPT);
    alineo_error_free(error);
}

static void run_sql(const char *path, const char *text) {
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void a_newer_schema_is_refused_and_left_alone(void **state) {
    const test_folder *folder = *state;
    const char *path = test_path(folder, "l.db");
    run_sql(path, "CREATE TABLE alineo_c_meta(key TEXT PRIMARY KEY, value TEXT NOT NULL);"
                  "INSERT INTO alineo_c_meta VALUES('sqlite.schema', '2');"
                  "CREATE TABLE alineo_of_the_future(x);");
    struct stat before, after;
    assert_int_equal(stat(path, &before), 0);
    expect_failure(path, "1s", ALINEO_STORAGE_REJECTED, "schema 2", "knows 1");
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(after.st_size, before.st_size);
    assert_int_equal(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
    assert_int_equal(pragma_of(path, "SELECT count(*) FROM sqlite_schema WHERE type = 'table'"), 2);
}

/* --- locks ------------------------------------------------------------------------------------ */

/* Another process that holds the lock for writing until the pipe is closed. */
static pid_t hold_lock(const char *path, int *release_fd) {
    int ready[2], release[2];
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    assert_int_equal(pipe2(release, O_CLOEXEC), 0);
    (void)fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(release[1]);
        sqlite3 *db = NULL;
        char byte = 0;
        if (sqlite3_open(path, &db) != SQLITE_OK ||
            sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK ||
            write(ready[1], "x", 1) != 1)
            _exit(1);
        _exit(read(release[0], &byte, 1) == 0 ? 0 : 1);
    }
    char byte = 0;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    (void)close(ready[1]);
    (void)close(release[0]);
    *release_fd = release[1];
    return child;
}

static void release_lock(pid_t child, int fd) {
    assert_int_equal(close(fd), 0);
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_busy_database_waits_and_then_says_who_holds_it(void **state) {
    const test_folder *folder = *state;
    const char *path = test_path(folder, "l.db");
    const char *pairs[] = {"path", path, "busyTimeout", "200ms", NULL};
    storage_test test;
    storage_test_open(&test, &alineo_plugin_storage_sqlite, pairs);
    int fd = -1;
    pid_t child = hold_lock(path, &fd);
    alineo_ledger_entry entry = storage_entry("a", "sandbox_created", -1, "{}", 1);
    const alineo_ledger_entry *pointers[] = {&entry};
    const alineo_ledger_batch batch = {sizeof(batch), "w", 1, pointers, 1};
    size_t failed = 0;
    alineo_error *error = NULL;
    int64_t begun = al_clock_monotonic_ms();
    assert_int_equal(test.table->append(test.self, &batch, &failed, &error),
                     ALINEO_STORAGE_UNAVAILABLE);
    assert_true(al_clock_monotonic_ms() - begun >= 200);
    char holder[32];
    (void)snprintf(holder, sizeof(holder), "process %d (", (int)child);
    assert_non_null(strstr(alineo_error_message(error), holder));
    assert_non_null(strstr(alineo_error_message(error), path));
    alineo_error_free(error);
    /* Reading goes on meanwhile. */
    assert_int_equal(storage_count(&test, NULL), 0);
    release_lock(child, fd);
    assert_int_equal(storage_put(&test, &entry, 1, NULL), ALINEO_OK);
    assert_int_equal(storage_count(&test, NULL), 1);
    storage_test_close(&test);
}

static void opening_a_busy_database_waits_and_then_says_so(void **state) {
    const test_folder *folder = *state;
    const char *path = test_path(folder, "l.db");
    run_sql(path, "PRAGMA journal_mode = WAL; CREATE TABLE t(x);");
    int fd = -1;
    pid_t child = hold_lock(path, &fd);
    expect_failure(path, "100ms", ALINEO_STORAGE_UNAVAILABLE, "locked", "/l.db");
    release_lock(child, fd);
    storage_test test;
    open_at(&test, path);
    storage_test_close(&test);
}

/* --- a full disk ------------------------------------------------------------------------------ */

static void fill_up_and_go_on(const char *path) {
    storage_test test;
    open_at(&test, path);
    char payload[4096];
    memset(payload, 'x', sizeof(payload));
    memcpy(payload, "{\"text\":\"", 9);
    memcpy(payload + sizeof(payload) - 3, "\"}", 3);
    alineo_ledger_entry entries[20];
    for (size_t i = 0; i < AL_COUNT(entries); i++)
        entries[i] = storage_entry("a", "exec_event", 1, payload, 1);
    size_t stored = 0;
    alineo_code code;
    while ((code = storage_put(&test, entries, AL_COUNT(entries), NULL)) == ALINEO_OK)
        stored += AL_COUNT(entries);
    assert_int_equal(code, ALINEO_STORAGE_UNAVAILABLE);
    assert_true(stored > 0);
    /* No half batch; what is there can be read. */
    assert_int_equal(storage_count(&test, NULL), stored);
    al_autofree char *ballast = al_strf("%s.ballast", path);
    assert_non_null(ballast);
    assert_int_equal(unlink(ballast), 0);
    assert_int_equal(storage_put(&test, entries, AL_COUNT(entries), NULL), ALINEO_OK);
    assert_int_equal(storage_count(&test, NULL), stored + AL_COUNT(entries));
    storage_test_close(&test);
    assert_int_equal(pragma_of(path, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"),
                     1);
}

static void a_full_disk_is_told_and_stores_no_half_batch(void **state) {
    const test_folder *folder = *state;
    (void)fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("tmpfs", folder->path, "tmpfs", 0, "size=1m") != 0)
            _exit(77);
        char ballast[300000];
        memset(ballast, 'b', sizeof(ballast));
        ballast[sizeof(ballast) - 1] = '\0';
        test_write_file(test_path(folder, "l.db.ballast"), ballast, 0600);
        fill_up_and_go_on(test_path(folder, "l.db"));
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("a tmpfs cannot be mounted here\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        CASE(folders_are_made_private_and_so_are_the_files),
        CASE(a_relative_path_stays_what_it_was),
        CASE(it_is_in_wal_mode_and_open_again_without_a_write),
        CASE(no_descriptor_stays_open),
        CASE(a_path_that_is_no_file_is_named),
        CASE(odd_options_are_refused),
        CASE(a_read_only_folder_is_named),
        CASE(what_is_no_database_is_corrupt),
        CASE(damage_is_told_and_the_rest_of_the_process_lives),
        CASE(a_newer_schema_is_refused_and_left_alone),
        CASE(a_busy_database_waits_and_then_says_who_holds_it),
        CASE(opening_a_busy_database_waits_and_then_says_so),
        CASE(a_full_disk_is_told_and_stores_no_half_batch),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
