/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_JOURNAL_H
#define ALINEO_CORE_JOURNAL_H

/**
 * The journal: the bounded queue of events on their way into storage, and the one thread that
 * stores them in groups. Events of a session are stored in the order in which they were put. A
 * chunk of output never waits for a disk: it is joined with what is queued of the same stream, up
 * to 64 KiB or 20 ms.
 *
 * When storage fails, events stay queued and are sent again. After patience_ms without success
 * waits answer STORAGE_UNAVAILABLE; the events stay queued, and a later wait may succeed.
 * All functions: any thread.
 */

#include "core/binding.h"

typedef struct al_journal al_journal;
/** One stream of one exec in the journal: what makes whole characters of chunks. One thread at a
 * time. */
typedef struct al_journal_stream al_journal_stream;

/** The number of an entry among all of this journal, from 1. */
typedef uint64_t al_ticket;

typedef enum al_on_failure {
    AL_ON_FAILURE_HOLD,
    AL_ON_FAILURE_GAP
} al_on_failure;

typedef struct al_journal_options {
    size_t queue_size;   /* bytes that may wait; 0 = 16 MiB */
    int64_t patience_ms; /* 0 = 10,000 */
    al_on_failure on_failure;
    al_log log;
} al_journal_options;

/** `storage` must outlive it. Starts the thread (all signals blocked). */
alineo_code al_journal_new(al_storage_binding *storage, const al_journal_options *options,
                           al_journal **out, alineo_error **err);
/** Stores what is queued, at most for timeout_ms, ends the thread, frees. An append that is under
 * way is waited for: no plugin is closed beneath it. In a forked child: only frees. */
void al_journal_free(al_journal *journal, int64_t timeout_ms);

int64_t al_journal_patience_ms(const al_journal *journal);

/** An event that is not a chunk. */
typedef struct al_event {
    const char *sandbox_id;
    const char *name;    /* of the session */
    const char *event;   /* flat */
    const char *payload; /* JSON object, copied; NULL = none */
    size_t payload_size;
    const char *error;
    int32_t step_idx;
    /* Non-zero: CONFLICT by al_journal_wait when the step is taken; the entry is out then. */
    int claims_step;
} al_event;

/** Queues an event. Never blocks and never refuses for a full queue: such events are few and
 * small. */
alineo_code al_journal_put(al_journal *journal, const al_event *event, al_ticket *ticket,
                           alineo_error **err);

/** Waits until the entry is stored. STORAGE_UNAVAILABLE after the patience, CONFLICT (claims_step),
 * TIMEOUT and CANCELLED by `call` (may be NULL). An entry that was rejected for ever counts as
 * stored: a marker is there in its place. */
alineo_code al_journal_wait(al_journal *journal, al_ticket ticket, alineo_call *call,
                            alineo_error **err);

typedef enum al_ticket_state {
    AL_TICKET_QUEUED,
    AL_TICKET_STORED,
    AL_TICKET_OVERDUE
} al_ticket_state;

/** How an entry stands; never blocks. OVERDUE: past the patience; al_journal_error() says why. */
al_ticket_state al_journal_state(al_journal *journal, al_ticket ticket);

/** The last failure of storage, as a new error of code STORAGE_UNAVAILABLE. */
alineo_code al_journal_error(al_journal *journal, alineo_error **err);

/**
 * Has `fd` (an eventfd) written once, when the ticket is no longer QUEUED (at once, if that is so
 * already). One fd has one wish at a time, a new one replaces it; al_journal_unwatch takes it back
 * before fd is closed.
 */
alineo_code al_journal_watch(al_journal *journal, al_ticket ticket, int fd, alineo_error **err);
/** The same, when there is room for chunks again, or the patience is over. */
alineo_code al_journal_watch_room(al_journal *journal, int fd, alineo_error **err);
void al_journal_unwatch(al_journal *journal, int fd);

/** Waits until all that is queued now is stored. */
alineo_code al_journal_flush(al_journal *journal, int64_t timeout_ms, alineo_error **err);

/* --- chunks ----------------------------------------------------------------------------------- */

/** `type` is "stdout", "stderr" (or "pty"); strings are copied. */
alineo_code al_journal_stream_new(al_journal *journal, const char *sandbox_id, const char *name,
                                  int32_t seq, const char *exec_id, const char *type,
                                  al_journal_stream **out, alineo_error **err);
void al_journal_stream_free(al_journal_stream *stream);
/** In a forked child: only frees. */
void al_journal_stream_forget(al_journal_stream *stream);

typedef enum al_room {
    AL_ROOM_TAKEN,
    AL_ROOM_FULL,
    AL_ROOM_OVERDUE,
    AL_ROOM_NO_MEMORY
} al_room;

/**
 * Queues a chunk, all of it or none; up to 1 MiB. FULL: nothing was taken, hold the command and
 * wait for room (al_journal_watch_room). OVERDUE: the same, and the patience is over. NO_MEMORY:
 * nothing was taken, though the queue has room. With on_failure GAP a chunk that finds no room is
 * counted as a gap and TAKEN. Never blocks.
 */
al_room al_journal_chunk(al_journal_stream *stream, const void *data, size_t size);

/** The end of the stream: puts what was held back of an unfinished character. */
void al_journal_stream_end(al_journal_stream *stream);

/** Bytes left out so far. */
uint64_t al_journal_stream_gap(const al_journal_stream *stream);

#endif
