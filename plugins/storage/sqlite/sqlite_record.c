/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/sqlite/sqlite_store.h"

#include <stdlib.h>
#include <string.h>

#include "core/util/buf.h"
#include "core/util/cleanup.h"

/* Ends a write transaction: commits when all went well, else rolls back and makes the error. */
static alineo_code finish(sqlite_connection *connection, int rc, const char *doing,
                          alineo_error **err) {
    if (rc == SQLITE_OK)
        rc = sqlite_commit(connection);
    if (rc == SQLITE_OK)
        return ALINEO_OK;
    alineo_code code = sqlite_fail(connection, rc, doing, err);
    sqlite_rollback(connection);
    return code;
}

/* --- environments ----------------------------------------------------------------------------- */

/* Details that were kept for another build of that name do not count: other software may have built
 * it anew. */
#define ENVIRONMENT_QUERY                                                                          \
    "SELECT e.name, e.snapshot_id, e.image, e.built_at, d.detail FROM alineo_environments e "      \
    "LEFT JOIN alineo_c_environments d ON d.name = e.name AND d.snapshot_id = e.snapshot_id "      \
    "AND d.built_at = e.built_at "

/* Copies of rows, handed over when nothing is locked any more: texts one behind the other. */
typedef struct environments {
    al_buf texts;
    int64_t *built_at_ms;
    size_t count;
    size_t capacity;
} environments;

static void environments_free(environments *all) {
    al_buf_free(&all->texts);
    free(all->built_at_ms);
}

static bool environments_add(environments *all, sqlite3_stmt *row) {
    if (all->count == all->capacity) {
        size_t capacity = all->capacity * 2 + 8;
        int64_t *moved = reallocarray(all->built_at_ms, capacity, sizeof(*moved));
        if (moved == NULL)
            return false;
        all->built_at_ms = moved;
        all->capacity = capacity;
    }
    static const int columns[] = {0, 1, 2, 4};
    for (size_t i = 0; i < AL_COUNT(columns); i++) {
        const char *text = (const char *)sqlite3_column_text(row, columns[i]);
        al_buf_append_str(&all->texts, text != NULL ? text : "");
        al_buf_append_char(&all->texts, '\0');
    }
    all->built_at_ms[all->count++] = sqlite3_column_int64(row, 3);
    return all->texts.error == 0;
}

static const char *next_text(const char **at) {
    const char *text = *at;
    *at += strlen(text) + 1;
    return text;
}

static void environments_give(const environments *all, alineo_environment_fn *found, void *user) {
    const char *at = all->texts.data;
    for (size_t i = 0; i < all->count; i++) {
        alineo_environment_record record = {.size = sizeof(record)};
        record.name = next_text(&at);
        record.snapshot_id = next_text(&at);
        record.image = next_text(&at);
        record.detail = next_text(&at);
        if (record.detail[0] == '\0')
            record.detail = NULL;
        record.built_at_ms = all->built_at_ms[i];
        if (found(user, &record) != 0)
            return;
    }
}

