/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/postgres/postgres_store.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/str.h"

enum {
    PARAMETERS_MAX = 16,
    EXPLAIN_MS = 3000
};

/* What every connection is set to. The planner has no statistics of a young ledger: without its
 * guesses each query here goes the way that its index is made for. A server that has lost its
 * client ends what it does for it, so that no lock outlives who took it. */
static const char *const SETTINGS =
    "SELECT set_config('search_path', coalesce($1, current_setting('search_path')), false), "
    "set_config('synchronous_commit', CASE WHEN $2 = 'normal' THEN 'off' "
    "WHEN current_setting('synchronous_commit') = 'off' THEN 'on' "
    "ELSE current_setting('synchronous_commit') END, false), "
    "set_config('default_transaction_isolation', 'read committed', false), "
    "set_config('default_transaction_deferrable', 'off', false), "
    "set_config('client_min_messages', 'warning', false), "
    "set_config('statement_timeout', '0', false), "
    "set_config('lock_timeout', '10s', false), "
    "set_config('idle_in_transaction_session_timeout', '30s', false), "
    "set_config('tcp_keepalives_idle', '30', false), "
    "set_config('tcp_keepalives_interval', '10', false), "
    "set_config('tcp_keepalives_count', '3', false), "
    "set_config('jit', 'off', false), "
    "set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false), "
    "set_config('enable_hashjoin', 'off', false), set_config('enable_mergejoin', 'off', false), "
    "set_config('enable_sort', 'off', false), set_config('enable_material', 'off', false), "
    "set_config('max_parallel_workers_per_gather', '0', false)";
/* Not known to all servers. */
static const char *const CLIENT_CHECK =
    "SELECT set_config('client_connection_check_interval', '2s', false)";

typedef struct parameters {
    const char *names[PARAMETERS_MAX];
    const char *values[PARAMETERS_MAX];
    size_t count;
} parameters;

static void add(parameters *list, const char *name, const char *value) {
    list->names[list->count] = name;
    list->values[list->count++] = value;
}

/* What stands in front of the connection string is overridden by it. Variables of the environment
 * count less than anything here, so what has one is left to it. */
static void fill(const alineo_storage *self, parameters *list) {
    *list = (parameters){.count = 0};
    add(list, "fallback_application_name", "alineo");
    if (getenv("PGCONNECT_TIMEOUT") == NULL)
        add(list, "connect_timeout", "5");
    if (getenv("PGTARGETSESSIONATTRS") == NULL)
        add(list, "target_session_attrs", "read-write");
    add(list, "keepalives_idle", "30");
    add(list, "keepalives_interval", "10");
    add(list, "keepalives_count", "3");
    add(list, "tcp_user_timeout", "30000");
    if (self->url != NULL)
        add(list, "dbname", self->url);
    if (self->password != NULL)
        add(list, "password", self->password);
    add(list, "client_encoding", "UTF8");
}

/* Notices would be printed by the library. */
static void ignore_notice(void *user, const PGresult *notice) {
    (void)user, (void)notice;
}

static char *describe(const PGconn *db) {
    const char *host = PQhost(db), *port = PQport(db), *user = PQuser(db), *name = PQdb(db);
    return al_strf("%s@%s:%s/%s", user != NULL ? user : "", host != NULL ? host : "",
                   port != NULL ? port : "", name != NULL ? name : "");
}

/* --- why not ---------------------------------------------------------------------------------- */

/* Of a failed attempt libpq keeps no code, only a text in the server's language. So it is made
 * again with codes in the text. */
static void attempt_with_codes(const parameters *list, char *reason, size_t size) {
    al_deadline deadline = al_deadline_after_ms(EXPLAIN_MS);
    PGconn *db = PQconnectStartParams(list->names, list->values, 1);
    if (db == NULL)
        return;
    (void)PQsetErrorVerbosity(db, PQERRORS_SQLSTATE);
    (void)PQsetNoticeReceiver(db, ignore_notice, NULL);
    PostgresPollingStatusType state = PGRES_POLLING_WRITING;
    while (state != PGRES_POLLING_OK && state != PGRES_POLLING_FAILED &&
           !al_deadline_passed(deadline)) {
        struct pollfd fd = {PQsocket(db), state == PGRES_POLLING_READING ? POLLIN : POLLOUT, 0};
        if (poll(&fd, 1, al_deadline_poll_ms(deadline)) > 0)
            state = PQconnectPoll(db);
    }
    postgres_reason(PQerrorMessage(db), reason, size);
    if (PQconnectionNeedsPassword(db))
        (void)al_str_copy(reason, size, "28P01");
    PQfinish(db);
}

