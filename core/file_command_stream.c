/* SPDX-License-Identifier: Apache-2.0 */
/* Contents of files through the streams of a command. It says a line once the file is open; what
 * fails before that fails the opening. */
#include "core/file_command.h"

#include "core/call_private.h"
#include "core/util/buf.h"
#include "core/util/num.h"
#include "core/util/str.h"

#include <stdio.h>
#include <string.h>

enum {
    PIECE_SIZE = 1 << 20, /* handed over between two looks at the call */
    WAIT_MS = 100,
    LINE_MAX = 64
};

/* $1 path, $2 where to begin, $3 the same counted from 1. "at N": what follows begins at N. */
static const char read_script[] =
    AL_FILE_SCRIPT_WHY "[ -d \"$1\" ] && exit 103\n"
                       "[ -f \"$1\" ] || ! [ -e \"$1\" ] || exit 105\n"
                       "o=\n"
                       "{\n"
                       "  o=1\n"
                       "  if [ \"$2\" != 0 ] && command -v tail >/dev/null 2>&1; then\n"
                       "    echo \"at $2\" && tail -c \"+$3\"\n"
                       "  else\n"
                       "    echo 'at 0' && cat\n"
                       "  fi\n"
                       "} <\"$1\" && exit\n"
                       "[ -z \"$o\" ] || exit 90\n"
                       "why \"$1\"\n";

/* $1 path, $2 the folder to make above it or "", $3 mode or "", $4 "a", "x" or "". A mode is set
 * before there is anything to see, and again when writing has taken special bits away. At the end
 * it says how large the file is, unless it appended. */
static const char write_script[] = AL_FILE_SCRIPT_WHY AL_FILE_SCRIPT_ABOVE
    "[ -d \"$1\" ] && exit 103\n"
    "[ -f \"$1\" ] || ! [ -e \"$1\" ] || exit 105\n"
    "umask 022\n"
    "above \"$2\" \"$1\"\n"
    "[ -z \"$3\" ] || umask 077\n"
    "o=\n"
    "fill() {\n"
    "  o=1\n"
    "  { [ -z \"$3\" ] || chmod \"$3\" \"$1\"; } && echo 'at 0' >&3 && cat || return 1\n"
    "  case $3 in 0[1-7]*) chmod \"$3\" \"$1\" ;; esac || return 1\n"
    "  [ \"$4\" = a ] || stat -L -c %s \"$1\" >&3\n"
    "}\n"
    "case $4 in\n"
    "x) set -C; { fill \"$@\"; } 3>&1 >\"$1\" ;;\n"
    "a) { fill \"$@\"; } 3>&1 >>\"$1\" ;;\n"
    "*) { fill \"$@\"; } 3>&1 >\"$1\" ;;\n"
    "esac && exit\n"
    "[ -z \"$o\" ] || exit 90\n"
    "why \"$1\"\n";

typedef struct command_file {
    al_open_file base;
    al_file_command command;
    uint64_t skip;    /* reading: bytes that come before those that are wanted */
    uint64_t written; /* bytes handed over */
    bool appends;
} command_file;

static command_file *of(al_open_file *file) {
    return AL_CONTAINER(file, command_file, base);
}

/* --- opening ---------------------------------------------------------------------------------- */

/* Waits for a line that holds a number behind `prefix`. */
static alineo_code await_line(al_file_command *command, const char *prefix, uint64_t *number,
                              alineo_error **err) {
    char line[LINE_MAX];
    for (size_t size = 0; size < sizeof(line); size++) {
        alineo_code code = al_file_command_next(command, err);
        if (code == ALINEO_OK && command->ended && command->size == 0)
            code = al_file_command_outcome(command, err);
        if (code != ALINEO_OK)
            return code;
        if (command->size == 0)
            break;
        line[size] = *command->data++;
        command->size--;
        if (line[size] != '\n')
            continue;
        line[size] = '\0';
        const char *text = al_str_after(line, prefix);
        if (text != NULL && al_parse_uint64(text, number) == 0)
            return ALINEO_OK;
        break;
    }
    return al_fail(err, ALINEO_IO, NULL, "the command in the sandbox said something unexpected");
}

static alineo_code start_reading(const al_file_job *job, command_file *file, alineo_error **err) {
    char from_0[24];
    char from_1[24];
    uint64_t offset = job->request.offset;
    (void)snprintf(from_0, sizeof(from_0), "%llu", (unsigned long long)offset);
    (void)snprintf(from_1, sizeof(from_1), "%llu", (unsigned long long)offset + 1);
    const char *const argv[] = {"sh",   "-c",   read_script, "sh", job->request.path,
                                from_0, from_1, NULL};
    uint64_t at = 0;
    alineo_code code = al_file_command_start(job, argv, false, &file->command, err);
    if (code == ALINEO_OK)
        code = await_line(&file->command, "at ", &at, err);
    file->base.bytes = UINT64_MAX;
    file->skip = at < offset ? offset - at : 0;
    return code;
}

