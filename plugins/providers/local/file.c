/* SPDX-License-Identifier: Apache-2.0 */
/* Files: pid 1 of the sandbox does the work in the sandbox, as its root; what is opened comes back
 * as a descriptor, so that bytes flow without anybody between. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/util/io.h"
#include "plugins/providers/local/local.h"

#define ALL_FLAGS                                                                                  \
    (ALINEO_FILE_PARENTS | ALINEO_FILE_APPEND | ALINEO_FILE_EXCLUSIVE | ALINEO_FILE_MODE |         \
     ALINEO_FILE_RECURSIVE | ALINEO_FILE_REPLACE)

struct alineo_provider_file {
    int fd;
    bool appends;
    mode_t special_mode; /* with set-id bits, which writing takes away; 0 = none */
};

/* --- errors ------------------------------------------------------------------------------------*/

static const char *verb_of(uint32_t op) {
    static const char *const verbs[LOCAL_FILE_OPS_END] = {
        [LOCAL_FILE_READ] = "open for reading",
        [LOCAL_FILE_WRITE] = "open for writing",
        [LOCAL_FILE_STAT] = "look at",
        [LOCAL_FILE_MKDIR] = "make the folder",
        [LOCAL_FILE_REMOVE] = "remove the file",
        [LOCAL_FILE_RMDIR] = "remove the folder",
        [LOCAL_FILE_MOVE] = "move",
        [LOCAL_FILE_CHMOD] = "change the mode of",
        [LOCAL_FILE_CHOWN] = "change the owner of",
        [LOCAL_FILE_LINK] = "make the link",
        [LOCAL_FILE_LIST] = "list",
        [LOCAL_FILE_SEARCH] = "search",
        [LOCAL_FILE_REPLACE] = "replace in",
        [LOCAL_FILE_RMTREE] = "remove the folder",
        [LOCAL_FILE_COPY] = "move",
    };
    return verbs[op];
}

static alineo_code code_of(int errnum) {
    static const struct {
        int errnum;
        alineo_code code;
    } codes[] = {
        {ENOENT, ALINEO_FILE_NOT_FOUND},
        {EEXIST, ALINEO_FILE_EXISTS},
        {ENOTDIR, ALINEO_NOT_A_DIRECTORY},
        {EISDIR, ALINEO_IS_A_DIRECTORY},
        {ENOTEMPTY, ALINEO_DIRECTORY_NOT_EMPTY},
        {EACCES, ALINEO_PERMISSION_DENIED},
        {EPERM, ALINEO_PERMISSION_DENIED},
        {EROFS, ALINEO_PERMISSION_DENIED},
        {ENOSPC, ALINEO_NO_SPACE},
        {EDQUOT, ALINEO_NO_SPACE},
        {EFBIG, ALINEO_TOO_LARGE},
        {EINVAL, ALINEO_INVALID_ARGUMENT},
        {ELOOP, ALINEO_INVALID_ARGUMENT},
        {ENAMETOOLONG, ALINEO_INVALID_ARGUMENT},
        {EBUSY, ALINEO_CONFLICT},
        {ETXTBSY, ALINEO_CONFLICT},
        {EWOULDBLOCK, ALINEO_CONFLICT},
        {ENOMEM, ALINEO_NO_MEMORY},
        {ECANCELED, ALINEO_CANCELLED},
    };
    for (size_t i = 0; i < AL_COUNT(codes); i++) {
        if (codes[i].errnum == errnum)
            return codes[i].code;
    }
    return ALINEO_IO;
}

alineo_code local_file_fail(alineo_provider *self, alineo_error **err,
                            const struct local_file *file, int errnum, const char *path) {
    char text[128];
    bool is_kind =
        errnum == EINVAL && (file->op == LOCAL_FILE_READ || file->op == LOCAL_FILE_WRITE);
    const char *reason = is_kind ? "it is no regular file" : strerror_r(errnum, text, sizeof(text));
    return LOCAL_FAIL(self, err, code_of(errnum), NULL, "%s %s: %s", verb_of(file->op),
                      path != NULL && path[0] != '\0' ? path : file->path, reason);
}

/* --- asking ------------------------------------------------------------------------------------*/

static bool is_path(const char *path) {
    return path != NULL && path[0] == '/' && strlen(path) <= LOCAL_PATH_MAX;
}

