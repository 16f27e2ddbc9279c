/* SPDX-License-Identifier: Apache-2.0 */
#include "core/journal_private.h"

#include <stdlib.h>

#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/digest.h"
#include "core/util/json_write.h"
#include "core/util/str.h"

enum {
    BATCH_COUNT = 1000,
    BATCH_SIZE = 8 * 1024 * 1024
};
#define RETRY_FIRST_NS (10 * INT64_C(1000000))
#define RETRY_LONGEST_NS (250 * INT64_C(1000000))
/* Output that comes in bursts finds its memory again. */
#define SPARES_KEPT_NS (1000 * INT64_C(1000000))

/* The batch under way: the first `count` entries of the queue. */
typedef struct batch {
    al_journal_entry *entries[BATCH_COUNT];
    const alineo_ledger_entry *rows[BATCH_COUNT];
    size_t count;
} batch;

static al_journal_entry *first_of(al_journal *journal) {
    if (al_list_empty(&journal->queue))
        return NULL;
    return AL_CONTAINER(journal->queue.next, al_journal_entry, link);
}

/* --- when to go ------------------------------------------------------------------------------- */

/* When the front of the queue is to be stored: 0 = now, INT64_MAX = not before somebody says so. */
static int64_t due_ns(al_journal *journal) {
    const al_journal_entry *first = first_of(journal);
    if (first == NULL || first->state == AL_ENTRY_SEALING)
        return INT64_MAX; /* whoever adds or seals one wakes us */
    if (journal->stopping || journal->urgent >= first->number ||
        journal->queued_size >= AL_JOURNAL_CORK_SIZE)
        return 0;
    return first->due_ns <= al_clock_monotonic_ns() ? 0 : first->due_ns;
}

/* False when there is nothing left to do at all. */
static bool wait_for_work(al_journal *journal) {
    for (;;) {
        int64_t at = due_ns(journal);
        if (at == 0)
            return true;
        bool idle = first_of(journal) == NULL;
        if (idle && journal->stopping)
            return false;
        bool keeps = idle && journal->spare_count > 0;
        journal->writer_waits = true;
        journal->writer_corked = at != INT64_MAX;
        al_journal_wait_until(journal, &journal->work,
                              keeps ? al_clock_monotonic_ns() + SPARES_KEPT_NS : at);
        journal->writer_waits = false;
        if (keeps && first_of(journal) == NULL)
            al_journal_drop_spares(journal);
    }
}

/* --- batches ---------------------------------------------------------------------------------- */

static void take_out(al_journal *journal, al_journal_entry *entry) {
    al_list_remove(&entry->link);
    journal->queued_size -= entry->charge;
    journal->stored = entry->number;
}

/* Takes out what was dropped at the front. One that was refused is kept for who waits for it. */
static void skip_dropped(al_journal *journal) {
    al_journal_entry *first;
    while ((first = first_of(journal)) != NULL && first->dropped) {
        take_out(journal, first);
        if (first->refused)
            al_list_append(&journal->refused, &first->link);
        else
            al_journal_entry_free(first);
    }
}

/* Entries of one batch have numbers without a gap. */
static void take_batch(al_journal *journal, batch *b) {
    size_t size = 0;
    b->count = 0;
    AL_LIST_FOREACH(link, &journal->queue) {
        al_journal_entry *entry = AL_CONTAINER(link, al_journal_entry, link);
        if (entry->state == AL_ENTRY_SEALING || entry->dropped || b->count == BATCH_COUNT ||
            (b->count > 0 && size + entry->charge > BATCH_SIZE))
            break;
        if (entry->state == AL_ENTRY_OPEN) {
            entry->state = AL_ENTRY_SEALING;
            if (entry->stream != NULL)
                entry->stream->open = NULL;
            entry->stream = NULL;
        }
        size += entry->charge;
        b->entries[b->count] = entry;
        b->rows[b->count] = &entry->row;
        b->count++;
    }
}

