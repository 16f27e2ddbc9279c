/* SPDX-License-Identifier: Apache-2.0 */
/* test: timeout=300 */
/* Whoever dies, and whenever: what was made is found again or leaves nothing behind. And what an
 * odd host program does to its children and descriptors is no concern of a sandbox. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/file.h"
#include "core/util/num.h"
#include "core/util/random.h"
#include "core/util/str.h"
#include "tests/support/folder.h"
#include "tests/support/local_fixture.h"
#include "tests/support/test.h"

enum {
    ROUNDS = 40
};

static local_fixture f;

static int set_up(void **state) {
    (void)state;
    local_fixture_open(&f);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    if (f.self != NULL)
        local_fixture_close(&f);
    f.self = NULL;
    return 0;
}

static void sleep_us(uint32_t us) {
    struct timespec time = {us / 1000000, (long)(us % 1000000) * 1000};
    (void)nanosleep(&time, NULL);
}

static uint32_t at_random(uint32_t below) {
    uint32_t value;
    assert_int_equal(al_random_bytes(&value, sizeof(value)), 0);
    return value % below;
}

static int32_t count_one(void *user, const alineo_sandbox_info *info) {
    (void)info;
    (*(size_t *)user)++;
    return 0;
}

static size_t count_listed(void) {
    alineo_list_request request = {.size = sizeof(request)};
    alineo_error *err = NULL;
    char *cursor = NULL;
    int32_t complete = 0;
    size_t count = 0;
    local_assert_ok(
        f.table->list(f.self, &request, NULL, count_one, &count, &cursor, &complete, &err), &err);
    return count;
}

static bool is_list_empty(void *user) {
    (void)user;
    return count_listed() == 0;
}

static size_t count_entries(const char *base, const char *name) {
    al_autofree char *path = al_strf("%s/%s", base, name);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return 0;
    size_t count = 0;
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL)
        count += entry->d_name[0] != '.' ? 1 : 0;
    (void)closedir(folder);
    return count;
}

/* Entries, folders and trash: what is left when no sandbox is. */
static bool is_nothing_left(void *user) {
    (void)user;
    return count_entries(f.run_dir, "sandboxes") == 0 &&
           count_entries(f.state_dir, "sandboxes") == 0 && count_entries(f.state_dir, "trash") == 0;
}

static bool is_not_there(void *user) {
    return !local_is_there(&f, user);
}

static int32_t take_state(void *user, const alineo_sandbox_info *info) {
    *(alineo_sandbox_state *)user = info->state;
    return 0;
}

static bool has_no_process(void *user) {
    return local_count_processes(user) == 0 && local_supervisor_pid(&f, user) == 0;
}

static void get_state(const char *id, alineo_sandbox_state expected) {
    alineo_sandbox_state found = -1;
    alineo_error *err = NULL;
    local_assert_ok(f.table->get(f.self, id, NULL, take_state, &found, &err), &err);
    assert_int_equal(found, expected);
}

static void get_state_code(const char *id, alineo_code expected) {
    alineo_sandbox_state found = -1;
    alineo_error *err = NULL;
    local_assert_code(f.table->get(f.self, id, NULL, take_state, &found, &err), &err, expected);
}

/* --- the supervisor ----------------------------------------------------------------------------*/

