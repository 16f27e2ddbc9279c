/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_FILE_PRIVATE_H
#define ALINEO_CORE_FILE_PRIVATE_H

/**
 * Files of a sandbox, for file*.c. There are two ways to do a thing: by the provider's own
 * functions (file_provider.c), or by commands in the sandbox (file_command*.c). The public
 * functions check their arguments, choose the way, and then know no difference. What is asked for
 * is the provider interface's own request, whichever way it goes.
 */

#include <alineo/file.h>

#include "core/sandbox_private.h"

#include <stdbool.h>

typedef struct al_file_way al_file_way;

/** One call; its arguments are checked. */
typedef struct al_file_job {
    alineo_sandbox *sandbox;
    const al_file_way *way;
    alineo_file_request request; /* strings are the caller's */
} al_file_job;

/** An open file. A way's own struct begins with it. */
typedef struct al_open_file {
    const al_file_way *way;
    alineo_sandbox *sandbox; /* held by whoever has the file open */
    alineo_call *call;
    uint64_t bytes; /* reading: to come; UINT64_MAX = not known */
    uint64_t left;  /* reading: at most so many are given; UINT64_MAX = no limit */
} al_open_file;

typedef enum al_file_change {
    AL_FILE_MKDIR,
    AL_FILE_REMOVE,
    AL_FILE_RMDIR,
    AL_FILE_MOVE,
    AL_FILE_CHMOD,
    AL_FILE_CHOWN,
    AL_FILE_LINK
} al_file_change;

struct al_file_way {
    alineo_code (*open)(const al_file_job *job, bool writing, al_open_file **out,
                        alineo_error **err);
    /** What there is, up to capacity; blocks for it. *used 0 = the end. */
    alineo_code (*read)(al_open_file *file, void *buffer, size_t capacity, size_t *used,
                        alineo_error **err);
    /** All of it. */
    alineo_code (*write)(al_open_file *file, const void *data, size_t size, alineo_error **err);
    alineo_code (*finish)(al_open_file *file, alineo_error **err);
    void (*close)(al_open_file *file);
    alineo_code (*stat)(const al_file_job *job, alineo_file_info_fn *found, void *user,
                        alineo_error **err);
    alineo_code (*list)(const al_file_job *job, alineo_file_info_fn *found, void *user,
                        alineo_error **err);
    alineo_code (*search)(const al_file_job *job, alineo_file_info_fn *found, void *user,
                          alineo_error **err);
    alineo_code (*change)(const al_file_job *job, al_file_change change, alineo_error **err);
    alineo_code (*replace)(const al_file_job *job, uint64_t *count, alineo_error **err);
};

extern const al_file_way al_file_by_provider;
extern const al_file_way al_file_by_command;

/* --- file.c: the door ------------------------------------------------------------------------- */

/** Checks the sandbox, the path and the call, chooses the way, and fills the job but for what the
 * call asks for beyond. `doing` is for messages: "read a file". */
alineo_code al_file_enter(alineo_sandbox *sandbox, const char *path, alineo_call *call,
                          const char *doing, al_file_job *job, alineo_error **err);
/** Adds to an error what was being done ("read"), on what, and where; gives `code` back. */
alineo_code al_file_end(const al_file_job *job, const char *doing, alineo_code code,
                        alineo_error **err);
/** Permission bits alone. */
alineo_code al_file_mode_check(uint32_t mode, alineo_error **err);
/** A field that is set and is for another function. */
alineo_code al_file_misplaced(const char *doing, const char *field, alineo_error **err);

/* --- file_stream.c: open files ---------------------------------------------------------------- */

alineo_code al_open_file_new(const al_file_job *job, bool writing, al_open_file **out,
                             alineo_error **err);
/** As the way's read, within the limit. */
alineo_code al_open_file_read(al_open_file *file, void *buffer, size_t capacity, size_t *used,
                              alineo_error **err);
/** Takes NULL. */
void al_open_file_free(al_open_file *file);
AL_CLEANUP(al_open_file *, al_open_file_free);

/** The options of reading or writing, checked and put into the request. */
alineo_code al_file_read_options(const alineo_file_options *given, bool whole, const char *doing,
                                 alineo_file_options *out, alineo_error **err);
alineo_code al_file_write_options(const alineo_file_options *given, const char *doing,
                                  alineo_file_options *out, alineo_error **err);
void al_file_ask_write(al_file_job *job, const alineo_file_options *options);

#endif
