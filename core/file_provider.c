/* SPDX-License-Identifier: Apache-2.0 */
/* Files by the provider's own functions. */
#include "core/file_private.h"

#include "core/call_private.h"
#include "core/util/io.h"

#include <errno.h>
#include <stdlib.h>

enum {
    PIECE_SIZE = 1 << 20, /* moved between two looks at the caller's call */
    WAIT_MS = 100         /* for a descriptor that is not ready */
};

typedef struct provider_file {
    al_open_file base;
    alineo_file_io io;
    uint64_t written; /* through the descriptor */
} provider_file;

static provider_file *of(al_open_file *file) {
    return AL_CONTAINER(file, provider_file, base);
}

static al_provider_binding *provider_of(const al_file_job *job) {
    return job->sandbox->client->provider;
}

/* Takes what a function of the table gave. */
static alineo_code take(al_provider_binding *provider, const char *function, alineo_code code,
                        alineo_error **failure, alineo_error **err) {
    (void)al_from_plugin(code, provider->plugin, function, failure);
    return al_error_give(failure, err);
}

/* --- open files ------------------------------------------------------------------------------- */

static alineo_code open_by(const al_file_job *job, bool writing, alineo_file_io *io,
                           alineo_error **err) {
    al_provider_binding *provider = provider_of(job);
    const char *id = job->sandbox->state->id;
    alineo_error *failure = NULL;
    alineo_code code =
        writing ? provider->table->file_open_write(provider->self, id, &job->request, io, &failure)
                : provider->table->file_open_read(provider->self, id, &job->request, io, &failure);
    return take(provider, writing ? "file_open_write" : "file_open_read", code, &failure, err);
}

static alineo_code open_file(const al_file_job *job, bool writing, al_open_file **out,
                             alineo_error **err) {
    provider_file *file = calloc(1, sizeof(*file));
    if (file == NULL)
        return al_fail_memory(err);
    *file = (provider_file){
        .base = {.way = job->way, .sandbox = job->sandbox, .call = job->request.call},
        .io = ALINEO_FILE_IO_INIT};
    file->io.bytes = UINT64_MAX;
    alineo_code code = open_by(job, writing, &file->io, err);
    if (code != ALINEO_OK) {
        free(file);
        return code;
    }
    file->base.bytes = file->io.bytes;
    *out = &file->base;
    return ALINEO_OK;
}

static void close_file(al_open_file *file) {
    provider_file *self = of(file);
    al_provider_binding *provider = file->sandbox->client->provider;
    /* In a forked child nobody is called. */
    if (self->io.file != NULL && !al_client_is_forked(file->sandbox->client))
        provider->table->file_close(provider->self, self->io.file);
    free(self);
}

/* A descriptor that is not ready: waits a little; the caller looks at its call meanwhile. */
static alineo_code wait_ready(int fd, short events, alineo_error **err) {
    int rc = al_poll_fd(fd, events, al_deadline_after_ms(WAIT_MS), NULL);
    if (rc == 0 || rc == ETIMEDOUT)
        return ALINEO_OK;
    return al_fail_errno(err, ALINEO_IO, rc, NULL, "wait for the file");
}

static alineo_code write_failed(int rc, alineo_error **err) {
    alineo_code code = rc == ENOSPC || rc == EDQUOT ? ALINEO_NO_SPACE
                       : rc == EFBIG                ? ALINEO_TOO_LARGE
                                                    : ALINEO_IO;
    return al_fail_errno(err, code, rc, code == ALINEO_NO_SPACE ? "free some space" : NULL,
                         "write");
}

static alineo_code write_to_fd(provider_file *self, const char *data, size_t size,
                               alineo_error **err) {
    size_t done = 0;
    while (done < size) {
        alineo_code code = al_call_check(self->base.call, "write", err);
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
        self->written += written;
    }
    return ALINEO_OK;
}

static alineo_code write_by_calls(provider_file *self, const char *data, size_t size,
                                  alineo_error **err) {
    al_provider_binding *provider = self->base.sandbox->client->provider;
    for (size_t done = 0; done < size;) {
        alineo_code code = al_call_check(self->base.call, "write", err);
        if (code != ALINEO_OK)
            return code;
        size_t piece = size - done < PIECE_SIZE ? size - done : PIECE_SIZE;
        alineo_error *failure = NULL;
        code = provider->table->file_write(provider->self, self->io.file, data + done, piece,
                                           &failure);
        code = take(provider, "file_write", code, &failure, err);
        if (code != ALINEO_OK)
            return code;
        done += piece;
    }
    return ALINEO_OK;
}

static alineo_code write_file(al_open_file *file, const void *data, size_t size,
                              alineo_error **err) {
    provider_file *self = of(file);
    return self->io.fd >= 0 ? write_to_fd(self, data, size, err)
                            : write_by_calls(self, data, size, err);
}

