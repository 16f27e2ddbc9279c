/* SPDX-License-Identifier: Apache-2.0 */
/* Starting the helper program. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/io.h"
#include "core/util/msg.h"
#include "plugins/providers/local/local.h"

enum {
    HELPER_FD = 3, /* where the helper finds its socket */
    SEND_MS = 10000
};

/* Descriptors 0, 1 and 2 lead nowhere, 3 is the socket, and nothing else of the host program's
 * comes along, whether it was marked close-on-exec or not. */
static int add_actions(posix_spawn_file_actions_t *actions, int fd) {
    int rc = 0;
    for (int number = 0; number < HELPER_FD && rc == 0; number++)
        rc = posix_spawn_file_actions_addopen(actions, number, "/dev/null", O_RDWR, 0);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(actions, fd, HELPER_FD);
    if (rc == 0)
        rc = posix_spawn_file_actions_addclosefrom_np(actions, HELPER_FD + 1);
    return rc;
}

static int set_signals(posix_spawnattr_t *attributes) {
    sigset_t none;
    sigset_t all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    int rc = posix_spawnattr_setsigmask(attributes, &none);
    if (rc == 0)
        rc = posix_spawnattr_setsigdefault(attributes, &all);
    if (rc == 0)
        rc = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    return rc;
}

static int start(const char *helper, int fd, pid_t *pid) {
    char *const argv[] = {(char *)"alineo-local", NULL};
    char *const envp[] = {NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int rc = posix_spawn_file_actions_init(&actions);
    if (rc != 0)
        return rc;
    rc = posix_spawnattr_init(&attributes);
    if (rc == 0) {
        rc = add_actions(&actions, fd);
        if (rc == 0)
            rc = set_signals(&attributes);
        if (rc == 0)
            rc = posix_spawn(pid, helper, &actions, &attributes, argv, envp);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return rc;
}

/* It forks at once what is to stay and exits. When the host program ignores SIGCHLD, or waits for
 * whatever child there is, somebody else took it: that is as good. */
static void reap(pid_t pid) {
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

static alineo_code fail_start(alineo_provider *self, alineo_error **err, int rc) {
    if (rc != ENOENT && rc != EACCES && rc != ENOEXEC)
        return local_fail_errno(self, err, rc, "start the helper program");
    return LOCAL_FAIL(self, err, ALINEO_PROVIDER_UNAVAILABLE,
                      "it is installed beside the plugin; the option \"helper\" names another",
                      "start the helper program %s: %s", self->helper,
                      rc == ENOENT ? "there is none" : "it cannot be executed");
}

alineo_code local_spawn(alineo_provider *self, uint32_t type, const void *request, const int *fds,
                        size_t fd_count, int *fd, alineo_error **err) {
    int pair[2];
    int rc = al_msg_pair(&pair[0], &pair[1]);
    if (rc != 0)
        return local_fail_errno(self, err, rc, "make a socket for the helper program");
    al_autofd int low = pair[0];
    al_autofd int theirs = pair[1];
    /* A number that no standard stream is put in place of. */
    al_autofd int ours = -1;
    al_autofd int high = -1;
    rc = al_fd_dup(low, &ours);
    if (rc == 0)
        rc = al_fd_dup(theirs, &high);
    if (rc != 0)
        return local_fail_errno(self, err, rc, "make a socket for the helper program");
    /* It finds the request there when it starts. */
    rc = local_link_send(ours, type, 0, request, fds, fd_count, al_deadline_after_ms(SEND_MS));
    if (rc == E2BIG)
        return LOCAL_FAIL(self, err, ALINEO_TOO_LARGE, NULL,
                          "ask the helper program: the request is too large");
    if (rc != 0)
        return local_fail_errno(self, err, rc, "ask the helper program");
    pid_t pid;
    rc = start(self->helper, high, &pid);
    if (rc != 0)
        return fail_start(self, err, rc);
    reap(pid);
    *fd = al_steal_fd(&ours);
    return ALINEO_OK;
}