alineo_code local_file_fill(alineo_provider *self, uint32_t op, const alineo_file_request *request,
                            struct local_file *file, alineo_error **err) {
    if (!is_path(request->path))
        return LOCAL_FAIL(self, err, ALINEO_INVALID_ARGUMENT, "give an absolute path",
                          "%s %.200s: not a path in the sandbox", verb_of(op),
                          request->path != NULL ? request->path : "(none)");
    if ((request->flags & ~ALL_FLAGS) != 0 || request->mode > 07777)
        return LOCAL_FAIL(self, err, ALINEO_INVALID_ARGUMENT, NULL,
                          "%s %s: flags 0x%x, mode 0%o make no sense", verb_of(op), request->path,
                          request->flags, request->mode);
    bool has_target = op == LOCAL_FILE_MOVE || op == LOCAL_FILE_LINK;
    if (has_target &&
        (op == LOCAL_FILE_MOVE ? !is_path(request->target)
                               : request->target == NULL || request->target[0] == '\0' ||
                                     strlen(request->target) > LOCAL_PATH_MAX))
        return LOCAL_FAIL(self, err, ALINEO_INVALID_ARGUMENT, NULL, "%s %s: its target is no path",
                          verb_of(op), request->path);
    *file = (struct local_file){
        .op = op,
        .flags = request->flags,
        .mode = request->mode,
        .depth = request->depth,
        .path = request->path,
        .target = has_target ? request->target : NULL,
        .owner = request->owner,
        .group = request->group,
    };
    return ALINEO_OK;
}

alineo_code local_file_ask(alineo_provider *self, const char *id, const struct local_file *file,
                           int stream_fd, const alineo_call *call,
                           struct local_connection **connection, struct local_file_done *done,
                           alineo_error **err) {
    struct local_connection *used;
    alineo_code code =
        local_ask(self, id, LOCAL_FILE, file, &stream_fd, stream_fd >= 0 ? 1 : 0, call, &used, err);
    if (code != ALINEO_OK)
        return code;
    if (local_message_decode(&used->in, LOCAL_FILE_DONE, done) != 0) {
        local_connection_drop(used);
        return local_fail_garbled(self, err);
    }
    if (done->errnum != 0) {
        code = local_file_fail(self, err, file, (int)done->errnum, NULL);
        local_connection_give(self, used);
        return code;
    }
    *connection = used;
    return ALINEO_OK;
}

/* An operation that gives nothing but success. */
static alineo_code do_simple(alineo_provider *self, const char *id, uint32_t op,
                             const alineo_file_request *request, alineo_error **err) {
    struct local_file file;
    struct local_file_done done;
    struct local_connection *connection;
    alineo_code code = local_file_fill(self, op, request, &file, err);
    if (code == ALINEO_OK)
        code = local_file_ask(self, id, &file, -1, request->call, &connection, &done, err);
    if (code == ALINEO_OK)
        local_connection_give(self, connection);
    return code;
}

/* --- open files --------------------------------------------------------------------------------*/

/* What came from inside is looked at before the host program reads or writes it: a regular file,
 * opened as it was asked for. */
