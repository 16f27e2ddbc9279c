/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are read and written piece by piece. */
#include "core/file_private.h"

#include "core/call_private.h"
#include "core/check.h"
#include "core/struct.h"
#include "core/util/str.h"

#include <stdlib.h>

typedef enum stream_state {
    STREAM_OPEN,
    STREAM_FAILED,
    STREAM_FINISHED
} stream_state;

struct alineo_file_stream {
    al_file_job job; /* for messages; its path is ours */
    char *path;
    al_open_file *file;
    bool writing;
    stream_state state;
};

/* --- options ---------------------------------------------------------------------------------- */

alineo_code al_file_read_options(const alineo_file_options *given, bool whole, const char *doing,
                                 alineo_file_options *out, alineo_error **err) {
    alineo_code code = AL_STRUCT_READ(out, given, "file options", err);
    if (code != ALINEO_OK)
        return code;
    if (out->mode != 0)
        return al_file_misplaced(doing, "mode", err);
    if (out->parents != ALINEO_DEFAULT)
        return al_file_misplaced(doing, "parents", err);
    if (out->append != ALINEO_DEFAULT)
        return al_file_misplaced(doing, "append", err);
    if (out->exclusive != ALINEO_DEFAULT)
        return al_file_misplaced(doing, "exclusive", err);
    if (!whole && out->max_bytes != 0)
        return al_file_misplaced(doing, "max_bytes", err);
    if (out->offset > INT64_MAX)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "%s: `offset` is %llu, beyond any file",
                       doing, (unsigned long long)out->offset);
    return ALINEO_OK;
}

alineo_code al_file_write_options(const alineo_file_options *given, const char *doing,
                                  alineo_file_options *out, alineo_error **err) {
    alineo_code code = AL_STRUCT_READ(out, given, "file options", err);
    if (code == ALINEO_OK && out->offset != 0)
        code = al_file_misplaced(doing, "offset", err);
    if (code == ALINEO_OK && out->length != 0)
        code = al_file_misplaced(doing, "length", err);
    if (code == ALINEO_OK && out->max_bytes != 0)
        code = al_file_misplaced(doing, "max_bytes", err);
    if (code == ALINEO_OK)
        code = al_choice_check("parents", out->parents, err);
    if (code == ALINEO_OK)
        code = al_choice_check("append", out->append, err);
    if (code == ALINEO_OK)
        code = al_choice_check("exclusive", out->exclusive, err);
    return code == ALINEO_OK ? al_file_mode_check(out->mode, err) : code;
}

void al_file_ask_write(al_file_job *job, const alineo_file_options *options) {
    job->request.mode = options->mode;
    job->request.flags = (options->parents != ALINEO_NO ? ALINEO_FILE_PARENTS : 0) |
                         (options->append == ALINEO_YES ? ALINEO_FILE_APPEND : 0) |
                         (options->exclusive == ALINEO_YES ? ALINEO_FILE_EXCLUSIVE : 0) |
                         (options->mode != 0 ? ALINEO_FILE_MODE : 0);
}

/* --- open files ------------------------------------------------------------------------------- */

alineo_code al_open_file_new(const al_file_job *job, bool writing, al_open_file **out,
                             alineo_error **err) {
    alineo_code code = job->way->open(job, writing, out, err);
    if (code != ALINEO_OK)
        return code;
    al_open_file *file = *out;
    file->left = !writing && job->request.length != 0 ? job->request.length : UINT64_MAX;
    if (file->bytes != UINT64_MAX && file->bytes > file->left)
        file->bytes = file->left;
    return ALINEO_OK;
}

alineo_code al_open_file_read(al_open_file *file, void *buffer, size_t capacity, size_t *used,
                              alineo_error **err) {
    *used = 0;
    if (file->left == 0)
        return ALINEO_OK;
    if (capacity > file->left)
        capacity = (size_t)file->left;
    alineo_code code = file->way->read(file, buffer, capacity, used, err);
    if (code == ALINEO_OK && file->left != UINT64_MAX)
        file->left -= *used;
    return code;
}

void al_open_file_free(al_open_file *file) {
    if (file != NULL)
        file->way->close(file);
}

/* --- the handle ------------------------------------------------------------------------------- */

static alineo_code open_stream(const al_file_job *job, bool writing, alineo_file_stream **out,
                               alineo_error **err) {
    alineo_file_stream *stream = calloc(1, sizeof(*stream));
    char *path = al_strdup(job->request.path);
    al_open_file *file = NULL;
    alineo_code code = stream == NULL || path == NULL ? al_fail_memory(err)
                                                      : al_open_file_new(job, writing, &file, err);
    if (code != ALINEO_OK) {
        free(path);
        free(stream);
        return code;
    }
    *stream = (alineo_file_stream){.job = *job, .path = path, .file = file, .writing = writing};
    stream->job.request.path = path;
    al_sandbox_ref(job->sandbox);
    *out = stream;
    return ALINEO_OK;
}

