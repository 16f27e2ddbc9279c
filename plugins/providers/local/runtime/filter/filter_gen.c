/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the filter of system calls for commands as C source on its standard output. Run at build
 * time, on the architecture that the filter is for.
 *
 * The code is a binary search over runs of neighbouring numbers with the same verdict: some 200
 * instructions, a dozen of them on the way of a call. It is loaded for every command, and the
 * kernel then runs it once for each system call there is, so both sizes count. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "plugins/providers/local/runtime/filter/filter_list.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define NATIVE_ARCH AUDIT_ARCH_RISCV64
#else
#error "the filter is not known for this architecture"
#endif
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the offsets of arguments are those of little-endian machines"
#endif

enum {
    NUMBERS = 512,  /* above all system calls that there are */
    CODE_MAX = 4096 /* what the kernel takes */
};

static struct sock_filter code[CODE_MAX];
static size_t code_count;
static enum filter_verdict verdicts[NUMBERS];

static void fail(const char *what, const char *name) {
    (void)fprintf(stderr, "filter_gen: %s%s\n", what, name);
    exit(EXIT_FAILURE);
}

/* --- instructions -------------------------------------------------------------------------------
 */

static void emit(uint16_t operation, uint8_t if_true, uint8_t if_false, uint32_t value) {
    if (code_count == CODE_MAX)
        fail("the filter is too long", "");
    code[code_count++] = (struct sock_filter){operation, if_true, if_false, value};
}

