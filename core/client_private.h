/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_CLIENT_PRIVATE_H
#define ALINEO_CORE_CLIENT_PRIVATE_H

/** The insides of a client, for client*.c, sandbox*.c, exec*.c, file*.c, session*.c and
 * reconcile.c. */

#include <alineo/client.h>
#include <alineo/sandbox.h>

#include "core/binding.h"
#include "core/capabilities.h"
#include "core/journal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

/** The client's and the sandbox's hooks together, called in order. */
#define AL_HOOKS_MAX 4
typedef struct al_hooks {
    alineo_hooks set[AL_HOOKS_MAX];
    size_t count;
} al_hooks;

struct alineo_client {
    atomic_int refs; /* the caller's hold, and one a sandbox or reader */
    pid_t pid;       /* that opened it: it does not cross fork() */
    al_log log;
    al_hooks hooks;
    alineo_config *config; /* its own copy or reference */
    al_provider_binding *provider;
    al_storage_binding *storage;
    al_broker_binding *broker; /* NULL = none */
    al_capabilities *capabilities;
    al_journal *journal;
    struct al_timers *timers; /* backstops of timeouts; made by open, see timers.h */
    char ledger_id[33];
    struct al_slots *slots; /* maxConcurrency; see slots.h */
    struct al_sandbox_table
        *open; /* sandboxes that have a handle here, by id; see sandbox_private.h */
};

/** The one check at the door of every public function: CLIENT_FORKED in a forked child. */
alineo_code al_client_enter(alineo_client *client, alineo_error **err);

void al_client_ref(alineo_client *client);
void al_client_unref(alineo_client *client);

#endif
