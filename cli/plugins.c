/* SPDX-License-Identifier: Apache-2.0 */
/* alineo plugins: the plugin files that would be found, and what one says of itself. */
#include "cli/report.h"
#include "cli/session.h"

#include <stdio.h>
#include <string.h>

static const cli_option options[] = {{NULL, 0, NULL, NULL}};

static bool no_options(void *user, const cli_option *option, const char *value) {
    (void)user, (void)option, (void)value;
    return false;
}

typedef struct plugins {
    const cli_context *context;
    cli_table *table; /* NULL: one line a field */
    alineo_code usable;
} plugins;

static void print_json(const alineo_plugin_info *info) {
    cli_json_line line;
    cli_json_begin(&line);
    al_json_put_str(&line.writer, "kind", info->kind);
    al_json_put_str(&line.writer, "id", info->id);
    al_json_put_str(&line.writer, "version", info->version);
    al_json_put_uint(&line.writer, "abiMajor", info->abi_major);
    al_json_put_uint(&line.writer, "abiMinor", info->abi_minor);
    al_json_put_str(&line.writer, "path", info->path);
    al_json_put_str(&line.writer, "usable", alineo_code_name(info->usable));
    if (info->problem != NULL)
        al_json_put_str(&line.writer, "problem", info->problem);
    cli_json_end(&line, stdout);
}

static int32_t show(void *user, const alineo_plugin_info *info) {
    plugins *p = user;
    const char *state = info->usable == ALINEO_OK ? "usable"
                        : info->problem != NULL   ? info->problem
                                                  : "refused";
    p->usable = info->usable;
    if (p->context->json)
        print_json(info);
    else if (p->table != NULL) {
        const char *const cells[] = {info->kind, info->id, info->version, state, info->path, NULL};
        cli_table_row(p->table, cells);
    } else
        printf("kind     %s\nid       %s\nversion  %s\nABI      %u.%u\nfile     %s\nstate    %s\n",
               info->kind, info->id, info->version, info->abi_major, info->abi_minor, info->path,
               state);
    return 0;
}

static int list(plugins *p) {
    static const char *const titles[] = {"KIND", "ID", "VERSION", "STATE", "FILE", NULL};
    alineo_config *config = cli_load_config(p->context);
    if (config == NULL)
        return CLI_EXIT_FAILED;
    p->table = p->context->json ? NULL : cli_table_new(titles);
    alineo_error *err = NULL;
    alineo_code code = alineo_plugin_list(config, show, p, &err);
    cli_table_print(p->table, "no plugins");
    alineo_config_free(config);
    return code == ALINEO_OK ? CLI_EXIT_OK : cli_report_error(p->context, err, CLI_EXIT_FAILED);
}

static int run_command(cli_context *context, int argc, char **argv) {
    plugins p = {context, NULL, ALINEO_OK};
    int exit_code = CLI_EXIT_OK;
    int first = cli_parse(&cli_plugins_command, context, argc, argv, no_options, NULL, &exit_code);
    if (first < 0)
        return exit_code;
    if (first == argc)
        return list(&p);
    if (argc - first != 2 || strcmp(argv[first], "inspect") != 0)
        return cli_usage_error(&cli_plugins_command,
                               "it is 'alineo plugins' or 'alineo plugins inspect FILE'");
    alineo_error *err = NULL;
    if (alineo_plugin_inspect(argv[first + 1], show, &p, &err) != ALINEO_OK)
        return cli_report_error(context, err, CLI_EXIT_FAILED);
    return p.usable == ALINEO_OK ? CLI_EXIT_OK : CLI_EXIT_FAILED;
}

const cli_command cli_plugins_command = {
    "plugins",
    "[inspect FILE]",
    "List the plugins, or read what a plugin file says of itself.",
    "Neither runs an instruction of a plugin: 'inspect' is safe on files of strangers. Exit code 1 when\n"
    "the file would be refused.",
    options,
    run_command,
    false,
};