static bool is_sound(int fd, int access) {
    struct stat status;
    int flags = fcntl(fd, F_GETFL);
    return fd >= 0 && flags >= 0 && (flags & O_ACCMODE) == access && (flags & O_PATH) == 0 &&
           fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

static alineo_code open_file(alineo_provider *self, const char *id, uint32_t op,
                             const alineo_file_request *request, struct local_file_done *done,
                             alineo_provider_file **out, alineo_error **err) {
    struct local_file file;
    struct local_connection *connection;
    alineo_code code = local_file_fill(self, op, request, &file, err);
    if (code == ALINEO_OK)
        code = local_file_ask(self, id, &file, -1, request->call, &connection, done, err);
    if (code != ALINEO_OK)
        return code;
    al_autofd int fd = local_message_take_fd(&connection->in, 0);
    local_connection_give(self, connection);
    if (!is_sound(fd, op == LOCAL_FILE_READ ? O_RDONLY : O_WRONLY))
        return local_fail_garbled(self, err);
    alineo_provider_file *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return local_fail_errno(self, err, ENOMEM, "open a file");
    made->fd = al_steal_fd(&fd);
    made->appends = (request->flags & ALINEO_FILE_APPEND) != 0;
    if ((request->flags & ALINEO_FILE_MODE) != 0 && (request->mode & (S_ISUID | S_ISGID)) != 0)
        made->special_mode = (mode_t)request->mode;
    *out = made;
    return ALINEO_OK;
}

static uint64_t bytes_to_come(const alineo_file_request *request, uint64_t size) {
    /* The kernel's own files say 0 and give more. */
    if (size == 0)
        return UINT64_MAX;
    uint64_t left = size > request->offset ? size - request->offset : 0;
    return request->length != 0 && request->length < left ? request->length : left;
}

alineo_code local_file_open_read(alineo_provider *self, const char *id,
                                 const alineo_file_request *request, alineo_file_io *io,
                                 alineo_error **err) {
    struct local_file_done done;
    alineo_provider_file *file;
    if (request->offset > INT64_MAX)
        return LOCAL_FAIL(self, err, ALINEO_INVALID_ARGUMENT, NULL, "read from beyond any file");
    alineo_code code = open_file(self, id, LOCAL_FILE_READ, request, &done, &file, err);
    if (code != ALINEO_OK)
        return code;
    if (request->offset != 0 && lseek(file->fd, (off_t)request->offset, SEEK_SET) < 0) {
        code = local_fail_errno(self, err, errno, "go to a place in a file");
        local_file_close(self, file);
        return code;
    }
    io->file = file;
    io->fd = file->fd;
    io->bytes = bytes_to_come(request, done.info.size);
    return ALINEO_OK;
}

alineo_code local_file_open_write(alineo_provider *self, const char *id,
                                  const alineo_file_request *request, alineo_file_io *io,
                                  alineo_error **err) {
    struct local_file_done done;
    alineo_provider_file *file;
    alineo_code code = open_file(self, id, LOCAL_FILE_WRITE, request, &done, &file, err);
    if (code != ALINEO_OK)
        return code;
    io->file = file;
    io->fd = file->fd;
    io->bytes = 0;
    return ALINEO_OK;
}

alineo_code local_file_read(alineo_provider *self, alineo_provider_file *file, void *buffer,
                            size_t capacity, size_t *used, alineo_error **err) {
    int rc = al_read_some(file->fd, buffer, capacity, used);
    return rc == 0 ? ALINEO_OK : local_fail_errno(self, err, rc, "read a file of the sandbox");
}

alineo_code local_file_write(alineo_provider *self, alineo_provider_file *file, const void *data,
                             size_t data_size, alineo_error **err) {
    int rc = al_write_full(file->fd, data, data_size);
    return rc == 0 ? ALINEO_OK : local_fail_errno(self, err, rc, "write a file of the sandbox");
}

/* What was written lies at the beginning, whether it was written in order or each piece at its
 * place; an older, longer content ends there. Cheaper than emptying the file first. */
static int cut_behind(const alineo_provider_file *file, uint64_t written) {
    off_t end = lseek(file->fd, 0, SEEK_CUR);
    if (end >= 0 && written > (uint64_t)end && written <= INT64_MAX)
        end = (off_t)written;
    return end < 0 || ftruncate(file->fd, end) != 0 ? errno : 0;
}

alineo_code local_file_finish(alineo_provider *self, alineo_provider_file *file, uint64_t written,
                              alineo_error **err) {
    int rc = file->appends ? 0 : cut_behind(file, written);
    if (rc == 0 && file->special_mode != 0 && fchmod(file->fd, file->special_mode) != 0)
        rc = errno;
    return rc == 0 ? ALINEO_OK
                   : local_fail_errno(self, err, rc, "end writing a file of the sandbox");
}

void local_file_close(alineo_provider *self, alineo_provider_file *file) {
    (void)self;
    if (file == NULL)
        return;
    al_close(file->fd);
    free(file);
}

/* --- the others --------------------------------------------------------------------------------*/

int32_t local_file_tell(const char *path, const struct local_file_info *info,
                        alineo_file_info_fn *found, void *user) {
    alineo_file_info out = {
        .size = sizeof(out),
        .path = path,
        .type = (alineo_file_type)info->type,
        .mode = info->mode,
        .bytes = info->size,
        .modified_at_ms = info->modified_at_ms,
        .created_at_ms = info->created_at_ms,
        .owner = info->owner,
        .group = info->group,
        .link_target = info->link_target,
    };
    return found(user, &out);
}

alineo_code local_file_stat(alineo_provider *self, const char *id,
                            const alineo_file_request *request, alineo_file_info_fn *found,
                            void *user, alineo_error **err) {
    struct local_file file;
    struct local_file_done done;
    struct local_connection *connection;
    alineo_code code = local_file_fill(self, LOCAL_FILE_STAT, request, &file, err);
    if (code == ALINEO_OK)
        code = local_file_ask(self, id, &file, -1, request->call, &connection, &done, err);
    if (code != ALINEO_OK)
        return code;
    (void)local_file_tell(request->path, &done.info, found, user);
    local_connection_give(self, connection);
    return ALINEO_OK;
}

alineo_code local_file_mkdir(alineo_provider *self, const char *id,
                             const alineo_file_request *request, alineo_error **err) {
    return do_simple(self, id, LOCAL_FILE_MKDIR, request, err);
}

alineo_code local_file_remove(alineo_provider *self, const char *id,
                              const alineo_file_request *request, alineo_error **err) {
    return do_simple(self, id, LOCAL_FILE_REMOVE, request, err);
}

alineo_code local_file_chmod(alineo_provider *self, const char *id,
                             const alineo_file_request *request, alineo_error **err) {
    return do_simple(self, id, LOCAL_FILE_CHMOD, request, err);
}

alineo_code local_file_chown(alineo_provider *self, const char *id,
                             const alineo_file_request *request, alineo_error **err) {
    return do_simple(self, id, LOCAL_FILE_CHOWN, request, err);
}

alineo_code local_file_link(alineo_provider *self, const char *id,
                            const alineo_file_request *request, alineo_error **err) {
    return do_simple(self, id, LOCAL_FILE_LINK, request, err);
}