/* Whether the server refuses for good: no such user, password, database or right. */
static bool is_refusal(const parameters *list) {
    static const char *const states[] = {"28P01", "28000", "3D000", "42501"};
    char reason[1024] = "";
    attempt_with_codes(list, reason, sizeof(reason));
    for (size_t i = 0; i < AL_COUNT(states); i++)
        if (strstr(reason, states[i]) != NULL)
            return true;
    return false;
}

static alineo_code fail_to_connect(const alineo_storage *self, const parameters *list,
                                   const PGconn *db, bool explain, alineo_error **err) {
    const alineo_host *host = self->host;
    if (db == NULL)
        return postgres_no_memory(self, "connect", err);
    char reason[768];
    postgres_reason(PQerrorMessage(db), reason, sizeof(reason));
    bool refused = explain && is_refusal(list);
    const char *server = PQhost(db), *port = PQport(db), *user = PQuser(db), *name = PQdb(db);
    return host->fail(
        host, err, refused ? ALINEO_STORAGE_REJECTED : ALINEO_STORAGE_UNAVAILABLE,
        refused ? "set user, password and database in storage.url or the variables PGUSER, "
                  "PGPASSWORD, PGDATABASE"
                : "see whether the server runs and can be reached",
        "open storage postgres: connect to host %s, port %s as user %s, database %s: %s",
        server != NULL ? server : "(none)", port != NULL ? port : "(none)",
        user != NULL ? user : "(none)", name != NULL ? name : "(none)", reason);
}

/* --- connections ------------------------------------------------------------------------------ */

static alineo_code set_up(postgres_connection *connection, alineo_error **err) {
    const alineo_storage *self = connection->store;
    const char *const doing = "open storage postgres: set up a connection to";
    char *path = NULL;
    if (self->schema != NULL) {
        path = PQescapeIdentifier(connection->db, self->schema, strlen(self->schema));
        if (path == NULL)
            return postgres_fail_lost(connection, doing, err);
    }
    postgres_step step = {SETTINGS, 2, {path, self->sync_full ? "full" : "normal"}, NULL};
    alineo_code code = postgres_run(connection, POSTGRES_ANSWER_MS, &step, doing, NULL, err);
    PQfreemem(path);
    if (code != ALINEO_OK)
        return code;
    alineo_error *ignored = NULL;
    postgres_step check = {CLIENT_CHECK, 0, {NULL}, NULL};
    (void)postgres_run(connection, POSTGRES_ANSWER_MS, &check, doing, NULL, &ignored);
    self->host->drop_error(self->host, ignored);
    connection->may_repeat = false;
    return ALINEO_OK;
}

alineo_code postgres_connect(alineo_storage *self, bool explain, postgres_connection **out,
                             alineo_error **err) {
    postgres_connection *connection = calloc(1, sizeof(*connection));
    if (connection == NULL)
        return postgres_no_memory(self, "connect", err);
    connection->store = self;
    parameters list;
    fill(self, &list);
    connection->db = PQconnectdbParams(list.names, list.values, 1);
    alineo_code code = ALINEO_OK;
    if (PQstatus(connection->db) != CONNECTION_OK)
        code = fail_to_connect(self, &list, connection->db, explain, err);
    if (code == ALINEO_OK && self->target == NULL) {
        self->target = describe(connection->db);
        code = self->target != NULL ? ALINEO_OK : postgres_no_memory(self, "connect", err);
    }
    if (code == ALINEO_OK) {
        (void)PQsetNoticeReceiver(connection->db, ignore_notice, NULL);
        if (PQsetnonblocking(connection->db, 1) != 0)
            code = postgres_fail_lost(connection, "set up a connection to", err);
    }
    if (code == ALINEO_OK)
        code = set_up(connection, err);
    if (code != ALINEO_OK) {
        postgres_disconnect(connection);
        return code;
    }
    *out = connection;
    return ALINEO_OK;
}

void postgres_disconnect(postgres_connection *connection) {
    if (connection == NULL)
        return;
    /* In a child the server is told nothing: it is the parent's connection. */
    if (getpid() == connection->store->pid)
        PQfinish(connection->db);
    free(connection->followed);
    free(connection);
}
