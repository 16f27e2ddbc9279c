/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_CLIENT_PRIVATE_H
#define ALINEO_CORE_CLIENT_PRIVATE_H

/** The insides of a client, for client*.c, sandbox*.c, exec*.c, file*.c, session*.c and
 * reconcile.c. */

#include <alineo/client.h>
#include <alineo/sandbox.h>

#include "core/binding.h"
#include "core/capabilities.h"
#include "core/config_values.h"
#include "core/hooks.h"
#include "core/journal.h"
#include "core/slots.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

struct alineo_client {
    atomic_int refs; /* the caller's hold, and one a sandbox, a reader, a create that runs late */
    pid_t pid;       /* that opened it: it does not cross fork() */
    al_log log;
    al_hooks hooks;
    alineo_config *config;   /* a hold of its own */
    al_config_values values; /* of config */
    al_provider_binding *provider;
    al_storage_binding *storage;
    al_broker_binding *broker; /* NULL = none */
    al_capabilities *capabilities;
    al_journal *journal;
    struct al_timers *timers; /* backstops of timeouts; made by open, see timers.h */
    char ledger_id[33];
    al_slots *slots;               /* maxConcurrency */
    struct al_sandbox_table *open; /* sandboxes that have a handle here; see sandbox_private.h */
    struct al_sweeper *sweeper;    /* removes what late creates leave; see sweeper.h */
};

/** The one check at the door of every public function: INVALID_ARGUMENT for NULL, CLIENT_FORKED in
 * a forked child. */
alineo_code al_client_enter(const alineo_client *client, alineo_error **err);

/** Whether this is a forked child, where nothing may be locked, called or written. */
int al_client_is_forked(const alineo_client *client);

/** The last hold ends the client: what is queued is stored (bounded by ledger.patienceMs), plugins
 * are closed. In a forked child it only frees memory. */
void al_client_ref(alineo_client *client);
void al_client_unref(alineo_client *client);

#endif
