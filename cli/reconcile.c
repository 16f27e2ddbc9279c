/* SPDX-License-Identifier: Apache-2.0 */
/* alineo reconcile: what runs against what is recorded. */
#include "cli/report.h"
#include "cli/session.h"

#include <stdio.h>
#include <string.h>

static const cli_option options[] = {
    {"repair", 0, NULL, "destroy what should not run, record what is gone"},
    {NULL, 0, NULL, NULL},
};

typedef struct reconcile {
    const cli_context *context;
    alineo_reconcile_options options;
    cli_table *table;
    size_t left; /* found and not mended, others' not counted */
} reconcile;

static bool take(void *user, const cli_option *option, const char *value) {
    (void)option, (void)value;
    ((reconcile *)user)->options.repair = 1;
    return true;
}

static const char *finding_name(alineo_finding finding) {
    static const char *const names[] = {"",     "orphan", "unrecorded", "closed, runs",
                                        "gone", "foreign"};
    return finding >= ALINEO_FINDING_ORPHAN && finding <= ALINEO_FINDING_FOREIGN ? names[finding]
                                                                                 : "unknown";
}

static int32_t show(void *user, const alineo_reconcile_item *item) {
    reconcile *r = user;
    bool foreign = item->finding == ALINEO_FINDING_FOREIGN;
    if (!foreign && !item->repaired)
        r->left++;
    if (r->context->json) {
        cli_json_line line;
        cli_json_begin(&line);
        al_json_put_str(&line.writer, "sandboxId", item->sandbox_id);
        al_json_put_str(&line.writer, "name", item->name);
        al_json_put_str(&line.writer, "finding", finding_name(item->finding));
        al_json_put_bool(&line.writer, "repaired", item->repaired != 0);
        al_json_put_str(&line.writer, "reason", item->reason);
        cli_json_end(&line, stdout);
        return 0;
    }
    const char *done = foreign ? "left alone" : item->repaired ? "repaired" : "to be repaired";
    const char *const cells[] = {item->sandbox_id, item->name, finding_name(item->finding), done,
                                 item->reason,     NULL};
    cli_table_row(r->table, cells);
    return 0;
}

static int run_command(cli_context *context, int argc, char **argv) {
    static const char *const titles[] = {"SANDBOX", "NAME", "FINDING", "STATE", "REASON", NULL};
    reconcile r = {context, ALINEO_RECONCILE_OPTIONS_INIT, NULL, 0};
    int exit_code = CLI_EXIT_OK;
    int first = cli_parse(&cli_reconcile_command, context, argc, argv, take, &r, &exit_code);
    if (first < 0)
        return exit_code;
    if (first < argc)
        return cli_usage_error(&cli_reconcile_command, "'%s' is one too many", argv[first]);
    alineo_client *client = cli_open_client(context);
    if (client == NULL)
        return CLI_EXIT_FAILED;
    if (!context->json)
        r.table = cli_table_new(titles);
    alineo_error *err = NULL;
    alineo_code code = alineo_reconcile(client, &r.options, show, &r, &err);
    cli_table_print(r.table, code == ALINEO_OK ? "ledger and provider agree" : NULL);
    if (code != ALINEO_OK)
        exit_code = cli_report_error(context, err, CLI_EXIT_FAILED);
    else if (r.left > 0) {
        exit_code = CLI_EXIT_FAILED;
        if (!context->json && !r.options.repair)
            fputs("alineo: run 'alineo reconcile --repair' to mend this\n", stderr);
    }
    alineo_client_free(client);
    return exit_code;
}

const cli_command cli_reconcile_command = {
    "reconcile",
    "",
    "Compare what runs with what the ledger says.",
    "Findings: 'orphan' a sandbox bound to a process that is gone; 'unrecorded' it runs and was never\n"
    "recorded; 'closed, runs' the ledger says that it was closed; 'gone' the ledger has it open and it is\n"
    "not there; 'foreign' another ledger's, never touched. A sandbox that was left running on purpose is\n"
    "none of these. Exit code 1 while something is to be repaired.",
    options,
    run_command,
    false,
};
