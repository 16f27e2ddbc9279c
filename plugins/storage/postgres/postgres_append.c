/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/postgres/postgres_store.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/cleanup.h"
#include "core/util/hash.h"
#include "core/util/str.h"
#include "plugins/storage/postgres/postgres_locks.h"
#include "plugins/storage/postgres/postgres_statements.h"

/*
 * Two rounds. The first opens the transaction, takes the locks, and asks what is there: the last
 * number of the writer, the newest times of the sessions, steps that are taken. The second sends
 * the rows, the writer's new number and the COMMIT in one go.
 */

#define PAYLOAD_SIZE_MAX ((size_t)32 * 1024 * 1024)

static const char doing[] = "append to";

static const char *const LOCK_WRITER =
    "SELECT pg_advisory_xact_lock(" POSTGRES_LOCK_WRITER ", hashtext($1))";
/* In one order everywhere, so that two batches do not wait for each other. */
static const char *const LOCK_SESSIONS =
    "SELECT pg_advisory_xact_lock(" POSTGRES_LOCK_SESSION ", h), "
    "pg_try_advisory_xact_lock(" POSTGRES_LOCK_FOLLOWER ", h & 63) "
    "FROM (SELECT DISTINCT hashtext(u) AS h FROM unnest($1::text[]) u ORDER BY 1) x";
/* The newest in the order of the session's index, whatever the planner thinks of the session. Ours
 * never go back, so the last ones tell: a few, since others may have a clock of their own. */
#define SESSION_ID POSTGRES_ID("e.")
#define NEWEST                                                                                     \
    "SELECT max(ts) FROM (SELECT e.ts FROM alineo_events e WHERE (" SESSION_ID                     \
    ", e.id) > (u, 0) AND (" SESSION_ID ", e.id) <= (u, 9223372036854775807) "                     \
    "ORDER BY " SESSION_ID " DESC, e.id DESC LIMIT 8) x"
static const char *const LOOK =
    "SELECT 0, last_n FROM alineo_c_writers WHERE writer_id = $1 UNION ALL "
    "SELECT n, (" NEWEST ") FROM unnest($2::text[]) WITH ORDINALITY AS s(u, n)";
static const char *const TAKEN =
    "SELECT c.i FROM unnest($1::int8[], $2::text[], $3::int4[]) AS c(i, u, step) WHERE EXISTS ("
    "SELECT 1 FROM alineo_events e WHERE " POSTGRES_ID(
        "e.") " = c.u AND e.step_idx = c.step "
              "AND e.event IN ('exec_start', 'exec.started')) ORDER BY c.i";
#define KEEP_WRITER                                                                                \
    "; INSERT INTO alineo_c_writers(writer_id, last_n, seen_at) VALUES(%s, %" PRIu64 ", now()) "   \
    "ON CONFLICT(writer_id) DO UPDATE SET last_n = excluded.last_n, seen_at = excluded.seen_at"
/* A new one takes two old ones away, so that they do not pile up: one that was not seen for so long
 * sends nothing again. */
#define FORGET_WRITERS                                                                             \
    "; DELETE FROM alineo_c_writers WHERE ctid = ANY(ARRAY(SELECT ctid FROM alineo_c_writers "     \
    "WHERE seen_at < now() - interval '7 days' LIMIT 2 FOR UPDATE SKIP LOCKED))"

typedef struct append_plan {
    const alineo_ledger_batch *batch;
    al_hash sessions; /* by sandbox id: the number below, counted from 1 */
    size_t session_count;
    al_buf ids;       /* of the sessions, as an array */
    size_t *session;  /* of each entry, from 0 */
    int64_t *newest;  /* of each session */
    int64_t *ts_ms;   /* of each entry, as it will be stored */
    al_buf claims[3]; /* arrays: indexes, sandbox ids, steps */
    size_t claim_count;
    bool has_writer; /* the writer was seen before */
    bool notifies;   /* somebody listens */
    size_t from;     /* what lies before is stored already */
    size_t failed;   /* the entry that cannot be stored */
    alineo_code refusal;
} append_plan;

