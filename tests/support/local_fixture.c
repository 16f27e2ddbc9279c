/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/local_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/file.h"
#include "core/util/io.h"
#include "core/util/num.h"
#include "core/util/str.h"
#include "plugins/providers/local/entry.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

extern const alineo_plugin alineo_plugin_provider_local;

enum {
    IDS_MAX = 1024,
    PATIENCE_MS = 5000,
    STEP_NS = 2000000,
    RUN_MS = 60000 /* in which every command of a test ends */
};

static int32_t is_less(void *user, const alineo_capability *capability) {
    (void)fprintf(stderr, "skipped: sandboxes cannot be made here: %s\n",
                  capability->detail != NULL ? capability->detail : capability->value);
    *(bool *)user = false;
    return 0;
}

/* Whether sandboxes can be made here; tried once. */
static bool is_possible(local_fixture *fixture) {
    static int answer = -1;
    if (answer < 0) {
        const char *const names[] = {ALINEO_CAP_ISOLATION, NULL};
        bool possible = true;
        alineo_error *err = NULL;
        local_assert_ok(fixture->table->probe(fixture->self, names, NULL, is_less, &possible, &err),
                        &err);
        answer = possible ? 1 : 0;
    }
    return answer == 1;
}

alineo_provider *local_fixture_again(local_fixture *fixture) {
    alineo_provider *self = NULL;
    alineo_error *err = NULL;
    local_assert_ok(fixture->table->open(&fixture->host.host, fixture->host.options, &self, &err),
                    &err);
    return self;
}

void local_fixture_open(local_fixture *fixture) {
    memset(fixture, 0, sizeof(*fixture));
    (void)snprintf(fixture->home, sizeof(fixture->home), "%s/alineo-test-XXXXXX", test_temporary());
    assert_non_null(mkdtemp(fixture->home));
    (void)snprintf(fixture->state_dir, sizeof(fixture->state_dir), "%s/state", fixture->home);
    (void)snprintf(fixture->run_dir, sizeof(fixture->run_dir), "%s/run", fixture->home);
    (void)snprintf(fixture->plugin_path, sizeof(fixture->plugin_path),
                   "%s/alineo-provider-local.so", ALINEO_TEST_PLUGIN_DIR);
    const alineo_provider_descriptor *descriptor = alineo_plugin_provider_local.descriptor;
    test_host_open(&fixture->host, descriptor->options, NULL);
    fixture->host.host.plugin_path = fixture->plugin_path;
    fixture->host.host.state_dir = fixture->state_dir;
    fixture->host.host.run_dir = fixture->run_dir;
    fixture->table = alineo_plugin_provider_local.table;
    fixture->self = local_fixture_again(fixture);
    if (is_possible(fixture))
        return;
    local_fixture_close(fixture);
    skip();
}

/* --- asserting ---------------------------------------------------------------------------------*/

void local_assert_ok(alineo_code code, alineo_error **err) {
    if (code != ALINEO_OK)
        fail_msg("%s: %s", alineo_code_name(code), alineo_error_message(*err));
}

void local_assert_code(alineo_code code, alineo_error **err, alineo_code expected) {
    if (code != expected)
        fail_msg("%s, not %s: %s", alineo_code_name(code), alineo_code_name(expected),
                 code != ALINEO_OK ? alineo_error_message(*err) : "");
    if (code == ALINEO_OK)
        return;
    assert_int_equal(alineo_error_code(*err), code);
    assert_true(strlen(alineo_error_message(*err)) > 0);
    alineo_error_free(*err);
    *err = NULL;
}

bool local_eventually(bool (*condition)(void *user), void *user) {
    al_deadline deadline = al_deadline_after_ms(PATIENCE_MS);
    while (!condition(user)) {
        if (al_deadline_passed(deadline))
            return false;
        struct timespec step = {0, STEP_NS};
        (void)nanosleep(&step, NULL);
    }
    return true;
}

/* --- sandboxes ---------------------------------------------------------------------------------*/

static int32_t take_id(void *user, const alineo_sandbox_info *info) {
    assert_true(al_str_copy(user, 129, info->id));
    assert_int_equal(info->state, ALINEO_STATE_RUNNING);
    return 0;
}

void local_fixture_create(local_fixture *fixture, const alineo_create_request *request,
                          char id[129]) {
    alineo_error *err = NULL;
    alineo_create_request whole = {.size = sizeof(whole)};
    if (request != NULL)
        whole = *request;
    if (whole.image == NULL)
        whole.image = "host";
    id[0] = '\0';
    local_assert_ok(fixture->table->create(fixture->self, &whole, NULL, take_id, id, &err), &err);
    assert_true(id[0] != '\0');
}

typedef struct ids {
    char items[IDS_MAX][129];
    size_t count;
} ids;

static int32_t add_id(void *user, const alineo_sandbox_info *info) {
    ids *all = user;
    if (all->count < IDS_MAX)
        (void)al_str_copy(all->items[all->count++], 129, info->id);
    return 0;
}