/* Without the lock: nobody else touches entries of the batch. */
static alineo_code seal_batch(batch *b, alineo_error **err) {
    for (size_t i = 0; i < b->count; i++) {
        if (b->entries[i]->state == AL_ENTRY_SEALING && al_journal_seal(b->entries[i]) != 0)
            return al_fail_memory(err);
        al_buf_free(&b->entries[i]->raw);
        b->entries[i]->state = AL_ENTRY_READY;
    }
    return ALINEO_OK;
}

static alineo_code send_batch(al_journal *journal, batch *b, size_t *failed, alineo_error **err) {
    alineo_code code = seal_batch(b, err);
    if (code != ALINEO_OK)
        return code;
    al_storage_binding *storage = journal->storage;
    const alineo_ledger_batch request = {sizeof(request), journal->writer_id, b->entries[0]->number,
                                         b->rows, b->count};
    *failed = SIZE_MAX;
    code = storage->table->append(storage->self, &request, failed, err);
    code = al_from_plugin(code, storage->plugin, "append", err);
    if ((code == ALINEO_CONFLICT || code == ALINEO_STORAGE_REJECTED) && *failed >= b->count) {
        alineo_error_free(*err);
        *err = NULL;
        return al_fail(err, ALINEO_INTERNAL, NULL,
                       "%s: append refused an entry and did not say which", storage->plugin);
    }
    return code;
}

/* --- answers ---------------------------------------------------------------------------------- */

/* With the lock held, as all that follows. */
static void forget_failure(al_journal *journal) {
    if (journal->failure != NULL) {
        int64_t since_ms = (al_clock_monotonic_ns() - journal->attempt_since_ns) / 1000000;
        al_log_line(&journal->log, ALINEO_LOG_INFO, journal->storage->plugin,
                    "the ledger is written again, after %lld ms", (long long)since_ms);
    }
    free(AL_STEAL(journal->failure));
    free(AL_STEAL(journal->failure_hint));
    journal->attempt_since_ns = 0;
    journal->hopeless = false;
}

static void batch_stored(al_journal *journal, batch *b) {
    for (size_t i = 0; i < b->count; i++)
        take_out(journal, b->entries[i]);
    forget_failure(journal);
}

static void batch_failed(al_journal *journal, alineo_code code, const alineo_error *error) {
    if (journal->failure == NULL)
        al_log_line(&journal->log, ALINEO_LOG_WARNING, journal->storage->plugin,
                    "the ledger cannot be written: %s", alineo_error_message(error));
    /* Without memory for the new text the old one stays, and the hint that fits it. */
    if (al_str_replace(&journal->failure, alineo_error_message(error)) == 0 &&
        al_str_replace(&journal->failure_hint, alineo_error_hint(error)) != 0)
        free(AL_STEAL(journal->failure_hint));
    journal->hopeless = code == ALINEO_STORAGE_CORRUPT;
}

static int write_marker(const al_journal_entry *entry, al_buf *out) {
    char digest[AL_SHA256_HEX_SIZE];
    const char *payload = entry->row.payload != NULL ? entry->row.payload : "";
    int rc = al_sha256_hex_of(payload, entry->row.payload_size, digest);
    if (rc != 0)
        return rc;
    al_json_writer w;
    al_json_write_init(&w, out);
    al_json_write_object_begin(&w);
    if (entry->row.step_idx > 0)
        al_json_put_int(&w, "seq", entry->row.step_idx);
    al_json_put_object_begin(&w, "rejected");
    al_json_put_uint(&w, "size", entry->row.payload_size);
    al_json_put_str(&w, "sha256", digest);
    al_json_write_object_end(&w);
    al_json_write_object_end(&w);
    return al_json_write_finish(&w);
}

/* Puts a marker in the place of what will never fit; what does not even take that is left out.
 * False without memory. */
