/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report.h"

#include "core/util/clock.h"
#include "core/util/str.h"
#include "core/util/strv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PROGRESS_AFTER_MS = 500,
    PROGRESS_EVERY_MS = 100,
    TEXT_MAX = 100
};

static void put_if(al_json_writer *writer, const char *key, const char *text) {
    if (text != NULL)
        al_json_put_str(writer, key, text);
}

static void report_json(const alineo_error *error) {
    cli_json_line line;
    cli_json_begin(&line);
    al_json_put_object_begin(&line.writer, "error");
    al_json_put_str(&line.writer, "code", alineo_code_name(alineo_error_code(error)));
    al_json_put_str(&line.writer, "message", alineo_error_message(error));
    put_if(&line.writer, "hint", alineo_error_hint(error));
    put_if(&line.writer, "sandboxId", alineo_error_sandbox_id(error));
    put_if(&line.writer, "provider", alineo_error_provider(error));
    put_if(&line.writer, "plugin", alineo_error_plugin(error));
    if (alineo_error_http_status(error) >= 0)
        al_json_put_int(&line.writer, "httpStatus", alineo_error_http_status(error));
    al_json_write_object_end(&line.writer);
    cli_json_end(&line, stderr);
}

/* What somebody in a sandbox may have chosen must not steer the terminal. */
static void print_plain(const char *text, size_t max_size) {
    for (size_t i = 0; text[i] != '\0' && i < max_size; i++) {
        unsigned char byte = (unsigned char)text[i];
        bool plain = (byte >= 0x20 && byte != 0x7f) || byte == '\n' || byte == '\t';
        fputc(plain ? byte : '?', stderr);
    }
}

int cli_report_error(const cli_context *context, alineo_error *error, int exit_code) {
    if (context->json)
        report_json(error);
    else {
        fprintf(stderr, "alineo: %s: ", alineo_code_name(alineo_error_code(error)));
        print_plain(error != NULL ? alineo_error_message(error) : "no details are known", SIZE_MAX);
        fputc('\n', stderr);
        if (alineo_error_hint(error) != NULL)
            fprintf(stderr, "  hint: %s\n", alineo_error_hint(error));
    }
    alineo_error_free(error);
    return exit_code;
}

void cli_json_begin(cli_json_line *line) {
    line->text = (al_buf)AL_BUF_INIT;
    al_json_write_init(&line->writer, &line->text);
    al_json_write_object_begin(&line->writer);
}

void cli_json_end(cli_json_line *line, FILE *out) {
    al_json_write_object_end(&line->writer);
    if (al_json_write_finish(&line->writer) == 0) {
        fwrite(line->text.data, 1, line->text.size, out);
        fputc('\n', out);
        fflush(out);
    } else
        fputs("alineo: a line of JSON could not be made\n", stderr);
    al_buf_free(&line->text);
}

/* --- tables --- */

struct cli_table {
    size_t columns;
    size_t *widths;
    al_strv cells; /* titles first */
};

