/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/postgres/postgres_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/cleanup.h"
#include "core/util/num.h"
#include "core/util/str.h"
#include "plugins/common/event_name.h"
#include "plugins/storage/postgres/postgres_statements.h"

/* A page is as many rows as the last one lets expect, or one alone where their payloads, as they
 * lie in the table, are more than this together. */
#define PAGE_SIZE "524288"
enum {
    PAGE_COUNT_FIRST = 128,
    PAGE_COUNT_MAX = 2048
};

static const char doing[] = "read";

enum {
    COLUMN_ID,
    COLUMN_TS,
    COLUMN_STEP,
    COLUMN_BRANCH,
    COLUMN_SANDBOX_ID,
    COLUMN_NAME,
    COLUMN_EVENT,
    COLUMN_PAYLOAD,
    COLUMN_ERROR
};

enum {
    BIND_AFTER,
    BIND_BOUND,
    BIND_SANDBOX_ID,
    BIND_NAME,
    BIND_STEP,
    BIND_EVENTS,
    BIND_LIMIT,
    BIND_COUNT
};

struct alineo_storage_reader {
    char *sandbox_id; /* NULL = all */
    char *name;       /* NULL = any */
    char *events;     /* in both dialects, as an array; NULL = all */
    char *query;
    char step[16];
    int64_t after;  /* the id behind which the next page begins */
    int limit;      /* rows of the next page */
    int64_t bound;  /* up to here all is decided; less than `after`: to be asked for */
    PGresult *page; /* what records point into */
    int count;      /* of its rows that lie within the bound */
    int next;
    char position[24];
};

/* --- opening ---------------------------------------------------------------------------------- */

static void reader_free(alineo_storage_reader *reader) {
    PQclear(reader->page);
    free(reader->sandbox_id);
    free(reader->name);
    free(reader->events);
    free(reader->query);
    free(reader);
}

static char *events_array(const char *const *events) {
    al_buf array = AL_BUF_INIT;
    for (size_t i = 0; events[i] != NULL; i++) {
        common_event event = common_event_of(events[i]);
        postgres_array_add(&array,
                           event == COMMON_EVENT_UNKNOWN ? events[i] : common_event_flat(event));
        if (event != COMMON_EVENT_UNKNOWN)
            postgres_array_add(&array, common_event_dotted(event));
    }
    (void)postgres_array_end(&array);
    return al_buf_steal(&array, NULL);
}

#define PLACE "(" POSTGRES_ID("") ", id)"
#define OF_SESSION_IN_BOUND PLACE " > ($3::text, $1::int8) AND " PLACE " <= ($3::text, $2::int8)"
#define OF_ALL_IN_BOUND "id > $1::int8 AND id <= $2::int8 AND $3::text IS NULL"
#define ROW_SIZE "coalesce(pg_column_size(payload), 0) + coalesce(octet_length(error), 0)"

/* Parameters that are not used are there all the same, and need a type. Rows of a session are asked
 * for in the order of its index and no other: the planner would read the table as it lies where it
 * takes the session for a large part of it. */
static char *write_query(const alineo_storage_reader *reader) {
    bool is_one = reader->sandbox_id != NULL;
    al_buf text = AL_BUF_INIT;
    al_buf_append_str(&text, "WITH p AS MATERIALIZED (SELECT id, ts, step_idx, branch, sandbox_id, "
                             "name, event, payload, error FROM alineo_events WHERE ");
    al_buf_append_str(&text, is_one ? OF_SESSION_IN_BOUND : OF_ALL_IN_BOUND);
    al_buf_append_str(&text,
                      reader->name != NULL ? " AND name = $4::text" : " AND $4::text IS NULL");
    al_buf_append_str(&text, reader->step[0] != '\0' ? " AND step_idx = $5::int4"
                                                     : " AND $5::int4 IS NULL");
    al_buf_append_str(&text, reader->events != NULL ? " AND event = ANY($6::text[])"
                                                    : " AND $6::text[] IS NULL");
    al_buf_append_str(&text, is_one ? " ORDER BY " POSTGRES_ID("") ", id" : " ORDER BY id");
    al_buf_append_str(&text, " LIMIT $7::int8) SELECT id, ts, step_idx, branch, sandbox_id, name, "
                             "event, payload::text, error FROM p WHERE (SELECT sum(" ROW_SIZE
                             ") FROM p) < " PAGE_SIZE " OR id = (SELECT min(id) FROM p) "
                             "ORDER BY id");
    return al_buf_steal(&text, NULL);
}