static alineo_code check_out(alineo_file_stream **out, const char *doing, alineo_error **err) {
    return out != NULL ? ALINEO_OK
                       : al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "%s: `out` is NULL", doing);
}

alineo_code alineo_file_open_read(alineo_sandbox *sandbox, const char *path,
                                  const alineo_file_options *options, alineo_file_stream **out,
                                  alineo_error **err) {
    static const char doing[] = "open a file for reading";
    alineo_file_options own;
    al_file_job job;
    alineo_code code = check_out(out, doing, err);
    if (code == ALINEO_OK)
        code = al_file_read_options(options, false, doing, &own, err);
    if (code == ALINEO_OK)
        code = al_file_enter(sandbox, path, own.call, doing, &job, err);
    if (code != ALINEO_OK)
        return code;
    job.request.offset = own.offset;
    job.request.length = own.length;
    return al_file_end(&job, "open for reading", open_stream(&job, false, out, err), err);
}

alineo_code alineo_file_open_write(alineo_sandbox *sandbox, const char *path,
                                   const alineo_file_options *options, alineo_file_stream **out,
                                   alineo_error **err) {
    static const char doing[] = "open a file for writing";
    alineo_file_options own;
    al_file_job job;
    alineo_code code = check_out(out, doing, err);
    if (code == ALINEO_OK)
        code = al_file_write_options(options, doing, &own, err);
    if (code == ALINEO_OK)
        code = al_file_enter(sandbox, path, own.call, doing, &job, err);
    if (code != ALINEO_OK)
        return code;
    al_file_ask_write(&job, &own);
    return al_file_end(&job, "open for writing", open_stream(&job, true, out, err), err);
}

uint64_t alineo_file_stream_bytes(const alineo_file_stream *stream) {
    return stream == NULL || stream->writing ? UINT64_MAX : stream->file->bytes;
}

/* The sandbox may be closed meanwhile, or a write have failed. */
static alineo_code enter_stream(alineo_file_stream *stream, bool writing, const char *doing,
                                alineo_error **err) {
    if (stream == NULL)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "%s: the stream is NULL", doing);
    alineo_code code = al_sandbox_enter(stream->job.sandbox, err);
    if (code == ALINEO_OK && (stream->writing != writing || stream->state != STREAM_OPEN))
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "%s: %s", doing,
                       stream->writing != writing         ? "it is open for the other direction"
                       : stream->state == STREAM_FINISHED ? "it is finished"
                                                          : "a call on it failed before");
    if (code == ALINEO_OK)
        code = al_call_check(stream->job.request.call, doing, err);
    return code;
}

static alineo_code leave_stream(alineo_file_stream *stream, const char *doing, alineo_code code,
                                alineo_error **err) {
    if (code != ALINEO_OK)
        stream->state = STREAM_FAILED;
    return al_file_end(&stream->job, doing, code, err);
}

alineo_code alineo_file_stream_read(alineo_file_stream *stream, void *buffer, size_t capacity,
                                    size_t *used, alineo_error **err) {
    alineo_code code = enter_stream(stream, false, "read from a file", err);
    if (code == ALINEO_OK && (buffer == NULL || capacity == 0 || used == NULL))
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, NULL,
                       "read from a file: there is no room to read into");
    if (code != ALINEO_OK)
        return code;
    size_t read_size = 0;
    code = leave_stream(stream, "read",
                        al_open_file_read(stream->file, buffer, capacity, &read_size, err), err);
    if (code == ALINEO_OK)
        *used = read_size;
    return code;
}

alineo_code alineo_file_stream_write(alineo_file_stream *stream, const void *data, size_t size,
                                     alineo_error **err) {
    alineo_code code = enter_stream(stream, true, "write to a file", err);
    if (code == ALINEO_OK && data == NULL && size > 0)
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "write to a file: `data` is NULL");
    if (code != ALINEO_OK || size == 0)
        return code;
    return leave_stream(stream, "write", stream->job.way->write(stream->file, data, size, err),
                        err);
}

alineo_code alineo_file_stream_finish(alineo_file_stream *stream, alineo_error **err) {
    alineo_code code = enter_stream(stream, true, "finish a file", err);
    if (code != ALINEO_OK)
        return code;
    code = leave_stream(stream, "finish", stream->job.way->finish(stream->file, err), err);
    if (code == ALINEO_OK)
        stream->state = STREAM_FINISHED;
    return code;
}

void alineo_file_stream_free(alineo_file_stream *stream) {
    if (stream == NULL)
        return;
    al_open_file_free(stream->file);
    al_sandbox_unref(stream->job.sandbox);
    free(stream->path);
    free(stream);
}
