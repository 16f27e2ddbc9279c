/* SPDX-License-Identifier: Apache-2.0 */
/* Copies that begin on this machine. The tree is walked part by part from its root, so that nobody
 * who moves links about in it meanwhile leads us out, and nothing is opened but regular files. */
#include "core/file_copy.h"

#include "core/util/file.h"
#include "core/util/io.h"
#include "core/util/path.h"
#include "core/util/str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static const int file_flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

typedef struct host_tree {
    al_copy *copy;
    int root_fd;
    al_strv folders; /* below the root, still to be read */
} host_tree;

static void host_tree_clear(host_tree *tree) {
    al_close(tree->root_fd);
    al_strv_free(&tree->folders);
}
AL_CLEANUP_INSIDE(host_tree, host_tree_clear);

static alineo_code fail_at(const char *doing, const char *path, int rc, alineo_error **err) {
    return al_fail_errno(err, al_host_file_code(rc), rc, NULL, "%s %s on the host", doing,
                         path[0] != '\0' ? path : "it");
}

/* --- files ------------------------------------------------------------------------------------ */

static alineo_code read_fd(void *source, void *buffer, size_t capacity, size_t *used,
                           alineo_error **err) {
    int rc = al_read_some(*(const int *)source, buffer, capacity, used);
    return rc == 0 ? ALINEO_OK : fail_at("read", "", rc, err);
}

/* Opens what stat said is a regular file, and sees that it is still one. */
static int open_regular(int folder_fd, const char *name, int flags, struct stat *status, int *out) {
    al_autofd int fd = openat(folder_fd, name, file_flags | flags);
    if (fd < 0)
        return errno == ENXIO ? EINVAL : errno;
    if (fstat(fd, status) != 0)
        return errno;
    if (!S_ISREG(status->st_mode))
        return EINVAL;
    *out = al_steal_fd(&fd);
    return 0;
}

static alineo_code copy_file(al_copy *copy, int folder_fd, const char *name, const char *path,
                             alineo_error **err) {
    struct stat status;
    al_autofd int fd = -1;
    int rc = open_regular(folder_fd, name, O_NOFOLLOW, &status, &fd);
    if (rc == ENOENT) {
        copy->result.skipped++;
        return ALINEO_OK;
    }
    if (rc != 0)
        return fail_at("open", path, rc, err);
    return al_copy_file(copy, path, status.st_mode, read_fd, &fd, err);
}

/* --- trees ------------------------------------------------------------------------------------ */

static int open_below(const host_tree *tree, const char *path, int *out) {
    al_autofd int fd = fcntl(tree->root_fd, F_DUPFD_CLOEXEC, 3);
    if (fd < 0)
        return errno;
    while (*path != '\0') {
        size_t size = strcspn(path, "/");
        al_autofree char *part = al_strndup(path, size);
        if (part == NULL)
            return ENOMEM;
        int next = openat(fd, part, file_flags | O_DIRECTORY | O_NOFOLLOW);
        if (next < 0)
            return errno;
        al_close(fd);
        fd = next;
        path += size + (path[size] == '/');
    }
    /* A description of its own: that of the root has a place in the folder, which stays. */
    *out = openat(fd, ".", file_flags | O_DIRECTORY);
    return *out >= 0 ? 0 : errno;
}

static alineo_code copy_link(host_tree *tree, int folder_fd, const char *name, const char *path,
                             alineo_error **err) {
    al_autofree char *target = NULL;
    int rc = al_link_read(folder_fd, name, &target);
    if (rc != 0)
        return fail_at("read the link", path, rc, err);
    return al_copy_link(tree->copy, path, target, err);
}

static alineo_code copy_entry(host_tree *tree, int folder_fd, const char *folder, const char *name,
                              alineo_error **err) {
    struct stat status;
    al_autofree char *path = al_path_join(folder, name);
    if (path == NULL)
        return al_fail_memory(err);
    if (fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno != ENOENT)
            return fail_at("look at", path, errno, err);
        tree->copy->result.skipped++;
        return ALINEO_OK;
    }
    if (S_ISREG(status.st_mode))
        return copy_file(tree->copy, folder_fd, name, path, err);
    if (S_ISLNK(status.st_mode))
        return copy_link(tree, folder_fd, name, path, err);
    if (!S_ISDIR(status.st_mode)) {
        tree->copy->result.skipped++;
        return ALINEO_OK;
    }
    alineo_code code = al_copy_folder(tree->copy, path, status.st_mode, err);
    if (code == ALINEO_OK && al_strv_append(&tree->folders, path) != 0)
        code = al_fail_memory(err);
    return code;
}

static alineo_code copy_folder(host_tree *tree, const char *folder, alineo_error **err) {
    int fd = -1;
    int rc = open_below(tree, folder, &fd);
    if (rc != 0)
        return fail_at("open", folder, rc, err);
    al_autodir DIR *stream = fdopendir(fd);
    if (stream == NULL) {
        rc = errno;
        al_close(fd);
        return fail_at("open", folder, rc, err);
    }
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(stream);
        if (entry == NULL)
            return errno == 0 ? ALINEO_OK : fail_at("read", folder, errno, err);
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        alineo_code code = copy_entry(tree, dirfd(stream), folder, entry->d_name, err);
        if (code != ALINEO_OK)
            return code;
    }
}

static alineo_code copy_tree(al_copy *copy, const char *host_path, uint32_t mode,
                             alineo_error **err) {
    al_auto(host_tree_clear)
        host_tree tree = {.copy = copy, .root_fd = open(host_path, file_flags | O_DIRECTORY)};
    if (tree.root_fd < 0)
        return fail_at("open", host_path, errno, err);
    alineo_code code = al_copy_folder(copy, "", mode, err);
    if (code == ALINEO_OK && al_strv_append(&tree.folders, "") != 0)
        code = al_fail_memory(err);
    while (code == ALINEO_OK && tree.folders.count > 0) {
        size_t last = tree.folders.count - 1;
        al_autofree char *folder = al_strdup(tree.folders.items[last]);
        al_strv_remove(&tree.folders, last);
        code = folder != NULL ? copy_folder(&tree, folder, err) : al_fail_memory(err);
    }
    return code;
}

alineo_code al_copy_from_host(al_copy *copy, const char *host_path, alineo_error **err) {
    struct stat status;
    if (stat(host_path, &status) != 0)
        return fail_at("look at", host_path, errno, err);
    if (S_ISDIR(status.st_mode))
        return copy_tree(copy, host_path, status.st_mode, err);
    al_autofd int fd = -1;
    int rc = S_ISREG(status.st_mode) ? open_regular(AT_FDCWD, host_path, 0, &status, &fd) : EINVAL;
    if (rc == EINVAL)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL,
                       "it is neither a regular file nor a folder");
    if (rc != 0)
        return fail_at("open", host_path, rc, err);
    copy->total = (uint64_t)status.st_size;
    return al_copy_file(copy, "", status.st_mode, read_fd, &fd, err);
}
