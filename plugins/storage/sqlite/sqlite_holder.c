/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/sqlite/sqlite_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "core/util/buf.h"
#include "core/util/cleanup.h"
#include "core/util/file.h"
#include "core/util/str.h"

/* The process that has a write lock on the file, from the kernel's table: asking by a descriptor
 * would drop our own locks. 0 = nobody. Lines look like
 * "1: POSIX  ADVISORY  WRITE 4711 08:01:123456 120 120". */
static long find_holder(const char *table, const struct stat *file) {
    char wanted[64];
    (void)snprintf(wanted, sizeof(wanted), "%02x:%02x:%" PRIuMAX, major(file->st_dev),
                   minor(file->st_dev), (uintmax_t)file->st_ino);
    for (const char *line = table; *line != '\0';) {
        char kind[16], mode[16], access[8], where[64];
        long pid = 0;
        int fields = sscanf(line, "%*s %15s %15s %7s %ld %63s", kind, mode, access, &pid, where);
        if (fields == 5 && strcmp(access, "WRITE") == 0 && strcmp(where, wanted) == 0)
            return pid;
        const char *end = strchr(line, '\n');
        if (end == NULL)
            break;
        line = end + 1;
    }
    return 0;
}

void sqlite_holder_describe(const char *path, char *out, size_t size) {
    static const char *const suffixes[] = {"-shm", ""}; /* where WAL has its locks, and the rest */
    out[0] = '\0';
    al_auto(al_buf_free) al_buf table = AL_BUF_INIT;
    if (al_file_read("/proc/locks", (size_t)1024 * 1024, &table) != 0)
        return;
    long pid = 0;
    for (size_t i = 0; i < AL_COUNT(suffixes) && pid <= 0; i++) {
        al_autofree char *name = al_strf("%s%s", path, suffixes[i]);
        struct stat file;
        if (name != NULL && stat(name, &file) == 0)
            pid = find_holder(al_buf_str(&table), &file);
    }
    if (pid <= 0)
        return;
    char name[64];
    (void)snprintf(name, sizeof(name), "/proc/%ld/comm", pid);
    al_auto(al_buf_free) al_buf command = AL_BUF_INIT;
    if (al_file_read(name, 64, &command) == 0 && command.size > 0)
        (void)snprintf(out, size, "process %ld (%.*s)", pid,
                       (int)strcspn(al_buf_str(&command), "\n"), al_buf_str(&command));
    else
        (void)snprintf(out, size, "process %ld", pid);
}
