/* SPDX-License-Identifier: Apache-2.0 */
/* Files by commands, for providers without functions for them: any bytes, since they go through
 * stdin and stdout alone and never through a command line. */
#include "core/call_private.h"
#include "core/exec_private.h"
#include "core/file_private.h"
#include "core/util/num.h"
#include "core/util/str.h"
#include "core/util/utf8.h"

#include <alineo/exec.h>

enum {
    LOOK_MS = 100, /* how often the caller's call is looked at */
    ERRORS_SIZE_MAX = 4096,
    EXIT_IS_A_DIRECTORY = 81,
    EXIT_NOT_REGULAR = 82,
    EXIT_NOT_A_DIRECTORY = 83
};

/* Arguments: path, octal mode or "", "y" for parents. Shells do not tell a missing folder from a
 * file in its place, so that is looked at first. Prints the size that the file has then. */
static const char write_script[] =
    "umask 022\n"
    "[ ! -d \"$1\" ] || exit 81\n"
    "[ ! -e \"$1\" ] || [ -f \"$1\" ] || exit 82\n"
    "above=${1%/*}\n"
    "while [ -n \"$above\" ] && [ ! -e \"$above\" ]; do above=${above%/*}; done\n"
    "[ -z \"$above\" ] || [ -d \"$above\" ] || exit 83\n"
    "[ \"$3\" != y ] || [ -z \"${1%/*}\" ] || mkdir -p \"${1%/*}\" || exit\n"
    "cat >\"$1\" || exit\n"
    "[ -z \"$2\" ] || chmod \"$2\" \"$1\" || exit\n"
    "stat -c %s \"$1\" 2>/dev/null || :\n";

static const char read_script[] = "[ ! -d \"$1\" ] || exit 81\n"
                                  "[ ! -e \"$1\" ] || [ -f \"$1\" ] || exit 82\n"
                                  "exec cat \"$1\"\n";

/* A command that runs, and what came of it so far. */
typedef struct command {
    const al_file_job *job;
    alineo_exec *exec;
    uint64_t skip; /* bytes of stdout to be left out */
    uint64_t room; /* bytes of stdout that are taken after that */
    al_buf *out;
    al_buf errors;
} command;

static void command_end(command *self) {
    alineo_exec_free(self->exec);
    al_buf_free(&self->errors);
}
AL_CLEANUP_INSIDE(command, command_end);

static alineo_code start(command *self, const char *const *argv, const void *data, size_t size,
                         alineo_error **err) {
    /* Messages of programs are understood in the C locale. */
    static const char *const env[] = {"LC_ALL", "C", NULL};
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.argv = argv;
    options.env = env;
    options.strict = ALINEO_NO;
    options.call = self->job->call;
    if (data != NULL) {
        options.stdin_kind = ALINEO_STDIN_BYTES;
        options.stdin_data = data;
        options.stdin_size = size;
    }
    return al_exec_open(self->job->sandbox, NULL, &options, false, &self->exec, err);
}

/* --- what it gives ---------------------------------------------------------------------------- */

static alineo_code take_output(command *self, const char *data, size_t size, alineo_error **err) {
    if (self->skip >= size) {
        self->skip -= size;
        return ALINEO_OK;
    }
    data += self->skip;
    size -= (size_t)self->skip;
    self->skip = 0;
    if (size > self->room)
        return al_file_too_large(self->job, err);
    self->room -= size;
    al_buf_append(self->out, data, size);
    return self->out->error == 0 ? ALINEO_OK : al_fail_memory(err);
}

static void take_errors(command *self, const void *data, size_t size) {
    size_t room = ERRORS_SIZE_MAX - self->errors.size;
    al_buf_append(&self->errors, data, size < room ? size : room);
}

/* Until its end is known: *result is set then. */
static alineo_code run(command *self, const alineo_exec_result **result, alineo_error **err) {
    for (;;) {
        alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
        alineo_code code = al_call_check(self->job->call, "run a command for it", err);
        if (code == ALINEO_OK)
            code = alineo_exec_next(self->exec, LOOK_MS, &event, err);
        if (code == ALINEO_OK && event.type == ALINEO_EXEC_STDOUT)
            code = take_output(self, event.data, event.data_size, err);
        if (code != ALINEO_OK)
            return code;
        if (event.type == ALINEO_EXEC_STDERR)
            take_errors(self, event.data, event.data_size);
        if (event.type == ALINEO_EXEC_EXIT) {
            *result = event.result;
            return ALINEO_OK;
        }
    }
}

/* --- what it means ---------------------------------------------------------------------------- */