/* --- before anything is asked ----------------------------------------------------------------- */

static void plan_free(append_plan *plan) {
    al_hash_free(&plan->sessions);
    al_buf_free(&plan->ids);
    for (size_t i = 0; i < AL_COUNT(plan->claims); i++)
        al_buf_free(&plan->claims[i]);
    free(plan->session);
    free(plan->newest);
    free(plan->ts_ms);
}

static bool add_session(append_plan *plan, size_t index, const char *sandbox_id) {
    uintptr_t number = (uintptr_t)al_hash_get(&plan->sessions, sandbox_id);
    if (number == 0) {
        number = ++plan->session_count;
        postgres_array_add(&plan->ids, sandbox_id);
        if (al_hash_set(&plan->sessions, sandbox_id, (void *)number, NULL) != 0)
            return false;
    }
    plan->session[index] = number - 1;
    return true;
}

static void add_claim(append_plan *plan, size_t index, const alineo_ledger_entry *entry) {
    const char *separator = plan->claim_count++ == 0 ? "{" : ",";
    al_buf_printf(&plan->claims[0], "%s%zu", separator, index);
    postgres_array_add(&plan->claims[1], entry->sandbox_id);
    al_buf_printf(&plan->claims[2], "%s%" PRId32, separator, entry->step_idx);
}

static bool plan_init(append_plan *plan, const alineo_ledger_batch *batch) {
    *plan = (append_plan){.batch = batch};
    plan->session = calloc(batch->count, sizeof(*plan->session));
    plan->newest = calloc(batch->count, sizeof(*plan->newest));
    plan->ts_ms = calloc(batch->count, sizeof(*plan->ts_ms));
    if (plan->session == NULL || plan->newest == NULL || plan->ts_ms == NULL)
        return false;
    for (size_t i = 0; i < batch->count; i++) {
        const alineo_ledger_entry *entry = batch->entries[i];
        if (!add_session(plan, i, entry->sandbox_id))
            return false;
        if ((entry->flags & ALINEO_ENTRY_CLAIMS_STEP) != 0)
            add_claim(plan, i, entry);
    }
    (void)postgres_array_end(&plan->ids);
    for (size_t i = 0; i < AL_COUNT(plan->claims); i++) {
        (void)postgres_array_end(&plan->claims[i]);
        if (plan->claims[i].error != 0)
            return false;
    }
    return plan->ids.error == 0;
}

/* --- the first round -------------------------------------------------------------------------- */

enum {
    STEP_BEGIN,
    STEP_WRITER,
    STEP_SESSIONS,
    STEP_LOOK,
    STEP_TAKEN,
    STEP_COUNT
};

static void take_locks(append_plan *plan, const PGresult *result) {
    plan->notifies = false;
    for (int row = 0; row < PQntuples(result); row++)
        if (strcmp(PQgetvalue(result, row, 1), "t") != 0)
            plan->notifies = true;
}

static void take_look(append_plan *plan, const PGresult *result) {
    int64_t last = 0;
    plan->has_writer = false;
    for (int row = 0; row < PQntuples(result); row++) {
        int64_t number = postgres_int64(result, row, 0);
        if (number == 0) {
            plan->has_writer = true;
            last = postgres_int64(result, row, 1);
        } else if (PQgetisnull(result, row, 1)) {
            plan->newest[number - 1] = INT64_MIN;
        } else {
            plan->newest[number - 1] = postgres_int64(result, row, 1);
        }
    }
    uint64_t first = plan->batch->first_n;
    plan->from = first <= (uint64_t)last ? (size_t)((uint64_t)last - first) + 1 : 0;
    if (plan->from > plan->batch->count)
        plan->from = plan->batch->count;
}

static bool starts_step(const alineo_ledger_entry *entry) {
    return strcmp(entry->event, "exec_start") == 0 || strcmp(entry->event, "exec.started") == 0;
}

