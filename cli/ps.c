/* SPDX-License-Identifier: Apache-2.0 */
/* alineo ps: what the ledger says and what the provider has, joined. */
#include "cli/report.h"
#include "cli/session.h"

#include "core/util/clock.h"
#include "core/util/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cli_option options[] = {
    {"all", 'a', NULL, "also sessions that are completed"},
    {"name", 0, "NAME", "only this name"},
    {"run-id", 0, "ID", "only this run"},
    {"limit", 0, "N", "at most so many; default 100"},
    {NULL, 0, NULL, NULL},
};

/* A sandbox that the provider has. */
typedef struct live_sandbox {
    char *id;
    char *name;
    alineo_sandbox_state state;
    int64_t created_at_ms;
    int64_t expires_at_ms;
    bool seen; /* the ledger has a session for it */
} live_sandbox;

typedef struct ps {
    const cli_context *context;
    const char *provider;
    alineo_session_list_options query;
    bool all;
    live_sandbox *live;
    size_t live_count;
    bool live_known; /* the provider can list */
    cli_table *table;
    int64_t now_ms;
} ps;

static bool take(void *user, const cli_option *option, const char *value) {
    ps *p = user;
    if (strcmp(option->name, "all") == 0)
        p->all = true;
    else if (strcmp(option->name, "name") == 0)
        p->query.name = value;
    else if (strcmp(option->name, "run-id") == 0)
        p->query.run_id = value;
    else {
        char *end = NULL;
        p->query.limit = strtoull(value, &end, 10);
        if (value[0] < '0' || value[0] > '9' || *end != '\0' || p->query.limit == 0) {
            cli_usage_error(&cli_ps_command, "--limit needs a number above 0, not '%s'", value);
            return false;
        }
    }
    return true;
}

static int32_t keep_live(void *user, const alineo_sandbox_info *info) {
    ps *p = user;
    live_sandbox *grown = realloc(p->live, (p->live_count + 1) * sizeof(*grown));
    if (grown == NULL)
        return 1;
    p->live = grown;
    p->live[p->live_count++] =
        (live_sandbox){al_strdup(info->id), al_strdup(info->name), info->state,
                       info->created_at_ms, info->expires_at_ms,   false};
    return 0;
}

static live_sandbox *find_live(ps *p, const char *id) {
    for (size_t i = 0; i < p->live_count; i++)
        if (al_str_equal(p->live[i].id, id))
            return &p->live[i];
    return NULL;
}

static void expiry_text(const ps *p, const live_sandbox *live, char out[16]) {
    if (live == NULL || live->expires_at_ms == 0)
        al_str_copy(out, 16, "-");
    else
        cli_age_text(p->now_ms, live->expires_at_ms, out);
}

static void print_row(ps *p, const char *id, const char *name, const char *state,
                      const char *provider, int64_t started_ms, uint64_t execs,
                      const live_sandbox *live) {
    if (p->context->json) {
        cli_json_line line;
        cli_json_begin(&line);
        al_json_put_str(&line.writer, "sandboxId", id);
        al_json_put_str(&line.writer, "name", name);
        al_json_put_str(&line.writer, "state", state);
        al_json_put_str(&line.writer, "provider", provider);
        al_json_put_int(&line.writer, "startedAt", started_ms);
        al_json_put_uint(&line.writer, "execCount", execs);
        if (live != NULL && live->expires_at_ms != 0)
            al_json_put_int(&line.writer, "expiresAt", live->expires_at_ms);
        cli_json_end(&line, stdout);
        return;
    }
    char age[16];
    char expires[16];
    char count[24];
    if (started_ms > 0)
        cli_age_text(started_ms, p->now_ms, age);
    else
        al_str_copy(age, sizeof(age), "-");
    expiry_text(p, live, expires);
    snprintf(count, sizeof(count), "%llu", (unsigned long long)execs);
    const char *const cells[] = {id, name, state, provider, age, count, expires, NULL};
    cli_table_row(p->table, cells);
}

