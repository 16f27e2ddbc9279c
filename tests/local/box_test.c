/* SPDX-License-Identifier: Apache-2.0 */
/* test: timeout=300 */
/* What a sandbox has: root, mounts, users, descriptors, commands. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "box_harness.h"
#include "core/util/cleanup.h"
#include "core/util/file.h"
#include "support/test.h"

#define DRIVER "--id boxtest-box "

static struct box_run result;

static void make_file(const char *folder, const char *name, const char *text, mode_t mode) {
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(al_file_write_atomic(path, text, strlen(text), mode), 0);
}

/* A folder of the state folder, made anew. */
static const char *make_folder(const char *name) {
    static char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s", box_home(), name);
    assert_int_equal(al_remove_tree(AT_FDCWD, path), 0);
    assert_int_equal(mkdir(path, 0755), 0);
    return path;
}

/* --- root ------------------------------------------------------------------------------------- */

static void the_host_image_has_the_hosts_programs_and_none_of_its_data(void **state) {
    (void)state;
    box_run(&result, DRIVER "--sh ls -A /root /home /srv /mnt /opt /var/log; "
                            "grep -c . /etc/passwd; ls -d /etc/shadow; "
                            "cat /etc/hostname; grep -c localhost /etc/hosts");
    assert_int_equal(result.code, 0);
    assert_string_equal(result.output, "/home:\n\n/mnt:\n\n/opt:\n\n/root:\n\n/srv:\n\n/var/log:\n"
                                       "7\n/etc/shadow\nboxtest-box\n2\n");
}

static void every_sandbox_starts_from_the_same_root_and_can_write_to_it(void **state) {
    (void)state;
    for (int round = 0; round < 2; round++) {
        box_run(&result,
                DRIVER "--sh test ! -e /root/new && echo x > /root/new && rm /etc/group && "
                       "mkdir /opt/a && mv /opt/a /opt/b && ls /opt && cat /root/new");
        assert_string_equal(result.output, "b\nx\n");
    }
}

static void usual_programs_run(void **state) {
    (void)state;
    box_run(&result,
            DRIVER "--sh set -e; echo 'int main(void){return 7;}' > /tmp/a.c; "
                   "gcc -o /tmp/a /tmp/a.c; /tmp/a || test $? = 7; "
                   "python3 -c 'import threading, subprocess; t = threading.Thread(target=print); "
                   "t.start(); t.join(); subprocess.run([\"true\"], check=True)'; "
                   "perl -e 'exit 0'; git init -q /tmp/g; tar -C /tmp -cf /tmp/t.tar a.c; "
                   "echo works");
    assert_string_equal(result.output, "\nworks\n");
    assert_int_equal(result.code, 0);
}

static void a_layer_is_seen_and_never_changed(void **state) {
    (void)state;
    const char *layer = make_folder("layer");
    make_file(layer, "file", "old", 0644);
    box_run(&result, DRIVER "--image %s --image host -- /bin/sh -c true", layer);
    assert_int_equal(result.code, 0);
    box_run(&result,
            DRIVER "--image %s --image host --sh cat /file; stat -c ' %%U %%a' /file; "
                   "echo new > /file; cat /file",
            layer);
    assert_string_equal(result.output, "old root 644\nnew\n");
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/file", layer);
    assert_int_equal(al_file_read(path, 100, &text), 0);
    assert_string_equal(al_buf_str(&text), "old");
}

static void upper_layers_win_over_lower_ones(void **state) {
    char top[512];
    (void)state;
    (void)snprintf(top, sizeof(top), "%s", make_folder("top"));
    make_file(top, "both", "top", 0644);
    const char *bottom = make_folder("bottom");
    make_file(bottom, "both", "bottom", 0644);
    make_file(bottom, "below", " below\n", 0644);
    box_run(&result, DRIVER "--image %s --image %s --image host -- cat /both /below", top, bottom);
    assert_string_equal(result.output, "top below\n");
}

static void an_image_without_anything_in_it_gets_what_it_needs(void **state) {
    char layer[512];
    (void)state;
    (void)snprintf(layer, sizeof(layer), "%s", make_folder("empty"));
    box_run(&result, DRIVER "--image %s --mount %s:/attacker:ro -- /attacker find-descriptors",
            layer, box_program("attacker"));
    assert_string_equal(result.output, "find-descriptors ENOENT\n");
}

static void a_link_in_place_of_a_kernel_folder_is_refused(void **state) {
    char link[600];
    (void)state;
    const char *layer = make_folder("links");
    (void)snprintf(link, sizeof(link), "%s/proc", layer);
    assert_int_equal(symlink("/tmp", link), 0);
    box_run(&result, DRIVER "--image %s -- /bin/true", layer);
    assert_int_equal(result.code, 99);
    assert_non_null(strstr(result.errors, "/proc"));
}

