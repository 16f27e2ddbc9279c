/* SPDX-License-Identifier: Apache-2.0 */
/* The door of all calls on files, and whole files. */
#include "core/file_private.h"

#include "core/call_private.h"
#include "core/check.h"
#include "core/struct.h"
#include "core/util/buf.h"

#include <sys/mman.h>

enum {
    PIECE_SIZE = 1 << 20, /* read between two looks at the caller's call */
    LARGE_SIZE = 8 << 20,
    PAGE_SIZE = 4096
};
static const uint64_t default_max_bytes = 64u << 20;

void alineo_file_options_init(alineo_file_options *options) {
    *options = (alineo_file_options)ALINEO_FILE_OPTIONS_INIT;
}

/* --- the door --------------------------------------------------------------------------------- */

/* The provider's own functions where they can be had, else commands. */
static alineo_code choose_way(al_file_job *job, alineo_error **err) {
    static const char *const own[] = {ALINEO_CAP_FILES "=unverified", NULL}; /* or more */
    static const char *const any[] = {ALINEO_CAP_FILES, NULL};
    const alineo_client *client = job->sandbox->client;
    al_capabilities *capabilities = client->capabilities;
    alineo_error *failure = NULL;
    job->way = &al_file_by_provider;
    alineo_code code = ALINEO_CAPABILITY_UNSUPPORTED;
    if (AL_HAS(client->provider->table, file_open_read))
        code = al_capabilities_require(capabilities, own, job->request.call, &failure);
    if (code != ALINEO_CAPABILITY_UNSUPPORTED)
        return al_error_give(&failure, err);
    alineo_error_free(failure);
    job->way = &al_file_by_command;
    return al_capabilities_require(capabilities, any, job->request.call, err);
}

alineo_code al_file_enter(alineo_sandbox *sandbox, const char *path, alineo_call *call,
                          const char *doing, al_file_job *job, alineo_error **err) {
    alineo_code code = al_sandbox_enter(sandbox, err);
    if (code == ALINEO_OK)
        code = al_path_check("path", path, err);
    if (code == ALINEO_OK)
        code = al_call_check(call, doing, err);
    if (code != ALINEO_OK)
        return code;
    *job = (al_file_job){
        .sandbox = sandbox,
        .request = {.size = sizeof(job->request), .path = path, .call = call},
    };
    return choose_way(job, err);
}

alineo_code al_file_end(const al_file_job *job, const char *doing, alineo_code code,
                        alineo_error **err) {
    if (code != ALINEO_OK) {
        const char *id = job->sandbox->state->id;
        (void)al_wrap(err, "%s %s in sandbox %s", doing, job->request.path, id);
        al_error_set_sandbox(err, id);
    }
    return code;
}

alineo_code al_file_mode_check(uint32_t mode, alineo_error **err) {
    if ((mode & ~07777u) == 0)
        return ALINEO_OK;
    return al_fail(err, ALINEO_INVALID_ARGUMENT, "use permission bits, 07777 at most",
                   "mode is 0%o", mode);
}

alineo_code al_file_misplaced(const char *doing, const char *field, alineo_error **err) {
    return al_fail(err, ALINEO_INVALID_ARGUMENT, "leave it at its default",
                   "%s: `%s` is set, which is for other calls", doing, field);
}

/* --- whole files ------------------------------------------------------------------------------ */

static alineo_code write_whole(const al_file_job *job, const void *data, size_t size,
                               alineo_error **err) {
    al_auto(al_open_file_free) al_open_file *file = NULL;
    alineo_code code = al_open_file_new(job, true, &file, err);
    if (code == ALINEO_OK && size > 0)
        code = job->way->write(file, data, size, err);
    return code == ALINEO_OK ? job->way->finish(file, err) : code;
}

