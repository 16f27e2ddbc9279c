/* SPDX-License-Identifier: Apache-2.0 */
/* alineo create: a sandbox that stays. */
#include "cli/interrupt.h"
#include "cli/report.h"
#include "cli/sandbox_options.h"
#include "cli/session.h"

#include <stdio.h>

static const cli_option options[] = {CLI_SANDBOX_OPTIONS, {NULL, 0, NULL, NULL}};

static bool take(void *user, const cli_option *option, const char *value) {
    return cli_sandbox_options_take(user, option, value) > 0;
}

static void print_created(const cli_context *context, const alineo_sandbox *sandbox) {
    if (!context->json) {
        puts(alineo_sandbox_id(sandbox));
        return;
    }
    cli_json_line line;
    cli_json_begin(&line);
    al_json_put_str(&line.writer, "sandboxId", alineo_sandbox_id(sandbox));
    al_json_put_str(&line.writer, "name", alineo_sandbox_name(sandbox));
    al_json_put_str(&line.writer, "runId", alineo_sandbox_run_id(sandbox));
    cli_json_end(&line, stdout);
}

static int create(const cli_context *context, cli_sandbox_options *wanted) {
    cli_progress progress;
    cli_progress_begin(&progress, context);
    alineo_call_options call_options = ALINEO_CALL_OPTIONS_INIT;
    call_options.progress = cli_progress_show;
    call_options.progress_user = &progress;
    alineo_call *call = NULL;
    alineo_error *err = NULL;
    if (alineo_call_new(&call_options, &call, &err) != ALINEO_OK)
        return cli_report_error(context, err, CLI_EXIT_FAILED);
    if (cli_interrupt_start(call) != 0) {
        fputs("alineo: no thread to wait for signals\n", stderr);
        return CLI_EXIT_FAILED;
    }
    alineo_client *client = cli_open_client(context);
    if (client == NULL)
        return CLI_EXIT_FAILED;
    wanted->options.call = call;
    alineo_sandbox *sandbox = NULL;
    alineo_code code = alineo_sandbox_create(client, &wanted->options, &sandbox, &err);
    cli_progress_end(&progress);
    int exit_code = CLI_EXIT_OK;
    if (code != ALINEO_OK)
        exit_code = cli_report_error(context, err, CLI_EXIT_FAILED);
    else
        print_created(context, sandbox);
    alineo_sandbox_free(sandbox);
    alineo_client_free(client);
    return exit_code; /* the call is left to the end of the program: the signal thread may use it */
}

static int run_command(cli_context *context, int argc, char **argv) {
    cli_sandbox_options wanted;
    cli_sandbox_options_init(&wanted, &cli_create_command);
    int exit_code = CLI_EXIT_OK;
    int first = cli_parse(&cli_create_command, context, argc, argv, take, &wanted, &exit_code);
    if (first >= 0 && first < argc)
        exit_code = cli_usage_error(&cli_create_command,
                                    "'%s' is one too many; create takes no arguments", argv[first]);
    else if (first >= 0) {
        cli_sandbox_options_finish(&wanted);
        exit_code = create(context, &wanted);
    }
    cli_sandbox_options_free(&wanted);
    return exit_code;
}

const cli_command cli_create_command = {
    "create",
    "",
    "Make a sandbox that stays, and print its id.",
    "It runs until its lifetime is over or 'alineo kill' ends it. Run commands in it with 'alineo exec'.",
    options,
    run_command,
    false,
};