static void kill_supervisor(const char *id) {
    int pid = local_supervisor_pid(&f, id);
    assert_true(pid > 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
}

static void a_killed_supervisor_takes_the_sandbox_with_it(void **state) {
    (void)state;
    char id[129];
    alineo_exec_io io;
    alineo_error *err = NULL;
    alineo_exec_status status = ALINEO_EXEC_STATUS_INIT;
    local_fixture_create(&f, NULL, id);
    local_start(&f, id, "setsid sleep 1000 & sleep 1000", 0, &io);
    kill_supervisor(id);
    local_assert_ok(f.table->exec_wait(f.self, io.exec, 10000, &status, &err), &err);
    assert_int_equal(status.outcome, ALINEO_OUTCOME_LOST);
    assert_int_equal(status.exit_code, -1);
    f.host.host.free(&f.host.host, status.detail);
    local_let_go(&f, &io);
    /* What it left is found by whoever looks next, and why it is gone is remembered. */
    assert_true(local_eventually(has_no_process, id));
    get_state(id, ALINEO_STATE_TERMINATED);
    assert_true(local_eventually(is_not_there, id));
    const char *argv[] = {"true", NULL};
    alineo_exec_request exec = {.size = sizeof(exec), .exec_id = "x", .argv = argv};
    local_assert_code(f.table->exec_start(f.self, id, &exec, &io, &err), &err,
                      ALINEO_SANDBOX_NOT_FOUND);
}

static void what_a_killed_supervisor_left_goes_with_list_prune_and_create(void **state) {
    (void)state;
    char id[129];
    char other[129];
    alineo_error *err = NULL;
    local_fixture_create(&f, NULL, id);
    kill_supervisor(id);
    assert_true(local_eventually(is_list_empty, NULL));
    assert_true(local_eventually(is_not_there, id));

    local_fixture_create(&f, NULL, id);
    free(local_output(&f, id, "head -c 3000000 /dev/urandom > /root/big"));
    kill_supervisor(id);
    uint64_t freed = 0;
    assert_true(local_eventually(has_no_process, id));
    local_assert_ok(f.table->prune(f.self, NULL, &freed, &err), &err);
    assert_false(local_is_there(&f, id));

    local_fixture_create(&f, NULL, id);
    kill_supervisor(id);
    local_fixture_create(&f, NULL, other);
    assert_true(local_eventually(is_not_there, id));
}

static void a_supervisor_that_is_told_to_stop_cleans_up(void **state) {
    (void)state;
    char id[129];
    local_fixture_create(&f, NULL, id);
    int pid = local_supervisor_pid(&f, id);
    assert_true(pid > 1);
    assert_int_equal(kill(pid, SIGTERM), 0);
    assert_true(local_eventually(is_not_there, id));
    assert_true(local_eventually(is_nothing_left, NULL));
}

static void a_sandbox_whose_entry_was_removed_ends(void **state) {
    (void)state;
    char id[129];
    local_fixture_create(&f, NULL, id);
    al_autofree char *entry = al_strf("%s/sandboxes/%s", f.run_dir, id);
    assert_int_equal(al_remove_tree(AT_FDCWD, entry), 0);
    assert_true(local_eventually(has_no_process, id));
    assert_true(local_eventually(is_nothing_left, NULL));
    get_state_code(id, ALINEO_SANDBOX_NOT_FOUND);
}

static void a_sandbox_whose_folders_were_all_removed_ends(void **state) {
    (void)state;
    char id[129];
    local_fixture_create(&f, NULL, id);
    assert_int_equal(al_remove_tree(AT_FDCWD, f.run_dir), 0);
    assert_int_equal(al_remove_tree(AT_FDCWD, f.state_dir), 0);
    assert_true(local_eventually(has_no_process, id));
    assert_int_equal(access(f.run_dir, F_OK), -1);
    /* And the next one finds all it needs. */
    local_fixture_create(&f, NULL, id);
    get_state(id, ALINEO_STATE_RUNNING);
}

/* Pid 1 is the supervisor's only child. */
static int find_pid1(int supervisor) {
    char path[96];
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", supervisor, supervisor);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    int pid = 0;
    assert_int_equal(fscanf(file, "%d", &pid), 1);
    (void)fclose(file);
    return pid;
}

static void when_its_first_process_dies_all_of_the_sandbox_goes(void **state) {
    (void)state;
    char id[129];
    alineo_exec_io io;
    alineo_error *err = NULL;
    alineo_exec_status status = ALINEO_EXEC_STATUS_INIT;
    local_fixture_create(&f, NULL, id);
    local_start(&f, id, "sleep 1000", 0, &io);
    int pid = find_pid1(local_supervisor_pid(&f, id));
    assert_int_equal(kill(pid, SIGKILL), 0);
    local_assert_ok(f.table->exec_wait(f.self, io.exec, 10000, &status, &err), &err);
    assert_int_equal(status.outcome, ALINEO_OUTCOME_LOST);
    assert_int_equal(status.may_still_run, ALINEO_NO);
    f.host.host.free(&f.host.host, status.detail);
    local_let_go(&f, &io);
    assert_true(local_eventually(is_not_there, id));
    get_state(id, ALINEO_STATE_TERMINATED);
}

/* --- creates that are given up -----------------------------------------------------------------*/

struct cancel {
    alineo_call *call;
    uint32_t after_us;
};

static void *cancel_later(void *user) {
    struct cancel *cancel = user;
    sleep_us(cancel->after_us);
    alineo_call_cancel(cancel->call);
    return NULL;
}

static int32_t copy_id(void *user, const alineo_sandbox_info *info) {
    (void)al_str_copy(user, 129, info->id);
    return 0;
}

static void a_create_that_is_cancelled_at_any_moment_leaves_nothing(void **state) {
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        alineo_error *err = NULL;
        struct cancel cancel = {NULL, at_random(12000)};
        pthread_t thread;
        char id[129] = "";
        alineo_create_request request = {.size = sizeof(request), .image = "host"};
        assert_int_equal(alineo_call_new(NULL, &cancel.call, &err), ALINEO_OK);
        assert_int_equal(pthread_create(&thread, NULL, cancel_later, &cancel), 0);
        int64_t before = al_clock_monotonic_ms();
        alineo_code code = f.table->create(f.self, &request, cancel.call, copy_id, id, &err);
        assert_int_equal(pthread_join(thread, NULL), 0);
        alineo_call_free(cancel.call);
        if (code == ALINEO_OK) {
            local_assert_ok(f.table->destroy(f.self, id, NULL, &err), &err);
        } else {
            local_assert_code(code, &err, ALINEO_CANCELLED);
            assert_string_equal(id, "");
            assert_true(al_clock_monotonic_ms() - before < 5000);
            assert_int_equal(count_listed(), 0);
        }
    }
    assert_true(local_eventually(is_nothing_left, NULL));
}