alineo_code alineo_file_write(alineo_sandbox *sandbox, const char *path, const void *data,
                              size_t size, const alineo_file_options *options, alineo_error **err) {
    static const char doing[] = "write a file";
    alineo_file_options own;
    al_file_job job;
    alineo_code code = al_file_write_options(options, doing, &own, err);
    if (code == ALINEO_OK && data == NULL && size > 0)
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "%s: `data` is NULL", doing);
    if (code == ALINEO_OK)
        code = al_file_enter(sandbox, path, own.call, doing, &job, err);
    if (code != ALINEO_OK)
        return code;
    al_file_ask_write(&job, &own);
    return al_file_end(&job, "write", write_whole(&job, data, size, err), err);
}

static alineo_code fail_too_large(uint64_t max_bytes, alineo_error **err) {
    return al_fail(err, ALINEO_TOO_LARGE, "raise max_bytes, or read it in parts by `offset`",
                   "more than %llu bytes are in it", (unsigned long long)max_bytes);
}

/* Room for what is said to come, as far as it may be, and for a byte that should not. */
static size_t first_room(uint64_t to_come, uint64_t max_bytes) {
    uint64_t room = to_come < max_bytes ? to_come : max_bytes;
    if (to_come == UINT64_MAX)
        room = PIECE_SIZE / 2;
    return room < SIZE_MAX / 2 ? (size_t)room + 1 : SIZE_MAX / 2;
}

/* Most of the time of a large read goes into fresh memory, page by page: larger pages cut that to a
 * part. Only for speed, and may fail. */
static void ask_for_large_pages(char *data, size_t size) {
    uintptr_t begin = ((uintptr_t)data + PAGE_SIZE - 1) & ~(uintptr_t)(PAGE_SIZE - 1);
    uintptr_t end = ((uintptr_t)data + size) & ~(uintptr_t)(PAGE_SIZE - 1);
    if (size >= LARGE_SIZE)
        (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}

/* Reads to the end; one byte more than is allowed tells that there is more. */
static alineo_code read_whole(const al_file_job *job, uint64_t max_bytes, al_buf *out,
                              alineo_error **err) {
    al_auto(al_open_file_free) al_open_file *file = NULL;
    alineo_code code = al_open_file_new(job, false, &file, err);
    if (code != ALINEO_OK)
        return code;
    size_t capacity = first_room(file->bytes, max_bytes);
    for (;;) {
        char *buffer = al_buf_reserve(out, capacity);
        if (buffer == NULL)
            return al_fail_memory(err);
        if (out->size == 0)
            ask_for_large_pages(buffer, capacity);
        size_t used = 0;
        code = al_open_file_read(file, buffer, capacity < PIECE_SIZE ? capacity : PIECE_SIZE, &used,
                                 err);
        if (code == ALINEO_OK)
            code = al_call_check(job->request.call, "read", err);
        if (code != ALINEO_OK || used == 0)
            return code;
        if (used > max_bytes - out->size)
            return fail_too_large(max_bytes, err);
        al_buf_commit(out, used);
        capacity -= used;
        if (capacity == 0)
            capacity = PIECE_SIZE;
    }
}

alineo_code alineo_file_read(alineo_sandbox *sandbox, const char *path,
                             const alineo_file_options *options, alineo_bytes *out,
                             alineo_error **err) {
    static const char doing[] = "read a file";
    alineo_file_options own;
    al_file_job job;
    alineo_code code = al_file_read_options(options, true, doing, &own, err);
    if (code == ALINEO_OK && (out == NULL || !AL_STRUCT_HAS(out, data_size)))
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, "initialise it with ALINEO_BYTES_INIT",
                       "%s: `out` is not initialised", doing);
    if (code == ALINEO_OK)
        code = al_file_enter(sandbox, path, own.call, doing, &job, err);
    if (code != ALINEO_OK)
        return code;

    uint64_t max_bytes = own.max_bytes != 0 ? own.max_bytes : default_max_bytes;
    uint64_t wanted = max_bytes < UINT64_MAX ? max_bytes + 1 : 0;
    job.request.offset = own.offset;
    job.request.length =
        own.length != 0 && (own.length < wanted || wanted == 0) ? own.length : wanted;
    al_auto(al_buf_free) al_buf bytes = AL_BUF_INIT;
    code = al_file_end(&job, "read", read_whole(&job, max_bytes, &bytes, err), err);
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
