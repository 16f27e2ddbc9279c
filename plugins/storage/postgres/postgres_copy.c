/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/storage/postgres/postgres_store.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/str.h"

#define COPY                                                                                       \
    "COPY alineo_events(sandbox_id, name, step_idx, branch, event, payload, error, ts) "           \
    "FROM STDIN (FORMAT binary)"

static const char doing[] = "append to";

enum {
    FIELDS = 8,
    PIECE_SIZE = 64 * 1024,
    JSONB_VERSION = 1
};

/* --- the binary form -------------------------------------------------------------------------- */

static void put_int16(al_buf *out, int16_t value) {
    uint16_t wire = htobe16((uint16_t)value);
    al_buf_append(out, &wire, sizeof(wire));
}

static void put_int32(al_buf *out, int32_t value) {
    uint32_t wire = htobe32((uint32_t)value);
    al_buf_append(out, &wire, sizeof(wire));
}

static void put_int32_field(al_buf *out, int32_t value) {
    put_int32(out, sizeof(value));
    put_int32(out, value);
}

static void put_text_field(al_buf *out, const char *text) {
    if (text == NULL) {
        put_int32(out, -1);
        return;
    }
    size_t size = strlen(text);
    put_int32(out, (int32_t)size);
    al_buf_append(out, text, size);
}

static void put_payload_field(al_buf *out, const char *payload, size_t size) {
    if (payload == NULL) {
        put_int32(out, -1);
        return;
    }
    put_int32(out, (int32_t)size + 1);
    al_buf_append_char(out, JSONB_VERSION);
    al_buf_append(out, payload, size);
}

static void put_entry(al_buf *out, const alineo_ledger_entry *entry, int64_t ts_ms) {
    put_int16(out, FIELDS);
    put_text_field(out, entry->sandbox_id);
    put_text_field(out, entry->name);
    put_int32_field(out, entry->step_idx);
    if (entry->has_branch)
        put_int32_field(out, entry->branch);
    else
        put_int32(out, -1);
    put_text_field(out, entry->event);
    put_payload_field(out, entry->payload, entry->payload_size);
    put_text_field(out, entry->error);
    put_int32(out, sizeof(ts_ms));
    uint64_t wire = htobe64((uint64_t)ts_ms);
    al_buf_append(out, &wire, sizeof(wire));
}

/* --- sending ---------------------------------------------------------------------------------- */

/* Bit by bit, so that what waits to be sent stays small however large a payload is. */
static alineo_code send_pieces(postgres_connection *connection, al_buf *bytes, alineo_error **err) {
    if (bytes->error != 0)
        return postgres_no_memory(connection->store, doing, err);
    alineo_code code = ALINEO_OK;
    for (size_t at = 0; at < bytes->size && code == ALINEO_OK; at += PIECE_SIZE) {
        size_t size = bytes->size - at < PIECE_SIZE ? bytes->size - at : PIECE_SIZE;
        connection->deadline = al_deadline_after_ms(POSTGRES_ANSWER_MS);
        if (PQputCopyData(connection->db, bytes->data + at, (int)size) != 1)
            return postgres_fail_lost(connection, doing, err);
        code = postgres_flush(connection, doing, err);
    }
    al_buf_clear(bytes);
    return code;
}

static alineo_code send_rows(postgres_connection *connection, const postgres_copy *copy,
                             alineo_error **err) {
    static const char head[] = "PGCOPY\n\377\r\n";
    al_auto(al_buf_free) al_buf bytes = AL_BUF_INIT;
    al_buf_append(&bytes, head, sizeof(head)); /* its NUL belongs to it */
    put_int32(&bytes, 0);
    put_int32(&bytes, 0);
    alineo_code code = ALINEO_OK;
    for (size_t i = 0; i < copy->count && code == ALINEO_OK; i++) {
        put_entry(&bytes, copy->entries[i], copy->ts_ms[i]);
        if (bytes.size >= PIECE_SIZE || bytes.error != 0)
            code = send_pieces(connection, &bytes, err);
    }
    put_int16(&bytes, -1);
    if (code == ALINEO_OK)
        code = send_pieces(connection, &bytes, err);
    if (code == ALINEO_OK && PQputCopyEnd(connection->db, NULL) != 1)
        code = postgres_fail_lost(connection, doing, err);
    return code;
}

/* --- answers ---------------------------------------------------------------------------------- */

static alineo_code receive_result(postgres_connection *connection, PGresult **out,
                                  alineo_error **err) {
    connection->deadline = al_deadline_after_ms(POSTGRES_ANSWER_MS);
    alineo_code code = postgres_await(connection, doing, err);
    *out = code == ALINEO_OK ? PQgetResult(connection->db) : NULL;
    return code;
}

/* The results of the statements, up to the end or the first that failed. */
static alineo_code receive_results(postgres_connection *connection, postgres_copy *copy,
                                   alineo_error **err) {
    alineo_code refusal = ALINEO_OK, code = ALINEO_OK;
    alineo_error *late = NULL;
    PGresult *result = NULL;
    do {
        code = receive_result(connection, &result, refusal == ALINEO_OK ? err : &late);
        ExecStatusType status = PQresultStatus(result);
        if (result != NULL && refusal == ALINEO_OK && status != PGRES_COMMAND_OK &&
            status != PGRES_TUPLES_OK) {
            copy->is_refused = postgres_is_refused_data(result);
            refusal = postgres_fail(connection, result, doing, err);
        }
        PQclear(result);
    } while (result != NULL && !connection->is_lost);
    connection->store->host->drop_error(connection->store->host, late);
    return refusal != ALINEO_OK ? refusal : code;
}

alineo_code postgres_copy_rows(postgres_connection *connection, postgres_copy *copy,
                               alineo_error **err) {
    al_autofree char *text = al_strf(COPY "%s", copy->rest);
    copy->is_refused = false;
    if (text == NULL)
        return postgres_no_memory(connection->store, doing, err);
    if (PQsendQuery(connection->db, text) != 1)
        return postgres_fail_lost(connection, doing, err);
    PGresult *result = NULL;
    alineo_code code = receive_result(connection, &result, err);
    bool is_ready = PQresultStatus(result) == PGRES_COPY_IN;
    if (code == ALINEO_OK && !is_ready)
        code = postgres_fail(connection, result, doing, err);
    PQclear(result);
    if (code == ALINEO_OK)
        code = send_rows(connection, copy, err);
    if (code == ALINEO_OK)
        return receive_results(connection, copy, err);
    /* What was begun cannot be taken back in order. */
    connection->is_lost = connection->is_lost || is_ready;
    if (!connection->is_lost) {
        alineo_error *ignored = NULL;
        (void)receive_results(connection, copy, &ignored);
        connection->store->host->drop_error(connection->store->host, ignored);
    }
    return code;
}
