/* SPDX-License-Identifier: Apache-2.0 */
/* alineo exec: a command in a sandbox that runs. */
#include "cli/exec_driver.h"
#include "cli/interrupt.h"
#include "cli/report.h"
#include "cli/sandbox_options.h"
#include "cli/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cli_option options[] = {
    {"env", 'e', "NAME=VALUE", "a variable for this command; may be repeated"},
    {"user", 0, "USER", "who runs it"},
    {"shell", 0, "PATH", "what runs a -c command; default /bin/sh"},
    {"detach", 'd', NULL, "let it run on, and print its id for 'attach' and 'bg'"},
    CLI_EXEC_OPTIONS,
    {NULL, 0, NULL, NULL},
};

static bool take(void *user, const cli_option *option, const char *value) {
    cli_exec_options *exec = user;
    if (strcmp(option->name, "env") == 0)
        return cli_take_pair(exec->command, option, value, &exec->env);
    if (strcmp(option->name, "detach") == 0)
        exec->detach = true;
    else if (strcmp(option->name, "user") == 0)
        exec->options.user = value;
    else if (strcmp(option->name, "shell") == 0)
        exec->options.shell = value;
    else
        return cli_exec_options_take(exec, option, value) > 0;
    return true;
}

static int exec_in(const cli_context *context, alineo_client *client, const char *word,
                   cli_exec_options *wanted, alineo_call *call, int argc, char **argv) {
    char *id = cli_resolve_id(context, client, word);
    if (id == NULL)
        return CLI_EXIT_OURS;
    alineo_connect_options connect = ALINEO_CONNECT_OPTIONS_INIT;
    connect.call = call;
    alineo_sandbox *sandbox = NULL;
    alineo_error *err = NULL;
    int exit_code;
    if (alineo_sandbox_connect(client, id, &connect, &sandbox, &err) != ALINEO_OK)
        exit_code = cli_report_error(context, err, CLI_EXIT_OURS);
    else
        exit_code = cli_exec_drive(context, sandbox, wanted, call, argc, argv);
    alineo_sandbox_free(sandbox);
    free(id);
    return exit_code;
}

static int exec_with(cli_context *context, cli_exec_options *wanted, const char *sandbox, int argc,
                     char **argv) {
    alineo_call *call = NULL;
    alineo_error *err = NULL;
    if (alineo_call_new(NULL, &call, &err) != ALINEO_OK)
        return cli_report_error(context, err, CLI_EXIT_OURS);
    if (cli_interrupt_start(call) != 0) {
        fputs("alineo: no thread to wait for signals\n", stderr);
        return CLI_EXIT_OURS;
    }
    alineo_client *client = cli_open_client(context);
    int exit_code = client != NULL ? exec_in(context, client, sandbox, wanted, call, argc, argv)
                                   : CLI_EXIT_OURS;
    alineo_client_free(client);
    return exit_code; /* the call is left to the end of the program: the signal thread may use it */
}

/* Options may stand before and behind the sandbox. */
static int run_command(cli_context *context, int argc, char **argv) {
    cli_exec_options wanted;
    cli_exec_options_init(&wanted, &cli_exec_command);
    int exit_code = CLI_EXIT_OK;
    int at = cli_parse(&cli_exec_command, context, argc, argv, take, &wanted, &exit_code);
    int more = at >= 0 && at < argc ? cli_parse(&cli_exec_command, context, argc - at, argv + at,
                                                take, &wanted, &exit_code)
                                    : 0;
    if (at >= 0 && more >= 0) {
        if (more == 0 || at + more >= argc)
            exit_code = cli_usage_error(&cli_exec_command, "a sandbox and a command are needed");
        else
            exit_code = exec_with(context, &wanted, argv[at], argc - at - more, argv + at + more);
    }
    cli_exec_options_free(&wanted);
    return exit_code;
}

const cli_command cli_exec_command = {
    "exec",
    "SANDBOX [--] COMMAND [ARGUMENT ...]",
    "Run a command in a sandbox that runs.",
    "SANDBOX is an id or a name; of several with that name, the newest that runs. Exit codes as in\n"
    "'alineo run'.",
    options,
    run_command,
    true,
};
