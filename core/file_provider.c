/* SPDX-License-Identifier: Apache-2.0 */
#include "core/call_private.h"
#include "core/file_private.h"
#include "core/util/io.h"

#include <errno.h>

enum {
    PIECE_SIZE = 1 << 20, /* moved between two looks at the caller's call */
    WAIT_MS = 100         /* for a descriptor that is not ready */
};

/* An open file of the provider. */
typedef struct open_file {
    const al_file_job *job;
    al_provider_binding *provider;
    alineo_file_io io;
} open_file;

static void open_file_end(open_file *self) {
    if (self->io.file != NULL)
        self->provider->table->file_close(self->provider->self, self->io.file);
}
AL_CLEANUP_INSIDE(open_file, open_file_end);

static alineo_code open_by(open_file *self, int writing, const alineo_file_request *request,
                           alineo_error **err) {
    al_provider_binding *provider = self->provider;
    alineo_error *failure = NULL;
    const char *id = self->job->sandbox->state->id;
    alineo_code code =
        writing ? provider->table->file_open_write(provider->self, id, request, &self->io, &failure)
                : provider->table->file_open_read(provider->self, id, request, &self->io, &failure);
    (void)al_from_plugin(code, provider->plugin, writing ? "file_open_write" : "file_open_read",
                         &failure);
    return al_error_give(&failure, err);
}

/* A descriptor that is not ready: waits a little; the caller looks at its call meanwhile. */
static alineo_code wait_ready(int fd, short events, alineo_error **err) {
    int rc = al_poll_fd(fd, events, al_deadline_after_ms(WAIT_MS), NULL);
    if (rc == 0 || rc == ETIMEDOUT)
        return ALINEO_OK;
    return al_fail_errno(err, ALINEO_IO, rc, NULL, "wait for the file");
}

/* --- writing ---------------------------------------------------------------------------------- */

static alineo_code write_failed(int rc, alineo_error **err) {
    alineo_code code = rc == ENOSPC || rc == EDQUOT ? ALINEO_NO_SPACE
                       : rc == EFBIG                ? ALINEO_TOO_LARGE
                                                    : ALINEO_IO;
    return al_fail_errno(err, code, rc, code == ALINEO_NO_SPACE ? "free some space" : NULL,
                         "write");
}

static alineo_code write_to_fd(const open_file *self, const char *data, size_t size,
                               alineo_error **err) {
    size_t done = 0;
    while (done < size) {
        alineo_code code = al_call_check(self->job->call, "write", err);
        if (code != ALINEO_OK)
            return code;
        size_t piece = size - done < PIECE_SIZE ? size - done : PIECE_SIZE;
        size_t written = 0;
        int rc = al_write_some(self->io.fd, data + done, piece, &written);
        if (rc == EAGAIN)
            code = wait_ready(self->io.fd, POLLOUT, err);
        else if (rc != 0)
            return write_failed(rc, err);
        if (code != ALINEO_OK)
            return code;
        done += written;
    }
    return ALINEO_OK;
}

static alineo_code write_by_calls(const open_file *self, const char *data, size_t size,
                                  alineo_error **err) {
    al_provider_binding *provider = self->provider;
    for (size_t done = 0; done < size;) {
        alineo_code code = al_call_check(self->job->call, "write", err);
        if (code != ALINEO_OK)
            return code;
        size_t piece = size - done < PIECE_SIZE ? size - done : PIECE_SIZE;
        alineo_error *failure = NULL;
        code = provider->table->file_write(provider->self, self->io.file, data + done, piece,
                                           &failure);
        code = al_from_plugin(code, provider->plugin, "file_write", &failure);
        if (code != ALINEO_OK)
            return al_error_give(&failure, err);
        done += piece;
    }
    return ALINEO_OK;
}

