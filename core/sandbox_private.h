/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_SANDBOX_PRIVATE_H
#define ALINEO_CORE_SANDBOX_PRIVATE_H

/**
 * The insides of a sandbox handle. Handles of one client on one sandbox share its al_sandbox_state:
 * the numbers of its execs and whether it was closed are the sandbox's, not the handle's.
 */

#include <alineo/sandbox.h>

#include "core/client_private.h"

/** Something that must hear of the end of the sandbox: a running exec. */
typedef struct al_sandbox_watcher {
    struct al_sandbox_watcher *next, *previous;
    void (*closing)(
        struct al_sandbox_watcher *watcher); /* under the state's lock; must not block */
} al_sandbox_watcher;

typedef struct al_sandbox_state {
    int refs; /* guarded by the table's lock */
    pthread_mutex_t lock;
    char *id;
    int closed;       /* guarded by lock; close was asked for or the sandbox is known to be gone */
    int32_t last_seq; /* guarded by lock; greatest number of an exec that this process knows of */
    al_sandbox_watcher *watchers; /* guarded by lock */
    int gone;                     /* guarded by lock; the provider confirmed its end */
    int close_is_stored;          /* guarded by lock; the ledger has a sandbox_closed */
    al_ticket close_ticket;       /* guarded by lock; of our sandbox_closed, 0 = none was put */
    int close_is_told;            /* guarded by lock; hooks were called */
} al_sandbox_state;

struct alineo_sandbox {
    atomic_int refs; /* the caller's hold, and one an exec */
    alineo_client *client;
    al_sandbox_state *state;
    char *name;
    char *run_id;
    char *shell; /* "/bin/sh" by default */
    al_hooks hooks;
    atomic_int holds_slot;
};

/** At the door of every public function on a sandbox: CLIENT_FORKED, SANDBOX_CLOSED. */
alineo_code al_sandbox_enter(alineo_sandbox *sandbox, alineo_error **err);

/** The same for calls that take an alineo_op_options: reads it into `options`, looks whether its
 * call goes on (DOING for the message), and whether the provider has CAPABILITY. */
alineo_code al_sandbox_op_enter(alineo_sandbox *sandbox, const alineo_op_options *given,
                                const char *doing, const char *capability,
                                alineo_op_options *options, alineo_error **err);
/** Says in front of a provider's error what failed, and in which sandbox; gives its code. */
alineo_code al_sandbox_op_fail(alineo_sandbox *sandbox, const char *doing, alineo_error **failure,
                               alineo_error **err);

void al_sandbox_ref(alineo_sandbox *sandbox);
void al_sandbox_unref(alineo_sandbox *sandbox);

/** A number for the next exec: above every one known here; storage has the last word
 * (claims_step). */
int32_t al_sandbox_next_seq(alineo_sandbox *sandbox);

/** Registers an exec; SANDBOX_CLOSED when it is too late. */
alineo_code al_sandbox_watch(alineo_sandbox *sandbox, al_sandbox_watcher *watcher,
                             alineo_error **err);
void al_sandbox_unwatch(alineo_sandbox *sandbox, al_sandbox_watcher *watcher);

/** The sandboxes that have a handle in this client. */
typedef struct al_sandbox_table al_sandbox_table;
alineo_code al_sandbox_table_new(al_sandbox_table **out, alineo_error **err);
/** Nothing of it is in use any more. `forked`: in a forked child. NULL is fine. */
void al_sandbox_table_free(al_sandbox_table *table, int forked);
/** Whether there is a handle on that sandbox. */
int al_sandbox_table_has(al_sandbox_table *table, const char *id);

/** What a new handle is made of; strings are copied. */
typedef struct al_sandbox_parts {
    const char *id;
    const char *name;
    const char *run_id;
    const char *shell; /* NULL = /bin/sh */
    int32_t last_seq;  /* greatest number of an exec in the ledger; below 1 = none */
    const al_hooks *hooks;
} al_sandbox_parts;

/** Makes a handle with one hold; it holds the client, and no slot yet. NO_MEMORY. */
alineo_code al_sandbox_new(alineo_client *client, const al_sandbox_parts *parts,
                           alineo_sandbox **out, alineo_error **err);

/** The slot that the caller took is the handle's from now on. */
void al_sandbox_keep_slot(alineo_sandbox *sandbox);
/** Gives the handle's slot back, once. */
void al_sandbox_give_slot(alineo_sandbox *sandbox);

/** Marks the sandbox closed, in all handles of this client: new calls are refused, its execs are
 * told. Idempotent. */
void al_sandbox_mark_closed(alineo_sandbox *sandbox);

/** Queues sandbox_closed and calls the hooks, once for all handles; *ticket is that of the entry, 0
 * when storage has it from somebody else. Only for a sandbox whose end was confirmed. */
alineo_code al_sandbox_put_closed(alineo_sandbox *sandbox, const char *reason, al_ticket *ticket,
                                  alineo_error **err);

#endif
