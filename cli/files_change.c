/* SPDX-License-Identifier: Apache-2.0 */
/* alineo files mkdir, rm, mv, ln, chmod, chown. */
#include "cli/files.h"

#include "core/util/cleanup.h"
#include "core/util/str.h"

#include <stdio.h>
#include <string.h>

typedef struct change {
    const cli_command *command;
    alineo_file_change_options options;
    bool folders; /* rm: with all that is in them */
    uint32_t mode;
    const char *owner;
    const char *group;
    const char *target;
} change;

static bool take(void *user, const cli_option *option, const char *value) {
    change *self = user;
    if (strcmp(option->name, "no-parents") == 0)
        self->options.parents = ALINEO_NO;
    else if (strcmp(option->name, "recursive") == 0)
        self->folders = true;
    else if (strcmp(option->name, "replace") == 0)
        self->options.replace = ALINEO_YES;
    else if (!cli_parse_mode(value, &self->options.mode) || self->options.mode == 0) {
        cli_usage_error(self->command, "'%s' is no mode like 0755", value);
        return false;
    }
    return true;
}

/* Reads the options, and sees that there are at least so many words. Gives the first word, or -1.
 * */
static int begin(change *self, const cli_command *command, cli_context *context, int argc,
                 char **argv, int words, const char *wanted, int *exit_code) {
    *self =
        (change){.command = command, .options = ALINEO_FILE_CHANGE_OPTIONS_INIT, .folders = false};
    int first = cli_parse(command, context, argc, argv, take, self, exit_code);
    if (first >= 0 && argc - first < words) {
        *exit_code = cli_usage_error(command, "%s needed", wanted);
        return -1;
    }
    return first;
}

static const cli_option none[] = {{NULL, 0, NULL, NULL}};

/* --- mkdir ------------------------------------------------------------------------------------ */

static bool make_folder(cli_places *places, alineo_sandbox *sandbox, const char *path, void *user) {
    change *self = user;
    alineo_error *err = NULL;
    self->options.call = places->call;
    return cli_done(places, alineo_file_mkdir(sandbox, path, &self->options, &err), err);
}

static int run_mkdir(cli_context *context, int argc, char **argv) {
    change self;
    int exit_code = CLI_EXIT_OK;
    int first =
        begin(&self, &cli_files_mkdir_command, context, argc, argv, 1, "a folder is", &exit_code);
    return first < 0 ? exit_code
                     : cli_for_places(context, argc - first, argv + first, make_folder, &self);
}

static const cli_option mkdir_options[] = {
    {"mode", 'm', "MODE", "of the folder, in octal; default 0755"},
    {"no-parents", 0, NULL, "make this one alone, and fail when it is there"},
    {NULL, 0, NULL, NULL},
};

const cli_command cli_files_mkdir_command = {
    "files mkdir",
    "SANDBOX:/FOLDER ...",
    "Make folders and those above them; what is there is fine.",
    NULL,
    mkdir_options,
    run_mkdir,
    false,
};

/* --- rm --------------------------------------------------------------------------------------- */

static bool remove_one(cli_places *places, alineo_sandbox *sandbox, const char *path, void *user) {
    change *self = user;
    alineo_error *err = NULL;
    self->options.call = places->call;
    alineo_code code = alineo_file_remove(sandbox, path, &self->options, &err);
    if (code == ALINEO_IS_A_DIRECTORY && self->folders) {
        alineo_error_free(err);
        err = NULL;
        code = alineo_file_rmdir(sandbox, path, &self->options, &err);
    }
    return cli_done(places, code, err);
}

static int run_rm(cli_context *context, int argc, char **argv) {
    change self;
    int exit_code = CLI_EXIT_OK;
    int first =
        begin(&self, &cli_files_rm_command, context, argc, argv, 1, "a file is", &exit_code);
    return first < 0 ? exit_code
                     : cli_for_places(context, argc - first, argv + first, remove_one, &self);
}

static const cli_option rm_options[] = {
    {"recursive", 'r', NULL, "folders too, with all that is in them"},
    {NULL, 0, NULL, NULL},
};

const cli_command cli_files_rm_command = {
    "files rm", "SANDBOX:/PATH ...", "Remove files and links.", NULL, rm_options, run_rm, false,
};

/* --- mv --------------------------------------------------------------------------------------- */

static bool move_one(cli_places *places, alineo_sandbox *sandbox, const char *path, void *user) {
    change *self = user;
    alineo_error *err = NULL;
    alineo_sandbox *other = sandbox;
    const char *target = self->target;
    if (target[0] != '/' && !cli_place_find(places, target, &other, &target))
        return false;
    if (other != sandbox) {
        fputs("alineo: a file is moved within a sandbox; 'alineo cp' copies between them\n",
              stderr);
        return false;
    }
    self->options.call = places->call;
    return cli_done(places, alineo_file_move(sandbox, path, target, &self->options, &err), err);
}

