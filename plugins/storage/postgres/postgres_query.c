/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/postgres/postgres_store.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/num.h"

/* --- waiting ---------------------------------------------------------------------------------- */

static alineo_code check_call(postgres_connection *connection, const char *doing,
                              alineo_error **err) {
    const alineo_host *host = connection->store->host;
    alineo_code code = ALINEO_OK;
    if (host->call_cancelled(host, connection->call))
        code = ALINEO_CANCELLED;
    else if (host->call_remaining_ms(host, connection->call) == 0)
        code = ALINEO_TIMEOUT;
    if (code == ALINEO_OK)
        return ALINEO_OK;
    /* The server looks now and then whether its client is there still, and gives up by itself. */
    connection->is_lost = true;
    return host->fail(host, err, code, NULL, "%s %s: %s", doing, connection->store->target,
                      code == ALINEO_CANCELLED ? "cancelled" : "out of time");
}

static alineo_code check_time(postgres_connection *connection, const char *doing,
                              alineo_error **err) {
    if (!al_deadline_passed(connection->deadline))
        return ALINEO_OK;
    const alineo_host *host = connection->store->host;
    connection->is_lost = true;
    return host->fail(host, err, ALINEO_STORAGE_UNAVAILABLE, "see whether the server hangs",
                      "%s %s: the server has not answered for %d s", doing,
                      connection->store->target, POSTGRES_ANSWER_MS / 1000);
}

/* One wait for the socket, and what it gives. */
static alineo_code wait_once(postgres_connection *connection, bool is_sending, const char *doing,
                             alineo_error **err) {
    const alineo_host *host = connection->store->host;
    struct pollfd fds[2] = {
        {PQsocket(connection->db), (short)(POLLIN | (is_sending ? POLLOUT : 0)), 0},
        {host->call_fd(host, connection->call), POLLIN, 0}};
    al_deadline until = connection->deadline;
    int64_t left = host->call_remaining_ms(host, connection->call);
    if (connection->call != NULL && left >= 0)
        until = al_deadline_earlier(until, al_deadline_after_ms(left));
    int ready = poll(fds, 2, al_deadline_poll_ms(until));
    if (ready < 0 && errno != EINTR)
        return postgres_fail_lost(connection, doing, err);
    alineo_code code = check_call(connection, doing, err);
    if (code != ALINEO_OK)
        return code;
    if (ready <= 0)
        return check_time(connection, doing, err);
    if ((fds[0].revents & ~POLLOUT) != 0 && PQconsumeInput(connection->db) == 0)
        return postgres_fail_lost(connection, doing, err);
    return ALINEO_OK;
}

alineo_code postgres_flush(postgres_connection *connection, const char *doing, alineo_error **err) {
    for (;;) {
        int left = PQflush(connection->db);
        if (left == 0)
            return ALINEO_OK;
        if (left < 0)
            return postgres_fail_lost(connection, doing, err);
        alineo_code code = wait_once(connection, true, doing, err);
        if (code != ALINEO_OK)
            return code;
    }
}

alineo_code postgres_await(postgres_connection *connection, const char *doing, alineo_error **err) {
    alineo_code code = postgres_flush(connection, doing, err);
    while (code == ALINEO_OK && PQisBusy(connection->db))
        code = wait_once(connection, false, doing, err);
    return code;
}

/* --- results ---------------------------------------------------------------------------------- */

static bool is_good(const PGresult *result) {
    ExecStatusType status = PQresultStatus(result);
    return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
}

void postgres_clear(postgres_step *steps, size_t count) {
    for (size_t i = 0; i < count; i++) {
        PQclear(steps[i].result);
        steps[i].result = NULL;
    }
}

int64_t postgres_int64(const PGresult *result, int row, int column) {
    int64_t value = 0;
    (void)!al_parse_int64(PQgetvalue(result, row, column), &value);
    return value;
}

const char *postgres_text(const PGresult *result, int row, int column) {
    return PQgetisnull(result, row, column) ? NULL : PQgetvalue(result, row, column);
}

void postgres_array_add(al_buf *array, const char *item) {
    al_buf_append_str(array, array->size == 0 ? "{\"" : ",\"");
    for (const char *at = item; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\')
            al_buf_append_char(array, '\\');
        al_buf_append_char(array, *at);
    }
    al_buf_append_char(array, '"');
}

const char *postgres_array_end(al_buf *array) {
    al_buf_append_str(array, array->size == 0 ? "{}" : "}");
    return array->error == 0 ? array->data : NULL;
}

/* --- pipelines -------------------------------------------------------------------------------- */

static bool send_all(postgres_connection *connection, const postgres_step *steps, size_t count) {
    PGconn *db = connection->db;
    if (PQenterPipelineMode(db) != 1)
        return false;
    for (size_t i = 0; i < count; i++)
        if (PQsendQueryParams(db, steps[i].text, steps[i].count, NULL, steps[i].values, NULL, NULL,
                              0) != 1)
            return false;
    return PQpipelineSync(db) == 1;
}

