/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/postgres_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/util/buf.h"
#include "core/util/random.h"

extern const alineo_plugin alineo_plugin_storage_postgres;

enum {
    SKIPPED = 77
};

/* --- programs --------------------------------------------------------------------------------- */

/* The newest installed version's; the program is skipped without. */
static void find_program(const char *name, char *out, size_t size) {
    char pattern[128];
    glob_t found;
    (void)snprintf(pattern, sizeof(pattern), "/usr/lib/postgresql/*/bin/%s", name);
    if (glob(pattern, 0, NULL, &found) != 0) {
        (void)fprintf(stderr, "PostgreSQL is not installed\n");
        exit(SKIPPED);
    }
    (void)snprintf(out, size, "%s", found.gl_pathv[found.gl_pathc - 1]);
    globfree(&found);
}

/* In a child: the server refuses to be run by root. */
static void become_server_user(const char *log) {
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0644);
    const struct passwd *user = geteuid() == 0 ? getpwnam("postgres") : NULL;
    (void)prctl(PR_SET_PDEATHSIG, SIGQUIT);
    if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0 || setpgid(0, 0) != 0)
        _exit(SKIPPED);
    if (user != NULL && (fchown(fd, user->pw_uid, user->pw_gid) != 0 || setgroups(0, NULL) != 0 ||
                         setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0))
        _exit(SKIPPED);
}

static pid_t start(const postgres_server *server, const char *const *arguments) {
    char program[256];
    char log[128];
    find_program(arguments[0], program, sizeof(program));
    (void)snprintf(log, sizeof(log), "%s/log", server->folder.path);
    (void)fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        become_server_user(log);
        (void)execv(program, (char *const *)(uintptr_t)arguments);
        _exit(SKIPPED);
    }
    return child;
}

/* --- a server --------------------------------------------------------------------------------- */

static int free_port(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    assert_int_equal(close(fd), 0);
    return ntohs(address.sin_port);
}

static void nap_ms(long ms) {
    struct timespec nap = {ms / 1000, ms % 1000 * 1000000};
    (void)nanosleep(&nap, NULL);
}