static bool copy_request(alineo_storage_reader *reader, const alineo_read_request *request) {
    bool is_good = (request->sandbox_id == NULL ||
                    al_str_replace(&reader->sandbox_id, request->sandbox_id) == 0) &&
                   (request->name == NULL || al_str_replace(&reader->name, request->name) == 0);
    if (is_good && request->events != NULL) {
        reader->events = events_array(request->events);
        is_good = reader->events != NULL;
    }
    if (request->step_idx != 0)
        (void)snprintf(reader->step, sizeof(reader->step), "%" PRId32, request->step_idx);
    if (is_good)
        reader->query = write_query(reader);
    return is_good && reader->query != NULL;
}

alineo_code postgres_read_open(alineo_storage *self, const alineo_read_request *request,
                               alineo_storage_reader **out, alineo_error **err) {
    int64_t after = 0;
    if (request->after != NULL && al_parse_int64_in(request->after, 0, INT64_MAX, &after) != 0)
        return self->host->fail(self->host, err, ALINEO_INVALID_ARGUMENT,
                                "use the position of a record that was read",
                                "read %s: \"%.63s\" is no position", self->target, request->after);
    alineo_storage_reader *reader = calloc(1, sizeof(*reader));
    if (reader == NULL)
        return postgres_no_memory(self, doing, err);
    reader->after = after;
    reader->bound = -1;
    reader->limit = PAGE_COUNT_FIRST;
    if (!copy_request(reader, request)) {
        reader_free(reader);
        return postgres_no_memory(self, doing, err);
    }
    *out = reader;
    return ALINEO_OK;
}

void postgres_read_close(alineo_storage *self, alineo_storage_reader *reader) {
    (void)self;
    if (reader != NULL)
        reader_free(reader);
}

/* --- pages ------------------------------------------------------------------------------------ */

typedef struct page_texts {
    char after[24];
    char bound[24];
    char limit[16];
} page_texts;

/* Up to `bound`. */
static postgres_step page_step(const alineo_storage_reader *reader, int64_t bound,
                               page_texts *texts) {
    (void)snprintf(texts->after, sizeof(texts->after), "%" PRId64, reader->after);
    (void)snprintf(texts->bound, sizeof(texts->bound), "%" PRId64, bound);
    (void)snprintf(texts->limit, sizeof(texts->limit), "%d", reader->limit);
    postgres_step step = {.text = reader->query, .count = BIND_COUNT};
    step.values[BIND_AFTER] = texts->after;
    step.values[BIND_BOUND] = texts->bound;
    step.values[BIND_SANDBOX_ID] = reader->sandbox_id;
    step.values[BIND_NAME] = reader->name;
    step.values[BIND_STEP] = reader->step[0] != '\0' ? reader->step : NULL;
    step.values[BIND_EVENTS] = reader->events;
    step.values[BIND_LIMIT] = texts->limit;
    return step;
}

static void take_page(alineo_storage_reader *reader, PGresult *page) {
    reader->page = page;
    reader->next = 0;
    reader->count = PQntuples(page);
    if (reader->count == 1 && reader->limit > 1)
        reader->limit = reader->limit / 8 + 1;
    else if (reader->count == reader->limit && reader->limit < PAGE_COUNT_MAX)
        reader->limit *= 2;
    while (reader->count > 0 && postgres_int64(page, reader->count - 1, COLUMN_ID) > reader->bound)
        reader->count--;
    /* Nothing up to the bound: that part need not be searched again. */
    if (reader->count == 0 && reader->bound > reader->after)
        reader->after = reader->bound;
}

