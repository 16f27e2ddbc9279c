/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_FILE_H
#define ALINEO_FILE_H

/**
 * Files of a sandbox. Paths are absolute, inside it; `..` and links resolve inside and never
 * outside. Any bytes, any size. Needs `files`, or `stdin` and `bytes` (then they are done by
 * commands: the capability reads "fallback"). Errors: FILE_NOT_FOUND, FILE_EXISTS, IS_A_DIRECTORY,
 * NOT_A_DIRECTORY, PERMISSION_DENIED, NO_SPACE, TOO_LARGE, SANDBOX_PAUSED, SANDBOX_CLOSED, and
 * those of every call.
 */

#include <alineo/base.h>
#include <alineo/call.h>
#include <alineo/error.h>
#include <alineo/exec.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct alineo_file_options {
    size_t size;
    uint32_t mode;         /* writing: set on the file, 0 = 0644 for a new one */
    alineo_choice parents; /* writing: make missing folders; default yes */
    uint64_t offset;       /* reading: begin here */
    uint64_t max_bytes;    /* reading: 0 = 64 MiB; more in the file is TOO_LARGE */
    alineo_call *call;
} alineo_file_options;
#define ALINEO_FILE_OPTIONS_INIT                                                                   \
    { sizeof(alineo_file_options), 0, ALINEO_DEFAULT, 0, 0, NULL }
ALINEO_API void alineo_file_options_init(alineo_file_options *options);

/** Writes a whole file; what was there is replaced. `options` may be NULL. */
ALINEO_API alineo_code alineo_file_write(alineo_sandbox *sandbox, const char *path,
                                         const void *data, size_t size,
                                         const alineo_file_options *options, alineo_error **err);

/** Reads a whole file into *out (initialised; what it held is cleared first). `options` may be
 * NULL. */
ALINEO_API alineo_code alineo_file_read(alineo_sandbox *sandbox, const char *path,
                                        const alineo_file_options *options, alineo_bytes *out,
                                        alineo_error **err);

#ifdef __cplusplus
}
#endif

#endif