static void emit_load(size_t offset) {
    emit(BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

/* The kernel looks at 32 bits of the arguments tested here, whatever the others hold. */
static void emit_load_argument(unsigned index) {
    emit_load(offsetof(struct seccomp_data, args) + 8 * index);
}

static void emit_allow(void) {
    emit(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
}

static void emit_errno(int number) {
    emit(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | (uint32_t)number);
}

static void emit_skip_unless_equal(uint32_t value) {
    emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value);
}

/* --- calls that depend on an argument -----------------------------------------------------------
 */

static void emit_allowed_values(unsigned argument, const uint32_t *values, size_t count,
                                int number) {
    emit_load_argument(argument);
    for (size_t i = 0; i < count; i++) {
        emit_skip_unless_equal(values[i]);
        emit_allow();
    }
    emit_errno(number);
}

static void emit_clone(void) {
    const uint32_t namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
    emit_load_argument(0);
    emit(BPF_JMP | BPF_JSET | BPF_K, 0, 1, namespaces);
    emit_errno(EPERM);
    emit_allow();
}

/* No packet sockets, no kernel crypto, no sockets to the hypervisor; of the kernel's own services
 * routes and the table of sockets: the others do not stop at namespaces or have let people out of
 * them. */
static void emit_socket(void) {
    static const uint32_t families[] = {AF_UNIX, AF_INET, AF_INET6};
    static const uint32_t services[] = {NETLINK_ROUTE, NETLINK_SOCK_DIAG};
    const uint8_t services_size = 2 + 2 * sizeof(services) / sizeof(services[0]);
    emit_load_argument(0);
    emit(BPF_JMP | BPF_JEQ | BPF_K, 0, services_size, AF_NETLINK);
    emit_allowed_values(2, services, sizeof(services) / sizeof(services[0]), EPROTONOSUPPORT);
    emit_allowed_values(0, families, sizeof(families) / sizeof(families[0]), EAFNOSUPPORT);
}

static void emit_personality(void) {
    static const uint32_t persons[] = {
        PER_LINUX, PER_LINUX32, UNAME26, PER_LINUX32 | UNAME26, ADDR_NO_RANDOMIZE, 0xffffffffU};
    emit_allowed_values(0, persons, sizeof(persons) / sizeof(persons[0]), EPERM);
}

/* Typing into a terminal on behalf of whoever sits at it. */
static void emit_ioctl(void) {
    emit_load_argument(1);
    emit_skip_unless_equal(TIOCSTI);
    emit_errno(EPERM);
    emit_skip_unless_equal(TIOCLINUX);
    emit_errno(EPERM);
    emit_allow();
}

/* The first process, which starts all commands, keeps the limits and the place among the runnable
 * that it was given: its pid is 1 in every sandbox. */
static void emit_refuse_pid1(void) {
    emit_load_argument(0);
    emit_skip_unless_equal(1);
    emit_errno(EPERM);
}

static void emit_not_pid1(void) {
    emit_refuse_pid1();
    emit_allow();
}

/* The limit of core files stays what it is (confine.c); programs that set it to 0 for safety and
 * end if they cannot are told that it was done, as in effect it is. */
static void emit_setrlimit(void) {
    emit_load_argument(0);
    emit_skip_unless_equal(RLIMIT_CORE);
    emit_errno(0);
    emit_allow();
}

static void emit_prlimit(void) {
    emit_refuse_pid1();
    emit_load_argument(1);
    emit(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, RLIMIT_CORE);
    emit_allow();
    /* The pointer to the new limit: both halves 0 when it is only read. */
    emit_load_argument(2);
    emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 3, 0);
    emit_load(offsetof(struct seccomp_data, args) + 8 * 2 + 4);
    emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
    emit_allow();
    emit_errno(0);
}

static void emit_verdict(enum filter_verdict verdict) {
    switch (verdict) {
    case FILTER_UNKNOWN:
        emit_errno(ENOSYS);
        break;
    case FILTER_ALLOW:
        emit_allow();
        break;
    case FILTER_DENY:
        emit_errno(EPERM);
        break;
    case FILTER_CLONE:
        emit_clone();
        break;
    case FILTER_SOCKET:
        emit_socket();
        break;
    case FILTER_PERSONALITY:
        emit_personality();
        break;
    case FILTER_IOCTL:
        emit_ioctl();
        break;
    case FILTER_NOT_PID1:
        emit_not_pid1();
        break;
    case FILTER_SETRLIMIT:
        emit_setrlimit();
        break;
    case FILTER_PRLIMIT:
        emit_prlimit();
        break;
    }
}

/* --- the search ---------------------------------------------------------------------------------
 */

struct run {
    uint32_t first;
    enum filter_verdict verdict;
};
static struct run runs[NUMBERS];
static size_t run_count;

static void find_runs(void) {
    for (uint32_t number = 0; number < NUMBERS; number++)
        if (run_count == 0 || runs[run_count - 1].verdict != verdicts[number])
            runs[run_count++] = (struct run){number, verdicts[number]};
}

/* Emits the search among runs FIRST to LAST. It halves them, so it nests as deep as the logarithm
 * of their number. */
static void emit_search(size_t first, size_t last) {
    if (first == last) {
        emit_verdict(runs[first].verdict);
        return;
    }
    size_t middle = first + (last - first + 1) / 2;
    size_t test = code_count;
    emit(BPF_JMP | BPF_JGE | BPF_K, 0, 1, runs[middle].first);
    emit(BPF_JMP | BPF_JA, 0, 0, 0);
    emit_search(first, middle - 1);
    code[test + 1].k = (uint32_t)(code_count - test - 2);
    emit_search(middle, last);
}

static void read_list(void) {
    for (size_t i = 0; i < filter_list_count; i++) {
        const struct filter_entry *entry = &filter_list[i];
        int number = entry->number;
        if (number < 0)
            number = seccomp_syscall_resolve_name(entry->name);
        if (number < 0) /* not on this architecture */
            continue;
        if (number >= NUMBERS)
            fail("a number beyond the table: ", entry->name);
        if (verdicts[number] != FILTER_UNKNOWN)
            fail("listed twice: ", entry->name);
        verdicts[number] = entry->verdict;
    }
}

int main(void) {
    read_list();
    find_runs();
    emit_load(offsetof(struct seccomp_data, arch));
    emit(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, NATIVE_ARCH);
    emit_errno(ENOSYS);
    emit_load(offsetof(struct seccomp_data, nr));
    emit_search(0, run_count - 1);
    (void)printf("/* Made by filter_gen: %zu runs. */\n", run_count);
    (void)printf("#include \"plugins/providers/local/runtime/filter/filter_code.h\"\n");
    (void)printf("const unsigned short local_filter_count = %zu;\n", code_count);
    (void)printf("const struct sock_filter local_filter_code[] = {\n");
    for (size_t i = 0; i < code_count; i++)
        (void)printf("    {0x%02x, %u, %u, 0x%08x},\n", code[i].code, code[i].jt, code[i].jf,
                     code[i].k);
    (void)printf("};\n");
    return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_SUCCESS : EXIT_FAILURE;
}
