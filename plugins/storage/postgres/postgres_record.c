/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/postgres/postgres_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/util/compiler.h"

/* A few statements that belong together, for postgres_do. */
typedef struct statements {
    const char *doing;
    postgres_step steps[4];
    size_t count;
    PGresult *result; /* of the last */
    uint64_t changed; /* rows, of the last that is no COMMIT */
} statements;

static uint64_t changed_rows(PGresult *result) {
    const char *text = PQcmdTuples(result);
    uint64_t count = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        count = count * 10 + (uint64_t)(*text - '0');
    return count;
}

/* Without a BEGIN, the statements of a pipeline are one transaction. */
static alineo_code run_statements(postgres_connection *connection, void *user, alineo_error **err) {
    statements *all = user;
    alineo_code code =
        postgres_pipeline(connection, POSTGRES_ANSWER_MS, all->steps, all->count, all->doing, err);
    if (code != ALINEO_OK)
        return code;
    postgres_step *last = &all->steps[all->count - 1];
    all->changed = changed_rows(last->result);
    all->result = last->result;
    last->result = NULL;
    postgres_clear(all->steps, all->count);
    return ALINEO_OK;
}

/* all->result is to be cleared after success. */
static alineo_code do_statements(alineo_storage *self, statements *all, alineo_error **err) {
    return postgres_do(self, NULL, run_statements, all, err);
}

static alineo_code change(alineo_storage *self, statements *all, alineo_error **err) {
    alineo_code code = do_statements(self, all, err);
    PQclear(all->result);
    all->result = NULL;
    return code;
}

/* --- environments ----------------------------------------------------------------------------- */

/* Details that were kept for another build of that name do not count: other software may have built
 * it anew. */
#define ENVIRONMENT_QUERY                                                                          \
    "SELECT e.name, e.snapshot_id, e.image, e.built_at, d.detail FROM alineo_environments e "      \
    "LEFT JOIN alineo_c_environments d ON d.name = e.name AND d.snapshot_id = e.snapshot_id "      \
    "AND d.built_at = e.built_at "

static void give_environments(const PGresult *rows, alineo_environment_fn *found, void *user) {
    for (int row = 0; row < PQntuples(rows); row++) {
        alineo_environment_record record = {.size = sizeof(record)};
        record.name = postgres_text(rows, row, 0);
        record.snapshot_id = postgres_text(rows, row, 1);
        record.image = postgres_text(rows, row, 2);
        record.built_at_ms = postgres_int64(rows, row, 3);
        record.detail = postgres_text(rows, row, 4);
        if (found(user, &record) != 0)
            return;
    }
}

alineo_code postgres_environment_get(alineo_storage *self, const char *name,
                                     alineo_environment_fn *found, void *user, alineo_error **err) {
    statements all = {.doing = "read environments of",
                      .steps = {{ENVIRONMENT_QUERY "WHERE e.name = $1", 1, {name}, NULL}},
                      .count = 1};
    alineo_code code = do_statements(self, &all, err);
    if (code == ALINEO_OK && PQntuples(all.result) == 0)
        code = self->host->fail(self->host, err, ALINEO_ENVIRONMENT_NOT_FOUND, NULL,
                                "%s has no environment %s", self->target, name);
    else if (code == ALINEO_OK)
        give_environments(all.result, found, user);
    PQclear(all.result);
    return code;
}

alineo_code postgres_environment_list(alineo_storage *self, alineo_environment_fn *found,
                                      void *user, alineo_error **err) {
    statements all = {.doing = "read environments of",
                      .steps = {{ENVIRONMENT_QUERY "ORDER BY e.built_at DESC, e.name COLLATE \"C\"",
                                 0,
                                 {NULL},
                                 NULL}},
                      .count = 1};
    alineo_code code = do_statements(self, &all, err);
    if (code == ALINEO_OK)
        give_environments(all.result, found, user);
    PQclear(all.result);
    return code;
}

alineo_code postgres_environment_put(alineo_storage *self, const alineo_environment_record *record,
                                     alineo_error **err) {
    char built_at[24];
    (void)snprintf(built_at, sizeof(built_at), "%" PRId64, record->built_at_ms);
    statements all = {
        .doing = "keep an environment in",
        .steps = {{"INSERT INTO alineo_environments(name, snapshot_id, image, built_at) "
                   "VALUES($1, $2, $3, $4) ON CONFLICT(name) DO UPDATE SET snapshot_id = "
                   "excluded.snapshot_id, image = excluded.image, built_at = excluded.built_at",
                   4,
                   {record->name, record->snapshot_id, record->image, built_at},
                   NULL},
                  {"DELETE FROM alineo_c_environments WHERE name = $1", 1, {record->name}, NULL}},
        .count = 2};
    if (record->detail != NULL)
        all.steps[1] = (postgres_step){
            "INSERT INTO alineo_c_environments(name, snapshot_id, built_at, detail) "
            "VALUES($1, $2, $3, $4) ON CONFLICT(name) DO UPDATE SET snapshot_id = "
            "excluded.snapshot_id, built_at = excluded.built_at, detail = excluded.detail",
            4,
            {record->name, record->snapshot_id, built_at, record->detail},
            NULL};
    return change(self, &all, err);
}

