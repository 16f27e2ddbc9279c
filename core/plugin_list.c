/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plugin_list.h"

#include "core/plugin_note.h"
#include "core/util/path.h"
#include "core/util/str.h"
#include "core/util/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens a file for reading its identity, whoever it belongs to. */
static alineo_code open_any(const char *path, int *fd, alineo_error **err) {
    int opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (opened < 0 && (errno == ENOENT || errno == ENOTDIR))
        return al_fail(err, ALINEO_PLUGIN_NOT_FOUND, NULL, "plugin %s is not there", path);
    if (opened < 0)
        return al_fail_errno(err, ALINEO_IO, errno, NULL, "open plugin %s", path);
    struct stat status;
    if (fstat(opened, &status) != 0 || !S_ISREG(status.st_mode)) {
        al_close(opened);
        return al_fail(err, ALINEO_PLUGIN_INCOMPATIBLE, NULL, "plugin %s is not a regular file",
                       path);
    }
    *fd = opened;
    return ALINEO_OK;
}

static alineo_code check_trust(const char *path, alineo_error **err) {
    al_autofd int fd = -1;
    al_auto(al_buf_free) al_buf reason = AL_BUF_INIT;
    int rc = al_trust_open(path, &fd, &reason);
    if (rc == 0)
        return ALINEO_OK;
    if (rc == EPERM)
        return al_fail(err, ALINEO_PLUGIN_UNTRUSTED, NULL, "%s", al_buf_str(&reason));
    return al_fail_errno(err, ALINEO_IO, rc, NULL, "open plugin %s", path);
}

static alineo_code check_fit(const al_identity *identity, al_kind kind, const char *id,
                             alineo_error **err) {
    al_auto(al_buf_free) al_buf problems = AL_BUF_INIT;
    if (al_identity_fits(identity, kind, id, &problems))
        return ALINEO_OK;
    return al_fail(err, ALINEO_PLUGIN_INCOMPATIBLE, NULL, "%s", al_buf_str(&problems));
}

/* All checks that need no code of the plugin, on a file whose identity was read; `id` NULL:
 * whatever its kind and id. */
static alineo_code judge(int fd, const char *path, const al_identity *identity, al_kind kind,
                         const char *id, alineo_error **err) {
    alineo_code code = check_trust(path, err);
    if (code == ALINEO_OK)
        code = check_fit(identity, kind, id, err);
    if (code == ALINEO_OK)
        code = al_identity_check_entry(fd, path, identity, err);
    return code;
}

alineo_code al_plugin_judge(const al_plugin_file *file, alineo_error **err) {
    al_autofd int fd = -1;
    al_identity identity;
    alineo_code code = open_any(file->path, &fd, err);
    if (code == ALINEO_OK)
        code = al_identity_read(fd, file->path, &identity, err);
    return code == ALINEO_OK ? judge(fd, file->path, &identity, file->kind, file->id, err) : code;
}

/* --- alineo_plugin_inspect -------------------------------------------------------------------- */

alineo_code alineo_plugin_inspect(const char *path, alineo_plugin_info_fn *found, void *user,
                                  alineo_error **err) {
    if (al_str_empty(path) || found == NULL)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "inspect a plugin: no path or function");
    al_autofd int fd = -1;
    al_identity identity;
    alineo_code code = open_any(path, &fd, err);
    if (code == ALINEO_OK)
        code = al_identity_read(fd, path, &identity, err);
    if (code != ALINEO_OK)
        return code;
    al_auto(alineo_error_free) alineo_error *problem = NULL;
    alineo_code usable = judge(fd, path, &identity, AL_KIND_PROVIDER, NULL, &problem);
    alineo_plugin_info info = {.size = sizeof(info),
                               .path = path,
                               .kind = identity.kind,
                               .id = identity.id,
                               .version = identity.version,
                               .abi_major = identity.abi_major,
                               .abi_minor = identity.abi_minor,
                               .usable = usable,
                               .problem = alineo_error_message(problem)};
    (void)found(user, &info);
    return ALINEO_OK;
}

/* --- alineo_plugin_list ----------------------------------------------------------------------- */

typedef struct listing {
    alineo_plugin_info_fn *found;
    void *user;
    al_kv seen; /* "kind/id" -> the file that comes first */
    bool ended;
} listing;

/* Whether an earlier file of the same name hides this one; notes it when not. */
static alineo_code check_hidden(listing *list, const al_plugin_file *file, alineo_error **problem) {
    al_autofree char *name = al_strf("%s/%s", al_kind_name(file->kind), file->id);
    if (name == NULL)
        return al_fail_memory(problem);
    const char *first = al_kv_get(&list->seen, name);
    if (first != NULL)
        return al_fail(problem, ALINEO_CONFLICT, NULL, "%s comes first", first);
    return al_kv_set(&list->seen, name, file->path) == 0 ? ALINEO_OK : al_fail_memory(problem);
}

static alineo_code list_file(void *user, const al_plugin_file *file, alineo_error **err) {
    listing *list = user;
    if (list->ended)
        return ALINEO_OK;
    al_auto(alineo_error_free) alineo_error *problem = NULL;
    al_autofd int fd = -1;
    al_identity identity = {0};
    alineo_code code = check_hidden(list, file, &problem);
    if (code == ALINEO_OK)
        code = open_any(file->path, &fd, &problem);
    if (code == ALINEO_OK)
        code = al_identity_read(fd, file->path, &identity, &problem);
    if (code == ALINEO_OK)
        code = judge(fd, file->path, &identity, file->kind, file->id, &problem);
    if (code == ALINEO_NO_MEMORY)
        return al_error_give(&problem, err);
    alineo_plugin_info info = {.size = sizeof(info),
                               .path = file->path,
                               .kind = al_kind_name(file->kind),
                               .id = file->id,
                               .version = identity.version,
                               .abi_major = identity.abi_major,
                               .abi_minor = identity.abi_minor,
                               .usable = code,
                               .problem = alineo_error_message(problem)};
    list->ended = list->found(list->user, &info) != 0;
    return ALINEO_OK;
}

alineo_code alineo_plugin_list(const alineo_config *config, alineo_plugin_info_fn *found,
                               void *user, alineo_error **err) {
    if (found == NULL)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "list plugins: no function");
    listing list = {.found = found, .user = user};
    alineo_code code = al_plugin_each(config, list_file, &list, err);
    al_kv_free(&list.seen);
    return code;
}