/* Whether an entry before it in the batch has started the step that it claims. */
static bool is_taken_in_batch(const append_plan *plan, size_t index) {
    const alineo_ledger_batch *batch = plan->batch;
    if ((batch->entries[index]->flags & ALINEO_ENTRY_CLAIMS_STEP) == 0)
        return false;
    for (size_t i = plan->from; i < index; i++)
        if (batch->entries[i]->step_idx == batch->entries[index]->step_idx &&
            plan->session[i] == plan->session[index] && starts_step(batch->entries[i]))
            return true;
    return false;
}

/* Finds the first entry that cannot be stored, and the times of all before it. `taken`: the indexes
 * of those whose step is taken, in order. */
static void decide(append_plan *plan, const PGresult *taken) {
    int row = 0;
    plan->refusal = ALINEO_OK;
    for (size_t i = plan->from; i < plan->batch->count && plan->refusal == ALINEO_OK; i++) {
        const alineo_ledger_entry *entry = plan->batch->entries[i];
        while (taken != NULL && row < PQntuples(taken) &&
               postgres_int64(taken, row, 0) < (int64_t)i)
            row++;
        if (entry->payload_size > PAYLOAD_SIZE_MAX)
            plan->refusal = ALINEO_STORAGE_REJECTED;
        else if ((taken != NULL && row < PQntuples(taken) &&
                  postgres_int64(taken, row, 0) == (int64_t)i) ||
                 is_taken_in_batch(plan, i))
            plan->refusal = ALINEO_CONFLICT;
        plan->failed = i;
        int64_t *newest = &plan->newest[plan->session[i]];
        if (entry->ts_ms > *newest)
            *newest = entry->ts_ms;
        plan->ts_ms[i] = *newest;
    }
}

static alineo_code first_round(postgres_connection *connection, append_plan *plan,
                               alineo_error **err) {
    const char *writer = plan->batch->writer_id, *ids = plan->ids.data;
    postgres_step steps[STEP_COUNT] = {
        [STEP_BEGIN] = {"BEGIN", 0, {NULL}, NULL},
        [STEP_WRITER] = {LOCK_WRITER, 1, {writer}, NULL},
        [STEP_SESSIONS] = {LOCK_SESSIONS, 1, {ids}, NULL},
        [STEP_LOOK] = {LOOK, 2, {writer, ids}, NULL},
        [STEP_TAKEN] = {TAKEN,
                        3,
                        {plan->claims[0].data, plan->claims[1].data, plan->claims[2].data},
                        NULL},
    };
    size_t count = plan->claim_count > 0 ? STEP_COUNT : STEP_TAKEN;
    alineo_code code = postgres_pipeline(connection, POSTGRES_ANSWER_MS, steps, count, doing, err);
    if (code != ALINEO_OK)
        return code;
    take_locks(plan, steps[STEP_SESSIONS].result);
    take_look(plan, steps[STEP_LOOK].result);
    decide(plan, steps[STEP_TAKEN].result);
    postgres_clear(steps, STEP_COUNT);
    return ALINEO_OK;
}

/* --- the second round ------------------------------------------------------------------------- */

static char *write_rest(postgres_connection *connection, const append_plan *plan) {
    const alineo_ledger_batch *batch = plan->batch;
    char *writer = PQescapeLiteral(connection->db, batch->writer_id, strlen(batch->writer_id));
    char *ids = PQescapeLiteral(connection->db, plan->ids.data, plan->ids.size);
    al_buf text = AL_BUF_INIT;
    if (writer != NULL && ids != NULL) {
        al_buf_printf(&text, KEEP_WRITER, writer, batch->first_n + batch->count - 1);
        if (!plan->has_writer)
            al_buf_append_str(&text, FORGET_WRITERS);
        if (plan->notifies)
            al_buf_printf(&text,
                          "; SELECT pg_notify('" POSTGRES_CHANNEL "', u) FROM unnest(%s::text[]) u",
                          ids);
        al_buf_append_str(&text, "; COMMIT");
    }
    PQfreemem(writer);
    PQfreemem(ids);
    return text.size > 0 ? al_buf_steal(&text, NULL) : NULL;
}

