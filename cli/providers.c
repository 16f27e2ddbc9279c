/* SPDX-License-Identifier: Apache-2.0 */
/* alineo providers: which there are, and what the one in use can do here. */
#include "cli/report.h"
#include "cli/session.h"

#include <stdio.h>
#include <string.h>

static const cli_option options[] = {
    {"no-probe", 0, NULL, "only what the provider declares, without trying it on this machine"},
    {NULL, 0, NULL, NULL},
};

typedef struct providers {
    const cli_context *context;
    const char *in_use;
    alineo_capabilities_options query;
    cli_table *table;
} providers;

static bool take(void *user, const cli_option *option, const char *value) {
    (void)option, (void)value;
    ((providers *)user)->query.probe = ALINEO_NO;
    return true;
}

static int32_t show_plugin(void *user, const alineo_plugin_info *plugin) {
    providers *p = user;
    if (plugin->kind == NULL || strcmp(plugin->kind, "provider") != 0)
        return 0;
    bool used = p->in_use != NULL && strcmp(p->in_use, plugin->id) == 0;
    if (p->context->json) {
        cli_json_line line;
        cli_json_begin(&line);
        al_json_put_str(&line.writer, "provider", plugin->id);
        al_json_put_str(&line.writer, "version", plugin->version);
        al_json_put_str(&line.writer, "path", plugin->path);
        al_json_put_bool(&line.writer, "inUse", used);
        cli_json_end(&line, stdout);
        return 0;
    }
    const char *const cells[] = {plugin->id, plugin->version, used ? "in use" : "", plugin->path,
                                 NULL};
    cli_table_row(p->table, cells);
    return 0;
}

static int32_t show_capability(void *user, const alineo_capability *capability) {
    providers *p = user;
    if (p->context->json) {
        cli_json_line line;
        cli_json_begin(&line);
        al_json_put_str(&line.writer, "capability", capability->name);
        al_json_put_str(&line.writer, "value", capability->value);
        if (capability->detail != NULL)
            al_json_put_str(&line.writer, "detail", capability->detail);
        if (capability->remedy != NULL)
            al_json_put_str(&line.writer, "remedy", capability->remedy);
        cli_json_end(&line, stdout);
        return 0;
    }
    const char *const cells[] = {capability->name, capability->value,
                                 capability->detail != NULL ? capability->detail : "",
                                 capability->remedy != NULL ? capability->remedy : "", NULL};
    cli_table_row(p->table, cells);
    return 0;
}

static int show(providers *p, alineo_config *config) {
    static const char *const plugin_titles[] = {"PROVIDER", "VERSION", "", "FILE", NULL};
    static const char *const capability_titles[] = {"CAPABILITY", "VALUE", "WHY", "WHAT TO DO",
                                                    NULL};
    alineo_error *err = NULL;
    p->in_use = alineo_config_provider(config);
    p->table = p->context->json ? NULL : cli_table_new(plugin_titles);
    alineo_code code = alineo_plugin_list(config, show_plugin, p, &err);
    cli_table_print(p->table, NULL);
    if (code != ALINEO_OK)
        return cli_report_error(p->context, err, CLI_EXIT_FAILED);
    alineo_client *client = cli_open_client(p->context);
    if (client == NULL)
        return CLI_EXIT_FAILED;
    if (!p->context->json)
        printf("\nwhat '%s' can do here:\n", alineo_client_provider(client));
    p->table = p->context->json ? NULL : cli_table_new(capability_titles);
    code = alineo_client_capabilities(client, &p->query, show_capability, p, &err);
    cli_table_print(p->table, NULL);
    alineo_client_free(client);
    return code == ALINEO_OK ? CLI_EXIT_OK : cli_report_error(p->context, err, CLI_EXIT_FAILED);
}

static int run_command(cli_context *context, int argc, char **argv) {
    providers p = {context, NULL, ALINEO_CAPABILITIES_OPTIONS_INIT, NULL};
    int exit_code = CLI_EXIT_OK;
    int first = cli_parse(&cli_providers_command, context, argc, argv, take, &p, &exit_code);
    if (first < 0)
        return exit_code;
    if (first < argc)
        return cli_usage_error(&cli_providers_command, "'%s' is one too many", argv[first]);
    alineo_config *config = cli_load_config(context);
    exit_code = config != NULL ? show(&p, config) : CLI_EXIT_FAILED;
    alineo_config_free(config);
    return exit_code;
}

const cli_command cli_providers_command = {
    "providers", "",    "List the providers, and what the one in use can do here.", NULL, options,
    run_command, false,
};
