/* SPDX-License-Identifier: Apache-2.0 */
/* Output of a command through to a descriptor. */
#include "bench/bench.h"

#include "core/util/str.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ROW_SIZE = 64 * 1024 /* what the ledger joins chunks to */
};

/* 64 KiB of what the command prints, as the payload that the ledger holds of it. */
static char *row_payload(void) {
    static const char head[] =
        "{\"seq\":1,\"execId\":\"00000000000000000000000000000000\",\"type\":\"stdout\",\"text\":\"";
    char *payload = malloc(sizeof(head) + 2 * (size_t)ROW_SIZE + 8);
    if (payload == NULL)
        return NULL;
    size_t at = sizeof(head) - 1;
    memcpy(payload, head, at);
    for (size_t i = 0; i < ROW_SIZE; i += 16) {
        memcpy(payload + at, "0123456789abcde\\n", 17);
        at += 17;
    }
    memcpy(payload + at, "\"}", 3);
    return payload;
}

static bool stream_once(alineo_sandbox *sandbox, const char *command, int fd, uint64_t size,
                        double *rate) {
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    int64_t start = bench_now_ns();
    bool good = alineo_sandbox_exec(sandbox, command, NULL, &exec, &err) == ALINEO_OK &&
                alineo_exec_pipe(exec, fd, fd, &result, &err) == ALINEO_OK;
    double took = bench_ms_since(start);
    alineo_exec_free(exec);
    if (!good)
        bench_fail("stream", err);
    else if (result.stdout_bytes != size) {
        fprintf(stderr, "alineo-bench: %llu bytes came of %llu\n",
                (unsigned long long)result.stdout_bytes, (unsigned long long)size);
        good = false;
    }
    *rate = (double)size / 1e6 / (took / 1e3);
    return good;
}

static void print_rates(const bench_place *place, bench_samples *rates, size_t n) {
    bench_row row = BENCH_ROW_INIT;
    row.bench = "stream";
    row.provider = alineo_client_provider(place->client);
    row.storage = alineo_client_storage(place->client);
    row.unit = "MB/s";
    row.rate = bench_percentile(rates, 50);
    row.n = n;
    row.ok = rates->count;
    bench_print(place->options, &row);
}

static void print_bare(const bench_place *place, uint64_t size, double ours) {
    char *payload = row_payload();
    uint64_t rows = (size + ROW_SIZE - 1) / ROW_SIZE;
    double per_second = payload != NULL ? bench_bare_inserts(place->dir, payload, rows, 64) : 0;
    free(payload);
    if (per_second <= 0)
        return;
    bench_row row = BENCH_ROW_INIT;
    row.bench = "stream";
    row.storage = "sqlite";
    row.peer = "raw";
    row.unit = "MB/s";
    row.rate = per_second * ROW_SIZE / 1e6;
    row.ratio = ours > 0 ? row.rate / ours : -1;
    row.n = row.ok = 1;
    bench_print(place->options, &row);
}

static int measure(const bench_place *place, uint64_t size, size_t n) {
    alineo_sandbox *sandbox = NULL;
    alineo_error *err = NULL;
    if (alineo_sandbox_create(place->client, NULL, &sandbox, &err) != ALINEO_OK) {
        bench_fail("create", err);
        return 1;
    }
    /* Text of 16 bytes a line: the ledger holds it as text, not as Base64. */
    char *command = al_strf("yes 0123456789abcde | head -c %llu", (unsigned long long)size);
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    bench_samples rates = {NULL, 0, 0, 0};
    bool good = command != NULL && fd >= 0;
    for (size_t i = 0; i < n && good; i++) {
        double rate = 0;
        good = stream_once(sandbox, command, fd, size, &rate);
        if (good)
            bench_add(&rates, rate);
    }
    print_rates(place, &rates, n);
    if (place->options->raw)
        print_bare(place, size, bench_percentile(&rates, 50));
    bench_samples_free(&rates);
    free(command);
    if (fd >= 0)
        close(fd);
    if (alineo_sandbox_close(sandbox, NULL, NULL) != ALINEO_OK)
        good = false;
    alineo_sandbox_free(sandbox);
    return good ? 0 : 1;
}

int bench_stream(const bench_options *options) {
    bench_place place = {options, NULL, false, NULL, NULL, NULL};
    int exit_code = 1;
    if (bench_open(&place, options)) {
        uint64_t size = options->size > 0 ? options->size : (uint64_t)1 << 30;
        exit_code = measure(&place, size, options->n > 0 ? options->n : 3);
    }
    bench_close(&place);
    return exit_code;
}
