/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plugin_path.h"

#include "core/util/path.h"
#include "core/util/str.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Its address tells which file this library is. */
static const char library_mark;

/* The folder beside this library, which moves with it; where there is none (the library is part of
 * a program), the one of the installation. */
static alineo_code builtin_folder(char **out, alineo_error **err) {
    al_autofree char *library = NULL;
    int rc = al_path_of_object(&library_mark, &library);
    if (rc == 0 && library[0] != '/') {
        free(AL_STEAL(library));
        rc = al_path_of_program(&library);
    }
    if (rc != 0)
        return al_fail_errno(err, ALINEO_IO, rc, NULL, "find the file of the alineo library");
    al_autofree char *parent = al_path_parent(library);
    al_autofree char *folder = parent != NULL ? al_path_join(parent, ALINEO_PLUGIN_SUBDIR) : NULL;
    if (folder == NULL)
        return al_fail_memory(err);
    struct stat status;
    if (stat(folder, &status) == 0 && S_ISDIR(status.st_mode)) {
        *out = realpath(folder, NULL); /* "bin/../lib" is no name to show */
        return *out != NULL ? ALINEO_OK
                            : al_fail_errno(err, ALINEO_IO, errno, NULL,
                                            "find the real path of the plugin folder %s", folder);
    }
    *out = al_strdup(ALINEO_INSTALLED_PLUGIN_DIR);
    return *out != NULL ? ALINEO_OK : al_fail_memory(err);
}

static alineo_code add_environment_folders(al_strv *out, alineo_error **err) {
    const char *text = al_environment("ALINEO_PLUGIN_PATH");
    if (text == NULL)
        return ALINEO_OK;
    al_auto(al_strv_free) al_strv parts = AL_STRV_INIT;
    if (al_strv_split(&parts, text, ':') != 0)
        return al_fail_memory(err);
    for (size_t i = 0; i < parts.count; i++) {
        if (parts.items[i][0] == '\0')
            continue;
        if (parts.items[i][0] != '/')
            return al_fail(err, ALINEO_INVALID_ARGUMENT, "name folders by their absolute paths",
                           "ALINEO_PLUGIN_PATH: \"%s\" is a relative path", parts.items[i]);
        if (al_strv_append(out, parts.items[i]) != 0)
            return al_fail_memory(err);
    }
    return ALINEO_OK;
}

alineo_code al_plugin_folders(const alineo_config *config, al_strv *out, alineo_error **err) {
    al_auto(al_strv_free) al_strv folders = AL_STRV_INIT;
    if (config != NULL &&
        al_strv_append_all(&folders, (const char *const *)config->plugin_path.items) != 0)
        return al_fail_memory(err);
    alineo_code code = add_environment_folders(&folders, err);
    char *builtin = NULL;
    if (code == ALINEO_OK)
        code = builtin_folder(&builtin, err);
    if (code != ALINEO_OK)
        return code;
    if (al_strv_take(&folders, builtin) != 0)
        return al_fail_memory(err);
    *out = folders;
    folders = (al_strv)AL_STRV_INIT;
    return ALINEO_OK;
}

bool al_plugin_name_split(const char *name, al_kind *kind, const char **id) {
    const char *slash = strchr(name, '/');
    if (slash == NULL || !al_kind_from_name(name, (size_t)(slash - name), kind))
        return false;
    *id = slash + 1;
    return al_plugin_id_valid(*id);
}

/* --- listing ---------------------------------------------------------------------------------- */

static alineo_code each_named(const alineo_config *config, al_plugin_file_fn *found, void *user,
                              alineo_error **err) {
    for (size_t i = 0; config != NULL && i < config->plugin_files.count; i++) {
        al_plugin_file file = {.path = config->plugin_files.items[i].value};
        if (!al_plugin_name_split(config->plugin_files.items[i].key, &file.kind, &file.id))
            continue;
        alineo_code code = found(user, &file, err);
        if (code != ALINEO_OK)
            return code;
    }
    return ALINEO_OK;
}

/* "provider/acme" for "alineo-provider-acme.so"; NULL for what is named otherwise, and *failed
 * where memory is lacking. */
static char *name_of_file(const char *file, bool *failed) {
    const char *rest = al_str_after(file, "alineo-");
    const char *dash = rest != NULL ? strchr(rest, '-') : NULL;
    if (dash == NULL || !al_str_ends(dash, ".so"))
        return NULL;
    size_t id_size = strlen(dash + 1) - strlen(".so");
    char *name = al_strf("%.*s/%.*s", (int)(dash - rest), rest, (int)id_size, dash + 1);
    *failed = name == NULL;
    al_kind kind;
    const char *id;
    if (name != NULL && !al_plugin_name_split(name, &kind, &id)) {
        free(name);
        return NULL;
    }
    return name;
}

/* The names "kind/id" of the files in a folder, in order; a folder that is not there has none. */
static alineo_code names_in(const char *folder, al_strv *out, alineo_error **err) {
    al_autodir DIR *dir = opendir(folder);
    if (dir == NULL && (errno == ENOENT || errno == ENOTDIR))
        return ALINEO_OK;
    if (dir == NULL)
        return al_fail_errno(err, ALINEO_IO, errno, NULL, "look for plugins in %s", folder);
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (entry == NULL && errno != 0)
            return al_fail_errno(err, ALINEO_IO, errno, NULL, "look for plugins in %s", folder);
        if (entry == NULL)
            break;
        bool failed = false;
        char *name = name_of_file(entry->d_name, &failed);
        if (failed || (name != NULL && al_strv_take(out, name) != 0))
            return al_fail_memory(err);
    }
    al_strv_sort(out);
    return ALINEO_OK;
}

