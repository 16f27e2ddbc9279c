/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_FILE_H
#define ALINEO_FILE_H

/**
 * Files of a sandbox: whole, streamed, moved, listed, searched, copied in and out.
 *
 * Paths are absolute, inside the sandbox, and any bytes but NUL; `..` and links resolve inside and
 * never outside. A link at the end of a path is followed, except where the comment says otherwise.
 * Any bytes, any size. Nothing waits for the other end of a FIFO: a FIFO, socket or device in place
 * of a file is INVALID_ARGUMENT.
 *
 * Needs the capability `files`, or `stdin` and `bytes`: then the same is done by commands in the
 * sandbox (sh, cat, mkdir, mv, rm, rmdir, stat, find, chmod, chown, ln; those of busybox do), and
 * the capability reads "fallback". These commands are the library's own: they have no number, no
 * place in the ledger, and no hook hears of them. They run as the sandbox's default user.
 *
 * All functions block, for the time that the file takes; `call` bounds it. Options may be NULL.
 * Errors, beyond those of every call: INVALID_ARGUMENT, CAPABILITY_UNSUPPORTED, FILE_NOT_FOUND,
 * FILE_EXISTS, IS_A_DIRECTORY, NOT_A_DIRECTORY, DIRECTORY_NOT_EMPTY, PERMISSION_DENIED (also for a
 * file system that cannot be written), NO_SPACE, TOO_LARGE, CONFLICT (in use), SANDBOX_PAUSED,
 * SANDBOX_CLOSED, SANDBOX_NOT_FOUND, CANCELLED, TIMEOUT, IO, and the provider's. The same code for
 * the same cause on every provider. A call that changes something and whose answer got lost says
 * in its message that it may have happened.
 */

#include <alineo/base.h>
#include <alineo/call.h>
#include <alineo/error.h>
#include <alineo/exec.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- contents --------------------------------------------------------------------------------- */

/** How to read or write. What is for the other direction is refused with INVALID_ARGUMENT. */
typedef struct alineo_file_options {
    size_t size;
    uint32_t mode;           /* writing: set on the file, 0 = 0644 for a new one */
    alineo_choice parents;   /* writing: make missing folders (mode 0755); default yes */
    alineo_choice append;    /* writing: behind what is there; default no: in its place */
    alineo_choice exclusive; /* writing: FILE_EXISTS when it is there; default no */
    uint64_t offset;         /* reading: begin here; at or behind the end there is nothing */
    uint64_t length;         /* reading: at most so many bytes; 0 = to the end */
    uint64_t max_bytes;      /* alineo_file_read: more is TOO_LARGE; 0 = 64 MiB */
    alineo_call *call;       /* of a stream: for all of its life, so free it after the stream */
} alineo_file_options;
#define ALINEO_FILE_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(alineo_file_options), 0, ALINEO_DEFAULT, ALINEO_DEFAULT, ALINEO_DEFAULT, 0, 0, 0,   \
            NULL                                                                                   \
    }
ALINEO_API void alineo_file_options_init(alineo_file_options *options);

/**
 * Writes a whole file. Without `append` it holds these bytes afterwards and nothing else; on
 * failure its content is undefined. With `append` what was there stays, on failure too; of two that
 * append at once both are there, each piece of up to 4,096 bytes whole. The file stays the same
 * one: links to it, its owner and, without `mode`, its mode stay.
 */
ALINEO_API alineo_code alineo_file_write(alineo_sandbox *sandbox, const char *path,
                                         const void *data, size_t size,
                                         const alineo_file_options *options, alineo_error **err);

/** Reads a file, or a part of it, into *out (initialised; what it held is cleared first). */
ALINEO_API alineo_code alineo_file_read(alineo_sandbox *sandbox, const char *path,
                                        const alineo_file_options *options, alineo_bytes *out,
                                        alineo_error **err);

/** An open file, for what is too large for memory. It belongs to one thread at a time and holds its
 * sandbox: freeing in any order is safe. */
typedef struct alineo_file_stream alineo_file_stream;

/** Opens for reading; that it is there and may be read is known when this returns. */
ALINEO_API alineo_code alineo_file_open_read(alineo_sandbox *sandbox, const char *path,
                                             const alineo_file_options *options,
                                             alineo_file_stream **out, alineo_error **err);
/** Opens for writing. Others may see parts of it until alineo_file_stream_finish. */
ALINEO_API alineo_code alineo_file_open_write(alineo_sandbox *sandbox, const char *path,
                                              const alineo_file_options *options,
                                              alineo_file_stream **out, alineo_error **err);

/** Bytes that were to come when it was opened; UINT64_MAX where that is not known, for writing, and
 * for NULL. */
ALINEO_API uint64_t alineo_file_stream_bytes(const alineo_file_stream *stream);

