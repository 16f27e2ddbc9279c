/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/runtime/fds.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/util/cleanup.h"

static int compare(const void *a, const void *b) {
    int first = *(const int *)a;
    int second = *(const int *)b;
    return (first > second) - (first < second);
}

static int close_between(int first, int end) {
    if (first >= end)
        return 0;
    return close_range((unsigned)first, (unsigned)end - 1, 0) != 0 ? errno : 0;
}

int local_fds_keep_only(int *kept, size_t count) {
    qsort(kept, count, sizeof(*kept), compare);
    int next = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept[i] < next)
            continue;
        int error = close_between(next, kept[i]);
        if (error != 0)
            return error;
        next = kept[i] + 1;
    }
    return close_between(next, INT_MAX);
}

static bool is_in(int fd, const int *fds, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (fds[i] == fd)
            return true;
    return false;
}

int local_fds_null_standard(const int *kept, size_t count) {
    al_autofd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return errno;
    for (int fd = 0; fd <= 2; fd++) {
        if (is_in(fd, kept, count))
            continue;
        if (null == fd)
            null = -1;
        else if (dup2(null, fd) < 0)
            return errno;
    }
    return 0;
}

int local_fds_open_standard(void) {
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            continue;
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (null != fd) {
            al_close(null);
            return null < 0 ? errno : EBADF;
        }
    }
    return 0;
}
