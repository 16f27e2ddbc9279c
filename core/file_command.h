/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_FILE_COMMAND_H
#define ALINEO_CORE_FILE_COMMAND_H

/**
 * Work on files by commands in the sandbox, for file_command*.c. What they need of a guest is a
 * POSIX sh and a few programs, which GNU and busybox both have. Paths and names are arguments,
 * never part of a script. The commands are not recorded: the ledger, the numbers of the session and
 * the hooks know nothing of them.
 *
 * A script that fails says why by its exit code (AL_FILE_EXIT_*), or leaves it to what the failing
 * program complained of, which is English since it runs with LC_ALL=C.
 */

#include "core/exec_private.h"
#include "core/file_private.h"

enum {
    AL_FILE_EXIT_COMPLAINT = 90, /* see stderr */
    AL_FILE_EXIT_NOT_FOUND = 101,
    AL_FILE_EXIT_NOT_A_DIRECTORY = 102,
    AL_FILE_EXIT_IS_A_DIRECTORY = 103,
    AL_FILE_EXIT_EXISTS = 104,
    AL_FILE_EXIT_NOT_REGULAR = 105,
    AL_FILE_EXIT_CHANGED = 106,
    AL_FILE_COMPLAINT_MAX = 16384
};

/* At the beginning of scripts. `why PATH` ends the script after something failed on a path: a file
 * in the middle of it shows as NOT_A_DIRECTORY, which the complaint of a shell does not. */
#define AL_FILE_SCRIPT_WHY                                                                         \
    "why() {\n"                                                                                    \
    "  d=$1\n"                                                                                     \
    "  while [ -n \"$d\" ] && ! [ -e \"$d\" ] && ! [ -L \"$d\" ]; do d=${d%/*}; done\n"            \
    "  [ \"$d\" != \"$1\" ] && [ -e \"$d\" ] && ! [ -d \"$d\" ] && exit 102\n"                     \
    "  exit 90\n"                                                                                  \
    "}\n"
/* `above FOLDER PATH` makes the folder that PATH is to be in; FOLDER "" = leave it. */
#define AL_FILE_SCRIPT_ABOVE                                                                       \
    "above() {\n"                                                                                  \
    "  [ -z \"$1\" ] || [ -d \"$1\" ] || mkdir -p \"$1\" || why \"$2\"\n"                          \
    "}\n"

/** A running command. */
typedef struct al_file_command {
    alineo_exec *exec;
    alineo_call *call;
    al_buf complaint; /* stderr, as far as it is kept */
    const char *data; /* stdout that was not taken yet; valid until the next call on it */
    size_t size;
    bool ended;
    alineo_exec_result result; /* once ended; `detail` lives as long as exec */
} al_file_command;

/** Starts argv (NULL-terminated). */
alineo_code al_file_command_start(const al_file_job *job, const char *const *argv, bool want_stdin,
                                  al_file_command *command, alineo_error **err);
/** Waits for more of stdout; with `size` 0 afterwards the command has ended. What is there already
 * is left. */
alineo_code al_file_command_next(al_file_command *command, alineo_error **err);
/** After the end: ALINEO_OK for exit code 0, else what went wrong. */
alineo_code al_file_command_outcome(al_file_command *command, alineo_error **err);
/** Ends the command if it still runs. An all-zero one is fine. */
void al_file_command_end(al_file_command *command);
AL_CLEANUP_INSIDE(al_file_command, al_file_command_end);

/** Runs a command to its end; stdout goes to `out` (NULL = dropped), of at most its max_size. */
alineo_code al_file_command_run(const al_file_job *job, const char *const *argv, al_buf *out,
                                alineo_error **err);

/** The folder that the path is in when folders are to be made, else "". NULL without memory. */
char *al_file_command_above(const al_file_job *job, const char *path);

/* --- file_command_code.c: what failed ------------------------------------------------------------
 */

/** The code that a complaint (one line, or several) tells of; ALINEO_OK = it tells nothing. */
alineo_code al_file_complaint_code(const char *text);
/** Of an exit code; ALINEO_OK = it is none of ours. */
alineo_code al_file_exit_code(int32_t exit_code);

/* --- the way, part by part -------------------------------------------------------------------- */

alineo_code al_file_command_open(const al_file_job *job, bool writing, al_open_file **out,
                                 alineo_error **err);
alineo_code al_file_command_read(al_open_file *file, void *buffer, size_t capacity, size_t *used,
                                 alineo_error **err);
alineo_code al_file_command_write(al_open_file *file, const void *data, size_t size,
                                  alineo_error **err);
alineo_code al_file_command_finish(al_open_file *file, alineo_error **err);
void al_file_command_close(al_open_file *file);
alineo_code al_file_command_stat(const al_file_job *job, alineo_file_info_fn *found, void *user,
                                 alineo_error **err);
alineo_code al_file_command_list(const al_file_job *job, alineo_file_info_fn *found, void *user,
                                 alineo_error **err);
alineo_code al_file_command_search(const al_file_job *job, alineo_file_info_fn *found, void *user,
                                   alineo_error **err);
alineo_code al_file_command_change(const al_file_job *job, al_file_change what, alineo_error **err);
alineo_code al_file_command_replace(const al_file_job *job, uint64_t *count, alineo_error **err);

#endif