alineo_code al_file_provider_write(const al_file_job *job, const void *data, size_t size,
                                   alineo_error **err) {
    al_provider_binding *provider = job->sandbox->client->provider;
    al_auto(open_file_end)
        open_file self = {.job = job, .provider = provider, .io = ALINEO_FILE_IO_INIT};
    alineo_file_request request = {.size = sizeof(request),
                                   .path = job->path,
                                   .flags = (job->parents ? ALINEO_FILE_PARENTS : 0) |
                                            (job->mode != 0 ? ALINEO_FILE_MODE : 0),
                                   .mode = job->mode,
                                   .call = job->call};
    alineo_code code = open_by(&self, 1, &request, err);
    if (code == ALINEO_OK)
        code = self.io.fd >= 0 ? write_to_fd(&self, data, size, err)
                               : write_by_calls(&self, data, size, err);
    if (code != ALINEO_OK)
        return code;
    alineo_error *failure = NULL;
    code = provider->table->file_finish(provider->self, self.io.file, self.io.fd >= 0 ? size : 0,
                                        &failure);
    (void)al_from_plugin(code, provider->plugin, "file_finish", &failure);
    return al_error_give(&failure, err);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* The next piece, up to `capacity` bytes; *used 0 with *at_end: the end; else nothing came yet. */
static alineo_code read_piece(const open_file *self, char *buffer, size_t capacity, size_t *used,
                              int *at_end, alineo_error **err) {
    *used = 0;
    *at_end = 0;
    if (self->io.fd >= 0) {
        int rc = al_read_some(self->io.fd, buffer, capacity, used);
        if (rc == EAGAIN)
            return wait_ready(self->io.fd, POLLIN, err);
        if (rc != 0)
            return al_fail_errno(err, rc == EISDIR ? ALINEO_IS_A_DIRECTORY : ALINEO_IO, rc, NULL,
                                 "read");
        *at_end = *used == 0;
        return ALINEO_OK;
    }
    al_provider_binding *provider = self->provider;
    alineo_error *failure = NULL;
    alineo_code code =
        provider->table->file_read(provider->self, self->io.file, buffer, capacity, used, &failure);
    code = al_from_plugin(code, provider->plugin, "file_read", &failure);
    if (code == ALINEO_OK && *used > capacity)
        code = al_fail(&failure, ALINEO_INTERNAL, "tell the makers of the plugin",
                       "%s: file_read gave more than there is room for", provider->plugin);
    *at_end = *used == 0;
    return al_error_give(&failure, err);
}

static alineo_code read_all(const open_file *self, al_buf *out, alineo_error **err) {
    const al_file_job *job = self->job;
    for (;;) {
        alineo_code code = al_call_check(job->call, "read", err);
        if (code != ALINEO_OK)
            return code;
        /* One byte more than is allowed tells that there is more. */
        uint64_t room = job->max_bytes - out->size;
        size_t capacity = room < PIECE_SIZE ? (size_t)room + 1 : PIECE_SIZE;
        char *buffer = al_buf_reserve(out, capacity);
        if (buffer == NULL)
            return al_fail_memory(err);
        size_t used = 0;
        int at_end = 0;
        code = read_piece(self, buffer, capacity, &used, &at_end, err);
        if (code != ALINEO_OK || at_end)
            return code;
        if (used > room)
            return al_file_too_large(job, err);
        al_buf_commit(out, used);
    }
}

alineo_code al_file_provider_read(const al_file_job *job, al_buf *out, alineo_error **err) {
    al_auto(open_file_end) open_file self = {
        .job = job, .provider = job->sandbox->client->provider, .io = ALINEO_FILE_IO_INIT};
    self.io.bytes = UINT64_MAX;
    alineo_file_request request = {.size = sizeof(request),
                                   .path = job->path,
                                   .offset = job->offset,
                                   .length = job->max_bytes == UINT64_MAX ? 0 : job->max_bytes + 1,
                                   .call = job->call};
    alineo_code code = open_by(&self, 0, &request, err);
    return code == ALINEO_OK ? read_all(&self, out, err) : code;
}
