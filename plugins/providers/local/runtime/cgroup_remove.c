/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "plugins/providers/local/runtime/cgroup.h"
#include "plugins/providers/local/runtime/cgroup_mount.h"

static void wait_a_moment(void) {
    const struct timespec moment = {.tv_nsec = 500000};
    (void)nanosleep(&moment, NULL);
}

/* A process that is gone still counts for a moment, so EBUSY is tried again until the deadline. */
static int remove_folder(int parent_fd, const char *name, al_deadline deadline) {
    for (;;) {
        if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
            return 0;
        if (errno != EBUSY || al_deadline_passed(deadline))
            return errno;
        wait_a_moment();
    }
}

/* Removes the folders in FOLDER_FD, which have none in them. Its files belong to the kernel. */
static int remove_inner_folders(int folder_fd, al_deadline deadline) {
    int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    al_autodir DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (folder == NULL) {
        int error = errno;
        al_close(fd);
        return error;
    }
    int first = 0;
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        int error = remove_folder(folder_fd, entry->d_name, deadline);
        if (first == 0)
            first = error;
    }
    return first;
}

static int wait_until_empty(int folder_fd, al_deadline deadline) {
    while (local_cgroup_field(folder_fd, "cgroup.events", "populated") != 0) {
        if (al_deadline_passed(deadline))
            return ETIMEDOUT;
        wait_a_moment();
    }
    return 0;
}

static int remove_tree(const char *name, al_deadline deadline) {
    al_autofd int root = -1;
    int error = local_cgroup_open_unified(&root);
    if (error != 0)
        return error;
    al_autofd int top = openat(root, local_cgroup_top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    al_autofd int box = top < 0 ? -1 : openat(top, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (box < 0)
        return errno == ENOENT ? 0 : errno;
    error = local_cgroup_write(box, "cgroup.kill", "1");
    if (error == 0)
        error = wait_until_empty(box, deadline);
    if (error != 0)
        return error;
    al_autofd int work = openat(box, "work", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (work >= 0)
        error = remove_inner_folders(work, deadline);
    if (error == 0)
        error = remove_inner_folders(box, deadline);
    return error != 0 ? error : remove_folder(top, name, deadline);
}

static int remove_v1(enum local_controller controller, const char *name, al_deadline deadline) {
    al_autofd int root = -1;
    int error = local_cgroup_open_v1(controller, &root);
    if (error != 0)
        return error == ENOENT ? 0 : error;
    al_autofd int top = openat(root, local_cgroup_top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    al_autofd int folder = top < 0 ? -1 : openat(top, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return errno == ENOENT ? 0 : errno;
    /* Else the page cache it is charged with keeps it in the kernel long after it is removed. */
    if (controller == LOCAL_CONTROLLER_MEMORY)
        (void)local_cgroup_write(folder, "memory.force_empty", "0");
    return remove_folder(top, name, deadline);
}

int local_cgroups_remove(const char *id, al_deadline deadline, struct local_fault *fault) {
    char name[160];
    (void)snprintf(name, sizeof(name), "sandbox-%s", id);
    int first = remove_tree(name, deadline);
    for (unsigned i = 0; i < LOCAL_CONTROLLER_COUNT; i++) {
        int error = remove_v1((enum local_controller)i, name, deadline);
        if (first == 0)
            first = error;
    }
    if (first != 0)
        return local_fault_set(fault, first, "remove the cgroups %s/%s", local_cgroup_top, name);
    return 0;
}
