/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/sqlite/sqlite_store.h"

#include <stdlib.h>
#include <string.h>

#include "core/util/cleanup.h"

#define PAYLOAD_SIZE_MAX ((size_t)32 * 1024 * 1024)
/* A writer that was not seen for so long sends nothing again. */
#define WRITER_FORGET_MS (7 * 24 * 3600 * INT64_C(1000))

enum {
    NEWEST_COUNT_MAX = 4096
};

/* What append finds out about one call, to be told when the transaction is over. */
typedef struct outcome {
    int rc;           /* of SQLite; SQLITE_OK = fine so far */
    alineo_code code; /* what the entry gets: CONFLICT or STORAGE_REJECTED; ALINEO_OK = none */
    size_t index;     /* of that entry */
} outcome;

/* --- the newest ts of a session --------------------------------------------------------------- */

void sqlite_forget_newest(alineo_storage *self) {
    size_t at = 0;
    void *value = NULL;
    while (al_hash_next(&self->newest, &at, NULL, &value))
        free(value);
    al_hash_free(&self->newest);
}

/* What is known of sessions holds as long as nobody else has written. */
static int check_newest(alineo_storage *self) {
    int64_t version = 0;
    int rc = sqlite_data_version(&self->writer, &version);
    if (rc == SQLITE_OK &&
        (version != self->newest_version || self->newest.count > NEWEST_COUNT_MAX))
        sqlite_forget_newest(self);
    self->newest_version = version;
    return rc;
}

/* Where the newest ts of the session is kept; NULL and *rc on failure. Our own rows never go back,
 * so the last ones tell: a few, since other software may have written them with another clock. */
static int64_t *newest_of(alineo_storage *self, const char *sandbox_id, int *rc) {
    int64_t *newest = al_hash_get(&self->newest, sandbox_id);
    if (newest != NULL)
        return newest;
    sqlite3_stmt *statement = NULL;
    *rc = sqlite_run(&self->writer, SQLITE_STATEMENT_NEWEST, &statement, "t", sandbox_id);
    if (*rc != SQLITE_ROW)
        return NULL;
    newest = malloc(sizeof(*newest));
    if (newest != NULL) {
        *newest = INT64_MIN;
        if (sqlite3_column_type(statement, 0) != SQLITE_NULL)
            *newest = sqlite3_column_int64(statement, 0);
    }
    *rc = sqlite3_reset(statement);
    if (newest == NULL || *rc != SQLITE_OK ||
        al_hash_set(&self->newest, sandbox_id, newest, NULL) != 0) {
        free(newest);
        *rc = *rc != SQLITE_OK ? *rc : SQLITE_NOMEM;
        return NULL;
    }
    return newest;
}

/* --- entries ---------------------------------------------------------------------------------- */

