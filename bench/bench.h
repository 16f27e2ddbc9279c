/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_BENCH_BENCH_H
#define ALINEO_BENCH_BENCH_H

/* What the benchmarks share: options, samples, the place where they run, and the printing. */

#include <alineo/alineo.h>
#include <alineo/direct.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bench_options {
    const char *what;   /* tti, exec, stream, ledger, ... */
    const char *verb;   /* of ledger: append, read, list */
    const char *config; /* a config file; NULL = one made here, in dir */
    const char *provider;
    const char *storage;
    const char *url;   /* of the storage's server; NULL = what the environment says */
    const char *dir;   /* where state and ledger are kept; NULL = a temporary folder */
    size_t n;          /* rounds; 0 = the benchmark's own */
    size_t burst;      /* tti: so many at once */
    uint64_t size;     /* stream: bytes; ledger: events */
    uint64_t sessions; /* ledger list */
    size_t resident;   /* exec: bytes that the host process holds */
    size_t threads;    /* exec: idle threads that it has */
    bool json;
    bool raw;
    bool peers;
    bool no_ledger;
} bench_options;

/* --- samples --- */

typedef struct bench_samples {
    double *values;
    size_t count;
    size_t capacity;
    size_t failed;
} bench_samples;

void bench_add(bench_samples *samples, double value);
double bench_percentile(bench_samples *samples, double p); /* sorts; 0 without samples */
void bench_samples_free(bench_samples *samples);

int64_t bench_now_ns(void);
double bench_ms_since(int64_t start_ns);

/* --- the place --- */

/* A client on a config of its own, in a folder of its own. */
typedef struct bench_place {
    const bench_options *options;
    char *dir;
    bool own_dir; /* made here, removed at the end */
    char *ledger; /* path of the SQLite file, or url of the server (NULL: from the environment) */
    alineo_config *config;
    alineo_client *client;
} bench_place;

/* Opens; on failure the error was printed. */
bool bench_open(bench_place *place, const bench_options *options);
/* The same without a client (for what needs only the folder). */
bool bench_open_folder(bench_place *place, const bench_options *options);
void bench_close(bench_place *place);

/* A config that names a storage adapter and its file or server. */
alineo_code bench_storage_config(const char *storage, const char *path, alineo_config **config,
                                 alineo_error **err);
/* The adapter alone, without a client; NULL after a message. */
alineo_direct_storage *bench_open_storage(const char *storage, const char *path);

/* Prints and frees an error. */
void bench_fail(const char *what, alineo_error *error);

/* --- printing --- */

typedef struct bench_row {
    const char *bench;
    const char *provider;
    const char *storage;
    const char *peer;       /* NULL = alineo itself */
    const char *unit;       /* "ms", "MB/s", "events/s" */
    bench_samples *samples; /* p50 and so on; NULL = none */
    double rate;            /* negative = none */
    double ratio;           /* negative = none */
    size_t n;
    size_t ok;
} bench_row;
#define BENCH_ROW_INIT                                                                             \
    { NULL, NULL, NULL, NULL, NULL, NULL, -1, -1, 0, 0 }

void bench_print_head(const bench_options *options);
void bench_print_place(const bench_place *place);
void bench_print(const bench_options *options, const bench_row *row);

/* --- the benchmarks; each gives 0, or 1 after a message --- */

int bench_tti(const bench_options *options);
int bench_exec(const bench_options *options);
int bench_stream(const bench_options *options);
int bench_ledger(const bench_options *options);

/* --- peers and bare loops --- */

/* Single-row commits of the ledger's own schema on a bare SQLite file in `dir`. */
bool bench_bare_commits(const char *dir, size_t n, bench_samples *samples);
/* Rows per second of a bare loop of prepared inserts into the ledger's own schema, `batch` a
 * commit. */
double bench_bare_inserts(const char *dir, const char *payload, uint64_t rows, size_t batch);
/* On a PostgreSQL server the benchmarks have a schema of their own: removes it. False after a
 * message. */
#define BENCH_POSTGRES_SCHEMA "alineo_bench"
bool bench_postgres_reset(const char *url);
/* Rows per second of a bare loop of COPY into the ledger's own schema, `batch` a transaction. */
double bench_postgres_copies(const char *url, const char *payload, uint64_t rows, size_t batch);
/* Time of a whole process, in ms; n times. False when the program is not there. */
bool bench_process(const char *const *argv, size_t n, bench_samples *samples);

/* A storage that keeps nothing: what streaming costs without a ledger. */
extern const alineo_own_storage bench_null_storage;

#endif
