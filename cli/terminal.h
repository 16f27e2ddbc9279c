/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CLI_TERMINAL_H
#define ALINEO_CLI_TERMINAL_H

/* Our own terminal while a terminal inside is shown on it: what is typed goes on as it is, Ctrl-C
 * too. */

#include <stdint.h>

/* The size of the terminal on our input or output; 0 and 0 = there is none, or it does not say. */
void cli_terminal_size(uint16_t *rows, uint16_t *columns);

/* Hands every key on; nothing happens where our input is no terminal. */
void cli_terminal_begin(void);

/* The same once more, after the program was stopped and goes on; only between begin and end. */
void cli_terminal_again(void);

/* The modes that it had before begin. Any thread, any number of times; also done when the program
 * exits. */
void cli_terminal_end(void);

#endif