static int is_claimed(alineo_storage *self, const alineo_ledger_entry *entry, bool *claimed) {
    sqlite3_stmt *statement = NULL;
    int rc = sqlite_run(&self->writer, SQLITE_STATEMENT_CLAIM, &statement, "ti", entry->sandbox_id,
                        (int64_t)entry->step_idx);
    *claimed = rc == SQLITE_ROW;
    if (rc == SQLITE_ROW)
        return sqlite3_reset(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int bind_entry(sqlite3_stmt *statement, const alineo_ledger_entry *entry, int64_t ts) {
    int rc = sqlite3_bind_text(statement, 1, entry->sandbox_id, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(statement, 2, entry->name, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int(statement, 3, entry->step_idx);
    if (rc == SQLITE_OK)
        rc = entry->has_branch ? sqlite3_bind_int(statement, 4, entry->branch)
                               : sqlite3_bind_null(statement, 4);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(statement, 5, entry->event, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text64(statement, 6, entry->payload, entry->payload_size, SQLITE_STATIC,
                                 SQLITE_UTF8);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(statement, 7, entry->error, -1, SQLITE_STATIC);
    return rc == SQLITE_OK ? sqlite3_bind_int64(statement, 8, ts) : rc;
}

static bool is_rejection(int rc) {
    return (rc & 0xff) == SQLITE_TOOBIG || (rc & 0xff) == SQLITE_CONSTRAINT;
}

static void store_entry(alineo_storage *self, const alineo_ledger_entry *entry, outcome *out) {
    if (entry->payload_size > PAYLOAD_SIZE_MAX) {
        out->code = ALINEO_STORAGE_REJECTED;
        return;
    }
    bool claimed = false;
    if ((entry->flags & ALINEO_ENTRY_CLAIMS_STEP) != 0)
        out->rc = is_claimed(self, entry, &claimed);
    if (claimed)
        out->code = ALINEO_CONFLICT;
    if (out->rc != SQLITE_OK || claimed)
        return;
    int64_t *newest = newest_of(self, entry->sandbox_id, &out->rc);
    if (newest == NULL)
        return;
    if (entry->ts_ms > *newest)
        *newest = entry->ts_ms;
    sqlite3_stmt *statement = NULL;
    out->rc = sqlite_prepare(&self->writer, SQLITE_STATEMENT_INSERT, &statement);
    if (out->rc != SQLITE_OK)
        return;
    out->rc = bind_entry(statement, entry, *newest);
    if (out->rc == SQLITE_OK)
        (void)sqlite3_step(statement);
    int rc = sqlite3_reset(statement);
    out->rc = out->rc != SQLITE_OK ? out->rc : rc;
    if (is_rejection(out->rc))
        out->code = ALINEO_STORAGE_REJECTED;
}

/* --- writers ---------------------------------------------------------------------------------- */

/* *id and *last: what is known of the writer; 0 and 0 when it is new. */
static int find_writer(alineo_storage *self, const char *writer_id, int64_t *id, int64_t *last) {
    sqlite3_stmt *statement = NULL;
    *id = *last = 0;
    int rc = sqlite_run(&self->writer, SQLITE_STATEMENT_WRITER_GET, &statement, "t", writer_id);
    if (rc == SQLITE_DONE)
        return SQLITE_OK;
    if (rc != SQLITE_ROW)
        return rc;
    *id = sqlite3_column_int64(statement, 0);
    *last = sqlite3_column_int64(statement, 1);
    return sqlite3_reset(statement);
}

static int keep_writer(alineo_storage *self, const char *writer_id, int64_t id, uint64_t last) {
    int64_t now = self->host->now_ms(self->host);
    if (id != 0)
        return sqlite_do(&self->writer, SQLITE_STATEMENT_WRITER_SET, "iii", id, (int64_t)last, now);
    /* A new one takes two old ones away, so that they do not pile up. */
    int rc = sqlite_do(&self->writer, SQLITE_STATEMENT_WRITER_FORGET, "i", now - WRITER_FORGET_MS);
    if (rc != SQLITE_OK)
        return rc;
    return sqlite_do(&self->writer, SQLITE_STATEMENT_WRITER_ADD, "tii", writer_id, (int64_t)last,
                     now);
}

/* --- batches ---------------------------------------------------------------------------------- */

/* In a transaction. Of a batch that is sent again only what is new is stored. */
static void store_batch(alineo_storage *self, const alineo_ledger_batch *batch, outcome *out) {
    int64_t id = 0, last = 0;
    out->rc = find_writer(self, batch->writer_id, &id, &last);
    if (out->rc == SQLITE_OK)
        out->rc = check_newest(self);
    uint64_t end = batch->first_n + batch->count - 1;
    if (out->rc != SQLITE_OK || end <= (uint64_t)last)
        return;
    size_t from =
        batch->first_n <= (uint64_t)last ? (size_t)((uint64_t)last - batch->first_n) + 1 : 0;
    for (size_t i = from; i < batch->count && out->rc == SQLITE_OK && out->code == ALINEO_OK; i++) {
        out->index = i;
        store_entry(self, batch->entries[i], out);
    }
    if (out->rc == SQLITE_OK && out->code == ALINEO_OK)
        out->rc = keep_writer(self, batch->writer_id, id, end);
}

static alineo_code refuse_entry(alineo_storage *self, const alineo_ledger_entry *entry,
                                const outcome *out, alineo_error **err) {
    const alineo_host *host = self->host;
    if (out->code == ALINEO_CONFLICT)
        return host->fail(host, err, ALINEO_CONFLICT, NULL, "append to %s: step %d of %s is taken",
                          self->path, entry->step_idx, entry->sandbox_id);
    if (out->rc == SQLITE_OK)
        return host->fail(host, err, ALINEO_STORAGE_REJECTED, NULL,
                          "append to %s: a payload of %zu bytes is above the limit of 32 MiB",
                          self->path, entry->payload_size);
    return host->fail(host, err, ALINEO_STORAGE_REJECTED, NULL, "append to %s: %s", self->path,
                      sqlite3_errmsg(self->writer.db));
}

alineo_code sqlite_append(alineo_storage *self, const alineo_ledger_batch *batch,
                          size_t *failed_index, alineo_error **err) {
    al_autolock(&self->writer.lock);
    outcome out = {.rc = sqlite_begin(&self->writer)};
    if (out.rc == SQLITE_OK)
        store_batch(self, batch, &out);
    if (out.rc == SQLITE_OK && out.code == ALINEO_OK)
        out.rc = sqlite_commit(&self->writer);
    if (out.rc == SQLITE_OK && out.code == ALINEO_OK)
        return ALINEO_OK;
    alineo_code code;
    if (out.code != ALINEO_OK) {
        code = refuse_entry(self, batch->entries[out.index], &out, err);
        if (code == out.code)
            *failed_index = out.index;
    } else {
        code = sqlite_fail(&self->writer, out.rc, "append to", err);
    }
    sqlite_rollback(&self->writer);
    sqlite_forget_newest(self);
    return code;
}
