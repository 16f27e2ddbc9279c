/* SPDX-License-Identifier: Apache-2.0 */
/* test: timeout=300 */
/* Several processes on one file, and processes that end in the middle. */
#include "tests/support/storage_cases.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/util/random.h"
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

static void open_at(storage_test *test, const char *path, const char *busy) {
    const char *pairs[] = {"path", path, "busyTimeout", busy, NULL};
    storage_test_open(test, &alineo_plugin_storage_sqlite, pairs);
}

static int64_t query(const char *path, const char *text) {
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_busy_timeout(db, 10000), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, text, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(statement, 0);
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return value;
}

static void assert_sound(const char *path) {
    assert_int_equal(query(path, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
}

/* --- many writers ----------------------------------------------------------------------------- */

enum {
    WRITERS = 8,
    APPENDS = 500
};

/* Takes numbers of one session as handles do: the next that is known, and on a conflict the one
 * after it. */
static int write_many(const char *path) {
    storage_test test;
    open_at(&test, path, "60s");
    char writer[17];
    if (al_random_id(writer, 16) != 0)
        return 1;
    uint64_t number = 1;
    int32_t step = 1;
    for (int done = 0; done < APPENDS;) {
        alineo_ledger_entry entry = storage_entry("shared", "exec_start", step, "{}", 1);
        entry.flags = ALINEO_ENTRY_CLAIMS_STEP;
        const alineo_ledger_entry *pointers[] = {&entry};
        const alineo_ledger_batch batch = {sizeof(batch), writer, number, pointers, 1};
        size_t failed = 0;
        alineo_error *error = NULL;
        alineo_code code = test.table->append(test.self, &batch, &failed, &error);
        alineo_error_free(error);
        if (code != ALINEO_OK && code != ALINEO_CONFLICT)
            return 2;
        number += code == ALINEO_OK;
        done += code == ALINEO_OK;
        step++;
    }
    storage_test_close(&test);
    return 0;
}

static void eight_processes_may_append_to_one_session(void **state) {
    const test_folder *folder = *state;
    const char *path = test_path(folder, "l.db");
    pid_t children[WRITERS];
    (void)fflush(NULL);
    for (size_t i = 0; i < WRITERS; i++) {
        /* They even make the file and its tables at once. */
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            _exit(write_many(path));
    }
    for (size_t i = 0; i < WRITERS; i++) {
        int status = 0;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(query(path, "SELECT count(*) FROM alineo_events"), WRITERS * APPENDS);
    assert_int_equal(query(path, "SELECT count(DISTINCT step_idx) FROM alineo_events"),
                     WRITERS * APPENDS);
    assert_sound(path);
}

/* --- the end in the middle -------------------------------------------------------------------- */

enum {
    BATCH = 10
};

static void append_until_killed(const char *path, long round, int acknowledge_fd) {
    storage_test test;
    open_at(&test, path, "60s");
    /* Numbers that the writer had before would be taken for sent again. */
    test.next_number += (uint64_t)round * 1000000;
    char payload[2000];
    memset(payload, 'x', sizeof(payload));
    memcpy(payload, "{\"text\":\"", 9);
    memcpy(payload + sizeof(payload) - 3, "\"}", 3);
    alineo_ledger_entry entries[BATCH];
    for (int32_t i = 0; i < BATCH; i++)
        entries[i] = storage_entry("a", "exec_event", i + 1, payload, 1);
    while (storage_put(&test, entries, BATCH, NULL) == ALINEO_OK)
        if (write(acknowledge_fd, "x", 1) != 1)
            _exit(1);
    _exit(2);
}

static size_t count_bytes(int fd) {
    size_t count = 0;
    char bytes[256];
    ssize_t n;
    while ((n = read(fd, bytes, sizeof(bytes))) > 0)
        count += (size_t)n;
    return count;
}

static void what_was_acknowledged_survives_kill_and_no_half_batch_does(void **state) {
    const test_folder *folder = *state;
    const char *path = test_path(folder, "l.db");
    size_t stored = 0, acknowledged = 0;
    for (long round = 0; round < 20; round++) {
        int fds[2];
        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        (void)fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            append_until_killed(path, round, fds[1]);
        assert_int_equal(close(fds[1]), 0);
        struct timespec pause = {0, 3000000 + round * round * 200000};
        assert_int_equal(nanosleep(&pause, NULL), 0);
        assert_int_equal(kill(child, SIGKILL), 0);
        acknowledged += count_bytes(fds[0]);
        assert_int_equal(close(fds[0]), 0);
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        if (access(path, F_OK) != 0)
            continue;
        storage_test test;
        open_at(&test, path, "60s");
        stored = storage_count(&test, "a");
        storage_test_close(&test);
        assert_int_equal(stored % BATCH, 0);
        assert_true(stored >= acknowledged * BATCH);
        /* At most the one that was under way each time. */
        assert_true(stored <= (acknowledged + (size_t)round + 1) * BATCH);
        assert_sound(path);
    }
    assert_true(stored > 0);
}

static void a_transaction_that_was_never_committed_is_gone(void **state) {
    const test_folder *folder = *state;
    const char *path = test_path(folder, "l.db");
    storage_test test;
    open_at(&test, path, "60s");
    storage_put_one(&test, "a", "sandbox_created", -1, "{}", 1);
    (void)fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        sqlite3 *db = NULL;
        (void)sqlite3_open(path, &db);
        (void)sqlite3_exec(db,
                           "BEGIN IMMEDIATE; INSERT INTO alineo_events(sandbox_id, name, step_idx, "
                           "event, ts) VALUES('a', 'name', 1, 'exec_start', 2)",
                           NULL, NULL, NULL);
        (void)raise(SIGKILL);
        _exit(1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(storage_count(&test, NULL), 1);
    storage_put_one(&test, "a", "exec_start", 1, "{}", 3);
    assert_int_equal(storage_count(&test, NULL), 2);
    storage_test_close(&test);
    assert_sound(path);
}

/* --- order between processes ------------------------------------------------------------------ */

static void what_is_committed_late_is_not_missed(void **state) {
    const test_folder *folder = *state;
    const char *path = test_path(folder, "l.db");
    storage_test test;
    open_at(&test, path, "50ms");
    sqlite3 *other = NULL;
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other,
                                  "BEGIN IMMEDIATE; INSERT INTO alineo_events(sandbox_id, name, "
                                  "step_idx, event, ts) VALUES('a', 'name', 1, 'exec_event', 5)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    alineo_ledger_entry entry = storage_entry("a", "exec_event", 2, NULL, 6);
    assert_int_equal(storage_put(&test, &entry, 1, NULL), ALINEO_STORAGE_UNAVAILABLE);
    const alineo_read_request all = {.size = sizeof(all)};
    alineo_storage_reader *reader = NULL;
    assert_int_equal(test.table->read_open(test.self, &all, &reader, NULL), ALINEO_OK);
    alineo_ledger_record record = ALINEO_LEDGER_RECORD_INIT;
    int32_t found = 1;
    assert_int_equal(test.table->read_next(test.self, reader, &record, &found, NULL), ALINEO_OK);
    assert_int_equal(found, 0);
    assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(storage_put(&test, &entry, 1, NULL), ALINEO_OK);
    for (int32_t step = 1; step <= 2; step++) {
        assert_int_equal(test.table->read_next(test.self, reader, &record, &found, NULL),
                         ALINEO_OK);
        assert_int_equal(found, 1);
        assert_int_equal(record.step_idx, step);
    }
    test.table->read_close(test.self, reader);
    /* Nor is its time forgotten. */
    assert_int_equal(sqlite3_exec(other,
                                  "INSERT INTO alineo_events(sandbox_id, name, step_idx, event, "
                                  "ts) VALUES('a', 'name', 3, 'exec_event', 100)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    storage_put_one(&test, "a", "exec_event", 4, NULL, 7);
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    storage_test_close(&test);
    assert_int_equal(query(path, "SELECT ts FROM alineo_events WHERE step_idx = 4"), 100);
}

static void leases_and_meta_are_seen_by_other_processes(void **state) {
    const test_folder *folder = *state;
    const char *path = test_path(folder, "l.db");
    storage_test a, b;
    open_at(&a, path, "60s");
    open_at(&b, path, "60s");
    assert_int_equal(a.table->lease_acquire(a.self, "k", "A", 60000, NULL), ALINEO_OK);
    assert_int_equal(b.table->lease_acquire(b.self, "k", "B", 60000, NULL), ALINEO_CONFLICT);
    assert_int_equal(a.table->meta_put(a.self, "id", "1", ALINEO_META_IF_ABSENT, NULL), ALINEO_OK);
    assert_int_equal(b.table->meta_put(b.self, "id", "2", ALINEO_META_IF_ABSENT, NULL), ALINEO_OK);
    char *value = NULL;
    assert_int_equal(b.table->meta_get(b.self, "id", &value, NULL), ALINEO_OK);
    assert_string_equal(value, "1");
    b.host.host.free(&b.host.host, value);
    storage_test_close(&a);
    storage_test_close(&b);
}

/* --- descriptors and children ----------------------------------------------------------------- */

static void opening_it_again_drops_no_lock_of_this_process(void **state) {
    const test_folder *folder = *state;
    const char *path = test_path(folder, "l.db");
    storage_test first;
    open_at(&first, path, "60s");
    sqlite3 *holder = NULL;
    assert_int_equal(sqlite3_open(path, &holder), SQLITE_OK);
    assert_int_equal(sqlite3_exec(holder, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    storage_test second;
    open_at(&second, path, "60s");
    assert_int_equal(storage_count(&second, NULL), 0);
    storage_test_close(&second);
    (void)fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        sqlite3 *db = NULL;
        (void)sqlite3_open(path, &db);
        _exit(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_BUSY ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(sqlite3_exec(holder, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(holder), SQLITE_OK);
    storage_test_close(&first);
}

static void *append_some(void *argument) {
    storage_test *test = argument;
    for (int i = 0; i < 300; i++)
        storage_put_one(test, "a", "exec_event", 1, "{}", i);
    return NULL;
}

static void children_that_are_started_meanwhile_do_no_harm(void **state) {
    const test_folder *folder = *state;
    const char *path = test_path(folder, "l.db");
    storage_test test;
    open_at(&test, path, "60s");
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, append_some, &test), 0);
    char *const argv[] = {"ls", "/proc/self/fd", NULL};
    for (int i = 0; i < 20; i++) {
        posix_spawn_file_actions_t actions;
        assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
        assert_int_equal(posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0),
                         0);
        pid_t child = 0;
        assert_int_equal(posix_spawnp(&child, "ls", &actions, NULL, argv, NULL), 0);
        assert_int_equal(posix_spawn_file_actions_destroy(&actions), 0);
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(storage_count(&test, NULL), 300);
    storage_test_close(&test);
    assert_sound(path);
}

static void the_wal_stays_bounded(void **state) {
    const test_folder *folder = *state;
    const char *path = test_path(folder, "l.db");
    const char *wal = test_path(folder, "l.db-wal");
    const char *pairs[] = {"path", path, "sync", "normal", NULL};
    storage_test test;
    storage_test_open(&test, &alineo_plugin_storage_sqlite, pairs);
    size_t size = (size_t)256 * 1024;
    char *payload = malloc(size);
    assert_non_null(payload);
    memset(payload, 'x', size);
    memcpy(payload, "{\"text\":\"", 9);
    memcpy(payload + size - 3, "\"}", 3);
    off_t largest = 0;
    for (int i = 0; i < 400; i++) {
        storage_put_one(&test, "a", "exec_event", 1, payload, i);
        if (i % 10 == 0)
            (void)storage_count(&test, "none");
        struct stat status;
        assert_int_equal(stat(wal, &status), 0);
        largest = status.st_size > largest ? status.st_size : largest;
    }
    free(payload);
    storage_test_close(&test);
    assert_true(largest < (off_t)40 * 1024 * 1024);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        CASE(eight_processes_may_append_to_one_session),
        CASE(what_was_acknowledged_survives_kill_and_no_half_batch_does),
        CASE(a_transaction_that_was_never_committed_is_gone),
        CASE(what_is_committed_late_is_not_missed),
        CASE(leases_and_meta_are_seen_by_other_processes),
        CASE(opening_it_again_drops_no_lock_of_this_process),
        CASE(children_that_are_started_meanwhile_do_no_harm),
        CASE(the_wal_stays_bounded),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
