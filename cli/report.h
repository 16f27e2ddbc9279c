/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CLI_REPORT_H
#define ALINEO_CLI_REPORT_H

/* What the program prints: errors, tables for people, JSON lines for programs, progress. */

#include "cli/command.h"

#include "core/util/json_write.h"

/* Prints an error with code and hint on stderr (as a JSON object with --json), frees it, and gives
 * `exit_code`. */
int cli_report_error(const cli_context *context, alineo_error *error, int exit_code);

/* A JSON line: begin, write members into the writer, end. */
typedef struct cli_json_line {
    al_buf text;
    al_json_writer writer;
} cli_json_line;
void cli_json_begin(cli_json_line *line);
/* Prints it on `out` and frees it. */
void cli_json_end(cli_json_line *line, FILE *out);

/* A table: cells are copied; columns get as wide as their widest cell. Control characters are shown
 * as '?'. */
typedef struct cli_table cli_table;
cli_table *cli_table_new(const char *const *titles); /* NULL-terminated; NULL without memory */
void cli_table_row(cli_table *table, const char *const *cells);
/* Puts the rows in the order of what stands in their last column. */
void cli_table_sort(cli_table *table);
/* Prints and frees; without rows prints `empty` (NULL = only the titles). */
void cli_table_print(cli_table *table, const char *empty);

/* "3s", "5m", "2h", "4d" between two points in time. */
void cli_age_text(int64_t from_ms, int64_t to_ms, char out[16]);

/* Shows on a terminal how far a call is, once it takes longer than half a second. */
typedef struct cli_progress {
    int64_t started_ms;
    int64_t shown_ms;
    bool visible;
    bool terminal;
} cli_progress;
void cli_progress_begin(cli_progress *progress, const cli_context *context);
alineo_progress_fn cli_progress_show; /* `user` is the cli_progress */
void cli_progress_end(cli_progress *progress);

const char *cli_outcome_name(alineo_outcome outcome);
const char *cli_state_name(alineo_sandbox_state state);

#endif
