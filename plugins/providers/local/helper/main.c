/* SPDX-License-Identifier: Apache-2.0 */
/* alineo-local: what the local provider starts, with a socket as descriptor 3, to make a sandbox,
 * to clean up, or to look what this machine has. It hands that to a child and exits, so that the
 * program that started it keeps no child. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/util/file.h"
#include "core/util/path.h"
#include "plugins/providers/local/entry.h"
#include "plugins/providers/local/helper/supervise.h"
#include "plugins/providers/local/helper/sweep.h"
#include "plugins/providers/local/link.h"
#include "plugins/providers/local/runtime/box.h"

enum {
    PLUGIN_FD = 3,
    REQUEST_MS = 10000, /* in which the request must come */
    ANSWER_MS = 10000
};

/* Descriptors 0, 1 and 2 lead nowhere, and nothing else is open. */
static int clean_descriptors(void) {
    if (close_range(PLUGIN_FD + 1, ~0U, 0) != 0)
        return errno;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return errno;
    for (int fd = 0; fd < PLUGIN_FD; fd++) {
        if (dup2(null, fd) < 0)
            return errno;
    }
    if (null > PLUGIN_FD)
        al_close(null);
    return fcntl(PLUGIN_FD, F_SETFD, FD_CLOEXEC) == 0 ? 0 : errno;
}

static int do_sweep(const struct local_message *message) {
    struct local_sweep sweep;
    if (local_message_decode(message, LOCAL_SWEEP, &sweep) != 0)
        return EXIT_FAILURE;
    struct local_sweep_result result;
    local_sweep(sweep.state_dir, sweep.run_dir, sweep.id, &result);
    struct local_swept swept = {result.count, result.freed_size,
                                result.failure[0] != '\0' ? result.failure : NULL};
    int rc = local_link_send(PLUGIN_FD, LOCAL_SWEPT, 0, &swept, NULL, 0,
                             al_deadline_after_ms(ANSWER_MS));
    return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int send_features(const struct local_feature *features, size_t count) {
    al_deadline deadline = al_deadline_after_ms(ANSWER_MS);
    for (size_t i = 0; i < count; i++) {
        const struct local_feature *feature = &features[i];
        struct local_feature_found found = {feature->name, feature->reason, feature->remedy,
                                            feature->is_required, feature->is_there};
        int rc = local_link_send(PLUGIN_FD, LOCAL_FEATURE, 0, &found, NULL, 0, deadline);
        if (rc != 0)
            return rc;
    }
    struct local_answer done = {ALINEO_OK, "probed", NULL};
    return local_link_send(PLUGIN_FD, LOCAL_ANSWER, 0, &done, NULL, 0, deadline);
}

static int do_probe(const struct local_message *message) {
    struct local_probe_request probe;
    if (local_message_decode(message, LOCAL_PROBE, &probe) != 0)
        return EXIT_FAILURE;
    al_autofree char *store = al_path_join(probe.state_dir, LOCAL_STORE);
    if (store == NULL)
        return EXIT_FAILURE;
    int rc = al_mkdir_parents(store, 0700);
    if (rc != 0) {
        char text[LOCAL_MESSAGE_TEXT_MAX];
        (void)snprintf(text, sizeof(text), "make %.400s: errno %d", store, rc);
        struct local_answer failed = {ALINEO_IO, text, NULL};
        rc = local_link_send(PLUGIN_FD, LOCAL_ANSWER, 0, &failed, NULL, 0,
                             al_deadline_after_ms(ANSWER_MS));
        return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    struct local_feature features[LOCAL_FEATURES_MAX];
    size_t count = 0;
    local_probe(store, features, &count);
    /* Nothing stays of it: only folders that we made are empty. */
    if (rmdir(store) == 0)
        (void)rmdir(probe.state_dir);
    return send_features(features, count) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Leaves the caller of the helper: the child goes on. */
static int leave_for_supervisor(void) {
    pid_t pid;
    struct local_fault fault = {0};
    int rc = local_supervisor_fork(&pid, &fault);
    if (rc == 0 && pid > 0)
        _exit(EXIT_SUCCESS);
    if (rc == 0)
        return 0;
    alineo_code code =
        rc == EPERM || rc == EACCES ? ALINEO_PERMISSION_DENIED : ALINEO_SANDBOX_FAILED;
    struct local_answer failed = {code, fault.message, fault.hint[0] != '\0' ? fault.hint : NULL};
    int sent = local_link_send(PLUGIN_FD, LOCAL_ANSWER, 0, &failed, NULL, 0,
                               al_deadline_after_ms(ANSWER_MS));
    return sent != 0 ? sent : rc;
}

static int leave(void) {
    pid_t pid = fork();
    if (pid < 0)
        return errno;
    if (pid > 0)
        _exit(EXIT_SUCCESS);
    return setsid() < 0 ? errno : 0;
}

int main(void) {
    struct stat status;
    if (fstat(PLUGIN_FD, &status) != 0 || !S_ISSOCK(status.st_mode)) {
        static const char text[] = "alineo-local is started by the local provider, not by hand\n";
        return write(STDERR_FILENO, text, sizeof(text) - 1) > 0 ? 2 : EXIT_FAILURE;
    }
    /* No folder of the caller's is held busy. */
    if (clean_descriptors() != 0 || chdir("/") != 0)
        return EXIT_FAILURE;
    struct local_message message = {0};
    if (local_link_receive(PLUGIN_FD, &local_link_trusted, &message,
                           al_deadline_after_ms(REQUEST_MS)) != 0)
        return EXIT_FAILURE;
    if ((message.type == LOCAL_CREATE ? leave_for_supervisor() : leave()) != 0)
        return EXIT_FAILURE;
    (void)umask(022);
    switch (message.type) {
    case LOCAL_CREATE:
        return local_supervise(&message, PLUGIN_FD);
    case LOCAL_SWEEP:
        return do_sweep(&message);
    case LOCAL_PROBE:
        return do_probe(&message);
    default:
        return EXIT_FAILURE;
    }
}
