/* SPDX-License-Identifier: Apache-2.0 */
#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cleanup.h"
#include "io.h"
#include "num.h"

/* Reads a small file of /proc whole; what is longer is cut. SIZE counts the closing NUL. */
static int read_proc(const char *path, char *out, size_t size) {
    al_autofd int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? ESRCH : errno;
    size_t got = 0;
    int rc = al_read_full(fd, out, size - 1, &got);
    out[got] = '\0';
    return rc;
}

enum {
    FIELD_START_TIME = 22,
    FIELD_STATE = 3
};

/* State and start time. The name in the second field may hold blanks and brackets, so counting
 * begins behind the last bracket. */
static int read_stat(pid_t pid, char *process_state, uint64_t *ticks) {
    char path[64];
    char text[1024];
    (void)snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    int rc = read_proc(path, text, sizeof(text));
    if (rc != 0)
        return rc;
    char *at = strrchr(text, ')');
    if (at == NULL || at[1] != ' ')
        return EIO;
    at += 2;
    char found_state = at[0];
    for (int field = FIELD_STATE; field < FIELD_START_TIME; field++) {
        at = strchr(at, ' ');
        if (at == NULL)
            return EIO;
        at++;
    }
    at[strcspn(at, " \n")] = '\0';
    if (al_parse_uint64(at, ticks) != 0)
        return EIO;
    *process_state = found_state;
    return 0;
}

int al_proc_start_time(pid_t pid, uint64_t *ticks) {
    char process_state;
    return read_stat(pid, &process_state, ticks);
}

int al_proc_is_running(pid_t pid, uint64_t ticks, bool *running) {
    char process_state;
    uint64_t found_ticks;
    int rc = read_stat(pid, &process_state, &found_ticks);
    if (rc != 0 && rc != ESRCH)
        return rc;
    *running = rc == 0 && found_ticks == ticks && process_state != 'Z' && process_state != 'X';
    return 0;
}

int al_proc_boot_id(char out[AL_BOOT_ID_SIZE]) {
    char text[AL_BOOT_ID_SIZE + 1];
    int rc = read_proc("/proc/sys/kernel/random/boot_id", text, sizeof(text));
    if (rc != 0)
        return rc;
    if (strcspn(text, "\n") != AL_BOOT_ID_SIZE - 1)
        return EIO;
    memcpy(out, text, AL_BOOT_ID_SIZE - 1);
    out[AL_BOOT_ID_SIZE - 1] = '\0';
    return 0;
}

int al_proc_pid_namespace(pid_t pid, uint64_t *inode) {
    char path[64];
    if (pid == 0)
        (void)snprintf(path, sizeof(path), "/proc/self/ns/pid");
    else
        (void)snprintf(path, sizeof(path), "/proc/%ld/ns/pid", (long)pid);
    struct stat status;
    if (stat(path, &status) != 0)
        return errno == ENOENT ? ESRCH : errno;
    *inode = status.st_ino;
    return 0;
}

int al_pidfd_open(pid_t pid, int *fd) {
    long opened = syscall(SYS_pidfd_open, pid, 0);
    if (opened < 0)
        return errno;
    *fd = (int)opened;
    return 0;
}

int al_pidfd_signal(int fd, int signal_number) {
    return syscall(SYS_pidfd_send_signal, fd, signal_number, NULL, 0) == 0 ? 0 : errno;
}
