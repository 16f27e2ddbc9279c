/* SPDX-License-Identifier: Apache-2.0 */
#include "core/journal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/journal_private.h"
#include "core/util/base64.h"
#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/json_write.h"
#include "core/util/str.h"
#include "core/util/utf8.h"

/* --- payloads --------------------------------------------------------------------------------- */

/* {"seq":N,"type":"stdout", */
static int write_prefix(al_buf *out, int32_t seq, const char *type) {
    al_json_writer w;
    al_json_write_init(&w, out);
    al_json_write_object_begin(&w);
    al_json_put_int(&w, "seq", seq);
    al_json_put_str(&w, "type", type);
    al_json_write_object_end(&w);
    int rc = al_json_write_finish(&w);
    if (rc == 0) {
        al_buf_truncate(out, out->size - 1);
        al_buf_append_char(out, ',');
    }
    return rc != 0 ? rc : out->error;
}

/* ,"execId":"..."} */
static int write_suffix(al_buf *out, const char *exec_id) {
    al_json_writer w;
    al_json_write_init(&w, out);
    al_json_write_object_begin(&w);
    al_json_put_str(&w, "execId", exec_id);
    al_json_write_object_end(&w);
    int rc = al_json_write_finish(&w);
    if (rc == 0)
        out->data[0] = ',';
    return rc;
}

size_t al_journal_payload_size(const al_journal_entry *entry, size_t raw_size) {
    return strlen(entry->prefix) + strlen(entry->suffix) + al_base64_encoded_size(raw_size) + 64;
}

/* False when it is no text, or there is no memory for it as text. */
static bool seal_as_text(al_buf *out, const char *data, size_t size) {
    if (!al_utf8_is_text(data, size))
        return false;
    al_buf_append_str(out, "\"text\":");
    al_json_writer w;
    al_json_write_init(&w, out);
    al_json_write_str_n(&w, data, size);
    return al_json_write_finish(&w) == 0;
}

static void seal_as_base64(al_buf *out, const char *data, size_t size) {
    al_buf_append_str(out, "\"encoding\":\"base64\",\"data\":\"");
    al_base64_append(out, data, size);
    al_buf_append_char(out, '"');
}

int al_journal_seal(al_journal_entry *entry) {
    const char *data = entry->source != NULL ? entry->source : entry->raw.data;
    size_t size = entry->source != NULL ? entry->source_size : entry->raw.size;
    al_buf *out = &entry->payload;
    al_buf_clear(out);
    if (al_buf_reserve(out, al_journal_payload_size(entry, size)) == NULL)
        return ENOMEM;
    al_buf_append_str(out, entry->prefix);
    if (!seal_as_text(out, data, size)) {
        al_buf_clear(out);
        al_buf_append_str(out, entry->prefix);
        seal_as_base64(out, data, size);
    }
    al_buf_append_str(out, entry->suffix);
    if (out->error != 0)
        return ENOMEM;
    entry->row.payload = al_buf_str(out);
    entry->row.payload_size = out->size;
    entry->source = NULL;
    return 0;
}

/* --- streams ---------------------------------------------------------------------------------- */

alineo_code al_journal_stream_new(al_journal *journal, const char *sandbox_id, const char *name,
                                  int32_t seq, const char *exec_id, const char *type,
                                  al_journal_stream **out, alineo_error **err) {
    al_journal_stream *stream = calloc(1, sizeof(*stream));
    if (stream == NULL)
        return al_fail_memory(err);
    al_auto(al_buf_free) al_buf prefix = AL_BUF_INIT;
    al_auto(al_buf_free) al_buf suffix = AL_BUF_INIT;
    int rc = write_prefix(&prefix, seq, type);
    if (rc == 0)
        rc = write_suffix(&suffix, exec_id);
    stream->journal = journal;
    stream->seq = seq;
    stream->sandbox_id = al_strdup(sandbox_id);
    stream->name = al_strdup(name);
    stream->prefix = al_buf_steal(&prefix, NULL);
    stream->suffix = al_buf_steal(&suffix, NULL);
    if (rc != 0 || stream->sandbox_id == NULL || stream->name == NULL || stream->prefix == NULL ||
        stream->suffix == NULL) {
        al_journal_stream_free(stream);
        return rc == 0 || rc == ENOMEM
                   ? al_fail_memory(err)
                   : al_fail_errno(err, ALINEO_INTERNAL, rc, NULL, "begin a stream of output");
    }
    *out = stream;
    return ALINEO_OK;
}

static void close_entry(al_journal_stream *stream) {
    if (stream->open == NULL)
        return;
    stream->open->stream = NULL;
    stream->open = NULL;
}

void al_journal_stream_free(al_journal_stream *stream) {
    if (stream == NULL)
        return;
    (void)al_lock(&stream->journal->lock);
    close_entry(stream);
    (void)pthread_mutex_unlock(&stream->journal->lock);
    al_journal_stream_forget(stream);
}

