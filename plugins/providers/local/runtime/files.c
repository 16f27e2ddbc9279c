/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/runtime/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/util/cleanup.h"
#include "core/util/file.h"
#include "core/util/random.h"

enum {
    TRASH_NAME_SIZE = 33
};

int local_files_remove(const char *folder, const char *trash, struct local_fault *fault) {
    static const char *const names[] = {"upper", "work"};
    al_autofd int from = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (from < 0)
        return errno == ENOENT ? 0 : local_fault_set(fault, errno, "open %s", folder);
    al_autofd int to = open(trash, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (to < 0)
        return local_fault_set(fault, errno, "open the trash folder %s", trash);
    char moved[AL_COUNT(names)][TRASH_NAME_SIZE];
    bool is_moved[AL_COUNT(names)] = {false};
    int first = 0;
    for (size_t i = 0; i < AL_COUNT(names); i++) {
        int error = al_random_id(moved[i], TRASH_NAME_SIZE - 1);
        if (error == 0 && renameat(from, names[i], to, moved[i]) != 0)
            error = errno;
        is_moved[i] = error == 0;
        if (error != 0 && error != ENOENT && first == 0)
            first = local_fault_set(fault, error, "move %s/%s to %s", folder, names[i], trash);
    }
    for (size_t i = 0; i < AL_COUNT(names); i++) {
        int error = is_moved[i] ? al_remove_tree(to, moved[i]) : 0;
        if (error != 0 && first == 0)
            first = local_fault_set(fault, error, "delete %s/%s", trash, moved[i]);
    }
    return first;
}
