/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plugin_load.h"

#include "core/plugin_note.h"
#include "core/plugin_path.h"
#include "core/plugin_table.h"
#include "core/util/file.h"
#include "core/util/io.h"
#include "core/util/list.h"
#include "core/util/str.h"
#include "core/util/trust.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ltdl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A file that was mapped. It stays mapped, and its descriptor open: the dynamic loader knows it by
 * /proc/self/fd/N and would take any other file of that name for it. */
typedef struct loaded_file {
    al_list link;
    al_plugin plugin;
    al_identity identity; /* of the note */
    char *path;
    dev_t device;
    ino_t inode;
    int fd;
    lt_dlhandle handle;
    bool checked; /* entry point and table were found good */
} loaded_file;

/* The only global state of the library. The lock is also libltdl's, which has none. */
static pthread_mutex_t loader_lock = PTHREAD_MUTEX_INITIALIZER;
static al_list loaded_files = {&loaded_files, &loaded_files};
static bool ltdl_ready;

static loaded_file *find_by_inode(const struct stat *status) {
    AL_LIST_FOREACH(link, &loaded_files) {
        loaded_file *file = AL_CONTAINER(link, loaded_file, link);
        if (file->device == status->st_dev && file->inode == status->st_ino)
            return file;
    }
    return NULL;
}

static bool number_is_taken(int fd) {
    AL_LIST_FOREACH(link, &loaded_files) {
        if (AL_CONTAINER(link, loaded_file, link)->fd == fd)
            return true;
    }
    return false;
}

/* Gives the descriptor a number that no mapped file has as its name, even if the host program
 * closed descriptors behind our back, and none of the standard streams'. */
static int give_own_number(int *fd) {
    while (*fd < 3 || number_is_taken(*fd)) {
        int copy = fcntl(*fd, F_DUPFD_CLOEXEC, *fd < 3 ? 3 : *fd + 1);
        if (copy < 0)
            return errno;
        al_close(*fd);
        *fd = copy;
    }
    return 0;
}

/* --- opening ---------------------------------------------------------------------------------- */

static alineo_code open_trusted(const char *path, bool named, int *fd, alineo_error **err) {
    al_auto(al_buf_free) al_buf reason = AL_BUF_INIT;
    int rc = al_trust_open(path, fd, &reason);
    if (rc == 0)
        return ALINEO_OK;
    if (rc == EPERM)
        return al_fail(err, ALINEO_PLUGIN_UNTRUSTED,
                       "plugins are loaded only where nobody but root and you can write",
                       "plugin %s is not loaded: %s", path, al_buf_str(&reason));
    if (rc == ENOENT || rc == ENOTDIR)
        return al_fail(err, ALINEO_PLUGIN_NOT_FOUND,
                       named ? "correct the path in the config's `plugins`" : NULL,
                       "plugin %s is not there", path);
    if (rc == EINVAL || rc == EISDIR)
        return al_fail(err, ALINEO_PLUGIN_INCOMPATIBLE, NULL, "plugin %s is not a regular file",
                       path);
    return al_fail_errno(err, ALINEO_IO, rc, NULL, "open plugin %s", path);
}

static alineo_code check_fit(const al_identity *identity, al_kind kind, const char *id,
                             const char *path, alineo_error **err) {
    al_auto(al_buf_free) al_buf problems = AL_BUF_INIT;
    if (al_identity_fits(identity, kind, id, &problems))
        return ALINEO_OK;
    return al_fail(err, ALINEO_PLUGIN_INCOMPATIBLE,
                   "install a plugin that was built for this version, under its own name",
                   "plugin %s cannot be the %s \"%s\". %s", path, al_kind_name(kind), id,
                   al_buf_str(&problems));
}

/* --- mapping ---------------------------------------------------------------------------------- */

/* The loader's message with the file's own name in place of ours. */
static alineo_code loader_failed(const char *message, const char *name, const char *path,
                                 alineo_error **err) {
    const char *text = message != NULL ? message : "the loader does not say why";
    const char *rest = al_str_after(text, name);
    if (rest != NULL)
        rest = al_str_after(rest, ": ");
    return al_fail(err, ALINEO_PLUGIN_INCOMPATIBLE,
                   "run `ldd` on the file: a library or a symbol that it needs may be missing here",
                   "plugin %s cannot be loaded: %s", path, rest != NULL ? rest : text);
}

static alineo_code start_ltdl(alineo_error **err) {
    if (ltdl_ready)
        return ALINEO_OK;
    if (lt_dlinit() != 0)
        return al_fail(err, ALINEO_INTERNAL, NULL, "start libltdl: %s", lt_dlerror());
    ltdl_ready = true;
    return ALINEO_OK;
}

/* dlopen first: it binds every symbol and says what is missing, which libltdl does not. Then
 * libltdl by the same name, which finds what is mapped already. An absolute name is not searched
 * for. */
