/* SPDX-License-Identifier: Apache-2.0 */
#include "core/mounts.h"

#include "core/check.h"
#include "core/util/path.h"
#include "core/util/str.h"

#include <limits.h>
#include <stdlib.h>

/* Whether `path`, without any link, is below a folder of the list. A folder that is not there
 * allows nothing. */
static int is_allowed(const char *const *allowed, const char *path) {
    for (size_t i = 0; allowed != NULL && allowed[i] != NULL; i++) {
        al_autofree char *folder = realpath(allowed[i], NULL);
        if (folder != NULL && al_path_is_below(folder, path))
            return 1;
    }
    return 0;
}

static alineo_code check_target(const char *given, char **target, alineo_error **err) {
    alineo_code code = al_path_check("mounts: target", given, err);
    if (code != ALINEO_OK)
        return code;
    al_autofree char *path = al_path_normalise(given);
    if (path == NULL)
        return al_fail_memory(err);
    if (strcmp(path, "/") == 0)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "mount it on a folder below",
                       "mounts: the target %s is the root of the sandbox", given);
    *target = AL_STEAL(path);
    return ALINEO_OK;
}

alineo_code al_mount_check(const char *const *allowed, const alineo_mount *mount, char **source,
                           char **target, alineo_error **err) {
    alineo_code code = al_path_check("mounts: source", mount->source, err);
    if (code == ALINEO_OK)
        code = al_choice_check("mounts: readonly", mount->readonly, err);
    if (code != ALINEO_OK)
        return code;
    al_autofree char *inside = NULL;
    code = check_target(mount->target, &inside, err);
    if (code != ALINEO_OK)
        return code;

    al_autofree char *path = realpath(mount->source, NULL);
    if (path == NULL)
        return al_fail_errno(err, ALINEO_INVALID_ARGUMENT, errno, NULL, "mounts: source %s",
                             mount->source);
    if (!is_allowed(allowed, path))
        return al_fail(err, ALINEO_PERMISSION_DENIED,
                       "an operator allows folders by \"allowMounts\" in the config",
                       "mounts: %s is below no folder of allowMounts (its real path is %s)",
                       mount->source, path);
    *source = AL_STEAL(path);
    *target = AL_STEAL(inside);
    return ALINEO_OK;
}
