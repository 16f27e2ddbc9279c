/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CLI_FILES_H
#define ALINEO_CLI_FILES_H

/* The commands below `alineo files`. */

#include "cli/place.h"

extern const cli_command cli_files_ls_command;
extern const cli_command cli_files_stat_command;
extern const cli_command cli_files_find_command;
extern const cli_command cli_files_cat_command;
extern const cli_command cli_files_write_command;
extern const cli_command cli_files_mkdir_command;
extern const cli_command cli_files_rm_command;
extern const cli_command cli_files_mv_command;
extern const cli_command cli_files_ln_command;
extern const cli_command cli_files_chmod_command;
extern const cli_command cli_files_chown_command;
extern const cli_command cli_files_replace_command;

/* What a command does to each of the places it is given; false after a message. */
typedef bool cli_place_fn(cli_places *places, alineo_sandbox *sandbox, const char *path,
                          void *user);

/* Does it to each, goes on after a failure; gives the exit code. */
int cli_for_places(const cli_context *context, int count, char **words, cli_place_fn *act,
                   void *user);

/* False after printing the error; for `return cli_done(places, code, err)`. */
bool cli_done(const cli_places *places, alineo_code code, alineo_error *err);

#endif
