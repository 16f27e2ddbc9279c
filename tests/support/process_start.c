/* SPDX-License-Identifier: Apache-2.0 */
#include "support/process_provider_private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/io.h"
#include "core/util/kv.h"
#include "core/util/str.h"
#include "core/util/strv.h"

static const char PATH_DEFAULT[] = "/usr/local/bin:/usr/bin:/bin";

/* What a started command is made of. */
typedef struct plan {
    char *folder;
    char *cwd;
    al_strv env;
    char *program; /* NULL: there is none that can run */
    int exit_code; /* then */
    int child_ends[3];
    int script_fd;
} plan;

static void plan_free(plan *p) {
    free(p->folder);
    free(p->cwd);
    al_strv_free(&p->env);
    free(p->program);
    for (int i = 0; i < 3; i++)
        al_close(p->child_ends[i]);
    al_close(p->script_fd);
}
AL_CLEANUP_INSIDE(plan, plan_free);

static const char *path_of(const process_behaviour *how) {
    return how->path != NULL ? how->path : PATH_DEFAULT;
}

static int make_env(plan *p, const process_behaviour *how, const char *id,
                    const alineo_exec_request *request) {
    al_auto(al_kv_free) al_kv env = AL_KV_INIT;
    int rc = al_kv_set(&env, "PATH", path_of(how));
    if (rc == 0)
        rc = al_kv_set(&env, "HOME", p->folder);
    for (size_t i = 0; rc == 0 && request->env != NULL && request->env[i] != NULL; i += 2)
        rc = al_kv_set(&env, request->env[i], request->env[i + 1]);
    if (rc == 0)
        rc = al_kv_set(&env, "ALINEO_EXEC_ID", request->exec_id);
    if (rc == 0)
        rc = al_kv_set(&env, PROCESS_SANDBOX_MARK, id);
    for (size_t i = 0; rc == 0 && i < env.count; i++)
        rc = al_strv_take(&p->env, al_strf("%s=%s", env.items[i].key, env.items[i].value));
    return rc;
}

static int judge(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0)
        return 127;
    return S_ISREG(status.st_mode) && access(path, X_OK) == 0 ? 0 : 126;
}

/* Looks for the program as a shell does. */
static int find_program(plan *p, const process_behaviour *how, const char *name) {
    p->exit_code = 127;
    if (strchr(name, '/') != NULL) {
        char *path = name[0] == '/' ? al_strdup(name) : al_strf("%s/%s", p->cwd, name);
        if (path == NULL)
            return ENOMEM;
        p->exit_code = judge(path);
        if (p->exit_code == 0)
            p->program = path;
        else
            free(path);
        return 0;
    }
    al_auto(al_strv_free) al_strv folders = AL_STRV_INIT;
    int rc = al_strv_split(&folders, path_of(how), ':');
    for (size_t i = 0; rc == 0 && i < folders.count && p->program == NULL; i++) {
        char *path = al_strf("%s/%s", folders.items[i], name);
        if (path == NULL)
            return ENOMEM;
        int code = judge(path);
        if (code == 0)
            p->program = path;
        else
            free(path);
        p->exit_code = code == 127 ? p->exit_code : code;
    }
    return rc;
}

static int make_script(plan *p, const alineo_exec_request *request) {
    if (request->script == NULL)
        return 0;
    al_autofd int fd = memfd_create("script", MFD_CLOEXEC);
    if (fd < 0)
        return errno;
    int rc = al_write_full(fd, request->script, request->script_size);
    if (rc == 0 && lseek(fd, 0, SEEK_SET) != 0)
        rc = errno;
    if (rc == 0)
        p->script_fd = al_steal_fd(&fd);
    return rc;
}

static int make_pipes(plan *p, process_exec *exec, bool want_stdin) {
    int rc = 0;
    if (want_stdin)
        rc = al_pipe(&p->child_ends[0], &exec->stdin_fd);
    else
        p->child_ends[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (rc == 0)
        rc = al_pipe(&exec->stdout_fd, &p->child_ends[1]);
    if (rc == 0)
        rc = al_pipe(&exec->stderr_fd, &p->child_ends[2]);
    return rc;
}

static int set_up(plan *p, posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes) {
    int rc = posix_spawn_file_actions_addchdir_np(actions, p->cwd);
    for (int i = 0; rc == 0 && i < 3; i++)
        rc = posix_spawn_file_actions_adddup2(actions, p->child_ends[i], i);
    if (rc == 0 && p->script_fd >= 0) {
        rc = posix_spawn_file_actions_adddup2(actions, p->script_fd, 9);
        for (int fd = 3; rc == 0 && fd < 9; fd++)
            rc = posix_spawn_file_actions_addclose(actions, fd);
    }
    if (rc == 0)
        rc = posix_spawn_file_actions_addclosefrom_np(actions, p->script_fd >= 0 ? 10 : 3);
    sigset_t all, none;
    (void)sigfillset(&all);
    (void)sigemptyset(&none);
    if (rc == 0)
        rc = posix_spawnattr_setsigdefault(attributes, &all);
    if (rc == 0)
        rc = posix_spawnattr_setsigmask(attributes, &none);
    if (rc == 0)
        rc = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF |
                                                      POSIX_SPAWN_SETSIGMASK);
    return rc;
}

static int spawn(plan *p, process_exec *exec, const char *const *argv) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int rc = posix_spawn_file_actions_init(&actions);
    if (rc != 0)
        return rc;
    rc = posix_spawnattr_init(&attributes);
    if (rc == 0) {
        rc = set_up(p, &actions, &attributes);
        if (rc == 0)
            rc = posix_spawn(&exec->pid, p->program, &actions, &attributes,
                             (char *const *)(uintptr_t)argv, p->env.items);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    if (rc != 0)
        exec->pid = 0;
    return rc == 0 ? process_exec_watch(exec) : rc;
}

