/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox has on the host: its folders, its box, its socket. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/util/file.h"
#include "core/util/msg.h"
#include "core/util/path.h"
#include "core/util/str.h"
#include "plugins/providers/local/entry.h"
#include "plugins/providers/local/helper/image.h"
#include "plugins/providers/local/helper/mounts.h"
#include "plugins/providers/local/helper/supervise.h"
#include "plugins/providers/local/helper/sweep.h"

enum {
    HOSTNAME_MAX = 63
};

static int make_folders(struct local_supervisor *supervisor, struct local_fault *fault) {
    const struct local_create *create = &supervisor->create;
    int rc = local_folder_make(create->run_dir, LOCAL_SANDBOXES, &supervisor->entries_fd);
    if (rc != 0)
        return local_fault_set(fault, rc, "make %s/%s", create->run_dir, LOCAL_SANDBOXES);
    rc = local_entry_create(supervisor->entries_fd, create->id, &supervisor->entry_fd);
    if (rc != 0)
        return local_fault_set(fault, rc, "make %s/%s/%s", create->run_dir, LOCAL_SANDBOXES,
                               create->id);
    rc = local_folder_make(create->state_dir, LOCAL_SANDBOXES, &supervisor->folders_fd);
    if (rc != 0)
        return local_fault_set(fault, rc, "make %s/%s", create->state_dir, LOCAL_SANDBOXES);
    rc = local_entry_create(supervisor->folders_fd, create->id, &supervisor->folder_fd);
    if (rc != 0)
        return local_fault_set(fault, rc, "make %s/%s/%s", create->state_dir, LOCAL_SANDBOXES,
                               create->id);
    supervisor->folder = al_strf("%s/%s/%s", create->state_dir, LOCAL_SANDBOXES, create->id);
    supervisor->trash = al_path_join(create->state_dir, LOCAL_TRASH);
    if (supervisor->folder == NULL || supervisor->trash == NULL)
        return local_fault_set(fault, ENOMEM, "make the sandbox's folder");
    rc = al_mkdir_parents(supervisor->trash, 0700);
    return rc == 0 ? 0 : local_fault_set(fault, rc, "make %s", supervisor->trash);
}

/* The id where it may be a host's name: most are, none of ours is too long. */
static void make_hostname(const char *id, char out[HOSTNAME_MAX + 1]) {
    (void)al_str_copy(out, HOSTNAME_MAX + 1, id);
    for (char *c = out; *c != '\0'; c++) {
        if (*c == '_')
            *c = '-';
    }
}

static int watch_pid1(struct local_supervisor *supervisor, int socket_fd) {
    int rc = local_watch_begin(&supervisor->pid1, supervisor->epoll_fd, socket_fd, EPOLLIN,
                               local_pid1_ready);
    if (rc != 0)
        return rc;
    int end = fcntl(supervisor->box.pid_fd, F_DUPFD_CLOEXEC, 3);
    if (end < 0)
        return errno;
    return local_watch_begin(&supervisor->pid1_end, supervisor->epoll_fd, end, EPOLLIN,
                             local_pid1_end_ready);
}

/* Each command that runs, or left something running, holds descriptors here: as many as we may
 * have. Where it is refused there can be fewer of them. */
static void raise_fd_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* A socket pair to pid 1. Room for many starts at once: nothing here waits for it. */
static int make_pair(int *ours, int *theirs) {
    static const int size = 4 * 1024 * 1024;
    int rc = al_msg_pair(ours, theirs);
    if (rc != 0)
        return rc;
    return setsockopt(*ours, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) == 0 ? 0 : errno;
}

static int build_box(struct local_supervisor *supervisor, const struct local_image *image,
                     const struct local_mounts *mounts, struct local_fault *fault) {
    const struct local_create *create = &supervisor->create;
    char hostname[HOSTNAME_MAX + 1];
    make_hostname(create->id, hostname);
    al_autofd int ours = -1;
    al_autofd int theirs = -1;
    int rc = make_pair(&ours, &theirs);
    if (rc != 0)
        return local_fault_set(fault, rc, "make the socket to the sandbox's first process");
    const char *const layers[] = {image->layer};
    struct local_init init = {theirs, create->user, create->env};
    struct local_spec spec = {
        .id = create->id,
        .hostname = hostname,
        .folder = supervisor->folder,
        .layers = layers,
        .layer_count = 1,
        .host_image = image->is_host,
        .network = create->is_host_network != 0 ? LOCAL_NETWORK_HOST : LOCAL_NETWORK_NONE,
        .limits = {create->memory_size, create->cpu_milli, create->pids_count},
        .mounts = mounts->items,
        .mount_count = mounts->count,
        .keep_fds = &theirs,
        .keep_fd_count = 1,
    };
    rc = local_box_build(&spec, local_init_main, &init, &supervisor->box, fault);
    if (rc != 0)
        return rc;
    supervisor->is_built = true;
    raise_fd_limit();
    rc = watch_pid1(supervisor, al_steal_fd(&ours));
    return rc == 0 ? 0 : local_fault_set(fault, rc, "watch the sandbox's first process");
}

