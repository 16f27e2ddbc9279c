/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_TESTS_SUPPORT_COUNTING_PROVIDER_H
#define ALINEO_TESTS_SUPPORT_COUNTING_PROVIDER_H

/*
 * A provider in memory that counts how often it is called and goes wrong as it is told, for tests
 * of what the core asks of a provider. Give counting_own() to alineo_client_open; the provider
 * itself outlives the client, so that what stays can be looked at.
 *
 * Its commands end at once with exit code 0, its files are bytes in memory.
 */

#include <alineo/client.h>

#include <pthread.h>
#include <stdatomic.h>

#include "core/util/strv.h"

typedef enum counting_fault {
    COUNTING_NONE,
    COUNTING_FAIL,      /* answers `failure`; nothing was made */
    COUNTING_LOSE,      /* makes it, and the answer gets lost: answers `failure` */
    COUNTING_LATE,      /* answers `failure`, and the sandbox is there late_ms later */
    COUNTING_WAIT,      /* waits for a cancel or the deadline, and undoes what it began */
    COUNTING_HANG,      /* takes no notice of anything until counting_release, then has made it */
    COUNTING_HANG_FAIL, /* the same, then has lost its answer */
    COUNTING_BAD_ID,    /* makes it, and tells an id that is none */
    COUNTING_SILENT     /* succeeds and tells nothing */
} counting_fault;

typedef struct counting_sandbox {
    char *id;
    char *name; /* NULL = none was given */
    al_strv metadata;
    al_strv env;
    alineo_sandbox_state state;
    int64_t there_at_ms;   /* monotonic; not to be seen before */
    int64_t expires_at_ms; /* by now_ms of the provider; 0 = none */
    int64_t lifetime_ms;   /* as it was asked for */
    int64_t memory_bytes;
    int64_t cpu_milli;
    char *image;
    int bound;
    alineo_network network;
} counting_sandbox;

typedef struct counting_file {
    char *path;
    alineo_file_type type;
    char *data; /* of a link its text, with a NUL behind */
    size_t size;
    uint32_t mode;  /* as it was asked for; 0 = not */
    uint32_t flags; /* of the request that wrote it */
    char owner[64], group[64];
} counting_file;

typedef struct counting_provider {
    const alineo_host *host; /* of the last open */
    alineo_own_provider own;
    alineo_provider_descriptor descriptor; /* may be changed before a client is opened */
    alineo_provider_table table;           /* functions may be taken out before that, too */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Guarded by lock: */
    counting_sandbox **sandboxes;
    size_t sandbox_count;
    size_t made_count; /* ever */
    counting_file *files;
    size_t file_count;
    int released;
    int inside; /* calls of create that have not come back */

    /* How it behaves; set before it is called, what is not atomic. */
    _Atomic counting_fault create_fault; /* looked at once a create, at its beginning */
    alineo_code failure;                 /* PROVIDER_UNAVAILABLE unless it is set */
    int64_t late_ms;
    int64_t create_ms;           /* how long a create takes; a cancel ends it */
    atomic_int destroy_failures; /* so many answer `failure` and destroy nothing */
    atomic_int list_failures;
    size_t page;            /* sandboxes a page; 0 = all */
    int hides;              /* lists show nothing */
    int incomplete;         /* lists say that they are */
    int same_cursor;        /* lists give the same cursor for ever */
    int files_by_calls;     /* no descriptors for files */
    const char *tells_also; /* lists of files tell of this regular file too; NULL = none */
    atomic_llong now_ms;    /* its clock, for lifetimes */

    atomic_int creates, gets, destroys, lists, renews, probes, opens, closes, reads, writes;
} counting_provider;

void counting_open(counting_provider *provider);
void counting_close(counting_provider *provider);
/* Lets creates that hang come back. */
void counting_release(counting_provider *provider);
/* Waits until so many creates are inside the provider. */
void counting_wait_inside(counting_provider *provider, int count);
/* How many sandboxes it has now. */
size_t counting_there(counting_provider *provider);
/* Waits up to 15 s until it has so many; gives how many it has then. */
size_t counting_wait_there(counting_provider *provider, size_t count);
/* A sandbox behind everybody's back: it ends, or stops in a state. */
void counting_kill(counting_provider *provider, const char *id);
void counting_set_state(counting_provider *provider, const char *id, alineo_sandbox_state state);
/* Makes one as another program would; pairs of metadata. Gives its id, valid while it is there. */
const char *counting_plant(counting_provider *provider, const char *const *metadata);
/* The only, or the last made, sandbox; NULL = none. */
counting_sandbox *counting_last(counting_provider *provider);

#endif
