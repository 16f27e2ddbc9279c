/* SPDX-License-Identifier: Apache-2.0 */
/* alineo cp: copies between this machine and sandboxes, as cp does it. */
#include "cli/place.h"

#include "core/util/cleanup.h"
#include "core/util/path.h"
#include "core/util/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct cp {
    cli_places places;
    bool keeps; /* what is there */
} cp;

static const cli_option options[] = {
    {"no-clobber", 'n', NULL, "fail rather than take the place of a file that is there"},
    {NULL, 0, NULL, NULL},
};

static bool take(void *user, const cli_option *option, const char *value) {
    (void)option, (void)value;
    ((cp *)user)->keeps = true;
    return true;
}

static alineo_file_copy_options copy_options(const cp *self) {
    alineo_file_copy_options how = ALINEO_FILE_COPY_OPTIONS_INIT;
    how.replace = self->keeps ? ALINEO_NO : ALINEO_YES;
    how.call = self->places.call;
    return how;
}

/* --- where it goes ------------------------------------------------------------------------------
 * Into a folder that is there, under the name that it has, as people know it from cp. */

static int32_t see_nothing(void *user, const alineo_file_info *info) {
    (void)user, (void)info;
    return 1;
}

static bool is_folder_in(const cp *self, alineo_sandbox *sandbox, const char *path) {
    alineo_file_list_options how = ALINEO_FILE_LIST_OPTIONS_INIT;
    how.call = self->places.call;
    return alineo_file_list(sandbox, path, &how, see_nothing, NULL, NULL) == ALINEO_OK;
}