static int32_t show_session(void *user, const alineo_session *session) {
    ps *p = user;
    bool ours = session->provider == NULL || al_str_equal(session->provider, p->provider);
    live_sandbox *live = ours ? find_live(p, session->sandbox_id) : NULL;
    const char *state = "completed";
    if (session->status == ALINEO_SESSION_RUNNING) {
        state = "open"; /* the provider is another one, or cannot list */
        if (live != NULL)
            state = cli_state_name(live->state);
        else if (ours && p->live_known)
            state = "gone";
    } else if (live != NULL)
        state = "closed, runs";
    if (live != NULL)
        live->seen = true;
    print_row(p, session->sandbox_id, session->name, state, session->provider,
              session->started_at_ms, session->exec_count, live);
    return 0;
}

static int32_t note_session(void *user, const alineo_session *session) {
    (void)session;
    *(bool *)user = true;
    return 1;
}

/* What the provider has and the list above did not show: other ledgers', or never recorded. */
static void show_unlisted(ps *p, alineo_client *client) {
    for (size_t i = 0; i < p->live_count; i++) {
        const live_sandbox *live = &p->live[i];
        bool recorded = false;
        if (live->seen || p->query.name != NULL || p->query.run_id != NULL)
            continue;
        (void)alineo_session_get(client, NULL, live->id, note_session, &recorded, NULL);
        if (!recorded)
            print_row(p, live->id, live->name, "not in this ledger", p->provider,
                      live->created_at_ms, 0, live);
    }
}

static bool provider_lists(alineo_client *client);

static int list(ps *p, alineo_client *client) {
    static const char *const titles[] = {"SANDBOX", "NAME",  "STATE",      "PROVIDER",
                                         "AGE",     "EXECS", "EXPIRES IN", NULL};
    alineo_error *err = NULL;
    p->provider = alineo_client_provider(client);
    p->now_ms = al_clock_realtime_ms();
    p->live_known = provider_lists(client);
    if (p->live_known && alineo_sandbox_list(client, NULL, keep_live, p, &err) != ALINEO_OK)
        return cli_report_error(p->context, err, CLI_EXIT_FAILED);
    p->query.status = p->all ? ALINEO_SESSION_ANY : ALINEO_SESSION_RUNNING;
    p->table = p->context->json ? NULL : cli_table_new(titles);
    alineo_code code = alineo_session_list(client, &p->query, show_session, p, &err);
    if (code == ALINEO_OK)
        show_unlisted(p, client);
    cli_table_print(p->table, "no sandboxes");
    return code == ALINEO_OK ? CLI_EXIT_OK : cli_report_error(p->context, err, CLI_EXIT_FAILED);
}

static int32_t note_word(void *user, const alineo_capability *capability) {
    *(bool *)user = strcmp(capability->value, "no") != 0;
    return 0;
}

static bool provider_lists(alineo_client *client) {
    bool can = false;
    const char *const names[] = {ALINEO_CAP_LIST, NULL};
    alineo_capabilities_options query = ALINEO_CAPABILITIES_OPTIONS_INIT;
    query.names = names;
    query.probe = ALINEO_NO;
    (void)alineo_client_capabilities(client, &query, note_word, &can, NULL);
    return can;
}

static int run_command(cli_context *context, int argc, char **argv) {
    ps p;
    memset(&p, 0, sizeof(p));
    p.context = context;
    alineo_session_list_options_init(&p.query);
    p.query.limit = 100;
    int exit_code = CLI_EXIT_OK;
    int first = cli_parse(&cli_ps_command, context, argc, argv, take, &p, &exit_code);
    if (first < 0)
        return exit_code;
    if (first < argc)
        return cli_usage_error(&cli_ps_command, "'%s' is one too many", argv[first]);
    alineo_client *client = cli_open_client(context);
    exit_code = client != NULL ? list(&p, client) : CLI_EXIT_FAILED;
    alineo_client_free(client);
    for (size_t i = 0; i < p.live_count; i++) {
        free(p.live[i].id);
        free(p.live[i].name);
    }
    free(p.live);
    return exit_code;
}

const cli_command cli_ps_command = {
    "ps",
    "",
    "List sandboxes, newest first.",
    "Joins what the ledger says with what the provider has. STATE is the provider's word (running,\n"
    "paused, ...), or: 'gone' the ledger has it open and the provider does not have it; 'closed, runs'\n"
    "the other way round; 'open' the provider is another one; 'not in this ledger' another one made it.\n"
    "'alineo reconcile' mends the first two.",
    options,
    run_command,
    false,
};
