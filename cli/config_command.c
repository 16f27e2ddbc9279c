/* SPDX-License-Identifier: Apache-2.0 */
/* alineo config: is the config right, and is it trusted. */
#include "cli/report.h"
#include "cli/session.h"

#include <stdio.h>
#include <string.h>

static const cli_option options[] = {{NULL, 0, NULL, NULL}};

static bool no_options(void *user, const cli_option *option, const char *value) {
    (void)user, (void)option, (void)value;
    return false;
}

static int check(const cli_context *context) {
    alineo_config *config = cli_load_config(context);
    if (config == NULL)
        return CLI_EXIT_FAILED;
    alineo_error *err = NULL;
    int exit_code = CLI_EXIT_OK;
    if (alineo_config_check(config, &err) != ALINEO_OK)
        exit_code = cli_report_error(context, err, CLI_EXIT_FAILED);
    else if (context->json) {
        cli_json_line line;
        cli_json_begin(&line);
        al_json_put_str(&line.writer, "config", alineo_config_path(config));
        al_json_put_str(&line.writer, "provider", alineo_config_provider(config));
        al_json_put_str(&line.writer, "storage", alineo_config_storage(config));
        al_json_put_str(&line.writer, "home", alineo_config_home(config));
        cli_json_end(&line, stdout);
    } else {
        const char *path = alineo_config_path(config);
        printf("%s: good\nprovider %s\nstorage  %s\nhome     %s\n",
               path != NULL ? path : "built-in defaults", alineo_config_provider(config),
               alineo_config_storage(config), alineo_config_home(config));
    }
    alineo_config_free(config);
    return exit_code;
}

static int trust(const cli_context *context, const char *path) {
    alineo_error *err = NULL;
    if (alineo_config_trust(path != NULL ? path : context->config_path, &err) != ALINEO_OK)
        return cli_report_error(context, err, CLI_EXIT_FAILED);
    if (!context->json)
        puts("trusted, until it changes");
    return CLI_EXIT_OK;
}

static int run_command(cli_context *context, int argc, char **argv) {
    int exit_code = CLI_EXIT_OK;
    int first = cli_parse(&cli_config_command, context, argc, argv, no_options, NULL, &exit_code);
    if (first < 0)
        return exit_code;
    const char *verb = first < argc ? argv[first] : "";
    const char *path = argc - first == 2 ? argv[first + 1] : NULL;
    if (argc - first > 2)
        return cli_usage_error(&cli_config_command, "'%s' is one too many", argv[first + 2]);
    if (strcmp(verb, "check") == 0) {
        if (path != NULL)
            context->config_path = path;
        return check(context);
    }
    if (strcmp(verb, "trust") == 0)
        return trust(context, path);
    return cli_usage_error(&cli_config_command,
                           "it is 'alineo config check' or 'alineo config trust'");
}

const cli_command cli_config_command = {
    "config",
    "check|trust [FILE]",
    "Check the config, or trust one that came with a folder.",
    "'check' reads it all, expands every ${NAME} and holds each section against what its plugin knows.\n"
    "'trust' records the file's path and digest: only then may a config that was merely found in the\n"
    "working directory name plugin files or use ${NAME}. A file that changes is untrusted again.",
    options,
    run_command,
    false,
};