/* Kills, at a random moment, whatever of our helper is there: started by us, or at work below our
 * folders. */
struct killer {
    atomic_bool is_over;
    pid_t parent;
};

static bool is_ours(int pid, pid_t parent) {
    char path[64];
    char text[512];
    (void)snprintf(path, sizeof(path), "/proc/%d/exe", pid);
    ssize_t size = readlink(path, text, sizeof(text) - 1);
    if (size <= 0)
        return false;
    text[size] = '\0';
    if (!al_str_ends(text, "/alineo-local"))
        return false;
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    int found = 0;
    if (file != NULL) {
        if (fscanf(file, "%*d (%*[^)]) %*c %d", &found) != 1)
            found = 0;
        (void)fclose(file);
    }
    if (found == parent)
        return true;
    for (int fd = 3; fd < 24; fd++) {
        (void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
        size = readlink(path, text, sizeof(text) - 1);
        text[size > 0 ? size : 0] = '\0';
        if (al_str_starts(text, f.home))
            return true;
    }
    return false;
}

static void *kill_something(void *user) {
    struct killer *killer = user;
    sleep_us(at_random(9000));
    bool is_killed = false;
    while (!is_killed && !atomic_load(&killer->is_over)) {
        DIR *folder = opendir("/proc");
        const struct dirent *entry;
        int64_t pid;
        while (!is_killed && (entry = readdir(folder)) != NULL)
            if (al_parse_int64(entry->d_name, &pid) == 0 && is_ours((int)pid, killer->parent))
                is_killed = kill((int)pid, SIGKILL) == 0;
        (void)closedir(folder);
    }
    return NULL;
}

static void a_create_whose_helper_or_supervisor_is_killed_leaves_nothing(void **state) {
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct killer killer = {.parent = getpid()};
        pthread_t thread;
        char id[129] = "";
        alineo_error *err = NULL;
        alineo_create_request request = {.size = sizeof(request), .image = "host"};
        assert_int_equal(pthread_create(&thread, NULL, kill_something, &killer), 0);
        alineo_code code = f.table->create(f.self, &request, NULL, copy_id, id, &err);
        atomic_store(&killer.is_over, true);
        assert_int_equal(pthread_join(thread, NULL), 0);
        if (code != ALINEO_OK) {
            alineo_error_free(err);
            assert_string_equal(id, "");
            assert_int_equal(count_listed(), 0);
            continue;
        }
        code = f.table->destroy(f.self, id, NULL, &err);
        if (code != ALINEO_OK)
            local_assert_code(code, &err, ALINEO_SANDBOX_NOT_FOUND);
    }
    uint64_t freed;
    alineo_error *err = NULL;
    local_assert_ok(f.table->prune(f.self, NULL, &freed, &err), &err);
    assert_true(local_eventually(is_nothing_left, NULL));
}

/* --- the host program --------------------------------------------------------------------------*/

