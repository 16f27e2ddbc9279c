/* SPDX-License-Identifier: Apache-2.0 */
#include "core/file_follow.h"

#include "core/check.h"
#include "core/struct.h"
#include "core/util/path.h"
#include "core/util/str.h"

enum {
    LINKS_MAX = 40 /* as the kernel has it */
};

typedef struct look {
    al_file_followed followed; /* its path is not set */
    char *target;              /* of a link */
    bool told;
    bool no_memory;
} look;

static int32_t see(void *user, const alineo_file_info *info) {
    look *self = user;
    if (self->told || !AL_STRUCT_HAS(info, link_target))
        return 1;
    self->told = true;
    self->followed.type = info->type;
    self->followed.mode = info->mode;
    self->followed.bytes = info->bytes;
    if (info->type != ALINEO_FILE_SYMLINK)
        return 1;
    self->target = al_strdup(info->link_target != NULL ? info->link_target : "");
    self->no_memory = self->target == NULL;
    return 1;
}

/* Looks at one name. */
static alineo_code look_at(const al_file_job *job, const char *path, look *out,
                           alineo_error **err) {
    al_file_job one = *job;
    one.request =
        (alineo_file_request){.size = sizeof(one.request), .path = path, .call = job->request.call};
    *out = (look){.told = false};
    alineo_code code = job->way->stat(&one, see, out, err);
    if (code == ALINEO_OK && out->no_memory)
        code = al_fail_memory(err);
    if (code == ALINEO_OK && !out->told)
        code = al_fail(err, ALINEO_INTERNAL, "tell the makers of the provider",
                       "nothing was told of %s", path);
    return code;
}

/* Where a link at `path` leads: its text begins at the root, or in the folder that it is in. */
static char *lead(const char *path, const char *target) {
    if (target[0] == '/')
        return al_strdup(target);
    al_autofree char *folder = al_path_parent(path);
    return folder != NULL ? al_path_join(folder, target) : NULL;
}

alineo_code al_file_follow(const al_file_job *job, al_file_followed *out, alineo_error **err) {
    al_autofree char *path = al_strdup(job->request.path);
    if (path == NULL)
        return al_fail_memory(err);
    for (int links = 0; links <= LINKS_MAX; links++) {
        look seen;
        alineo_code code = look_at(job, path, &seen, err);
        al_autofree char *target = seen.target;
        if (code != ALINEO_OK)
            return code;
        if (seen.followed.type != ALINEO_FILE_SYMLINK) {
            *out = seen.followed;
            out->path = AL_STEAL(path);
            return ALINEO_OK;
        }
        char *next = lead(path, target);
        free(path);
        path = next;
        if (path == NULL)
            return al_fail_memory(err);
        code = al_path_check("the link's target", path, err);
        if (code != ALINEO_OK)
            return code;
    }
    return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL, "there are more than %d links to follow",
                   LINKS_MAX);
}

void al_file_followed_clear(al_file_followed *followed) {
    free(followed->path);
    followed->path = NULL;
}
