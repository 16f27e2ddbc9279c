/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/helper/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/util/file.h"
#include "core/util/path.h"
#include "core/util/str.h"
#include "plugins/providers/local/entry.h"
#include "plugins/providers/local/runtime/box.h"

static int find_host(const char *state_dir, struct local_image *image, alineo_code *code,
                     struct local_fault *fault) {
    *code = ALINEO_SANDBOX_FAILED;
    al_autofree char *store = al_path_join(state_dir, LOCAL_STORE);
    if (store == NULL)
        return local_fault_set(fault, ENOMEM, "find the image host");
    int rc = al_mkdir_parents(store, 0700);
    if (rc != 0)
        return local_fault_set(fault, rc, "make %s", store);
    rc = local_host_image_prepare(store, &image->layer, fault);
    image->is_host = rc == 0;
    return rc;
}

static int find_folder(const char *path, struct local_image *image, alineo_code *code,
                       struct local_fault *fault) {
    *code = ALINEO_IMAGE_INVALID;
    if (path[0] != '/') {
        int rc = local_fault_set(fault, EINVAL, "use the image dir:%s", path);
        local_fault_hint(fault, "give the folder's absolute path: dir:/srv/rootfs");
        return rc;
    }
    image->layer = realpath(path, NULL);
    if (image->layer == NULL) {
        int rc = errno;
        if (rc == ENOENT || rc == ENOTDIR)
            *code = ALINEO_IMAGE_NOT_FOUND;
        return local_fault_set(fault, rc, "find the image dir:%s", path);
    }
    struct stat status;
    if (stat(image->layer, &status) != 0 || !S_ISDIR(status.st_mode)) {
        local_image_free(image);
        return local_fault_set(fault, ENOTDIR, "use the image dir:%s", path);
    }
    return 0;
}

int local_image_find(const char *state_dir, const char *name, struct local_image *image,
                     alineo_code *code, struct local_fault *fault) {
    if (strcmp(name, "host") == 0)
        return find_host(state_dir, image, code, fault);
    const char *path = al_str_after(name, "dir:");
    if (path != NULL)
        return find_folder(path, image, code, fault);
    *code = ALINEO_IMAGE_NOT_FOUND;
    int rc = local_fault_set(fault, ENOENT, "find the image \"%.200s\"", name);
    local_fault_hint(fault, "this provider has \"host\" and \"dir:/absolute/path\"");
    return rc;
}

void local_image_free(struct local_image *image) {
    free(image->layer);
    *image = (struct local_image){0};
}
