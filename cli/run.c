/* SPDX-License-Identifier: Apache-2.0 */
/* alineo run: a sandbox for one command. */
#include "cli/exec_driver.h"
#include "cli/interrupt.h"
#include "cli/report.h"
#include "cli/sandbox_options.h"
#include "cli/session.h"

#include <stdio.h>
#include <string.h>

static const cli_option options[] = {CLI_SANDBOX_OPTIONS, CLI_EXEC_OPTIONS, {NULL, 0, NULL, NULL}};

typedef struct run_options {
    cli_sandbox_options sandbox;
    cli_exec_options exec;
} run_options;

static bool take(void *user, const cli_option *option, const char *value) {
    run_options *run = user;
    int taken = cli_sandbox_options_take(&run->sandbox, option, value);
    if (taken == 0)
        taken = cli_exec_options_take(&run->exec, option, value);
    return taken > 0;
}

static int32_t note_yes(void *user, const alineo_capability *capability) {
    *(bool *)user = strcmp(capability->value, "yes") == 0;
    return 0;
}

/* The sandbox ends with this program where the provider can do that, even by kill -9. */
static void bind_lifetime(alineo_client *client, alineo_sandbox_options *sandbox) {
    bool can = false;
    const char *const names[] = {ALINEO_CAP_BOUND, NULL};
    alineo_capabilities_options query = ALINEO_CAPABILITIES_OPTIONS_INIT;
    query.names = names;
    if (alineo_client_capabilities(client, &query, note_yes, &can, NULL) == ALINEO_OK && can)
        sandbox->bound = ALINEO_YES;
}

static int create_exec_close(const cli_context *context, alineo_client *client, run_options *run,
                             alineo_call *call, cli_progress *progress, int argc, char **argv) {
    alineo_sandbox *sandbox = NULL;
    alineo_error *err = NULL;
    run->sandbox.options.call = call;
    bind_lifetime(client, &run->sandbox.options);
    alineo_code code = alineo_sandbox_create(client, &run->sandbox.options, &sandbox, &err);
    cli_progress_end(progress);
    if (code != ALINEO_OK) {
        int exit_code = cli_interrupted() != 0 ? 128 + cli_interrupted() : CLI_EXIT_OURS;
        return cli_report_error(context, err, exit_code);
    }
    int exit_code = cli_exec_drive(context, sandbox, &run->exec, call, argc, argv);
    /* Without the call: a cancelled run closes its sandbox all the same. */
    if (alineo_sandbox_close(sandbox, NULL, &err) != ALINEO_OK)
        cli_report_error(context, err, 0);
    alineo_sandbox_free(sandbox);
    return exit_code;
}

static int run_with(cli_context *context, run_options *run, int argc, char **argv) {
    int exit_code = CLI_EXIT_OK;
    int first = cli_parse(&cli_run_command, context, argc, argv, take, run, &exit_code);
    if (first < 0)
        return exit_code;
    if (first >= argc)
        return cli_usage_error(&cli_run_command, "a command to run is missing");
    cli_sandbox_options_finish(&run->sandbox);
    cli_progress progress;
    cli_progress_begin(&progress, context);
    alineo_call_options call_options = ALINEO_CALL_OPTIONS_INIT;
    call_options.progress = cli_progress_show;
    call_options.progress_user = &progress;
    alineo_call *call = NULL;
    alineo_error *err = NULL;
    if (alineo_call_new(&call_options, &call, &err) != ALINEO_OK)
        return cli_report_error(context, err, CLI_EXIT_OURS);
    exit_code = CLI_EXIT_OURS;
    if (cli_interrupt_start(call) != 0)
        fputs("alineo: no thread to wait for signals\n", stderr);
    else {
        alineo_client *client = cli_open_client(context);
        if (client != NULL)
            exit_code = create_exec_close(context, client, run, call, &progress, argc - first,
                                          argv + first);
        alineo_client_free(client);
    }
    return exit_code; /* the call is left to the end of the program: the signal thread may use it */
}

static int run_command(cli_context *context, int argc, char **argv) {
    run_options run;
    cli_sandbox_options_init(&run.sandbox, &cli_run_command);
    cli_exec_options_init(&run.exec, &cli_run_command);
    int exit_code = run_with(context, &run, argc, argv);
    cli_sandbox_options_free(&run.sandbox);
    cli_exec_options_free(&run.exec);
    return exit_code;
}

const cli_command cli_run_command = {
    "run",
    "[--] COMMAND [ARGUMENT ...]",
    "Make a sandbox, run a command in it, close it.",
    "The command's output is printed as it comes, and its exit code is passed on. It runs as it is,\n"
    "without a shell; with -c it is one text for the shell:\n\n"
    "    alineo run -- python3 -c 'print(6 * 7)'\n"
    "    alineo run -c 'ls / | wc -l'\n"
    "    tar c src | alineo run -i -- tar t\n\n"
    "Exit codes of its own: 124 the timeout, 125 alineo failed, 126 and 127 the command cannot be run\n"
    "or is not there, 128 + n ended by signal n.",
    options,
    run_command,
    true,
};
