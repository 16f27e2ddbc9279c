/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_FILTER_LIST_H
#define ALINEO_LOCAL_FILTER_LIST_H

/* Which system calls commands may make. */

#include <stddef.h>

enum filter_verdict {
    FILTER_UNKNOWN =
        0, /* ENOSYS, as from a kernel that does not have it: programs then do without */
    FILTER_ALLOW,
    FILTER_DENY, /* EPERM */
    /* Depends on an argument. */
    FILTER_CLONE,
    FILTER_SOCKET,
    FILTER_PERSONALITY,
    FILTER_IOCTL,
    FILTER_NOT_PID1,
    FILTER_SETRLIMIT,
    FILTER_PRLIMIT
};

struct filter_entry {
    const char *name;
    int number; /* -1: as libseccomp says; else for calls newer than it, the same everywhere */
    enum filter_verdict verdict;
};

extern const struct filter_entry filter_list[];
extern const size_t filter_list_count;

#endif
