/* SPDX-License-Identifier: Apache-2.0 */
/* Runs inside a sandbox and tries to get out, or to take more than its share.
 *
 *   attacker NAME      prints what came of that attack: "done" or the name of an errno value
 *   attacker           prints the names
 *
 * It is static and asks the kernel directly, so that no library answers in its place. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* An attack gives 0 when it succeeded, else the errno value that stopped it. */
static int result_of(long value) {
    return value < 0 ? errno : 0;
}

static int try_open(const char *path, int flags) {
    int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0600);
    if (fd < 0)
        return errno;
    (void)close(fd);
    return 0;
}

static int try_write(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno;
    int error = result_of(write(fd, text, strlen(text)));
    (void)close(fd);
    return error;
}

/* ENODATA when there is nothing to read. */
static int try_read(const char *path) {
    char bytes[64];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno;
    ssize_t got = read(fd, bytes, sizeof(bytes));
    int error = got < 0 ? errno : got == 0 ? ENODATA : 0;
    (void)close(fd);
    return error;
}

static int try_link(const char *path) {
    char target[256];
    return result_of(readlink(path, target, sizeof(target)));
}

/* --- mounts and namespaces -------------------------------------------------------------------- */

static int attack_mount(void) {
    return result_of(mount("tmpfs", "/mnt", "tmpfs", 0, NULL));
}
static int attack_remount_devices(void) {
    return result_of(mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
}
static int attack_umount(void) {
    return result_of(umount2("/proc/sys", MNT_DETACH));
}
static int attack_open_tree(void) {
    return result_of(syscall(SYS_open_tree, AT_FDCWD, "/usr", OPEN_TREE_CLONE));
}
static int attack_move_mount(void) {
    return result_of(syscall(SYS_move_mount, AT_FDCWD, "/usr", AT_FDCWD, "/mnt", 0));
}
static int attack_fsopen(void) {
    return result_of(syscall(SYS_fsopen, "proc", 0));
}
static int attack_mount_setattr(void) {
    struct mount_attr change = {.attr_clr = MOUNT_ATTR_RDONLY};
    return result_of(syscall(SYS_mount_setattr, AT_FDCWD, "/usr", 0, &change, sizeof(change)));
}
static int attack_pivot_root(void) {
    return result_of(syscall(SYS_pivot_root, "/tmp", "/tmp"));
}
static int attack_unshare_user(void) {
    return result_of(unshare(CLONE_NEWUSER));
}
static int attack_unshare_mount(void) {
    return result_of(unshare(CLONE_NEWNS));
}
static int attack_setns(void) {
    int fd = (int)syscall(SYS_pidfd_open, 1, 0);
    return fd < 0 ? errno : result_of(setns(fd, CLONE_NEWNS));
}
static int attack_open_namespace(void) {
    return try_open("/proc/1/ns/mnt", O_RDONLY);
}
static int attack_clone_user(void) {
    long pid = syscall(SYS_clone, (unsigned long)CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, 0);
    if (pid == 0)
        _exit(0);
    return result_of(pid);
}
static int attack_clone3(void) {
    struct clone_args args = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
    long pid = syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0)
        _exit(0);
    return result_of(pid);
}

/* Out of a root in the root; what counts is where that leads. ENOTDIR: no further than the sandbox.
 * */
static int attack_chroot(void) {
    struct stat root;
    struct stat reached;
    if (stat("/", &root) != 0 || (mkdir("/tmp/cage", 0755) != 0 && errno != EEXIST) ||
        chroot("/tmp/cage") != 0)
        return errno;
    for (int i = 0; i < 64; i++)
        if (chdir("..") != 0)
            return errno;
    if (stat(".", &reached) != 0)
        return errno;
    return reached.st_ino == root.st_ino && reached.st_dev == root.st_dev ? ENOTDIR : 0;
}
static int attack_dotdot(void) {
    struct stat root;
    struct stat reached;
    if (stat("/", &root) != 0 || stat("/proc/self/root/../../..", &reached) != 0)
        return errno;
    return reached.st_ino == root.st_ino && reached.st_dev == root.st_dev ? ENOTDIR : 0;
}

