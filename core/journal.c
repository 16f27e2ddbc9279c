/* SPDX-License-Identifier: Apache-2.0 */
#include "core/journal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/call_private.h"
#include "core/journal_private.h"
#include "core/thread.h"
#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/random.h"

#define DEFAULT_QUEUE_SIZE ((size_t)16 * 1024 * 1024)
#define DEFAULT_PATIENCE_MS 10000
/* What an entry costs beside its payload. */
#define ENTRY_OVERHEAD 256
/* A wait that can be cancelled looks this often. */
#define CANCEL_SLICE_NS (20 * INT64_C(1000000))

/* --- entries ---------------------------------------------------------------------------------- */

static char *place(char **at, const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = memcpy(*at, text, size);
    *at += size;
    return copy;
}

static size_t size_of(const char *text) {
    return text != NULL ? strlen(text) + 1 : 0;
}

al_journal_entry *al_journal_entry_new(const al_event *event, const char *prefix,
                                       const char *suffix) {
    size_t room = size_of(event->sandbox_id) + size_of(event->name) + size_of(event->event) +
                  size_of(event->error) + size_of(prefix) + size_of(suffix);
    al_journal_entry *entry = calloc(1, sizeof(*entry) + room);
    if (entry == NULL)
        return NULL;
    char *at = entry->text;
    entry->row = (alineo_ledger_entry)ALINEO_LEDGER_ENTRY_INIT;
    entry->row.sandbox_id = place(&at, event->sandbox_id);
    entry->row.name = place(&at, event->name);
    entry->row.event = place(&at, event->event);
    if (event->error != NULL)
        entry->row.error = place(&at, event->error);
    if (prefix != NULL)
        entry->prefix = place(&at, prefix);
    if (suffix != NULL)
        entry->suffix = place(&at, suffix);
    entry->row.step_idx = event->step_idx;
    entry->row.flags = event->claims_step ? ALINEO_ENTRY_CLAIMS_STEP : 0;
    entry->row.ts_ms = al_clock_realtime_ms();
    entry->state = AL_ENTRY_READY;
    if (event->payload != NULL) {
        al_buf_append(&entry->payload, event->payload, event->payload_size);
        if (entry->payload.error != 0) {
            al_journal_entry_free(entry);
            return NULL;
        }
        entry->row.payload = al_buf_str(&entry->payload);
        entry->row.payload_size = entry->payload.size;
    }
    return entry;
}

void al_journal_entry_free(al_journal_entry *entry) {
    if (entry == NULL)
        return;
    al_buf_free(&entry->raw);
    al_buf_free(&entry->payload);
    free(entry);
}

void al_journal_enqueue(al_journal *journal, al_journal_entry *entry, size_t charge) {
    entry->number = ++journal->last;
    entry->charge = charge + ENTRY_OVERHEAD;
    journal->queued_size += entry->charge;
    al_list_append(&journal->queue, &entry->link);
}

void al_journal_take_spare(al_journal *journal, al_buf *out) {
    if (journal->spare_count > 0)
        *out = journal->spares[--journal->spare_count];
}

void al_journal_keep_spare(al_journal *journal, al_buf *buf) {
    if (journal->spare_count == AL_JOURNAL_SPARE_COUNT || buf->capacity < AL_JOURNAL_CHUNK_SIZE ||
        buf->capacity > 2 * AL_JOURNAL_CHUNK_SIZE) {
        al_buf_free(buf);
        return;
    }
    al_buf_clear(buf);
    journal->spares[journal->spare_count++] = *buf;
    *buf = (al_buf)AL_BUF_INIT;
}

void al_journal_drop_spares(al_journal *journal) {
    while (journal->spare_count > 0)
        al_buf_free(&journal->spares[--journal->spare_count]);
}

void al_journal_kick(al_journal *journal) {
    if (!journal->writer_waits)
        return;
    if (journal->writer_corked && journal->urgent <= journal->stored && !journal->stopping &&
        journal->queued_size < AL_JOURNAL_CORK_SIZE)
        return;
    (void)pthread_cond_signal(&journal->work);
}

bool al_journal_is_overdue(const al_journal *journal) {
    if (journal->attempt_since_ns == 0)
        return false;
    return journal->hopeless ||
           al_clock_monotonic_ns() - journal->attempt_since_ns >= journal->patience_ns;
}

