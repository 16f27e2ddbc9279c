/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/io.h"
#include "core/util/num.h"
#include "plugins/providers/local/runtime/box.h"
#include "plugins/providers/local/runtime/cgroup.h"

static uint64_t read_number(int folder_fd, const char *file) {
    char text[32];
    uint64_t value;
    if (local_cgroup_read(folder_fd, file, text, sizeof(text)) != 0)
        return UINT64_MAX;
    text[strcspn(text, "\n")] = '\0';
    return al_parse_uint64(text, &value) == 0 ? value : UINT64_MAX;
}

/* The list of processes may have any length. */
static uint64_t count_lines(int folder_fd, const char *file) {
    char piece[4096];
    size_t size = 0;
    uint64_t count = 0;
    al_autofd int fd = openat(folder_fd, file, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && al_read_some(fd, piece, sizeof(piece), &size) == 0 && size > 0)
        for (size_t i = 0; i < size; i++)
            count += piece[i] == '\n';
    return count;
}

/* Each command's tree is a folder named by a number. */
static uint64_t count_processes(int commands_fd) {
    int fd = openat(commands_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (folder == NULL) {
        al_close(fd);
        return UINT64_MAX;
    }
    uint64_t count = 0;
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        al_autofd int group =
            openat(dirfd(folder), entry->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (group >= 0)
            count += count_lines(group, "cgroup.procs");
    }
    (void)closedir(folder);
    return count;
}

void local_box_usage(const struct local_box *box, struct local_usage *usage) {
    const struct local_cgroups *cgroups = &box->cgroups;
    bool is_v2 = (cgroups->v2_controllers & (1U << LOCAL_CONTROLLER_MEMORY)) != 0;
    *usage = (struct local_usage){UINT64_MAX, UINT64_MAX, UINT64_MAX};
    if (cgroups->unified_fd >= 0)
        usage->cpu_us = local_cgroup_field(cgroups->unified_fd, "cpu.stat", "usage_usec");
    if (cgroups->memory_fd >= 0)
        usage->memory_size =
            read_number(cgroups->memory_fd, is_v2 ? "memory.current" : "memory.usage_in_bytes");
    if (cgroups->commands_fd >= 0)
        usage->processes = count_processes(cgroups->commands_fd);
}