bool local_entry_is_there(const struct local_supervisor *supervisor) {
    return faccessat(supervisor->entry_fd, LOCAL_CONTROL, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int listen_for_clients(struct local_supervisor *supervisor, struct local_fault *fault) {
    int fd;
    int rc = local_control_listen(supervisor->entry_fd, &fd);
    if (rc == 0)
        rc = local_watch_begin(&supervisor->listener, supervisor->epoll_fd, fd, EPOLLIN,
                               local_listener_ready);
    /* A kernel built without it leaves it at that. Not inotify: of that, a user has few. */
    (void)fcntl(supervisor->entry_fd, F_NOTIFY, (long)(DN_DELETE | DN_MULTISHOT));
    return rc == 0 ? 0 : local_fault_set(fault, rc, "listen on the sandbox's control socket");
}

static int check(const struct local_supervisor *supervisor, struct local_fault *fault) {
    const struct local_create *create = &supervisor->create;
    if (!local_id_is_valid(create->id) || create->state_dir[0] != '/' || create->run_dir[0] != '/')
        return local_fault_set(fault, EINVAL, "check the request");
    if (!local_env_is_valid(&create->env) || create->metadata.count % 2 != 0)
        return local_fault_set(fault, EINVAL, "check the environment and metadata");
    return 0;
}

static alineo_code code_of(int rc) {
    if (rc == ENOSPC || rc == EDQUOT)
        return ALINEO_NO_SPACE;
    return rc == ENOMEM ? ALINEO_NO_MEMORY : ALINEO_SANDBOX_FAILED;
}

int local_setup(struct local_supervisor *supervisor, alineo_code *code, struct local_fault *fault) {
    al_auto(local_image_free) struct local_image image = {0};
    al_auto(local_mounts_free) struct local_mounts mounts = {0};
    int rc = check(supervisor, fault);
    if (rc == 0)
        rc = al_strv_append_all(&supervisor->metadata, supervisor->create.metadata.items);
    if (rc == 0)
        rc = make_folders(supervisor, fault);
    if (rc != 0) {
        *code = code_of(rc);
        return rc;
    }
    rc = local_image_find(supervisor->create.state_dir, supervisor->create.image, &image, code,
                          fault);
    if (rc == 0)
        rc = local_mounts_open(&supervisor->create.mounts, &mounts, code, fault);
    if (rc != 0)
        return rc;
    rc = build_box(supervisor, &image, &mounts, fault);
    if (rc == 0)
        rc = listen_for_clients(supervisor, fault);
    if (rc != 0)
        *code = code_of(rc);
    return rc;
}

void local_teardown_entry(struct local_supervisor *supervisor) {
    if (supervisor->entry_fd >= 0 && supervisor->is_remembered) {
        struct local_state state;
        local_supervisor_state(supervisor, &state);
        local_ended_remember(supervisor->create.run_dir, &state);
    }
    if (supervisor->entry_fd >= 0) {
        (void)unlinkat(supervisor->entry_fd, LOCAL_CONTROL, 0);
        (void)unlinkat(supervisor->entry_fd, LOCAL_STATE_FILE, 0);
        (void)unlinkat(supervisor->entries_fd, supervisor->create.id, AT_REMOVEDIR);
    }
    /* Only now: nobody finds a sandbox that is there and refuses to be connected to. */
    local_watch_end(&supervisor->listener);
}

int local_teardown(struct local_supervisor *supervisor) {
    int rc = 0;
    if (supervisor->is_built)
        rc = local_box_destroy(&supervisor->box, supervisor->folder, supervisor->trash, NULL);
    if (supervisor->folder_fd < 0)
        return rc;
    int removed = al_remove_tree(supervisor->folders_fd, supervisor->create.id);
    return rc != 0 ? rc : removed;
}