alineo_code postgres_environment_delete(alineo_storage *self, const char *name, int32_t *removed,
                                        alineo_error **err) {
    /* In the order in which put writes, so that the two do not wait for each other. */
    statements all = {
        .doing = "remove an environment from",
        .steps = {{"SELECT 1 FROM alineo_environments WHERE name = $1 FOR UPDATE", 1, {name}, NULL},
                  {"DELETE FROM alineo_c_environments WHERE name = $1", 1, {name}, NULL},
                  {"DELETE FROM alineo_environments WHERE name = $1", 1, {name}, NULL}},
        .count = 3};
    alineo_code code = change(self, &all, err);
    if (code == ALINEO_OK)
        *removed = all.changed > 0;
    return code;
}

/* --- leases ----------------------------------------------------------------------------------- */

/* The server's clock counts, which all see. An interval has a limit: a hundred years are for ever.
 */
#define EXPIRY                                                                                     \
    "clock_timestamp() + least($3::int8, 3153600000000)::float8 * interval '1 millisecond'"

static alineo_code change_lease(alineo_storage *self, const char *text, const char *key,
                                const char *owner, int64_t ttl_ms, const char *doing,
                                alineo_error **err) {
    char ttl[24];
    (void)snprintf(ttl, sizeof(ttl), "%" PRId64, ttl_ms > 0 ? ttl_ms : 0);
    statements all = {.doing = doing, .steps = {{text, 3, {key, owner, ttl}, NULL}}, .count = 1};
    alineo_code code = change(self, &all, err);
    if (code != ALINEO_OK || all.changed > 0)
        return code;
    return self->host->fail(self->host, err, ALINEO_CONFLICT, NULL,
                            "%s %s: the lease %s is somebody else's, or nobody's", doing,
                            self->target, key);
}

alineo_code postgres_lease_acquire(alineo_storage *self, const char *key, const char *owner,
                                   int64_t ttl_ms, alineo_error **err) {
    return change_lease(self,
                        "INSERT INTO alineo_c_leases AS l (key, owner, expires_at) "
                        "VALUES($1, $2, " EXPIRY ") ON CONFLICT(key) DO UPDATE SET "
                        "owner = excluded.owner, expires_at = excluded.expires_at "
                        "WHERE l.owner = excluded.owner OR l.expires_at <= clock_timestamp()",
                        key, owner, ttl_ms, "take a lease in", err);
}

alineo_code postgres_lease_renew(alineo_storage *self, const char *key, const char *owner,
                                 int64_t ttl_ms, alineo_error **err) {
    return change_lease(self,
                        "UPDATE alineo_c_leases SET expires_at = " EXPIRY
                        " WHERE key = $1 AND owner = $2 AND expires_at > clock_timestamp()",
                        key, owner, ttl_ms, "renew a lease in", err);
}

alineo_code postgres_lease_release(alineo_storage *self, const char *key, const char *owner,
                                   alineo_error **err) {
    return change_lease(self,
                        "DELETE FROM alineo_c_leases WHERE key = $1 AND owner = $2 "
                        "AND expires_at > clock_timestamp() AND $3::int8 IS NOT NULL",
                        key, owner, 0, "release a lease in", err);
}

/* --- meta ------------------------------------------------------------------------------------- */

alineo_code postgres_meta_get(alineo_storage *self, const char *key, char **value,
                              alineo_error **err) {
    statements all = {.doing = "read from",
                      .steps = {{"SELECT value FROM alineo_c_meta WHERE key = $1", 1, {key}, NULL}},
                      .count = 1};
    alineo_code code = do_statements(self, &all, err);
    if (code != ALINEO_OK)
        return code;
    char *copy = NULL;
    bool is_there = PQntuples(all.result) > 0;
    if (is_there) {
        size_t size = (size_t)PQgetlength(all.result, 0, 0) + 1;
        copy = self->host->alloc(self->host, size);
        if (copy != NULL)
            memcpy(copy, PQgetvalue(all.result, 0, 0), size);
    }
    PQclear(all.result);
    if (is_there && copy == NULL)
        return postgres_no_memory(self, "read from", err);
    *value = copy;
    return ALINEO_OK;
}

alineo_code postgres_meta_put(alineo_storage *self, const char *key, const char *value,
                              uint32_t flags, alineo_error **err) {
    statements all = {.doing = "write to",
                      .steps = {{(flags & ALINEO_META_IF_ABSENT) != 0
                                     ? "INSERT INTO alineo_c_meta(key, value) VALUES($1, $2) "
                                       "ON CONFLICT(key) DO NOTHING"
                                     : "INSERT INTO alineo_c_meta(key, value) VALUES($1, $2) "
                                       "ON CONFLICT(key) DO UPDATE SET value = excluded.value",
                                 2,
                                 {key, value},
                                 NULL}},
                      .count = 1};
    return change(self, &all, err);
}
