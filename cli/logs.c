/* SPDX-License-Identifier: Apache-2.0 */
/* alineo logs: the events of a session, or the output that they hold. */
#include "cli/report.h"
#include "cli/session.h"

#include "core/util/base64.h"
#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/json.h"
#include "core/util/num.h"
#include "core/util/str.h"
#include "core/util/strv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SHOWN_PAYLOAD = 200
};

static const cli_option options[] = {
    {"events", 0, "NAME,...", "only these events: exec_start,exec_complete"},
    {"seq", 0, "N", "only the N-th command"},
    {"output", 'o', NULL, "print what the commands printed, byte by byte, in place of events"},
    {NULL, 0, NULL, NULL},
};

typedef struct logs {
    const cli_context *context;
    alineo_event_options query;
    al_strv events;
    bool output;
    uint64_t count;
} logs;

static bool take(void *user, const cli_option *option, const char *value) {
    logs *l = user;
    if (strcmp(option->name, "output") == 0) {
        l->output = true;
        return true;
    }
    if (strcmp(option->name, "events") == 0)
        return al_strv_split(&l->events, value, ',') == 0;
    int64_t seq = 0;
    if (al_parse_int64_in(value, 1, INT32_MAX, &seq) != 0) {
        cli_usage_error(&cli_logs_command, "--seq needs a number from 1, not '%s'", value);
        return false;
    }
    l->query.seq = (int32_t)seq;
    return true;
}

static void print_json(const alineo_ledger_record *record) {
    cli_json_line line;
    cli_json_begin(&line);
    al_json_put_int(&line.writer, "ts", record->ts_ms);
    al_json_put_str(&line.writer, "name", record->name);
    al_json_put_str(&line.writer, "sandboxId", record->sandbox_id);
    al_json_put_int(&line.writer, "stepIndex", record->step_idx);
    if (record->has_branch != 0)
        al_json_put_int(&line.writer, "branch", record->branch);
    al_json_put_str(&line.writer, "event", record->event);
    if (record->payload != NULL) {
        al_json_write_key(&line.writer, "payload");
        al_json_write_raw(&line.writer, record->payload, record->payload_size);
    }
    if (record->error != NULL)
        al_json_put_str(&line.writer, "error", record->error);
    al_json_put_str(&line.writer, "position", record->position);
    cli_json_end(&line, stdout);
}

/* Cuts at a character, not inside one. */
static size_t shown_size(const alineo_ledger_record *record) {
    size_t size = record->payload_size;
    if (size <= SHOWN_PAYLOAD)
        return size;
    size = SHOWN_PAYLOAD;
    while (size > 0 && ((unsigned char)record->payload[size] & 0xc0) == 0x80)
        size--;
    return size;
}

static void print_line(const alineo_ledger_record *record) {
    char at[AL_TIME_TEXT_SIZE];
    al_time_format(record->ts_ms, at);
    printf("%s  %s\n", at, record->event);
    if (record->payload == NULL)
        return;
    size_t size = shown_size(record);
    printf("    %.*s%s\n", (int)size, record->payload, size < record->payload_size ? "..." : "");
}

/* The bytes of a chunk to our stdout or stderr. */
static void print_output(const alineo_ledger_record *record) {
    al_auto(al_json_free) al_json *payload = NULL;
    if (record->payload == NULL ||
        al_json_parse(record->payload, record->payload_size, NULL, &payload, NULL) != 0)
        return;
    const al_json_node *root = al_json_root(payload);
    const char *type = NULL;
    const char *data = NULL;
    size_t size = 0;
    al_autofree char *decoded = NULL;
    if (!al_json_get_str(al_json_member(root, "type"), &type))
        return;
    if (al_json_get_bytes(al_json_member(root, "data"), &data, &size)) {
        decoded = malloc(size + 1); /* the bytes are fewer than their Base64 */
        if (decoded == NULL || al_base64_decode(data, size, decoded, &size) != 0)
            return;
        data = decoded;
    } else if (!al_json_get_bytes(al_json_member(root, "text"), &data, &size))
        return;
    FILE *out = strcmp(type, "stderr") == 0 ? stderr : stdout;
    fwrite(data, 1, size, out);
    fflush(out);
}

static int print_all(logs *l, alineo_event_reader *reader) {
    for (;;) {
        alineo_ledger_record record = ALINEO_LEDGER_RECORD_INIT;
        int32_t found = 0;
        alineo_error *err = NULL;
        if (alineo_events_next(reader, &record, &found, &err) != ALINEO_OK)
            return cli_report_error(l->context, err, CLI_EXIT_FAILED);
        if (!found)
            break;
        if (l->output)
            print_output(&record);
        else if (l->context->json)
            print_json(&record);
        else
            print_line(&record);
        l->count++;
        if (ferror(stdout) != 0) {
            fputs("alineo: the output cannot be written\n", stderr);
            return CLI_EXIT_FAILED;
        }
    }
    return CLI_EXIT_OK;
}

static int32_t print_head(void *user, const alineo_session *session) {
    const logs *l = user;
    if (!l->output && !l->context->json)
        printf("events of '%s' (%s):\n", session->name, session->sandbox_id);
    return 0;
}

static int show(logs *l, alineo_client *client, const char *word) {
    static const char *const chunks[] = {"exec_event", NULL};
    al_autofree char *id = cli_resolve_id(l->context, client, word);
    if (id == NULL)
        return CLI_EXIT_FAILED;
    alineo_error *err = NULL;
    if (alineo_session_get(client, NULL, id, print_head, l, &err) != ALINEO_OK)
        return cli_report_error(l->context, err, CLI_EXIT_FAILED);
    l->query.sandbox_id = id;
    l->query.events = l->output ? chunks : (const char *const *)l->events.items;
    alineo_event_reader *reader = NULL;
    if (alineo_events_open(client, &l->query, &reader, &err) != ALINEO_OK)
        return cli_report_error(l->context, err, CLI_EXIT_FAILED);
    int exit_code = print_all(l, reader);
    alineo_events_free(reader);
    if (exit_code == CLI_EXIT_OK && !l->output && !l->context->json)
        printf("%llu %s\n", (unsigned long long)l->count, l->count == 1 ? "event" : "events");
    return exit_code;
}

static int run_command(cli_context *context, int argc, char **argv) {
    logs l = {context, ALINEO_EVENT_OPTIONS_INIT, AL_STRV_INIT, false, 0};
    int exit_code = CLI_EXIT_OK;
    int first = cli_parse(&cli_logs_command, context, argc, argv, take, &l, &exit_code);
    if (first >= 0 && argc - first != 1)
        exit_code = cli_usage_error(&cli_logs_command, "one name or id is needed");
    else if (first >= 0) {
        alineo_client *client = cli_open_client(context);
        exit_code = client != NULL ? show(&l, client, argv[first]) : CLI_EXIT_FAILED;
        alineo_client_free(client);
    }
    al_strv_free(&l.events);
    return exit_code;
}

const cli_command cli_logs_command = {
    "logs",
    "NAME|ID",
    "Print the events of a session from the ledger.",
    "Of several sessions with one name, the newest that runs, else the newest. Long payloads are cut;\n"
    "--json prints them whole.",
    options,
    run_command,
    false,
};