static alineo_code map_file(int fd, const char *path, lt_dlhandle *handle, alineo_error **err) {
    alineo_code code = start_ltdl(err);
    if (code != ALINEO_OK)
        return code;
    char name[32];
    (void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    (void)dlerror();
    void *mapped = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (mapped == NULL)
        return loader_failed(dlerror(), name, path, err);
    *handle = lt_dlopen(name);
    if (*handle == NULL) {
        code = loader_failed(lt_dlerror(), name, path, err);
        (void)dlclose(mapped);
        return code;
    }
    (void)lt_dlmakeresident(*handle);
    return ALINEO_OK;
}

/* --- checking what was mapped ----------------------------------------------------------------- */

static bool says_the_same(const alineo_plugin *entry, const al_identity *identity) {
    return entry->size >= sizeof(*entry) && entry->magic == ALINEO_PLUGIN_MAGIC &&
           entry->abi_major == identity->abi_major && entry->abi_minor == identity->abi_minor &&
           al_str_equal(entry->kind, identity->kind) && al_str_equal(entry->id, identity->id) &&
           al_str_equal(entry->version, identity->version);
}

static alineo_code check_mapped(loaded_file *file, alineo_error **err) {
    if (file->checked)
        return ALINEO_OK;
    al_autofree char *symbol = al_entry_symbol(file->identity.kind, file->identity.id);
    al_autofree char *name = al_strf("%s/%s", file->identity.kind, file->identity.id);
    if (symbol == NULL || name == NULL)
        return al_fail_memory(err);
    const alineo_plugin *entry = lt_dlsym(file->handle, symbol);
    if (entry == NULL)
        return al_fail(err, ALINEO_PLUGIN_INCOMPATIBLE, NULL,
                       "plugin %s has no entry point: it does not export %s", file->path, symbol);
    if (!says_the_same(entry, &file->identity))
        return al_fail(err, ALINEO_PLUGIN_INCOMPATIBLE, NULL,
                       "plugin %s has an entry point that does not say what its note says",
                       file->path);
    alineo_code code =
        al_plugin_check(file->plugin.kind, name, entry->descriptor, entry->table, err);
    if (code != ALINEO_OK)
        return code;
    file->plugin.identity = entry;
    file->checked = true;
    return ALINEO_OK;
}

/* What the file is called now that it is open; where that cannot be told, as it was found. */
static char *real_path(int fd, const char *path) {
    char name[32];
    (void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    char *real = NULL;
    int rc = al_link_read(AT_FDCWD, name, &real);
    return rc == 0 ? real : al_strdup(path);
}

/* Maps the file that is open as *fd and notes it; takes the descriptor over. */
static alineo_code map_new(al_kind kind, const al_identity *identity, const struct stat *status,
                           const char *path, int *fd, loaded_file **out, alineo_error **err) {
    int rc = give_own_number(fd);
    if (rc != 0)
        return al_fail_errno(err, ALINEO_IO, rc, NULL, "keep plugin %s open", path);
    loaded_file *file = calloc(1, sizeof(*file));
    char *real = real_path(*fd, path);
    if (file == NULL || real == NULL) {
        free(file);
        free(real);
        return al_fail_memory(err);
    }
    alineo_code code = map_file(*fd, path, &file->handle, err);
    if (code != ALINEO_OK) {
        free(file);
        free(real);
        return code;
    }
    file->plugin = (al_plugin){.kind = kind, .path = real};
    file->identity = *identity;
    file->path = real;
    file->device = status->st_dev;
    file->inode = status->st_ino;
    file->fd = al_steal_fd(fd);
    al_list_append(&loaded_files, &file->link);
    *out = file;
    return ALINEO_OK;
}

static alineo_code load_file(const char *path, bool named, al_kind kind, const char *id,
                             const al_plugin **out, alineo_error **err) {
    al_autofd int fd = -1;
    alineo_code code = open_trusted(path, named, &fd, err);
    if (code != ALINEO_OK)
        return code;
    struct stat status;
    if (fstat(fd, &status) != 0)
        return al_fail_errno(err, ALINEO_IO, errno, NULL, "look at plugin %s", path);
    al_autolock(&loader_lock);
    loaded_file *file = find_by_inode(&status);
    if (file != NULL) {
        code = check_fit(&file->identity, kind, id, path, err);
    } else {
        al_identity identity;
        code = al_identity_read(fd, path, &identity, err);
        if (code == ALINEO_OK)
            code = check_fit(&identity, kind, id, path, err);
        if (code == ALINEO_OK)
            code = al_identity_check_entry(fd, path, &identity, err);
        if (code == ALINEO_OK)
            code = map_new(kind, &identity, &status, path, &fd, &file, err);
    }
    if (code == ALINEO_OK)
        code = check_mapped(file, err);
    if (code == ALINEO_OK)
        *out = &file->plugin;
    return code;
}

alineo_code al_plugin_load(const alineo_config *config, al_kind kind, const char *id,
                           const al_plugin **out, alineo_error **err) {
    al_autofree char *path = NULL;
    bool named = false;
    alineo_code code = al_plugin_find(config, kind, id, &path, &named, err);
    if (code != ALINEO_OK)
        return code;
    alineo_error *failure = NULL;
    code = load_file(path, named, kind, id, out, &failure);
    if (code == ALINEO_OK)
        return code;
    al_autofree char *plugin = al_strf("%s/%s", al_kind_name(kind), id);
    al_error_set_plugin(&failure, plugin);
    return al_error_give(&failure, err);
}
