/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/sqlite/sqlite_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/buf.h"
#include "core/util/cleanup.h"
#include "core/util/num.h"
#include "core/util/str.h"
#include "core/util/strv.h"
#include "plugins/common/event_name.h"

enum {
    PAGE_COUNT = 256,
    PAGE_SIZE = 512 * 1024 /* a page ends with the row that goes past this */
};

/* A row whose texts lie in the page: where they begin, SIZE_MAX = NULL. */
typedef struct page_row {
    int64_t id;
    int64_t ts_ms;
    int32_t step_idx;
    int32_t has_branch;
    int32_t branch;
    size_t sandbox_id;
    size_t name;
    size_t event;
    size_t payload;
    size_t payload_size;
    size_t error;
} page_row;

struct alineo_storage_reader {
    char *sandbox_id; /* NULL = all */
    char *name;       /* NULL = any */
    bool has_events;
    al_strv events; /* in both dialects */
    int32_t step_idx;
    sqlite3_stmt *statement; /* belongs to the reading connection: touch it with its lock */
    int64_t after;           /* the id behind which the next page begins */
    char position[24];
    page_row rows[PAGE_COUNT];
    size_t count;
    size_t next;
    al_buf texts;
};

/* --- opening ---------------------------------------------------------------------------------- */

static void reader_free(alineo_storage_reader *reader) {
    free(reader->sandbox_id);
    free(reader->name);
    al_strv_free(&reader->events);
    al_buf_free(&reader->texts);
    free(reader);
}

static int add_event(al_strv *list, const char *name) {
    common_event event = common_event_of(name);
    if (event == COMMON_EVENT_UNKNOWN)
        return al_strv_append(list, name);
    int rc = al_strv_append(list, common_event_flat(event));
    return rc == 0 ? al_strv_append(list, common_event_dotted(event)) : rc;
}

static int copy_request(alineo_storage_reader *reader, const alineo_read_request *request) {
    reader->step_idx = request->step_idx;
    reader->has_events = request->events != NULL;
    int rc =
        request->sandbox_id != NULL ? al_str_replace(&reader->sandbox_id, request->sandbox_id) : 0;
    if (rc == 0 && request->name != NULL)
        rc = al_str_replace(&reader->name, request->name);
    for (size_t i = 0; rc == 0 && reader->has_events && request->events[i] != NULL; i++)
        rc = add_event(&reader->events, request->events[i]);
    return rc;
}

alineo_code sqlite_read_open(alineo_storage *self, const alineo_read_request *request,
                             alineo_storage_reader **out, alineo_error **err) {
    int64_t after = 0;
    if (request->after != NULL && al_parse_int64_in(request->after, 0, INT64_MAX, &after) != 0)
        return self->host->fail(self->host, err, ALINEO_INVALID_ARGUMENT,
                                "use the position of a record that was read",
                                "read %s: \"%.63s\" is no position", self->path, request->after);
    alineo_storage_reader *reader = calloc(1, sizeof(*reader));
    if (reader == NULL)
        return sqlite_no_memory(self, "read storage sqlite", err);
    reader->after = after;
    if (copy_request(reader, request) != 0) {
        reader_free(reader);
        return sqlite_no_memory(self, "read storage sqlite", err);
    }
    *out = reader;
    return ALINEO_OK;
}

void sqlite_read_close(alineo_storage *self, alineo_storage_reader *reader) {
    if (reader == NULL)
        return;
    (void)al_lock(&self->reader->lock);
    (void)sqlite3_finalize(reader->statement);
    (void)pthread_mutex_unlock(&self->reader->lock);
    reader_free(reader);
}

/* --- pages ------------------------------------------------------------------------------------ */

/* The plus signs keep SQLite from taking the index of names where that of sessions is the better.
 */
static void write_query(const alineo_storage_reader *reader, al_buf *out) {
    al_buf_append_str(out, "SELECT id, ts, step_idx, branch, sandbox_id, name, event, payload, "
                           "error FROM alineo_events WHERE id > ?1");
    if (reader->sandbox_id != NULL)
        al_buf_append_str(out, " AND sandbox_id = ?2");
    if (reader->name != NULL)
        al_buf_append_str(out, reader->sandbox_id != NULL ? " AND +name = ?3" : " AND name = ?3");
    if (reader->step_idx != 0)
        al_buf_append_str(out, " AND step_idx = ?4");
    if (reader->has_events) {
        al_buf_append_str(out, " AND event IN (");
        for (size_t i = 0; i < reader->events.count; i++)
            al_buf_printf(out, "%s?%zu", i > 0 ? ", " : "", i + 5);
        al_buf_append_str(out, ")");
    }
    al_buf_append_str(out, " ORDER BY id");
}