/* The answer to one step, and the end of it. *refusal gets the first failure, whose error is made.
 */
static alineo_code receive(postgres_connection *connection, postgres_step *step, const char *doing,
                           alineo_code *refusal, alineo_error **err) {
    alineo_code code = postgres_await(connection, doing, err);
    if (code != ALINEO_OK)
        return code;
    step->result = PQgetResult(connection->db);
    if (*refusal == ALINEO_OK && !is_good(step->result))
        *refusal = postgres_fail(connection, step->result, doing, err);
    if (connection->is_lost)
        return *refusal;
    /* Behind each there is an end. */
    code = postgres_await(connection, doing, err);
    if (code == ALINEO_OK)
        PQclear(PQgetResult(connection->db));
    return code;
}

static alineo_code receive_sync(postgres_connection *connection, const char *doing,
                                alineo_error **err) {
    alineo_code code = postgres_await(connection, doing, err);
    if (code != ALINEO_OK)
        return code;
    PGresult *sync = PQgetResult(connection->db);
    bool is_sync = PQresultStatus(sync) == PGRES_PIPELINE_SYNC;
    PQclear(sync);
    if (is_sync && PQexitPipelineMode(connection->db) == 1)
        return ALINEO_OK;
    return postgres_fail_lost(connection, doing, err);
}

static alineo_code receive_all(postgres_connection *connection, postgres_step *steps, size_t count,
                               const char *doing, alineo_error **err) {
    alineo_code refusal = ALINEO_OK, code = ALINEO_OK;
    alineo_error *late = NULL;
    for (size_t i = 0; i <= count && code == ALINEO_OK; i++) {
        alineo_error **to = refusal == ALINEO_OK ? err : &late;
        code = i < count ? receive(connection, &steps[i], doing, &refusal, to)
                         : receive_sync(connection, doing, to);
    }
    connection->store->host->drop_error(connection->store->host, late);
    if (code != ALINEO_OK)
        connection->is_lost = true;
    return refusal != ALINEO_OK ? refusal : code;
}

alineo_code postgres_pipeline(postgres_connection *connection, int64_t answer_ms,
                              postgres_step *steps, size_t count, const char *doing,
                              alineo_error **err) {
    connection->deadline = al_deadline_after_ms(answer_ms);
    alineo_code code = send_all(connection, steps, count)
                           ? receive_all(connection, steps, count, doing, err)
                           : postgres_fail_lost(connection, doing, err);
    if (code != ALINEO_OK)
        postgres_clear(steps, count);
    return code;
}

alineo_code postgres_run(postgres_connection *connection, int64_t answer_ms, postgres_step *step,
                         const char *doing, PGresult **out, alineo_error **err) {
    alineo_code code = postgres_pipeline(connection, answer_ms, step, 1, doing, err);
    if (code == ALINEO_OK && out != NULL) {
        *out = step->result;
        step->result = NULL;
    }
    postgres_clear(step, 1);
    return code;
}

/* --- without parameters ----------------------------------------------------------------------- */

alineo_code postgres_exec(postgres_connection *connection, int64_t answer_ms, const char *text,
                          const char *doing, alineo_error **err) {
    connection->deadline = al_deadline_after_ms(answer_ms);
    if (PQsendQuery(connection->db, text) != 1)
        return postgres_fail_lost(connection, doing, err);
    alineo_code refusal = ALINEO_OK, code = ALINEO_OK;
    alineo_error *late = NULL;
    PGresult *result = NULL;
    do {
        PQclear(result);
        result = NULL;
        code = postgres_await(connection, doing, refusal == ALINEO_OK ? err : &late);
        if (code == ALINEO_OK)
            result = PQgetResult(connection->db);
        if (result != NULL && refusal == ALINEO_OK && !is_good(result))
            refusal = postgres_fail(connection, result, doing, err);
    } while (result != NULL && !connection->is_lost);
    PQclear(result);
    connection->store->host->drop_error(connection->store->host, late);
    return refusal != ALINEO_OK ? refusal : code;
}

void postgres_rollback(postgres_connection *connection) {
    const alineo_host *host = connection->store->host;
    PGTransactionStatusType status = PQtransactionStatus(connection->db);
    if (connection->is_lost || status == PQTRANS_IDLE)
        return;
    if (status != PQTRANS_INTRANS && status != PQTRANS_INERROR) {
        connection->is_lost = true;
        return;
    }
    alineo_error *ignored = NULL;
    if (postgres_exec(connection, POSTGRES_ANSWER_MS, "ROLLBACK", "roll back", &ignored) !=
        ALINEO_OK)
        connection->is_lost = true;
    host->drop_error(host, ignored);
}
