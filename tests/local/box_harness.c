/* SPDX-License-Identifier: Apache-2.0 */
#include "box_harness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/file.h"
#include "core/util/io.h"
#include "core/util/path.h"
#include "support/test.h"

extern char **environ;

enum {
    ARGUMENTS_MAX = 64,
    ARGUMENTS_SIZE = 8192,
    RUN_TIMEOUT_MS = 60000,
    LEAVINGS_TIMEOUT_MS = 2000,
    HOME_SIZE = 128
};

static char home[HOME_SIZE];
static int turn = -1;

const char *box_home(void) {
    return home;
}

const char *box_program(const char *name) {
    static char path[512];
    (void)snprintf(path, sizeof(path), "%s/tests/local/%s", ALINEO_TEST_BUILD_DIR, name);
    return path;
}

/* --- running ---------------------------------------------------------------------------------- */

struct command {
    char text[ARGUMENTS_SIZE];
    char program[512];
    char *argv[ARGUMENTS_MAX];
};

static void split(struct command *command, const char *format, va_list arguments) {
    int size = vsnprintf(command->text, sizeof(command->text), format, arguments);
    assert_in_range(size, 0, sizeof(command->text) - 1);
    (void)snprintf(command->program, sizeof(command->program), "%s", box_program("box_driver"));
    size_t count = 0;
    command->argv[count++] = command->program;
    command->argv[count++] = (char *)"--home";
    command->argv[count++] = home;
    char *script = strstr(command->text, "--sh ");
    if (script != NULL)
        *script = '\0';
    char *rest = NULL;
    for (char *word = strtok_r(command->text, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        assert_true(count < ARGUMENTS_MAX - 5);
        command->argv[count++] = word;
    }
    if (script != NULL) {
        command->argv[count++] = (char *)"--";
        command->argv[count++] = (char *)"sh";
        command->argv[count++] = (char *)"-c";
        command->argv[count++] = script + strlen("--sh ");
    }
    command->argv[count] = NULL;
}

static pid_t spawn(struct command *command, int in, int out, int err) {
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, in, 0), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, out, 1), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, err, 2), 0);
    assert_int_equal(posix_spawn(&pid, command->program, &actions, NULL, command->argv, environ),
                     0);
    assert_int_equal(posix_spawn_file_actions_destroy(&actions), 0);
    return pid;
}

pid_t box_start(int *input_fd, int *output_fd, const char *format, ...) {
    struct command command;
    va_list arguments;
    va_start(arguments, format);
    split(&command, format, arguments);
    va_end(arguments);
    al_autofd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    assert_true(null >= 0);
    int in[2] = {-1, -1};
    int out[2] = {-1, -1};
    if (input_fd != NULL)
        assert_int_equal(al_pipe(&in[0], &in[1]), 0);
    if (output_fd != NULL)
        assert_int_equal(al_pipe(&out[0], &out[1]), 0);
    pid_t pid =
        spawn(&command, input_fd != NULL ? in[0] : null, output_fd != NULL ? out[1] : null, null);
    al_close(in[0]);
    al_close(out[1]);
    if (input_fd != NULL)
        *input_fd = in[1];
    if (output_fd != NULL)
        *output_fd = out[0];
    return pid;
}

