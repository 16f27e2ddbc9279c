/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/runtime/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <net/if.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/num.h"

/* --- resource limits ---------------------------------------------------------------------------
 */

#define NONE RLIM_INFINITY

/* A core limit of 1 is the one value at which the kernel starts no crash handler of the host's
 * either (the filter keeps commands from changing it). */
static const struct {
    int resource;
    rlim_t soft;
    rlim_t hard;
} limits[] = {
    {RLIMIT_AS, NONE, NONE},
    {RLIMIT_CORE, 1, 1},
    {RLIMIT_CPU, NONE, NONE},
    {RLIMIT_DATA, NONE, NONE},
    {RLIMIT_FSIZE, NONE, NONE},
    {RLIMIT_LOCKS, NONE, NONE},
    {RLIMIT_MEMLOCK, 8U << 20, 8U << 20},
    {RLIMIT_MSGQUEUE, 819200, 819200},
    {RLIMIT_NICE, 0, 0},
    {RLIMIT_NOFILE, 1024, 65536},
    {RLIMIT_NPROC, NONE, NONE},
    {RLIMIT_RSS, NONE, NONE},
    {RLIMIT_RTPRIO, 0, 0},
    {RLIMIT_RTTIME, NONE, NONE},
    {RLIMIT_SIGPENDING, 4096, 4096},
    {RLIMIT_STACK, 8U << 20, NONE},
};

static rlim_t smaller(rlim_t a, rlim_t b) {
    return a < b ? a : b;
}

/* Without CAP_SYS_RESOURCE a limit can be lowered only: then the caller's lower one stays. */
static int apply_limit(size_t index) {
    struct rlimit wanted = {.rlim_cur = limits[index].soft, .rlim_max = limits[index].hard};
    if (setrlimit((__rlimit_resource_t)limits[index].resource, &wanted) == 0)
        return 0;
    struct rlimit present;
    if (errno != EPERM || getrlimit((__rlimit_resource_t)limits[index].resource, &present) != 0)
        return errno;
    wanted.rlim_max = smaller(wanted.rlim_max, present.rlim_max);
    wanted.rlim_cur = smaller(wanted.rlim_cur, wanted.rlim_max);
    return setrlimit((__rlimit_resource_t)limits[index].resource, &wanted) != 0 ? errno : 0;
}

static void write_oom_score(const char *text) {
    al_autofd int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, text, strlen(text)) < 0)
        errno = 0;
}

/* A protected caller (a score below 0) must not hand its protection, or the right to get it back,
 * to the box. */
static void reset_oom_score(void) {
    char text[16] = "";
    al_autofd int fd = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && text[0] == '-')
        write_oom_score("0");
}

int local_limits_apply(struct local_fault *fault) {
    for (size_t i = 0; i < AL_COUNT(limits); i++) {
        int error = apply_limit(i);
        if (error != 0)
            return local_fault_set(fault, error, "set resource limit %d", limits[i].resource);
    }
    reset_oom_score();
    return 0;
}

void local_limits_protect(void) {
    write_oom_score("-900");
}

/* --- identity and rights ------------------------------------------------------------------------
 */

int local_become_root(struct local_fault *fault) {
    if (setresgid(0, 0, 0) != 0 || setgroups(0, NULL) != 0 || setresuid(0, 0, 0) != 0)
        return local_fault_set(fault, errno, "become root of the sandbox");
    /* Else keys of the caller's session could be found and read. */
    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
        return local_fault_set(fault, errno, "make a keyring for the sandbox");
    return 0;
}

/* What container engines leave, without CAP_MKNOD, CAP_NET_RAW and CAP_AUDIT_WRITE, which are of no
 * use here. */
static const unsigned kept[] = {
    CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_FOWNER,  CAP_FSETID,           CAP_KILL,       CAP_SETGID,
    CAP_SETUID, CAP_SETPCAP,      CAP_SETFCAP, CAP_NET_BIND_SERVICE, CAP_SYS_CHROOT,
};

static uint64_t kept_capabilities(bool keep_admin) {
    uint64_t set = keep_admin ? UINT64_C(1) << CAP_SYS_ADMIN : 0;
    for (size_t i = 0; i < AL_COUNT(kept); i++)
        set |= UINT64_C(1) << kept[i];
    return set;
}

static int set_capabilities(uint64_t set) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    for (unsigned i = 0; i < 2; i++) {
        uint32_t half = (uint32_t)(set >> (32 * i));
        data[i] = (struct __user_cap_data_struct){.effective = half, .permitted = half};
    }
    return syscall(SYS_capset, &header, data) != 0 ? errno : 0;
}

int local_drop_capabilities(bool keep_admin, struct local_fault *fault) {
    uint64_t set = kept_capabilities(keep_admin);
    for (unsigned capability = 0; capability < 64; capability++) {
        if ((set & (UINT64_C(1) << capability)) != 0)
            continue;
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0)
            continue;
        if (errno == EINVAL) /* beyond the last that this kernel knows */
            break;
        return local_fault_set(fault, errno, "drop capability %u", capability);
    }
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
        return local_fault_set(fault, errno, "drop ambient capabilities");
    int error = set_capabilities(set);
    if (error != 0)
        return local_fault_set(fault, error, "drop capabilities");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return local_fault_set(fault, errno, "forbid new privileges");
    return 0;
}

int local_harden(struct local_fault *fault) {
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
        return local_fault_set(fault, errno, "bind the sandbox to its supervisor");
    return 0;
}

/* By the kernel's own call: the C library keeps two for itself and would not touch them, and they
 * can be ignored by the caller like any other. Those that cannot be changed fail. */
void local_signals_reset(void) {
    static const unsigned char by_default[64]; /* the kernel's struct sigaction, all 0 */
    for (int number = 1; number < NSIG; number++)
        (void)syscall(SYS_rt_sigaction, number, by_default, NULL, 8UL);
}

int local_loopback_up(struct local_fault *fault) {
    al_autofd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = {.ifr_name = "lo"};
    request.ifr_flags = IFF_UP;
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) != 0)
        return local_fault_set(fault, errno, "bring up the sandbox's loopback device");
    return 0;
}