static void make_data(postgres_server *server, const char *data) {
    const char *arguments[] = {"initdb", "-D", data,   "-A",        "trust",       "-U",
                               "alineo", "-E", "UTF8", "--no-sync", "--no-locale", NULL};
    int status = 0;
    pid_t child = start(server, arguments);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

void postgres_server_make(postgres_server *server) {
    memset(server, 0, sizeof(*server));
    test_folder_make(&server->folder);
    const struct passwd *user = geteuid() == 0 ? getpwnam("postgres") : NULL;
    if (user != NULL)
        assert_int_equal(chown(server->folder.path, user->pw_uid, user->pw_gid), 0);
    char data[128];
    (void)snprintf(data, sizeof(data), "%s/data", server->folder.path);
    make_data(server, data);
    char access[160];
    (void)snprintf(access, sizeof(access), "%s/pg_hba.conf", data);
    test_write_file(access,
                    "host all locked 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n",
                    0644);
    server->port = free_port();
    (void)snprintf(server->url, sizeof(server->url), "postgresql://alineo@127.0.0.1:%d/postgres",
                   server->port);
    postgres_server_start(server);
}

void postgres_server_start(postgres_server *server) {
    char data[128], port[16];
    (void)snprintf(data, sizeof(data), "%s/data", server->folder.path);
    (void)snprintf(port, sizeof(port), "%d", server->port);
    const char *arguments[] = {"postgres",
                               "-D",
                               data,
                               "-p",
                               port,
                               "-h",
                               "127.0.0.1",
                               "-c",
                               "unix_socket_directories=",
                               "-c",
                               "max_prepared_transactions=2",
                               NULL};
    /* What a killed one has left is in the way for a moment. */
    for (int i = 0; i < 600; i++) {
        if (server->pid == 0)
            server->pid = start(server, arguments);
        if (PQping(server->url) == PQPING_OK)
            return;
        if (waitpid(server->pid, NULL, WNOHANG) == server->pid)
            server->pid = 0;
        nap_ms(20);
    }
    fail_msg("the server did not start; see %s/log", server->folder.path);
}

void postgres_server_kill(postgres_server *server) {
    assert_int_equal(kill(server->pid, SIGKILL), 0);
    assert_int_equal(waitpid(server->pid, NULL, 0), server->pid);
    server->pid = 0;
}

void postgres_server_remove(postgres_server *server) {
    if (server->pid != 0) {
        (void)kill(server->pid, SIGQUIT);
        (void)waitpid(server->pid, NULL, 0);
    }
    server->pid = 0;
    test_folder_remove(&server->folder);
}

/* --- the shared one --------------------------------------------------------------------------- */

static postgres_server own;

static void stop_own(void) {
    postgres_server_remove(&own);
}

const char *postgres_shared_url(void) {
    const char *url = getenv("ALINEO_TEST_POSTGRES");
    if (url != NULL && *url != '\0')
        return url;
    if (own.pid == 0) {
        postgres_server_make(&own);
        assert_int_equal(atexit(stop_own), 0);
    }
    return own.url;
}

/* --- other software --------------------------------------------------------------------------- */

static void ignore_notice(void *user, const PGresult *notice) {
    (void)user, (void)notice;
}

PGconn *postgres_other(const char *url, const char *schema) {
    PGconn *db = PQconnectdb(url);
    if (PQstatus(db) != CONNECTION_OK)
        fail_msg("%s", PQerrorMessage(db));
    (void)PQsetNoticeReceiver(db, ignore_notice, NULL);
    char text[96];
    (void)snprintf(text, sizeof(text), "SET search_path TO \"%s\"", schema);
    postgres_other_run(db, text);
    return db;
}

void postgres_other_run(PGconn *db, const char *text) {
    PGresult *result = PQexec(db, text);
    ExecStatusType status = PQresultStatus(result);
    PQclear(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        fail_msg("%s: %s", text, PQerrorMessage(db));
}

char *postgres_other_ask(PGconn *db, const char *text) {
    al_buf out = AL_BUF_INIT;
    PGresult *result = PQexec(db, text);
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", text, PQerrorMessage(db));
    for (int row = 0; row < PQntuples(result); row++) {
        for (int i = 0; i < PQnfields(result); i++)
            al_buf_printf(&out, "%s%s", i > 0 ? "|" : "",
                          PQgetisnull(result, row, i) ? "-" : PQgetvalue(result, row, i));
        al_buf_append_char(&out, '\n');
    }
    PQclear(result);
    char *rows = al_buf_steal(&out, NULL);
    assert_non_null(rows);
    return rows;
}

/* --- ledgers ---------------------------------------------------------------------------------- */

void postgres_ledger_make(postgres_ledger *ledger, const char *url) {
    memset(ledger, 0, sizeof(*ledger));
    char id[17];
    assert_int_equal(al_random_id(id, 16), 0);
    (void)snprintf(ledger->schema, sizeof(ledger->schema), "Test %s", id);
    ledger->url = url;
    ledger->other = postgres_other(url, ledger->schema);
    char text[96];
    (void)snprintf(text, sizeof(text), "CREATE SCHEMA \"%s\"", ledger->schema);
    postgres_other_run(ledger->other, text);
}

/* Moves the ends of leases, since the server's clock cannot be moved. */
static void pass_time(storage_test *test, int64_t ms) {
    postgres_ledger *ledger = (postgres_ledger *)(void *)test;
    char text[128];
    (void)snprintf(text, sizeof(text),
                   "UPDATE alineo_c_leases SET expires_at = expires_at - %lld * "
                   "interval '1 millisecond'",
                   (long long)ms);
    postgres_other_run(ledger->other, text);
}

void postgres_ledger_open(postgres_ledger *ledger, const char *pool) {
    const char *pairs[] = {"url", ledger->url, "schema", ledger->schema, "poolSize", pool, NULL};
    storage_test_open(&ledger->test, &alineo_plugin_storage_postgres, pairs);
    ledger->test.pass_time = pass_time;
}

void postgres_ledger_remove(postgres_ledger *ledger) {
    char text[96];
    (void)snprintf(text, sizeof(text), "DROP SCHEMA \"%s\" CASCADE", ledger->schema);
    postgres_other_run(ledger->other, text);
    PQfinish(ledger->other);
}
