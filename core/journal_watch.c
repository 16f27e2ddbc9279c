/* SPDX-License-Identifier: Apache-2.0 */
#include "core/journal.h"

#include <stdlib.h>

#include "core/journal_private.h"
#include "core/thread.h"
#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/io.h"

static bool has_come(const al_journal *journal, const al_journal_watch_item *item) {
    if (al_journal_is_overdue(journal))
        return true;
    return item->for_room ? al_journal_has_room(journal, SIZE_MAX)
                          : item->ticket <= journal->stored;
}

void al_journal_fire(al_journal *journal) {
    size_t kept = 0;
    for (size_t i = 0; i < journal->watch_count; i++) {
        if (has_come(journal, &journal->watches[i]))
            al_event_signal(journal->watches[i].fd);
        else
            journal->watches[kept++] = journal->watches[i];
    }
    journal->watch_count = kept;
}

/* The writer may hang in storage, and those who wait for a descriptor have no clock of their own:
 * so this thread looks whenever the patience could be over. It sleeps as long as the patience is
 * when nothing is under way, since nothing can become overdue sooner. */
static void *timekeeper_main(void *argument) {
    al_journal *journal = argument;
    al_autolock(&journal->lock);
    while (!journal->stopping) {
        if (journal->watch_count == 0) {
            (void)pthread_cond_wait(&journal->timekeeper_work, &journal->lock);
            continue;
        }
        al_journal_fire(journal);
        int64_t from = al_clock_monotonic_ns();
        if (journal->attempt_since_ns != 0 && !al_journal_is_overdue(journal))
            from = journal->attempt_since_ns;
        int64_t until =
            from < INT64_MAX - journal->patience_ns ? from + journal->patience_ns : INT64_MAX;
        al_journal_wait_until(journal, &journal->timekeeper_work, until);
    }
    return NULL;
}

static alineo_code start_timekeeper(al_journal *journal, alineo_error **err) {
    if (journal->timekeeper_runs)
        return ALINEO_OK;
    int rc = al_thread_start(timekeeper_main, journal, &journal->timekeeper);
    if (rc != 0)
        return al_fail_errno(err, ALINEO_INTERNAL, rc, "raise the limit of threads (ulimit -u)",
                             "start the thread that watches the ledger");
    journal->timekeeper_runs = true;
    return ALINEO_OK;
}

static al_journal_watch_item *item_of(al_journal *journal, int fd) {
    for (size_t i = 0; i < journal->watch_count; i++)
        if (journal->watches[i].fd == fd)
            return &journal->watches[i];
    return NULL;
}

static al_journal_watch_item *item_new(al_journal *journal) {
    if (journal->watch_count == journal->watch_capacity) {
        size_t capacity = journal->watch_capacity * 2 + 8;
        al_journal_watch_item *items =
            reallocarray(journal->watches, capacity, sizeof(*journal->watches));
        if (items == NULL)
            return NULL;
        journal->watches = items;
        journal->watch_capacity = capacity;
    }
    return &journal->watches[journal->watch_count++];
}

static alineo_code watch(al_journal *journal, const al_journal_watch_item *wish,
                         alineo_error **err) {
    al_autolock(&journal->lock);
    al_journal_watch_item *item = item_of(journal, wish->fd);
    if (has_come(journal, wish)) {
        if (item != NULL)
            *item = journal->watches[--journal->watch_count];
        al_event_signal(wish->fd);
        return ALINEO_OK;
    }
    alineo_code code = start_timekeeper(journal, err);
    if (code != ALINEO_OK)
        return code;
    if (item == NULL)
        item = item_new(journal);
    if (item == NULL)
        return al_fail_memory(err);
    *item = *wish;
    if (journal->watch_count == 1)
        (void)pthread_cond_signal(&journal->timekeeper_work);
    return ALINEO_OK;
}

alineo_code al_journal_watch(al_journal *journal, al_ticket ticket, int fd, alineo_error **err) {
    return watch(journal, &(al_journal_watch_item){fd, false, ticket}, err);
}

alineo_code al_journal_watch_room(al_journal *journal, int fd, alineo_error **err) {
    return watch(journal, &(al_journal_watch_item){fd, true, 0}, err);
}

void al_journal_unwatch(al_journal *journal, int fd) {
    al_autolock(&journal->lock);
    al_journal_watch_item *item = item_of(journal, fd);
    if (item != NULL)
        *item = journal->watches[--journal->watch_count];
}
