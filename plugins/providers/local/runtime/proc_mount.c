/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/mount.h>
#include <unistd.h>

#include "core/util/compiler.h"
#include "plugins/providers/local/runtime/root.h"

/* What is not there on this kernel is passed over. Guest root owns none of these, so most could not
 * be used anyway; this holds also where a kernel forgot to check. */
static const char *const hidden_files[] = {
    "/proc/interrupts",    "/proc/kallsyms",    "/proc/kcore",       "/proc/keys",
    "/proc/kmsg",          "/proc/key-users",   "/proc/kpagecgroup", "/proc/kpagecount",
    "/proc/kpageflags",    "/proc/sched_debug", "/proc/timer_list",  "/proc/timer_stats",
    "/proc/latency_stats",
};

static const char *const hidden_folders[] = {"/proc/acpi", "/proc/asound", "/proc/scsi"};

static const char *const read_only[] = {"/proc/bus", "/proc/driver", "/proc/fs",
                                        "/proc/irq", "/proc/sys",    "/proc/sysrq-trigger"};

static int hide_files(const char **which) {
    for (size_t i = 0; i < AL_COUNT(hidden_files); i++) {
        *which = hidden_files[i];
        if (mount("/dev/null", *which, NULL, MS_BIND, NULL) != 0 && errno != ENOENT)
            return errno;
    }
    return 0;
}

/* One empty file system serves for all of them. */
static int hide_folders(const char **which) {
    const unsigned long flags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
    const char *first = NULL;
    for (size_t i = 0; i < AL_COUNT(hidden_folders); i++) {
        *which = hidden_folders[i];
        int result = first == NULL ? mount("tmpfs", *which, "tmpfs", flags, "size=0,mode=555")
                                   : mount(first, *which, NULL, MS_BIND, NULL);
        if (result == 0)
            first = *which;
        else if (errno != ENOENT)
            return errno;
    }
    return 0;
}

static int make_read_only(const char **which) {
    const unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
    for (size_t i = 0; i < AL_COUNT(read_only); i++) {
        *which = read_only[i];
        if (mount(*which, *which, NULL, MS_BIND, NULL) != 0) {
            if (errno == ENOENT)
                continue;
            return errno;
        }
        if (mount(NULL, *which, NULL, flags, NULL) != 0)
            return errno;
    }
    return 0;
}

int local_proc_mount(struct local_fault *fault) {
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0) {
        int error = errno;
        local_fault_set(fault, error, "mount /proc for the sandbox");
        if (error == EPERM)
            local_fault_hint(fault,
                             "parts of this process's own /proc are hidden or read-only, as in "
                             "most containers: run alineo where /proc is whole");
        return error;
    }
    const char *which = "";
    int error = hide_files(&which);
    if (error == 0)
        error = hide_folders(&which);
    if (error == 0)
        error = make_read_only(&which);
    return error == 0 ? 0 : local_fault_set(fault, error, "hide %s from the sandbox", which);
}
