/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_JOURNAL_PRIVATE_H
#define ALINEO_CORE_JOURNAL_PRIVATE_H

/**
 * The insides of the journal, for journal*.c.
 *
 * One lock guards everything. Entries stand in the queue in the order of their numbers. The writer
 * takes a batch from the front, stores it without the lock, and only then takes the entries out;
 * until storage has answered they stay as they are, so that the batch can be sent again unchanged.
 *
 * An entry of a stream is OPEN while chunks may still be added to it, SEALING while somebody makes
 * its payload without the lock, then READY. All others are READY from the start.
 */

#include "core/journal.h"

#include "core/util/buf.h"
#include "core/util/list.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

enum {
    AL_JOURNAL_CHUNK_SIZE = 64 * 1024,  /* of output in one entry */
    AL_JOURNAL_CHUNK_MS = 20,           /* that an entry may wait for more */
    AL_JOURNAL_CORK_SIZE = 1024 * 1024, /* queued: then nothing waits any more */
    AL_JOURNAL_SPARE_COUNT = 128
};

typedef enum al_entry_state {
    AL_ENTRY_OPEN,
    AL_ENTRY_SEALING,
    AL_ENTRY_READY
} al_entry_state;

typedef struct al_journal_entry {
    al_list link;
    al_ticket number;
    al_entry_state state;
    bool marked;  /* it was rejected, and a marker stands in its place */
    bool dropped; /* it is not to be stored: refused, or even the marker was rejected */
    bool refused; /* its step was taken */
    size_t charge;
    int64_t due_ns;            /* chunks: it goes by then at the latest */
    al_journal_stream *stream; /* OPEN: the stream it is open in */
    const char *prefix;        /* chunks: of the payload, up to the type */
    const char *suffix;        /* and behind the text */
    al_buf raw;                /* chunks: the output until it is sealed, then of no use */
    const char *source;        /* or where it lies while it is sealed at once; NULL = in raw */
    size_t source_size;
    al_buf payload;
    alineo_ledger_entry row;
    char text[]; /* the strings that the rest points to */
} al_journal_entry;

typedef struct al_journal_watch_item {
    int fd;
    bool for_room;
    al_ticket ticket;
} al_journal_watch_item;

struct al_journal {
    al_storage_binding *storage;
    al_log log;
    size_t queue_size;
    int64_t patience_ns;
    al_on_failure on_failure;
    pid_t pid;
    char writer_id[33];
    pthread_t writer;

    pthread_mutex_t lock;
    pthread_cond_t work;     /* for the writer */
    pthread_cond_t progress; /* for those who wait */
    size_t waiters;
    al_list queue;
    size_t queued_size;
    al_buf spares[AL_JOURNAL_SPARE_COUNT]; /* memory of chunks, used again while output flows */
    size_t spare_count;
    al_ticket last;   /* that was given out */
    al_ticket stored; /* all up to this are out of the queue */
    al_ticket urgent; /* all up to this go at once */
    al_list refused;  /* entries whose step was taken, until somebody was told */
    bool stopping;
    bool writer_waits;
    bool writer_corked; /* it waits, but not for long */

    /* The batch that is being stored. */
    int64_t attempt_since_ns; /* when it was first sent; 0 = none is under way */
    bool hopeless;            /* storage says that it will not get better */
    char *failure;            /* its last message; NULL = none */
    char *failure_hint;

    al_journal_watch_item *watches;
    size_t watch_count;
    size_t watch_capacity;
    pthread_t timekeeper; /* tells watchers that the patience is over */
    bool timekeeper_runs;
    pthread_cond_t timekeeper_work;
};

struct al_journal_stream {
    al_journal *journal;
    al_journal_entry *open; /* guarded by the journal's lock */
    uint64_t gap;           /* guarded by the journal's lock */
    char *sandbox_id;
    char *name;
    char *prefix;
    char *suffix;
    int32_t seq;
    size_t tail_size;
    char tail[4]; /* the beginning of a character */
};

/* --- journal.c: with the lock held ----------------------------------------------------------- */

/** A new entry outside the queue, with copies of all; prefix and suffix (NULL = none) are of a
 * chunk's payload. NULL without memory. Needs no lock. */
al_journal_entry *al_journal_entry_new(const al_event *event, const char *prefix,
                                       const char *suffix);
void al_journal_entry_free(al_journal_entry *entry);
/** Gives it its number and puts it at the end of the queue. */
void al_journal_enqueue(al_journal *journal, al_journal_entry *entry, size_t charge);
/** Gives an empty buffer the memory of an earlier one, if there is some. */
void al_journal_take_spare(al_journal *journal, al_buf *out);
/** Keeps the memory of a buffer for the next, as long as there is place for it; else frees it. */
void al_journal_keep_spare(al_journal *journal, al_buf *buf);
void al_journal_drop_spares(al_journal *journal);
/** Wakes the writer if there is reason to. */
void al_journal_kick(al_journal *journal);
/** Whether storage has kept the batch under way longer than the patience. */
bool al_journal_is_overdue(const al_journal *journal);
bool al_journal_has_room(const al_journal *journal, size_t size);
/** For waits on the journal's conditions. */
void al_journal_wait_until(al_journal *journal, pthread_cond_t *condition, int64_t at_ns);

/* --- journal_watch.c: with the lock held ----------------------------------------------------- */

/** Writes to the descriptors whose time has come, and forgets them. */
void al_journal_fire(al_journal *journal);

/* --- journal_chunk.c: without the lock ------------------------------------------------------- */

/** Makes the payload of an entry that is SEALING. 0 or ENOMEM: then it may be tried again. Cannot
 * fail where the payload has the room that al_journal_payload_size() says. */
int al_journal_seal(al_journal_entry *entry);
size_t al_journal_payload_size(const al_journal_entry *entry, size_t raw_size);

/* --- journal_writer.c ------------------------------------------------------------------------ */

void *al_journal_writer_main(void *journal);

#endif