bool al_journal_has_room(const al_journal *journal, size_t size) {
    /* Below one half anything fits: a wish for room is granted there, whatever it is for. */
    return journal->queued_size <= journal->queue_size / 2 ||
           (size <= journal->queue_size && journal->queued_size <= journal->queue_size - size);
}

void al_journal_wait_until(al_journal *journal, pthread_cond_t *condition, int64_t at_ns) {
    struct timespec at = {.tv_sec = (time_t)(at_ns / 1000000000),
                          .tv_nsec = (long)(at_ns % 1000000000)};
    int rc = pthread_cond_timedwait(condition, &journal->lock, &at);
    if (rc != 0 && rc != ETIMEDOUT)
        abort();
}

/* --- making and ending ------------------------------------------------------------------------ */

static int init_locks(al_journal *journal) {
    int rc = pthread_mutex_init(&journal->lock, NULL);
    if (rc != 0)
        return rc;
    pthread_cond_t *conditions[] = {&journal->work, &journal->progress, &journal->timekeeper_work};
    for (size_t i = 0; i < AL_COUNT(conditions); i++) {
        rc = al_condition_init(conditions[i]);
        if (rc != 0) {
            while (i-- > 0)
                (void)pthread_cond_destroy(conditions[i]);
            (void)pthread_mutex_destroy(&journal->lock);
            return rc;
        }
    }
    return 0;
}

static void free_entries(al_list *list) {
    al_list *link;
    while ((link = al_list_take_first(list)) != NULL)
        al_journal_entry_free(AL_CONTAINER(link, al_journal_entry, link));
}

static void destroy(al_journal *journal) {
    free_entries(&journal->queue);
    free_entries(&journal->refused);
    al_journal_drop_spares(journal);
    free(journal->failure);
    free(journal->failure_hint);
    free(journal->watches);
    free(journal);
}

static void destroy_locks(al_journal *journal) {
    (void)pthread_cond_destroy(&journal->work);
    (void)pthread_cond_destroy(&journal->progress);
    (void)pthread_cond_destroy(&journal->timekeeper_work);
    (void)pthread_mutex_destroy(&journal->lock);
}

alineo_code al_journal_new(al_storage_binding *storage, const al_journal_options *options,
                           al_journal **out, alineo_error **err) {
    al_journal *journal = calloc(1, sizeof(*journal));
    if (journal == NULL)
        return al_fail_memory(err);
    al_list_init(&journal->queue);
    al_list_init(&journal->refused);
    journal->storage = storage;
    journal->log = options->log;
    journal->queue_size = options->queue_size != 0 ? options->queue_size : DEFAULT_QUEUE_SIZE;
    int64_t patience = options->patience_ms != 0 ? options->patience_ms : DEFAULT_PATIENCE_MS;
    journal->patience_ns = patience < INT64_MAX / 1000000 ? patience * 1000000 : INT64_MAX;
    journal->on_failure = options->on_failure;
    journal->pid = getpid();
    int rc = al_random_id(journal->writer_id, sizeof(journal->writer_id) - 1);
    if (rc == 0)
        rc = init_locks(journal);
    if (rc != 0) {
        destroy(journal);
        return al_fail_errno(err, ALINEO_INTERNAL, rc, NULL, "make the journal");
    }
    rc = al_thread_start(al_journal_writer_main, journal, &journal->writer);
    if (rc != 0) {
        destroy_locks(journal);
        destroy(journal);
        return al_fail_errno(err, ALINEO_INTERNAL, rc, "raise the limit of threads (ulimit -u)",
                             "start the thread that writes the ledger");
    }
    *out = journal;
    return ALINEO_OK;
}

void al_journal_free(al_journal *journal, int64_t timeout_ms) {
    if (journal == NULL)
        return;
    if (journal->pid != getpid()) {
        /* The threads are not here, and one of them may have been in the middle of a change. */
        if (pthread_mutex_trylock(&journal->lock) == 0)
            destroy(journal);
        return;
    }
    (void)al_journal_flush(journal, timeout_ms, NULL);
    (void)al_lock(&journal->lock);
    journal->stopping = true;
    bool joins = journal->timekeeper_runs;
    (void)pthread_cond_signal(&journal->work);
    (void)pthread_cond_signal(&journal->timekeeper_work);
    (void)pthread_mutex_unlock(&journal->lock);
    (void)pthread_join(journal->writer, NULL);
    if (joins)
        (void)pthread_join(journal->timekeeper, NULL);
    destroy_locks(journal);
    destroy(journal);
}

