/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_TESTS_SUPPORT_POSTGRES_SERVER_H
#define ALINEO_TESTS_SUPPORT_POSTGRES_SERVER_H

/* PostgreSQL for tests: the server that all share, and servers of a test's own, which it may kill.
 * Each test has a schema of its own in the database. */

#include <libpq-fe.h>
#include <stdbool.h>
#include <sys/types.h>

#include "tests/support/folder.h"
#include "tests/support/storage_cases.h"

typedef struct postgres_server {
    test_folder folder;
    char url[160]; /* of its superuser, over the loopback address */
    int port;
    pid_t pid; /* 0 = it does not run */
} postgres_server;

/* The server that ALINEO_TEST_POSTGRES names, or one of this program's own, stopped at its end; the
 * program is skipped where PostgreSQL is not installed. */
const char *postgres_shared_url(void);

/* Makes a server in a temporary folder, run by the user postgres (or this one), and starts it.
 * Passwords are asked of the user "locked" alone. */
void postgres_server_make(postgres_server *server);
/* Ends it at once, as a crash does, and starts it again on the same port. */
void postgres_server_kill(postgres_server *server);
void postgres_server_start(postgres_server *server);
void postgres_server_remove(postgres_server *server);

/* A connection as other software has one, with the schema in front of its search path. */
PGconn *postgres_other(const char *url, const char *schema);
/* Runs statements; asserts that they work. */
void postgres_other_run(PGconn *db, const char *text);
/* All rows of a query, a line each, '|' between columns, '-' for NULL; to be freed. */
char *postgres_other_ask(PGconn *db, const char *text);

/* An open ledger of the plugin in a new schema. */
typedef struct postgres_ledger {
    storage_test test; /* first: what the cases are given */
    const char *url;
    char schema[32];
    PGconn *other;
} postgres_ledger;

/* Makes a schema and opens `other` on it; the ledger itself is not opened. */
void postgres_ledger_make(postgres_ledger *ledger, const char *url);
/* Opens the ledger. `pool` is the poolSize. */
void postgres_ledger_open(postgres_ledger *ledger, const char *pool);
/* Drops the schema. */
void postgres_ledger_remove(postgres_ledger *ledger);

#endif
