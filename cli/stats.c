/* SPDX-License-Identifier: Apache-2.0 */
/* alineo stats: what a sandbox uses. */
#include "cli/report.h"
#include "cli/session.h"

#include "core/util/cleanup.h"
#include "core/util/num.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const cli_option options[] = {
    {"watch", 0, "TIME", "a line every so often (1s, 500ms), until it ends"},
    {NULL, 0, NULL, NULL},
};

static bool take(void *user, const cli_option *option, const char *value) {
    (void)option;
    if (al_parse_duration_ms(value, user) == 0 && *(int64_t *)user >= 10)
        return true;
    (void)cli_usage_error(&cli_stats_command, "--watch needs a time like 500ms or 1s, not '%s'",
                          value);
    return false;
}

static void print_json(const alineo_metrics *metrics) {
    cli_json_line line;
    cli_json_begin(&line);
    al_json_put_int(&line.writer, "at", metrics->at_ms);
    al_json_put_int(&line.writer, "cpuMilli", (int64_t)(metrics->cpu_cores * 1000.0));
    if (metrics->cpu_percent >= 0)
        al_json_put_int(&line.writer, "cpuUsedMilli", (int64_t)(metrics->cpu_percent * 10.0));
    al_json_put_uint(&line.writer, "memoryTotal", metrics->memory_total);
    al_json_put_uint(&line.writer, "memoryUsed", metrics->memory_used);
    if (metrics->disk_used != UINT64_MAX)
        al_json_put_uint(&line.writer, "diskUsed", metrics->disk_used);
    if (metrics->processes != UINT64_MAX)
        al_json_put_uint(&line.writer, "processes", metrics->processes);
    cli_json_end(&line, stdout);
}

static int32_t print_metrics(void *user, const alineo_metrics *metrics) {
    const cli_context *context = user;
    if (context->json) {
        print_json(metrics);
    } else {
        printf("cpu %.1f%% of %.2g cores, memory %" PRIu64 " of %" PRIu64 " MiB",
               metrics->cpu_percent < 0 ? 0.0 : metrics->cpu_percent, metrics->cpu_cores,
               metrics->memory_used >> 20, metrics->memory_total >> 20);
        if (metrics->processes != UINT64_MAX)
            printf(", %" PRIu64 " processes", metrics->processes);
        puts("");
    }
    return fflush(stdout) == 0 ? 0 : 1;
}

static int show(const cli_context *context, alineo_client *client, const char *word,
                int64_t interval_ms) {
    al_autofree char *id = cli_resolve_id(context, client, word);
    if (id == NULL)
        return CLI_EXIT_FAILED;
    alineo_sandbox *sandbox = NULL;
    alineo_error *err = NULL;
    void *user = (void *)(uintptr_t)context;
    alineo_code code = alineo_sandbox_connect(client, id, NULL, &sandbox, &err);
    if (code == ALINEO_OK && interval_ms > 0)
        code = alineo_sandbox_metrics_watch(sandbox, interval_ms, NULL, print_metrics, user, &err);
    else if (code == ALINEO_OK)
        code = alineo_sandbox_metrics(sandbox, NULL, print_metrics, user, &err);
    alineo_sandbox_free(sandbox);
    return code == ALINEO_OK ? CLI_EXIT_OK : cli_report_error(context, err, CLI_EXIT_FAILED);
}

static int run_stats(cli_context *context, int argc, char **argv) {
    int exit_code = CLI_EXIT_OK;
    int64_t interval_ms = 0;
    int first = cli_parse(&cli_stats_command, context, argc, argv, take, &interval_ms, &exit_code);
    if (first < 0)
        return exit_code;
    if (argc - first != 1)
        return cli_usage_error(&cli_stats_command, "one sandbox is needed");
    alineo_client *client = cli_open_client(context);
    exit_code = client != NULL ? show(context, client, argv[first], interval_ms) : CLI_EXIT_FAILED;
    alineo_client_free(client);
    return exit_code;
}

const cli_command cli_stats_command = {
    "stats",
    "SANDBOX",
    "Show what a sandbox uses: processors, memory, processes.",
    "100% of the processor time is one core. Memory holds caches too.",
    options,
    run_stats,
    false,
};
