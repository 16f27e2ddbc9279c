/* SPDX-License-Identifier: Apache-2.0 */
/* Parting the supervisor from the process that wanted the sandbox. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/file.h"
#include "core/util/str.h"
#include "plugins/providers/local/runtime/box.h"
#include "plugins/providers/local/runtime/cgroup_mount.h"
#include "plugins/providers/local/runtime/fork.h"

static const char keepers_name[] = "supervisors";

/* Joins alineo/ of the v1 hierarchy whose controllers are named NAMES, as in /proc/self/cgroup. */
static void join_v1(const char *names) {
    char path[96];
    if (strchr(names, '/') != NULL)
        return;
    (void)snprintf(path, sizeof(path), "/sys/fs/cgroup/%s", names);
    al_autofd int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    al_autofd int top = -1;
    if (root >= 0 && local_cgroup_open_made(root, local_cgroup_top, &top) == 0)
        (void)local_cgroup_write(top, "tasks", "0");
}

/* Leaves every v1 group that the caller was put into: its limits are not ours, and neither freezing
 * nor killing it is meant for us. What is in the root of a hierarchy stays there. Lines are
 * "number:controllers:path"; a named hierarchy is "number:name=NAME:path". */
static void leave_v1_groups(void) {
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    if (al_file_read("/proc/self/cgroup", 65536, &text) != 0)
        return;
    char *rest = NULL;
    for (char *line = strtok_r(text.data, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *names = strchr(line, ':');
        char *path = names == NULL ? NULL : strchr(names + 1, ':');
        if (path == NULL || names + 1 == path || strcmp(path, ":/") == 0)
            continue;
        *path = '\0';
        const char *named = al_str_after(names + 1, "name=");
        join_v1(named != NULL ? named : names + 1);
    }
}

int local_supervisor_fork(pid_t *pid, struct local_fault *fault) {
    if (geteuid() != 0) {
        (void)local_fault_set(fault, EPERM, "make sandboxes as user %d", (int)geteuid());
        local_fault_hint(fault, "run as root");
        return EPERM;
    }
    al_autofd int top = -1;
    al_autofd int group = -1;
    int error = local_cgroup_open_top(&top, fault);
    if (error != 0)
        return error;
    error = local_cgroup_open_made(top, keepers_name, &group);
    if (error != 0)
        return local_fault_set(fault, error, "make the cgroup of the supervisors");
    pid_t child = 0;
    error = local_fork(0, group, &child, NULL);
    if (error != 0)
        return local_fault_set(fault, error, "fork the supervisor");
    if (child == 0) {
        leave_v1_groups();
        if (setsid() < 0)
            _exit(EXIT_FAILURE);
    }
    *pid = child;
    return 0;
}