static bool is_empty(const char *folder) {
    DIR *stream = opendir(folder);
    if (stream == NULL)
        return errno == ENOENT;
    size_t count = 0;
    const struct dirent *entry;
    while ((entry = readdir(stream)) != NULL)
        count += entry->d_name[0] != '.' ? 1 : 0;
    (void)closedir(stream);
    return count == 0;
}

static bool has_no_process(void *user) {
    return local_count_processes(user) == 0;
}

static bool is_clean(void *user) {
    const local_fixture *fixture = user;
    static const char *const folders[] = {"run/sandboxes", "state/sandboxes", "state/trash"};
    for (size_t i = 0; i < AL_COUNT(folders); i++) {
        al_autofree char *path = al_strf("%s/%s", fixture->home, folders[i]);
        if (!is_empty(path))
            return false;
    }
    return true;
}

void local_fixture_close(local_fixture *fixture) {
    static ids all;
    alineo_list_request request = {.size = sizeof(request)};
    char *cursor = NULL;
    int32_t complete = 0;
    alineo_error *err = NULL;
    all.count = 0;
    local_assert_ok(
        fixture->table->list(fixture->self, &request, NULL, add_id, &all, &cursor, &complete, &err),
        &err);
    for (size_t i = 0; i < all.count; i++) {
        alineo_code code = fixture->table->destroy(fixture->self, all.items[i], NULL, &err);
        if (code != ALINEO_SANDBOX_NOT_FOUND)
            local_assert_ok(code, &err);
        else
            alineo_error_free(err);
    }
    fixture->table->close(fixture->self);
    assert_true(local_eventually(is_clean, fixture));
    for (size_t i = 0; i < all.count; i++)
        assert_true(local_eventually(has_no_process, all.items[i]));
    test_host_close(&fixture->host);
    assert_int_equal(al_remove_tree(AT_FDCWD, fixture->home), 0);
}

/* --- commands ----------------------------------------------------------------------------------*/

void local_ran_clear(local_fixture *fixture, local_ran *ran) {
    fixture->host.host.free(&fixture->host.host, ran->status.detail);
    al_buf_free(&ran->out);
    al_buf_free(&ran->err);
    memset(ran, 0, sizeof(*ran));
}

/* What is there now of a stream; closes it at its end. */
static void collect(int *fd, al_buf *out) {
    static char bytes[65536];
    size_t size;
    int rc = al_read_some(*fd, bytes, sizeof(bytes), &size);
    if (rc == EAGAIN)
        return;
    assert_int_equal(rc, 0);
    al_buf_append(out, bytes, size);
    if (size > 0)
        return;
    al_close(*fd);
    *fd = -1;
}

static void feed(int *fd, const char *input, size_t size, size_t *written) {
    size_t some = 0;
    int rc = al_write_some(*fd, input + *written, size - *written, &some);
    *written += rc == 0 ? some : 0;
    if (*written < size && (rc == 0 || rc == EAGAIN))
        return;
    al_close(*fd);
    *fd = -1;
}

/* Moves bytes until the outcome is known, then takes what is still in the pipes. */
static void pump(alineo_exec_io *io, const char *input, local_ran *ran) {
    size_t size = input != NULL ? strlen(input) : 0;
    size_t written = 0;
    al_deadline deadline = al_deadline_after_ms(RUN_MS);
    int *ends[] = {&io->stdin_fd, &io->stdout_fd, &io->stderr_fd};
    for (size_t i = 0; i < AL_COUNT(ends); i++)
        if (*ends[i] >= 0)
            assert_int_equal(al_fd_set_nonblock(*ends[i], true), 0);
    bool is_known = false;
    while (!is_known) {
        struct pollfd fds[] = {{io->stdin_fd, POLLOUT, 0},
                               {io->stdout_fd, POLLIN, 0},
                               {io->stderr_fd, POLLIN, 0},
                               {io->status_fd, POLLIN, 0}};
        assert_true(poll(fds, 4, al_deadline_poll_ms(deadline)) > 0);
        if (fds[0].revents != 0)
            feed(&io->stdin_fd, input, size, &written);
        is_known = fds[3].revents != 0;
        if (fds[1].revents != 0)
            collect(&io->stdout_fd, &ran->out);
        if (fds[2].revents != 0)
            collect(&io->stderr_fd, &ran->err);
    }
    for (size_t i = 1; i < AL_COUNT(ends); i++) {
        al_buf *out = i == 1 ? &ran->out : &ran->err;
        size_t before;
        do {
            before = out->size;
            if (*ends[i] >= 0)
                collect(ends[i], out);
        } while (*ends[i] >= 0 && out->size > before);
    }
}