/* Any mount whose source is not what the sandbox was given. ENOENT: none. */
static int attack_find_host_mounts(void) {
    static const char *const expected[] = {"overlay",  "proc",   "tmpfs",
                                           "devtmpfs", "devpts", "mqueue"};
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    char line[4096];
    int found = ENOENT;
    if (mounts == NULL)
        return errno;
    while (fgets(line, sizeof(line), mounts) != NULL) {
        char type[64] = "";
        char target[256] = "";
        const char *dash = strstr(line, " - ");
        bool is_expected = false;
        if (dash == NULL || sscanf(dash + 3, "%63s", type) != 1 ||
            sscanf(line, "%*s %*s %*s %*s %255s", target) != 1)
            continue;
        for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
            is_expected = is_expected || strcmp(type, expected[i]) == 0;
        is_expected = is_expected || strncmp(target, "/usr", 4) == 0 ||
                      strncmp(target, "/etc/", 5) == 0 || strncmp(target, "/attacker", 9) == 0;
        if (!is_expected) {
            (void)fprintf(stderr, "%s", line);
            found = 0;
        }
    }
    (void)fclose(mounts);
    return found;
}

/* --- devices ---------------------------------------------------------------------------------- */

static int attack_mknod_block(void) {
    return result_of(mknod("/tmp/disk", S_IFBLK | 0600, makedev(254, 0)));
}
static int attack_mknod_null(void) {
    return result_of(mknod("/tmp/null", S_IFCHR | 0600, makedev(1, 3)));
}
static int attack_mknod_whiteout(void) {
    return result_of(mknod("/tmp/gone", S_IFCHR | 0600, makedev(0, 0)));
}
static int attack_device_in_image(void) {
    return try_open("/device", O_RDONLY);
}
static int attack_dev_mem(void) {
    return try_open("/dev/mem", O_RDONLY);
}
static int attack_chmod_null(void) {
    return result_of(chmod("/dev/null", 0));
}

/* --- pid 1 ------------------------------------------------------------------------------------ */

static int attack_pid1_mem(void) {
    return try_open("/proc/1/mem", O_RDWR);
}
static int attack_pid1_root(void) {
    return try_open("/proc/1/root/etc/passwd", O_RDONLY);
}
static int attack_pid1_exe(void) {
    return try_link("/proc/1/exe");
}
static int attack_pid1_fds(void) {
    return try_open("/proc/1/fd", O_RDONLY | O_DIRECTORY);
}
static int attack_pid1_environ(void) {
    return try_read("/proc/1/environ");
}
static int attack_pid1_maps(void) {
    return try_read("/proc/1/maps");
}
static int attack_pid1_ptrace(void) {
    return result_of(ptrace(PTRACE_SEIZE, 1, NULL, NULL));
}
static int attack_pid1_vm_write(void) {
    char bytes[8] = "";
    struct iovec local = {bytes, sizeof(bytes)};
    struct iovec remote = {(void *)0x400000, sizeof(bytes)};
    return result_of(syscall(SYS_process_vm_writev, 1, &local, 1UL, &remote, 1UL, 0UL));
}
static int attack_pid1_take_fd(void) {
    int fd = (int)syscall(SYS_pidfd_open, 1, 0);
    return fd < 0 ? errno : result_of(syscall(SYS_pidfd_getfd, fd, 3, 0));
}
static int attack_pid1_kill(void) {
    return result_of(kill(1, SIGKILL));
}
static int attack_pid1_stop(void) {
    return result_of(kill(1, SIGSTOP));
}
static int attack_pid1_signals(void) {
    for (int number = 1; number < NSIG; number++)
        if (number != SIGKILL && number != SIGSTOP)
            (void)kill(1, number);
    return 0;
}
static int attack_pid1_oom_score(void) {
    return try_write("/proc/1/oom_score_adj", "1000");
}
static int attack_pid1_limit(void) {
    static const struct rlimit none = {0, 0};
    return result_of(prlimit(1, RLIMIT_NOFILE, &none, NULL));
}
static int attack_pid1_processor(void) {
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    return result_of(sched_setaffinity(1, sizeof(first), &first));
}
static int attack_pid1_idle(void) {
    static const struct sched_param none = {0};
    return result_of(sched_setscheduler(1, SCHED_IDLE, &none));
}
static int attack_own_oom_score(void) {
    return try_write("/proc/self/oom_score_adj", "-1");
}
static int attack_kill_all(void) {
    return result_of(kill(-1, SIGKILL));
}

/* --- the kernel ------------------------------------------------------------------------------- */

