/* SPDX-License-Identifier: Apache-2.0 */
/* A loss of power, played: what the disk surely has is what was there when a sync ended last. */
#include "tests/support/storage_cases.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/folder.h"

extern const alineo_plugin alineo_plugin_storage_sqlite;

static const char *live_path; /* the database; NULL = syncs are not watched */
static const char *disk_path; /* what the disk has of it */
static size_t sync_count;

static void copy_file(const char *from, const char *to) {
    int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0) {
        (void)unlink(to);
        return;
    }
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    char bytes[65536];
    ssize_t n;
    while ((n = read(in, bytes, sizeof(bytes))) > 0)
        if (write(out, bytes, (size_t)n) != n)
            _exit(1);
    (void)close(in);
    (void)close(out);
}

/* In a process of its own: to close the database's descriptors here would drop its locks. */
static void copy_database(const char *from, const char *to) {
    pid_t child = fork();
    if (child == 0) {
        char a[256], b[256];
        copy_file(from, to);
        (void)snprintf(a, sizeof(a), "%s-wal", from);
        (void)snprintf(b, sizeof(b), "%s-wal", to);
        copy_file(a, b);
        _exit(0);
    }
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        abort();
}

static int synced(long result) {
    sync_count++;
    if (result == 0 && live_path != NULL)
        copy_database(live_path, disk_path);
    return (int)result;
}

/* These stand before the C library's, for SQLite too. */
__attribute__((visibility("default"))) int fdatasync(int fd) {
    return synced(syscall(SYS_fdatasync, fd));
}
__attribute__((visibility("default"))) int fsync(int fd) {
    return synced(syscall(SYS_fsync, fd));
}

/* Rows that are there once the power is back. */
static int rows_after_power_cut(const test_folder *folder) {
    const char *path = test_path(folder, "after.db");
    live_path = NULL;
    copy_database(disk_path, path);
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT count(*), (SELECT integrity_check FROM "
                                        "pragma_integrity_check) FROM alineo_events",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int rows = sqlite3_column_int(statement, 0);
    assert_string_equal((const char *)sqlite3_column_text(statement, 1), "ok");
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return rows;
}

static int append_and_cut(const char *sync, int batches) {
    test_folder folder;
    test_folder_make(&folder);
    char live[256], disk[256];
    (void)snprintf(live, sizeof(live), "%s/l.db", folder.path);
    (void)snprintf(disk, sizeof(disk), "%s/disk.db", folder.path);
    const char *pairs[] = {"path", live, "sync", sync, NULL};
    storage_test test;
    storage_test_open(&test, &alineo_plugin_storage_sqlite, pairs);
    disk_path = disk;
    copy_database(live, disk);
    int missing = 0;
    for (int i = 1; i <= batches; i++) {
        live_path = live;
        storage_put_one(&test, "a", "exec_event", i, "{\"text\":\"some output\"}", i);
        missing += rows_after_power_cut(&folder) != i;
    }
    storage_test_close(&test);
    test_folder_remove(&folder);
    return missing;
}

static void with_full_what_was_acknowledged_survives_a_loss_of_power(void **state) {
    (void)state;
    sync_count = 0;
    assert_int_equal(append_and_cut("full", 20), 0);
    assert_true(sync_count >= 20);
}

static void with_normal_it_need_not(void **state) {
    (void)state;
    assert_true(append_and_cut("normal", 20) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_full_what_was_acknowledged_survives_a_loss_of_power),
        cmocka_unit_test(with_normal_it_need_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
