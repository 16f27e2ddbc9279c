/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/providers/local/helper/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/file.h"
#include "core/util/path.h"
#include "core/util/str.h"
#include "core/util/strv.h"
#include "plugins/providers/local/entry.h"
#include "plugins/providers/local/runtime/box.h"

enum {
    ENDED_MAX = 256, /* notes that are kept */
    RECLAIM_MS = 5000
};

struct sweep {
    const char *state_dir;
    const char *run_dir;
    int entries_fd; /* -1 where there are none yet */
    int folders_fd;
    struct local_sweep_result *result;
};

static void note_failure(struct sweep *sweep, const char *what, const char *name, int rc) {
    if (sweep->result->failure[0] == '\0')
        (void)snprintf(sweep->result->failure, sizeof(sweep->result->failure), "%s %.200s: %s",
                       what, name, strerror(rc));
}

/* BASE/NAME, or -1 where there is none yet. */
static int open_or_none(const char *base, const char *name) {
    int fd;
    return local_folder_open(base, name, &fd) == 0 ? fd : -1;
}

/* The names in a folder that may be sandboxes' ids. */
static int list_ids(int folder_fd, al_strv *ids) {
    int copy = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (copy < 0)
        return errno;
    al_autodir DIR *folder = fdopendir(copy);
    if (folder == NULL) {
        int error = errno;
        al_close(copy);
        return error;
    }
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        if (!local_id_is_valid(entry->d_name))
            continue;
        int rc = al_strv_append(ids, entry->d_name);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static bool is_dead(int parent_fd, const char *id) {
    bool is_held;
    al_autofd int fd = -1;
    return local_entry_open(parent_fd, id, &fd, &is_held) == 0 && !is_held;
}

static bool any_dead(int parent_fd) {
    al_auto(al_strv_free) al_strv ids = AL_STRV_INIT;
    if (parent_fd < 0 || list_ids(parent_fd, &ids) != 0)
        return false;
    for (size_t i = 0; i < ids.count; i++) {
        if (is_dead(parent_fd, ids.items[i]))
            return true;
    }
    return false;
}

/* --- one dead sandbox --------------------------------------------------------------------------*/

/* Leaves word of why a sandbox is gone, as its supervisor would have done. */
static void remember(struct sweep *sweep, int entry_fd) {
    al_auto(local_state_free) struct local_state_file file = {0};
    if (local_state_read(entry_fd, LOCAL_STATE_FILE, &file) != 0)
        return;
    file.state.state = LOCAL_ENDED_BY_ITSELF;
    file.state.reason = "its supervisor was killed, or the machine was restarted";
    local_ended_remember(sweep->run_dir, &file.state);
}

/* Whatever there is of ID: its lock is ours. */
static int remove_parts(struct sweep *sweep, const char *id, int entry, int folder) {
    al_autofree char *path = al_strf("%s/%s/%s", sweep->state_dir, LOCAL_SANDBOXES, id);
    al_autofree char *trash = al_path_join(sweep->state_dir, LOCAL_TRASH);
    if (path == NULL || trash == NULL)
        return ENOMEM;
    /* The folder above is not made anew: where it is gone, there is nothing to throw away. */
    int rc = mkdir(trash, 0700) == 0 || errno == EEXIST || errno == ENOENT ? 0 : errno;
    if (rc == 0)
        rc = local_box_reclaim(id, path, trash, al_deadline_after_ms(RECLAIM_MS), NULL);
    if (rc == 0 && folder >= 0)
        rc = al_remove_tree(sweep->folders_fd, id);
    if (rc != 0 || entry < 0)
        return rc;
    remember(sweep, entry);
    return al_remove_tree(sweep->entries_fd, id);
}

/* Takes the lock of ID in PARENT_FD (-1 = no such folder), if it is there: *FD is -1 when not. */
static int seize(int parent_fd, const char *id, int *fd) {
    int rc = parent_fd < 0 ? ENOENT : local_entry_seize(parent_fd, id, fd);
    return rc == ENOENT ? 0 : rc;
}

static void remove_dead(struct sweep *sweep, const char *id) {
    al_autofd int entry = -1;
    al_autofd int folder = -1;
    if (seize(sweep->entries_fd, id, &entry) != 0 || seize(sweep->folders_fd, id, &folder) != 0)
        return; /* another sweep has it */
    if (entry < 0 && folder < 0)
        return;
    int rc = remove_parts(sweep, id, entry, folder);
    if (rc == 0)
        sweep->result->count++;
    else
        note_failure(sweep, "remove the dead sandbox", id, rc);
}

static void remove_all_dead(struct sweep *sweep, int parent_fd) {
    al_auto(al_strv_free) al_strv ids = AL_STRV_INIT;
    if (parent_fd < 0)
        return;
    int rc = list_ids(parent_fd, &ids);
    if (rc != 0)
        note_failure(sweep, "list", LOCAL_SANDBOXES, rc);
    for (size_t i = 0; i < ids.count; i++) {
        if (is_dead(parent_fd, ids.items[i]))
            remove_dead(sweep, ids.items[i]);
    }
}

/* What was being deleted when its deleter died. Two deleters at once help each other. */
static void empty_trash(struct sweep *sweep) {
    al_autofd int trash = -1;
    if (local_folder_open(sweep->state_dir, LOCAL_TRASH, &trash) != 0)
        return;
    int copy = fcntl(trash, F_DUPFD_CLOEXEC, 3);
    al_autodir DIR *folder = copy < 0 ? NULL : fdopendir(copy);
    if (folder == NULL) {
        al_close(copy);
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        int rc = al_remove_tree(trash, entry->d_name);
        if (rc != 0)
            note_failure(sweep, "delete from the trash", entry->d_name, rc);
    }
}

static uint64_t free_size(const char *path) {
    struct statvfs status;
    if (statvfs(path, &status) != 0)
        return 0;
    return (uint64_t)status.f_bfree * status.f_frsize;
}

void local_sweep(const char *state_dir, const char *run_dir, const char *id,
                 struct local_sweep_result *result) {
    *result = (struct local_sweep_result){0};
    struct sweep sweep = {state_dir, run_dir, open_or_none(run_dir, LOCAL_SANDBOXES),
                          open_or_none(state_dir, LOCAL_SANDBOXES), result};
    uint64_t before = free_size(state_dir);
    if (id != NULL) {
        remove_dead(&sweep, id);
    } else {
        remove_all_dead(&sweep, sweep.entries_fd);
        remove_all_dead(&sweep, sweep.folders_fd);
        empty_trash(&sweep);
    }
    uint64_t after = free_size(state_dir);
    result->freed_size = after > before ? after - before : 0;
    al_close(sweep.entries_fd);
    al_close(sweep.folders_fd);
}

/* --- beside the supervisor's own work ----------------------------------------------------------*/

static bool is_needed(const char *state_dir, const char *run_dir) {
    al_autofd int entries = open_or_none(run_dir, LOCAL_SANDBOXES);
    al_autofd int folders = open_or_none(state_dir, LOCAL_SANDBOXES);
    return any_dead(entries) || any_dead(folders);
}

void local_sweep_behind(const char *state_dir, const char *run_dir) {
    if (!is_needed(state_dir, run_dir))
        return;
    pid_t child = fork();
    if (child == 0) {
        if (fork() != 0)
            _exit(EXIT_SUCCESS);
        /* Our sandbox's locks are not this process's to hold. */
        (void)close_range(3, ~0U, 0);
        struct local_sweep_result result;
        local_sweep(state_dir, run_dir, NULL, &result);
        _exit(EXIT_SUCCESS);
    }
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
}

/* --- notes on ended sandboxes ------------------------------------------------------------------*/

/* Removes the oldest notes but ENDED_MAX - 1. */
static void forget_old(int folder_fd) {
    al_auto(al_strv_free) al_strv ids = AL_STRV_INIT;
    if (list_ids(folder_fd, &ids) != 0)
        return;
    while (ids.count >= ENDED_MAX) {
        size_t oldest = 0;
        struct timespec oldest_at = {0};
        for (size_t i = 0; i < ids.count; i++) {
            struct stat status;
            if (fstatat(folder_fd, ids.items[i], &status, AT_SYMLINK_NOFOLLOW) != 0)
                memset(&status, 0, sizeof(status));
            if (i == 0 || status.st_mtim.tv_sec < oldest_at.tv_sec ||
                (status.st_mtim.tv_sec == oldest_at.tv_sec &&
                 status.st_mtim.tv_nsec < oldest_at.tv_nsec)) {
                oldest = i;
                oldest_at = status.st_mtim;
            }
        }
        (void)unlinkat(folder_fd, ids.items[oldest], 0);
        al_strv_remove(&ids, oldest);
    }
}

void local_ended_remember(const char *run_dir, const struct local_state *state) {
    /* Whoever removed the folder of it all does not want it back for a note. */
    al_autofd int run = open(run_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (run < 0 || (mkdirat(run, LOCAL_ENDED, 0700) != 0 && errno != EEXIST))
        return;
    al_autofd int folder =
        openat(run, LOCAL_ENDED, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return;
    forget_old(folder);
    /* A note that cannot be left is one less: nothing depends on it. */
    if (local_state_write(folder, state->id, state) != 0)
        return;
}
