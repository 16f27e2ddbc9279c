/* SPDX-License-Identifier: Apache-2.0 */
/* Copies: the public functions, and what all of them share. */
#include "core/file_copy.h"

#include "core/call_private.h"
#include "core/check.h"
#include "core/struct.h"
#include "core/util/path.h"

#include <string.h>

void alineo_file_copy_options_init(alineo_file_copy_options *options) {
    *options = (alineo_file_copy_options)ALINEO_FILE_COPY_OPTIONS_INIT;
}

void alineo_file_copy_result_init(alineo_file_copy_result *result) {
    *result = (alineo_file_copy_result)ALINEO_FILE_COPY_RESULT_INIT;
}

/* --- a copy under way ------------------------------------------------------------------------- */

alineo_code al_copy_options_read(const alineo_file_copy_options *given,
                                 alineo_file_copy_options *out, alineo_error **err) {
    alineo_code code = AL_STRUCT_READ(out, given, "file copy options", err);
    if (code == ALINEO_OK)
        code = al_choice_check("parents", out->parents, err);
    return code == ALINEO_OK ? al_choice_check("replace", out->replace, err) : code;
}

alineo_code al_copy_begin(al_copy *copy, al_copy_sink *sink,
                          const alineo_file_copy_options *options, alineo_error **err) {
    sink->call = options->call;
    sink->parents = options->parents != ALINEO_NO;
    sink->replace = options->replace != ALINEO_NO;
    *copy = (al_copy){.sink = sink,
                      .call = options->call,
                      .piece = malloc(AL_COPY_PIECE_SIZE),
                      .result = ALINEO_FILE_COPY_RESULT_INIT};
    return copy->piece != NULL ? ALINEO_OK : al_fail_memory(err);
}

alineo_code al_copy_settle_later(al_copy_sink *sink, const char *path, uint32_t mode,
                                 alineo_error **err) {
    size_t count = sink->unsettled.count;
    uint32_t *modes = reallocarray(sink->unsettled_modes, count + 1, sizeof(*modes));
    if (modes == NULL)
        return al_fail_memory(err);
    sink->unsettled_modes = modes;
    modes[count] = mode;
    return al_strv_append(&sink->unsettled, path) == 0 ? ALINEO_OK : al_fail_memory(err);
}

/* The lowest first: one that is settled may not let us through any more. */
static alineo_code settle(al_copy_sink *sink, alineo_error **err) {
    alineo_code code = ALINEO_OK;
    for (size_t i = sink->unsettled.count; i > 0; i--) {
        alineo_code one =
            sink->ops->settle(sink, sink->unsettled.items[i - 1], sink->unsettled_modes[i - 1],
                              code == ALINEO_OK ? err : NULL);
        code = code == ALINEO_OK ? one : code;
    }
    return code;
}

alineo_code al_copy_end(al_copy *copy, alineo_code code, alineo_file_copy_result *result,
                        alineo_error **err) {
    al_copy_sink *sink = copy->sink;
    if (code == ALINEO_OK)
        code = settle(sink, err);
    al_strv_free(&sink->unsettled);
    free(sink->unsettled_modes);
    sink->unsettled_modes = NULL;
    free(copy->piece);
    copy->piece = NULL;
    if (result != NULL && result->size >= sizeof(result->size)) {
        size_t size = result->size < sizeof(*result) ? result->size : sizeof(*result);
        copy->result.size = result->size;
        memcpy(result, &copy->result, size);
    }
    return code;
}

alineo_code al_copy_folder(al_copy *copy, const char *path, uint32_t mode, alineo_error **err) {
    alineo_code code = al_call_check(copy->call, "copy", err);
    if (code == ALINEO_OK)
        code = copy->sink->ops->folder(copy->sink, path, mode & AL_COPY_MODE, err);
    if (code == ALINEO_OK)
        copy->result.folders++;
    return code;
}

alineo_code al_copy_link(al_copy *copy, const char *path, const char *target, alineo_error **err) {
    alineo_code code = al_call_check(copy->call, "copy", err);
    if (code == ALINEO_OK)
        code = copy->sink->ops->link(copy->sink, path, target, err);
    if (code == ALINEO_OK)
        copy->result.links++;
    return code;
}

static alineo_code move_bytes(al_copy *copy, const char *path, al_copy_read_fn *read, void *source,
                              alineo_error **err) {
    for (;;) {
        size_t used = 0;
        alineo_code code = al_call_check(copy->call, "copy", err);
        if (code == ALINEO_OK)
            code = read(source, copy->piece, AL_COPY_PIECE_SIZE, &used, err);
        if (code != ALINEO_OK || used == 0)
            return code;
        code = copy->sink->ops->write(copy->sink, copy->piece, used, err);
        if (code != ALINEO_OK)
            return code;
        copy->result.bytes += used;
        al_call_progress(copy->call, "copy", copy->result.bytes, copy->total, path);
    }
}