void local_run(local_fixture *fixture, const char *id, const alineo_exec_request *request,
               const char *input, local_ran *ran) {
    alineo_exec_io io = ALINEO_EXEC_IO_INIT;
    alineo_error *err = NULL;
    memset(ran, 0, sizeof(*ran));
    ran->status = (alineo_exec_status)ALINEO_EXEC_STATUS_INIT;
    local_assert_ok(fixture->table->exec_start(fixture->self, id, request, &io, &err), &err);
    pump(&io, input, ran);
    local_assert_ok(fixture->table->exec_wait(fixture->self, io.exec, 0, &ran->status, &err), &err);
    local_let_go(fixture, &io);
}

static void shell_request(const char *command, const char *argv[4], alineo_exec_request *request) {
    argv[0] = "/bin/sh";
    argv[1] = "-c";
    argv[2] = command;
    argv[3] = NULL;
    *request = (alineo_exec_request){.size = sizeof(*request), .exec_id = "test", .argv = argv};
}

void local_sh(local_fixture *fixture, const char *id, const char *command, local_ran *ran) {
    const char *argv[4];
    alineo_exec_request request;
    shell_request(command, argv, &request);
    local_run(fixture, id, &request, NULL, ran);
}

char *local_output(local_fixture *fixture, const char *id, const char *command) {
    local_ran ran;
    local_sh(fixture, id, command, &ran);
    if (ran.status.outcome != ALINEO_OUTCOME_EXITED || ran.status.exit_code != 0)
        fail_msg("\"%s\" ended with outcome %d, code %d: %s", command, ran.status.outcome,
                 ran.status.exit_code, al_buf_str(&ran.err));
    char *text = al_strdup(al_buf_str(&ran.out));
    assert_non_null(text);
    local_ran_clear(fixture, &ran);
    return text;
}

void local_start(local_fixture *fixture, const char *id, const char *command, int64_t timeout_ms,
                 alineo_exec_io *io) {
    const char *argv[4];
    alineo_exec_request request;
    alineo_error *err = NULL;
    shell_request(command, argv, &request);
    request.timeout_ms = timeout_ms;
    *io = (alineo_exec_io)ALINEO_EXEC_IO_INIT;
    local_assert_ok(fixture->table->exec_start(fixture->self, id, &request, io, &err), &err);
}

void local_let_go(local_fixture *fixture, alineo_exec_io *io) {
    al_close(io->stdin_fd);
    al_close(io->stdout_fd);
    al_close(io->stderr_fd);
    al_close(io->pty_fd);
    fixture->table->exec_free(fixture->self, io->exec);
    al_close(io->status_fd);
    *io = (alineo_exec_io)ALINEO_EXEC_IO_INIT;
}

/* --- looking from outside ----------------------------------------------------------------------*/

/* Calls VISIT with each pid of this machine. */
static void for_each_process(void (*visit)(int pid, void *user), void *user) {
    DIR *folder = opendir("/proc");
    assert_non_null(folder);
    const struct dirent *entry;
    int64_t pid;
    while ((entry = readdir(folder)) != NULL)
        if (al_parse_int64(entry->d_name, &pid) == 0)
            visit((int)pid, user);
    (void)closedir(folder);
}

typedef struct search {
    const char *text;
    size_t count;
    int pid;
} search;

static void count_by_cgroup(int pid, void *user) {
    search *wanted = user;
    char path[64];
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    (void)snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
    if (al_file_read(path, 65536, &text) == 0 && strstr(al_buf_str(&text), wanted->text) != NULL)
        wanted->count++;
}

size_t local_count_processes(const char *id) {
    search wanted = {id, 0, 0};
    for_each_process(count_by_cgroup, &wanted);
    return wanted.count;
}

/* A supervisor holds its entry open. */
static void find_by_entry(int pid, void *user) {
    search *wanted = user;
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    DIR *folder = opendir(path);
    if (folder == NULL || pid == getpid()) {
        if (folder != NULL)
            (void)closedir(folder);
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        char target[512];
        ssize_t size = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);
        if (size <= 0)
            continue;
        target[size] = '\0';
        if (strcmp(target, wanted->text) == 0)
            wanted->pid = pid;
    }
    (void)closedir(folder);
}

int local_supervisor_pid(local_fixture *fixture, const char *id) {
    al_autofree char *entry = al_strf("%s/%s/%s", fixture->run_dir, LOCAL_SANDBOXES, id);
    search wanted = {entry, 0, 0};
    for_each_process(find_by_entry, &wanted);
    return wanted.pid;
}

bool local_is_there(local_fixture *fixture, const char *id) {
    al_autofree char *entry = al_strf("%s/%s/%s", fixture->run_dir, LOCAL_SANDBOXES, id);
    al_autofree char *folder = al_strf("%s/%s/%s", fixture->state_dir, LOCAL_SANDBOXES, id);
    al_autofree char *group = al_strf("/sys/fs/cgroup/unified/alineo/sandbox-%s", id);
    al_autofree char *only = al_strf("/sys/fs/cgroup/alineo/sandbox-%s", id);
    return access(entry, F_OK) == 0 || access(folder, F_OK) == 0 || access(group, F_OK) == 0 ||
           access(only, F_OK) == 0 || local_count_processes(id) > 0;
}
