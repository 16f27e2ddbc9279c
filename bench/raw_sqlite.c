/* SPDX-License-Identifier: Apache-2.0 */
/* Bare loops of SQLite on the ledger's own schema: what there is to reach. The schema is the one
 * that the adapter makes: it is made by opening the adapter, and the bare loop then writes beside
 * it. */
#include "bench/bench.h"

#include "core/util/str.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char insert_row[] =
    "INSERT INTO alineo_events (sandbox_id, name, step_idx, branch, event, payload, error, ts)"
    " VALUES (?, ?, ?, NULL, ?, ?, NULL, ?)";

typedef struct bare {
    sqlite3 *db;
    sqlite3_stmt *begin, *insert, *commit;
    char *path;
} bare;

static bool run(sqlite3 *db, const char *sql) {
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

/* Lets the adapter make its tables and indexes in a file of their own. */
static bool make_schema(const char *path) {
    alineo_direct_storage *storage = bench_open_storage("sqlite", path);
    alineo_direct_storage_close(storage);
    return storage != NULL;
}

static bool bare_open(bare *b, const char *dir) {
    *b = (bare){NULL, NULL, NULL, NULL, al_strf("%s/bare.db", dir)};
    return b->path != NULL && make_schema(b->path) && sqlite3_open(b->path, &b->db) == SQLITE_OK &&
           run(b->db, "PRAGMA journal_mode=WAL") && run(b->db, "PRAGMA synchronous=FULL") &&
           sqlite3_prepare_v2(b->db, "BEGIN IMMEDIATE", -1, &b->begin, NULL) == SQLITE_OK &&
           sqlite3_prepare_v2(b->db, insert_row, -1, &b->insert, NULL) == SQLITE_OK &&
           sqlite3_prepare_v2(b->db, "COMMIT", -1, &b->commit, NULL) == SQLITE_OK;
}

static void bare_close(bare *b) {
    sqlite3_finalize(b->begin);
    sqlite3_finalize(b->insert);
    sqlite3_finalize(b->commit);
    sqlite3_close(b->db);
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < 3 && b->path != NULL; i++) {
        char *path = al_strf("%s%s", b->path, suffixes[i]);
        if (path != NULL)
            (void)unlink(path);
        free(path);
    }
    free(b->path);
}

static bool step(sqlite3_stmt *statement) {
    bool good = sqlite3_step(statement) == SQLITE_DONE;
    return sqlite3_reset(statement) == SQLITE_OK && good;
}

static bool insert(bare *b, uint64_t i, const char *payload, int size) {
    sqlite3_bind_text(b->insert, 1, "bench-0000000000", -1, SQLITE_STATIC);
    sqlite3_bind_text(b->insert, 2, "bench", -1, SQLITE_STATIC);
    sqlite3_bind_int(b->insert, 3, 1);
    sqlite3_bind_text(b->insert, 4, "exec_event", -1, SQLITE_STATIC);
    sqlite3_bind_text(b->insert, 5, payload, size, SQLITE_STATIC);
    sqlite3_bind_int64(b->insert, 6, (sqlite3_int64)(1700000000000 + i / 10));
    return step(b->insert);
}

bool bench_bare_commits(const char *dir, size_t n, bench_samples *samples) {
    static const char payload[] = "{\"seq\":1,\"type\":\"stdout\",\"text\":\"hello\\n\"}";
    bare b;
    bool good = bare_open(&b, dir);
    for (size_t i = 0; i < n && good; i++) {
        int64_t start = bench_now_ns();
        good = step(b.begin) && insert(&b, i, payload, (int)sizeof(payload) - 1) && step(b.commit);
        bench_add(samples, bench_ms_since(start));
    }
    bare_close(&b);
    return good;
}

double bench_bare_inserts(const char *dir, const char *payload, uint64_t rows, size_t batch) {
    bare b;
    bool good = bare_open(&b, dir);
    int size = (int)strlen(payload);
    int64_t start = bench_now_ns();
    for (uint64_t i = 0; i < rows && good; i++) {
        if (i % batch == 0)
            good = step(b.begin);
        good = good && insert(&b, i, payload, size);
        if (good && (i % batch == batch - 1 || i + 1 == rows))
            good = step(b.commit);
    }
    double seconds = bench_ms_since(start) / 1e3;
    if (!good)
        fprintf(stderr, "alineo-bench: the bare loop: %s\n",
                b.db != NULL ? sqlite3_errmsg(b.db) : "it could not be opened");
    bare_close(&b);
    return good && seconds > 0 ? (double)rows / seconds : 0;
}
