/* SPDX-License-Identifier: Apache-2.0 */
/* alineo info: all that is known of one sandbox. */
#include "cli/report.h"
#include "cli/session.h"

#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cli_option options[] = {{NULL, 0, NULL, NULL}};

static bool no_options(void *user, const cli_option *option, const char *value) {
    (void)user, (void)option, (void)value;
    return false;
}

typedef struct info {
    const cli_context *context;
    cli_json_line line;
    bool recorded;
    bool live;
} info;

static void put(info *i, const char *key, const char *title, const char *value) {
    if (value == NULL)
        return;
    if (i->context->json)
        al_json_put_str(&i->line.writer, key, value);
    else
        printf("%-12s %s\n", title, value);
}

static void put_time(info *i, const char *key, const char *title, int64_t at_ms) {
    char text[AL_TIME_TEXT_SIZE];
    if (at_ms == 0)
        return;
    al_time_format(at_ms, text);
    if (i->context->json)
        al_json_put_int(&i->line.writer, key, at_ms);
    else
        printf("%-12s %s\n", title, text);
}

static int32_t show_session(void *user, const alineo_session *session) {
    info *i = user;
    i->recorded = true;
    put(i, "sandboxId", "sandbox", session->sandbox_id);
    put(i, "name", "name", session->name);
    put(i, "runId", "run", session->run_id);
    put(i, "provider", "provider", session->provider);
    put(i, "status", "session",
        session->status == ALINEO_SESSION_RUNNING ? "running" : "completed");
    put_time(i, "startedAt", "started", session->started_at_ms);
    put_time(i, "completedAt", "completed", session->completed_at_ms);
    char count[24];
    snprintf(count, sizeof(count), "%llu", (unsigned long long)session->exec_count);
    if (i->context->json)
        al_json_put_uint(&i->line.writer, "execCount", session->exec_count);
    else
        put(i, "execCount", "execs", count);
    al_auto(al_json_free) al_json *created = NULL;
    if (i->context->json && session->created_payload != NULL &&
        al_json_parse(session->created_payload, session->created_payload_size, NULL, &created,
                      NULL) == 0)
        al_json_put_node(&i->line.writer, "created", al_json_root(created), false);
    return 0;
}

static int32_t show_live(void *user, const alineo_sandbox_info *live) {
    info *i = user;
    i->live = true;
    if (!i->recorded) {
        put(i, "sandboxId", "sandbox", live->id);
        put(i, "name", "name", live->name);
    }
    put(i, "state", "state", cli_state_name(live->state));
    put(i, "reason", "reason", live->reason);
    put(i, "image", "image", live->image);
    put_time(i, "expiresAt", "expires", live->expires_at_ms);
    for (const char *const *pair = live->metadata;
         pair != NULL && pair[0] != NULL && pair[1] != NULL; pair += 2)
        if (!i->context->json)
            printf("%-12s %s=%s\n", "metadata", pair[0], pair[1]);
    if (i->context->json && live->metadata != NULL) {
        al_json_put_object_begin(&i->line.writer, "metadata");
        for (const char *const *pair = live->metadata; pair[0] != NULL && pair[1] != NULL;
             pair += 2)
            al_json_put_str(&i->line.writer, pair[0], pair[1]);
        al_json_write_object_end(&i->line.writer);
    }
    return 0;
}

static int show(const cli_context *context, alineo_client *client, const char *word) {
    al_autofree char *id = cli_resolve_id(context, client, word);
    if (id == NULL)
        return CLI_EXIT_FAILED;
    info i = {context, {AL_BUF_INIT, {0}}, false, false};
    cli_json_begin(&i.line);
    (void)alineo_session_get(client, NULL, id, show_session, &i, NULL);
    alineo_error *err = NULL;
    alineo_code code = alineo_sandbox_inspect(client, id, NULL, show_live, &i, &err);
    bool gone = code == ALINEO_SANDBOX_NOT_FOUND && i.recorded;
    if (gone)
        put(&i, "state", "state", "gone");
    if (context->json && (i.recorded || i.live))
        cli_json_end(&i.line, stdout);
    else
        al_buf_free(&i.line.text);
    if (code != ALINEO_OK && !gone)
        return cli_report_error(context, err, CLI_EXIT_FAILED);
    alineo_error_free(err);
    return CLI_EXIT_OK;
}

static int run_command(cli_context *context, int argc, char **argv) {
    int exit_code = CLI_EXIT_OK;
    int first = cli_parse(&cli_info_command, context, argc, argv, no_options, NULL, &exit_code);
    if (first < 0)
        return exit_code;
    if (argc - first != 1)
        return cli_usage_error(&cli_info_command, "one sandbox is needed");
    alineo_client *client = cli_open_client(context);
    exit_code = client != NULL ? show(context, client, argv[first]) : CLI_EXIT_FAILED;
    alineo_client_free(client);
    return exit_code;
}

const cli_command cli_info_command = {
    "info",
    "SANDBOX",
    "Show what is known of a sandbox.",
    "SANDBOX is an id or a name.",
    options,
    run_command,
    false,
};
