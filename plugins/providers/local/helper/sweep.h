/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_SWEEP_H
#define ALINEO_LOCAL_SWEEP_H

/* Finds and removes what dead supervisors left, and remembers how sandboxes ended. */

#include "plugins/providers/local/protocol.h"

/* What a sweep did; `failure` is text of its own. */
struct local_sweep_result {
    uint64_t count;
    uint64_t freed_size;
    char failure[LOCAL_MESSAGE_TEXT_MAX];
};

/* Removes sandbox ID, if it is dead, or (NULL) all dead ones and what is left in the trash. What
 * another sweep works on at the same moment is left to it. */
void local_sweep(const char *state_dir, const char *run_dir, const char *id,
                 struct local_sweep_result *result);

/* Sweeps in a process of its own, if there is anything dead. For the supervisor. */
void local_sweep_behind(const char *state_dir, const char *run_dir);

/* Leaves STATE in RUN_DIR/ended; the oldest ones give way when there are many. */
void local_ended_remember(const char *run_dir, const struct local_state *state);

#endif
