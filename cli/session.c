/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/session.h"

#include "cli/report.h"
#include "core/util/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_log(void *user, alineo_log_level level, const char *plugin, const char *message) {
    static const char *const names[] = {"", "error", "warning", "info", "debug"};
    const cli_context *context = user;
    if (level > ALINEO_LOG_WARNING && !context->verbose)
        return;
    const char *name = level >= ALINEO_LOG_ERROR && level <= ALINEO_LOG_DEBUG ? names[level] : "";
    if (plugin[0] != '\0')
        fprintf(stderr, "alineo: %s: %s: %s\n", name, plugin, message);
    else
        fprintf(stderr, "alineo: %s: %s\n", name, message);
}

alineo_config *cli_load_config(const cli_context *context) {
    alineo_config *config = NULL;
    alineo_error *err = NULL;
    if (alineo_config_load(context->config_path, &config, &err) != ALINEO_OK)
        cli_report_error(context, err, 0);
    return config;
}

alineo_client *cli_open_client(const cli_context *context) {
    alineo_config *config = cli_load_config(context);
    if (config == NULL)
        return NULL;
    alineo_client *client = NULL;
    alineo_error *err = NULL;
    alineo_client_options options = ALINEO_CLIENT_OPTIONS_INIT;
    options.log = print_log;
    options.log_user = (void *)(uintptr_t)context;
    if (alineo_client_open(config, &options, &client, &err) != ALINEO_OK)
        cli_report_error(context, err, 0);
    alineo_config_free(config);
    return client;
}

typedef struct found_session {
    char *id;
    bool running;
} found_session;

static int32_t keep_best(void *user, const alineo_session *session) {
    found_session *found = user;
    bool running = session->status == ALINEO_SESSION_RUNNING;
    if (found->id == NULL || (running && !found->running)) {
        free(found->id);
        found->id = al_strdup(session->sandbox_id);
        found->running = running;
    }
    return found->running; /* newest first: the first that runs is the one */
}

char *cli_resolve_id(const cli_context *context, alineo_client *client, const char *word) {
    found_session found = {NULL, false};
    alineo_error *err = NULL;
    alineo_code code = alineo_session_get(client, NULL, word, keep_best, &found, &err);
    if (code == ALINEO_OK && found.id != NULL)
        return found.id;
    alineo_error_free(err);
    err = NULL;
    alineo_session_list_options options = ALINEO_SESSION_LIST_OPTIONS_INIT;
    options.name = word;
    code = alineo_session_list(client, &options, keep_best, &found, &err);
    if (code != ALINEO_OK) {
        cli_report_error(context, err, 0);
        free(found.id);
        return NULL;
    }
    /* No session: it may still be a sandbox that another ledger recorded. */
    return found.id != NULL ? found.id : al_strdup(word);
}

void cli_client_free(alineo_client *client) {
    alineo_client_free(client);
}