static void odd_files_in_an_image_do_not_hold_a_sandbox_up(void **state) {
    char path[600];
    char layer[512];
    (void)state;
    (void)snprintf(layer, sizeof(layer), "%s", make_folder("odd"));
    (void)snprintf(path, sizeof(path), "%s/etc", layer);
    assert_int_equal(mkdir(path, 0755), 0);
    (void)snprintf(path, sizeof(path), "%s/etc/hosts", layer);
    assert_int_equal(mkfifo(path, 0644), 0);
    (void)snprintf(path, sizeof(path), "%s/etc/hostname", layer);
    assert_int_equal(symlink("/dev/zero", path), 0);
    (void)snprintf(path, sizeof(path), "%s/etc/resolv.conf", layer);
    assert_int_equal(mkdir(path, 0755), 0);
    box_run(&result,
            DRIVER
            "--host-network --image %s --mount %s:/attacker:ro -- /attacker find-descriptors",
            layer, box_program("attacker"));
    assert_string_equal(result.output, "find-descriptors ENOENT\n");
}

static void names_are_written_where_an_image_has_none(void **state) {
    static const char *const links[] = {"bin", "lib", "lib64"};
    char path[600];
    char layer[512];
    (void)state;
    (void)snprintf(layer, sizeof(layer), "%s", make_folder("nameless"));
    (void)snprintf(path, sizeof(path), "%s/etc", layer);
    assert_int_equal(mkdir(path, 0755), 0);
    make_file(path, "hosts", "192.0.2.1 mine\n", 0644);
    make_file(path, "hostname", "", 0644);
    /* The programs come by a mount. */
    for (size_t i = 0; i < AL_COUNT(links); i++) {
        char target[32];
        (void)snprintf(path, sizeof(path), "%s/%s", layer, links[i]);
        (void)snprintf(target, sizeof(target), "usr/%s", links[i]);
        assert_int_equal(symlink(target, path), 0);
    }
    box_run(&result, DRIVER "--image %s --mount /usr:/usr:ro -- cat /etc/hosts /etc/hostname",
            layer);
    assert_string_equal(result.output, "192.0.2.1 mine\nboxtest-box\n");
}

/* --- mounts ----------------------------------------------------------------------------------- */

static void a_mount_is_shared_with_its_owner_as_root(void **state) {
    struct stat about;
    char path[600];
    (void)state;
    const char *source = make_folder("shared");
    assert_int_equal(chown(source, 4242, 4343), 0);
    make_file(source, "given", "given\n", 0600);
    (void)snprintf(path, sizeof(path), "%s/given", source);
    assert_int_equal(chown(path, 4242, 4343), 0);
    box_run(&result,
            DRIVER "--mount %s:/data/deep --sh cat /data/deep/given; stat -c %%u:%%g "
                   "/data/deep/given; echo back > /data/deep/made",
            source);
    assert_string_equal(result.output, "given\n0:0\n");
    (void)snprintf(path, sizeof(path), "%s/made", source);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_uid, 4242);
    assert_int_equal(about.st_gid, 4343);
}

static void a_read_only_mount_is_not_written(void **state) {
    (void)state;
    const char *source = make_folder("readonly");
    box_run(&result, DRIVER "--mount %s:/data:ro --sh touch /data/x 2>&1 | grep -o 'Read-only.*'",
            source);
    assert_string_equal(result.output, "Read-only file system\n");
}

static void a_mount_over_what_the_kernel_shows_is_refused(void **state) {
    static const char *const targets[] = {"/proc/self", "/proc/sys", "/dev", "/dev/null", "/"};
    char source[512];
    (void)state;
    (void)snprintf(source, sizeof(source), "%s", make_folder("evil"));
    for (size_t i = 0; i < AL_COUNT(targets); i++) {
        box_run(&result, DRIVER "--mount %s:%s -- true", source, targets[i]);
        assert_int_equal(result.code, 99);
    }
}

static void a_mount_does_not_follow_a_link_of_the_image_to_the_kernels_files(void **state) {
    char link[600];
    char source[512];
    (void)state;
    (void)snprintf(source, sizeof(source), "%s", make_folder("evil"));
    const char *layer = make_folder("links");
    (void)snprintf(link, sizeof(link), "%s/x", layer);
    assert_int_equal(symlink("/proc", link), 0);
    box_run(&result, DRIVER "--image %s --mount %s:/x/sys -- true", layer, source);
    assert_int_equal(result.code, 99);
}

/* --- commands --------------------------------------------------------------------------------- */

