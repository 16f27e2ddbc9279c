/* SPDX-License-Identifier: Apache-2.0 */
/* The program `alineo`: finds the command and hands over. */
#include "cli/command.h"

#include "core/util/str.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const cli_command *const commands[] = {
    &cli_run_command,       &cli_create_command,    &cli_exec_command,    &cli_ps_command,
    &cli_info_command,      &cli_logs_command,      &cli_renew_command,   &cli_kill_command,
    &cli_attach_command,    &cli_bg_command,        &cli_cp_command,      &cli_files_command,
    &cli_stats_command,     &cli_port_command,      &cli_pause_command,   &cli_unpause_command,
    &cli_reconcile_command, &cli_providers_command, &cli_plugins_command, &cli_config_command,
};
enum {
    COMMAND_COUNT = sizeof(commands) / sizeof(commands[0])
};

static void print_overview(FILE *out) {
    fputs(
        "usage: alineo [--config FILE] [--json] [--verbose] COMMAND ...\n\n"
        "Runs commands in sandboxes. Which provider makes them, and where the ledger of all that\n"
        "happened is kept, is decided by alineo.config.json; without one, sandboxes are local and\n"
        "the ledger is a SQLite file.\n\ncommands:\n",
        out);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\nTry: alineo run -- echo hello\n"
          "Each command has its own help: alineo COMMAND --help\n",
          out);
}

static const cli_command *find_command(const char *name) {
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int unknown_command(const char *name) {
    const char *names[COMMAND_COUNT];
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i]->name;
    const char *nearest = al_str_nearest(name, names, COMMAND_COUNT);
    if (nearest != NULL)
        return cli_usage_error(NULL, "there is no command '%s'; did you mean '%s'?", name, nearest);
    return cli_usage_error(NULL, "there is no command '%s'", name);
}

static bool no_option(void *user, const cli_option *option, const char *value) {
    (void)user, (void)option, (void)value;
    return false;
}

/* Where a standard stream is closed, the next file that is opened would take its place, and be
 * written to: the ledger, say. Input that is not there is empty; output cannot be written. */
static bool hold_standard_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd)
            return false;
    return true;
}

int main(int argc, char **argv) {
    if (!hold_standard_streams())
        return CLI_EXIT_OURS;
    /* A reader of ours that goes away shows as EPIPE where it is written, with a message. */
    signal(SIGPIPE, SIG_IGN);
    if (argc < 2) {
        print_overview(stderr);
        return CLI_EXIT_USAGE;
    }
    cli_context context = {NULL, false, false};
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        const cli_command *wanted = argc > 2 ? find_command(argv[2]) : NULL;
        if (wanted == NULL && argc > 2)
            return unknown_command(argv[2]);
        if (wanted != NULL)
            cli_print_help(wanted);
        else
            print_overview(stdout);
        return CLI_EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("alineo %s\n", alineo_version());
        return CLI_EXIT_OK;
    }
    static const cli_command top = {"",   "COMMAND ...", "Runs commands in sandboxes.", NULL, NULL,
                                    NULL, true};
    int exit_code = CLI_EXIT_OK;
    int first = cli_parse(&top, &context, argc, argv, no_option, NULL, &exit_code);
    if (first < 0)
        return exit_code;
    if (first >= argc)
        return cli_usage_error(NULL, "a command is missing");
    const cli_command *command = find_command(argv[first]);
    if (command == NULL)
        return unknown_command(argv[first]);
    return command->run(&context, argc - first, argv + first);
}