int64_t al_journal_patience_ms(const al_journal *journal) {
    return journal->patience_ns / 1000000;
}

/* --- events ----------------------------------------------------------------------------------- */

alineo_code al_journal_put(al_journal *journal, const al_event *event, al_ticket *ticket,
                           alineo_error **err) {
    al_journal_entry *entry = al_journal_entry_new(event, NULL, NULL);
    if (entry == NULL)
        return al_fail_memory(err);
    al_autolock(&journal->lock);
    al_journal_enqueue(journal, entry, entry->payload.size);
    journal->urgent = entry->number;
    al_journal_kick(journal);
    if (ticket != NULL)
        *ticket = entry->number;
    return ALINEO_OK;
}

static bool take_refusal(al_journal *journal, al_ticket ticket) {
    AL_LIST_FOREACH(link, &journal->refused) {
        al_journal_entry *entry = AL_CONTAINER(link, al_journal_entry, link);
        if (entry->number == ticket) {
            al_list_remove(link);
            al_journal_entry_free(entry);
            return true;
        }
    }
    return false;
}

/* With the lock held. */
static alineo_code describe_failure(al_journal *journal, alineo_error **err) {
    const char *id = journal->storage->id;
    if (journal->failure != NULL)
        return al_fail(err, ALINEO_STORAGE_UNAVAILABLE, journal->failure_hint,
                       "store events in %s: %s", id, journal->failure);
    if (journal->attempt_since_ns == 0)
        return al_fail(err, ALINEO_STORAGE_UNAVAILABLE, NULL,
                       "store events in %s: not done in time", id);
    int64_t since_ms = (al_clock_monotonic_ns() - journal->attempt_since_ns) / 1000000;
    return al_fail(err, ALINEO_STORAGE_UNAVAILABLE,
                   "see whether the storage is overloaded or hangs",
                   "store events in %s: no answer for %lld ms", id, (long long)since_ms);
}

alineo_code al_journal_wait(al_journal *journal, al_ticket ticket, alineo_call *call,
                            alineo_error **err) {
    int64_t begun = al_clock_monotonic_ns();
    al_autolock(&journal->lock);
    for (;;) {
        if (take_refusal(journal, ticket))
            return al_fail(err, ALINEO_CONFLICT, "take the next number",
                           "store the start of an exec: its number is taken");
        if (ticket <= journal->stored)
            return ALINEO_OK;
        int64_t now = al_clock_monotonic_ns();
        if (al_journal_is_overdue(journal) &&
            (journal->hopeless || now - begun >= journal->patience_ns))
            return describe_failure(journal, err);
        alineo_code code = al_call_check(call, "wait for the ledger", err);
        if (code != ALINEO_OK)
            return code;
        /* Before this point it cannot be overdue, whatever begins meanwhile. */
        int64_t slice = call != NULL ? CANCEL_SLICE_NS : journal->patience_ns;
        int64_t until = now < INT64_MAX - slice ? now + slice : INT64_MAX;
        if (journal->attempt_since_ns != 0) {
            int64_t from = journal->attempt_since_ns > begun ? journal->attempt_since_ns : begun;
            int64_t over =
                from < INT64_MAX - journal->patience_ns ? from + journal->patience_ns : INT64_MAX;
            until = over > now && over < until ? over : until;
        }
        journal->waiters++;
        al_journal_wait_until(journal, &journal->progress, until);
        journal->waiters--;
    }
}

al_ticket_state al_journal_state(al_journal *journal, al_ticket ticket) {
    al_autolock(&journal->lock);
    if (ticket <= journal->stored)
        return AL_TICKET_STORED;
    return al_journal_is_overdue(journal) ? AL_TICKET_OVERDUE : AL_TICKET_QUEUED;
}

alineo_code al_journal_error(al_journal *journal, alineo_error **err) {
    al_autolock(&journal->lock);
    return describe_failure(journal, err);
}

alineo_code al_journal_flush(al_journal *journal, int64_t timeout_ms, alineo_error **err) {
    al_deadline deadline = al_deadline_after_ms(timeout_ms);
    al_autolock(&journal->lock);
    al_ticket wanted = journal->last;
    journal->urgent = wanted;
    al_journal_kick(journal);
    while (journal->stored < wanted) {
        if (al_deadline_passed(deadline))
            return describe_failure(journal, err);
        journal->waiters++;
        al_journal_wait_until(journal, &journal->progress, deadline.at_ns);
        journal->waiters--;
    }
    return ALINEO_OK;
}