static void a_command_that_cannot_start_says_why(void **state) {
    (void)state;
    box_run(&result, DRIVER "-- no-such-program");
    assert_int_equal(result.code, 127);
    box_run(&result, DRIVER "-- /etc/passwd");
    assert_int_equal(result.code, 126);
    box_run(&result, DRIVER "-- /tmp");
    assert_int_equal(result.code, 126);
    box_run(&result, DRIVER "--cwd /no/such/folder -- true");
    assert_string_equal(result.errors, "box_driver: step 5: No such file or directory\n");
    box_run(&result, DRIVER "--cwd /etc/passwd -- true");
    assert_string_equal(result.errors, "box_driver: step 5: Not a directory\n");
    box_run(&result, DRIVER "--user 1000 --cwd /root -- true");
    assert_string_equal(result.errors, "box_driver: step 5: Permission denied\n");
}

static void a_working_folder_behind_a_descriptor_is_refused(void **state) {
    (void)state;
    for (int fd = 3; fd < 12; fd++) {
        box_run(&result, DRIVER "--cwd /proc/self/fd/%d -- pwd", fd);
        assert_string_equal(result.errors, "box_driver: step 5: No such file or directory\n");
    }
    box_run(&result, DRIVER "--cwd /proc/1/cwd -- pwd");
    assert_string_equal(result.errors, "box_driver: step 5: Permission denied\n");
}

static void a_command_has_the_outcome_it_had(void **state) {
    (void)state;
    box_run(&result, DRIVER "--sh exit 3");
    assert_int_equal(result.code, 3);
    box_run(&result, DRIVER "--sh kill -TERM $$; echo alive");
    assert_int_equal(result.code, 128 + 15);
    assert_string_equal(result.output, "");
    box_run(&result, DRIVER "--sh kill -9 $$");
    assert_int_equal(result.code, 128 + 9);
}

static void a_command_runs_as_its_user_with_no_rights(void **state) {
    (void)state;
    box_run(&result,
            DRIVER "--user 1000 --sh id -u; id -g; grep -E 'Cap(Prm|Eff|Amb)|NoNew|Seccomp:' "
                   "/proc/self/status | tr -d '\\t'");
    assert_string_equal(result.output,
                        "1000\n1000\nCapPrm:0000000000000000\nCapEff:0000000000000000\n"
                        "CapAmb:0000000000000000\nNoNewPrivs:1\nSeccomp:2\n");
}

static void a_command_has_default_signals_and_a_session_of_its_own(void **state) {
    (void)state;
    box_run(&result,
            DRIVER "--sh grep -E 'Sig(Blk|Ign)' /proc/self/status | tr -d '\\t'; "
                   "set -- $(cat /proc/$$/stat); test $1 = $6 && echo leads; ulimit -n; umask");
    assert_string_equal(result.output, "SigBlk:0000000000000000\nSigIgn:0000000000000000\nleads\n"
                                       "1024\n0022\n");
}

/* Root without CAP_SYS_RESOURCE may not lower it, and then has no protection to hand on. */
static void write_oom_score(const char *text) {
    al_autofd int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (write(fd, text, strlen(text)) < 0)
        assert_int_equal(errno, EACCES);
}

