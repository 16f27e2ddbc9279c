/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the output: fairly from both streams, counted and digested, one chunk at a time. */
#include "core/exec_private.h"

#include "core/util/io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static unsigned ready_bit(const alineo_exec *exec, const al_exec_stream *stream) {
    return stream == &exec->streams[0] ? AL_READY_STDOUT : AL_READY_STDERR;
}

static void close_stream(alineo_exec *exec, al_exec_stream *stream) {
    if (stream->armed)
        al_exec_disarm(exec, stream->fd);
    stream->armed = false;
    al_close(stream->fd);
    stream->fd = -1;
}

alineo_code al_exec_streams_init(alineo_exec *exec, alineo_error **err) {
    exec->streams[0].type = ALINEO_EXEC_STDOUT;
    exec->streams[1].type = ALINEO_EXEC_STDERR;
    exec->buffer = malloc(AL_EXEC_BUFFER_SIZE);
    exec->buffer_size = AL_EXEC_BUFFER_SIZE;
    int rc = exec->buffer != NULL ? 0 : ENOMEM;
    /* Nobody is told the digests of what the library does by commands of its own. */
    for (size_t i = 0; i < AL_COUNT(exec->streams) && rc == 0 && exec->recorded; i++)
        rc = al_sha256_new(&exec->streams[i].digest);
    if (rc != 0)
        return al_fail(err, ALINEO_NO_MEMORY, NULL, "exec: out of memory");
    return ALINEO_OK;
}

alineo_code al_exec_streams_record(alineo_exec *exec, alineo_error **err) {
    static const char *const types[] = {"stdout", "stderr"};
    alineo_code code = ALINEO_OK;
    for (size_t i = 0; i < AL_COUNT(exec->streams) && code == ALINEO_OK && exec->recorded; i++)
        code = al_journal_stream_new(exec->sandbox->client->journal, exec->sandbox->state->id,
                                     exec->sandbox->name, exec->result.seq, exec->id, types[i],
                                     &exec->streams[i].journal, err);
    return code;
}

alineo_code al_exec_streams_open(alineo_exec *exec, alineo_exec_io *io, alineo_error **err) {
    exec->streams[0].fd = al_steal_fd(io->pty_fd >= 0 ? &io->pty_fd : &io->stdout_fd);
    exec->streams[1].fd = al_steal_fd(&io->stderr_fd);
    for (size_t i = 0; i < AL_COUNT(exec->streams); i++) {
        al_exec_stream *stream = &exec->streams[i];
        if (stream->fd < 0)
            continue;
        int rc = al_fd_set_nonblock(stream->fd, true);
        if (rc == 0)
            rc = al_exec_arm(exec, stream->fd, ready_bit(exec, stream));
        if (rc != 0)
            return al_fail(err, ALINEO_IO, NULL, "exec: watch the output: %s", strerror(rc));
        stream->armed = true;
    }
    return ALINEO_OK;
}

void al_exec_streams_arm(alineo_exec *exec, bool on) {
    for (size_t i = 0; i < AL_COUNT(exec->streams); i++) {
        al_exec_stream *stream = &exec->streams[i];
        if (stream->fd < 0 || stream->armed == on)
            continue;
        if (!on)
            al_exec_disarm(exec, stream->fd);
        else if (al_exec_arm(exec, stream->fd, ready_bit(exec, stream)) != 0)
            continue; /* no memory: the next step tries again */
        stream->armed = on;
    }
}

/* A stream that fills the buffer flows: give it a wider pipe and take more at once. Both are only
 * for speed, and may fail. */
static void enlarge(alineo_exec *exec, al_exec_stream *stream) {
    stream->enlarged = true;
    (void)fcntl(stream->fd, F_SETPIPE_SZ, AL_EXEC_PIPE_SIZE);
    if (exec->buffer_size >= AL_EXEC_BUFFER_MAX)
        return;
    char *larger = malloc(AL_EXEC_BUFFER_MAX);
    if (larger == NULL)
        return;
    free(exec->buffer);
    exec->buffer = larger;
    exec->buffer_size = AL_EXEC_BUFFER_MAX;
}

static void count(al_exec_stream *stream, const char *data, size_t size) {
    stream->bytes += size;
    if (stream->digest == NULL || stream->digest_failed)
        return;
    if (al_sha256_update(stream->digest, data, size) != 0)
        stream->digest_failed = true;
}

