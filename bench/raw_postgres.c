/* SPDX-License-Identifier: Apache-2.0 */
/* A bare loop of PostgreSQL on the ledger's own schema: what there is to reach. The schema is the
 * one that the adapter makes: it is made by opening the adapter. */
#include "bench/bench.h"

#include "core/util/buf.h"

#include <endian.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char copy_rows[] =
    "COPY " BENCH_POSTGRES_SCHEMA ".alineo_events"
    "(sandbox_id, name, step_idx, branch, event, payload, error, ts) FROM STDIN (FORMAT binary)";

static void ignore_notice(void *user, const PGresult *notice) {
    (void)user, (void)notice;
}

static PGconn *open_bare(const char *url) {
    PGconn *db = PQconnectdb(url != NULL ? url : "");
    if (PQstatus(db) == CONNECTION_OK) {
        (void)PQsetNoticeReceiver(db, ignore_notice, NULL);
        return db;
    }
    fprintf(stderr, "alineo-bench: the bare loop: %s", PQerrorMessage(db));
    PQfinish(db);
    return NULL;
}

static bool run(PGconn *db, const char *text) {
    PGresult *result = PQexec(db, text);
    bool good = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    if (!good)
        fprintf(stderr, "alineo-bench: %s: %s", text, PQerrorMessage(db));
    return good;
}

bool bench_postgres_reset(const char *url) {
    PGconn *db = open_bare(url);
    bool good = db != NULL && run(db, "DROP SCHEMA IF EXISTS " BENCH_POSTGRES_SCHEMA " CASCADE");
    PQfinish(db);
    return good;
}

static void put_int16(al_buf *out, int16_t value) {
    uint16_t wire = htobe16((uint16_t)value);
    al_buf_append(out, &wire, sizeof(wire));
}

static void put_int32(al_buf *out, int32_t value) {
    uint32_t wire = htobe32((uint32_t)value);
    al_buf_append(out, &wire, sizeof(wire));
}

static void put_text(al_buf *out, const char *text) {
    put_int32(out, (int32_t)strlen(text));
    al_buf_append_str(out, text);
}

static void put_row(al_buf *out, uint64_t i, const char *payload) {
    put_int16(out, 8);
    put_text(out, "bench-0000000000");
    put_text(out, "bench");
    put_int32(out, 4);
    put_int32(out, 1);
    put_int32(out, -1);
    put_text(out, "exec_event");
    put_int32(out, (int32_t)strlen(payload) + 1);
    al_buf_append_char(out, 1); /* version of JSONB's binary form */
    al_buf_append_str(out, payload);
    put_int32(out, -1);
    put_int32(out, 8);
    uint64_t ts = htobe64(1700000000000 + i / 10);
    al_buf_append(out, &ts, sizeof(ts));
}

/* One transaction. */
static bool copy_batch(PGconn *db, al_buf *bytes, uint64_t from, size_t count,
                       const char *payload) {
    al_buf_clear(bytes);
    al_buf_append(bytes, "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19);
    for (size_t i = 0; i < count; i++)
        put_row(bytes, from + i, payload);
    put_int16(bytes, -1);
    PGresult *result = PQexec(db, copy_rows);
    bool good = PQresultStatus(result) == PGRES_COPY_IN && bytes->error == 0 &&
                PQputCopyData(db, bytes->data, (int)bytes->size) == 1 &&
                PQputCopyEnd(db, NULL) == 1;
    PQclear(result);
    while (good && (result = PQgetResult(db)) != NULL) {
        good = PQresultStatus(result) == PGRES_COMMAND_OK;
        PQclear(result);
    }
    if (!good)
        fprintf(stderr, "alineo-bench: the bare loop: %s", PQerrorMessage(db));
    return good;
}

double bench_postgres_copies(const char *url, const char *payload, uint64_t rows, size_t batch) {
    if (!bench_postgres_reset(url))
        return 0;
    alineo_direct_storage *adapter = bench_open_storage("postgres", url);
    alineo_direct_storage_close(adapter);
    PGconn *db = adapter != NULL ? open_bare(url) : NULL;
    if (db == NULL)
        return 0;
    al_buf bytes = AL_BUF_INIT;
    bool good = true;
    int64_t start = bench_now_ns();
    for (uint64_t i = 0; i < rows && good; i += batch)
        good = copy_batch(db, &bytes, i, rows - i < batch ? (size_t)(rows - i) : batch, payload);
    double seconds = bench_ms_since(start) / 1e3;
    al_buf_free(&bytes);
    PQfinish(db);
    return good && seconds > 0 ? (double)rows / seconds : 0;
}
