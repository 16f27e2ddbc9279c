/* SPDX-License-Identifier: Apache-2.0 */
/* Time of a whole process: what the peers cost. */
#include "bench/bench.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

bool bench_process(const char *const *argv, size_t n, bench_samples *samples) {
    posix_spawn_file_actions_t quiet;
    if (posix_spawn_file_actions_init(&quiet) != 0)
        return false;
    bool there = posix_spawn_file_actions_addopen(&quiet, 0, "/dev/null", O_RDONLY, 0) == 0 &&
                 posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0) == 0 &&
                 posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0) == 0;
    for (size_t i = 0; i < n && there; i++) {
        pid_t child = 0;
        int status = 0;
        int64_t start = bench_now_ns();
        there = posix_spawnp(&child, argv[0], &quiet, NULL, (char **)(uintptr_t)argv, environ) == 0;
        if (there && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
            WEXITSTATUS(status) == 0)
            bench_add(samples, bench_ms_since(start));
        else
            samples->failed++;
    }
    posix_spawn_file_actions_destroy(&quiet);
    return there;
}
