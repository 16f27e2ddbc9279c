/* SPDX-License-Identifier: Apache-2.0 */
/* Time to interactive: create a sandbox, to the end of its first `echo`, all of it in the ledger.
 * */
#include "bench/bench.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct tti {
    bench_place place;
    bench_samples create;
    bench_samples total;
    bench_samples close;
    pthread_mutex_t lock; /* of the samples, in a burst */
    size_t failed;
} tti;

static bool echo(alineo_sandbox *sandbox, alineo_error **err) {
    static const char *const argv[] = {"echo", "hello", NULL};
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.argv = argv;
    alineo_exec *exec = NULL;
    if (alineo_sandbox_exec(sandbox, NULL, &options, &exec, err) != ALINEO_OK)
        return false;
    alineo_output output = ALINEO_OUTPUT_INIT;
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    bool good = alineo_exec_output(exec, 0, &output, &result, err) == ALINEO_OK &&
                output.stdout_size == 6 && memcmp(output.stdout_data, "hello\n", 6) == 0;
    alineo_output_clear(&output);
    alineo_exec_free(exec);
    return good;
}

static void one_round(tti *t) {
    alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
    alineo_sandbox *sandbox = NULL;
    alineo_error *err = NULL;
    int64_t start = bench_now_ns();
    bool good = alineo_sandbox_create(t->place.client, &options, &sandbox, &err) == ALINEO_OK;
    double created = bench_ms_since(start);
    good = good && echo(sandbox, &err);
    double total = bench_ms_since(start);
    start = bench_now_ns();
    bool closed =
        sandbox == NULL || alineo_sandbox_close(sandbox, NULL, good ? &err : NULL) == ALINEO_OK;
    double close = bench_ms_since(start);
    alineo_sandbox_free(sandbox);
    pthread_mutex_lock(&t->lock);
    if (good) {
        bench_add(&t->create, created);
        bench_add(&t->total, total);
    } else
        t->failed++;
    if (good && closed)
        bench_add(&t->close, close);
    pthread_mutex_unlock(&t->lock);
    if (!good || !closed)
        bench_fail("round", err);
}

static void *burst_round(void *argument) {
    one_round(argument);
    return NULL;
}

/* So many at once: each a thread of its own. Gives the wall time of all in ms. */
static double burst(tti *t, size_t n) {
    pthread_t *threads = calloc(n, sizeof(*threads));
    size_t started = 0;
    int64_t start = bench_now_ns();
    while (threads != NULL && started < n &&
           pthread_create(&threads[started], NULL, burst_round, t) == 0)
        started++;
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    t->failed += n - started;
    free(threads);
    return bench_ms_since(start);
}

static void print(tti *t, const char *name, bench_samples *samples, size_t n, double rate) {
    bench_row row = BENCH_ROW_INIT;
    row.bench = name;
    row.provider = alineo_client_provider(t->place.client);
    row.storage = alineo_client_storage(t->place.client);
    row.unit = "ms";
    row.samples = samples;
    row.rate = rate;
    row.n = n;
    row.ok = samples->count;
    bench_print(t->place.options, &row);
}

static void print_commits(const tti *t, size_t n) {
    bench_samples commits = {NULL, 0, 0, 0};
    bench_row row = BENCH_ROW_INIT;
    if (!bench_bare_commits(t->place.dir, n, &commits))
        return;
    row.bench = "commit";
    row.storage = "sqlite";
    row.peer = "raw";
    row.unit = "ms";
    row.samples = &commits;
    row.n = row.ok = commits.count;
    bench_print(t->place.options, &row);
    bench_samples_free(&commits);
}

static void print_peer(const bench_options *options, const char *peer, const char *const *argv,
                       size_t n, double ours) {
    bench_samples times = {NULL, 0, 0, 0};
    if (bench_process(argv, n, &times) && times.count > 0) {
        bench_row row = BENCH_ROW_INIT;
        row.bench = "tti";
        row.peer = peer;
        row.unit = "ms";
        row.samples = &times;
        row.n = n;
        row.ok = times.count;
        row.ratio = ours > 0 ? bench_percentile(&times, 50) / ours : -1;
        bench_print(options, &row);
    }
    bench_samples_free(&times);
}

static void print_peers(const bench_options *options, size_t n, double ours) {
    static const char *const bwrap[] = {"bwrap", "--unshare-all", "--ro-bind", "/",
                                        "/",     "--proc",        "/proc",     "--dev",
                                        "/dev",  "echo",          "hello",     NULL};
    static const char *const docker[] = {"sh", "-c",
                                         "id=$(docker run -d --rm debian:12 sleep 60) && "
                                         "docker exec \"$id\" echo hello && docker kill \"$id\"",
                                         NULL};
    static const char *const engine[] = {"docker", "info", NULL};
    bench_samples probe = {NULL, 0, 0, 0};
    print_peer(options, "bwrap", bwrap, n, ours);
    if (bench_process(engine, 1, &probe) && probe.count == 1)
        print_peer(options, "docker", docker, n < 20 ? n : 20, ours);
    bench_samples_free(&probe);
}

int bench_tti(const bench_options *options) {
    tti t = {.lock = PTHREAD_MUTEX_INITIALIZER};
    if (!bench_open(&t.place, options)) {
        bench_close(&t.place);
        return 1;
    }
    size_t n = options->burst > 0 ? options->burst : options->n > 0 ? options->n : 100;
    double wall = -1;
    if (options->burst > 0)
        wall = burst(&t, n);
    else {
        one_round(&t); /* the first one also loads what is loaded once */
        bench_samples_free(&t.create);
        bench_samples_free(&t.total);
        bench_samples_free(&t.close);
        for (size_t i = 0; i < n; i++)
            one_round(&t);
    }
    print(&t, "create", &t.create, n, -1);
    print(&t, options->burst > 0 ? "tti burst" : "tti", &t.total, n,
          wall > 0 ? (double)n * 1000 / wall : -1);
    print(&t, "close", &t.close, n, -1);
    print_commits(&t, n);
    if (options->peers)
        print_peers(options, n, bench_percentile(&t.total, 50));
    int exit_code = t.failed > 0;
    bench_samples_free(&t.create);
    bench_samples_free(&t.total);
    bench_samples_free(&t.close);
    bench_close(&t.place);
    return exit_code;
}