/** Up to `capacity` (at least 1) bytes; *used 0 is the end. After a failure only free it. */
ALINEO_API alineo_code alineo_file_stream_read(alineo_file_stream *stream, void *buffer,
                                               size_t capacity, size_t *used, alineo_error **err);
/** Writes all of it. After a failure only free it. */
ALINEO_API alineo_code alineo_file_stream_write(alineo_file_stream *stream, const void *data,
                                                size_t size, alineo_error **err);
/**
 * Ends writing: on success all that was written is there for every reader. Once; then only free it.
 * Without it the content is undefined (with `append`: what was there, and perhaps a part).
 */
ALINEO_API alineo_code alineo_file_stream_finish(alineo_file_stream *stream, alineo_error **err);
/** Drops it; may take as long as ending a command does. Takes NULL. */
ALINEO_API void alineo_file_stream_free(alineo_file_stream *stream);

/* --- changes ---------------------------------------------------------------------------------- */

/** How to change. What is for another function is refused with INVALID_ARGUMENT. */
typedef struct alineo_file_change_options {
    size_t size;
    uint32_t mode;           /* mkdir: of what is made, 0 = 0755 */
    alineo_choice parents;   /* mkdir, move, symlink: make missing folders; default yes */
    alineo_choice replace;   /* move: put it in the place of what is there; default no */
    alineo_choice recursive; /* rmdir: with all that is in it; default yes */
    alineo_call *call;
} alineo_file_change_options;
#define ALINEO_FILE_CHANGE_OPTIONS_INIT                                                            \
    { sizeof(alineo_file_change_options), 0, ALINEO_DEFAULT, ALINEO_DEFAULT, ALINEO_DEFAULT, NULL }
ALINEO_API void alineo_file_change_options_init(alineo_file_change_options *options);

/** Makes a folder. With `parents` one that is there is fine and stays as it is (else it is
 * FILE_EXISTS), and missing ones above it are made with mode 0755. */
ALINEO_API alineo_code alineo_file_mkdir(alineo_sandbox *sandbox, const char *path,
                                         const alineo_file_change_options *options,
                                         alineo_error **err);
/** Removes a file or link (not what it leads to). IS_A_DIRECTORY for a folder. */
ALINEO_API alineo_code alineo_file_remove(alineo_sandbox *sandbox, const char *path,
                                          const alineo_file_change_options *options,
                                          alineo_error **err);
/** Removes a folder, with all that is in it unless `recursive` is no (then DIRECTORY_NOT_EMPTY).
 * Links in it are removed, not followed; NOT_A_DIRECTORY for a link at the end of the path. */
ALINEO_API alineo_code alineo_file_rmdir(alineo_sandbox *sandbox, const char *path,
                                         const alineo_file_change_options *options,
                                         alineo_error **err);
/** Renames a file, link or folder, across mounts by copying. `target` is the new name itself, also
 * where there is a folder of that name: FILE_EXISTS, or with `replace` its place is taken (a file
 * takes a file's, a folder an empty folder's). */
ALINEO_API alineo_code alineo_file_move(alineo_sandbox *sandbox, const char *path,
                                        const char *target,
                                        const alineo_file_change_options *options,
                                        alineo_error **err);
/** Sets the permission bits, 0 to 07777. */
ALINEO_API alineo_code alineo_file_chmod(alineo_sandbox *sandbox, const char *path, uint32_t mode,
                                         const alineo_file_change_options *options,
                                         alineo_error **err);
/** Sets owner and group, each a name or a number of the sandbox's own; NULL leaves it as it is. */
ALINEO_API alineo_code alineo_file_chown(alineo_sandbox *sandbox, const char *path,
                                         const char *owner, const char *group,
                                         const alineo_file_change_options *options,
                                         alineo_error **err);
/** Makes a symbolic link at `path` whose text is `target`, which need not lead to anything. */
ALINEO_API alineo_code alineo_file_symlink(alineo_sandbox *sandbox, const char *path,
                                           const char *target,
                                           const alineo_file_change_options *options,
                                           alineo_error **err);

/** Replaces every occurrence of `find` (at least one byte; from the front, not overlapping). *count
 * (may be NULL) says how many; with 0 the file is untouched. All of it or nothing: no reader sees a
 * part, and mode and owner stay. */
ALINEO_API alineo_code alineo_file_replace(alineo_sandbox *sandbox, const char *path,
                                           const void *find, size_t find_size,
                                           const void *replacement, size_t replacement_size,
                                           const alineo_file_change_options *options,
                                           uint64_t *count, alineo_error **err);

/* --- looking ---------------------------------------------------------------------------------- */

typedef struct alineo_file_list_options {
    size_t size;
    uint32_t depth; /* list: 1 = the folder's own entries; 0 counts as 1; UINT32_MAX = all */
    alineo_call *call;
} alineo_file_list_options;
#define ALINEO_FILE_LIST_OPTIONS_INIT                                                              \
    { sizeof(alineo_file_list_options), 0, NULL }
