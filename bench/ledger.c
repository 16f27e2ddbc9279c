/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger: appending, reading back, listing. */
#include "bench/bench.h"

#include <alineo/direct.h>

#include "core/util/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 1000,
    LISTED = 20
};

static const char chunk[] =
    "{\"seq\":1,\"type\":\"stdout\",\"text\":\"a line of output, as commands print\\n\"}";
static const char created[] = "{\"provider\":\"bench\",\"runId\":\"bench-run\",\"image\":\"host\"}";
static const char done[] = "{\"seq\":1,\"exitCode\":0,\"outcome\":\"exited\"}";

/* Appends entries in batches; a session is created, then a chunk after the other, and a complete at
 * every tenth. */
typedef struct filler {
    alineo_direct_storage *adapter;
    alineo_ledger_entry entries[BATCH];
    const alineo_ledger_entry *list[BATCH];
    size_t used;
    uint64_t stored;
    int64_t ts_ms;
} filler;

static bool flush(filler *f) {
    if (f->used == 0)
        return true;
    alineo_ledger_batch batch = {sizeof(batch), "bench-writer", f->stored + 1, f->list, f->used};
    size_t failed = 0;
    alineo_error *err = NULL;
    if (alineo_direct_storage_table(f->adapter)
            ->append(alineo_direct_storage_self(f->adapter), &batch, &failed, &err) != ALINEO_OK) {
        bench_fail("append", err);
        return false;
    }
    f->stored += f->used;
    f->used = 0;
    return true;
}

static bool put(filler *f, const char *id, const char *event, const char *payload, size_t size,
                int32_t step) {
    alineo_ledger_entry *entry = &f->entries[f->used];
    *entry = (alineo_ledger_entry)ALINEO_LEDGER_ENTRY_INIT;
    entry->sandbox_id = id;
    entry->name = "bench";
    entry->event = event;
    entry->payload = payload;
    entry->payload_size = size;
    entry->step_idx = step;
    entry->ts_ms = f->ts_ms++;
    f->list[f->used++] = entry;
    return f->used < BATCH || flush(f);
}

/* `events` in all, spread over `sessions`. Gives the seconds it took, negative after a failure. */
static double fill(filler *f, uint64_t events, uint64_t sessions) {
    uint64_t each = events / sessions > 0 ? events / sessions : 1;
    bool good = true;
    int64_t start = bench_now_ns();
    for (uint64_t s = 0; s < sessions && good; s++) {
        char id[32];
        snprintf(id, sizeof(id), "bench-%010llu", (unsigned long long)s);
        good = put(f, id, "sandbox_created", created, sizeof(created) - 1, -1);
        for (uint64_t i = 1; i < each && good; i++)
            good = i % 10 == 0
                       ? put(f, id, "exec_complete", done, sizeof(done) - 1, (int32_t)(i / 10))
                       : put(f, id, "exec_event", chunk, sizeof(chunk) - 1, (int32_t)(i / 10 + 1));
        good =
            good && (sessions == 1 || flush(f)); /* the id lives here: nothing of it stays queued */
    }
    good = good && flush(f);
    return good ? bench_ms_since(start) / 1e3 : -1;
}

static bool filler_open(filler *f, const bench_place *place) {
    f->used = 0;
    f->stored = 0;
    f->ts_ms = 1700000000000;
    f->adapter = bench_open_storage(place->options->storage, place->ledger);
    return f->adapter != NULL;
}

static void print_rate(const bench_options *options, const char *bench, const char *peer,
                       uint64_t n, double rate, double ratio) {
    bench_row row = BENCH_ROW_INIT;
    row.bench = bench;
    row.storage = options->storage;
    row.peer = peer;
    row.unit = "events/s";
    row.rate = rate;
    row.ratio = ratio;
    row.n = row.ok = n;
    bench_print(options, &row);
}

/* Events a second of the bare client library; 0 after a failure, negative where there is none. */
static double append_bare(const bench_options *options, const bench_place *place, uint64_t events) {
    if (strcmp(options->storage, "sqlite") == 0)
        return bench_bare_inserts(place->dir, chunk, events, BATCH);
    if (strcmp(options->storage, "postgres") == 0)
        return bench_postgres_copies(place->ledger, chunk, events, BATCH);
    return -1;
}

static int append(const bench_options *options, bench_place *place, filler *f) {
    uint64_t events = options->size > 0 ? options->size : 200000;
    double seconds = filler_open(f, place) ? fill(f, events, 1) : -1;
    alineo_direct_storage_close(f->adapter);
    if (seconds <= 0)
        return 1;
    double ours = (double)f->stored / seconds;
    print_rate(options, "ledger append", NULL, f->stored, ours, -1);
    double bare = options->raw ? append_bare(options, place, events) : -1;
    if (bare == 0)
        return 1;
    if (bare > 0)
        print_rate(options, "ledger append", "raw", events, bare, bare / ours);
    return 0;
}