static int attack_keyctl(void) {
    return result_of(syscall(SYS_keyctl, 0, -3, 0, 0, 0));
}
static int attack_add_key(void) {
    return result_of(syscall(SYS_add_key, "user", "name", "value", 5UL, -3));
}
static int attack_request_key(void) {
    return result_of(syscall(SYS_request_key, "user", "name", NULL, -3));
}
static int attack_bpf(void) {
    char attributes[128] = "";
    return result_of(syscall(SYS_bpf, 0, attributes, sizeof(attributes)));
}
static int attack_perf(void) {
    char attributes[128] = "";
    return result_of(syscall(SYS_perf_event_open, attributes, 0, -1, -1, 0UL));
}
static int attack_io_uring(void) {
    char parameters[128] = "";
    return result_of(syscall(SYS_io_uring_setup, 8, parameters));
}
static int attack_userfaultfd(void) {
    return result_of(syscall(SYS_userfaultfd, O_CLOEXEC));
}
static int attack_init_module(void) {
    return result_of(syscall(SYS_init_module, "", 0UL, ""));
}
static int attack_kexec(void) {
    return result_of(syscall(SYS_kexec_load, 0UL, 0UL, NULL, 0UL));
}
static int attack_reboot(void) {
    return result_of(syscall(SYS_reboot, 0xfee1deadL, 672274793L, 0x89abcdefL, NULL));
}
static int attack_swapon(void) {
    return result_of(syscall(SYS_swapon, "/tmp/swap", 0));
}
static int attack_syslog(void) {
    char bytes[64];
    return result_of(syscall(SYS_syslog, 3, bytes, (int)sizeof(bytes)));
}
static int attack_settime(void) {
    struct timespec time = {.tv_sec = 1};
    return result_of(syscall(SYS_clock_settime, 0, &time));
}
static int attack_sethostname(void) {
    return result_of(syscall(SYS_sethostname, "evil", 4UL));
}
static int attack_open_by_handle(void) {
    uint32_t handle[8] = {8, 1};
    return result_of(syscall(SYS_open_by_handle_at, AT_FDCWD, handle, O_RDONLY));
}
static int attack_fanotify(void) {
    return result_of(syscall(SYS_fanotify_init, 0, O_RDONLY));
}
static int attack_quotactl(void) {
    return result_of(syscall(SYS_quotactl, 0, NULL, 0, NULL));
}
static int attack_acct(void) {
    return result_of(syscall(SYS_acct, "/tmp/acct"));
}
static int attack_move_pages(void) {
    return result_of(syscall(SYS_move_pages, 0, 0UL, NULL, NULL, NULL, 0));
}
static int attack_unknown_call(void) {
    return result_of(syscall(499));
}
#if defined(__x86_64__)
static int attack_iopl(void) {
    return result_of(syscall(SYS_iopl, 3));
}
static int attack_modify_ldt(void) {
    return result_of(syscall(SYS_modify_ldt, 0, NULL, 0UL));
}
/* getpid of 32-bit programs, and of those with 32-bit pointers. */
static int attack_32bit(void) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
    return result < 0 ? (int)-result : 0;
}
static int attack_x32(void) {
    return result_of(syscall(0x40000000L + SYS_getpid));
}
#endif
static int attack_personality(void) {
    return result_of(syscall(SYS_personality, 0x0400000UL)); /* READ_IMPLIES_EXEC */
}

/* --- /proc and /sys --------------------------------------------------------------------------- */

static int attack_core_pattern(void) {
    return try_write("/proc/sys/kernel/core_pattern", "|/tmp/evil\n");
}
static int attack_sysctl(void) {
    return try_write("/proc/sys/net/ipv4/ip_forward", "1\n");
}
static int attack_sysrq(void) {
    return try_write("/proc/sysrq-trigger", "b\n");
}
static int attack_kcore(void) {
    return try_read("/proc/kcore");
}
static int attack_kmsg(void) {
    return try_read("/proc/kmsg");
}
static int attack_kallsyms(void) {
    return try_read("/proc/kallsyms");
}
static int attack_keys(void) {
    return try_read("/proc/keys");
}
static int attack_acpi(void) {
    return try_open("/proc/acpi/event", O_RDONLY);
}
static int attack_sys(void) {
    return try_open("/sys/kernel", O_RDONLY);
}
static int attack_cgroup_files(void) {
    return try_open("/sys/fs/cgroup", O_RDONLY);
}
static int attack_usr_write(void) {
    int fd = open("/usr/evil", O_WRONLY | O_CREAT, 0644);
    return fd < 0 ? errno : 0;
}
static int attack_shadow(void) {
    return try_open("/etc/ssl/private", O_RDONLY | O_DIRECTORY);
}