void al_journal_stream_forget(al_journal_stream *stream) {
    if (stream == NULL)
        return;
    free(stream->sandbox_id);
    free(stream->name);
    free(stream->prefix);
    free(stream->suffix);
    free(stream);
}

uint64_t al_journal_stream_gap(const al_journal_stream *stream) {
    al_autolock(&stream->journal->lock);
    return stream->gap;
}

/* --- chunks ----------------------------------------------------------------------------------- */

enum {
    CHUNK_SIZE_MAX = 1024 * 1024,
    /* An entry that cannot take a whole character more is full. */
    ENTRY_FULL_SIZE = AL_JOURNAL_CHUNK_SIZE - 3,
    SEALED_COUNT_MAX = CHUNK_SIZE_MAX / ENTRY_FULL_SIZE + 2
};

/* What one call adds: two runs of whole characters (as far as they are any), of which the first
 * completes what the last call left; and what this one leaves. */
typedef struct chunk {
    char head[8];
    size_t head_size;
    const char *body;
    size_t body_size;
    char tail[4];
    size_t tail_size;
} chunk;

/* Parts `data` so that no entry splits a character. */
static void part(const al_journal_stream *stream, const char *data, size_t size, chunk *c) {
    memset(c, 0, sizeof(*c));
    memcpy(c->head, stream->tail, stream->tail_size);
    c->head_size = stream->tail_size;
    while (c->head_size > 0 && size > 0 && al_utf8_tail(c->head, c->head_size) == c->head_size) {
        c->head[c->head_size++] = *data++;
        size--;
    }
    size_t left = al_utf8_tail(c->head, c->head_size);
    c->head_size -= left;
    if (size == 0) {
        memcpy(c->tail, c->head + c->head_size, left);
        c->tail_size = left;
    } else {
        /* The byte that showed the old beginning to be wrong may begin a character itself. */
        data -= left;
        size += left;
        c->tail_size = al_utf8_tail(data, size);
        size -= c->tail_size;
        memcpy(c->tail, data + size, c->tail_size);
    }
    c->body = data;
    c->body_size = size;
}

static al_journal_entry *entry_new(const al_journal_stream *stream) {
    const al_event event = {.sandbox_id = stream->sandbox_id,
                            .name = stream->name,
                            .event = "exec_event",
                            .step_idx = stream->seq};
    al_journal_entry *entry = al_journal_entry_new(&event, stream->prefix, stream->suffix);
    if (entry == NULL)
        return NULL;
    entry->state = AL_ENTRY_OPEN;
    entry->due_ns = al_clock_monotonic_ns() + AL_JOURNAL_CHUNK_MS * INT64_C(1000000);
    return entry;
}

/* An entry that output of this size is copied into, to be joined by more. */
static al_journal_entry *entry_to_join(const al_journal_stream *stream, size_t size) {
    al_journal_entry *entry = entry_new(stream);
    if (entry == NULL)
        return NULL;
    al_journal_take_spare(stream->journal, &entry->raw);
    if (al_buf_reserve(&entry->raw, size) == NULL) {
        al_journal_entry_free(entry);
        return NULL;
    }
    return entry;
}

/* An entry that is sealed at once from where the output lies. */
static al_journal_entry *entry_at_once(const al_journal_stream *stream) {
    al_journal_entry *entry = entry_new(stream);
    if (entry == NULL)
        return NULL;
    al_journal_take_spare(stream->journal, &entry->payload);
    if (al_buf_reserve(&entry->payload, al_journal_payload_size(entry, AL_JOURNAL_CHUNK_SIZE)) ==
        NULL) {
        al_journal_entry_free(entry);
        return NULL;
    }
    return entry;
}

static bool is_at_once(const al_journal_entry *entry) {
    return entry->payload.capacity > 0;
}

/* Makes room for the chunk in the open entry and in as many new ones as it can need, so that
 * nothing can fail later. */
static int prepare(al_journal_stream *stream, const chunk *c, al_list *fresh) {
    size_t size = c->head_size + c->body_size;
    bool joins = stream->open != NULL || c->head_size > 0;
    if (stream->open != NULL) {
        size_t free_size = AL_JOURNAL_CHUNK_SIZE - stream->open->raw.size;
        size_t part_size = size < free_size ? size : free_size;
        if (al_buf_reserve(&stream->open->raw, part_size) == NULL) {
            /* An open entry must not keep the error. */
            stream->open->raw.error = 0;
            return ENOMEM;
        }
        /* Up to 3 bytes may have to go on to the next entry. */
        size = size > free_size ? size - free_size + 3 : 0;
    }
    while (size > 0) {
        al_journal_entry *entry =
            joins || size < ENTRY_FULL_SIZE
                ? entry_to_join(stream, size < AL_JOURNAL_CHUNK_SIZE ? size : AL_JOURNAL_CHUNK_SIZE)
                : entry_at_once(stream);
        if (entry == NULL)
            return ENOMEM;
        al_list_append(fresh, &entry->link);
        size -= size < ENTRY_FULL_SIZE ? size : ENTRY_FULL_SIZE;
    }
    return 0;
}

