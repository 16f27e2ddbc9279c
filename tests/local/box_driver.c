/* SPDX-License-Identifier: Apache-2.0 */
/* Builds boxes for tests, as the helper program does, and runs commands in them.
 *
 *   box_driver [OPTIONS] -- PROGRAM [ARGUMENT...]
 *
 *   --home DIR          state: sandboxes/ID, trash and store are made in it (must be there)
 *   --id ID             its folder and host name (default "test"); the box's id is the name of the
 *   state
 *                       folder, '-' and this, so that tests that run at once do not meet
 *   --image host|DIR    (default host); several, topmost first, for more layers
 *   --memory BYTES --cpu MILLI --pids COUNT
 *   --mount SOURCE:TARGET[:ro]
 *   --user UID          of the command, also its group (default 0)
 *   --cwd PATH          (default /)
 *   --env NAME=VALUE    besides PATH and HOME
 *   --host-network
 *   --timeout MS        then the command's group is killed
 *   --count N           runs the command N times in the one box
 *   --bench N           builds N boxes, one after the other, and prints times
 *   --freeze            freezes the box while the command runs, kills the command, thaws
 *   --hold              says "ready PID SUPERVISOR" and waits for the end of input instead of
 *   running anything --leave             does not destroy the box (it dies with this process)
 *   --direct            this process is the supervisor, not a child of it
 *   --reclaim           builds nothing, removes what is left of box ID
 *   --probe             prints the table of features
 *
 * Standard streams are the command's. The exit code is the command's as a shell would tell it; 124
 * after a timeout, 137 and a line "oom" on standard error if it was killed for lack of memory, 99
 * for a box that cannot be built. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/file.h"
#include "core/util/io.h"
#include "core/util/msg.h"
#include "core/util/num.h"
#include "core/util/path.h"
#include "core/util/str.h"
#include "plugins/providers/local/runtime/box.h"

enum {
    EXIT_TIMEOUT = 124,
    EXIT_BUILD = 99,
    LAYERS = 8,
    MOUNTS = 8,
    BENCH_MAX = 10000
};

struct options {
    const char *home;
    const char *id;
    char *box_id;
    const char *layers[LAYERS];
    size_t layer_count;
    struct local_limits limits;
    struct local_mount mounts[MOUNTS];
    size_t mount_count;
    uint32_t user;
    const char *cwd;
    const char *variable;
    bool host_network;
    int64_t timeout_ms;
    uint64_t count;
    uint64_t bench;
    bool freeze;
    bool hold;
    bool leave;
    bool direct;
    bool reclaim;
    bool probe;
    char **command;
};

_Noreturn static void die(const char *what, int error) {
    (void)fprintf(stderr, "box_driver: %s: %s\n", what, strerror(error));
    exit(2);
}

/* --- options ---------------------------------------------------------------------------------- */

static uint64_t number(const char *text) {
    uint64_t value = 0;
    int error = al_parse_uint64(text, &value);
    if (error != 0)
        die(text, error);
    return value;
}

static void add_mount(struct options *options, char *text) {
    char *target = strchr(text, ':');
    if (target == NULL || options->mount_count == MOUNTS)
        die(text, EINVAL);
    *target++ = '\0';
    char *mode = strchr(target, ':');
    if (mode != NULL)
        *mode++ = '\0';
    int fd = open(text, O_PATH | O_CLOEXEC);
    if (fd < 0)
        die(text, errno);
    options->mounts[options->mount_count++] =
        (struct local_mount){.source_fd = fd, .target = target, .readonly = mode != NULL};
}

static bool take_flag(struct options *options, const char *name) {
    struct {
        const char *name;
        bool *flag;
    } flags[] = {{"--host-network", &options->host_network},
                 {"--freeze", &options->freeze},
                 {"--hold", &options->hold},
                 {"--leave", &options->leave},
                 {"--direct", &options->direct},
                 {"--reclaim", &options->reclaim},
                 {"--probe", &options->probe}};
    for (size_t i = 0; i < AL_COUNT(flags); i++)
        if (strcmp(name, flags[i].name) == 0) {
            *flags[i].flag = true;
            return true;
        }
    return false;
}