static bool is_folder_here(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The name at the end of a path; "" where there is none to keep, as in "." and "/". */
static char *name_of(const char *path) {
    size_t size = strlen(path);
    while (size > 0 && path[size - 1] == '/')
        size--;
    size_t begin = size;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    char *name = al_strndup(path + begin, size - begin);
    if (name != NULL && (strcmp(name, ".") == 0 || strcmp(name, "..") == 0))
        name[0] = '\0';
    return name;
}

/* `folder` tells whether the target is one. */
static char *target_of(const char *target, bool folder, const char *source) {
    size_t size = strlen(target);
    if (!folder && target[size - 1] != '/')
        return al_strdup(target);
    al_autofree char *name = name_of(source);
    return name != NULL ? al_path_join(target, name) : NULL;
}

/* --- copying ---------------------------------------------------------------------------------- */

static int report(const cp *self, const alineo_file_copy_result *result) {
    if (self->places.context->json) {
        cli_json_line line;
        cli_json_begin(&line);
        al_json_put_uint(&line.writer, "files", result->files);
        al_json_put_uint(&line.writer, "folders", result->folders);
        al_json_put_uint(&line.writer, "links", result->links);
        al_json_put_uint(&line.writer, "skipped", result->skipped);
        al_json_put_uint(&line.writer, "bytes", result->bytes);
        cli_json_end(&line, stdout);
    } else if (result->skipped > 0) {
        fprintf(stderr, "alineo: passed over %llu that are neither files, folders nor links\n",
                (unsigned long long)result->skipped);
    }
    return CLI_EXIT_OK;
}

static int fail_memory(void) {
    fputs("alineo: out of memory\n", stderr);
    return CLI_EXIT_FAILED;
}

static int upload(cp *self, const char *source, alineo_sandbox *sandbox, const char *path) {
    al_autofree char *target = target_of(path, is_folder_in(self, sandbox, path), source);
    if (target == NULL)
        return fail_memory();
    alineo_error *err = NULL;
    alineo_file_copy_options how = copy_options(self);
    alineo_file_copy_result result = ALINEO_FILE_COPY_RESULT_INIT;
    if (alineo_file_upload(sandbox, source, target, &how, &result, &err) != ALINEO_OK)
        return cli_place_failed(&self->places, err);
    return report(self, &result);
}

static int download(cp *self, alineo_sandbox *sandbox, const char *path, const char *given) {
    al_autofree char *target = target_of(given, is_folder_here(given), path);
    if (target == NULL)
        return fail_memory();
    alineo_error *err = NULL;
    alineo_file_copy_options how = copy_options(self);
    alineo_file_copy_result result = ALINEO_FILE_COPY_RESULT_INIT;
    if (alineo_file_download(sandbox, path, target, &how, &result, &err) != ALINEO_OK)
        return cli_place_failed(&self->places, err);
    return report(self, &result);
}

static int transfer(cp *self, alineo_sandbox *from, const char *path, alineo_sandbox *to,
                    const char *given) {
    al_autofree char *target = target_of(given, is_folder_in(self, to, given), path);
    if (target == NULL)
        return fail_memory();
    alineo_error *err = NULL;
    alineo_file_copy_options how = copy_options(self);
    alineo_file_copy_result result = ALINEO_FILE_COPY_RESULT_INIT;
    if (alineo_file_transfer(from, path, to, target, &how, &result, &err) != ALINEO_OK)
        return cli_place_failed(&self->places, err);
    return report(self, &result);
}

/* --- streams ---------------------------------------------------------------------------------- */

static int read_to_stdout(cp *self, alineo_sandbox *sandbox, const char *path) {
    alineo_file_options how = ALINEO_FILE_OPTIONS_INIT;
    how.call = self->places.call;
    return cli_file_to_stdout(&self->places, sandbox, path, &how) ? CLI_EXIT_OK : CLI_EXIT_FAILED;
}

static int write_from_stdin(cp *self, alineo_sandbox *sandbox, const char *path) {
    alineo_file_options how = ALINEO_FILE_OPTIONS_INIT;
    how.exclusive = self->keeps ? ALINEO_YES : ALINEO_NO;
    how.call = self->places.call;
    return cli_file_from_stdin(&self->places, sandbox, path, &how) ? CLI_EXIT_OK : CLI_EXIT_FAILED;
}

/* --- the command ------------------------------------------------------------------------------ */

static int copy_from_sandbox(cp *self, const char *source, const char *target) {
    alineo_sandbox *from;
    alineo_sandbox *to;
    const char *path;
    const char *to_path;
    if (!cli_place_find(&self->places, source, &from, &path))
        return CLI_EXIT_FAILED;
    if (strcmp(target, "-") == 0)
        return read_to_stdout(self, from, path);
    if (!cli_place_is(target))
        return download(self, from, path, target);
    if (!cli_place_find(&self->places, target, &to, &to_path))
        return CLI_EXIT_FAILED;
    return transfer(self, from, path, to, to_path);
}

static int copy(cp *self, const char *source, const char *target) {
    if (cli_place_is(source))
        return copy_from_sandbox(self, source, target);
    alineo_sandbox *to;
    const char *path;
    if (!cli_place_find(&self->places, target, &to, &path))
        return CLI_EXIT_FAILED;
    return strcmp(source, "-") == 0 ? write_from_stdin(self, to, path)
                                    : upload(self, source, to, path);
}

static int run_command(cli_context *context, int argc, char **argv) {
    cp self = {.keeps = false};
    int exit_code = CLI_EXIT_OK;
    int first = cli_parse(&cli_cp_command, context, argc, argv, take, &self, &exit_code);
    if (first < 0)
        return exit_code;
    if (argc - first != 2 || argv[first][0] == '\0' || argv[first + 1][0] == '\0')
        return cli_usage_error(&cli_cp_command, "a source and a target are needed");
    if (!cli_place_is(argv[first]) && !cli_place_is(argv[first + 1]))
        return cli_usage_error(&cli_cp_command, "neither '%s' nor '%s' is a SANDBOX:/PATH",
                               argv[first], argv[first + 1]);
    exit_code = CLI_EXIT_FAILED;
    if (cli_places_open(&self.places, context))
        exit_code = copy(&self, argv[first], argv[first + 1]);
    return cli_places_close(&self.places, exit_code);
}

const cli_command cli_cp_command = {
    "cp",
    "SOURCE TARGET",
    "Copy files and folders into, out of and between sandboxes.",
    "One of them, or both, is SANDBOX:/PATH; the other a path of this machine, or '-' for stdin or\n"
    "stdout. A target that is a folder, or ends in '/', is copied into; 'FOLDER/.' copies what is\n"
    "in a folder. Links in folders are copied as links; owners, times and setuid bits are not.\n"
    "With --json a line tells what was copied.",
    options,
    run_command,
    false,
};
