/* SPDX-License-Identifier: Apache-2.0 */
/* test: timeout=300 */
/* What a sandbox is for: nobody gets out of it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "box_harness.h"
#include "core/util/cleanup.h"
#include "core/util/file.h"
#include "support/test.h"

#define DRIVER "--id boxtest-attack "

struct expectation {
    const char *attack;
    const char *result; /* one or more, with blanks between */
};

static bool is_expected(const char *results, const char *result) {
    char text[128];
    char *rest = NULL;
    (void)snprintf(text, sizeof(text), "%s", results);
    for (const char *word = strtok_r(text, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest))
        if (strcmp(word, result) == 0)
            return true;
    return false;
}

/* All in one box, in one run. */
static void assert_results(const char *options, const struct expectation *expected, size_t count) {
    static struct box_run run;
    char names[4096] = "";
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += (size_t)snprintf(names + size, sizeof(names) - size, " %s", expected[i].attack);
    box_run(&run, DRIVER "%s --mount %s:/attacker:ro -- /attacker%s", options,
            box_program("attacker"), names);
    assert_string_equal(run.errors, "");
    char *rest = NULL;
    const char *line = strtok_r(run.output, "\n", &rest);
    for (size_t i = 0; i < count; i++, line = strtok_r(NULL, "\n", &rest)) {
        char name[64] = "";
        char result[64] = "";
        assert_non_null(line);
        assert_int_equal(sscanf(line, "%63s %63s", name, result), 2);
        assert_string_equal(name, expected[i].attack);
        if (!is_expected(expected[i].result, result))
            fail_msg("attack %s gave %s, not %s", name, result, expected[i].result);
    }
}
#define ASSERT_RESULTS(options, expected) assert_results(options, expected, AL_COUNT(expected))

static void mounts_and_namespaces_cannot_be_changed(void **state) {
    static const struct expectation expected[] = {
        {"mount", "EPERM"},         {"remount-devices", "EPERM"}, {"umount", "EPERM"},
        {"open-tree", "EPERM"},     {"move-mount", "EPERM"},      {"fsopen", "EPERM"},
        {"mount-setattr", "EPERM"}, {"pivot-root", "EPERM"},      {"unshare-user", "EPERM"},
        {"unshare-mount", "EPERM"}, {"setns", "EPERM"},           {"open-namespace", "EACCES"},
        {"clone-user", "EPERM"},    {"clone3", "ENOSYS"},         {"chroot", "ENOTDIR"},
        {"dotdot", "ENOTDIR"},      {"usr-write", "EROFS"},
    };
    (void)state;
    ASSERT_RESULTS("", expected);
}

static void no_mount_of_the_host_is_seen(void **state) {
    static const struct expectation expected[] = {{"find-host-mounts", "ENOENT"}};
    (void)state;
    ASSERT_RESULTS("", expected);
}

static void devices_cannot_be_made_or_reached(void **state) {
    static const struct expectation expected[] = {
        {"mknod-block", "EPERM"}, {"mknod-null", "EPERM"}, {"mknod-whiteout", "EPERM"},
        {"dev-mem", "ENOENT"},    {"chmod-null", "EPERM"},
    };
    (void)state;
    ASSERT_RESULTS("", expected);
}

static void a_device_that_an_image_brings_does_not_open(void **state) {
    static struct box_run run;
    char layer[256];
    char device[300];
    (void)state;
    (void)snprintf(layer, sizeof(layer), "%s/image", box_home());
    (void)snprintf(device, sizeof(device), "%s/device", layer);
    assert_int_equal(mkdir(layer, 0755), 0);
    if (mknod(device, S_IFCHR | 0666, makedev(1, 5)) != 0)
        skip();
    box_run(&run, DRIVER "--image %s --mount %s:/attacker:ro -- /attacker device-in-image", layer,
            box_program("attacker"));
    assert_string_equal(run.output, "device-in-image EACCES\n");
    assert_int_equal(al_remove_tree(AT_FDCWD, layer), 0);
}

static void the_first_process_cannot_be_taken_over(void **state) {
    static const struct expectation expected[] = {
        {"pid1-mem", "EACCES"},       {"pid1-root", "EACCES"},    {"pid1-exe", "EACCES"},
        {"pid1-fds", "EACCES"},       {"pid1-environ", "EACCES"}, {"pid1-maps", "EACCES"},
        {"pid1-ptrace", "EPERM"},     {"pid1-vm-write", "EPERM"}, {"pid1-take-fd", "EPERM"},
        {"pid1-oom-score", "EACCES"}, {"pid1-limit", "EPERM"},    {"pid1-processor", "EPERM"},
        {"pid1-idle", "EPERM"},
    };
    (void)state;
    ASSERT_RESULTS("", expected);
}

