/* SPDX-License-Identifier: Apache-2.0 */
/* alineo renew, kill, pause, unpause: how long a sandbox lives, and whether it stands still. */
#include "cli/report.h"
#include "cli/session.h"

#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/num.h"

#include <stdio.h>
#include <string.h>

static const cli_option options[] = {{NULL, 0, NULL, NULL}};

static bool no_options(void *user, const cli_option *option, const char *value) {
    (void)user, (void)option, (void)value;
    return false;
}

/* A handle on the sandbox that `word` means; NULL after a message. */
static alineo_sandbox *connect_to(const cli_context *context, alineo_client *client,
                                  const char *word) {
    al_autofree char *id = cli_resolve_id(context, client, word);
    if (id == NULL)
        return NULL;
    alineo_sandbox *sandbox = NULL;
    alineo_error *err = NULL;
    alineo_connect_options how = ALINEO_CONNECT_OPTIONS_INIT;
    how.paused_too = 1;
    if (alineo_sandbox_connect(client, id, &how, &sandbox, &err) != ALINEO_OK)
        cli_report_error(context, err, 0);
    return sandbox;
}

static int renew(const cli_context *context, alineo_client *client, const char *word,
                 int64_t lifetime_ms) {
    alineo_sandbox *sandbox = connect_to(context, client, word);
    if (sandbox == NULL)
        return CLI_EXIT_FAILED;
    int64_t expires_ms = 0;
    alineo_error *err = NULL;
    int exit_code = CLI_EXIT_OK;
    if (alineo_sandbox_renew(sandbox, lifetime_ms, NULL, &expires_ms, &err) != ALINEO_OK)
        exit_code = cli_report_error(context, err, CLI_EXIT_FAILED);
    else if (context->json) {
        cli_json_line line;
        cli_json_begin(&line);
        al_json_put_str(&line.writer, "sandboxId", alineo_sandbox_id(sandbox));
        if (expires_ms != 0)
            al_json_put_int(&line.writer, "expiresAt", expires_ms);
        cli_json_end(&line, stdout);
    } else if (expires_ms == 0)
        printf("%s has no automatic end\n", alineo_sandbox_id(sandbox));
    else {
        char at[AL_TIME_TEXT_SIZE];
        al_time_format(expires_ms, at);
        printf("%s ends at %s\n", alineo_sandbox_id(sandbox), at);
    }
    alineo_sandbox_free(sandbox);
    return exit_code;
}

static int run_renew(cli_context *context, int argc, char **argv) {
    int exit_code = CLI_EXIT_OK;
    int first = cli_parse(&cli_renew_command, context, argc, argv, no_options, NULL, &exit_code);
    if (first < 0)
        return exit_code;
    if (argc - first != 2)
        return cli_usage_error(&cli_renew_command, "a sandbox and a time are needed");
    int64_t lifetime_ms = ALINEO_FOREVER;
    if (strcmp(argv[first + 1], "forever") != 0 &&
        (al_parse_duration_ms(argv[first + 1], &lifetime_ms) != 0 || lifetime_ms <= 0))
        return cli_usage_error(&cli_renew_command,
                               "'%s' is not a time like 30s, 10m, 2h or forever", argv[first + 1]);
    alineo_client *client = cli_open_client(context);
    exit_code = client != NULL ? renew(context, client, argv[first], lifetime_ms) : CLI_EXIT_FAILED;
    alineo_client_free(client);
    return exit_code;
}

const cli_command cli_renew_command = {
    "renew", "SANDBOX TIME", "Move a sandbox's end to TIME from now (30s, 10m, 2h, forever).",
    NULL,    options,        run_renew,
    false,
};

/* What is done to each of the sandboxes that are named. */
typedef alineo_code action_fn(alineo_sandbox *sandbox, const alineo_op_options *options,
                              alineo_error **err);

/* DONE is the member of the JSON line that says so. */
static int do_one(const cli_context *context, alineo_client *client, const char *word,
                  action_fn *action, const char *done) {
    alineo_sandbox *sandbox = connect_to(context, client, word);
    if (sandbox == NULL)
        return CLI_EXIT_FAILED;
    alineo_error *err = NULL;
    int exit_code = CLI_EXIT_OK;
    if (action(sandbox, NULL, &err) != ALINEO_OK)
        exit_code = cli_report_error(context, err, CLI_EXIT_FAILED);
    else if (context->json) {
        cli_json_line line;
        cli_json_begin(&line);
        al_json_put_str(&line.writer, "sandboxId", alineo_sandbox_id(sandbox));
        al_json_put_bool(&line.writer, done, true);
        cli_json_end(&line, stdout);
    } else
        puts(alineo_sandbox_id(sandbox));
    alineo_sandbox_free(sandbox);
    return exit_code;
}

static int do_all(const cli_command *command, cli_context *context, int argc, char **argv,
                  action_fn *action, const char *done) {
    int exit_code = CLI_EXIT_OK;
    int first = cli_parse(command, context, argc, argv, no_options, NULL, &exit_code);
    if (first < 0)
        return exit_code;
    if (first >= argc)
        return cli_usage_error(command, "a sandbox is needed");
    alineo_client *client = cli_open_client(context);
    if (client == NULL)
        return CLI_EXIT_FAILED;
    for (int i = first; i < argc; i++)
        if (do_one(context, client, argv[i], action, done) != CLI_EXIT_OK)
            exit_code = CLI_EXIT_FAILED;
    alineo_client_free(client);
    return exit_code;
}

static int run_kill(cli_context *context, int argc, char **argv) {
    return do_all(&cli_kill_command, context, argc, argv, alineo_sandbox_close, "closed");
}

static int run_pause(cli_context *context, int argc, char **argv) {
    return do_all(&cli_pause_command, context, argc, argv, alineo_sandbox_pause, "paused");
}

static int run_unpause(cli_context *context, int argc, char **argv) {
    return do_all(&cli_unpause_command, context, argc, argv, alineo_sandbox_unpause, "running");
}

const cli_command cli_kill_command = {
    "kill",
    "SANDBOX ...",
    "End sandboxes and all that runs in them.",
    "SANDBOX is an id or a name.",
    options,
    run_kill,
    false,
};

const cli_command cli_pause_command = {
    "pause",
    "SANDBOX ...",
    "Stop all that runs in sandboxes, until they are unpaused.",
    "Their lifetime runs on, and time limits of commands stand still.",
    options,
    run_pause,
    false,
};

const cli_command cli_unpause_command = {
    "unpause", "SANDBOX ...", "Let paused sandboxes go on.", NULL, options, run_unpause, false,
};