static void the_callers_limits_and_protection_do_not_reach_a_command(void **state) {
    struct rlimit before;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit low = {100, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    write_oom_score("-500");
    box_run(&result, DRIVER "--sh ulimit -n; cat /proc/self/oom_score_adj; "
                            "echo -1 2>/dev/null > /proc/self/oom_score_adj && echo lowered; "
                            "cat /proc/1/oom_score_adj");
    write_oom_score("0");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_string_equal(result.output, "1024\n0\n0\n");
}

static void groups_and_namespaces_tell_nothing_of_the_host(void **state) {
    (void)state;
    box_run(&result,
            DRIVER "--sh cat /proc/self/cgroup | grep -v -E ':/(sandbox-[^/]*boxtest-box(/work)?|"
                   "alineo/sandbox-[^/]*boxtest-box|[0-9]*)?$'; hostname; ls /proc | grep -c "
                   "'^[0-9]'");
    /* The shell, ls and grep besides pid 1. */
    assert_string_equal(result.output, "boxtest-box\n4\n");
}

static void the_network_is_a_loopback_that_is_up(void **state) {
    (void)state;
    box_run(&result,
            DRIVER "--sh tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; "
                   "python3 -c 'import socket; s = socket.create_server((\"127.0.0.1\", 80)); "
                   "c = socket.create_connection((\"127.0.0.1\", 80)); print(\"up\")'");
    assert_string_equal(result.output, "lo\nup\n");
}

static void the_hosts_network_comes_with_its_resolver(void **state) {
    (void)state;
    box_run(&result, DRIVER "--host-network --sh cat /etc/resolv.conf");
    assert_int_equal(result.code, 0);
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    if (al_file_read("/etc/resolv.conf", 4095, &text) == 0)
        assert_string_equal(result.output, al_buf_str(&text));
}

/* --- ending ----------------------------------------------------------------------------------- */

static void everything_a_command_forked_dies_with_its_group(void **state) {
    (void)state;
    box_run(&result, DRIVER "--timeout 300 --sh (setsid sh -c 'setsid sleep 60 & sleep 60' &) ; "
                            "setsid sleep 60 & sleep 60");
    assert_string_equal(result.errors, "");
    assert_int_equal(result.code, 124);
}

static void another_commands_processes_outlive_a_group(void **state) {
    (void)state;
    /* The first leaves a process behind, the second finds it (which may have to wait until it is
     * what it is going to be). */
    box_run(&result, DRIVER "--count 2 --timeout 20000 --sh if mkdir /tmp/first 2>/dev/null; then "
                            "sleep 60 > /dev/null 2>&1 & else "
                            "until ps -o comm= -C sleep; do :; done; fi");
    assert_string_equal(result.output, "sleep\n");
}

static void a_frozen_command_can_be_killed(void **state) {
    (void)state;
    box_run(&result, DRIVER "--freeze --sh sleep 60");
    assert_string_equal(result.errors, "");
    assert_int_equal(result.code, 128 + 9);
}

static void a_frozen_sandbox_can_be_ended(void **state) {
    int input = -1;
    int output = -1;
    char line[64] = "";
    (void)state;
    pid_t pid = box_start(&input, &output, DRIVER "--freeze --hold");
    assert_true(read(output, line, sizeof(line) - 1) > 0);
    al_close(input);
    assert_int_equal(box_finish(pid), 0);
    al_close(output);
}

static void a_mistake_in_what_is_asked_for_is_named(void **state) {
    (void)state;
    box_run(&result, "--id boxtest-a@b -- true");
    assert_int_not_equal(result.code, 0);
    box_run(&result, DRIVER "--image /no/such/image -- true");
    assert_int_equal(result.code, 99);
    assert_non_null(strstr(result.errors, "/no/such/image"));
}

static void a_folder_that_others_can_enter_is_refused(void **state) {
    char folder[512];
    (void)state;
    (void)snprintf(folder, sizeof(folder), "%s/sandboxes/boxtest-open", box_home());
    assert_int_equal(al_mkdir_parents(folder, 0755), 0);
    box_run(&result, "--id boxtest-open -- true");
    assert_int_equal(result.code, 99);
    assert_non_null(strstr(result.errors, "0700"));
}

static void nothing_is_left_of_all_that(void **state) {
    (void)state;
    box_assert_nothing_left();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_host_image_has_the_hosts_programs_and_none_of_its_data),
        cmocka_unit_test(every_sandbox_starts_from_the_same_root_and_can_write_to_it),
        cmocka_unit_test(usual_programs_run),
        cmocka_unit_test(a_layer_is_seen_and_never_changed),
        cmocka_unit_test(upper_layers_win_over_lower_ones),
        cmocka_unit_test(an_image_without_anything_in_it_gets_what_it_needs),
        cmocka_unit_test(a_link_in_place_of_a_kernel_folder_is_refused),
        cmocka_unit_test(odd_files_in_an_image_do_not_hold_a_sandbox_up),
        cmocka_unit_test(names_are_written_where_an_image_has_none),
        cmocka_unit_test(a_mount_is_shared_with_its_owner_as_root),
        cmocka_unit_test(a_read_only_mount_is_not_written),
        cmocka_unit_test(a_mount_over_what_the_kernel_shows_is_refused),
        cmocka_unit_test(a_mount_does_not_follow_a_link_of_the_image_to_the_kernels_files),
        cmocka_unit_test(a_command_that_cannot_start_says_why),
        cmocka_unit_test(a_working_folder_behind_a_descriptor_is_refused),
        cmocka_unit_test(a_command_has_the_outcome_it_had),
        cmocka_unit_test(a_command_runs_as_its_user_with_no_rights),
        cmocka_unit_test(a_command_has_default_signals_and_a_session_of_its_own),
        cmocka_unit_test(the_callers_limits_and_protection_do_not_reach_a_command),
        cmocka_unit_test(groups_and_namespaces_tell_nothing_of_the_host),
        cmocka_unit_test(the_network_is_a_loopback_that_is_up),
        cmocka_unit_test(the_hosts_network_comes_with_its_resolver),
        cmocka_unit_test(a_folder_that_others_can_enter_is_refused),
        cmocka_unit_test(everything_a_command_forked_dies_with_its_group),
        cmocka_unit_test(another_commands_processes_outlive_a_group),
        cmocka_unit_test(a_frozen_command_can_be_killed),
        cmocka_unit_test(a_frozen_sandbox_can_be_ended),
        cmocka_unit_test(a_mistake_in_what_is_asked_for_is_named),
        cmocka_unit_test(nothing_is_left_of_all_that),
    };
    return cmocka_run_group_tests(tests, box_set_up, box_tear_down);
}
