/* SPDX-License-Identifier: Apache-2.0 */
/* Which file is the config, and reading it. */
#include "core/config_private.h"

#include "core/util/file.h"
#include "core/util/path.h"
#include "core/util/str.h"
#include "core/util/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char project_file[] = "alineo.config.json";
static const char user_file[] = "config.json";

/* PATH as an absolute one, without a leading "./". */
static alineo_code make_absolute(const char *path, char **out, alineo_error **err) {
    while (path[0] == '.' && path[1] == '/')
        path += 2;
    al_autofree char *folder = *path != '/' ? getcwd(NULL, 0) : al_strdup("/");
    if (folder == NULL)
        return al_fail_errno(err, ALINEO_IO, errno, "name the config by its absolute path",
                             "find the working directory for config %s", path);
    *out = al_path_resolve(folder, path);
    return *out != NULL ? ALINEO_OK : al_fail_memory(err);
}

/* Looks for FOLDER/FILE; *path stays NULL when it is not there. */
static alineo_code look_in(const char *folder, const char *file, char **path, alineo_error **err) {
    al_autofree char *candidate = al_path_join(folder, file);
    if (candidate == NULL)
        return al_fail_memory(err);
    struct stat status;
    if (stat(candidate, &status) == 0) {
        *path = AL_STEAL(candidate);
        return ALINEO_OK;
    }
    if (errno == ENOENT || errno == ENOTDIR)
        return ALINEO_OK;
    return al_fail_errno(err, ALINEO_IO, errno, NULL, "look for config %s", candidate);
}

static alineo_code search(char **path, al_config_origin *origin, alineo_error **err) {
    *origin = AL_CONFIG_PROJECT;
    al_autofree char *working = getcwd(NULL, 0);
    /* A working directory that was removed holds no config. */
    if (working == NULL && errno != ENOENT)
        return al_fail_errno(err, ALINEO_IO, errno, "name the config by its absolute path",
                             "look for %s in the working directory", project_file);
    alineo_code code = working != NULL ? look_in(working, project_file, path, err) : ALINEO_OK;
    if (code != ALINEO_OK || *path != NULL)
        return code;
    *origin = AL_CONFIG_USER;
    al_autofree char *folder = NULL;
    alineo_error *homeless = NULL;
    code = al_user_config_folder(&folder, &homeless);
    if (code == ALINEO_OK)
        code = look_in(folder, user_file, path, err);
    else if (code == ALINEO_IO)
        code = ALINEO_OK; /* a user without a home has no config there */
    else
        return al_error_give(&homeless, err);
    alineo_error_free(homeless);
    if (code == ALINEO_OK && *path == NULL)
        *origin = AL_CONFIG_NONE;
    return code;
}

alineo_code al_config_find(const char *named, char **path, al_config_origin *origin,
                           alineo_error **err) {
    *path = NULL;
    if (named == NULL)
        named = al_environment("ALINEO_CONFIG");
    if (named == NULL)
        return search(path, origin, err);
    if (*named == '\0')
        return al_fail(err, ALINEO_CONFIG_INVALID, NULL, "the path of the config is empty");
    *origin = AL_CONFIG_NAMED;
    return make_absolute(named, path, err);
}

static alineo_code check_owner(const alineo_config *config, const struct stat *status,
                               alineo_error **err) {
    al_auto(al_buf_free) al_buf reason = AL_BUF_INIT;
    if (al_trust_status(status, config->path, &reason))
        return ALINEO_OK;
    return al_fail(err, ALINEO_CONFIG_UNTRUSTED,
                   "name it with --config or ALINEO_CONFIG if it is meant to be used",
                   "%s: a config that is found in the working directory must be yours or root's, "
                   "and nobody else's to change: %s",
                   config->label, al_buf_str(&reason));
}

static alineo_code open_failed(const alineo_config *config, int rc, alineo_error **err) {
    if (rc == ENOENT || rc == ENOTDIR)
        return al_fail(err, ALINEO_CONFIG_INVALID, "correct the path, or write the file",
                       "%s: there is no such file", config->label);
    return al_fail_errno(err, ALINEO_IO, rc, NULL, "open config %s", config->label);
}

alineo_code al_config_read(const alineo_config *config, al_buf *text, alineo_error **err) {
    /* Without O_NONBLOCK a pipe of that name would hold us up. */
    al_autofd int fd = open(config->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return open_failed(config, errno, err);
    struct stat status;
    if (fstat(fd, &status) != 0)
        return open_failed(config, errno, err);
    if (!S_ISREG(status.st_mode))
        return al_fail(err, ALINEO_CONFIG_INVALID, NULL, "%s: is not a regular file",
                       config->label);
    if (config->origin == AL_CONFIG_PROJECT) {
        alineo_code code = check_owner(config, &status, err);
        if (code != ALINEO_OK)
            return code;
    }
    int rc = al_fd_read_all(fd, AL_CONFIG_SIZE_MAX, text);
    if (rc == EFBIG)
        return al_fail(err, ALINEO_CONFIG_INVALID, NULL,
                       "%s: is larger than %zu KiB, the most that is read as a config",
                       config->label, AL_CONFIG_SIZE_MAX >> 10);
    if (rc != 0)
        return al_fail_errno(err, ALINEO_IO, rc, NULL, "read config %s", config->label);
    return ALINEO_OK;
}
