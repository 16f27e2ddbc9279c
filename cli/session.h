/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CLI_SESSION_H
#define ALINEO_CLI_SESSION_H

/* Opening the client, and finding the sandbox that a person means. */

#include "cli/command.h"

/* Loads the config and opens a client; on failure the error was printed, and NULL is given. */
alineo_client *cli_open_client(const cli_context *context);

/* The config alone; on failure the error was printed. */
alineo_config *cli_load_config(const cli_context *context);

/* The sandbox id that `word` means: an id, or the name of a session (the newest that runs, else the
 * newest). NULL after an error was printed. Free it. */
char *cli_resolve_id(const cli_context *context, alineo_client *client, const char *word);

/* At file scope, for al_auto. */
void cli_client_free(alineo_client *client);

#endif