static void take_number(struct options *options, const char *name, const char *value) {
    if (strcmp(name, "--memory") == 0)
        options->limits.memory_size = number(value);
    else if (strcmp(name, "--cpu") == 0)
        options->limits.cpu_milli = (uint32_t)number(value);
    else if (strcmp(name, "--pids") == 0)
        options->limits.pids_count = (uint32_t)number(value);
    else if (strcmp(name, "--user") == 0)
        options->user = (uint32_t)number(value);
    else if (strcmp(name, "--timeout") == 0)
        options->timeout_ms = (int64_t)number(value);
    else if (strcmp(name, "--count") == 0)
        options->count = number(value);
    else if (strcmp(name, "--bench") == 0)
        options->bench = number(value);
    else
        die(name, EINVAL);
}

static void take_value(struct options *options, const char *name, char *value) {
    if (strcmp(name, "--home") == 0)
        options->home = value;
    else if (strcmp(name, "--id") == 0)
        options->id = value;
    else if (strcmp(name, "--cwd") == 0)
        options->cwd = value;
    else if (strcmp(name, "--env") == 0)
        options->variable = value;
    else if (strcmp(name, "--image") == 0 && options->layer_count < LAYERS)
        options->layers[options->layer_count++] = value;
    else if (strcmp(name, "--mount") == 0)
        add_mount(options, value);
    else
        take_number(options, name, value);
}

static struct options read_options(int argc, char **argv) {
    struct options options = {.id = "test", .cwd = "/", .timeout_ms = -1, .count = 1};
    int i = 1;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (take_flag(&options, argv[i]))
            continue;
        if (i + 1 == argc)
            die(argv[i], EINVAL);
        take_value(&options, argv[i], argv[i + 1]);
        i++;
    }
    options.command = i < argc ? argv + i + 1 : argv + argc;
    if (options.home == NULL)
        die("--home is missing", EINVAL);
    options.box_id = al_strf("%s-%s", al_path_name(options.home), options.id);
    if (options.box_id == NULL)
        die("name the box", ENOMEM);
    return options;
}

/* --- pid 1 ------------------------------------------------------------------------------------ */

/* What pid 1 answers. */
struct outcome {
    int status; /* as from waitpid() */
    int step;   /* enum local_step, when the program was not started */
    int errnum;
};

struct life {
    const struct options *options;
    int socket;
    int signals;
};

_Noreturn static void run_command(const struct life *life, const struct local_inside *inside,
                                  const int *fds, int status_fd) {
    const struct options *options = life->options;
    const char *const env[] = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                               "HOME=/root", options->variable, NULL};
    const struct local_fd placed[] = {{fds[0], 0}, {fds[1], 1}, {fds[2], 2}};
    gid_t group = options->user;
    struct local_command command = {.argv = (const char *const *)options->command,
                                    .envp = env,
                                    .cwd = options->cwd,
                                    .uid = options->user,
                                    .gid = options->user,
                                    .groups = &group,
                                    .group_count = options->user == 0 ? 0 : 1,
                                    .fds = placed,
                                    .fd_count = AL_COUNT(placed),
                                    .status_fd = status_fd};
    struct outcome outcome = {.status = 0};
    outcome.step = (int)local_command_enter(inside, &command, &outcome.errnum);
    if (write(command.status_fd, &outcome, sizeof(outcome)) < 0)
        _exit(98);
    _exit(outcome.errnum == ENOENT ? 127 : 126);
}

/* Waits for CHILD and reaps whatever else ended meanwhile. */
static void reap_until(const struct life *life, pid_t child, struct outcome *outcome) {
    for (;;) {
        struct signalfd_siginfo ignored;
        int status = 0;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid == child) {
            outcome->status = status;
            return;
        }
        if (pid <= 0 && read(life->signals, &ignored, sizeof(ignored)) < 0)
            _exit(97);
    }
}

