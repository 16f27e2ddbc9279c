/* SPDX-License-Identifier: Apache-2.0 */
/* Run `true` in a sandbox that runs, from a host process that may be large and have many threads.
 * */
#include "bench/bench.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *idle(void *argument) {
    pthread_mutex_t *gate = argument; /* held by the main thread until the end */
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* The host process as it was asked for: memory that is resident, threads that wait. */
typedef struct burden {
    char *memory;
    pthread_t *threads;
    size_t started;
    pthread_mutex_t gate;
} burden;

static bool take_up(burden *b, const bench_options *options) {
    pthread_mutex_init(&b->gate, NULL);
    pthread_mutex_lock(&b->gate);
    if (options->resident > 0) {
        b->memory = malloc(options->resident);
        if (b->memory == NULL) {
            fputs("alineo-bench: no memory for --resident\n", stderr);
            return false;
        }
        memset(b->memory, 1, options->resident);
    }
    if (options->threads > 0)
        b->threads = calloc(options->threads, sizeof(*b->threads));
    while (b->threads != NULL && b->started < options->threads &&
           pthread_create(&b->threads[b->started], NULL, idle, &b->gate) == 0)
        b->started++;
    return b->started == options->threads;
}

static void put_down(burden *b) {
    pthread_mutex_unlock(&b->gate);
    for (size_t i = 0; i < b->started; i++)
        pthread_join(b->threads[i], NULL);
    free(b->threads);
    free(b->memory);
}

static bool run_true(alineo_sandbox *sandbox, bench_samples *samples) {
    static const char *const argv[] = {"true", NULL};
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.argv = argv;
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    int64_t start = bench_now_ns();
    bool good = alineo_sandbox_exec(sandbox, NULL, &options, &exec, &err) == ALINEO_OK &&
                alineo_exec_wait(exec, NULL, &err) == ALINEO_OK;
    double took = bench_ms_since(start);
    alineo_exec_free(exec);
    if (good)
        bench_add(samples, took);
    else
        bench_fail("exec", err);
    return good;
}

static int measure(const bench_place *place, size_t n) {
    alineo_sandbox *sandbox = NULL;
    alineo_error *err = NULL;
    if (alineo_sandbox_create(place->client, NULL, &sandbox, &err) != ALINEO_OK) {
        bench_fail("create", err);
        return 1;
    }
    bench_samples samples = {NULL, 0, 0, 0};
    bench_samples commits = {NULL, 0, 0, 0};
    (void)run_true(sandbox, &samples); /* the first one also loads what is loaded once */
    bench_samples_free(&samples);
    bool good = true;
    for (size_t i = 0; i < n && good; i++)
        good = run_true(sandbox, &samples);
    bench_row row = BENCH_ROW_INIT;
    row.bench = "exec";
    row.provider = alineo_client_provider(place->client);
    row.storage = alineo_client_storage(place->client);
    row.unit = "ms";
    row.samples = &samples;
    row.n = n;
    row.ok = samples.count;
    bench_print(place->options, &row);
    if (bench_bare_commits(place->dir, n, &commits)) {
        bench_row bare = BENCH_ROW_INIT;
        bare.bench = "commit";
        bare.storage = "sqlite";
        bare.peer = "raw";
        bare.unit = "ms";
        bare.samples = &commits;
        bare.n = bare.ok = commits.count;
        bench_print(place->options, &bare);
    }
    bench_samples_free(&samples);
    bench_samples_free(&commits);
    if (alineo_sandbox_close(sandbox, NULL, &err) != ALINEO_OK) {
        bench_fail("close", err);
        good = false;
    }
    alineo_sandbox_free(sandbox);
    return good ? 0 : 1;
}

int bench_exec(const bench_options *options) {
    bench_place place = {options, NULL, false, NULL, NULL, NULL};
    burden b;
    memset(&b, 0, sizeof(b));
    int exit_code = 1;
    if (take_up(&b, options) && bench_open(&place, options))
        exit_code = measure(&place, options->n > 0 ? options->n : 200);
    bench_close(&place);
    put_down(&b);
    return exit_code;
}