static bool entry_rejected(al_journal *journal, al_journal_entry *entry,
                           const alineo_error *error) {
    al_log_line(&journal->log, ALINEO_LOG_ERROR, journal->storage->plugin,
                "an entry of %s (%s) was rejected%s: %s", entry->row.sandbox_id, entry->row.event,
                entry->marked ? ", and so was the marker for it" : "", alineo_error_message(error));
    if (entry->marked) {
        entry->dropped = true;
        return true;
    }
    al_buf marker = AL_BUF_INIT;
    if (write_marker(entry, &marker) != 0) {
        al_buf_free(&marker);
        return false;
    }
    al_buf_free(&entry->payload);
    entry->payload = marker;
    entry->row.payload = al_buf_str(&entry->payload);
    entry->row.payload_size = entry->payload.size;
    entry->row.error = "rejected by the storage";
    entry->marked = true;
    return true;
}

static int64_t next_pause(int64_t last) {
    if (last == 0)
        return RETRY_FIRST_NS;
    return last < RETRY_LONGEST_NS / 2 ? last * 2 : RETRY_LONGEST_NS;
}

/* Gives how long to wait before the same batch is sent again; -1 = it is done with. */
static int64_t handle_answer(al_journal *journal, batch *b, alineo_code code, size_t failed,
                             const alineo_error *error, int64_t last_pause) {
    switch (code) {
    case ALINEO_OK:
        batch_stored(journal, b);
        return -1;
    case ALINEO_CONFLICT:
        b->entries[failed]->dropped = true;
        b->entries[failed]->refused = true;
        forget_failure(journal);
        return -1;
    case ALINEO_STORAGE_REJECTED:
        if (!entry_rejected(journal, b->entries[failed], error))
            return next_pause(last_pause);
        forget_failure(journal);
        return -1;
    default:
        batch_failed(journal, code, error);
        return next_pause(last_pause);
    }
}

/* Cut short by the end of the journal. */
static void pause_for(al_journal *journal, int64_t pause_ns) {
    int64_t until = al_clock_monotonic_ns() + pause_ns;
    while (!journal->stopping && al_clock_monotonic_ns() < until)
        al_journal_wait_until(journal, &journal->work, until);
}

static void tell(al_journal *journal) {
    skip_dropped(journal);
    if (journal->waiters > 0)
        (void)pthread_cond_broadcast(&journal->progress);
    if (journal->watch_count > 0)
        al_journal_fire(journal);
}

/* Sends one batch until it is done with. The lock is held on both ends. False at the end of the
 * journal: what is queued is then given up, after it was tried once more. */
static bool store_batch(al_journal *journal, batch *b) {
    int64_t pause = 0;
    journal->attempt_since_ns = al_clock_monotonic_ns();
    for (;;) {
        bool last_time = journal->stopping;
        (void)pthread_mutex_unlock(&journal->lock);
        size_t failed = 0;
        alineo_error *error = NULL;
        alineo_code code = send_batch(journal, b, &failed, &error);
        (void)al_lock(&journal->lock);
        pause = handle_answer(journal, b, code, failed, error, pause);
        alineo_error_free(error);
        tell(journal);
        if (pause < 0) {
            if (code == ALINEO_OK) {
                for (size_t i = 0; i < b->count; i++)
                    al_journal_keep_spare(journal, &b->entries[i]->payload);
                (void)pthread_mutex_unlock(&journal->lock);
                for (size_t i = 0; i < b->count; i++)
                    al_journal_entry_free(b->entries[i]);
                (void)al_lock(&journal->lock);
            }
            return true;
        }
        if (last_time)
            return false;
        pause_for(journal, pause);
    }
}

void *al_journal_writer_main(void *argument) {
    al_journal *journal = argument;
    batch b;
    al_autolock(&journal->lock);
    while (wait_for_work(journal)) {
        take_batch(journal, &b);
        if (!store_batch(journal, &b))
            break;
    }
    return NULL;
}