static int serve_one(const struct life *life, const struct local_inside *inside) {
    char request;
    int fds[4] = {-1, -1, -1, -1};
    size_t size = 0;
    size_t count = 0;
    if (al_msg_receive(life->socket, &request, 1, &size, fds, 4, &count, AL_DEADLINE_NONE) != 0 ||
        size == 0)
        return -1;
    struct outcome outcome = {.status = 0};
    int read_fd = -1;
    int write_fd = -1;
    pid_t pid = 0;
    if (al_pipe(&read_fd, &write_fd) != 0)
        return -1;
    outcome.errnum = local_command_fork(inside, count == 4 ? fds[3] : -1, &pid, NULL);
    if (outcome.errnum == 0 && pid == 0)
        run_command(life, inside, fds, write_fd);
    al_close(write_fd);
    for (size_t i = 0; i < count; i++)
        al_close(fds[i]);
    if (outcome.errnum == 0) {
        int status = 0;
        size = 0;
        if (al_read_full(read_fd, &outcome, sizeof(outcome), &size) != 0)
            return -1;
        status = outcome.errnum;
        reap_until(life, pid, &outcome);
        outcome.errnum = status;
    }
    al_close(read_fd);
    return al_msg_send(life->socket, &outcome, sizeof(outcome), NULL, 0, AL_DEADLINE_NONE);
}

static int be_pid1(void *arg, const struct local_inside *inside) {
    struct life *life = arg;
    sigset_t child_signal;
    (void)sigemptyset(&child_signal);
    (void)sigaddset(&child_signal, SIGCHLD);
    life->signals = signalfd(-1, &child_signal, SFD_CLOEXEC);
    while (serve_one(life, inside) == 0) {
    }
    return 0;
}

/* --- supervisor ------------------------------------------------------------------------------- */

struct places {
    char *folder;
    char *trash;
    char *skeleton;
};

static struct places make_places(const struct options *options) {
    struct places places = {.folder = al_strf("%s/sandboxes/%s", options->home, options->id),
                            .trash = al_strf("%s/trash", options->home)};
    al_autofree char *store = al_strf("%s/store", options->home);
    int error = al_mkdir_parents(places.folder, 0700);
    if (error == 0)
        error = al_mkdir_parents(places.trash, 0700);
    if (error == 0)
        error = al_mkdir_parents(store, 0700);
    if (error != 0)
        die("make the folders", error);
    if (options->layer_count == 0 ||
        strcmp(options->layers[options->layer_count - 1], "host") == 0) {
        struct local_fault fault;
        error = local_host_image_prepare(store, &places.skeleton, &fault);
        if (error != 0)
            die(fault.message, error);
    }
    return places;
}

static void free_places(struct places *places) {
    free(places->folder);
    free(places->trash);
    free(places->skeleton);
}

static int build(const struct options *options, const struct places *places, struct life *life,
                 int *socket, struct local_box *box) {
    const char *layers[LAYERS + 1];
    size_t count = 0;
    for (size_t i = 0; i < options->layer_count; i++)
        if (strcmp(options->layers[i], "host") != 0)
            layers[count++] = options->layers[i];
    if (places->skeleton != NULL)
        layers[count++] = places->skeleton;
    if (al_msg_pair(socket, &life->socket) != 0)
        die("make a socket", errno);
    struct local_spec spec = {.id = options->box_id,
                              .hostname = options->id,
                              .folder = places->folder,
                              .layers = layers,
                              .layer_count = count,
                              .host_image = places->skeleton != NULL,
                              .network =
                                  options->host_network ? LOCAL_NETWORK_HOST : LOCAL_NETWORK_NONE,
                              .limits = options->limits,
                              .mounts = options->mounts,
                              .mount_count = options->mount_count,
                              .keep_fds = &life->socket,
                              .keep_fd_count = 1};
    struct local_fault fault;
    int error = local_box_build(&spec, be_pid1, life, box, &fault);
    al_close(life->socket);
    if (error != 0) {
        (void)fprintf(stderr, "box_driver: %s\n%s\n", fault.message, fault.hint);
        int removed = al_remove_tree(AT_FDCWD, places->folder);
        if (removed != 0)
            die("remove the folder", removed);
    }
    return error;
}

static void destroy(const struct options *options, const struct places *places,
                    struct local_box *box) {
    (void)options;
    struct local_fault fault;
    int error = local_box_kill(box, al_deadline_after_ms(10000), NULL);
    if (error != 0)
        die("kill the box", error);
    error = local_box_destroy(box, places->folder, places->trash, &fault);
    if (error != 0)
        die(fault.message, error);
    if (rmdir(places->folder) != 0)
        die("remove the folder", errno);
}

