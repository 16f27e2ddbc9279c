/* SPDX-License-Identifier: Apache-2.0 */
/* alineo files ls, stat, find. */
#include "cli/files.h"

#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/num.h"
#include "core/util/str.h"

#include <stdio.h>
#include <string.h>

typedef struct look {
    const cli_places *places;
    const cli_command *command;
    uint32_t depth;
    bool nul; /* behind each path, in place of a newline */
    const char *pattern;
    size_t prefix_size; /* of the folder, left out of the names in it */
    cli_table *table;
} look;

static const char *type_name(alineo_file_type type) {
    static const char *const names[] = {"other", "file", "directory", "symlink", "other"};
    return type >= 0 && type <= ALINEO_FILE_OTHER ? names[type] : "other";
}

static void print_json(const alineo_file_info *info) {
    cli_json_line line;
    cli_json_begin(&line);
    cli_json_put_path(&line, "path", info->path);
    al_json_put_str(&line.writer, "type", type_name(info->type));
    char mode[8];
    snprintf(mode, sizeof(mode), "%04o", info->mode);
    al_json_put_str(&line.writer, "mode", mode);
    al_json_put_uint(&line.writer, "size", info->bytes);
    al_json_put_str(&line.writer, "owner", info->owner != NULL ? info->owner : "");
    al_json_put_str(&line.writer, "group", info->group != NULL ? info->group : "");
    al_json_put_int(&line.writer, "modifiedAt", info->modified_at_ms);
    if (info->created_at_ms != 0)
        al_json_put_int(&line.writer, "createdAt", info->created_at_ms);
    if (info->link_target != NULL)
        cli_json_put_path(&line, "target", info->link_target);
    cli_json_end(&line, stdout);
}

/* --- ls --------------------------------------------------------------------------------------- */

static void mode_text(const alineo_file_info *info, char out[11]) {
    static const char letters[] = "rwxrwxrwx";
    out[0] = info->type == ALINEO_FILE_DIRECTORY ? 'd'
             : info->type == ALINEO_FILE_SYMLINK ? 'l'
             : info->type == ALINEO_FILE_OTHER   ? '?'
                                                 : '-';
    for (size_t i = 0; i < 9; i++)
        out[1 + i] = (info->mode >> (8 - i) & 1) != 0 ? letters[i] : '-';
    static const char *const special[] = {"Ss", "Ss", "Tt"};
    for (size_t i = 0; i < 3; i++)
        if ((info->mode >> (11 - i) & 1) != 0)
            out[3 + 3 * i] = special[i][out[3 + 3 * i] == 'x'];
    out[10] = '\0';
}

static int32_t list_one(void *user, const alineo_file_info *info) {
    look *self = user;
    if (self->table == NULL) {
        print_json(info);
        return 0;
    }
    char mode[11];
    char size[24];
    char time[AL_TIME_TEXT_SIZE];
    mode_text(info, mode);
    snprintf(size, sizeof(size), "%llu", (unsigned long long)info->bytes);
    al_time_format(info->modified_at_ms, time);
    const char *rest =
        strlen(info->path) > self->prefix_size ? info->path + self->prefix_size : info->path;
    const char *target = info->link_target;
    al_autofree char *name =
        al_strf("%s%s%s", rest, target != NULL ? " -> " : "", target != NULL ? target : "");
    const char *const cells[] = {
        mode, info->owner, info->group, size, time, name != NULL ? name : rest, NULL};
    cli_table_row(self->table, cells);
    return 0;
}

static bool list_folder(cli_places *places, alineo_sandbox *sandbox, const char *path, void *user) {
    static const char *const titles[] = {"MODE",     "OWNER", "GROUP", "SIZE",
                                         "MODIFIED", "NAME",  NULL};
    look *self = user;
    alineo_error *err = NULL;
    alineo_file_list_options how = ALINEO_FILE_LIST_OPTIONS_INIT;
    how.depth = self->depth;
    how.call = places->call;
    self->prefix_size = strlen(path);
    while (self->prefix_size > 0 && path[self->prefix_size - 1] == '/')
        self->prefix_size--;
    self->prefix_size++;
    self->table = places->context->json ? NULL : cli_table_new(titles);
    alineo_code code = alineo_file_list(sandbox, path, &how, list_one, self, &err);
    cli_table_sort(self->table);
    if (self->table != NULL)
        cli_table_print(self->table, "");
    return cli_done(places, code, err);
}

static bool take_depth(void *user, const cli_option *option, const char *value) {
    look *self = user;
    int64_t depth = 0;
    if (strcmp(option->name, "recursive") == 0) {
        self->depth = UINT32_MAX;
        return true;
    }
    if (al_parse_int64_in(value, 1, UINT32_MAX, &depth) != 0) {
        cli_usage_error(self->command, "'%s' is no depth of 1 or more", value);
        return false;
    }
    self->depth = (uint32_t)depth;
    return true;
}