int box_finish(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

struct stream {
    int fd;
    char *text;
    size_t size;
};

/* Reads what there is; what does not fit is dropped. */
static bool drain(struct stream *stream) {
    char bytes[4096];
    size_t got = 0;
    int error = al_read_some(stream->fd, bytes, sizeof(bytes), &got);
    assert_int_equal(error, 0);
    size_t room = BOX_OUTPUT_SIZE - 1 - stream->size;
    size_t taken = got < room ? got : room;
    memcpy(stream->text + stream->size, bytes, taken);
    stream->size += taken;
    stream->text[stream->size] = '\0';
    return got > 0;
}

static void collect(struct stream streams[2], pid_t pid) {
    al_deadline deadline = al_deadline_after_ms(RUN_TIMEOUT_MS);
    bool is_open[2] = {true, true};
    while (is_open[0] || is_open[1]) {
        struct pollfd wait[2];
        for (size_t i = 0; i < 2; i++)
            wait[i] = (struct pollfd){.fd = is_open[i] ? streams[i].fd : -1, .events = POLLIN};
        int ready = poll(wait, 2, al_deadline_poll_ms(deadline));
        if (ready == 0) {
            (void)kill(pid, SIGKILL);
            fail_msg("box_driver took more than %d ms", RUN_TIMEOUT_MS);
        }
        for (size_t i = 0; i < 2; i++)
            if (ready > 0 && wait[i].revents != 0)
                is_open[i] = drain(&streams[i]);
    }
}

void box_run(struct box_run *run, const char *format, ...) {
    struct command command;
    va_list arguments;
    va_start(arguments, format);
    split(&command, format, arguments);
    va_end(arguments);
    al_autofd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int out[2];
    int err[2];
    assert_int_equal(al_pipe(&out[0], &out[1]), 0);
    assert_int_equal(al_pipe(&err[0], &err[1]), 0);
    pid_t pid = spawn(&command, null, out[1], err[1]);
    al_close(out[1]);
    al_close(err[1]);
    run->output[0] = run->errors[0] = '\0';
    struct stream streams[2] = {{out[0], run->output, 0}, {err[0], run->errors, 0}};
    collect(streams, pid);
    al_close(out[0]);
    al_close(err[0]);
    run->code = box_finish(pid);
}

void box_attack(const char *options, const char *attack, char *result, size_t size) {
    static struct box_run run;
    char name[64] = "";
    char outcome[64] = "";
    box_run(&run, "%s --mount %s:/attacker:ro -- /attacker %s", options, box_program("attacker"),
            attack);
    if (sscanf(run.output, "%63s %63s", name, outcome) != 2 || strcmp(name, attack) != 0)
        fail_msg("attack %s: code %d, output \"%s\", errors \"%s\"", attack, run.code, run.output,
                 run.errors);
    (void)snprintf(result, size, "%s", outcome);
}

/* --- what is left ----------------------------------------------------------------------------- */

/* Mounts of the host that have to do with our state folder, or are the root of a box. */
static size_t count_mounts(void) {
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    assert_int_equal(al_file_read("/proc/self/mountinfo", 1U << 22, &text), 0);
    size_t count = 0;
    char *rest = NULL;
    for (const char *line = strtok_r(text.data, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest))
        count += strstr(line, home) != NULL || strstr(line, "upperdir=u/upper") != NULL;
    return count;
}

/* Entries of a folder whose names begin with PREFIX; 0 when there is no such folder. */
static size_t count_entries(const char *path, const char *prefix) {
    al_autodir DIR *folder = opendir(path);
    if (folder == NULL)
        return 0;
    size_t count = 0;
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
            count++;
    return count;
}

static size_t count_groups(void) {
    static const char *const folders[] = {
        "/sys/fs/cgroup/alineo", "/sys/fs/cgroup/unified/alineo", "/sys/fs/cgroup/memory/alineo",
        "/sys/fs/cgroup/pids/alineo", "/sys/fs/cgroup/cpu/alineo"};
    char prefix[HOME_SIZE + 16];
    (void)snprintf(prefix, sizeof(prefix), "sandbox-%s", al_path_name(home));
    size_t count = 0;
    for (size_t i = 0; i < AL_COUNT(folders); i++)
        count += count_entries(folders[i], prefix);
    return count;
}

/* Processes that were started with our state folder: drivers, supervisors, and each box's pid 1. */
static size_t count_processes(void) {
    al_autodir DIR *folder = opendir("/proc");
    assert_non_null(folder);
    size_t count = 0;
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        char path[300];
        al_auto(al_buf_free) al_buf line = AL_BUF_INIT;
        (void)snprintf(path, sizeof(path), "/proc/%s/cmdline", entry->d_name);
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9' ||
            strtol(entry->d_name, NULL, 10) == getpid() || al_file_read(path, 65536, &line) != 0)
            continue;
        if (line.size > 0 && memmem(line.data, line.size, home, strlen(home)) != NULL)
            count++;
    }
    return count;
}

static size_t count_folders(void) {
    char sandboxes[HOME_SIZE + 16];
    char trash[HOME_SIZE + 16];
    (void)snprintf(sandboxes, sizeof(sandboxes), "%s/sandboxes", home);
    (void)snprintf(trash, sizeof(trash), "%s/trash", home);
    return count_entries(sandboxes, "") + count_entries(trash, "");
}

void box_assert_nothing_left(void) {
    const struct timespec moment = {.tv_nsec = 10000000};
    al_deadline deadline = al_deadline_after_ms(LEAVINGS_TIMEOUT_MS);
    for (;;) {
        size_t processes = count_processes();
        size_t groups = count_groups();
        size_t folders = count_folders();
        size_t mounts = count_mounts();
        if (processes == 0 && groups == 0 && folders == 0 && mounts == 0)
            return;
        if (al_deadline_passed(deadline))
            fail_msg("left: %zu processes, %zu cgroups, %zu folders, %zu mounts", processes, groups,
                     folders, mounts);
        (void)nanosleep(&moment, NULL);
    }
}

/* --- set-up ----------------------------------------------------------------------------------- */

/* The ids of the sandboxes are fixed and their cgroups are counted on the whole machine: one
 * program at a time, also of another build tree. The lock is on a folder, so it leaves no file. */
static int take_turn(void) {
    turn = open("/run", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = -1;
    while (turn >= 0 && (rc = flock(turn, LOCK_EX)) != 0 && errno == EINTR)
        continue;
    return rc;
}

int box_set_up(void **state) {
    static struct box_run run;
    (void)state;
    if (take_turn() != 0)
        return -1;
    const char *parent = getenv("TMPDIR");
    int size = snprintf(home, sizeof(home), "%s/alineo-boxtest-XXXXXX",
                        parent == NULL || parent[0] == '\0' ? "/tmp" : parent);
    if (size < 0 || (size_t)size >= sizeof(home) || mkdtemp(home) == NULL)
        return -1;
    box_run(&run, "--probe");
    if (run.code != 0) {
        (void)fprintf(stderr, "skipped: sandboxes cannot be built here\n%s%s", run.output,
                      run.errors);
        (void)box_tear_down(state);
        exit(77);
    }
    return 0;
}

int box_tear_down(void **state) {
    (void)state;
    (void)close(turn);
    return al_remove_tree(AT_FDCWD, home);
}