static int exit_code(const struct outcome *outcome) {
    if (outcome->errnum != 0)
        (void)fprintf(stderr, "box_driver: step %d: %s\n", outcome->step,
                      strerror(outcome->errnum));
    if (WIFSIGNALED(outcome->status))
        return 128 + WTERMSIG(outcome->status);
    return WEXITSTATUS(outcome->status);
}

static void kill_group(const struct local_box *box, uint64_t group) {
    int error = local_group_kill(box, group);
    if (error != 0)
        die("kill the group", error);
}

/* All that is left of the command must be gone soon, whatever it forked. */
static void expect_group_empty(const struct local_box *box, uint64_t group) {
    const struct timespec moment = {.tv_nsec = 1000000};
    al_deadline deadline = al_deadline_after_ms(5000);
    int error;
    while ((error = local_group_remove(box, group)) == EBUSY && !al_deadline_passed(deadline))
        (void)nanosleep(&moment, NULL);
    if (error != 0)
        die("remove the group after killing it", error);
}

static void kill_while_frozen(struct local_box *box, uint64_t group) {
    const struct timespec moment = {.tv_nsec = 50000000};
    (void)nanosleep(&moment, NULL);
    int error = local_box_freeze(box, al_deadline_after_ms(5000));
    if (error != 0)
        die("freeze the box", error);
    kill_group(box, group);
    error = local_box_thaw(box);
    if (error != 0)
        die("thaw the box", error);
}

/* Whether the command had to be killed after its time. */
static bool wait_for_outcome(const struct options *options, const struct local_box *box, int socket,
                             uint64_t group, struct outcome *outcome) {
    size_t size = 0;
    size_t none = 0;
    bool is_timed_out = false;
    int error = al_poll_fd(socket, POLLIN, al_deadline_after_ms(options->timeout_ms), NULL);
    if (error == ETIMEDOUT) {
        is_timed_out = true;
        kill_group(box, group);
        error = 0;
    }
    if (error == 0)
        error = al_msg_receive(socket, outcome, sizeof(*outcome), &size, NULL, 0, &none,
                               al_deadline_after_ms(20000));
    if (error != 0 || size != sizeof(*outcome))
        die("receive the outcome", error);
    return is_timed_out;
}

static int run_one(const struct options *options, struct local_box *box, int socket,
                   uint64_t group) {
    struct local_fault fault;
    int fds[4] = {0, 1, 2, -1};
    struct outcome outcome = {.status = 0};
    uint64_t kills = local_box_oom_kills(box);
    int error = local_group_create(box, group, &fds[3], &fault);
    if (error != 0)
        die(fault.message, error);
    error = al_msg_send(socket, "x", 1, fds, fds[3] < 0 ? 3 : 4, AL_DEADLINE_NONE);
    al_close(fds[3]);
    if (error != 0)
        die("send a request", error);
    if (options->freeze)
        kill_while_frozen(box, group);
    bool is_timed_out = wait_for_outcome(options, box, socket, group, &outcome);
    if (is_timed_out)
        expect_group_empty(box, group);
    else
        error = local_group_remove(box, group);
    if (error != 0 && error != EBUSY)
        die("remove the group", error);
    if (local_box_oom_kills(box) > kills)
        (void)fprintf(stderr, "oom\n");
    return is_timed_out ? EXIT_TIMEOUT : exit_code(&outcome);
}

static int compare(const void *a, const void *b) {
    int64_t first = *(const int64_t *)a;
    int64_t second = *(const int64_t *)b;
    return (first > second) - (first < second);
}

static void print_times(const char *what, int64_t *times_ns, size_t count) {
    if (count == 0)
        return;
    qsort(times_ns, count, sizeof(*times_ns), compare);
    (void)printf("%-8s n %zu  p50 %.2f  p90 %.2f  p99 %.2f  max %.2f ms\n", what, count,
                 (double)times_ns[count / 2] / 1e6, (double)times_ns[count * 9 / 10] / 1e6,
                 (double)times_ns[count * 99 / 100] / 1e6, (double)times_ns[count - 1] / 1e6);
}

