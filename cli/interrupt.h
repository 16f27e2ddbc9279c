/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CLI_INTERRUPT_H
#define ALINEO_CLI_INTERRUPT_H

/* Ctrl-C and friends: SIGINT, SIGTERM and SIGHUP end the command and the sandbox in order. A second
 * one ends the program at once. A thread of its own waits for them; nothing runs in a signal
 * handler. */

#include <alineo/alineo.h>

/* Blocks the signals in all threads to come, starts the thread. Call it first, once. 0, or an
 * errno. */
int cli_interrupt_start(alineo_call *call);

/* What else to cancel: the exec that runs now, or NULL. Returns when no cancel of the old one is
 * under way. */
void cli_interrupt_watch(alineo_exec *exec);

/* The signal that came, or 0. A reader of our output that went away counts as SIGPIPE. */
int cli_interrupted(void);

#endif
