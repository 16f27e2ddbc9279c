/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/num.h"
#include "plugins/providers/local/runtime/cgroup.h"

/* One write(), since each is a command to the kernel of its own. */
int local_cgroup_write(int folder_fd, const char *file, const char *text) {
    al_autofd int fd = openat(folder_fd, file, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    ssize_t written;
    do {
        written = write(fd, text, strlen(text));
    } while (written < 0 && errno == EINTR);
    return written < 0 ? errno : 0;
}

int local_cgroup_read(int folder_fd, const char *file, char *text, size_t size) {
    al_autofd int fd = openat(folder_fd, file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    ssize_t got;
    do {
        got = read(fd, text, size - 1);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return errno;
    text[got] = '\0';
    return 0;
}

uint64_t local_cgroup_field(int folder_fd, const char *file, const char *key) {
    char text[1024];
    if (local_cgroup_read(folder_fd, file, text, sizeof(text)) != 0)
        return 0;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *blank = strchr(line, ' ');
        if (blank == NULL)
            continue;
        *blank = '\0';
        uint64_t value = 0;
        if (strcmp(line, key) == 0 && al_parse_uint64(blank + 1, &value) == 0)
            return value;
    }
    return 0;
}
