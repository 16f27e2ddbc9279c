/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CLI_COMMAND_H
#define ALINEO_CLI_COMMAND_H

/* A command of the program: its name, its help, its options, and what it does. One file a command.
 * */

#include <alineo/alineo.h>

#include <stdbool.h>
#include <stddef.h>

/* Exit codes. `run` and `exec` give the command's own; their failures are CLI_EXIT_OURS, so that 0
 * to 124 and 126 up are the command's. */
enum {
    CLI_EXIT_OK = 0,
    CLI_EXIT_FAILED = 1,
    CLI_EXIT_USAGE = 2,
    CLI_EXIT_OURS = 125
};

/* What was asked for before and beside the command's own options. */
typedef struct cli_context {
    const char *config_path; /* NULL = as the library looks for it */
    bool json;
    bool verbose;
} cli_context;

/* One option: `letter` 0 = none, `argument` NULL = takes none. Lists end with a NULL name. */
typedef struct cli_option {
    const char *name;
    char letter;
    const char *argument;
    const char *help;
} cli_option;

typedef struct cli_command {
    const char *name;
    const char *arguments; /* behind the options, for the usage line */
    const char *summary;   /* a line for the list of commands */
    const char *details;   /* paragraphs for --help; NULL = none */
    const cli_option *options;
    int (*run)(cli_context *context, int argc, char **argv);
    bool passes_on; /* what stands behind the first argument is a command of its own */
} cli_command;

/* Gets each option in order; false after a message on stderr refuses it. */
typedef bool cli_option_fn(void *user, const cli_option *option, const char *value);

/* Reads the options of `command` and those common to all (--config, --json, --verbose, --help).
 * Gives the index of the first argument that is no option, or -1: then the program ends with
 * *exit_code (help was printed, or a usage error). */
int cli_parse(const cli_command *command, cli_context *context, int argc, char **argv,
              cli_option_fn *handle, void *user, int *exit_code);

/* "alineo: <text>" and a pointer to --help, on stderr; gives CLI_EXIT_USAGE. */
int cli_usage_error(const cli_command *command, const char *format, ...) ALINEO_PRINTF(2, 3);

void cli_print_help(const cli_command *command);

extern const cli_command cli_run_command;
extern const cli_command cli_create_command;
extern const cli_command cli_exec_command;
extern const cli_command cli_ps_command;
extern const cli_command cli_info_command;
extern const cli_command cli_logs_command;
extern const cli_command cli_renew_command;
extern const cli_command cli_kill_command;
extern const cli_command cli_pause_command;
extern const cli_command cli_unpause_command;
extern const cli_command cli_attach_command;
extern const cli_command cli_bg_command;
extern const cli_command cli_stats_command;
extern const cli_command cli_port_command;
extern const cli_command cli_cp_command;
extern const cli_command cli_files_command;
extern const cli_command cli_reconcile_command;
extern const cli_command cli_providers_command;
extern const cli_command cli_plugins_command;
extern const cli_command cli_config_command;

#endif
