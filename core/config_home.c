/* SPDX-License-Identifier: Apache-2.0 */
/* Folders and variables that come from the user and the environment. */
#include "core/config_private.h"

#include "core/util/path.h"
#include "core/util/str.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

const char *al_environment(const char *name) {
    const char *value = secure_getenv(name);
    return al_str_empty(value) ? NULL : value;
}

/* A variable that names a folder; by the rule for the XDG ones a relative path counts as unset. */
static const char *folder_variable(const char *name) {
    const char *value = al_environment(name);
    return value != NULL && *value == '/' ? value : NULL;
}

/* The folder of the user that the process runs as, from the list of users. */
static alineo_code listed_home(char **out, alineo_error **err) {
    struct passwd entry;
    struct passwd *found = NULL;
    size_t size = 16384;
    al_autofree char *space = malloc(size);
    if (space == NULL)
        return al_fail_memory(err);
    int rc = getpwuid_r(geteuid(), &entry, space, size, &found);
    if (rc != 0 || found == NULL || al_str_empty(found->pw_dir))
        return al_fail(err, ALINEO_IO, "set HOME, or ALINEO_HOME and XDG_CONFIG_HOME",
                       "find the home folder of user %u: %s", (unsigned)geteuid(),
                       rc != 0 ? al_errno_text(rc) : "no such user");
    *out = al_strdup(found->pw_dir);
    return *out != NULL ? ALINEO_OK : al_fail_memory(err);
}

/* FOLDER_VARIABLE/alineo, else ~/BELOW_HOME/alineo. */
static alineo_code user_folder(const char *variable, const char *below_home, char **out,
                               alineo_error **err) {
    const char *base = folder_variable(variable);
    if (base != NULL) {
        *out = al_path_join(base, "alineo");
        return *out != NULL ? ALINEO_OK : al_fail_memory(err);
    }
    al_autofree char *home = al_strdup(folder_variable("HOME"));
    if (home == NULL) {
        alineo_code code = listed_home(&home, err);
        if (code != ALINEO_OK)
            return code;
    }
    al_autofree char *folder = al_path_join(home, below_home);
    *out = folder != NULL ? al_path_join(folder, "alineo") : NULL;
    return *out != NULL ? ALINEO_OK : al_fail_memory(err);
}

alineo_code al_user_config_folder(char **out, alineo_error **err) {
    return user_folder("XDG_CONFIG_HOME", ".config", out, err);
}

/* ALINEO_HOME, absolute; *out NULL when it is not set. */
static alineo_code named_home(char **out, alineo_error **err) {
    const char *home = al_environment("ALINEO_HOME");
    *out = NULL;
    if (home == NULL)
        return ALINEO_OK;
    al_autofree char *folder = *home != '/' ? getcwd(NULL, 0) : al_strdup("/");
    if (folder == NULL)
        return al_fail_errno(err, ALINEO_IO, errno, "make ALINEO_HOME an absolute path",
                             "find the working directory for ALINEO_HOME");
    al_autofree char *joined = al_path_resolve(folder, home);
    *out = joined != NULL ? al_path_normalise(joined) : NULL;
    return *out != NULL ? ALINEO_OK : al_fail_memory(err);
}

static char *run_folder(const char *home, bool named) {
    const char *runtime = folder_variable("XDG_RUNTIME_DIR");
    if (named)
        return al_path_join(home, "run");
    if (geteuid() == 0)
        return al_strdup("/run/alineo");
    return runtime != NULL ? al_path_join(runtime, "alineo") : al_path_join(home, "run");
}

alineo_code al_home_folders(char **home, char **run, alineo_error **err) {
    al_autofree char *folder = NULL;
    alineo_code code = named_home(&folder, err);
    bool named = folder != NULL;
    if (code == ALINEO_OK && !named && geteuid() == 0) {
        folder = al_strdup("/var/lib/alineo");
        code = folder != NULL ? ALINEO_OK : al_fail_memory(err);
    } else if (code == ALINEO_OK && !named) {
        code = user_folder("XDG_DATA_HOME", ".local/share", &folder, err);
    }
    if (code != ALINEO_OK)
        return code;
    char *runtime = run_folder(folder, named);
    if (runtime == NULL)
        return al_fail_memory(err);
    *home = AL_STEAL(folder);
    *run = runtime;
    return ALINEO_OK;
}

alineo_code al_config_places(alineo_config *config, alineo_error **err) {
    return al_home_folders(&config->home, &config->run, err);
}