static postgres_copy rows_of(const append_plan *plan, size_t from, size_t count, const char *rest) {
    return (postgres_copy){plan->batch->entries + from, plan->ts_ms + from, count, rest, false};
}

/* Tries rows without keeping them; false after a failure that is not of the rows. */
static bool try_rows(postgres_connection *connection, const append_plan *plan, size_t from,
                     size_t count, bool *is_refused) {
    const alineo_host *host = connection->store->host;
    alineo_error *ignored = NULL;
    postgres_copy copy = rows_of(plan, from, count, "");
    alineo_code code = postgres_exec(connection, POSTGRES_ANSWER_MS, "BEGIN", doing, &ignored);
    if (code == ALINEO_OK)
        code = postgres_copy_rows(connection, &copy, &ignored);
    host->drop_error(host, ignored);
    postgres_rollback(connection);
    *is_refused = copy.is_refused;
    return code == ALINEO_OK || copy.is_refused;
}

/* Among rows of which one can never be stored, the first such. */
static bool find_refused(postgres_connection *connection, append_plan *plan) {
    size_t low = plan->from, high = plan->batch->count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool is_refused = false;
        if (!try_rows(connection, plan, low, middle - low + 1, &is_refused))
            return false;
        if (is_refused)
            high = middle;
        else
            low = middle + 1;
    }
    plan->failed = low;
    plan->refusal = ALINEO_STORAGE_REJECTED;
    return true;
}

static alineo_code second_round(postgres_connection *connection, append_plan *plan,
                                alineo_error **err) {
    al_autofree char *rest = write_rest(connection, plan);
    if (rest == NULL)
        return postgres_no_memory(connection->store, doing, err);
    postgres_copy copy = rows_of(plan, plan->from, plan->batch->count - plan->from, rest);
    alineo_code code = postgres_copy_rows(connection, &copy, err);
    if (!copy.is_refused)
        return code;
    postgres_rollback(connection);
    if (find_refused(connection, plan))
        return code;
    /* Without knowing which row it is, the batch is sent again. */
    const alineo_host *host = connection->store->host;
    host->drop_error(host, *err);
    *err = NULL;
    return host->fail(host, err, ALINEO_STORAGE_UNAVAILABLE, NULL,
                      "append to %s: the connection was lost while looking for a refused row",
                      connection->store->target);
}

/* --- append ----------------------------------------------------------------------------------- */

static alineo_code refuse(alineo_storage *self, const append_plan *plan, alineo_error **err) {
    const alineo_host *host = self->host;
    const alineo_ledger_entry *entry = plan->batch->entries[plan->failed];
    if (plan->refusal == ALINEO_CONFLICT)
        return host->fail(host, err, ALINEO_CONFLICT, NULL, "append to %s: step %d of %s is taken",
                          self->target, entry->step_idx, entry->sandbox_id);
    return host->fail(host, err, ALINEO_STORAGE_REJECTED, NULL,
                      "append to %s: a payload of %zu bytes is above the limit of 32 MiB",
                      self->target, entry->payload_size);
}

static alineo_code append(postgres_connection *connection, void *user, alineo_error **err) {
    append_plan *plan = user;
    alineo_code code = first_round(connection, plan, err);
    if (code != ALINEO_OK)
        return code;
    if (plan->refusal != ALINEO_OK)
        return refuse(connection->store, plan, err);
    if (plan->from == plan->batch->count)
        return ALINEO_OK;
    return second_round(connection, plan, err);
}

alineo_code postgres_append(alineo_storage *self, const alineo_ledger_batch *batch,
                            size_t *failed_index, alineo_error **err) {
    append_plan plan;
    alineo_code code = plan_init(&plan, batch) ? postgres_do(self, NULL, append, &plan, err)
                                               : postgres_no_memory(self, doing, err);
    if (code != ALINEO_OK && code == plan.refusal)
        *failed_index = plan.failed;
    plan_free(&plan);
    return code;
}
