/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/place.h"

#include "cli/interrupt.h"
#include "cli/session.h"
#include "core/util/base64.h"
#include "core/util/cleanup.h"
#include "core/util/str.h"
#include "core/util/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SIGNAL_EXIT = 128
};

bool cli_places_open(cli_places *places, const cli_context *context) {
    *places = (cli_places){.context = context};
    cli_progress_begin(&places->progress, context);
    alineo_call_options options = ALINEO_CALL_OPTIONS_INIT;
    options.progress = cli_progress_show;
    options.progress_user = &places->progress;
    alineo_error *err = NULL;
    if (alineo_call_new(&options, &places->call, &err) != ALINEO_OK) {
        cli_report_error(context, err, 0);
        return false;
    }
    if (cli_interrupt_start(places->call) != 0)
        return false;
    places->client = cli_open_client(context);
    return places->client != NULL;
}

int cli_places_close(cli_places *places, int exit_code) {
    cli_progress_end(&places->progress);
    for (size_t i = 0; i < places->open_count; i++) {
        alineo_sandbox_free(places->open[i].sandbox);
        free(places->open[i].word);
    }
    alineo_client_free(places->client);
    /* The call stays: the thread that waits for signals may still use it. */
    return cli_interrupted() != 0 ? SIGNAL_EXIT + cli_interrupted() : exit_code;
}

bool cli_place_is(const char *text) {
    const char *colon = strchr(text, ':');
    const char *slash = strchr(text, '/');
    return colon != NULL && colon > text && colon[1] == '/' && slash == colon + 1;
}

static alineo_sandbox *connect_to(cli_places *places, const char *word) {
    al_autofree char *id = cli_resolve_id(places->context, places->client, word);
    if (id == NULL)
        return NULL;
    alineo_sandbox *sandbox = NULL;
    alineo_error *err = NULL;
    alineo_connect_options options = ALINEO_CONNECT_OPTIONS_INIT;
    options.call = places->call;
    if (alineo_sandbox_connect(places->client, id, &options, &sandbox, &err) != ALINEO_OK)
        (void)cli_place_failed(places, err);
    return sandbox;
}

bool cli_place_find(cli_places *places, const char *text, alineo_sandbox **sandbox,
                    const char **path) {
    if (!cli_place_is(text)) {
        fprintf(stderr, "alineo: '%s' is no SANDBOX:/PATH\n", text);
        return false;
    }
    const char *colon = strchr(text, ':');
    al_autofree char *word = al_strndup(text, (size_t)(colon - text));
    *path = colon + 1;
    for (size_t i = 0; word != NULL && i < places->open_count; i++)
        if (strcmp(places->open[i].word, word) == 0) {
            *sandbox = places->open[i].sandbox;
            return true;
        }
    if (word == NULL || places->open_count == CLI_PLACE_SANDBOXES_MAX) {
        fprintf(stderr, "alineo: more than %d sandboxes are named\n", CLI_PLACE_SANDBOXES_MAX);
        return false;
    }
    *sandbox = connect_to(places, word);
    if (*sandbox == NULL)
        return false;
    places->open[places->open_count].word = AL_STEAL(word);
    places->open[places->open_count++].sandbox = *sandbox;
    return true;
}

bool cli_parse_mode(const char *text, uint32_t *mode) {
    size_t size = strlen(text);
    uint32_t value = 0;
    if (size < 1 || size > 5 || strspn(text, "01234567") != size)
        return false;
    for (; *text != '\0'; text++)
        value = value << 3 | (uint32_t)(*text - '0');
    *mode = value;
    return value <= 07777;
}

int cli_place_failed(const cli_places *places, alineo_error *error) {
    cli_progress progress = places->progress;
    cli_progress_end(&progress);
    return cli_report_error(places->context, error, CLI_EXIT_FAILED);
}

void cli_json_put_path(cli_json_line *line, const char *key, const char *path) {
    size_t size = strlen(path);
    if (al_utf8_valid(path, size)) {
        al_json_put_str(&line->writer, key, path);
        return;
    }
    al_auto(al_buf_free) al_buf encoded = AL_BUF_INIT;
    al_base64_append(&encoded, path, size);
    al_autofree char *name = al_strf("%sBase64", key);
    if (name != NULL && encoded.error == 0)
        al_json_put_str(&line->writer, name, al_buf_str(&encoded));
}

void cli_print_path(const char *path) {
    bool terminal = isatty(STDOUT_FILENO) == 1;
    for (; *path != '\0'; path++) {
        unsigned char byte = (unsigned char)*path;
        bool shown = !terminal || (byte >= 0x20 && byte != 0x7f);
        putchar(shown ? byte : '?');
    }
}
