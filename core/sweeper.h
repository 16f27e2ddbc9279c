/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_SWEEPER_H
#define ALINEO_CORE_SWEEPER_H

/**
 * The sweeper destroys what a failed create may have left, or may yet leave: a server that was told
 * to make a sandbox and whose answer got lost makes it all the same, a little later. Such sandboxes
 * are found by the create id in their stamp. It looks at once, and again in the background for some
 * seconds; what it misses then is left to alineo_reconcile.
 */

#include "core/binding.h"

typedef struct al_sweeper al_sweeper;

/** `provider` must outlive it. Starts nothing yet. */
alineo_code al_sweeper_new(al_provider_binding *provider, al_log log, al_sweeper **out,
                           alineo_error **err);
/** Looks a last time for what is still watched for (at most 2 s), ends the thread, frees. NULL is
 * fine. */
void al_sweeper_free(al_sweeper *sweeper);
/** In a forked child: only frees. */
void al_sweeper_forget(al_sweeper *sweeper);

/** Destroys what carries this create id, now (at most 2 s), and has the background look again.
 * Never fails: what cannot be done is logged. Any thread. */
void al_sweeper_sweep(al_sweeper *sweeper, const char *create_id);

/** Destroys a sandbox that nobody may keep; at most 5 s, then it is tried again in the background.
 * *err (may be NULL) says why it may still be there. A sandbox that is gone already is ALINEO_OK.
 * Any thread. */
alineo_code al_sweeper_destroy(al_sweeper *sweeper, const char *create_id, const char *sandbox_id,
                               alineo_error **err);

#endif