/* In a process of its own: makes a sandbox and waits to be killed; its id goes to FD. */
static void be_a_host(bool is_bound, int fd) {
    alineo_error *err = NULL;
    alineo_provider *self = NULL;
    char id[129] = "";
    alineo_create_request request = {
        .size = sizeof(request), .image = "host", .bound = is_bound ? 1 : 0};
    if (f.table->open(&f.host.host, f.host.options, &self, &err) != ALINEO_OK ||
        f.table->create(self, &request, NULL, copy_id, id, &err) != ALINEO_OK)
        _exit(1);
    if (write(fd, id, strlen(id)) < 0)
        _exit(1);
    for (;;)
        (void)pause();
}

/* Starts such a process and kills it AFTER_US later, or once it said the id; gives what it said. */
static void kill_a_host(bool is_bound, int64_t after_us, char id[129]) {
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        be_a_host(is_bound, ends[1]);
    (void)close(ends[1]);
    ssize_t size = 0;
    if (after_us < 0)
        size = read(ends[0], id, 128);
    else
        sleep_us((uint32_t)after_us);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    if (after_us >= 0)
        size = read(ends[0], id, 128);
    assert_true(size >= 0);
    id[size] = '\0';
    (void)close(ends[0]);
}

static void a_bound_sandbox_ends_with_its_host_whenever_that_is_killed(void **state) {
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        char id[129];
        kill_a_host(true, at_random(14000), id);
    }
    assert_true(local_eventually(is_nothing_left, NULL));
    char id[129];
    kill_a_host(true, -1, id);
    assert_true(id[0] != '\0');
    assert_true(local_eventually(is_not_there, id));
}

static bool is_every_folder_listed(void *user) {
    (void)user;
    size_t listed = count_listed();
    return count_entries(f.run_dir, "sandboxes") == listed &&
           count_entries(f.state_dir, "sandboxes") == listed;
}

static void a_bound_sandbox_ends_though_a_child_of_its_host_lives(void **state) {
    (void)state;
    int ends[2];
    char ids[129];
    char alive;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        /* The child has copies of everything that the host had, and keeps them. */
        if (setpgid(0, 0) != 0)
            _exit(1);
        f.self = local_fixture_again(&f);
        char made[129] = "";
        alineo_error *err = NULL;
        alineo_create_request request = {.size = sizeof(request), .image = "host", .bound = 1};
        if (f.table->create(f.self, &request, NULL, copy_id, made, &err) != ALINEO_OK)
            _exit(1);
        pid_t child = fork();
        if (child != 0 && write(ends[1], made, strlen(made)) < 0)
            _exit(1);
        for (;;)
            (void)pause();
    }
    ssize_t size = read(ends[0], ids, sizeof(ids) - 1);
    assert_true(size > 0);
    ids[size] = '\0';
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(local_eventually(is_not_there, ids));
    assert_int_equal(kill(-pid, SIGKILL), 0);
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], &alive, 1), 0);
    (void)close(ends[0]);
}

static void a_host_that_is_killed_leaves_a_whole_sandbox_or_none(void **state) {
    (void)state;
    for (int round = 0; round < ROUNDS / 2; round++) {
        char id[129];
        kill_a_host(false, at_random(14000), id);
        /* What it was told of is there; what it was not told of is whole or gone. */
        if (id[0] != '\0')
            free(local_output(&f, id, "true"));
    }
    assert_true(local_eventually(is_every_folder_listed, NULL));
}

static void a_sandbox_outlives_the_host_that_made_it(void **state) {
    (void)state;
    char id[129];
    kill_a_host(false, -1, id);
    char *text = local_output(&f, id, "echo still here");
    assert_string_equal(text, "still here\n");
    free(text);
}

static void *end_at_once(void *user) {
    local_fixture_create(&f, NULL, user);
    return NULL;
}

static void a_sandbox_outlives_the_thread_that_made_it(void **state) {
    (void)state;
    char id[129];
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, end_at_once, id), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    sleep_us(50000);
    free(local_output(&f, id, "true"));
}

