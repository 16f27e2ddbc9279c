/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_SANDBOX_PRIVATE_H
#define ALINEO_CORE_SANDBOX_PRIVATE_H

/**
 * The insides of a sandbox handle. Handles of one client on one sandbox share its al_sandbox_state:
 * the numbers of its execs and whether it was closed are the sandbox's, not the handle's.
 */

#include "core/client_private.h"

/** Something that must hear of the end of the sandbox: a running exec. */
typedef struct al_sandbox_watcher {
    struct al_sandbox_watcher *next, *previous;
    void (*closing)(
        struct al_sandbox_watcher *watcher); /* under the state's lock; must not block */
} al_sandbox_watcher;

typedef struct al_sandbox_state {
    atomic_int refs;
    pthread_mutex_t lock;
    char *id;
    int closed;       /* guarded by lock; close was asked for or the sandbox is known to be gone */
    int32_t last_seq; /* guarded by lock; greatest number of an exec that this process knows of */
    al_sandbox_watcher *watchers; /* guarded by lock */
} al_sandbox_state;

struct alineo_sandbox {
    atomic_int refs; /* the caller's hold, and one an exec */
    alineo_client *client;
    al_sandbox_state *state;
    char *name;
    char *run_id;
    char *shell; /* "/bin/sh" by default */
    al_hooks hooks;
    int holds_slot;
};

/** At the door of every public function on a sandbox: CLIENT_FORKED, SANDBOX_CLOSED. */
alineo_code al_sandbox_enter(alineo_sandbox *sandbox, alineo_error **err);

void al_sandbox_ref(alineo_sandbox *sandbox);
void al_sandbox_unref(alineo_sandbox *sandbox);

/** A number for the next exec: above every one known here; storage has the last word
 * (claims_step). */
int32_t al_sandbox_next_seq(alineo_sandbox *sandbox);

/** Registers an exec; SANDBOX_CLOSED when it is too late. */
alineo_code al_sandbox_watch(alineo_sandbox *sandbox, al_sandbox_watcher *watcher,
                             alineo_error **err);
void al_sandbox_unwatch(alineo_sandbox *sandbox, al_sandbox_watcher *watcher);

#endif
