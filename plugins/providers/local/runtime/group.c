/* SPDX-License-Identifier: Apache-2.0 */
/* What a supervisor does with the cgroups of a running box. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "plugins/providers/local/runtime/box.h"
#include "plugins/providers/local/runtime/cgroup.h"

enum {
    GROUP_NAME_SIZE = 24
};

static void name_group(uint64_t number, char name[GROUP_NAME_SIZE]) {
    (void)snprintf(name, GROUP_NAME_SIZE, "%" PRIu64, number);
}

int local_group_create(const struct local_box *box, uint64_t number, int *group_fd,
                       struct local_fault *fault) {
    int parent = box->cgroups.commands_fd;
    if (parent < 0) {
        *group_fd = -1;
        return 0;
    }
    char name[GROUP_NAME_SIZE];
    name_group(number, name);
    if (mkdirat(parent, name, 0755) != 0)
        return local_fault_set(fault, errno, "make the cgroup of command %s", name);
    al_autofd int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = fd < 0 ? errno : 0;
    if (error == 0 && fchownat(fd, "cgroup.procs", box->range_base, box->range_base, 0) != 0)
        error = errno;
    if (error != 0) {
        (void)unlinkat(parent, name, AT_REMOVEDIR);
        return local_fault_set(fault, error, "open the cgroup of command %s", name);
    }
    *group_fd = al_steal_fd(&fd);
    return 0;
}

int local_group_kill(const struct local_box *box, uint64_t number) {
    char file[GROUP_NAME_SIZE + sizeof("/cgroup.kill")];
    char name[GROUP_NAME_SIZE];
    name_group(number, name);
    (void)snprintf(file, sizeof(file), "%s/cgroup.kill", name);
    return local_cgroup_write(box->cgroups.commands_fd, file, "1");
}

int local_group_remove(const struct local_box *box, uint64_t number) {
    char name[GROUP_NAME_SIZE];
    name_group(number, name);
    if (unlinkat(box->cgroups.commands_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    return errno;
}

uint64_t local_box_oom_kills(const struct local_box *box) {
    const struct local_cgroups *cgroups = &box->cgroups;
    if (cgroups->memory_fd < 0)
        return 0;
    bool is_v2 = (cgroups->v2_controllers & (1U << LOCAL_CONTROLLER_MEMORY)) != 0;
    return local_cgroup_field(cgroups->memory_fd, is_v2 ? "memory.events" : "memory.oom_control",
                              "oom_kill");
}

int local_box_thaw(struct local_box *box) {
    int error = local_cgroup_write(box->cgroups.unified_fd, "cgroup.freeze", "0");
    if (error == 0)
        box->is_frozen = false;
    return error;
}

/* The kernel announces a change of the file by POLLPRI; it counts from the last read of the same
 * open file. */
static int wait_until_frozen(int folder_fd, al_deadline deadline) {
    al_autofd int fd = openat(folder_fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    for (;;) {
        char text[128];
        ssize_t got = pread(fd, text, sizeof(text) - 1, 0);
        if (got < 0)
            return errno;
        text[got] = '\0';
        if (strstr(text, "frozen 1") != NULL)
            return 0;
        if (al_deadline_passed(deadline))
            return ETIMEDOUT;
        struct pollfd wait = {.fd = fd, .events = POLLPRI};
        (void)poll(&wait, 1, al_deadline_poll_ms(deadline));
    }
}

int local_box_freeze(struct local_box *box, al_deadline deadline) {
    int folder = box->cgroups.unified_fd;
    int error = local_cgroup_write(folder, "cgroup.freeze", "1");
    if (error == 0)
        error = wait_until_frozen(folder, deadline);
    if (error == 0)
        box->is_frozen = true;
    else
        (void)local_cgroup_write(folder, "cgroup.freeze", "0");
    return error;
}