static alineo_code start_writing(const al_file_job *job, command_file *file, alineo_error **err) {
    char mode[8] = "";
    uint32_t flags = job->request.flags;
    /* What must be new has nothing to be appended to. */
    const char *how = (flags & ALINEO_FILE_EXCLUSIVE) != 0 ? "x"
                      : (flags & ALINEO_FILE_APPEND) != 0  ? "a"
                                                           : "";
    file->appends = how[0] == 'a';
    if ((flags & ALINEO_FILE_MODE) != 0)
        (void)snprintf(mode, sizeof(mode), "%05o", job->request.mode & 07777);
    al_autofree char *above = al_file_command_above(job, job->request.path);
    if (above == NULL)
        return al_fail_memory(err);
    const char *const argv[] = {"sh",  "-c", write_script, "sh", job->request.path,
                                above, mode, how,          NULL};
    uint64_t at = 0;
    alineo_code code = al_file_command_start(job, argv, true, &file->command, err);
    return code == ALINEO_OK ? await_line(&file->command, "at ", &at, err) : code;
}

alineo_code al_file_command_open(const al_file_job *job, bool writing, al_open_file **out,
                                 alineo_error **err) {
    command_file *file = calloc(1, sizeof(*file));
    if (file == NULL)
        return al_fail_memory(err);
    file->base =
        (al_open_file){.way = job->way, .sandbox = job->sandbox, .call = job->request.call};
    alineo_code code = writing ? start_writing(job, file, err) : start_reading(job, file, err);
    if (code != ALINEO_OK) {
        al_file_command_close(&file->base);
        return code;
    }
    *out = &file->base;
    return ALINEO_OK;
}

void al_file_command_close(al_open_file *file) {
    command_file *self = of(file);
    al_file_command_end(&self->command);
    free(self);
}

/* --- reading ---------------------------------------------------------------------------------- */

static size_t take(al_file_command *command, void *buffer, size_t capacity) {
    size_t size = command->size < capacity ? command->size : capacity;
    if (buffer != NULL)
        memcpy(buffer, command->data, size);
    command->data += size;
    command->size -= size;
    return size;
}

alineo_code al_file_command_read(al_open_file *file, void *buffer, size_t capacity, size_t *used,
                                 alineo_error **err) {
    command_file *self = of(file);
    al_file_command *command = &self->command;
    *used = 0;
    for (;;) {
        alineo_code code = al_file_command_next(command, err);
        if (code != ALINEO_OK)
            return code;
        if (command->size == 0)
            return al_file_command_outcome(command, err);
        if (self->skip == 0)
            break;
        size_t most = self->skip < SIZE_MAX ? (size_t)self->skip : SIZE_MAX;
        self->skip -= take(command, NULL, most);
    }
    *used = take(command, buffer, capacity);
    return ALINEO_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Waits for the end of the command, which says why it does not read any more. */
static alineo_code await_end(al_file_command *command, alineo_error **err) {
    while (!command->ended) {
        command->size = 0;
        alineo_code code = al_file_command_next(command, err);
        if (code != ALINEO_OK)
            return code;
    }
    return al_file_command_outcome(command, err);
}

static alineo_code stopped_reading(al_file_command *command, alineo_error **err) {
    alineo_code code = await_end(command, err);
    return code != ALINEO_OK ? code
                             : al_fail(err, ALINEO_IO, NULL,
                                       "the command in the sandbox ended before all was written");
}

alineo_code al_file_command_write(al_open_file *file, const void *data, size_t size,
                                  alineo_error **err) {
    command_file *self = of(file);
    al_file_command *command = &self->command;
    for (size_t done = 0; done < size;) {
        alineo_code code = al_call_check(file->call, "write", err);
        if (code != ALINEO_OK)
            return code;
        size_t piece = size - done < PIECE_SIZE ? size - done : PIECE_SIZE;
        size_t written = 0;
        alineo_error *failure = NULL;
        code = alineo_exec_write_stdin(command->exec, (const char *)data + done, piece, WAIT_MS,
                                       &written, &failure);
        done += written;
        self->written += written;
        if (code == ALINEO_IO) {
            alineo_error_free(failure);
            return stopped_reading(command, err);
        }
        if (code != ALINEO_OK && code != ALINEO_TIMEOUT)
            return al_error_give(&failure, err);
        alineo_error_free(failure);
    }
    return ALINEO_OK;
}

/* All arrived, as far as the sandbox can tell. */
static alineo_code check_size(command_file *self, alineo_error **err) {
    uint64_t size = 0;
    alineo_code code = await_line(&self->command, "", &size, err);
    if (code != ALINEO_OK || size == self->written)
        return code;
    return al_fail(err, ALINEO_IO, "see who else writes to it",
                   "%llu bytes were written and %llu are in it", (unsigned long long)self->written,
                   (unsigned long long)size);
}

alineo_code al_file_command_finish(al_open_file *file, alineo_error **err) {
    command_file *self = of(file);
    alineo_code code = alineo_exec_close_stdin(self->command.exec, err);
    if (code == ALINEO_OK && !self->appends)
        code = check_size(self, err);
    return code == ALINEO_OK ? await_end(&self->command, err) : code;
}