ALINEO_API void alineo_file_list_options_init(alineo_file_list_options *options);

/** What is at `path`, a link not followed: calls found once. `depth` is refused. */
ALINEO_API alineo_code alineo_file_stat(alineo_sandbox *sandbox, const char *path,
                                        const alineo_file_list_options *options,
                                        alineo_file_info_fn *found, void *user, alineo_error **err);
/**
 * Entries of a folder, in no order but a folder before what is in it; links below are not followed,
 * and nothing is told of what the kernel makes up (/proc, /sys) unless the list begins there. What
 * vanishes meanwhile is passed over. A non-zero return of found ends the list, with ALINEO_OK;
 * found may call other functions of the library.
 */
ALINEO_API alineo_code alineo_file_list(alineo_sandbox *sandbox, const char *path,
                                        const alineo_file_list_options *options,
                                        alineo_file_info_fn *found, void *user, alineo_error **err);
/**
 * Regular files below `base` (NULL = "/") that match a pattern: `*` any bytes, `?` one, `[a-z]` and
 * `[!a-z]` one of a set or none of it, `\` takes the next literally; with a '/' in it the pattern
 * is for the whole path, else for the name. As a list otherwise, save that folders that may not be
 * read are passed over.
 */
ALINEO_API alineo_code alineo_file_search(alineo_sandbox *sandbox, const char *pattern,
                                          const char *base, const alineo_file_list_options *options,
                                          alineo_file_info_fn *found, void *user,
                                          alineo_error **err);

/* --- copies ----------------------------------------------------------------------------------- */

typedef struct alineo_file_copy_options {
    size_t size;
    alineo_choice parents; /* make missing folders above the target; default yes */
    alineo_choice replace; /* a file or link takes the place of one that is there; default yes */
    alineo_call *call;     /* progress: stage "copy", bytes so far, total where known, the path */
} alineo_file_copy_options;
#define ALINEO_FILE_COPY_OPTIONS_INIT                                                              \
    { sizeof(alineo_file_copy_options), ALINEO_DEFAULT, ALINEO_DEFAULT, NULL }
ALINEO_API void alineo_file_copy_options_init(alineo_file_copy_options *options);

/** What was copied; set on failure too, for what was done before it. */
typedef struct alineo_file_copy_result {
    size_t size;
    uint64_t files;
    uint64_t folders; /* made, or there before */
    uint64_t links;
    uint64_t skipped; /* FIFOs, sockets and devices in a tree, and files that vanished meanwhile */
    uint64_t bytes;
} alineo_file_copy_result;
#define ALINEO_FILE_COPY_RESULT_INIT                                                               \
    { sizeof(alineo_file_copy_result), 0, 0, 0, 0, 0 }
ALINEO_API void alineo_file_copy_result_init(alineo_file_copy_result *result);

/**
 * The three copies: from the host in, from a sandbox out to the host, from a sandbox to another
 * (of any client and provider; the bytes flow through this process and are stored nowhere).
 *
 * A regular file, or a folder with all that is in it. The target is the new name itself, never a
 * folder to copy into: a file onto a folder is IS_A_DIRECTORY and the folder stays as it is, a
 * folder onto a file is FILE_EXISTS, a folder onto a folder is merged into it. A link that is named
 * as the source is followed; links in a tree are copied as links. The permission bits are
 * kept, but not setuid, setgid and sticky, nor owner, times and extended attributes. `result` may
 * be NULL. What was copied before a failure stays, but no file of the host is ever half-written:
 * each appears whole, in place of the older one.
 *
 * On the host nothing that the sandbox says leads out of `host_path`, and a file that takes another
 * one's place takes a link's place too: it is never followed. The copy's own text of a link is the
 * sandbox's and may lead anywhere: do not follow such links blindly. Relative host paths begin in
 * the working directory.
 */
ALINEO_API alineo_code alineo_file_upload(alineo_sandbox *sandbox, const char *host_path,
                                          const char *path, const alineo_file_copy_options *options,
                                          alineo_file_copy_result *result, alineo_error **err);
ALINEO_API alineo_code alineo_file_download(alineo_sandbox *sandbox, const char *path,
                                            const char *host_path,
                                            const alineo_file_copy_options *options,
                                            alineo_file_copy_result *result, alineo_error **err);
/** `target` NULL = the same path. Both sandboxes may be one; a tree into itself is
 * INVALID_ARGUMENT. */
ALINEO_API alineo_code alineo_file_transfer(alineo_sandbox *from, const char *path,
                                            alineo_sandbox *to, const char *target,
                                            const alineo_file_copy_options *options,
                                            alineo_file_copy_result *result, alineo_error **err);

#ifdef __cplusplus
}
#endif

#endif
