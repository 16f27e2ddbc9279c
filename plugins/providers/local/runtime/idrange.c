/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/runtime/idrange.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/file.h"
#include "core/util/io.h"

/* Above what systemd gives to containers, below 2^31, where some programs take an id for negative.
 */
enum {
    RANGE_SLOTS = 4096
};
static const uint32_t range_first = 0x70000000;

static const char range_folder[] = "/run/alineo";
static const char range_file[] = "/run/alineo/ids";

/* One byte of the file stands for a range; its lock belongs to the open descriptor, so it ends with
 * the last process that has it. */
static struct flock slot_lock(uint32_t slot) {
    return (struct flock){
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)slot, .l_len = 1};
}

static uint32_t slot_of_id(const char *id) {
    uint32_t hash = 2166136261U;
    for (const char *at = id; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619U;
    return hash % RANGE_SLOTS;
}

static int open_range_file(int *out) {
    int fd = open(range_file, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_CREAT, 0600);
    if (fd < 0 && errno == ENOENT) {
        if (mkdir(range_folder, 0755) != 0 && errno != EEXIST)
            return errno;
        fd = open(range_file, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_CREAT, 0600);
    }
    if (fd < 0)
        return errno;
    *out = fd;
    return 0;
}

int local_range_claim(const char *id, int *range_fd, uint32_t *base, struct local_fault *fault) {
    al_autofd int fd = -1;
    int error = open_range_file(&fd);
    if (error != 0)
        return local_fault_set(fault, error, "open the table of id ranges %s", range_file);
    uint32_t first = slot_of_id(id);
    for (uint32_t step = 0; step < RANGE_SLOTS; step++) {
        uint32_t slot = (first + step) % RANGE_SLOTS;
        struct flock lock = slot_lock(slot);
        if (fcntl(fd, F_OFD_SETLK, &lock) == 0) {
            *base = range_first + slot * (uint32_t)LOCAL_RANGE_COUNT;
            *range_fd = al_steal_fd(&fd);
            return 0;
        }
        if (errno != EAGAIN && errno != EACCES)
            return local_fault_set(fault, errno, "lock an id range in %s", range_file);
    }
    local_fault_set(fault, EAGAIN, "all %d id ranges of this machine are in use", RANGE_SLOTS);
    local_fault_hint(fault, "close sandboxes that are no longer needed");
    return EAGAIN;
}

static int write_map(pid_t pid, const char *file, const char *line, struct local_fault *fault) {
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    al_autofd int fd = open(path, O_WRONLY | O_CLOEXEC);
    int error = fd < 0 ? errno : al_write_full(fd, line, strlen(line));
    if (error == 0)
        return 0;
    local_fault_set(fault, error, "write \"%s\" to the %s of a new user namespace", line, file);
    local_fault_hint(fault,
                     "the host ids must be mapped where alineo runs: see /proc/self/uid_map");
    return error;
}

static int write_maps(pid_t pid, uint32_t inner_uid, uint32_t inner_gid, uint32_t base,
                      uint32_t count, struct local_fault *fault) {
    char line[64];
    (void)snprintf(line, sizeof(line), "%" PRIu32 " %" PRIu32 " %" PRIu32, inner_uid, base, count);
    int error = write_map(pid, "uid_map", line, fault);
    if (error != 0)
        return error;
    (void)snprintf(line, sizeof(line), "%" PRIu32 " %" PRIu32 " %" PRIu32, inner_gid, base, count);
    return write_map(pid, "gid_map", line, fault);
}

int local_range_map(pid_t pid, uint32_t base, struct local_fault *fault) {
    return write_maps(pid, 0, 0, base, LOCAL_RANGE_COUNT, fault);
}

int local_range_map_owner(pid_t pid, uid_t inner_uid, gid_t inner_gid, uint32_t base,
                          struct local_fault *fault) {
    return write_maps(pid, inner_uid, inner_gid, base, 1, fault);
}

/* Whether one line of a map has all ranges: a range must not be put together from two lines. */
static bool map_has_ranges(const char *map) {
    const uint64_t first = range_first;
    const uint64_t end = first + (uint64_t)RANGE_SLOTS * LOCAL_RANGE_COUNT;
    for (const char *line = map; line != NULL && *line != '\0';) {
        uint64_t inner = 0;
        uint64_t outer = 0;
        uint64_t count = 0;
        if (sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64, &inner, &outer, &count) == 3 &&
            inner <= first && inner + count >= end)
            return true;
        line = strchr(line, '\n');
        if (line != NULL)
            line++;
    }
    return false;
}

int local_range_check(struct local_fault *fault) {
    static const char *const files[] = {"/proc/self/uid_map", "/proc/self/gid_map"};
    for (size_t i = 0; i < AL_COUNT(files); i++) {
        al_auto(al_buf_free) al_buf map = AL_BUF_INIT;
        int error = al_file_read(files[i], 65536, &map);
        if (error != 0)
            return local_fault_set(fault, error, "read %s", files[i]);
        if (map_has_ranges(al_buf_str(&map)))
            continue;
        local_fault_set(fault, ENOENT, "host ids %" PRIu32 " and up are not mapped here (%s)",
                        range_first, files[i]);
        local_fault_hint(fault, "run alineo outside of a container, or in one that maps all ids");
        return ENOENT;
    }
    return 0;
}