/* A client on the ledger that was filled. */
static alineo_client *open_client(const bench_options *options, const bench_place *place) {
    alineo_config *config = NULL;
    alineo_client *client = NULL;
    alineo_error *err = NULL;
    if (bench_storage_config(options->storage, place->ledger, &config, &err) != ALINEO_OK ||
        alineo_client_open(config, NULL, &client, &err) != ALINEO_OK)
        bench_fail("open", err);
    alineo_config_free(config);
    return client;
}

static bool read_all(alineo_client *client, uint64_t *count) {
    alineo_event_options query = ALINEO_EVENT_OPTIONS_INIT;
    query.sandbox_id = "bench-0000000000";
    alineo_event_reader *reader = NULL;
    alineo_error *err = NULL;
    int32_t found = 1;
    bool good = alineo_events_open(client, &query, &reader, &err) == ALINEO_OK;
    while (good && found) {
        alineo_ledger_record record = ALINEO_LEDGER_RECORD_INIT;
        good = alineo_events_next(reader, &record, &found, &err) == ALINEO_OK;
        *count += good && found;
    }
    alineo_events_free(reader);
    if (!good)
        bench_fail("read", err);
    return good;
}

static int read_back(const bench_options *options, bench_place *place, filler *f) {
    uint64_t events = options->size > 0 ? options->size : 100000;
    double seconds = filler_open(f, place) ? fill(f, events, 1) : -1;
    alineo_direct_storage_close(f->adapter);
    alineo_client *client = seconds > 0 ? open_client(options, place) : NULL;
    if (client == NULL)
        return 1;
    bench_samples rates = {NULL, 0, 0, 0};
    bool good = true;
    size_t rounds = options->n > 0 ? options->n : 5;
    for (size_t i = 0; i < rounds && good; i++) {
        uint64_t count = 0;
        int64_t start = bench_now_ns();
        good = read_all(client, &count) && count == events;
        bench_add(&rates, (double)count / (bench_ms_since(start) / 1e3));
    }
    print_rate(options, "ledger read", NULL, events, bench_percentile(&rates, 50), -1);
    bench_samples_free(&rates);
    alineo_client_free(client);
    return good ? 0 : 1;
}

static int32_t count_session(void *user, const alineo_session *session) {
    (void)session;
    ++*(size_t *)user;
    return 0;
}

static int list(const bench_options *options, bench_place *place, filler *f) {
    uint64_t events = options->size > 0 ? options->size : 1000000;
    uint64_t sessions = options->sessions > 0 ? options->sessions : 10000;
    double seconds = filler_open(f, place) ? fill(f, events, sessions) : -1;
    alineo_direct_storage_close(f->adapter);
    alineo_client *client = seconds > 0 ? open_client(options, place) : NULL;
    if (client == NULL)
        return 1;
    bench_samples times = {NULL, 0, 0, 0};
    size_t n = options->n > 0 ? options->n : 100;
    bool good = true;
    for (size_t i = 0; i < n && good; i++) {
        alineo_session_list_options query = ALINEO_SESSION_LIST_OPTIONS_INIT;
        query.limit = LISTED;
        size_t count = 0;
        alineo_error *err = NULL;
        int64_t start = bench_now_ns();
        good = alineo_session_list(client, &query, count_session, &count, &err) == ALINEO_OK;
        bench_add(&times, bench_ms_since(start));
        if (!good)
            bench_fail("list", err);
        good = good && count == (sessions < LISTED ? sessions : LISTED);
    }
    bench_row row = BENCH_ROW_INIT;
    row.bench = "ledger list";
    row.storage = options->storage;
    row.unit = "ms";
    row.samples = &times;
    row.n = n;
    row.ok = times.count;
    bench_print(options, &row);
    bench_samples_free(&times);
    alineo_client_free(client);
    return good ? 0 : 1;
}

int bench_ledger(const bench_options *options) {
    static const struct {
        const char *verb;
        int (*run)(const bench_options *options, bench_place *place, filler *f);
    } verbs[] = {{"append", append}, {"read", read_back}, {"list", list}};
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (options->verb == NULL || strcmp(verbs[i].verb, options->verb) != 0)
            continue;
        bench_place place = {options, NULL, false, NULL, NULL, NULL};
        filler *f = calloc(1, sizeof(*f));
        int exit_code = 1;
        if (f != NULL && bench_open_folder(&place, options)) {
            bench_print_place(&place);
            exit_code = verbs[i].run(options, &place, f);
        }
        free(f);
        bench_close(&place);
        return exit_code;
    }
    fputs("alineo-bench: it is 'ledger append', 'ledger read' or 'ledger list'\n", stderr);
    return 2;
}
