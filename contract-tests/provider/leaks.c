/* SPDX-License-Identifier: Apache-2.0 */
/* What stays behind: nothing. */
#include "contract.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>

static size_t entries(contract *c, const char *folder) {
    DIR *dir = opendir(folder);
    CHECK_SAYING(c, dir != NULL, "%s cannot be read", folder);
    size_t count = 0;
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

static void one_round(contract *c) {
    alineo_sandbox *sandbox = NULL;
    alineo_error *err = NULL;
    CHECK_OK(c, alineo_sandbox_create(contract_client(c), NULL, &sandbox, &err), err);
    CHECK_PRINTS(c, sandbox, "echo x", "x\n");
    CHECK_OK(c, alineo_sandbox_close(sandbox, NULL, &err), err);
    alineo_sandbox_free(sandbox);
}

static void sandboxes_leave_no_descriptor_and_no_thread(contract *c) {
    one_round(c);
    size_t fds = entries(c, "/proc/self/fd");
    size_t threads = entries(c, "/proc/self/task");
    for (int i = 0; i < 10; i++)
        one_round(c);
    CHECK_SAYING(c, entries(c, "/proc/self/fd") <= fds, "%zu descriptors, %zu before",
                 entries(c, "/proc/self/fd"), fds);
    CHECK_SAYING(c, entries(c, "/proc/self/task") <= threads, "%zu threads, %zu before",
                 entries(c, "/proc/self/task"), threads);
}

static void commands_leave_no_descriptor(contract *c) {
    static const char *const missing[] = {"no-such-program-anywhere", NULL};
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    contract_run run;
    options.argv = missing;
    CHECK_PRINTS(c, sandbox, "echo x", "x\n");
    contract_exec(c, sandbox, NULL, &options, &run);
    contract_run_clear(&run);
    size_t fds = entries(c, "/proc/self/fd");
    for (int i = 0; i < 50; i++) {
        CHECK_PRINTS(c, sandbox, "echo x", "x\n");
        contract_exec(c, sandbox, NULL, &options, &run);
        contract_run_clear(&run);
    }
    CHECK_SAYING(c, entries(c, "/proc/self/fd") <= fds, "%zu descriptors, %zu before",
                 entries(c, "/proc/self/fd"), fds);
}

static void failed_creates_leave_no_descriptor(contract *c) {
    alineo_sandbox_options options = ALINEO_SANDBOX_OPTIONS_INIT;
    alineo_sandbox *sandbox = NULL;
    options.image = "no-such-image-anywhere:0";
    one_round(c);
    (void)alineo_sandbox_create(contract_client(c), &options, &sandbox, NULL);
    size_t fds = entries(c, "/proc/self/fd");
    for (int i = 0; i < 20; i++)
        CHECK(c, alineo_sandbox_create(contract_client(c), &options, &sandbox, NULL) != ALINEO_OK);
    CHECK(c, entries(c, "/proc/self/fd") <= fds);
}

static void the_host_keeps_no_child(contract *c) {
    one_round(c);
    int status = 0;
    CHECK_SAYING(c, waitpid(-1, &status, WNOHANG) < 0,
                 "the host process has a child that it did not start");
}

static void a_command_gets_only_its_three_descriptors(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    /* The listing itself opens one more. */
    CHECK_PRINTS(
        c, sandbox,
        "ls /proc/self/fd | head -n 3 | tr '\\n' ' '; ls /proc/self/fd | wc -l | tr -d ' '",
        "0 1 2 4\n");
}

const contract_case contract_leak_cases[] = {
    {"leaks/sandboxes leave no descriptor and no thread", "",
     sandboxes_leave_no_descriptor_and_no_thread, 0},
    {"leaks/commands leave no descriptor", "", commands_leave_no_descriptor, 0},
    {"leaks/failed creates leave no descriptor", "", failed_creates_leave_no_descriptor, 0},
    {"leaks/the host keeps no child", "", the_host_keeps_no_child, 0},
    {"leaks/a command gets only its three descriptors", "",
     a_command_gets_only_its_three_descriptors, 0},
    {NULL, NULL, NULL, 0},
};
