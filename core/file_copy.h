/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_FILE_COPY_H
#define ALINEO_CORE_FILE_COPY_H

/**
 * Copies of files and trees, for file_copy*.c: from the host or a sandbox (a source), to the host
 * or a sandbox (a sink). The source walks and tells the sink what there is, a folder before what is
 * in it.
 *
 * Paths below the root of a copy are relative, "" is the root itself: parts between single '/',
 * none of them empty, "." or "..". The source sees to that, whatever a sandbox says.
 */

#include "core/file_private.h"
#include "core/util/strv.h"

enum {
    AL_COPY_PIECE_SIZE = 256 * 1024,
    AL_COPY_MODE = 0777 /* the bits that are copied */
};

typedef struct al_copy_sink al_copy_sink;

typedef struct al_copy_sink_ops {
    /** Makes a folder; one that is there is fine. */
    alineo_code (*folder)(al_copy_sink *sink, const char *path, uint32_t mode, alineo_error **err);
    /** Begins a file; then write, and finish or abandon. */
    alineo_code (*open)(al_copy_sink *sink, const char *path, uint32_t mode, alineo_error **err);
    alineo_code (*write)(al_copy_sink *sink, const void *data, size_t size, alineo_error **err);
    alineo_code (*finish)(al_copy_sink *sink, alineo_error **err);
    void (*abandon)(al_copy_sink *sink);
    alineo_code (*link)(al_copy_sink *sink, const char *path, const char *target,
                        alineo_error **err);
    /** Sets the mode of a folder that could not have it while it was filled. */
    alineo_code (*settle)(al_copy_sink *sink, const char *path, uint32_t mode, alineo_error **err);
} al_copy_sink_ops;

/** A sink's own struct begins with it. */
struct al_copy_sink {
    const al_copy_sink_ops *ops;
    alineo_call *call;
    bool parents;
    bool replace;
    /* Folders to be settled at the end, and their modes. */
    al_strv unsettled;
    uint32_t *unsettled_modes;
};

/** A folder that its owner may not read, write and enter waits for its mode; NO_MEMORY. */
alineo_code al_copy_settle_later(al_copy_sink *sink, const char *path, uint32_t mode,
                                 alineo_error **err);
static inline bool al_copy_mode_must_wait(uint32_t mode) {
    return (mode & 0700) != 0700;
}

/** Reads up to `capacity` bytes; *used 0 = the end. */
typedef alineo_code al_copy_read_fn(void *source, void *buffer, size_t capacity, size_t *used,
                                    alineo_error **err);

/** A copy under way. */
typedef struct al_copy {
    al_copy_sink *sink;
    alineo_call *call;
    uint64_t total; /* bytes, for progress; 0 = not known */
    char *piece;    /* AL_COPY_PIECE_SIZE bytes */
    alineo_file_copy_result result;
} al_copy;

/** What the options ask for, checked. */
alineo_code al_copy_options_read(const alineo_file_copy_options *given,
                                 alineo_file_copy_options *out, alineo_error **err);
alineo_code al_copy_begin(al_copy *copy, al_copy_sink *sink,
                          const alineo_file_copy_options *options, alineo_error **err);
/** Ends it, with folders settled where `code` is ALINEO_OK; fills the caller's result (NULL is
 * fine), gives the code that holds. */
alineo_code al_copy_end(al_copy *copy, alineo_code code, alineo_file_copy_result *result,
                        alineo_error **err);

/* One thing each, counted. `path` is below the root. */
alineo_code al_copy_folder(al_copy *copy, const char *path, uint32_t mode, alineo_error **err);
alineo_code al_copy_file(al_copy *copy, const char *path, uint32_t mode, al_copy_read_fn *read,
                         void *source, alineo_error **err);
alineo_code al_copy_link(al_copy *copy, const char *path, const char *target, alineo_error **err);

/* --- file_copy_host.c: a sink on this machine ------------------------------------------------- */

typedef struct al_host_sink {
    al_copy_sink base;
    const char *host_path; /* the caller's */
    int root_fd;           /* of a tree; -1 = not made yet */
    char *near;            /* folder below the root that near_fd is; NULL = none */
    int near_fd;
    /* The file that is written. */
    int file_fd;
    int folder_fd;
    char *name;
    char temporary[32];
    uint32_t mode;
    uint64_t size; /* holes at the end included */
} al_host_sink;
void al_host_sink_init(al_host_sink *sink, const char *host_path);
void al_host_sink_end(al_host_sink *sink);
AL_CLEANUP_INSIDE(al_host_sink, al_host_sink_end);

/** The code for an errno of the host's file system. */
alineo_code al_host_file_code(int error_number);

/* --- file_copy_sandbox.c: a sink in a sandbox ------------------------------------------------- */

typedef struct al_sandbox_sink {
    al_copy_sink base;
    al_file_job job; /* its path is the root */
    al_open_file *file;
} al_sandbox_sink;
void al_sandbox_sink_init(al_sandbox_sink *sink, const al_file_job *job);
void al_sandbox_sink_end(al_sandbox_sink *sink);
AL_CLEANUP_INSIDE(al_sandbox_sink, al_sandbox_sink_end);

/* --- file_copy_out.c, file_copy_in.c: the sources --------------------------------------------- */

/** Copies what is at the job's path. */
alineo_code al_copy_from_sandbox(al_copy *copy, const al_file_job *job, alineo_error **err);

/** Copies what is at a path of the host. */
alineo_code al_copy_from_host(al_copy *copy, const char *host_path, alineo_error **err);

#endif