static int bench(const struct options *options, const struct places *places) {
    static int64_t times[4][BENCH_MAX];
    size_t rounds = options->bench < BENCH_MAX ? (size_t)options->bench : BENCH_MAX;
    for (size_t i = 0; i < rounds; i++) {
        struct life life = {.options = options};
        struct local_box box;
        int socket = -1;
        if (mkdir(places->folder, 0700) != 0 && errno != EEXIST)
            die("make the folder", errno);
        int64_t start = al_clock_monotonic_ns();
        if (build(options, places, &life, &socket, &box) != 0)
            return EXIT_BUILD;
        int64_t built = al_clock_monotonic_ns();
        int code = options->command[0] == NULL ? 0 : run_one(options, &box, socket, 1);
        int64_t ran = al_clock_monotonic_ns();
        if (local_box_kill(&box, al_deadline_after_ms(10000), NULL) != 0)
            die("kill the box", EIO);
        int64_t killed = al_clock_monotonic_ns();
        destroy(options, places, &box);
        int64_t end = al_clock_monotonic_ns();
        al_close(socket);
        if (code != 0)
            return code;
        times[0][i] = built - start;
        times[1][i] = ran - built;
        times[2][i] = killed - ran;
        times[3][i] = end - killed;
    }
    static const char *const names[] = {"create", "exec", "kill", "destroy"};
    for (size_t i = 0; i < AL_COUNT(names); i++)
        print_times(names[i], times[i], rounds);
    return 0;
}

static int run(const struct options *options, const struct places *places) {
    struct life life = {.options = options};
    struct local_box box;
    int socket = -1;
    if (build(options, places, &life, &socket, &box) != 0)
        return EXIT_BUILD;
    int code = 0;
    if (options->hold) {
        char byte;
        (void)printf("ready %d %d\n", (int)box.pid, (int)getpid());
        (void)fflush(stdout);
        if (options->freeze && local_box_freeze(&box, al_deadline_after_ms(5000)) != 0)
            die("freeze the box", EIO);
        while (read(STDIN_FILENO, &byte, 1) > 0) {
        }
    } else {
        for (uint64_t i = 0; i < options->count; i++)
            code = run_one(options, &box, socket, i);
    }
    if (!options->leave)
        destroy(options, places, &box);
    return code;
}

static int print_features(const struct options *options) {
    struct local_feature features[LOCAL_FEATURES_MAX];
    size_t count = 0;
    bool is_usable = true;
    local_probe(options->home, features, &count);
    for (size_t i = 0; i < count; i++) {
        const struct local_feature *feature = &features[i];
        (void)printf("%-20s %s%s  %s  %s\n", feature->name, feature->is_there ? "yes" : "no",
                     feature->is_required ? " (required)" : "", feature->reason, feature->remedy);
        if (feature->is_required && !feature->is_there)
            is_usable = false;
    }
    return is_usable ? 0 : EXIT_BUILD;
}

static int reclaim(const struct options *options, const struct places *places) {
    struct local_fault fault;
    int error = local_box_reclaim(options->box_id, places->folder, places->trash,
                                  al_deadline_after_ms(10000), &fault);
    if (error != 0)
        die(fault.message, error);
    return rmdir(places->folder) != 0 ? 1 : 0;
}

/* The work is done where a supervisor does it; this process only waits. */
static int as_supervisor(int (*work)(const struct options *, const struct places *),
                         const struct options *options, const struct places *places) {
    struct local_fault fault;
    pid_t pid = 0;
    if (options->direct)
        return work(options, places);
    int error = local_supervisor_fork(&pid, &fault);
    if (error != 0)
        die(fault.message, error);
    if (pid == 0)
        exit(work(options, places));
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv) {
    struct options options = read_options(argc, argv);
    if (options.probe)
        return print_features(&options);
    struct places places = make_places(&options);
    int code = 0;
    if (options.reclaim)
        code = reclaim(&options, &places);
    else
        code = as_supervisor(options.bench > 0 ? bench : run, &options, &places);
    free_places(&places);
    free(options.box_id);
    return code;
}