/* --- rights ----------------------------------------------------------------------------------- */

static int attack_capabilities(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    memset(data, 0, sizeof(data));
    data[0].permitted = data[0].effective = 1U << CAP_SYS_ADMIN;
    return result_of(syscall(SYS_capset, &header, data));
}
static int attack_foreign_user(void) {
    return result_of(setresuid(70000, 70000, 70000));
}
static int attack_become_root(void) {
    return result_of(setresuid(0, 0, 0));
}
static int attack_chown_far(void) {
    if (try_open("/tmp/far", O_WRONLY | O_CREAT) != 0)
        return errno;
    return result_of(chown("/tmp/far", 70000, 70000));
}
static int attack_nice(void) {
    return result_of(setpriority(PRIO_PROCESS, 0, -5));
}
static int attack_realtime(void) {
    struct sched_param parameters = {.sched_priority = 1};
    return result_of(sched_setscheduler(0, SCHED_FIFO, &parameters));
}
static int attack_raise_limit(void) {
    struct rlimit limit = {1U << 20, 1U << 20};
    return result_of(setrlimit(RLIMIT_NOFILE, &limit));
}

static rlim_t core_limit(void) {
    struct rlimit limit = {0, 0};
    return getrlimit(RLIMIT_CORE, &limit) == 0 ? limit.rlim_max : 0;
}
/* EALREADY: said to be done, and nothing changed. */
static int attack_core_limit(void) {
    struct rlimit limit = {0, 0};
    if (setrlimit(RLIMIT_CORE, &limit) != 0 || syscall(SYS_setrlimit, RLIMIT_CORE, &limit) != 0 ||
        syscall(SYS_prlimit64, 0, 0x100000000L | RLIMIT_CORE, &limit, NULL) != 0)
        return errno;
    return core_limit() == 1 ? EALREADY : 0;
}

/* --- terminal, sockets, ipc ------------------------------------------------------------------- */

static int attack_typing(void) {
    return result_of(syscall(SYS_ioctl, 0, 0x5412UL, "x"));
}
static int attack_typing_high_bits(void) {
    return result_of(syscall(SYS_ioctl, 0, 0x700005412UL, "x"));
}
static int attack_vsock(void) {
    return result_of(socket(40, SOCK_STREAM, 0));
}
static int attack_kernel_crypto(void) {
    return result_of(socket(AF_ALG, SOCK_SEQPACKET, 0));
}
static int attack_packet_socket(void) {
    return result_of(socket(AF_PACKET, SOCK_RAW, 0));
}
static int attack_netfilter(void) {
    return result_of(socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER));
}
static int attack_route_socket(void) {
    return result_of(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
}
static int attack_raw_socket(void) {
    return result_of(socket(AF_INET, SOCK_RAW, 1));
}
static int attack_abstract_socket(void) {
    const char *name = getenv("ATTACK_ARGUMENT");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0 || name == NULL)
        return EINVAL;
    size_t size = strlen(name);
    memcpy(address.sun_path + 1, name, size);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size);
    return result_of(connect(fd, (const struct sockaddr *)&address, length));
}
static int attack_shared_memory(void) {
    const char *key = getenv("ATTACK_ARGUMENT");
    return key == NULL ? EINVAL : result_of(shmget((key_t)strtol(key, NULL, 10), 1, 0));
}
static int attack_host_process(void) {
    const char *pid = getenv("ATTACK_ARGUMENT");
    return pid == NULL ? EINVAL : result_of(kill((pid_t)strtol(pid, NULL, 10), 0));
}

/* --- more than its share ---------------------------------------------------------------------- */

