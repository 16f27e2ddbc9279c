/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_TESTS_SUPPORT_PROCESS_PROVIDER_PRIVATE_H
#define ALINEO_TESTS_SUPPORT_PROCESS_PROVIDER_PRIVATE_H

#include "support/process_provider.h"

#include <sys/types.h>

/* What the environment of each process is found by. */
#define PROCESS_SANDBOX_MARK "ALINEO_TEST_SANDBOX"

typedef struct process_sandbox {
    al_list link;
    char id[64];
    char *folder;
} process_sandbox;

typedef struct process_exec {
    al_list link; /* of execs or leftovers */
    process_provider *provider;
    char sandbox_id[64];
    char exec_id[64];
    pthread_mutex_t lock; /* guards the end, and what ended it */
    pid_t pid;            /* 0: nothing was started */
    int pidfd;            /* -1 where there are none (valgrind): then `waiter` waits for the end */
    pthread_t waiter;
    bool has_waiter;
    int end_fd; /* eventfd: there is an outcome without the process having one */
    int stdin_fd, stdout_fd, stderr_fd; /* ours: all of them when pumped, else copies to drain */
    int64_t deadline_ns;                /* 0 = none */
    bool reaped, cancelled, timed_out, lost;
    int64_t given;   /* bytes that exec_read gave */
    int64_t left[2]; /* of each stream, once the command has ended: what was in its pipe then */
    bool end_noted;
    alineo_exec_status status;
    char detail[128];
} process_exec;

/* --- process_start.c --- */
alineo_code process_exec_start(alineo_provider *self, const char *id,
                               const alineo_exec_request *request, alineo_exec_io *io,
                               alineo_error **err);
process_sandbox *process_find(process_provider *provider, const char *id); /* lock held */

/* --- process_exec.c --- */
process_exec *process_exec_new(process_provider *provider, const char *id, const char *exec_id);
void process_exec_drop(process_exec *exec);
/* Has the end of the process told by pidfd, or by end_fd. 0 or errno. */
int process_exec_watch(process_exec *exec);
/* A descriptor that is readable once the process has ended. */
int process_exec_end_fd(const process_exec *exec);
alineo_code process_exec_wait(alineo_provider *self, alineo_provider_exec *exec, int64_t timeout_ms,
                              alineo_exec_status *status, alineo_error **err);
alineo_code process_exec_cancel(alineo_provider *self, alineo_provider_exec *exec,
                                alineo_error **err);
void process_exec_free(alineo_provider *self, alineo_provider_exec *exec);
alineo_code process_exec_signal(alineo_provider *self, alineo_provider_exec *exec, int32_t signal,
                                alineo_error **err);
alineo_code process_exec_read(alineo_provider *self, alineo_provider_exec *exec, void *buffer,
                              size_t capacity, alineo_stream *stream, size_t *used,
                              alineo_error **err);
alineo_code process_exec_write(alineo_provider *self, alineo_provider_exec *exec, const void *data,
                               size_t data_size, size_t *used, alineo_error **err);
alineo_code process_exec_close_stdin(alineo_provider *self, alineo_provider_exec *exec,
                                     alineo_error **err);
/* Takes the process's end, if it has come; true then. */
bool process_exec_reap(process_exec *exec);

/* --- process_keeper.c --- */
void *process_keeper_main(void *argument);
/* Kills all that carry this mark in their environment, over and over until there is nothing. */
void process_kill_marked(const char *name, const char *value);
size_t process_count_marked(const char *name, const char *value);

#endif
