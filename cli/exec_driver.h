/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CLI_EXEC_DRIVER_H
#define ALINEO_CLI_EXEC_DRIVER_H

/* Runs one command in a sandbox with its output on ours: `run` and `exec` share it. */

#include "cli/command.h"

#include "core/util/strv.h"

typedef struct cli_exec_options {
    const cli_command *command;
    alineo_exec_options options;
    al_strv env;
    bool shell_command; /* -c: one argument, for the shell */
    bool terminal;      /* -t */
    bool detach;        /* start it, print its id, and leave */
} cli_exec_options;

/* The rows for a command's option list. --env is the sandbox's in `run`. */
#define CLI_EXEC_OPTIONS                                                                           \
    {"command", 'c', NULL, "COMMAND is one text for the shell, not a program with arguments"},     \
        {"stdin", 'i', NULL, "hand this program's input over"},                                    \
        {"tty", 't', NULL, "give it a terminal; input from ours is handed over too"},              \
        {"cwd", 'w', "PATH", "run it in this folder"}, {                                           \
        "timeout", 0, "TIME", "end it after: 500ms, 30s, 5m (exit code 124)"                       \
    }

void cli_exec_options_init(cli_exec_options *options, const cli_command *command);
/* 1: taken; 0: not one of these; -1: refused, a message was printed. */
int cli_exec_options_take(cli_exec_options *options, const cli_option *option, const char *value);
void cli_exec_options_free(cli_exec_options *options);

/* Runs argv[0..argc) and gives the exit code for the program: the command's own, 128 + n for a
 * signal, 124 for a timeout, CLI_EXIT_OURS when it could not be run or its outcome is not known. */
int cli_exec_drive(const cli_context *context, alineo_sandbox *sandbox, cli_exec_options *options,
                   alineo_call *call, int argc, char **argv);

/* Shows an exec that runs already on our output, and gives the exit code as
 * cli_exec_drive. */
int cli_exec_show(const cli_context *context, alineo_exec *exec);

#endif
