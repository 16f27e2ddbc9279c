/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_LOCAL_KEEP_H
#define ALINEO_LOCAL_KEEP_H

/* Background commands: the supervisor itself reads what they print and keeps the last of it, for
 * whoever attaches, from any process. As long as somebody is attached, the slowest of them sets the
 * pace of the command; when nobody is, the oldest output goes. */

#include "plugins/providers/local/helper/supervise.h"

/* Makes RUN a kept one: its pipes' read ends are run->out and run->err afterwards, the first
 * attachment's are among run->peer_fds. */
AL_MUST_CHECK int local_keep_begin(struct local_run *run, const struct local_exec *exec, int out_fd,
                                   int err_fd);
/* It was never started: nothing is kept. */
void local_keep_discard(struct local_run *run);
/* How it ended. NOW: whoever is attached hears it without waiting for the rest of the output. */
void local_keep_outcome(struct local_run *run, const struct local_outcome *outcome, bool now);
/* Frees those that ended longest ago, beyond a number. */
void local_keep_evict(struct local_supervisor *supervisor);

void local_keep_list(struct local_client *client, const struct local_message *message);
void local_keep_attach(struct local_client *client, const struct local_message *message);
void local_keep_kill(struct local_client *client, const struct local_message *message);

#endif
