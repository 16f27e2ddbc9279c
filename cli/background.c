/* SPDX-License-Identifier: Apache-2.0 */
/* alineo attach, alineo bg: background commands. */
#include "cli/exec_driver.h"
#include "cli/report.h"
#include "cli/session.h"

#include "core/util/cleanup.h"
#include "core/util/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool no_options(void *user, const cli_option *option, const char *value) {
    (void)user, (void)option, (void)value;
    return false;
}

/* A client and a handle on the sandbox that WORD means; false after a message. */
static bool open_sandbox(const cli_context *context, const char *word, alineo_client **client,
                         alineo_sandbox **sandbox) {
    alineo_error *err = NULL;
    *sandbox = NULL;
    *client = cli_open_client(context);
    if (*client == NULL)
        return false;
    al_autofree char *id = cli_resolve_id(context, *client, word);
    if (id == NULL)
        return false;
    if (alineo_sandbox_connect(*client, id, NULL, sandbox, &err) == ALINEO_OK)
        return true;
    cli_report_error(context, err, 0);
    return false;
}

/* --- attach --- */

static const cli_option attach_options[] = {{NULL, 0, NULL, NULL}};

static int attach_to(const cli_context *context, alineo_sandbox *sandbox, const char *exec_id) {
    alineo_attach_options options = ALINEO_ATTACH_OPTIONS_INIT;
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    uint64_t gaps[2] = {0, 0};
    options.strict = ALINEO_NO;
    if (alineo_background_attach(sandbox, exec_id, &options, &exec, &gaps[0], &gaps[1], &err) !=
        ALINEO_OK)
        return cli_report_error(context, err, CLI_EXIT_OURS);
    if (gaps[0] + gaps[1] > 0)
        fprintf(stderr, "alineo: its first %" PRIu64 " bytes are not kept any more\n",
                gaps[0] + gaps[1]);
    int exit_code = cli_exec_show(context, exec);
    alineo_exec_free(exec);
    return exit_code;
}

/* An interrupt ends this program alone: the command runs on. */
static int run_attach(cli_context *context, int argc, char **argv) {
    int exit_code = CLI_EXIT_OK;
    int first = cli_parse(&cli_attach_command, context, argc, argv, no_options, NULL, &exit_code);
    if (first < 0)
        return exit_code;
    if (argc - first != 2)
        return cli_usage_error(&cli_attach_command, "a sandbox and the id of a command are needed");
    alineo_client *client;
    alineo_sandbox *sandbox;
    exit_code = open_sandbox(context, argv[first], &client, &sandbox)
                    ? attach_to(context, sandbox, argv[first + 1])
                    : CLI_EXIT_OURS;
    alineo_sandbox_free(sandbox);
    alineo_client_free(client);
    return exit_code;
}

const cli_command cli_attach_command = {
    "attach",
    "SANDBOX EXEC",
    "Show the output of a background command, and its end.",
    "EXEC is the id that 'alineo exec --detach' printed. Ctrl-C leaves it again, and it runs on. The\n"
    "exit code is the command's, as in 'alineo run'.",
    attach_options,
    run_attach,
    false,
};

/* --- bg --- */

static const cli_option bg_options[] = {
    {"kill", 0, "EXEC", "end this one, with all that it started"},
    {NULL, 0, NULL, NULL},
};

static bool take_bg(void *user, const cli_option *option, const char *value) {
    (void)option;
    *(const char **)user = value;
    return true;
}

typedef struct listing {
    const cli_context *context;
    cli_table *table;
} listing;

static void print_json(const alineo_background_info *info) {
    cli_json_line line;
    cli_json_begin(&line);
    al_json_put_str(&line.writer, "execId", info->exec_id);
    al_json_put_str(&line.writer, "outcome", cli_outcome_name(info->status.outcome));
    if (info->status.outcome != ALINEO_OUTCOME_RUNNING)
        al_json_put_int(&line.writer, "exitCode", info->status.exit_code);
    al_json_put_int(&line.writer, "startedAt", info->started_at_ms);
    al_json_put_uint(&line.writer, "stdoutBytes", info->stdout_size);
    al_json_put_uint(&line.writer, "stderrBytes", info->stderr_size);
    if (info->command != NULL)
        al_json_put_str(&line.writer, "command", info->command);
    cli_json_end(&line, stdout);
}

static int32_t add_row(void *user, const alineo_background_info *info) {
    listing *self = user;
    if (self->context->json) {
        print_json(info);
        return 0;
    }
    char age[16];
    char code[16] = "-";
    char out[24];
    char err[24];
    cli_age_text(info->started_at_ms, al_clock_realtime_ms(), age);
    if (info->status.exit_code >= 0)
        (void)snprintf(code, sizeof(code), "%d", (int)info->status.exit_code);
    (void)snprintf(out, sizeof(out), "%" PRIu64, info->stdout_size);
    (void)snprintf(err, sizeof(err), "%" PRIu64, info->stderr_size);
    const char *cells[] = {
        info->exec_id, cli_outcome_name(info->status.outcome),     code, age, out,
        err,           info->command != NULL ? info->command : "-"};
    cli_table_row(self->table, cells);
    return 0;
}

static int list(const cli_context *context, alineo_sandbox *sandbox) {
    static const char *const titles[] = {"EXEC",   "STATE",  "CODE",    "AGE",
                                         "STDOUT", "STDERR", "PROGRAM", NULL};
    listing self = {context, context->json ? NULL : cli_table_new(titles)};
    alineo_error *err = NULL;
    if (!context->json && self.table == NULL) {
        fputs("alineo: out of memory\n", stderr);
        return CLI_EXIT_FAILED;
    }
    alineo_code code = alineo_background_list(sandbox, NULL, add_row, &self, &err);
    if (self.table != NULL)
        cli_table_print(self.table, "no background commands");
    return code == ALINEO_OK ? CLI_EXIT_OK : cli_report_error(context, err, CLI_EXIT_FAILED);
}

static int end_one(const cli_context *context, alineo_sandbox *sandbox, const char *exec_id) {
    alineo_error *err = NULL;
    if (alineo_background_kill(sandbox, exec_id, NULL, &err) != ALINEO_OK)
        return cli_report_error(context, err, CLI_EXIT_FAILED);
    puts(exec_id);
    return CLI_EXIT_OK;
}

static int run_bg(cli_context *context, int argc, char **argv) {
    int exit_code = CLI_EXIT_OK;
    const char *to_end = NULL;
    int first = cli_parse(&cli_bg_command, context, argc, argv, take_bg, &to_end, &exit_code);
    if (first < 0)
        return exit_code;
    if (argc - first != 1)
        return cli_usage_error(&cli_bg_command, "one sandbox is needed");
    alineo_client *client;
    alineo_sandbox *sandbox;
    exit_code = CLI_EXIT_FAILED;
    if (open_sandbox(context, argv[first], &client, &sandbox))
        exit_code = to_end != NULL ? end_one(context, sandbox, to_end) : list(context, sandbox);
    alineo_sandbox_free(sandbox);
    alineo_client_free(client);
    return exit_code;
}

const cli_command cli_bg_command = {
    "bg",
    "SANDBOX",
    "List the background commands of a sandbox, or end one.",
    "Those that ended are listed as long as they are remembered.",
    bg_options,
    run_bg,
    false,
};
