/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/counting_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/io.h"
#include "core/util/str.h"
#include "tests/support/test.h"

/* An open file. */
typedef struct handle {
    char *path;
    int fd; /* a memfd with what is written, or what is to be read */
    int writing;
    uint32_t flags;
    uint32_t mode;
    size_t left; /* to be read by calls */
} handle;

static counting_provider *of(alineo_provider *self) {
    return (void *)self;
}

const counting_file *counting_file_at(counting_provider *provider, const char *path) {
    for (size_t i = 0; i < provider->file_count; i++)
        if (strcmp(provider->files[i].path, path) == 0)
            return &provider->files[i];
    return NULL;
}

void counting_free_files(counting_provider *provider) {
    for (size_t i = 0; i < provider->file_count; i++) {
        free(provider->files[i].path);
        free(provider->files[i].data);
    }
    free(provider->files);
}

static alineo_code open_handle(counting_provider *provider, const alineo_file_request *request,
                               int writing, alineo_file_io *io, alineo_error **err) {
    handle *self = calloc(1, sizeof(*self));
    if (self == NULL)
        return (provider->host->fail)(provider->host, err, ALINEO_NO_MEMORY, NULL, "no memory");
    self->path = al_strdup(request->path);
    self->fd = memfd_create("file", MFD_CLOEXEC);
    assert_true(self->fd >= 0);
    self->writing = writing;
    self->flags = request->flags;
    self->mode = request->mode;
    io->file = (void *)self;
    io->fd = provider->files_by_calls ? -1 : self->fd;
    return ALINEO_OK;
}

static void handle_free(handle *self) {
    free(self->path);
    al_close(self->fd);
    free(self);
}

static alineo_code file_open_read(alineo_provider *provider, const char *id,
                                  const alineo_file_request *request, alineo_file_io *io,
                                  alineo_error **err) {
    (void)id;
    counting_provider *self = of(provider);
    atomic_fetch_add(&self->reads, 1);
    al_autolock(&self->lock);
    const counting_file *file = counting_file_at(self, request->path);
    if (file == NULL)
        return (self->host->fail)(self->host, err, ALINEO_FILE_NOT_FOUND, NULL, "no such file");
    alineo_code code = open_handle(self, request, 0, io, err);
    if (code != ALINEO_OK)
        return code;
    handle *opened = (void *)io->file;
    size_t begin = request->offset < file->size ? (size_t)request->offset : file->size;
    size_t size = file->size - begin;
    if (request->length != 0 && request->length < size)
        size = (size_t)request->length;
    assert_int_equal(al_write_full(opened->fd, file->data + begin, size), 0);
    assert_int_equal(lseek(opened->fd, 0, SEEK_SET), 0);
    io->bytes = size;
    return ALINEO_OK;
}

static alineo_code file_open_write(alineo_provider *provider, const char *id,
                                   const alineo_file_request *request, alineo_file_io *io,
                                   alineo_error **err) {
    (void)id;
    atomic_fetch_add(&of(provider)->writes, 1);
    return open_handle(of(provider), request, 1, io, err);
}

static alineo_code file_read(alineo_provider *provider, alineo_provider_file *file, void *buffer,
                             size_t capacity, size_t *used, alineo_error **err) {
    (void)provider;
    (void)err;
    /* Short reads are allowed. */
    return al_read_some(((handle *)(void *)file)->fd, buffer, capacity < 1000 ? capacity : 1000,
                        used) == 0
               ? ALINEO_OK
               : ALINEO_IO;
}

static alineo_code file_write(alineo_provider *provider, alineo_provider_file *file,
                              const void *data, size_t data_size, alineo_error **err) {
    (void)provider;
    (void)err;
    assert_int_equal(al_write_full(((handle *)(void *)file)->fd, data, data_size), 0);
    return ALINEO_OK;
}

/* The place to keep a file of that path in. */
static counting_file *slot_for(counting_provider *provider, const char *path) {
    counting_file *file = (counting_file *)(uintptr_t)counting_file_at(provider, path);
    if (file == NULL) {
        counting_file *grown =
            realloc(provider->files, (provider->file_count + 1) * sizeof(*grown));
        assert_non_null(grown);
        provider->files = grown;
        file = &grown[provider->file_count++];
        *file = (counting_file){.path = al_strdup(path)};
    }
    free(file->data);
    return file;
}

static alineo_code file_finish(alineo_provider *provider, alineo_provider_file *file,
                               uint64_t written, alineo_error **err) {
    (void)err;
    counting_provider *self = of(provider);
    handle *opened = (void *)file;
    struct stat status;
    assert_int_equal(fstat(opened->fd, &status), 0);
    if (!self->files_by_calls)
        assert_int_equal(written, status.st_size);
    al_autolock(&self->lock);
    counting_file *kept = slot_for(self, opened->path);
    kept->size = (size_t)status.st_size;
    kept->mode = opened->mode;
    kept->flags = opened->flags;
    kept->data = malloc(kept->size + 1);
    assert_non_null(kept->data);
    assert_int_equal(lseek(opened->fd, 0, SEEK_SET), 0);
    size_t got = 0;
    assert_int_equal(al_read_full(opened->fd, kept->data, kept->size, &got), 0);
    assert_int_equal(got, kept->size);
    return ALINEO_OK;
}

static void file_close(alineo_provider *provider, alineo_provider_file *file) {
    (void)provider;
    if (file != NULL)
        handle_free((void *)file);
}

/* The functions that no test here calls: a group is whole or absent. */
static alineo_code told(alineo_provider *provider, const char *id,
                        const alineo_file_request *request, alineo_file_info_fn *found, void *user,
                        alineo_error **err) {
    (void)id;
    (void)request;
    (void)found;
    (void)user;
    return (of(provider)->host->fail)(of(provider)->host, err, ALINEO_FILE_NOT_FOUND, NULL, "none");
}

static alineo_code done(alineo_provider *provider, const char *id,
                        const alineo_file_request *request, alineo_error **err) {
    return told(provider, id, request, NULL, NULL, err);
}

static alineo_code replaced(alineo_provider *provider, const char *id,
                            const alineo_file_request *request, uint64_t *count,
                            alineo_error **err) {
    (void)count;
    return told(provider, id, request, NULL, NULL, err);
}

void counting_add_files(alineo_provider_table *table) {
    table->file_open_read = file_open_read;
    table->file_open_write = file_open_write;
    table->file_read = file_read;
    table->file_write = file_write;
    table->file_finish = file_finish;
    table->file_close = file_close;
    table->file_stat = table->file_list = table->file_search = told;
    table->file_mkdir = table->file_remove = table->file_rmdir = table->file_move = done;
    table->file_chmod = table->file_chown = table->file_link = done;
    table->file_replace = replaced;
}