/* The path of the file with a kind and an id in a folder. */
static char *file_in(const char *folder, al_kind kind, const char *id) {
    al_autofree char *file = al_strf("alineo-%s-%s.so", al_kind_name(kind), id);
    return file != NULL ? al_path_join(folder, file) : NULL;
}

static alineo_code each_in(const char *folder, al_plugin_file_fn *found, void *user,
                           alineo_error **err) {
    al_auto(al_strv_free) al_strv names = AL_STRV_INIT;
    alineo_code code = names_in(folder, &names, err);
    for (size_t i = 0; code == ALINEO_OK && i < names.count; i++) {
        al_plugin_file file = {0};
        if (!al_plugin_name_split(names.items[i], &file.kind, &file.id))
            continue;
        al_autofree char *path = file_in(folder, file.kind, file.id);
        if (path == NULL)
            return al_fail_memory(err);
        file.path = path;
        code = found(user, &file, err);
    }
    return code;
}

alineo_code al_plugin_each(const alineo_config *config, al_plugin_file_fn *found, void *user,
                           alineo_error **err) {
    al_auto(al_strv_free) al_strv folders = AL_STRV_INIT;
    alineo_code code = al_plugin_folders(config, &folders, err);
    if (code == ALINEO_OK)
        code = each_named(config, found, user, err);
    for (size_t i = 0; code == ALINEO_OK && i < folders.count; i++)
        code = each_in(folders.items[i], found, user, err);
    return code;
}

/* --- finding one ------------------------------------------------------------------------------ */

typedef struct known_ids {
    al_kind kind;
    al_strv ids;
} known_ids;

static alineo_code note_id(void *user, const al_plugin_file *file, alineo_error **err) {
    known_ids *known = user;
    if (file->kind != known->kind || al_strv_has(&known->ids, file->id))
        return ALINEO_OK;
    return al_strv_append(&known->ids, file->id) == 0 ? ALINEO_OK : al_fail_memory(err);
}

static alineo_code unknown_id(const alineo_config *config, al_kind kind, const char *id,
                              const al_strv *folders, alineo_error **err) {
    known_ids known = {.kind = kind};
    alineo_error *ignored = NULL;
    /* A folder that cannot be read does not keep the others from being named. */
    if (al_plugin_each(config, note_id, &known, &ignored) != ALINEO_OK)
        alineo_error_free(ignored);
    al_strv_sort(&known.ids);
    const char *nearest = al_str_nearest(id, (const char *const *)known.ids.items, known.ids.count);
    al_autofree char *guess = nearest != NULL ? al_strf("; did you mean \"%s\"?", nearest) : NULL;
    al_autofree char *all = al_strv_join(&known.ids, ", ", 400);
    al_autofree char *looked = al_strv_join(folders, ", ", 1000);
    alineo_code code =
        al_fail(err, ALINEO_INVALID_ARGUMENT,
                "install the plugin in one of these folders, or name its folder in `pluginPath` or "
                "ALINEO_PLUGIN_PATH",
                "there is no %s plugin \"%s\"%s (known: %s; looked in %s)", al_kind_name(kind), id,
                guess != NULL ? guess : "",
                known.ids.count == 0 ? "none"
                : all != NULL        ? all
                                     : "?",
                looked != NULL ? looked : "?");
    al_strv_free(&known.ids);
    return code;
}

static alineo_code search(const alineo_config *config, al_kind kind, const char *id, char **path,
                          alineo_error **err) {
    al_auto(al_strv_free) al_strv folders = AL_STRV_INIT;
    alineo_code code = al_plugin_folders(config, &folders, err);
    if (code != ALINEO_OK)
        return code;
    for (size_t i = 0; i < folders.count; i++) {
        al_autofree char *file = file_in(folders.items[i], kind, id);
        if (file == NULL)
            return al_fail_memory(err);
        struct stat status;
        if (lstat(file, &status) == 0) {
            *path = AL_STEAL(file);
            return ALINEO_OK;
        }
        /* Going on past a folder that cannot be looked into would be a silent fallback. */
        if (errno != ENOENT && errno != ENOTDIR)
            return al_fail_errno(err, ALINEO_IO, errno, NULL, "look for plugin %s", file);
    }
    return unknown_id(config, kind, id, &folders, err);
}

alineo_code al_plugin_find(const alineo_config *config, al_kind kind, const char *id, char **path,
                           bool *named, alineo_error **err) {
    if (!al_plugin_id_valid(id))
        return al_fail(err, ALINEO_INVALID_ARGUMENT, AL_PLUGIN_ID_RULE,
                       "\"%.80s\" is no id of a %s plugin", id != NULL ? id : "",
                       al_kind_name(kind));
    if (config != NULL) {
        al_autofree char *name = al_strf("%s/%s", al_kind_name(kind), id);
        if (name == NULL)
            return al_fail_memory(err);
        const char *file = al_kv_get(&config->plugin_files, name);
        if (file != NULL) {
            *named = true;
            *path = al_strdup(file);
            return *path != NULL ? ALINEO_OK : al_fail_memory(err);
        }
    }
    *named = false;
    return search(config, kind, id, path, err);
}
