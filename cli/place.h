/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CLI_PLACE_H
#define ALINEO_CLI_PLACE_H

/* Files of sandboxes as the command line names them: SANDBOX:/PATH. */

#include "cli/report.h"

enum {
    CLI_PLACE_SANDBOXES_MAX = 16
};

/* What a command on files has open. */
typedef struct cli_places {
    const cli_context *context;
    alineo_client *client;
    alineo_call *call; /* ended by Ctrl-C */
    cli_progress progress;
    struct {
        char *word;
        alineo_sandbox *sandbox;
    } open[CLI_PLACE_SANDBOXES_MAX];
    size_t open_count;
} cli_places;

/* False after a message. Close it in any case. */
bool cli_places_open(cli_places *places, const cli_context *context);
/* Gives the exit code that holds: what ended the program, or `exit_code`. */
int cli_places_close(cli_places *places, int exit_code);

/* Whether the text names a file of a sandbox. */
bool cli_place_is(const char *text);

/* The sandbox, opened once however often it is named, and the path in it, which is a part of
 * `text`. False after a message. */
bool cli_place_find(cli_places *places, const char *text, alineo_sandbox **sandbox,
                    const char **path);

/* --- file_stream.c: contents; false after a message ------------------------------------------ */

bool cli_file_to_stdout(const cli_places *places, alineo_sandbox *sandbox, const char *path,
                        const alineo_file_options *options);
bool cli_file_from_stdin(const cli_places *places, alineo_sandbox *sandbox, const char *path,
                         const alineo_file_options *options);

/* --- words ------------------------------------------------------------------------------------ */

/* A mode in octal digits; false for anything else. */
bool cli_parse_mode(const char *text, uint32_t *mode);

/* Prints the error and gives the exit code of a failure. */
int cli_place_failed(const cli_places *places, alineo_error *error);

/* A path in JSON: as text, or in Base64 with "Base64" behind the key where it is no UTF-8. */
void cli_json_put_path(cli_json_line *line, const char *key, const char *path);
/* A path for people: on a terminal with '?' for control characters. Without a line's end. */
void cli_print_path(const char *path);

#endif