static int prepare(alineo_storage_reader *reader, sqlite3 *db) {
    al_auto(al_buf_free) al_buf query = AL_BUF_INIT;
    write_query(reader, &query);
    if (query.error != 0)
        return SQLITE_NOMEM;
    int rc = sqlite3_prepare_v3(db, query.data, (int)query.size, SQLITE_PREPARE_PERSISTENT,
                                &reader->statement, NULL);
    if (rc == SQLITE_OK && reader->sandbox_id != NULL)
        rc = sqlite3_bind_text(reader->statement, 2, reader->sandbox_id, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK && reader->name != NULL)
        rc = sqlite3_bind_text(reader->statement, 3, reader->name, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK && reader->step_idx != 0)
        rc = sqlite3_bind_int(reader->statement, 4, reader->step_idx);
    for (size_t i = 0; rc == SQLITE_OK && i < reader->events.count; i++)
        rc = sqlite3_bind_text(reader->statement, (int)i + 5, reader->events.items[i], -1,
                               SQLITE_STATIC);
    return rc;
}

static size_t add_text(al_buf *texts, sqlite3_stmt *statement, int column, size_t *size) {
    const void *text = sqlite3_column_text(statement, column);
    if (text == NULL)
        return SIZE_MAX;
    size_t at = texts->size;
    *size = (size_t)sqlite3_column_bytes(statement, column);
    al_buf_append(texts, text, *size);
    al_buf_append_char(texts, '\0');
    return at;
}

static bool add_row(alineo_storage_reader *reader) {
    sqlite3_stmt *s = reader->statement;
    al_buf *texts = &reader->texts;
    page_row *row = &reader->rows[reader->count];
    size_t size = 0;
    row->id = sqlite3_column_int64(s, 0);
    row->ts_ms = sqlite3_column_int64(s, 1);
    row->step_idx = sqlite3_column_int(s, 2);
    row->has_branch = sqlite3_column_type(s, 3) != SQLITE_NULL;
    row->branch = sqlite3_column_int(s, 3);
    row->sandbox_id = add_text(texts, s, 4, &size);
    row->name = add_text(texts, s, 5, &size);
    row->event = add_text(texts, s, 6, &size);
    row->payload_size = 0;
    row->payload = add_text(texts, s, 7, &row->payload_size);
    row->error = add_text(texts, s, 8, &size);
    /* A column that may not be NULL is so only where there was no memory for its text. */
    if (texts->error != 0 || row->sandbox_id == SIZE_MAX || row->name == SIZE_MAX ||
        row->event == SIZE_MAX ||
        (row->payload == SIZE_MAX && sqlite3_column_type(s, 7) != SQLITE_NULL))
        return false;
    reader->count++;
    return true;
}

/* With the connection's lock. */
static int read_page(sqlite_connection *connection, alineo_storage_reader *reader) {
    int rc = reader->statement == NULL ? prepare(reader, connection->db) : SQLITE_OK;
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(reader->statement, 1, reader->after);
    if (rc != SQLITE_OK)
        return rc;
    bool has_memory = true;
    while (has_memory && reader->count < PAGE_COUNT && reader->texts.size < PAGE_SIZE &&
           sqlite3_step(reader->statement) == SQLITE_ROW)
        has_memory = add_row(reader);
    rc = sqlite3_reset(reader->statement);
    return has_memory ? rc : SQLITE_NOMEM;
}

static alineo_code next_page(alineo_storage *self, alineo_storage_reader *reader,
                             alineo_error **err) {
    sqlite_connection *connection = self->reader;
    reader->count = reader->next = 0;
    al_buf_clear(&reader->texts);
    al_autolock(&connection->lock);
    alineo_code code = sqlite_connect(connection, err);
    if (code != ALINEO_OK)
        return code;
    /* Asked before the rows are, so that what is stored in between is not taken for seen. */
    int64_t version = 0;
    int rc = sqlite_change_count(connection, &version);
    if (rc == SQLITE_OK)
        rc = read_page(connection, reader);
    if (rc != SQLITE_OK) {
        reader->count = 0;
        return sqlite_fail(connection, rc, "read", err);
    }
    if (reader->count == 0)
        atomic_store(&self->seen, version);
    return ALINEO_OK;
}

static const char *text_at(const alineo_storage_reader *reader, size_t at) {
    return at != SIZE_MAX ? reader->texts.data + at : NULL;
}

alineo_code sqlite_read_next(alineo_storage *self, alineo_storage_reader *reader,
                             alineo_ledger_record *record, int32_t *found, alineo_error **err) {
    if (reader->next == reader->count) {
        alineo_code code = next_page(self, reader, err);
        if (code != ALINEO_OK)
            return code;
    }
    *found = reader->count > 0;
    if (reader->count == 0)
        return ALINEO_OK;
    const page_row *row = &reader->rows[reader->next++];
    reader->after = row->id;
    (void)snprintf(reader->position, sizeof(reader->position), "%" PRId64, row->id);
    record->position = reader->position;
    record->sandbox_id = text_at(reader, row->sandbox_id);
    record->name = text_at(reader, row->name);
    record->step_idx = row->step_idx;
    record->has_branch = row->has_branch;
    record->branch = row->branch;
    record->event = text_at(reader, row->event);
    record->payload = text_at(reader, row->payload);
    record->payload_size = row->payload_size;
    record->error = text_at(reader, row->error);
    record->ts_ms = row->ts_ms;
    return ALINEO_OK;
}