/* Gives what a read gave: bytes, nothing now, or the end. */
static bool read_stream(alineo_exec *exec, al_exec_stream *stream, al_exec_chunk *chunk) {
    bool draining = exec->phase == AL_EXEC_DRAINING && !al_exec_pump_reads(exec->pump);
    if (stream->flows && !stream->enlarged)
        enlarge(exec, stream);
    size_t size = exec->buffer_size;
    if (draining && stream->drain_left < size)
        size = (size_t)stream->drain_left;
    size_t used = 0;
    int rc = al_read_some(stream->fd, exec->buffer, size, &used);
    if (rc == EAGAIN) {
        stream->drain_left = 0;
        return false;
    }
    /* A terminal ends in EIO when its last writer is gone. */
    if (rc != 0 || used == 0) {
        exec->is_cut = exec->is_cut || (rc != 0 && rc != EIO);
        stream->drain_left = 0;
        close_stream(exec, stream);
        return false;
    }
    if (draining)
        stream->drain_left -= used;
    count(stream, exec->buffer, used);
    stream->flows = used == exec->buffer_size;
    *chunk = (al_exec_chunk){stream, exec->buffer, used};
    return true;
}

bool al_exec_streams_read(alineo_exec *exec, unsigned ready, al_exec_chunk *chunk) {
    for (unsigned i = 0; i < AL_COUNT(exec->streams); i++) {
        al_exec_stream *stream = &exec->streams[(exec->turn + i) % AL_COUNT(exec->streams)];
        if (stream->fd < 0)
            continue;
        if ((ready & ready_bit(exec, stream)) == 0 && stream->drain_left == 0)
            continue;
        if (read_stream(exec, stream, chunk)) {
            exec->turn = stream == &exec->streams[0] ? 1 : 0;
            return true;
        }
    }
    return false;
}

void al_exec_streams_mark_end(alineo_exec *exec) {
    if (al_exec_pump_reads(exec->pump))
        return;
    for (size_t i = 0; i < AL_COUNT(exec->streams); i++) {
        al_exec_stream *stream = &exec->streams[i];
        int size = 0;
        if (stream->fd < 0)
            continue;
        /* What cannot be asked is read until it gives nothing, within reason. A terminal has more
         * than it tells. */
        bool known = !exec->is_terminal && ioctl(stream->fd, FIONREAD, &size) == 0 && size >= 0;
        stream->drain_left = known ? (uint64_t)size : AL_EXEC_PIPE_SIZE;
    }
}

bool al_exec_streams_drained(const alineo_exec *exec) {
    bool to_the_end = al_exec_pump_reads(exec->pump);
    for (size_t i = 0; i < AL_COUNT(exec->streams); i++) {
        const al_exec_stream *stream = &exec->streams[i];
        if (stream->fd >= 0 && (to_the_end || stream->drain_left > 0))
            return false;
    }
    return true;
}

/* What is there, counted. */
static uint64_t count_unread(alineo_exec *exec, al_exec_stream *stream) {
    int size = 0;
    if (!exec->is_terminal)
        return ioctl(stream->fd, FIONREAD, &size) == 0 && size > 0 ? (uint64_t)size : 0;
    uint64_t total = 0;
    size_t used = 0;
    while (total < AL_EXEC_PIPE_SIZE &&
           al_read_some(stream->fd, exec->buffer, exec->buffer_size, &used) == 0 && used > 0)
        total += used;
    return total;
}

void al_exec_streams_give_up(alineo_exec *exec) {
    if (exec->held.size > 0)
        exec->held.stream->unread += exec->held.size;
    exec->held.size = 0;
    for (size_t i = 0; i < AL_COUNT(exec->streams); i++) {
        al_exec_stream *stream = &exec->streams[i];
        if (stream->fd < 0)
            continue;
        stream->unread += count_unread(exec, stream);
        stream->drain_left = 0;
        close_stream(exec, stream);
    }
}

static uint64_t finish_stream(al_exec_stream *stream, uint8_t digest[AL_SHA256_SIZE]) {
    uint64_t gap = stream->unread;
    if (stream->journal != NULL) {
        al_journal_stream_end(stream->journal);
        gap += al_journal_stream_gap(stream->journal);
    }
    if (stream->digest != NULL && !stream->digest_failed &&
        al_sha256_finish(stream->digest, digest) != 0)
        stream->digest_failed = true;
    return gap;
}

void al_exec_streams_finish(alineo_exec *exec) {
    alineo_exec_result *result = &exec->result;
    if (exec->finished)
        return;
    exec->finished = true;
    for (size_t i = 0; i < AL_COUNT(exec->streams); i++)
        if (exec->streams[i].fd >= 0)
            close_stream(exec, &exec->streams[i]);
    result->stdout_gap = finish_stream(&exec->streams[0], result->stdout_sha256);
    result->stderr_gap = finish_stream(&exec->streams[1], result->stderr_sha256);
}

void al_exec_streams_clear(alineo_exec *exec, bool forked) {
    for (size_t i = 0; i < AL_COUNT(exec->streams); i++) {
        al_exec_stream *stream = &exec->streams[i];
        al_close(stream->fd);
        if (forked)
            al_journal_stream_forget(stream->journal);
        else
            al_journal_stream_free(stream->journal);
        al_sha256_free(stream->digest);
    }
    free(exec->buffer);
}
