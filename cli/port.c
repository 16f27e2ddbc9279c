/* SPDX-License-Identifier: Apache-2.0 */
/* alineo port: how to reach a server in a sandbox. */
#include "cli/report.h"
#include "cli/session.h"

#include "core/util/cleanup.h"
#include "core/util/num.h"

#include <stdio.h>

static const cli_option options[] = {{NULL, 0, NULL, NULL}};

static bool no_options(void *user, const cli_option *option, const char *value) {
    (void)user, (void)option, (void)value;
    return false;
}

typedef struct asked {
    const cli_context *context;
    alineo_sandbox *sandbox;
    int32_t port;
} asked;

static void print_json(const asked *self, const alineo_endpoint *endpoint) {
    cli_json_line line;
    cli_json_begin(&line);
    al_json_put_str(&line.writer, "sandboxId", alineo_sandbox_id(self->sandbox));
    al_json_put_int(&line.writer, "port", self->port);
    al_json_put_str(&line.writer, "url", endpoint->url);
    al_json_put_object_begin(&line.writer, "headers");
    for (size_t i = 0; endpoint->headers != NULL && endpoint->headers[i] != NULL; i += 2)
        al_json_put_str(&line.writer, endpoint->headers[i], endpoint->headers[i + 1]);
    al_json_write_object_end(&line.writer);
    cli_json_end(&line, stdout);
}

static void print_endpoint(void *user, const alineo_endpoint *endpoint) {
    const asked *self = user;
    if (self->context->json) {
        print_json(self, endpoint);
        return;
    }
    puts(endpoint->url);
    for (size_t i = 0; endpoint->headers != NULL && endpoint->headers[i] != NULL; i += 2)
        printf("%s: %s\n", endpoint->headers[i], endpoint->headers[i + 1]);
}

static int ask(const cli_context *context, alineo_client *client, const char *word, int32_t port) {
    al_autofree char *id = cli_resolve_id(context, client, word);
    if (id == NULL)
        return CLI_EXIT_FAILED;
    asked self = {context, NULL, port};
    alineo_error *err = NULL;
    alineo_code code = alineo_sandbox_connect(client, id, NULL, &self.sandbox, &err);
    if (code == ALINEO_OK)
        code = alineo_sandbox_endpoint(self.sandbox, port, NULL, print_endpoint, &self, &err);
    alineo_sandbox_free(self.sandbox);
    return code == ALINEO_OK ? CLI_EXIT_OK : cli_report_error(context, err, CLI_EXIT_FAILED);
}

static int run_port(cli_context *context, int argc, char **argv) {
    int exit_code = CLI_EXIT_OK;
    int first = cli_parse(&cli_port_command, context, argc, argv, no_options, NULL, &exit_code);
    if (first < 0)
        return exit_code;
    if (argc - first != 2)
        return cli_usage_error(&cli_port_command, "a sandbox and a port are needed");
    int64_t port = 0;
    if (al_parse_int64_in(argv[first + 1], 1, 65535, &port) != 0)
        return cli_usage_error(&cli_port_command, "'%s' is not a port", argv[first + 1]);
    alineo_client *client = cli_open_client(context);
    exit_code = client != NULL ? ask(context, client, argv[first], (int32_t)port) : CLI_EXIT_FAILED;
    alineo_client_free(client);
    return exit_code;
}

const cli_command cli_port_command = {
    "port",
    "SANDBOX PORT",
    "Print a URL that leads to a port in a sandbox.",
    "It leads there as long as the sandbox lives, whether something listens now or later. Lines\n"
    "behind the URL are headers that every request must carry.",
    options,
    run_port,
    false,
};
