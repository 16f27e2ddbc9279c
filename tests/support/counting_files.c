/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/counting_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/io.h"
#include "core/util/path.h"
#include "core/util/str.h"
#include "tests/support/fail_alloc.h"
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

/* --- what there is ---------------------------------------------------------------------------- */

counting_file *counting_find(counting_provider *provider, const char *path) {
    for (size_t i = 0; i < provider->file_count; i++)
        if (strcmp(provider->files[i].path, path) == 0)
            return &provider->files[i];
    return NULL;
}

const counting_file *counting_file_at(counting_provider *provider, const char *path) {
    return counting_find(provider, path);
}

counting_file *counting_follow(counting_provider *provider, const char *path) {
    FAIL_ALLOC_SPARED;
    counting_file *file = counting_find(provider, path);
    for (int i = 0; i < 40 && file != NULL && file->type == ALINEO_FILE_SYMLINK; i++) {
        al_autofree char *folder = al_path_parent(file->path);
        al_autofree char *target = al_path_resolve(folder, file->data);
        al_autofree char *normal = al_path_normalise(target);
        file = counting_find(provider, normal);
    }
    return file;
}

static void file_free(counting_file *file) {
    free(file->path);
    free(file->data);
}

void counting_forget(counting_provider *provider, counting_file *file) {
    file_free(file);
    *file = provider->files[--provider->file_count];
}

void counting_free_files(counting_provider *provider) {
    for (size_t i = 0; i < provider->file_count; i++)
        file_free(&provider->files[i]);
    free(provider->files);
}

/* The place to keep a file of that path in. */
static counting_file *slot_for(counting_provider *provider, const char *path) {
    counting_file *file = counting_find(provider, path);
    if (file == NULL) {
        counting_file *grown =
            realloc(provider->files, (provider->file_count + 1) * sizeof(*grown));
        assert_non_null(grown);
        provider->files = grown;
        file = &grown[provider->file_count++];
        *file = (counting_file){.path = al_strdup(path), .owner = "root", .group = "root"};
    }
    return file;
}

void counting_put(counting_provider *provider, const char *path, alineo_file_type type,
                  const void *data, size_t size, uint32_t mode) {
    FAIL_ALLOC_SPARED;
    counting_file *file = slot_for(provider, path);
    free(file->data);
    file->type = type;
    file->data = al_memdup(size > 0 ? data : "", size);
    assert_non_null(file->data);
    file->size = size;
    file->mode = mode;
}

alineo_code counting_fail(counting_provider *provider, alineo_code code, const char *path,
                          alineo_error **err) {
    return (provider->host->fail)(provider->host, err, code, NULL, "%s: %s", path,
                                  alineo_code_name(code));
}

alineo_code counting_above(counting_provider *provider, const char *path, int make,
                           alineo_error **err) {
    FAIL_ALLOC_SPARED;
    al_autofree char *folder = al_path_parent(path);
    if (strcmp(folder, "/") == 0)
        return ALINEO_OK;
    const counting_file *file = counting_follow(provider, folder);
    if (file != NULL && file->type == ALINEO_FILE_DIRECTORY)
        return ALINEO_OK;
    if (file != NULL)
        return counting_fail(provider, ALINEO_NOT_A_DIRECTORY, path, err);
    alineo_code code = counting_above(provider, folder, make, err);
    if (code != ALINEO_OK)
        return code;
    if (!make)
        return counting_fail(provider, ALINEO_FILE_NOT_FOUND, path, err);
    counting_put(provider, folder, ALINEO_FILE_DIRECTORY, "", 0, 0);
    return ALINEO_OK;
}

/* --- open files ------------------------------------------------------------------------------- */

static alineo_code open_handle(counting_provider *provider, const alineo_file_request *request,
                               int writing, alineo_file_io *io, alineo_error **err) {
    FAIL_ALLOC_SPARED;
    handle *self = calloc(1, sizeof(*self));
    if (self == NULL)
        return (provider->host->fail)(provider->host, err, ALINEO_NO_MEMORY, NULL, "no memory");
    const counting_file *there = counting_follow(provider, request->path);
    self->path = al_strdup(there != NULL ? there->path : request->path);
    self->fd = memfd_create("file", MFD_CLOEXEC);
    assert_true(self->fd >= 0);
    self->writing = writing;
    self->flags = request->flags;
    self->mode = request->mode;
    io->file = (void *)self;
    io->fd = provider->files_by_calls ? -1 : self->fd;
    return ALINEO_OK;
}

static alineo_code wrong_type(const counting_file *file) {
    return file->type == ALINEO_FILE_DIRECTORY ? ALINEO_IS_A_DIRECTORY : ALINEO_INVALID_ARGUMENT;
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
    alineo_code code = counting_above(self, request->path, 0, err);
    if (code != ALINEO_OK)
        return code;
    const counting_file *file = counting_follow(self, request->path);
    if (file == NULL)
        return counting_fail(self, ALINEO_FILE_NOT_FOUND, request->path, err);
    if (file->type != ALINEO_FILE_REGULAR)
        return counting_fail(self, wrong_type(file), request->path, err);
    code = open_handle(self, request, 0, io, err);
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
    counting_provider *self = of(provider);
    atomic_fetch_add(&self->writes, 1);
    al_autolock(&self->lock);
    int parents = (request->flags & ALINEO_FILE_PARENTS) != 0;
    alineo_code code = counting_above(self, request->path, parents, err);
    const counting_file *file = counting_follow(self, request->path);
    if (code == ALINEO_OK && file != NULL && file->type != ALINEO_FILE_REGULAR)
        code = counting_fail(self, wrong_type(file), request->path, err);
    if (code == ALINEO_OK && file != NULL && (request->flags & ALINEO_FILE_EXCLUSIVE) != 0)
        code = counting_fail(self, ALINEO_FILE_EXISTS, request->path, err);
    if (code == ALINEO_OK)
        code = open_handle(self, request, 1, io, err);
    return code;
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

static alineo_code file_finish(alineo_provider *provider, alineo_provider_file *file,
                               uint64_t written, alineo_error **err) {
    FAIL_ALLOC_SPARED;
    (void)err;
    counting_provider *self = of(provider);
    handle *opened = (void *)file;
    struct stat status;
    assert_int_equal(fstat(opened->fd, &status), 0);
    if (!self->files_by_calls)
        assert_int_equal(written, status.st_size);
    al_autolock(&self->lock);
    counting_file *kept = slot_for(self, opened->path);
    size_t before = (opened->flags & ALINEO_FILE_APPEND) != 0 ? kept->size : 0;
    size_t size = (size_t)status.st_size;
    char *data = malloc(before + size + 1);
    assert_non_null(data);
    if (before > 0)
        memcpy(data, kept->data, before);
    assert_int_equal(lseek(opened->fd, 0, SEEK_SET), 0);
    size_t got = 0;
    assert_int_equal(al_read_full(opened->fd, data + before, size, &got), 0);
    assert_int_equal(got, size);
    free(kept->data);
    kept->type = ALINEO_FILE_REGULAR;
    kept->data = data;
    kept->size = before + size;
    kept->mode = opened->mode;
    kept->flags = opened->flags;
    return ALINEO_OK;
}

static void file_close(alineo_provider *provider, alineo_provider_file *file) {
    (void)provider;
    if (file != NULL)
        handle_free((void *)file);
}

void counting_add_files(alineo_provider_table *table) {
    table->file_open_read = file_open_read;
    table->file_open_write = file_open_write;
    table->file_read = file_read;
    table->file_write = file_write;
    table->file_finish = file_finish;
    table->file_close = file_close;
    counting_add_tree(table);
}