static void a_command_ends_when_its_host_is_killed(void **state) {
    (void)state;
    char id[129];
    local_fixture_create(&f, NULL, id);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alineo_exec_io io;
        f.self = local_fixture_again(&f);
        local_start(&f, id, "echo . > /tmp/began; sleep 12345", 0, &io);
        for (;;)
            (void)pause();
    }
    free(local_output(&f, id,
                      "for i in 1 2 3 4 5 6 7 8 9; do test -e /tmp/began && break; "
                      "sleep 0.2; done; pgrep -f '[s]leep 12345'"));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    free(local_output(&f, id,
                      "for i in 1 2 3 4 5 6 7 8 9; do pgrep -f '[s]leep 12345' || exit 0; "
                      "sleep 0.2; done; exit 1"));
}

static void a_host_that_ignores_its_children_is_no_problem(void **state) {
    (void)state;
    char id[129];
    assert_true(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    local_fixture_create(&f, NULL, id);
    free(local_output(&f, id, "sh -c 'exit 3'; test $? = 3"));
    assert_true(signal(SIGCHLD, SIG_DFL) != SIG_ERR);
}

static void *reap_anything(void *user) {
    atomic_bool *is_over = user;
    while (!atomic_load(is_over)) {
        if (waitpid(-1, NULL, WNOHANG) <= 0)
            sleep_us(50);
    }
    return NULL;
}

static void a_host_that_waits_for_any_child_is_no_problem(void **state) {
    (void)state;
    atomic_bool is_over = false;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, reap_anything, &is_over), 0);
    for (int i = 0; i < 10; i++) {
        char id[129];
        alineo_error *err = NULL;
        local_fixture_create(&f, NULL, id);
        free(local_output(&f, id, "true"));
        local_assert_ok(f.table->destroy(f.self, id, NULL, &err), &err);
    }
    atomic_store(&is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    /* And none is kept. */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void no_descriptor_of_the_host_comes_along(void **state) {
    (void)state;
    int ends[2];
    char byte;
    char id[129];
    assert_int_equal(pipe(ends), 0); /* not close-on-exec */
    assert_int_equal(dup2(ends[1], 2000), 2000);
    local_fixture_create(&f, NULL, id);
    free(local_output(&f, id, "true"));
    (void)close(ends[1]);
    (void)close(2000);
    /* If anybody had taken it along there would be no end. */
    assert_int_equal(read(ends[0], &byte, 1), 0);
    (void)close(ends[0]);
}

static void *wait_for_end(void *user) {
    atomic_bool *is_over = user;
    while (!atomic_load(is_over))
        sleep_us(50000);
    return NULL;
}

static void a_large_host_with_many_threads_runs_commands(void **state) {
    (void)state;
    size_t size = (size_t)256 << 20;
    char *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    assert_true(memory != MAP_FAILED);
    atomic_bool is_over = false;
    pthread_t threads[100];
    for (size_t i = 0; i < AL_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, wait_for_end, &is_over), 0);
    char id[129];
    local_fixture_create(&f, NULL, id);
    char *text = local_output(&f, id, "echo fine");
    assert_string_equal(text, "fine\n");
    free(text);
    atomic_store(&is_over, true);
    for (size_t i = 0; i < AL_COUNT(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    (void)munmap(memory, size);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_killed_supervisor_takes_the_sandbox_with_it),
        TEST(what_a_killed_supervisor_left_goes_with_list_prune_and_create),
        TEST(a_supervisor_that_is_told_to_stop_cleans_up),
        TEST(a_sandbox_whose_entry_was_removed_ends),
        TEST(a_sandbox_whose_folders_were_all_removed_ends),
        TEST(when_its_first_process_dies_all_of_the_sandbox_goes),
        TEST(a_create_that_is_cancelled_at_any_moment_leaves_nothing),
        TEST(a_create_whose_helper_or_supervisor_is_killed_leaves_nothing),
        TEST(a_bound_sandbox_ends_with_its_host_whenever_that_is_killed),
        TEST(a_bound_sandbox_ends_though_a_child_of_its_host_lives),
        TEST(a_host_that_is_killed_leaves_a_whole_sandbox_or_none),
        TEST(a_sandbox_outlives_the_host_that_made_it),
        TEST(a_sandbox_outlives_the_thread_that_made_it),
        TEST(a_command_ends_when_its_host_is_killed),
        TEST(a_host_that_ignores_its_children_is_no_problem),
        TEST(a_host_that_waits_for_any_child_is_no_problem),
        TEST(no_descriptor_of_the_host_comes_along),
        TEST(a_large_host_with_many_threads_runs_commands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