static int run_mv(cli_context *context, int argc, char **argv) {
    change self;
    int exit_code = CLI_EXIT_OK;
    int first = begin(&self, &cli_files_mv_command, context, argc, argv, 2,
                      "a file and its new name are", &exit_code);
    if (first < 0)
        return exit_code;
    if (argc - first != 2)
        return cli_usage_error(&cli_files_mv_command, "there is more than a file and a name");
    self.target = argv[first + 1];
    return cli_for_places(context, 1, argv + first, move_one, &self);
}

static const cli_option mv_options[] = {
    {"replace", 'f', NULL, "take the place of what is there"},
    {"no-parents", 0, NULL, "do not make missing folders"},
    {NULL, 0, NULL, NULL},
};

const cli_command cli_files_mv_command = {
    "files mv",
    "SANDBOX:/PATH [SANDBOX:]/NEW-PATH",
    "Move or rename a file, link or folder.",
    "NEW-PATH is the new name itself, never a folder to move into.",
    mv_options,
    run_mv,
    false,
};

/* --- ln --------------------------------------------------------------------------------------- */

static bool link_one(cli_places *places, alineo_sandbox *sandbox, const char *path, void *user) {
    change *self = user;
    alineo_error *err = NULL;
    self->options.call = places->call;
    return cli_done(places, alineo_file_symlink(sandbox, path, self->target, &self->options, &err),
                    err);
}

static int run_ln(cli_context *context, int argc, char **argv) {
    change self;
    int exit_code = CLI_EXIT_OK;
    int first = begin(&self, &cli_files_ln_command, context, argc, argv, 2,
                      "what the link leads to, and its name are", &exit_code);
    if (first < 0)
        return exit_code;
    self.target = argv[first];
    return cli_for_places(context, argc - first - 1, argv + first + 1, link_one, &self);
}

static const cli_option ln_options[] = {
    {"no-parents", 0, NULL, "do not make missing folders"},
    {NULL, 0, NULL, NULL},
};

const cli_command cli_files_ln_command = {
    "files ln",
    "TEXT SANDBOX:/PATH ...",
    "Make symbolic links that hold TEXT.",
    NULL,
    ln_options,
    run_ln,
    false,
};

/* --- chmod, chown ----------------------------------------------------------------------------- */

static bool chmod_one(cli_places *places, alineo_sandbox *sandbox, const char *path, void *user) {
    change *self = user;
    alineo_error *err = NULL;
    self->options.call = places->call;
    return cli_done(places, alineo_file_chmod(sandbox, path, self->mode, &self->options, &err),
                    err);
}

static int run_chmod(cli_context *context, int argc, char **argv) {
    change self;
    int exit_code = CLI_EXIT_OK;
    int first = begin(&self, &cli_files_chmod_command, context, argc, argv, 2,
                      "a mode and a file are", &exit_code);
    if (first < 0)
        return exit_code;
    if (!cli_parse_mode(argv[first], &self.mode))
        return cli_usage_error(&cli_files_chmod_command, "'%s' is no mode like 0644", argv[first]);
    return cli_for_places(context, argc - first - 1, argv + first + 1, chmod_one, &self);
}

const cli_command cli_files_chmod_command = {
    "files chmod", "MODE SANDBOX:/PATH ...", "Set modes, in octal.", NULL, none, run_chmod, false,
};

static bool chown_one(cli_places *places, alineo_sandbox *sandbox, const char *path, void *user) {
    change *self = user;
    alineo_error *err = NULL;
    self->options.call = places->call;
    return cli_done(
        places, alineo_file_chown(sandbox, path, self->owner, self->group, &self->options, &err),
        err);
}

static int run_chown(cli_context *context, int argc, char **argv) {
    change self;
    int exit_code = CLI_EXIT_OK;
    int first = begin(&self, &cli_files_chown_command, context, argc, argv, 2,
                      "an owner and a file are", &exit_code);
    if (first < 0)
        return exit_code;
    const char *colon = strchr(argv[first], ':');
    al_autofree char *owner =
        al_strndup(argv[first], colon != NULL ? (size_t)(colon - argv[first]) : SIZE_MAX);
    self.owner = owner != NULL && owner[0] != '\0' ? owner : NULL;
    self.group = colon != NULL && colon[1] != '\0' ? colon + 1 : NULL;
    return cli_for_places(context, argc - first - 1, argv + first + 1, chown_one, &self);
}

const cli_command cli_files_chown_command = {
    "files chown",
    "[OWNER][:GROUP] SANDBOX:/PATH ...",
    "Set owners and groups.",
    NULL,
    none,
    run_chown,
    false,
};