static int attack_memory(void) {
    for (size_t taken = 0; taken < (size_t)1 << 34; taken += 1U << 20) {
        char *block =
            mmap(NULL, 1U << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (block == MAP_FAILED)
            return errno;
        memset(block, 1, 1U << 20);
    }
    return 0;
}
static int attack_memory_in_files(void) {
    static char block[1U << 16];
    int fd = open("/dev/shm/bomb", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    for (size_t taken = 0; taken < (size_t)1 << 34; taken += sizeof(block))
        if (write(fd, block, sizeof(block)) < 0)
            return errno;
    return 0;
}
/* Prints how many processes it got. They live on until they are killed. */
static int attack_processes(void) {
    int count = 0;
    for (; count < 100000; count++) {
        pid_t pid = fork();
        if (pid < 0)
            break;
        if (pid == 0)
            for (;;)
                (void)pause();
    }
    int error = errno;
    (void)printf("%d ", count);
    return count == 100000 ? 0 : error;
}
static int attack_descriptors(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return errno;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return errno;
    for (int count = 0; count < 1000000; count++)
        if (dup(0) < 0)
            return errno;
    return 0;
}
static int attack_fill_dev(void) {
    static const char block[4096];
    int fd = open("/dev/bomb", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    for (size_t taken = 0; taken < (size_t)1 << 30; taken += sizeof(block))
        if (write(fd, block, sizeof(block)) < 0)
            return errno;
    return 0;
}
/* Folders in folders, far deeper than a path can be. */
static int attack_deep_folders(void) {
    if (mkdir("/tmp/deep", 0755) != 0 || chdir("/tmp/deep") != 0)
        return errno;
    for (int depth = 0; depth < 5000; depth++)
        if (mkdir("d", 0700) != 0 || chdir("d") != 0)
            return errno;
    return 0;
}
static int attack_crash(void) {
    volatile int *nowhere = NULL;
    *nowhere = 1;
    return 0;
}

/* The descriptors it has beyond the three. ENOENT: none. */
static int attack_find_descriptors(void) {
    DIR *folder = opendir("/proc/self/fd");
    int found = ENOENT;
    const struct dirent *entry;
    if (folder == NULL)
        return errno;
    while ((entry = readdir(folder)) != NULL) {
        long fd = strtol(entry->d_name, NULL, 10);
        if (entry->d_name[0] != '.' && fd > 2 && fd != dirfd(folder))
            found = 0;
    }
    (void)closedir(folder);
    return found;
}

static int copy_program(const char *to) {
    static char bytes[1U << 16];
    int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    ssize_t got;
    if (in < 0 || out < 0)
        return errno;
    while ((got = read(in, bytes, sizeof(bytes))) > 0)
        if (write(out, bytes, (size_t)got) != got)
            return EIO;
    int error = got < 0 || fchmod(out, 04755) != 0 ? errno : 0;
    (void)close(in);
    (void)close(out);
    return error;
}

/* Runs a copy of itself, owned by root and setuid, as a user. EPERM: still that user. */
static int attack_setuid_program(void) {
    if (getuid() == 1234) /* the copy */
        return geteuid() == 1234 ? EPERM : 0;
    int error = copy_program("/tmp/setuid");
    if (error != 0)
        return error;
    if (setresgid(1234, 1234, 1234) != 0 || setresuid(1234, 1234, 1234) != 0)
        return errno;
    (void)execl("/tmp/setuid", "/tmp/setuid", "setuid-program", NULL);
    return errno;
}

/* --- table ------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    int (*attack)(void);
} attacks[] = {
    {"mount", attack_mount},
    {"remount-devices", attack_remount_devices},
    {"umount", attack_umount},
    {"open-tree", attack_open_tree},
    {"move-mount", attack_move_mount},
    {"fsopen", attack_fsopen},
    {"mount-setattr", attack_mount_setattr},
    {"pivot-root", attack_pivot_root},
    {"unshare-user", attack_unshare_user},
    {"unshare-mount", attack_unshare_mount},
    {"setns", attack_setns},
    {"open-namespace", attack_open_namespace},
    {"clone-user", attack_clone_user},
    {"clone3", attack_clone3},
    {"chroot", attack_chroot},
    {"dotdot", attack_dotdot},
    {"find-host-mounts", attack_find_host_mounts},
    {"mknod-block", attack_mknod_block},
    {"mknod-null", attack_mknod_null},
    {"mknod-whiteout", attack_mknod_whiteout},
    {"device-in-image", attack_device_in_image},
    {"dev-mem", attack_dev_mem},
    {"chmod-null", attack_chmod_null},
    {"pid1-mem", attack_pid1_mem},
    {"pid1-root", attack_pid1_root},
    {"pid1-exe", attack_pid1_exe},
    {"pid1-fds", attack_pid1_fds},
    {"pid1-environ", attack_pid1_environ},
    {"pid1-maps", attack_pid1_maps},
    {"pid1-ptrace", attack_pid1_ptrace},
    {"pid1-vm-write", attack_pid1_vm_write},
    {"pid1-take-fd", attack_pid1_take_fd},
    {"pid1-limit", attack_pid1_limit},
    {"pid1-processor", attack_pid1_processor},
    {"pid1-idle", attack_pid1_idle},
    {"pid1-kill", attack_pid1_kill},
    {"pid1-stop", attack_pid1_stop},
    {"pid1-signals", attack_pid1_signals},
    {"pid1-oom-score", attack_pid1_oom_score},
    {"own-oom-score", attack_own_oom_score},
    {"kill-all", attack_kill_all},
    {"keyctl", attack_keyctl},
    {"add-key", attack_add_key},
    {"request-key", attack_request_key},
    {"bpf", attack_bpf},
    {"perf", attack_perf},
    {"io-uring", attack_io_uring},
    {"userfaultfd", attack_userfaultfd},
    {"init-module", attack_init_module},
    {"kexec", attack_kexec},
    {"reboot", attack_reboot},
    {"swapon", attack_swapon},
    {"syslog", attack_syslog},
    {"settime", attack_settime},
    {"sethostname", attack_sethostname},
    {"open-by-handle", attack_open_by_handle},
    {"fanotify", attack_fanotify},
    {"quotactl", attack_quotactl},
    {"acct", attack_acct},
    {"move-pages", attack_move_pages},
    {"unknown-call", attack_unknown_call},
#if defined(__x86_64__)
    {"iopl", attack_iopl},
    {"modify-ldt", attack_modify_ldt},
    {"32bit", attack_32bit},
    {"x32", attack_x32},
#endif
    {"personality", attack_personality},
    {"core-pattern", attack_core_pattern},
    {"sysctl", attack_sysctl},
    {"sysrq", attack_sysrq},
    {"kcore", attack_kcore},
    {"kmsg", attack_kmsg},
    {"kallsyms", attack_kallsyms},
    {"keys", attack_keys},
    {"acpi", attack_acpi},
    {"sys", attack_sys},
    {"cgroup-files", attack_cgroup_files},
    {"usr-write", attack_usr_write},
    {"private-keys", attack_shadow},
    {"capabilities", attack_capabilities},
    {"foreign-user", attack_foreign_user},
    {"become-root", attack_become_root},
    {"chown-far", attack_chown_far},
    {"nice", attack_nice},
    {"realtime", attack_realtime},
    {"raise-limit", attack_raise_limit},
    {"core-limit", attack_core_limit},
    {"typing", attack_typing},
    {"typing-high-bits", attack_typing_high_bits},
    {"vsock", attack_vsock},
    {"kernel-crypto", attack_kernel_crypto},
    {"packet-socket", attack_packet_socket},
    {"netfilter", attack_netfilter},
    {"route-socket", attack_route_socket},
    {"raw-socket", attack_raw_socket},
    {"abstract-socket", attack_abstract_socket},
    {"shared-memory", attack_shared_memory},
    {"host-process", attack_host_process},
    {"memory", attack_memory},
    {"memory-in-files", attack_memory_in_files},
    {"processes", attack_processes},
    {"descriptors", attack_descriptors},
    {"fill-dev", attack_fill_dev},
    {"deep-folders", attack_deep_folders},
    {"crash", attack_crash},
    {"find-descriptors", attack_find_descriptors},
    {"setuid-program", attack_setuid_program},
};

static const char *run_attack(const char *name) {
    for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++)
        if (strcmp(attacks[i].name, name) == 0) {
            int error = attacks[i].attack();
            return error == 0 ? "done" : strerrorname_np(error);
        }
    return "unknown";
}

/* Each in a process of its own, so that one does not spoil the next. */
static int run_all(char **names) {
    for (; *names != NULL; names++) {
        pid_t pid = fork();
        if (pid < 0)
            return EXIT_FAILURE;
        if (pid == 0) {
            (void)printf("%s %s\n", *names, run_attack(*names));
            (void)fflush(stdout);
            _exit(EXIT_SUCCESS);
        }
        int status = 0;
        if (waitpid(pid, &status, 0) < 0)
            return EXIT_FAILURE;
        if (WIFSIGNALED(status))
            (void)printf("%s signal %d\n", *names, WTERMSIG(status));
        (void)fflush(stdout);
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++)
            (void)printf("%s\n", attacks[i].name);
        return EXIT_SUCCESS;
    }
    if (argc == 2) {
        (void)printf("%s %s\n", argv[1], run_attack(argv[1]));
        return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    return run_all(argv + 1);
}
