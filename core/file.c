/* SPDX-License-Identifier: Apache-2.0 */
#include <alineo/file.h>

#include "core/call_private.h"
#include "core/check.h"
#include "core/file_private.h"
#include "core/struct.h"

static const uint64_t default_max_bytes = 64u << 20;

void alineo_file_options_init(alineo_file_options *options) {
    *options = (alineo_file_options)ALINEO_FILE_OPTIONS_INIT;
}

alineo_code al_file_too_large(const al_file_job *job, alineo_error **err) {
    return al_fail(err, ALINEO_TOO_LARGE, "raise max_bytes, or read it in parts by `offset`",
                   "more than %llu bytes are in it", (unsigned long long)job->max_bytes);
}

/* How it is done. */
typedef struct file_way {
    alineo_code (*write)(const al_file_job *job, const void *data, size_t size, alineo_error **err);
    alineo_code (*read)(const al_file_job *job, al_buf *out, alineo_error **err);
} file_way;

static const file_way by_provider = {al_file_provider_write, al_file_provider_read};
static const file_way by_commands = {al_file_exec_write, al_file_exec_read};

static alineo_code choose_way(const al_file_job *job, const file_way **way, alineo_error **err) {
    alineo_client *client = job->sandbox->client;
    const alineo_provider_table *table = client->provider->table;
    const char *const own[] = {ALINEO_CAP_FILES, NULL};
    const char *const commands[] = {ALINEO_CAP_STDIN, ALINEO_CAP_BYTES, NULL};
    *way = &by_provider;
    if (AL_HAS(table, file_open_read) &&
        al_capabilities_have(client->capabilities, ALINEO_CAP_FILES, job->call))
        return ALINEO_OK;
    *way = &by_commands;
    if (al_capabilities_require(client->capabilities, commands, job->call, NULL) == ALINEO_OK)
        return ALINEO_OK;
    alineo_code code = al_capabilities_require(client->capabilities, own, job->call, err);
    if (code == ALINEO_OK)
        code = al_fail(err, ALINEO_CAPABILITY_UNSUPPORTED, NULL,
                       "provider %s has neither files nor commands with exact streams",
                       client->provider->id);
    return code;
}

static alineo_code check_options(const alineo_file_options *options, alineo_error **err) {
    alineo_code code = al_choice_check("parents", options->parents, err);
    if (code == ALINEO_OK && (options->mode & ~07777u) != 0)
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, "use permission bits, 07777 at most",
                       "mode is 0%o", options->mode);
    return code;
}

/* The door of all file calls. */
static alineo_code enter(alineo_sandbox *sandbox, const char *path,
                         const alineo_file_options *given, const char *doing, al_file_job *job,
                         const file_way **way, alineo_error **err) {
    alineo_file_options options;
    alineo_code code = al_sandbox_enter(sandbox, err);
    if (code == ALINEO_OK)
        code = AL_STRUCT_READ(&options, given, "file options", err);
    if (code == ALINEO_OK)
        code = al_path_check("path", path, err);
    if (code == ALINEO_OK)
        code = check_options(&options, err);
    if (code == ALINEO_OK)
        code = al_call_check(options.call, doing, err);
    if (code != ALINEO_OK)
        return code;
    *job =
        (al_file_job){.sandbox = sandbox,
                      .path = path,
                      .mode = options.mode,
                      .parents = options.parents != ALINEO_NO,
                      .offset = options.offset,
                      .max_bytes = options.max_bytes != 0 ? options.max_bytes : default_max_bytes,
                      .call = options.call};
    return choose_way(job, way, err);
}

static alineo_code end(const al_file_job *job, const char *doing, alineo_code code,
                       alineo_error **err) {
    if (code != ALINEO_OK) {
        (void)al_wrap(err, "%s %s in sandbox %s", doing, job->path, job->sandbox->state->id);
        al_error_set_sandbox(err, job->sandbox->state->id);
    }
    return code;
}

alineo_code alineo_file_write(alineo_sandbox *sandbox, const char *path, const void *data,
                              size_t size, const alineo_file_options *options, alineo_error **err) {
    al_file_job job;
    const file_way *way;
    alineo_code code = enter(sandbox, path, options, "write a file", &job, &way, err);
    if (code == ALINEO_OK && data == NULL && size > 0)
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "write a file: `data` is NULL");
    if (code == ALINEO_OK && job.offset != 0)
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, "it is for reading",
                       "write a file: `offset` is set");
    if (code != ALINEO_OK)
        return code;
    return end(&job, "write", way->write(&job, data, size, err), err);
}

alineo_code alineo_file_read(alineo_sandbox *sandbox, const char *path,
                             const alineo_file_options *options, alineo_bytes *out,
                             alineo_error **err) {
    al_file_job job;
    const file_way *way;
    alineo_code code = enter(sandbox, path, options, "read a file", &job, &way, err);
    if (code == ALINEO_OK && (out == NULL || !AL_STRUCT_HAS(out, data_size)))
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, "initialise it with ALINEO_BYTES_INIT",
                       "read a file: `out` is not initialised");
    if (code != ALINEO_OK)
        return code;
    al_auto(al_buf_free) al_buf bytes = AL_BUF_INIT;
    code = end(&job, "read", way->read(&job, &bytes, err), err);
    if (code != ALINEO_OK)
        return code;
    size_t size = 0;
    char *data = al_buf_steal(&bytes, &size);
    if (data == NULL)
        return al_fail_memory(err);
    alineo_bytes_clear(out);
    out->data = data;
    out->data_size = size;
    return ALINEO_OK;
}