static void signals_do_not_end_or_stop_the_first_process(void **state) {
    static const struct expectation expected[] = {
        {"pid1-kill", "done"}, {"pid1-stop", "done"}, {"pid1-signals", "done"}};
    (void)state;
    /* The second command runs after all of them were sent. */
    ASSERT_RESULTS("--count 2", expected);
    static struct box_run run;
    box_run(&run, DRIVER "--count 2 --sh kill -9 1; kill -STOP 1; kill -TERM 1; echo alive");
    assert_int_equal(run.code, 0);
    assert_string_equal(run.output, "alive\nalive\n");
}

static void killing_everything_leaves_a_sandbox_that_works(void **state) {
    static struct box_run run;
    (void)state;
    box_run(&run, DRIVER "--count 2 --sh sleep 60 & sleep 60 & kill -9 -1; echo ended");
    assert_int_equal(run.code, 0);
    assert_string_equal(run.output, "ended\nended\n");
}

static void dangerous_system_calls_are_refused(void **state) {
    static const struct expectation expected[] = {
        {"keyctl", "EPERM"},
        {"add-key", "EPERM"},
        {"request-key", "EPERM"},
        {"bpf", "EPERM"},
        {"perf", "EPERM"},
        {"io-uring", "EPERM"},
        {"userfaultfd", "EPERM"},
        {"init-module", "EPERM"},
        {"kexec", "EPERM"},
        {"reboot", "EPERM"},
        {"swapon", "EPERM"},
        {"syslog", "EPERM"},
        {"settime", "EPERM"},
        {"sethostname", "EPERM"},
        {"open-by-handle", "EPERM"},
        {"fanotify", "EPERM"},
        {"quotactl", "EPERM"},
        {"acct", "EPERM"},
        {"move-pages", "EPERM"},
        {"personality", "EPERM"},
        {"unknown-call", "ENOSYS"},
#if defined(__x86_64__)
        {"iopl", "EPERM"},
        {"modify-ldt", "EPERM"},
        {"32bit", "ENOSYS"},
        {"x32", "ENOSYS"},
#endif
    };
    (void)state;
    ASSERT_RESULTS("", expected);
}

static void the_kernels_files_tell_and_take_nothing(void **state) {
    static const struct expectation expected[] = {{"core-pattern", "EACCES EROFS"},
                                                  {"sysctl", "EACCES EROFS"},
                                                  {"sysrq", "EACCES EROFS ENOENT"},
                                                  {"kcore", "ENODATA ENOENT"},
                                                  {"kmsg", "ENODATA ENOENT"},
                                                  {"kallsyms", "ENODATA ENOENT"},
                                                  {"keys", "ENODATA ENOENT"},
                                                  {"acpi", "ENOENT"},
                                                  {"sys", "ENOENT"},
                                                  {"cgroup-files", "ENOENT"},
                                                  {"private-keys", "EACCES ENOENT"}};
    (void)state;
    ASSERT_RESULTS("", expected);
}

static void rights_cannot_be_won(void **state) {
    static const struct expectation expected[] = {
        {"capabilities", "EPERM"},  {"foreign-user", "EINVAL"},  {"chown-far", "EINVAL"},
        {"nice", "EACCES EPERM"},   {"realtime", "EPERM"},       {"raise-limit", "EPERM"},
        {"core-limit", "EALREADY"}, {"own-oom-score", "EACCES"}, {"setuid-program", "EPERM"},
    };
    (void)state;
    ASSERT_RESULTS("", expected);
}

static void a_user_does_not_become_root(void **state) {
    static const struct expectation expected[] = {
        {"become-root", "EPERM"}, {"pid1-mem", "EACCES"}, {"pid1-kill", "EPERM"}};
    (void)state;
    ASSERT_RESULTS("--user 1000", expected);
}

static void sockets_that_do_not_stop_at_namespaces_are_refused(void **state) {
    static const struct expectation expected[] = {
        {"vsock", "EAFNOSUPPORT"},
        {"kernel-crypto", "EAFNOSUPPORT"},
        {"packet-socket", "EAFNOSUPPORT"},
        {"raw-socket", "EPERM"},
        {"netfilter", "EPROTONOSUPPORT"},
        {"route-socket", "done"}, /* what harmless programs use */
    };
    (void)state;
    ASSERT_RESULTS("", expected);
}

