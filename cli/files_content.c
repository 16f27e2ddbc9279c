/* SPDX-License-Identifier: Apache-2.0 */
/* alineo files cat, write, replace. */
#include "cli/files.h"

#include "core/util/num.h"

#include <stdio.h>
#include <string.h>

typedef struct content {
    const cli_command *command;
    alineo_file_options options;
} content;

/* --- cat -------------------------------------------------------------------------------------- */

static bool take_part(void *user, const cli_option *option, const char *value) {
    content *self = user;
    int64_t number = 0;
    if (al_parse_size(value, &number) != 0) {
        cli_usage_error(self->command, "'%s' is no number of bytes", value);
        return false;
    }
    if (strcmp(option->name, "offset") == 0)
        self->options.offset = (uint64_t)number;
    else
        self->options.length = (uint64_t)number;
    return true;
}

static bool cat_one(cli_places *places, alineo_sandbox *sandbox, const char *path, void *user) {
    content *self = user;
    self->options.call = places->call;
    return cli_file_to_stdout(places, sandbox, path, &self->options);
}

static int run_cat(cli_context *context, int argc, char **argv) {
    content self = {&cli_files_cat_command, ALINEO_FILE_OPTIONS_INIT};
    int exit_code = CLI_EXIT_OK;
    int first =
        cli_parse(&cli_files_cat_command, context, argc, argv, take_part, &self, &exit_code);
    if (first < 0)
        return exit_code;
    if (first >= argc)
        return cli_usage_error(&cli_files_cat_command, "a file is needed");
    return cli_for_places(context, argc - first, argv + first, cat_one, &self);
}

static const cli_option cat_options[] = {
    {"offset", 0, "BYTES", "begin here (1500, 4k, 1Mi)"},
    {"length", 0, "BYTES", "at most so much of each"},
    {NULL, 0, NULL, NULL},
};

const cli_command cli_files_cat_command = {
    "files cat", "SANDBOX:/PATH ...", "Print files, byte for byte.", NULL, cat_options, run_cat,
    false,
};

/* --- write ------------------------------------------------------------------------------------ */

static bool take_way(void *user, const cli_option *option, const char *value) {
    content *self = user;
    if (strcmp(option->name, "append") == 0)
        self->options.append = ALINEO_YES;
    else if (strcmp(option->name, "exclusive") == 0)
        self->options.exclusive = ALINEO_YES;
    else if (strcmp(option->name, "no-parents") == 0)
        self->options.parents = ALINEO_NO;
    else if (!cli_parse_mode(value, &self->options.mode) || self->options.mode == 0) {
        cli_usage_error(self->command, "'%s' is no mode like 0644", value);
        return false;
    }
    return true;
}

static bool write_one(cli_places *places, alineo_sandbox *sandbox, const char *path, void *user) {
    content *self = user;
    self->options.call = places->call;
    return cli_file_from_stdin(places, sandbox, path, &self->options);
}

static int run_write(cli_context *context, int argc, char **argv) {
    content self = {&cli_files_write_command, ALINEO_FILE_OPTIONS_INIT};
    int exit_code = CLI_EXIT_OK;
    int first =
        cli_parse(&cli_files_write_command, context, argc, argv, take_way, &self, &exit_code);
    if (first < 0)
        return exit_code;
    if (argc - first != 1)
        return cli_usage_error(&cli_files_write_command, "one file is needed");
    return cli_for_places(context, 1, argv + first, write_one, &self);
}

static const cli_option write_options[] = {
    {"append", 'a', NULL, "behind what is there"},
    {"exclusive", 'x', NULL, "fail when it is there"},
    {"mode", 'm', "MODE", "set this mode, in octal"},
    {"no-parents", 0, NULL, "do not make missing folders"},
    {NULL, 0, NULL, NULL},
};

const cli_command cli_files_write_command = {
    "files write", "SANDBOX:/PATH", "Write a file from stdin; missing folders are made.",
    NULL,          write_options,   run_write,
    false,
};

/* --- replace ---------------------------------------------------------------------------------- */

typedef struct replacement {
    const char *find;
    const char *with;
} replacement;

static bool no_options(void *user, const cli_option *option, const char *value) {
    (void)user, (void)option, (void)value;
    return false;
}

static bool replace_one(cli_places *places, alineo_sandbox *sandbox, const char *path, void *user) {
    const replacement *self = user;
    alineo_error *err = NULL;
    uint64_t count = 0;
    alineo_file_change_options how = ALINEO_FILE_CHANGE_OPTIONS_INIT;
    how.call = places->call;
    if (!cli_done(places,
                  alineo_file_replace(sandbox, path, self->find, strlen(self->find), self->with,
                                      strlen(self->with), &how, &count, &err),
                  err))
        return false;
    if (places->context->json) {
        cli_json_line line;
        cli_json_begin(&line);
        cli_json_put_path(&line, "path", path);
        al_json_put_uint(&line.writer, "count", count);
        cli_json_end(&line, stdout);
        return true;
    }
    printf("%llu ", (unsigned long long)count);
    cli_print_path(path);
    putchar('\n');
    return true;
}

static int run_replace(cli_context *context, int argc, char **argv) {
    int exit_code = CLI_EXIT_OK;
    int first =
        cli_parse(&cli_files_replace_command, context, argc, argv, no_options, NULL, &exit_code);
    if (first < 0)
        return exit_code;
    if (argc - first < 3)
        return cli_usage_error(&cli_files_replace_command,
                               "a text, what to put in its place, and a file are needed");
    replacement self = {argv[first], argv[first + 1]};
    return cli_for_places(context, argc - first - 2, argv + first + 2, replace_one, &self);
}

static const cli_option none[] = {{NULL, 0, NULL, NULL}};

const cli_command cli_files_replace_command = {
    "files replace",
    "TEXT REPLACEMENT SANDBOX:/PATH ...",
    "Replace a text in files wherever it is, and tell how often it was there.",
    "No reader sees a file half-changed. TEXT is taken literally.",
    none,
    run_replace,
    false,
};
