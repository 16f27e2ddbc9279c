/* SPDX-License-Identifier: Apache-2.0 */
/* alineo files: finds the command for files of sandboxes and hands over. */
#include "cli/files.h"

#include "core/util/compiler.h"
#include "core/util/str.h"

#include <stdio.h>
#include <string.h>

static const cli_command *const commands[] = {
    &cli_files_ls_command,    &cli_files_stat_command,  &cli_files_find_command,
    &cli_files_cat_command,   &cli_files_write_command, &cli_files_mkdir_command,
    &cli_files_rm_command,    &cli_files_mv_command,    &cli_files_ln_command,
    &cli_files_chmod_command, &cli_files_chown_command, &cli_files_replace_command,
};
static const size_t name_begin = sizeof("files ") - 1;

static const cli_option options[] = {{NULL, 0, NULL, NULL}};

static bool no_options(void *user, const cli_option *option, const char *value) {
    (void)user, (void)option, (void)value;
    return false;
}

static int unknown_command(const char *name) {
    const char *names[AL_COUNT(commands)];
    for (size_t i = 0; i < AL_COUNT(commands); i++)
        names[i] = commands[i]->name + name_begin;
    const char *nearest = al_str_nearest(name, names, AL_COUNT(commands));
    return cli_usage_error(&cli_files_command, "there is no command 'files %s'%s%s%s", name,
                           nearest != NULL ? "; did you mean '" : "",
                           nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
}

static int run_command(cli_context *context, int argc, char **argv) {
    int exit_code = CLI_EXIT_OK;
    int first = cli_parse(&cli_files_command, context, argc, argv, no_options, NULL, &exit_code);
    if (first < 0)
        return exit_code;
    if (first >= argc)
        return cli_usage_error(&cli_files_command, "a command is missing");
    for (size_t i = 0; i < AL_COUNT(commands); i++)
        if (strcmp(commands[i]->name + name_begin, argv[first]) == 0)
            return commands[i]->run(context, argc - first, argv + first);
    return unknown_command(argv[first]);
}

const cli_command cli_files_command = {
    "files",
    "COMMAND ...",
    "List, find, read, write and change files of sandboxes.",
    "commands:\n"
    "  ls        list a folder\n"
    "  stat      tell all about a file\n"
    "  find      find files by a pattern\n"
    "  cat       print files\n"
    "  write     write a file from stdin\n"
    "  mkdir     make folders\n"
    "  rm        remove files and folders\n"
    "  mv        move or rename\n"
    "  ln        make a symbolic link\n"
    "  chmod     set modes\n"
    "  chown     set owners\n"
    "  replace   replace text in files\n\n"
    "Files are named as SANDBOX:/PATH; SANDBOX is an id or a name. Copies: 'alineo cp'.\n"
    "Each command has its own help: alineo files COMMAND --help",
    options,
    run_command,
    true,
};

bool cli_done(const cli_places *places, alineo_code code, alineo_error *err) {
    if (code != ALINEO_OK)
        (void)cli_place_failed(places, err);
    return code == ALINEO_OK;
}

int cli_for_places(const cli_context *context, int count, char **words, cli_place_fn *act,
                   void *user) {
    cli_places places;
    int exit_code = CLI_EXIT_FAILED;
    if (cli_places_open(&places, context)) {
        exit_code = CLI_EXIT_OK;
        for (int i = 0; i < count && alineo_call_cancelled(places.call) == 0; i++) {
            alineo_sandbox *sandbox;
            const char *path;
            if (!cli_place_find(&places, words[i], &sandbox, &path) ||
                !act(&places, sandbox, path, user))
                exit_code = CLI_EXIT_FAILED;
        }
    }
    return cli_places_close(&places, exit_code);
}