/* What programs say of an errno, in the C locale. */
static alineo_code code_of_text(const char *text) {
    static const struct {
        const char *text;
        alineo_code code;
    } meanings[] = {
        {"No space left on device", ALINEO_NO_SPACE},
        {"Disk quota exceeded", ALINEO_NO_SPACE},
        {"Permission denied", ALINEO_PERMISSION_DENIED},
        {"Operation not permitted", ALINEO_PERMISSION_DENIED},
        {"Read-only file system", ALINEO_PERMISSION_DENIED},
        {"Is a directory", ALINEO_IS_A_DIRECTORY},
        {"Not a directory", ALINEO_NOT_A_DIRECTORY},
        {"File exists", ALINEO_NOT_A_DIRECTORY}, /* of mkdir -p: something else is in the way */
        {"No such file", ALINEO_FILE_NOT_FOUND},
        {"nonexistent", ALINEO_FILE_NOT_FOUND},
        {"File too large", ALINEO_TOO_LARGE},
        {"File name too long", ALINEO_INVALID_ARGUMENT},
    };
    for (size_t i = 0; i < AL_COUNT(meanings); i++)
        if (strstr(text, meanings[i].text) != NULL)
            return meanings[i].code;
    return ALINEO_IO;
}

/* The first line of what it said, fit for a message. */
static void first_line(al_buf *errors) {
    al_buf_truncate(errors, strcspn(al_buf_str(errors), "\n"));
    al_buf_truncate(errors, al_utf8_valid_size(errors->data, errors->size));
}

static alineo_code judge(command *self, const alineo_exec_result *result, alineo_error **err) {
    if (result->outcome == ALINEO_OUTCOME_LOST)
        return al_fail(err, ALINEO_EXEC_LOST, NULL, "the link to the command broke");
    if (result->outcome != ALINEO_OUTCOME_EXITED)
        return al_fail(err, ALINEO_IO, NULL, "the command was ended (exit code %d)",
                       (int)result->exit_code);
    switch (result->exit_code) {
    case 0:
        return ALINEO_OK;
    case EXIT_IS_A_DIRECTORY:
        return al_fail(err, ALINEO_IS_A_DIRECTORY, NULL, "it is a folder");
    case EXIT_NOT_REGULAR:
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "it is no regular file");
    case EXIT_NOT_A_DIRECTORY:
        return al_fail(err, ALINEO_NOT_A_DIRECTORY, NULL, "a part of the path is no folder");
    default:
        break;
    }
    first_line(&self->errors);
    return al_fail(err, code_of_text(al_buf_str(&self->errors)), NULL,
                   "the command ended with exit code %d: %s", (int)result->exit_code,
                   al_buf_str(&self->errors));
}

static alineo_code finish(command *self, const char *const *argv, const void *data, size_t size,
                          alineo_error **err) {
    const alineo_exec_result *result = NULL;
    alineo_code code = start(self, argv, data, size, err);
    if (code == ALINEO_OK)
        code = run(self, &result, err);
    return code == ALINEO_OK ? judge(self, result, err) : code;
}

/* --- the two ---------------------------------------------------------------------------------- */

/* All arrived, as far as the sandbox can tell. */
static alineo_code check_size(const char *told, size_t size, alineo_error **err) {
    al_autofree char *line = al_strndup(told, strcspn(told, "\n"));
    if (line == NULL)
        return al_fail_memory(err);
    uint64_t there = 0;
    if (al_parse_uint64(line, &there) != 0 || there == size)
        return ALINEO_OK;
    return al_fail(err, ALINEO_IO, NULL, "%zu bytes were sent and %llu are in it", size,
                   (unsigned long long)there);
}

alineo_code al_file_exec_write(const al_file_job *job, const void *data, size_t size,
                               alineo_error **err) {
    char mode[16] = "";
    if (job->mode != 0)
        (void)snprintf(mode, sizeof(mode), "%o", job->mode);
    const char *const argv[] = {
        "sh", "-c", write_script, "alineo", job->path, mode, job->parents ? "y" : "", NULL};
    al_auto(al_buf_free) al_buf told = AL_BUF_INIT;
    al_auto(command_end) command self = {.job = job, .room = 64, .out = &told};
    alineo_code code = finish(&self, argv, data != NULL ? data : "", size, err);
    return code == ALINEO_OK ? check_size(al_buf_str(&told), size, err) : code;
}

alineo_code al_file_exec_read(const al_file_job *job, al_buf *out, alineo_error **err) {
    const char *const argv[] = {"sh", "-c", read_script, "alineo", job->path, NULL};
    al_auto(command_end)
        command self = {.job = job, .skip = job->offset, .room = job->max_bytes, .out = out};
    return finish(&self, argv, NULL, 0, err);
}