/* Characters that a terminal shows: bytes that do not continue a character. */
static size_t shown_width(const char *text) {
    size_t width = 0;
    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void table_add(cli_table *table, const char *text) {
    size_t column = table->cells.count % table->columns;
    char *copy = al_strdup(text != NULL ? text : "-");
    for (char *c = copy; c != NULL && *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    if (copy != NULL && shown_width(copy) > table->widths[column])
        table->widths[column] = shown_width(copy);
    if (al_strv_take(&table->cells, copy) != 0)
        abort(); /* a command-line program without memory for a word has nothing left to say */
}

cli_table *cli_table_new(const char *const *titles) {
    cli_table *table = calloc(1, sizeof(*table));
    if (table == NULL)
        return NULL;
    while (titles[table->columns] != NULL)
        table->columns++;
    table->widths = calloc(table->columns, sizeof(*table->widths));
    if (table->widths == NULL) {
        free(table);
        return NULL;
    }
    for (size_t i = 0; i < table->columns; i++)
        table_add(table, titles[i]);
    return table;
}

void cli_table_row(cli_table *table, const char *const *cells) {
    for (size_t i = 0; table != NULL && i < table->columns; i++)
        table_add(table, cells[i]);
}

/* A row is so many neighbouring cells; they are told apart by the last of them. */
static int compare_rows(const void *a, const void *b, void *columns) {
    size_t last = *(const size_t *)columns - 1;
    return strcmp(((char *const *)a)[last], ((char *const *)b)[last]);
}

void cli_table_sort(cli_table *table) {
    if (table == NULL || table->cells.count <= table->columns)
        return;
    size_t rows = table->cells.count / table->columns - 1;
    qsort_r(table->cells.items + table->columns, rows,
            table->columns * sizeof(table->cells.items[0]), compare_rows, &table->columns);
}

void cli_table_print(cli_table *table, const char *empty) {
    if (table == NULL)
        return;
    if (table->cells.count == table->columns && empty != NULL)
        puts(empty);
    else
        for (size_t i = 0; i < table->cells.count; i++) {
            size_t column = i % table->columns;
            bool last = column + 1 == table->columns;
            const char *text = table->cells.items[i];
            fputs(text, stdout);
            for (size_t pad = shown_width(text); !last && pad < table->widths[column] + 2; pad++)
                putchar(' ');
            if (last)
                putchar('\n');
        }
    al_strv_free(&table->cells);
    free(table->widths);
    free(table);
}

void cli_age_text(int64_t from_ms, int64_t to_ms, char out[16]) {
    int64_t seconds = to_ms > from_ms ? (to_ms - from_ms) / 1000 : 0;
    if (seconds < 120)
        snprintf(out, 16, "%llds", (long long)seconds);
    else if (seconds < 2 * 3600)
        snprintf(out, 16, "%lldm", (long long)(seconds / 60));
    else if (seconds < 2 * 86400)
        snprintf(out, 16, "%lldh", (long long)(seconds / 3600));
    else
        snprintf(out, 16, "%lldd", (long long)(seconds / 86400));
}

/* --- progress --- */

void cli_progress_begin(cli_progress *progress, const cli_context *context) {
    progress->started_ms = al_clock_monotonic_ms();
    progress->shown_ms = 0;
    progress->visible = false;
    progress->terminal = !context->json && isatty(STDERR_FILENO) == 1;
}

void cli_progress_show(void *user, const char *stage, uint64_t done, uint64_t total,
                       const char *text) {
    cli_progress *progress = user;
    int64_t now = al_clock_monotonic_ms();
    if (!progress->terminal || now - progress->started_ms < PROGRESS_AFTER_MS ||
        now - progress->shown_ms < PROGRESS_EVERY_MS)
        return;
    progress->shown_ms = now;
    progress->visible = true;
    fprintf(stderr, "\r\033[K%s", stage);
    if (total > 0)
        fprintf(stderr, " %d%%", (int)(done >= total ? 100 : done * 100 / total));
    if (text != NULL)
        fputs(": ", stderr);
    print_plain(text != NULL ? text : "", TEXT_MAX);
    fflush(stderr);
}

void cli_progress_end(cli_progress *progress) {
    if (progress->visible)
        fputs("\r\033[K", stderr);
    progress->visible = false;
}

/* --- words --- */

const char *cli_outcome_name(alineo_outcome outcome) {
    static const char *const names[] = {"running",   "exited",    "signalled",
                                        "timed_out", "cancelled", "lost"};
    return outcome >= 0 && outcome <= ALINEO_OUTCOME_LOST ? names[outcome] : "unknown";
}

const char *cli_state_name(alineo_sandbox_state state) {
    static const char *const names[] = {"unknown",  "pending",  "running",    "pausing", "paused",
                                        "resuming", "stopping", "terminated", "failed"};
    return state >= 0 && state <= ALINEO_STATE_FAILED ? names[state] : "unknown";
}