static alineo_code finish_file(al_open_file *file, alineo_error **err) {
    provider_file *self = of(file);
    al_provider_binding *provider = file->sandbox->client->provider;
    alineo_error *failure = NULL;
    alineo_code code =
        provider->table->file_finish(provider->self, self->io.file, self->written, &failure);
    return take(provider, "file_finish", code, &failure, err);
}

static alineo_code read_from_fd(provider_file *self, void *buffer, size_t capacity, size_t *used,
                                alineo_error **err) {
    for (;;) {
        int rc = al_read_some(self->io.fd, buffer, capacity, used);
        if (rc == 0)
            return ALINEO_OK;
        if (rc != EAGAIN)
            return al_fail_errno(err, rc == EISDIR ? ALINEO_IS_A_DIRECTORY : ALINEO_IO, rc, NULL,
                                 "read");
        alineo_code code = wait_ready(self->io.fd, POLLIN, err);
        if (code == ALINEO_OK)
            code = al_call_check(self->base.call, "read", err);
        if (code != ALINEO_OK)
            return code;
    }
}

static alineo_code read_file(al_open_file *file, void *buffer, size_t capacity, size_t *used,
                             alineo_error **err) {
    provider_file *self = of(file);
    if (self->io.fd >= 0)
        return read_from_fd(self, buffer, capacity, used, err);
    al_provider_binding *provider = file->sandbox->client->provider;
    alineo_error *failure = NULL;
    size_t given = 0;
    alineo_code code = provider->table->file_read(provider->self, self->io.file, buffer, capacity,
                                                  &given, &failure);
    code = al_from_plugin(code, provider->plugin, "file_read", &failure);
    if (code == ALINEO_OK && given > capacity)
        code = al_fail(&failure, ALINEO_INTERNAL, "tell the makers of the plugin",
                       "%s: file_read gave more than there is room for", provider->plugin);
    if (code == ALINEO_OK)
        *used = given;
    return al_error_give(&failure, err);
}

/* --- the rest --------------------------------------------------------------------------------- */

typedef alineo_code tell_fn(alineo_provider *self, const char *id,
                            const alineo_file_request *request, alineo_file_info_fn *found,
                            void *user, alineo_error **err);
typedef alineo_code change_fn(alineo_provider *self, const char *id,
                              const alineo_file_request *request, alineo_error **err);

static alineo_code tell(const al_file_job *job, tell_fn *function, const char *name,
                        alineo_file_info_fn *found, void *user, alineo_error **err) {
    al_provider_binding *provider = provider_of(job);
    alineo_error *failure = NULL;
    alineo_code code =
        function(provider->self, job->sandbox->state->id, &job->request, found, user, &failure);
    return take(provider, name, code, &failure, err);
}

static alineo_code stat_file(const al_file_job *job, alineo_file_info_fn *found, void *user,
                             alineo_error **err) {
    return tell(job, provider_of(job)->table->file_stat, "file_stat", found, user, err);
}

static alineo_code list_folder(const al_file_job *job, alineo_file_info_fn *found, void *user,
                               alineo_error **err) {
    return tell(job, provider_of(job)->table->file_list, "file_list", found, user, err);
}

static alineo_code search(const al_file_job *job, alineo_file_info_fn *found, void *user,
                          alineo_error **err) {
    return tell(job, provider_of(job)->table->file_search, "file_search", found, user, err);
}

static alineo_code change(const al_file_job *job, al_file_change what, alineo_error **err) {
    al_provider_binding *provider = provider_of(job);
    const alineo_provider_table *table = provider->table;
    const struct {
        change_fn *function;
        const char *name;
    } changes[] = {
        [AL_FILE_MKDIR] = {table->file_mkdir, "file_mkdir"},
        [AL_FILE_REMOVE] = {table->file_remove, "file_remove"},
        [AL_FILE_RMDIR] = {table->file_rmdir, "file_rmdir"},
        [AL_FILE_MOVE] = {table->file_move, "file_move"},
        [AL_FILE_CHMOD] = {table->file_chmod, "file_chmod"},
        [AL_FILE_CHOWN] = {table->file_chown, "file_chown"},
        [AL_FILE_LINK] = {table->file_link, "file_link"},
    };
    alineo_error *failure = NULL;
    alineo_code code =
        changes[what].function(provider->self, job->sandbox->state->id, &job->request, &failure);
    return take(provider, changes[what].name, code, &failure, err);
}

static alineo_code replace(const al_file_job *job, uint64_t *count, alineo_error **err) {
    al_provider_binding *provider = provider_of(job);
    alineo_error *failure = NULL;
    alineo_code code = provider->table->file_replace(provider->self, job->sandbox->state->id,
                                                     &job->request, count, &failure);
    return take(provider, "file_replace", code, &failure, err);
}

const al_file_way al_file_by_provider = {
    .open = open_file,
    .read = read_file,
    .write = write_file,
    .finish = finish_file,
    .close = close_file,
    .stat = stat_file,
    .list = list_folder,
    .search = search,
    .change = change,
    .replace = replace,
};