static void text_cannot_be_typed_into_a_terminal(void **state) {
    static const struct expectation expected[] = {{"typing", "EPERM"},
                                                  {"typing-high-bits", "EPERM"}};
    (void)state;
    ASSERT_RESULTS("", expected);
}

static void abstract_sockets_of_the_host_are_not_reached(void **state) {
    char name[64];
    char result[64];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)state;
    (void)snprintf(name, sizeof(name), "alineo-boxtest-%d", (int)getpid());
    memcpy(address.sun_path + 1, name, strlen(name));
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    al_autofd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 4), 0);
    char options[128];
    (void)snprintf(options, sizeof(options), DRIVER "--env ATTACK_ARGUMENT=%s", name);
    box_attack(options, "abstract-socket", result, sizeof(result));
    assert_string_equal(result, "ECONNREFUSED");
    /* The attack itself works where the network is the host's. */
    (void)snprintf(options, sizeof(options), DRIVER "--host-network --env ATTACK_ARGUMENT=%s",
                   name);
    box_attack(options, "abstract-socket", result, sizeof(result));
    assert_string_equal(result, "done");
}

static void shared_memory_of_the_host_is_not_found(void **state) {
    char options[128];
    char result[64];
    const key_t key = 0x616c696e;
    (void)state;
    int id = shmget(key, 4096, IPC_CREAT | 0666);
    assert_true(id >= 0);
    (void)snprintf(options, sizeof(options), DRIVER "--env ATTACK_ARGUMENT=%d", (int)key);
    box_attack(options, "shared-memory", result, sizeof(result));
    assert_int_equal(shmctl(id, IPC_RMID, NULL), 0);
    assert_string_equal(result, "ENOENT");
}

static void processes_of_the_host_are_not_reached(void **state) {
    char options[128];
    char result[64];
    (void)state;
    (void)snprintf(options, sizeof(options), DRIVER "--env ATTACK_ARGUMENT=%d", (int)getpid());
    box_attack(options, "host-process", result, sizeof(result));
    assert_string_equal(result, "ESRCH");
}

static void a_command_has_three_descriptors(void **state) {
    static const struct expectation expected[] = {{"find-descriptors", "ENOENT"}};
    (void)state;
    ASSERT_RESULTS("", expected);
}

static void a_crash_starts_no_handler_and_leaves_no_core(void **state) {
    static struct box_run run;
    (void)state;
    box_run(&run,
            DRIVER "--cwd /tmp --mount %s:/attacker:ro --sh /attacker crash; echo $?; ls /tmp",
            box_program("attacker"));
    assert_string_equal(run.output, "139\n");
}

static void nothing_is_left_of_all_that(void **state) {
    (void)state;
    box_assert_nothing_left();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mounts_and_namespaces_cannot_be_changed),
        cmocka_unit_test(no_mount_of_the_host_is_seen),
        cmocka_unit_test(devices_cannot_be_made_or_reached),
        cmocka_unit_test(a_device_that_an_image_brings_does_not_open),
        cmocka_unit_test(the_first_process_cannot_be_taken_over),
        cmocka_unit_test(signals_do_not_end_or_stop_the_first_process),
        cmocka_unit_test(killing_everything_leaves_a_sandbox_that_works),
        cmocka_unit_test(dangerous_system_calls_are_refused),
        cmocka_unit_test(the_kernels_files_tell_and_take_nothing),
        cmocka_unit_test(rights_cannot_be_won),
        cmocka_unit_test(a_user_does_not_become_root),
        cmocka_unit_test(sockets_that_do_not_stop_at_namespaces_are_refused),
        cmocka_unit_test(text_cannot_be_typed_into_a_terminal),
        cmocka_unit_test(abstract_sockets_of_the_host_are_not_reached),
        cmocka_unit_test(shared_memory_of_the_host_is_not_found),
        cmocka_unit_test(processes_of_the_host_are_not_reached),
        cmocka_unit_test(a_command_has_three_descriptors),
        cmocka_unit_test(a_crash_starts_no_handler_and_leaves_no_core),
        cmocka_unit_test(nothing_is_left_of_all_that),
    };
    return cmocka_run_group_tests(tests, box_set_up, box_tear_down);
}