static alineo_code read_within_bound(postgres_connection *connection, alineo_storage_reader *reader,
                                     alineo_error **err) {
    page_texts texts;
    PGresult *page = NULL;
    postgres_step step = page_step(reader, reader->bound, &texts);
    alineo_code code = postgres_run(connection, POSTGRES_ANSWER_MS, &step, doing, &page, err);
    if (code == ALINEO_OK)
        take_page(reader, page);
    return code;
}

/* Asks for a new bound and reads in the same round; again only where a transaction was awaited. */
static alineo_code read_with_fence(postgres_connection *connection, alineo_storage_reader *reader,
                                   alineo_error **err) {
    page_texts texts;
    postgres_step steps[POSTGRES_FENCE_STEPS + 1];
    postgres_step *page = &steps[POSTGRES_FENCE_STEPS];
    postgres_fence_ask(connection->store, reader->sandbox_id != NULL, steps);
    *page = page_step(reader, INT64_MAX, &texts);
    alineo_code code =
        postgres_pipeline(connection, POSTGRES_ANSWER_MS, steps, AL_COUNT(steps), doing, err);
    if (code != ALINEO_OK)
        return code;
    bool waited = false;
    code = postgres_fence_settle(connection, steps, &reader->bound, &waited, err);
    if (code == ALINEO_OK && !waited) {
        take_page(reader, page->result);
        page->result = NULL;
    }
    postgres_clear(steps, AL_COUNT(steps));
    return code == ALINEO_OK && waited ? read_within_bound(connection, reader, err) : code;
}

static alineo_code next_page(postgres_connection *connection, void *user, alineo_error **err) {
    alineo_storage_reader *reader = user;
    PQclear(reader->page);
    reader->page = NULL;
    reader->count = reader->next = 0;
    if (reader->after < reader->bound) {
        alineo_code code = read_within_bound(connection, reader, err);
        if (code != ALINEO_OK || reader->count > 0)
            return code;
        PQclear(reader->page);
        reader->page = NULL;
    }
    return read_with_fence(connection, reader, err);
}

alineo_code postgres_read_next(alineo_storage *self, alineo_storage_reader *reader,
                               alineo_ledger_record *record, int32_t *found, alineo_error **err) {
    if (reader->next == reader->count) {
        alineo_code code = postgres_do(self, NULL, next_page, reader, err);
        if (code != ALINEO_OK)
            return code;
    }
    *found = reader->count > 0;
    if (reader->count == 0)
        return ALINEO_OK;
    const PGresult *page = reader->page;
    int row = reader->next++;
    reader->after = postgres_int64(page, row, COLUMN_ID);
    (void)snprintf(reader->position, sizeof(reader->position), "%" PRId64, reader->after);
    record->position = reader->position;
    record->sandbox_id = postgres_text(page, row, COLUMN_SANDBOX_ID);
    record->name = postgres_text(page, row, COLUMN_NAME);
    record->step_idx = (int32_t)postgres_int64(page, row, COLUMN_STEP);
    record->has_branch = !PQgetisnull(page, row, COLUMN_BRANCH);
    record->branch = record->has_branch ? (int32_t)postgres_int64(page, row, COLUMN_BRANCH) : 0;
    record->event = postgres_text(page, row, COLUMN_EVENT);
    record->payload = postgres_text(page, row, COLUMN_PAYLOAD);
    record->payload_size = (size_t)PQgetlength(page, row, COLUMN_PAYLOAD);
    record->error = postgres_text(page, row, COLUMN_ERROR);
    record->ts_ms = postgres_int64(page, row, COLUMN_TS);
    return ALINEO_OK;
}
