/* SPDX-License-Identifier: Apache-2.0 */
/* The program alineo-bench: measures through the public API and prints a table, or a JSON object a
 * line. */
#include "bench/bench.h"

#include "core/util/num.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: alineo-bench BENCH [options]\n\n"
    "benchmarks:\n"
    "  tti              create a sandbox to the end of its first 'echo', recorded in the ledger (ms)\n"
    "  exec             run 'true' in a sandbox that runs (ms)\n"
    "  stream           output of a command through to a descriptor (MB/s)\n"
    "  ledger append    events stored through the storage adapter (events/s)\n"
    "  ledger read      events of one session read back (events/s)\n"
    "  ledger list      20 sessions listed among many (ms)\n\n"
    "options:\n"
    "  --n N            rounds\n"
    "  --burst N        tti: so many creates at once\n"
    "  --size SIZE      stream: bytes, default 1Gi; ledger: events, default 200000 (list: 1000000)\n"
    "  --sessions N     ledger list: sessions, default 10000\n"
    "  --resident SIZE  exec: memory that this process holds meanwhile\n"
    "  --threads N      exec: idle threads that it has meanwhile\n"
    "  --provider ID    default: the config's\n"
    "  --storage ID     default: sqlite\n"
    "  --url URL        where the storage's server is; default what the environment says\n"
    "  --no-ledger      stream: with a storage that keeps nothing\n"
    "  --raw            also a bare loop of the client library on the same schema\n"
    "  --peers          tti: also bwrap and docker, where they are installed\n"
    "  --dir PATH       absolute; state and ledger are kept in a folder below it\n"
    "  --config FILE    a config in place of the one made here\n"
    "  --json           one JSON object a line\n"
    "  --help           this help\n";

enum {
    OPT_N = 1000,
    OPT_BURST,
    OPT_SIZE,
    OPT_SESSIONS,
    OPT_RESIDENT,
    OPT_THREADS,
    OPT_PROVIDER,
    OPT_STORAGE,
    OPT_URL,
    OPT_NO_LEDGER,
    OPT_RAW,
    OPT_PEERS,
    OPT_DIR,
    OPT_CONFIG,
    OPT_JSON,
    OPT_HELP
};

static const struct option longs[] = {
    {"n", 1, NULL, OPT_N},
    {"burst", 1, NULL, OPT_BURST},
    {"size", 1, NULL, OPT_SIZE},
    {"sessions", 1, NULL, OPT_SESSIONS},
    {"resident", 1, NULL, OPT_RESIDENT},
    {"threads", 1, NULL, OPT_THREADS},
    {"provider", 1, NULL, OPT_PROVIDER},
    {"storage", 1, NULL, OPT_STORAGE},
    {"url", 1, NULL, OPT_URL},
    {"no-ledger", 0, NULL, OPT_NO_LEDGER},
    {"raw", 0, NULL, OPT_RAW},
    {"peers", 0, NULL, OPT_PEERS},
    {"dir", 1, NULL, OPT_DIR},
    {"config", 1, NULL, OPT_CONFIG},
    {"json", 0, NULL, OPT_JSON},
    {"help", 0, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

static bool take_number(const char *text, size_t *out) {
    int64_t value = 0;
    if (al_parse_size(text, &value) != 0 || value < 1) {
        fprintf(stderr, "alineo-bench: '%s' is not a number above 0\n", text);
        return false;
    }
    *out = (size_t)value;
    return true;
}

static bool take_flag(bench_options *options, int option) {
    bool *const flags[] = {&options->no_ledger, &options->raw, &options->peers};
    if (option == OPT_JSON)
        options->json = true;
    else if (option >= OPT_NO_LEDGER && option <= OPT_PEERS)
        *flags[option - OPT_NO_LEDGER] = true;
    else
        return false;
    return true;
}

static bool take(bench_options *options, int option, const char *value) {
    size_t number = 0;
    if (take_flag(options, option))
        return true;
    switch (option) {
    case OPT_N:
        return take_number(value, &options->n);
    case OPT_BURST:
        return take_number(value, &options->burst);
    case OPT_RESIDENT:
        return take_number(value, &options->resident);
    case OPT_THREADS:
        return take_number(value, &options->threads);
    case OPT_SIZE:
        if (!take_number(value, &number))
            return false;
        options->size = number;
        return true;
    case OPT_SESSIONS:
        if (!take_number(value, &number))
            return false;
        options->sessions = number;
        return true;
    case OPT_PROVIDER:
        options->provider = value;
        return true;
    case OPT_STORAGE:
        options->storage = value;
        return true;
    case OPT_URL:
        options->url = value;
        return true;
    case OPT_DIR:
        options->dir = value;
        return true;
    case OPT_CONFIG:
        options->config = value;
        return true;
    default:
        fputs("alineo-bench: unknown option; see 'alineo-bench --help'\n", stderr);
        return false;
    }
}

static int dispatch(const bench_options *options) {
    static const struct {
        const char *name;
        int (*run)(const bench_options *options);
    } benches[] = {{"tti", bench_tti},
                   {"exec", bench_exec},
                   {"stream", bench_stream},
                   {"ledger", bench_ledger}};
    for (size_t i = 0; i < sizeof(benches) / sizeof(benches[0]); i++)
        if (strcmp(benches[i].name, options->what) == 0) {
            bench_print_head(options);
            return benches[i].run(options);
        }
    fprintf(stderr, "alineo-bench: there is no benchmark '%s'; see 'alineo-bench --help'\n",
            options->what);
    return 2;
}

int main(int argc, char **argv) {
    bench_options options;
    memset(&options, 0, sizeof(options));
    options.storage = "sqlite";
    for (;;) {
        int option = getopt_long(argc, argv, "", longs, NULL);
        if (option == -1)
            break;
        if (option == OPT_HELP) {
            fputs(help, stdout);
            return 0;
        }
        if (!take(&options, option, optarg))
            return 2;
    }
    if (optind >= argc) {
        fputs(help, stderr);
        return 2;
    }
    options.what = argv[optind];
    options.verb = optind + 1 < argc ? argv[optind + 1] : NULL;
    return dispatch(&options);
}
