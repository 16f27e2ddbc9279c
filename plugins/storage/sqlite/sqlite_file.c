/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/sqlite/sqlite_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/file.h"
#include "core/util/path.h"
#include "core/util/random.h"
#include "core/util/str.h"

static alineo_code fail_path(const alineo_storage *self, const char *path, int error_number,
                             const char *what, const char *hint, alineo_error **err) {
    if (error_number == ENOMEM)
        return sqlite_no_memory(self, "open storage sqlite", err);
    return self->host->fail(self->host, err, ALINEO_STORAGE_UNAVAILABLE, hint,
                            "open storage sqlite: %s %s: %s", what, path,
                            strerrordesc_np(error_number));
}

/* Absolute, so that the host program may change its folder; the folder must be there. */
static int resolve(const char *path, char **out) {
    al_autofree char *folder = al_path_parent(path);
    if (folder == NULL)
        return ENOMEM;
    al_autofree char *absolute = realpath(folder, NULL);
    if (absolute == NULL)
        return errno;
    char *resolved = al_path_join(absolute, al_path_name(path));
    if (resolved == NULL)
        return ENOMEM;
    *out = resolved;
    return 0;
}

/* Makes an empty file of our own mode (which the files beside it take after) and puts it in place,
 * unless there is one by then. The file in place is never opened here, see the header. */
static int make_file(const char *path) {
    char id[17];
    int rc = al_random_id(id, 16);
    if (rc != 0)
        return rc;
    al_autofree char *other = al_strf("%s.%s.new", path, id);
    if (other == NULL)
        return ENOMEM;
    int fd = open(other, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    al_close(fd);
    rc = link(other, path) == 0 || errno == EEXIST ? 0 : errno;
    if (unlink(other) != 0 && rc == 0)
        rc = errno;
    return rc;
}

static alineo_code check_file(alineo_storage *self, alineo_error **err) {
    struct stat status;
    if (stat(self->path, &status) != 0) {
        if (errno != ENOENT)
            return fail_path(self, self->path, errno, "look at", NULL, err);
        int rc = make_file(self->path);
        if (rc != 0)
            return fail_path(self, self->path, rc, "make",
                             "let this user write in the folder, or name another storage.path",
                             err);
        return ALINEO_OK;
    }
    if (S_ISDIR(status.st_mode))
        return self->host->fail(self->host, err, ALINEO_STORAGE_UNAVAILABLE,
                                "name a file in it as storage.path",
                                "open storage sqlite: %s is a folder", self->path);
    if (!S_ISREG(status.st_mode))
        return self->host->fail(self->host, err, ALINEO_STORAGE_UNAVAILABLE,
                                "name a plain file as storage.path",
                                "open storage sqlite: %s is no plain file", self->path);
    return ALINEO_OK;
}

alineo_code sqlite_file_prepare(alineo_storage *self, const char *path, alineo_error **err) {
    if (strcmp(path, ":memory:") == 0) {
        self->in_memory = true;
        self->reader = &self->writer;
        self->path = al_strdup(path);
        return self->path != NULL ? ALINEO_OK : sqlite_no_memory(self, "open storage sqlite", err);
    }
    if (path[strlen(path) - 1] == '/')
        return self->host->fail(self->host, err, ALINEO_STORAGE_UNAVAILABLE,
                                "name a file in it as storage.path",
                                "open storage sqlite: %s is a folder", path);
    int rc = al_mkdir_parents_of(path, 0700);
    if (rc == 0)
        rc = resolve(path, &self->path);
    if (rc != 0)
        return fail_path(self, path, rc, "make the folder of",
                         "see that every part of the path is a folder that this user may use", err);
    return check_file(self, err);
}

static uint64_t size_of(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

uint64_t sqlite_file_size(const alineo_storage *self) {
    if (self->in_memory)
        return 0;
    al_autofree char *wal = al_strf("%s-wal", self->path);
    return size_of(self->path) + (wal != NULL ? size_of(wal) : 0);
}