alineo_code al_copy_file(al_copy *copy, const char *path, uint32_t mode, al_copy_read_fn *read,
                         void *source, alineo_error **err) {
    al_copy_sink *sink = copy->sink;
    alineo_code code = sink->ops->open(sink, path, mode & AL_COPY_MODE, err);
    if (code != ALINEO_OK)
        return code;
    code = move_bytes(copy, path, read, source, err);
    if (code == ALINEO_OK)
        code = sink->ops->finish(sink, err);
    if (code != ALINEO_OK) {
        sink->ops->abandon(sink);
        return code;
    }
    copy->result.files++;
    return ALINEO_OK;
}

/* --- the public functions --------------------------------------------------------------------- */

static alineo_code check_host_path(const char *host_path, alineo_error **err) {
    return host_path != NULL && host_path[0] != '\0'
               ? ALINEO_OK
               : al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "copy a file: there is no host path");
}

alineo_code alineo_file_upload(alineo_sandbox *sandbox, const char *host_path, const char *path,
                               const alineo_file_copy_options *options,
                               alineo_file_copy_result *result, alineo_error **err) {
    alineo_file_copy_options own;
    al_file_job job;
    alineo_code code = al_copy_options_read(options, &own, err);
    if (code == ALINEO_OK)
        code = check_host_path(host_path, err);
    if (code == ALINEO_OK)
        code = al_file_enter(sandbox, path, own.call, "copy a file", &job, err);
    if (code != ALINEO_OK)
        return code;
    al_copy copy;
    al_auto(al_sandbox_sink_end) al_sandbox_sink sink;
    al_sandbox_sink_init(&sink, &job);
    code = al_copy_begin(&copy, &sink.base, &own, err);
    if (code == ALINEO_OK)
        code = al_copy_from_host(&copy, host_path, err);
    code = al_copy_end(&copy, code, result, err);
    if (code != ALINEO_OK)
        (void)al_wrap(err, "copy %s of the host", host_path);
    return al_file_end(&job, "to", code, err);
}

alineo_code alineo_file_download(alineo_sandbox *sandbox, const char *path, const char *host_path,
                                 const alineo_file_copy_options *options,
                                 alineo_file_copy_result *result, alineo_error **err) {
    alineo_file_copy_options own;
    al_file_job job;
    alineo_code code = al_copy_options_read(options, &own, err);
    if (code == ALINEO_OK)
        code = check_host_path(host_path, err);
    if (code == ALINEO_OK)
        code = al_file_enter(sandbox, path, own.call, "copy a file", &job, err);
    if (code != ALINEO_OK)
        return code;
    al_copy copy;
    al_auto(al_host_sink_end) al_host_sink sink;
    al_host_sink_init(&sink, host_path);
    code = al_copy_begin(&copy, &sink.base, &own, err);
    if (code == ALINEO_OK)
        code = al_copy_from_sandbox(&copy, &job, err);
    code = al_copy_end(&copy, code, result, err);
    if (code != ALINEO_OK)
        (void)al_wrap(err, "to %s of the host", host_path);
    return al_file_end(&job, "copy", code, err);
}

/* A tree into itself would have no end, a file onto itself no beginning. */
static alineo_code check_apart(const alineo_sandbox *from, const char *path,
                               const alineo_sandbox *to, const char *target, alineo_error **err) {
    if (from->state != to->state)
        return ALINEO_OK;
    al_autofree char *source = al_path_normalise(path);
    al_autofree char *copy = al_path_normalise(target);
    if (source == NULL || copy == NULL)
        return al_fail_memory(err);
    if (!al_path_is_below(source, copy))
        return ALINEO_OK;
    return al_fail(err, ALINEO_INVALID_ARGUMENT, "name another target, or another sandbox",
                   "copy a file: %s is %s itself or in it", target, path);
}

alineo_code alineo_file_transfer(alineo_sandbox *from, const char *path, alineo_sandbox *to,
                                 const char *target, const alineo_file_copy_options *options,
                                 alineo_file_copy_result *result, alineo_error **err) {
    alineo_file_copy_options own;
    al_file_job source;
    al_file_job job;
    alineo_code code = al_copy_options_read(options, &own, err);
    if (target == NULL)
        target = path;
    if (code == ALINEO_OK)
        code = al_file_enter(from, path, own.call, "copy a file", &source, err);
    if (code == ALINEO_OK)
        code = al_file_enter(to, target, own.call, "copy a file", &job, err);
    if (code == ALINEO_OK)
        code = check_apart(from, path, to, target, err);
    if (code != ALINEO_OK)
        return code;
    al_copy copy;
    al_auto(al_sandbox_sink_end) al_sandbox_sink sink;
    al_sandbox_sink_init(&sink, &job);
    code = al_copy_begin(&copy, &sink.base, &own, err);
    if (code == ALINEO_OK)
        code = al_copy_from_sandbox(&copy, &source, err);
    code = al_copy_end(&copy, code, result, err);
    if (code != ALINEO_OK)
        (void)al_wrap(err, "to %s in sandbox %s", target, to->state->id);
    return al_file_end(&source, "copy", code, err);
}
