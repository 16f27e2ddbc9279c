/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/fake_storage.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/util/base64.h"
#include "core/util/cleanup.h"
#include "core/util/json.h"
#include "core/util/str.h"
#include "tests/support/test.h"

static const alineo_storage_descriptor DESCRIPTOR = {
    sizeof(DESCRIPTOR), "fake", "keeps rows and fails as it is told", NULL, 0, 0};

static fake_storage *fake_of(alineo_storage *self) {
    return (void *)self;
}

static void keep(fake_storage *fake, const alineo_ledger_entry *entry, uint64_t number) {
    if (number <= fake->last_number)
        return;
    /* Numbers are given out in order, and those that are left out were refused. */
    fake->last_number = number;
    fake->rows = realloc(fake->rows, (fake->row_count + 1) * sizeof(*fake->rows));
    assert_non_null(fake->rows);
    fake->rows[fake->row_count++] = (fake_row){
        .number = number,
        .sandbox_id = al_strdup(entry->sandbox_id),
        .event = al_strdup(entry->event),
        .payload = al_memdup(entry->payload, entry->payload_size),
        .payload_size = entry->payload_size,
        .error = al_strdup(entry->error),
        .step_idx = entry->step_idx,
        .ts_ms = entry->ts_ms,
    };
}

/* What is wrong with the entry, or ALINEO_OK. */
static alineo_code judge(const fake_storage *fake, const alineo_ledger_entry *entry) {
    if ((entry->flags & ALINEO_ENTRY_CLAIMS_STEP) != 0 && entry->step_idx == fake->taken_step)
        return ALINEO_CONFLICT;
    if (entry->payload == NULL)
        return ALINEO_OK;
    if (fake->rejected != NULL && strstr(entry->payload, fake->rejected) != NULL)
        return ALINEO_STORAGE_REJECTED;
    if (fake->rejects_markers && strstr(entry->payload, "\"rejected\"") != NULL)
        return ALINEO_STORAGE_REJECTED;
    return ALINEO_OK;
}

static void spend_time(fake_storage *fake) {
    int64_t ns = fake->append_ns;
    if (ns == 0)
        return;
    (void)pthread_mutex_unlock(&fake->lock);
    struct timespec pause = {ns / 1000000000, ns % 1000000000};
    (void)nanosleep(&pause, NULL);
    (void)al_lock(&fake->lock);
}

static alineo_code fake_append(alineo_storage *self, const alineo_ledger_batch *batch,
                               size_t *failed_index, alineo_error **err) {
    fake_storage *fake = fake_of(self);
    al_autolock(&fake->lock);
    fake->append_count++;
    (void)pthread_cond_broadcast(&fake->changed);
    while (fake->hangs)
        (void)pthread_cond_wait(&fake->changed, &fake->lock);
    spend_time(fake);
    if (fake->failures > 0) {
        fake->failures--;
        alineo_code code = fake->failure != ALINEO_OK ? fake->failure : ALINEO_STORAGE_UNAVAILABLE;
        return al_fail(err, code, "let it be", "the fake is told to fail");
    }
    for (size_t i = 0; i < batch->count; i++) {
        alineo_code code = judge(fake, batch->entries[i]);
        if (code != ALINEO_OK) {
            if (!fake->names_nobody)
                *failed_index = i;
            return al_fail(err, code, NULL, "the fake is told to refuse this");
        }
    }
    for (size_t i = 0; i < batch->count; i++)
        keep(fake, batch->entries[i], batch->first_n + i);
    if (batch->count > fake->largest_count)
        fake->largest_count = batch->count;
    if (fake->unknowns > 0) {
        fake->unknowns--;
        return al_fail(err, ALINEO_STORAGE_UNAVAILABLE, NULL, "the fake lost its answer");
    }
    return ALINEO_OK;
}

static const alineo_storage_table TABLE = {.size = sizeof(TABLE), .append = fake_append};

void fake_storage_open(fake_storage *fake) {
    memset(fake, 0, sizeof(*fake));
    assert_int_equal(pthread_mutex_init(&fake->lock, NULL), 0);
    assert_int_equal(pthread_cond_init(&fake->changed, NULL), 0);
    fake->binding = (al_storage_binding){.id = "fake",
                                         .plugin = "storage/fake",
                                         .descriptor = &DESCRIPTOR,
                                         .table = &TABLE,
                                         .self = (void *)fake};
}

void fake_storage_close(fake_storage *fake) {
    for (size_t i = 0; i < fake->row_count; i++) {
        free(fake->rows[i].sandbox_id);
        free(fake->rows[i].event);
        free(fake->rows[i].payload);
        free(fake->rows[i].error);
    }
    free(fake->rows);
    (void)pthread_cond_destroy(&fake->changed);
    (void)pthread_mutex_destroy(&fake->lock);
}

void fake_storage_hang(fake_storage *fake, bool hangs) {
    al_autolock(&fake->lock);
    fake->hangs = hangs;
    (void)pthread_cond_broadcast(&fake->changed);
}

void fake_storage_wait_calls(fake_storage *fake, size_t count) {
    al_autolock(&fake->lock);
    while (fake->append_count < count)
        (void)pthread_cond_wait(&fake->changed, &fake->lock);
}

static void append_chunk(const fake_row *row, const char *type, al_buf *out) {
    al_auto(al_json_free) al_json *document = NULL;
    assert_int_equal(al_json_parse(row->payload, row->payload_size, NULL, &document, NULL), 0);
    const al_json_node *root = al_json_root(document);
    const char *text = NULL;
    int64_t seq = 0;
    assert_true(al_json_get_int(al_json_member(root, "seq"), &seq));
    assert_int_equal(seq, row->step_idx);
    assert_true(al_json_get_str(al_json_member(root, "type"), &text));
    if (strcmp(text, type) != 0)
        return;
    size_t size = 0;
    if (al_json_get_bytes(al_json_member(root, "text"), &text, &size)) {
        al_buf_append(out, text, size);
        return;
    }
    assert_true(al_json_get_str(al_json_member(root, "encoding"), &text));
    assert_string_equal(text, "base64");
    assert_true(al_json_get_bytes(al_json_member(root, "data"), &text, &size));
    assert_int_equal(al_base64_decode_append(text, size, out), 0);
}

void fake_storage_output(fake_storage *fake, int32_t step_idx, const char *type, al_buf *out) {
    al_autolock(&fake->lock);
    for (size_t i = 0; i < fake->row_count; i++)
        if (fake->rows[i].step_idx == step_idx && strcmp(fake->rows[i].event, "exec_event") == 0)
            append_chunk(&fake->rows[i], type, out);
    assert_int_equal(out->error, 0);
}
