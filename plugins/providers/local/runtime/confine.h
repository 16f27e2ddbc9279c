/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_CONFINE_H
#define ALINEO_LOCAL_CONFINE_H

/* What a process may do and has of the system, apart from what it sees. */

#include <stdbool.h>
#include <sys/types.h>

#include "core/util/compiler.h"
#include "plugins/providers/local/runtime/fault.h"

/* Sets every resource limit of the calling process to the box's, so that none of the caller's leak
 * into it, and lets it be chosen for lack of memory like any other. To be called before the fork.
 */
AL_MUST_CHECK int local_limits_apply(struct local_fault *fault);

/* Makes the calling process the last to be killed for lack of memory. Best effort. */
void local_limits_protect(void);

/* Becomes guest root: ids, no supplementary groups, a session keyring of its own. */
AL_MUST_CHECK int local_become_root(struct local_fault *fault);

/* Keeps the capabilities of commands (and CAP_SYS_ADMIN, over the box alone, if KEEP_ADMIN) and
 * no_new_privs, for good. */
AL_MUST_CHECK int local_drop_capabilities(bool keep_admin, struct local_fault *fault);

/* Not to be looked into, traced or dumped, even by guest root; dies with its parent. Undone by any
 * change of user: so after all of these. */
AL_MUST_CHECK int local_harden(struct local_fault *fault);

/* Gives every signal its default action. */
void local_signals_reset(void);

/* Brings the loopback device of the network namespace up. */
AL_MUST_CHECK int local_loopback_up(struct local_fault *fault);

#endif
