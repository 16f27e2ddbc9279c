/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_TESTS_SUPPORT_PROCESS_PROVIDER_H
#define ALINEO_TESTS_SUPPORT_PROCESS_PROVIDER_H

/* A provider whose sandboxes are folders and whose commands are plain processes in them, for tests
 * of the core. It behaves as the interface asks, hands over descriptors or (PUMPED) none, and fails
 * as it is told. */

#include <alineo/client.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/util/list.h"

typedef struct process_behaviour {
    bool pumped;             /* no descriptors: exec_read, exec_write, exec_wait */
    bool no_status;          /* streams by descriptor, the outcome by exec_wait alone */
    size_t read_max;         /* PUMPED: a read gives so much at most; 0 = what there is */
    int64_t read_delay_ms;   /* PUMPED: before each read */
    int64_t lose_after;      /* PUMPED: the link breaks after so many bytes of output; 0 = never */
    atomic_bool never_tells; /* exec_wait never gives an outcome, nor does the descriptor tell */
    bool tells_early;        /* the descriptor tells at once, exec_wait knows nothing yet */
    bool ignores_timeout;
    bool ignores_cancel;
    const char *path;          /* PATH of commands; NULL = the usual one */
    alineo_code start_failure; /* exec_start fails with it; 0 = it does not */
    alineo_code cancel_failure;
    bool has_no_stdin;            /* and says so; to be set before the client opens */
    void (*starting)(void *user); /* called in exec_start, before anything starts */
    void *user;
} process_behaviour;

/* What the core asked for, so far. */
typedef struct process_calls {
    atomic_int starts, frees, cancels, waits, signals;
} process_calls;

typedef struct process_provider {
    alineo_own_provider own; /* for the client's options */
    process_behaviour behaviour;
    process_calls calls;
    const alineo_host *host;
    char folder[64]; /* of all sandboxes */

    pthread_mutex_t lock;
    al_list sandboxes; /* guarded by lock, as what follows */
    al_list execs;     /* started and not yet freed by the core */
    al_list leftovers; /* freed by the core, and something of them still runs */
    bool closing;
    int wake_fd;
    pthread_t keeper; /* ends what is late, reads what nobody reads, reaps */
    bool has_keeper;
} process_provider;

/* Makes the folder; the client opens the rest. */
void process_provider_init(process_provider *provider);
/* After the client is gone: removes the folder. */
void process_provider_end(process_provider *provider);

/* Processes of that sandbox that are still there, children in the background included. */
size_t process_provider_count(const char *sandbox_id);

#endif