static void drop_all(al_list *list) {
    al_list *link;
    while ((link = al_list_take_first(list)) != NULL)
        al_journal_entry_free(AL_CONTAINER(link, al_journal_entry, link));
}

typedef struct sealed {
    al_journal_entry *entries[SEALED_COUNT_MAX];
    size_t count;
} sealed;

static void close_full(al_journal_stream *stream, sealed *full) {
    al_journal_entry *entry = stream->open;
    entry->state = AL_ENTRY_SEALING;
    close_entry(stream);
    if (!is_at_once(entry))
        al_journal_take_spare(stream->journal, &entry->payload);
    full->entries[full->count++] = entry;
}

/* How much of the output goes into an entry with so much room: no character is split. */
static size_t part_for(const char *data, size_t size, size_t room) {
    return size <= room ? size : room - al_utf8_tail(data, room);
}

/* Adds what prepare() made room for. */
static void add(al_journal_stream *stream, const char *data, size_t size, al_list *fresh,
                sealed *full) {
    al_journal *journal = stream->journal;
    while (size > 0) {
        if (stream->open == NULL) {
            al_list *link = al_list_take_first(fresh);
            stream->open = AL_CONTAINER(link, al_journal_entry, link);
            stream->open->stream = stream;
            al_journal_enqueue(journal, stream->open, 0);
        }
        al_journal_entry *entry = stream->open;
        size_t n = part_for(data, size, AL_JOURNAL_CHUNK_SIZE - entry->raw.size);
        if (is_at_once(entry)) {
            entry->source = data;
            entry->source_size = n;
        } else {
            al_buf_append(&entry->raw, data, n);
        }
        entry->charge += n;
        journal->queued_size += n;
        data += n;
        size -= n;
        if (size > 0 || is_at_once(entry) || entry->raw.size >= ENTRY_FULL_SIZE)
            close_full(stream, full);
    }
}

/* Makes the payloads of full entries on this thread, so that the writer has less to do. */
static void seal_full(al_journal *journal, const sealed *full) {
    if (full->count == 0)
        return;
    bool done[SEALED_COUNT_MAX];
    for (size_t i = 0; i < full->count; i++)
        done[i] = al_journal_seal(full->entries[i]) == 0;
    al_autolock(&journal->lock);
    for (size_t i = 0; i < full->count; i++) {
        al_journal_entry *entry = full->entries[i];
        if (done[i])
            al_journal_keep_spare(journal, &entry->raw);
        /* Without memory the writer tries again. */
        entry->state = done[i] ? AL_ENTRY_READY : AL_ENTRY_OPEN;
    }
    al_journal_kick(journal);
}

/* With the lock held; *full gets what is to be sealed. */
static al_room take_chunk(al_journal_stream *stream, const chunk *c, size_t size, sealed *full) {
    al_journal *journal = stream->journal;
    al_list fresh;
    al_list_init(&fresh);
    bool has_room = al_journal_has_room(journal, size);
    if (!has_room || prepare(stream, c, &fresh) != 0) {
        drop_all(&fresh);
        if (journal->on_failure == AL_ON_FAILURE_GAP) {
            stream->gap += size;
            return AL_ROOM_TAKEN;
        }
        if (has_room)
            return AL_ROOM_NO_MEMORY;
        return al_journal_is_overdue(journal) ? AL_ROOM_OVERDUE : AL_ROOM_FULL;
    }
    add(stream, c->head, c->head_size, &fresh, full);
    add(stream, c->body, c->body_size, &fresh, full);
    drop_all(&fresh);
    memcpy(stream->tail, c->tail, c->tail_size);
    stream->tail_size = c->tail_size;
    al_journal_kick(journal);
    return AL_ROOM_TAKEN;
}

al_room al_journal_chunk(al_journal_stream *stream, const void *data, size_t size) {
    assert(size <= CHUNK_SIZE_MAX);
    if (size == 0)
        return AL_ROOM_TAKEN;
    chunk c;
    part(stream, data, size, &c);
    sealed full = {.count = 0};
    (void)al_lock(&stream->journal->lock);
    al_room room = take_chunk(stream, &c, size, &full);
    (void)pthread_mutex_unlock(&stream->journal->lock);
    seal_full(stream->journal, &full);
    return room;
}

void al_journal_stream_end(al_journal_stream *stream) {
    al_journal *journal = stream->journal;
    sealed full = {.count = 0};
    (void)al_lock(&journal->lock);
    if (stream->tail_size > 0) {
        al_list fresh;
        al_list_init(&fresh);
        chunk c = {.head_size = stream->tail_size};
        if (prepare(stream, &c, &fresh) == 0)
            add(stream, stream->tail, stream->tail_size, &fresh, &full);
        else
            stream->gap += stream->tail_size;
        drop_all(&fresh);
        stream->tail_size = 0;
    }
    close_entry(stream);
    al_journal_kick(journal);
    (void)pthread_mutex_unlock(&journal->lock);
    seal_full(journal, &full);
}