/* With the reader's lock. `name` NULL = all. */
static int environments_read(sqlite_connection *connection, const char *name, environments *all) {
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(connection->db,
                                name != NULL ? ENVIRONMENT_QUERY "WHERE e.name = ?1"
                                             : ENVIRONMENT_QUERY "ORDER BY e.built_at DESC, e.name",
                                -1, &statement, NULL);
    if (rc == SQLITE_OK && name != NULL)
        rc = sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    while (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW)
        rc = environments_add(all, statement) ? SQLITE_OK : SQLITE_NOMEM;
    (void)sqlite3_finalize(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static alineo_code environments_find(alineo_storage *self, const char *name, environments *all,
                                     alineo_error **err) {
    al_autolock(&self->reader->lock);
    alineo_code code = sqlite_connect(self->reader, err);
    if (code != ALINEO_OK)
        return code;
    int rc = environments_read(self->reader, name, all);
    return rc == SQLITE_OK ? ALINEO_OK : sqlite_fail(self->reader, rc, "read environments of", err);
}

alineo_code sqlite_environment_get(alineo_storage *self, const char *name,
                                   alineo_environment_fn *found, void *user, alineo_error **err) {
    environments all = {.count = 0};
    alineo_code code = environments_find(self, name, &all, err);
    if (code == ALINEO_OK && all.count == 0)
        code = self->host->fail(self->host, err, ALINEO_ENVIRONMENT_NOT_FOUND, NULL,
                                "%s has no environment %s", self->path, name);
    else if (code == ALINEO_OK)
        environments_give(&all, found, user);
    environments_free(&all);
    return code;
}

alineo_code sqlite_environment_list(alineo_storage *self, alineo_environment_fn *found, void *user,
                                    alineo_error **err) {
    environments all = {.count = 0};
    alineo_code code = environments_find(self, NULL, &all, err);
    if (code == ALINEO_OK)
        environments_give(&all, found, user);
    environments_free(&all);
    return code;
}

alineo_code sqlite_environment_put(alineo_storage *self, const alineo_environment_record *record,
                                   alineo_error **err) {
    sqlite_connection *writer = &self->writer;
    al_autolock(&writer->lock);
    int rc = sqlite_begin(writer);
    if (rc == SQLITE_OK)
        rc = sqlite_do(writer, SQLITE_STATEMENT_ENVIRONMENT_PUT, "ttti", record->name,
                       record->snapshot_id, record->image, record->built_at_ms);
    if (rc == SQLITE_OK && record->detail != NULL)
        rc = sqlite_do(writer, SQLITE_STATEMENT_DETAIL_PUT, "ttit", record->name,
                       record->snapshot_id, record->built_at_ms, record->detail);
    else if (rc == SQLITE_OK)
        rc = sqlite_do(writer, SQLITE_STATEMENT_DETAIL_DROP, "t", record->name);
    return finish(writer, rc, "keep an environment in", err);
}

alineo_code sqlite_environment_delete(alineo_storage *self, const char *name, int32_t *removed,
                                      alineo_error **err) {
    sqlite_connection *writer = &self->writer;
    al_autolock(&writer->lock);
    int rc = sqlite_begin(writer);
    if (rc == SQLITE_OK)
        rc = sqlite_do(writer, SQLITE_STATEMENT_DETAIL_DROP, "t", name);
    if (rc == SQLITE_OK)
        rc = sqlite_do(writer, SQLITE_STATEMENT_ENVIRONMENT_DROP, "t", name);
    int32_t count = rc == SQLITE_OK ? sqlite3_changes(writer->db) : 0;
    alineo_code code = finish(writer, rc, "remove an environment from", err);
    if (code == ALINEO_OK)
        *removed = count > 0;
    return code;
}

/* --- leases ----------------------------------------------------------------------------------- */

typedef enum lease_state {
    LEASE_FREE,
    LEASE_OWN,
    LEASE_TAKEN
} lease_state;

/* In a transaction. One from before the last boot of the machine has expired. */
static int lease_look(alineo_storage *self, const char *key, const char *owner,
                      lease_state *state) {
    sqlite3_stmt *statement = NULL;
    *state = LEASE_FREE;
    int rc = sqlite_run(&self->writer, SQLITE_STATEMENT_LEASE_GET, &statement, "t", key);
    if (rc == SQLITE_DONE)
        return SQLITE_OK;
    if (rc != SQLITE_ROW)
        return rc;
    const char *holder = (const char *)sqlite3_column_text(statement, 0);
    const char *boot_id = (const char *)sqlite3_column_text(statement, 1);
    int64_t expires = sqlite3_column_int64(statement, 2);
    if (boot_id != NULL && strcmp(boot_id, self->boot_id) == 0 &&
        expires > self->host->boottime_ms(self->host))
        *state = holder != NULL && strcmp(holder, owner) == 0 ? LEASE_OWN : LEASE_TAKEN;
    return sqlite3_reset(statement);
}

static int lease_write(alineo_storage *self, const char *key, const char *owner, int64_t ttl_ms) {
    int64_t now = self->host->boottime_ms(self->host);
    int64_t expires = ttl_ms < INT64_MAX - now ? now + ttl_ms : INT64_MAX;
    return sqlite_do(&self->writer, SQLITE_STATEMENT_LEASE_PUT, "ttti", key, owner, self->boot_id,
                     expires);
}

static alineo_code lease_change(alineo_storage *self, const char *key, const char *owner,
                                bool takes_free, int64_t ttl_ms, const char *doing,
                                alineo_error **err) {
    sqlite_connection *writer = &self->writer;
    al_autolock(&writer->lock);
    lease_state state = LEASE_FREE;
    int rc = sqlite_begin(writer);
    if (rc == SQLITE_OK)
        rc = lease_look(self, key, owner, &state);
    if (rc == SQLITE_OK && (state == LEASE_TAKEN || (state == LEASE_FREE && !takes_free))) {
        sqlite_rollback(writer);
        return self->host->fail(self->host, err, ALINEO_CONFLICT, NULL, "%s %s: the lease %s is %s",
                                doing, self->path, key,
                                state == LEASE_FREE ? "nobody's any more" : "somebody else's");
    }
    if (rc == SQLITE_OK)
        rc = ttl_ms >= 0 ? lease_write(self, key, owner, ttl_ms)
                         : sqlite_do(writer, SQLITE_STATEMENT_LEASE_DROP, "t", key);
    return finish(writer, rc, doing, err);
}

alineo_code sqlite_lease_acquire(alineo_storage *self, const char *key, const char *owner,
                                 int64_t ttl_ms, alineo_error **err) {
    return lease_change(self, key, owner, true, ttl_ms > 0 ? ttl_ms : 0, "take a lease in", err);
}

alineo_code sqlite_lease_renew(alineo_storage *self, const char *key, const char *owner,
                               int64_t ttl_ms, alineo_error **err) {
    return lease_change(self, key, owner, false, ttl_ms > 0 ? ttl_ms : 0, "renew a lease in", err);
}

alineo_code sqlite_lease_release(alineo_storage *self, const char *key, const char *owner,
                                 alineo_error **err) {
    return lease_change(self, key, owner, false, -1, "release a lease in", err);
}

/* --- meta ------------------------------------------------------------------------------------- */

alineo_code sqlite_meta_get(alineo_storage *self, const char *key, char **value,
                            alineo_error **err) {
    sqlite_connection *writer = &self->writer;
    al_autolock(&writer->lock);
    sqlite3_stmt *statement = NULL;
    int rc = sqlite_run(writer, SQLITE_STATEMENT_META_GET, &statement, "t", key);
    if (rc == SQLITE_DONE) {
        *value = NULL;
        return ALINEO_OK;
    }
    if (rc != SQLITE_ROW)
        return sqlite_fail(writer, rc, "read from", err);
    const char *text = (const char *)sqlite3_column_text(statement, 0);
    size_t size = text != NULL ? strlen(text) + 1 : 0;
    char *copy = text != NULL ? self->host->alloc(self->host, size) : NULL;
    if (copy != NULL)
        memcpy(copy, text, size);
    (void)sqlite3_reset(statement);
    if (copy == NULL)
        return sqlite_no_memory(self, "read from storage sqlite", err);
    *value = copy;
    return ALINEO_OK;
}

alineo_code sqlite_meta_put(alineo_storage *self, const char *key, const char *value,
                            uint32_t flags, alineo_error **err) {
    sqlite_connection *writer = &self->writer;
    al_autolock(&writer->lock);
    int rc = sqlite_begin(writer);
    if (rc == SQLITE_OK)
        rc = sqlite_do(writer,
                       (flags & ALINEO_META_IF_ABSENT) != 0 ? SQLITE_STATEMENT_META_ADD
                                                            : SQLITE_STATEMENT_META_PUT,
                       "tt", key, value);
    return finish(writer, rc, "write to", err);
}