/* A descriptor of the core's own: ours stays. */
static int copy_fd(int fd) {
    int copy = -1;
    return fd >= 0 && al_fd_dup(fd, &copy) == 0 ? copy : -1;
}

static void hand_over(process_exec *exec, alineo_exec_io *io) {
    const process_behaviour *how = &exec->provider->behaviour;
    io->exec = (alineo_provider_exec *)exec;
    if (how->pumped)
        return;
    io->stdin_fd = al_steal_fd(&exec->stdin_fd);
    io->stdout_fd = copy_fd(exec->stdout_fd);
    io->stderr_fd = copy_fd(exec->stderr_fd);
    if (how->no_status)
        return;
    if (how->tells_early)
        al_event_signal(exec->end_fd);
    bool by_event = exec->pid == 0 || how->tells_early || how->never_tells;
    io->status_fd = copy_fd(by_event ? exec->end_fd : process_exec_end_fd(exec));
}

static alineo_code prepare(process_provider *provider, const char *id, plan *p,
                           const alineo_exec_request *request, alineo_error **err) {
    const alineo_host *host = provider->host;
    bool is_there;
    {
        al_autolock(&provider->lock);
        const process_sandbox *sandbox = process_find(provider, id);
        is_there = sandbox != NULL;
        if (is_there)
            p->folder = al_strdup(sandbox->folder);
    }
    if (!is_there)
        return host->fail(host, err, ALINEO_SANDBOX_NOT_FOUND, NULL, "there is no sandbox %s", id);
    p->cwd = al_strdup(request->cwd != NULL ? request->cwd : p->folder);
    struct stat status;
    if (p->folder == NULL || p->cwd == NULL)
        return host->fail(host, err, ALINEO_NO_MEMORY, NULL, "out of memory");
    if (stat(p->cwd, &status) != 0)
        return host->fail(host, err, ALINEO_FILE_NOT_FOUND, NULL, "cwd %s: %s", p->cwd,
                          strerror(errno));
    if (!S_ISDIR(status.st_mode))
        return host->fail(host, err, ALINEO_NOT_A_DIRECTORY, NULL, "cwd %s", p->cwd);
    int rc = make_env(p, &provider->behaviour, id, request);
    if (rc == 0)
        rc = find_program(p, &provider->behaviour, request->argv[0]);
    if (rc == 0)
        rc = make_script(p, request);
    if (rc != 0)
        return host->fail(host, err, rc == ENOMEM ? ALINEO_NO_MEMORY : ALINEO_IO, NULL,
                          "prepare: %s", strerror(rc));
    return ALINEO_OK;
}

/* The program cannot run: it is an outcome that is there at once. */
static void end_at_once(process_exec *exec, int exit_code, const char *name) {
    exec->status.outcome = ALINEO_OUTCOME_EXITED;
    exec->status.exit_code = exit_code;
    exec->reaped = true;
    (void)snprintf(exec->detail, sizeof(exec->detail), "%.80s: %s", name,
                   exit_code == 127 ? "not found" : "cannot be executed");
    al_event_signal(exec->end_fd);
}

static alineo_code start(process_provider *provider, plan *p, process_exec *exec,
                         const alineo_exec_request *request, alineo_error **err) {
    const alineo_host *host = provider->host;
    if (p->program == NULL) {
        end_at_once(exec, p->exit_code, request->argv[0]);
        return ALINEO_OK;
    }
    int rc = make_pipes(p, exec, request->want_stdin != 0);
    if (rc == 0)
        rc = spawn(p, exec, request->argv);
    if (rc == E2BIG)
        return host->fail(host, err, ALINEO_TOO_LARGE, NULL, "start %s: %s", request->argv[0],
                          strerror(rc));
    if (rc == ENOENT || rc == ENOEXEC || rc == EACCES) {
        end_at_once(exec, rc == ENOENT ? 127 : 126, request->argv[0]);
        return ALINEO_OK;
    }
    if (rc != 0)
        return host->fail(host, err, ALINEO_IO, NULL, "start %s: %s", request->argv[0],
                          strerror(rc));
    if (request->timeout_ms > 0 && !provider->behaviour.ignores_timeout)
        exec->deadline_ns = al_deadline_after_ms(request->timeout_ms).at_ns;
    return ALINEO_OK;
}

alineo_code process_exec_start(alineo_provider *self, const char *id,
                               const alineo_exec_request *request, alineo_exec_io *io,
                               alineo_error **err) {
    process_provider *provider = (process_provider *)self;
    const process_behaviour *how = &provider->behaviour;
    atomic_fetch_add(&provider->calls.starts, 1);
    if (how->starting != NULL)
        how->starting(how->user);
    if (how->start_failure != ALINEO_OK)
        return provider->host->fail(provider->host, err, how->start_failure, NULL,
                                    "told to fail the start");
    al_auto(plan_free) plan p = {.child_ends = {-1, -1, -1}, .script_fd = -1};
    alineo_code code = prepare(provider, id, &p, request, err);
    if (code != ALINEO_OK)
        return code;
    process_exec *exec = process_exec_new(provider, id, request->exec_id);
    if (exec == NULL)
        return provider->host->fail(provider->host, err, ALINEO_NO_MEMORY, NULL, "out of memory");
    code = start(provider, &p, exec, request, err);
    if (code != ALINEO_OK) {
        process_exec_drop(exec);
        return code;
    }
    hand_over(exec, io);
    {
        al_autolock(&provider->lock);
        al_list_append(&provider->execs, &exec->link);
    }
    al_event_signal(provider->wake_fd);
    return ALINEO_OK;
}