static int run_ls(cli_context *context, int argc, char **argv) {
    look self = {.command = &cli_files_ls_command};
    int exit_code = CLI_EXIT_OK;
    int first =
        cli_parse(&cli_files_ls_command, context, argc, argv, take_depth, &self, &exit_code);
    if (first < 0)
        return exit_code;
    if (first >= argc)
        return cli_usage_error(&cli_files_ls_command, "a folder is needed");
    return cli_for_places(context, argc - first, argv + first, list_folder, &self);
}

static const cli_option ls_options[] = {
    {"depth", 0, "N", "so many levels; default 1, what is in the folder itself"},
    {"recursive", 'R', NULL, "all levels"},
    {NULL, 0, NULL, NULL},
};

const cli_command cli_files_ls_command = {
    "files ls", "SANDBOX:/FOLDER ...", "List folders.", NULL, ls_options, run_ls, false,
};

/* --- stat ------------------------------------------------------------------------------------- */

static int32_t print_all(void *user, const alineo_file_info *info) {
    const look *self = user;
    if (self->places->context->json) {
        print_json(info);
        return 0;
    }
    char time[AL_TIME_TEXT_SIZE];
    fputs("path:     ", stdout);
    cli_print_path(info->path);
    printf("\ntype:     %s\nmode:     %04o\nsize:     %llu\nowner:    ", type_name(info->type),
           info->mode, (unsigned long long)info->bytes);
    cli_print_path(info->owner != NULL ? info->owner : "");
    fputs("\ngroup:    ", stdout);
    cli_print_path(info->group != NULL ? info->group : "");
    al_time_format(info->modified_at_ms, time);
    printf("\nmodified: %s\n", time);
    if (info->created_at_ms != 0) {
        al_time_format(info->created_at_ms, time);
        printf("created:  %s\n", time);
    }
    if (info->link_target != NULL) {
        fputs("target:   ", stdout);
        cli_print_path(info->link_target);
        putchar('\n');
    }
    return 0;
}

static bool stat_one(cli_places *places, alineo_sandbox *sandbox, const char *path, void *user) {
    look *self = user;
    self->places = places;
    alineo_error *err = NULL;
    alineo_file_list_options how = ALINEO_FILE_LIST_OPTIONS_INIT;
    how.call = places->call;
    return cli_done(places, alineo_file_stat(sandbox, path, &how, print_all, self, &err), err);
}

static bool no_options(void *user, const cli_option *option, const char *value) {
    (void)user, (void)option, (void)value;
    return false;
}

static int run_stat(cli_context *context, int argc, char **argv) {
    look self = {.command = &cli_files_stat_command};
    int exit_code = CLI_EXIT_OK;
    int first =
        cli_parse(&cli_files_stat_command, context, argc, argv, no_options, NULL, &exit_code);
    if (first < 0)
        return exit_code;
    if (first >= argc)
        return cli_usage_error(&cli_files_stat_command, "a file is needed");
    return cli_for_places(context, argc - first, argv + first, stat_one, &self);
}

static const cli_option none[] = {{NULL, 0, NULL, NULL}};

const cli_command cli_files_stat_command = {
    "files stat",
    "SANDBOX:/PATH ...",
    "Tell all about files; links are not followed.",
    NULL,
    none,
    run_stat,
    false,
};

/* --- find ------------------------------------------------------------------------------------- */

static int32_t print_path(void *user, const alineo_file_info *info) {
    const look *self = user;
    if (self->places->context->json) {
        print_json(info);
    } else if (self->nul) {
        fputs(info->path, stdout);
        putchar('\0');
    } else {
        cli_print_path(info->path);
        putchar('\n');
    }
    return 0;
}

static bool find_in(cli_places *places, alineo_sandbox *sandbox, const char *path, void *user) {
    look *self = user;
    self->places = places;
    alineo_error *err = NULL;
    alineo_file_list_options how = ALINEO_FILE_LIST_OPTIONS_INIT;
    how.call = places->call;
    return cli_done(places,
                    alineo_file_search(sandbox, self->pattern, path, &how, print_path, self, &err),
                    err);
}

static bool take_nul(void *user, const cli_option *option, const char *value) {
    (void)option, (void)value;
    ((look *)user)->nul = true;
    return true;
}

static int run_find(cli_context *context, int argc, char **argv) {
    look self = {.command = &cli_files_find_command};
    int exit_code = CLI_EXIT_OK;
    int first =
        cli_parse(&cli_files_find_command, context, argc, argv, take_nul, &self, &exit_code);
    if (first < 0)
        return exit_code;
    if (argc - first != 2)
        return cli_usage_error(&cli_files_find_command, "a folder and a pattern are needed");
    self.pattern = argv[first + 1];
    return cli_for_places(context, 1, argv + first, find_in, &self);
}

static const cli_option find_options[] = {
    {"null", '0', NULL, "end each path with a NUL in place of a newline"},
    {NULL, 0, NULL, NULL},
};

const cli_command cli_files_find_command = {
    "files find",
    "SANDBOX:/FOLDER PATTERN",
    "Find files by a pattern.",
    "PATTERN is for names ('*.ts'), or with a '/' in it for whole paths ('*/src/*.ts'): '*' any\n"
    "bytes, '?' one, '[a-z]' one of a set, '[!a-z]' one that is not in it.",
    find_options,
    run_find,
    false,
};
