/* SPDX-License-Identifier: Apache-2.0 */
/* For providers that hand over no descriptors: threads that sit in their blocking functions and
 * feed pipes, so that all else knows descriptors only. A thread each, and only where it is needed:
 * reading the output, writing stdin, awaiting the outcome. */
#include "core/exec_private.h"

#include "core/lossy_text.h"
#include "core/thread.h"
#include "core/util/clock.h"
#include "core/util/io.h"

#include <errno.h>
#include <string.h>

enum {
    PUMP_BUFFER_SIZE = 64 * 1024,
    FAILURE_SIZE_MAX = 1024
};

typedef struct al_pump_thread {
    pthread_t thread;
    bool started;
} al_pump_thread;

/* Each thread has a hold, and its own ends of the pipes. */
struct al_exec_pump {
    atomic_int refs;
    al_exec_link *link;
    bool reads; /* constant once started, like the next */
    bool waits;
    al_pump_thread reader, writer, waiter;
    int stdout_end, stderr_end; /* the reader's */
    int stdin_end;              /* the writer's */
    int status_end;             /* the waiter's: closed once the outcome is known */
    char *buffer, *stdin_buffer;

    pthread_mutex_t lock;
    pthread_cond_t ended;
    int running;   /* guarded by lock, as what follows; threads */
    char *failure; /* why reading ended before the end */
    bool has_failed;
    alineo_code status_code;
    alineo_exec_status status;
    alineo_error *status_error;
};

static void pump_free(al_exec_pump *pump) {
    const al_provider_binding *provider = al_exec_link_provider(pump->link);
    al_close(pump->stdout_end);
    al_close(pump->stderr_end);
    al_close(pump->stdin_end);
    al_close(pump->status_end);
    free(pump->buffer);
    free(pump->stdin_buffer);
    free(pump->failure);
    provider->host->free(provider->host, pump->status.detail);
    alineo_error_free(pump->status_error);
    (void)pthread_cond_destroy(&pump->ended);
    (void)pthread_mutex_destroy(&pump->lock);
    al_exec_link_drop(pump->link);
    free(pump);
}

static void pump_drop(al_exec_pump *pump) {
    if (atomic_fetch_sub(&pump->refs, 1) == 1)
        pump_free(pump);
}

/* The last thing that a thread does with the pump. */
static void end_thread(al_exec_pump *pump) {
    {
        al_autolock(&pump->lock);
        pump->running--;
        (void)pthread_cond_broadcast(&pump->ended);
    }
    pump_drop(pump);
}

/* --- the threads ------------------------------------------------------------------------------ */

/* Takes over the error. */
static void note_failure(al_exec_pump *pump, alineo_error *error) {
    al_auto(al_buf_free) al_buf text = AL_BUF_INIT;
    const char *message = alineo_error_message(error);
    al_lossy_append(&text, message, strlen(message), FAILURE_SIZE_MAX);
    alineo_error_free(error);
    al_autolock(&pump->lock);
    pump->has_failed = true;
    pump->failure = al_buf_steal(&text, NULL);
}

/* Hands a piece on; a pipe that nobody reads any more is not written again. */
static void pass_on(al_exec_pump *pump, alineo_stream stream, size_t size) {
    int *end = stream == ALINEO_STREAM_STDERR ? &pump->stderr_end : &pump->stdout_end;
    if (*end >= 0 && al_write_full(*end, pump->buffer, size) != 0)
        al_close(al_steal_fd(end));
}

static void *run_reader(void *argument) {
    al_exec_pump *pump = argument;
    const al_provider_binding *provider = al_exec_link_provider(pump->link);
    for (;;) {
        alineo_stream stream = 0;
        size_t used = 0;
        alineo_error *failure = NULL;
        alineo_code code =
            provider->table->exec_read(provider->self, pump->link->handle, pump->buffer,
                                       PUMP_BUFFER_SIZE, &stream, &used, &failure);
        if (al_from_plugin(code, provider->plugin, "exec_read", &failure) != ALINEO_OK) {
            note_failure(pump, failure);
            break;
        }
        if (used == 0)
            break;
        pass_on(pump, stream, used < PUMP_BUFFER_SIZE ? used : PUMP_BUFFER_SIZE);
    }
    al_close(al_steal_fd(&pump->stdout_end));
    al_close(al_steal_fd(&pump->stderr_end));
    end_thread(pump);
    return NULL;
}

/* Writes a piece of stdin; false when the command does not want it any more. */
static bool write_piece(al_exec_pump *pump, const al_provider_binding *provider, size_t size) {
    for (size_t done = 0; done < size;) {
        size_t used = 0;
        alineo_error *failure = NULL;
        alineo_code code =
            provider->table->exec_write(provider->self, pump->link->handle,
                                        pump->stdin_buffer + done, size - done, &used, &failure);
        code = al_from_plugin(code, provider->plugin, "exec_write", &failure);
        alineo_error_free(failure);
        if (code != ALINEO_OK || used == 0)
            return false;
        done += used;
    }
    return true;
}

static void *run_writer(void *argument) {
    al_exec_pump *pump = argument;
    const al_provider_binding *provider = al_exec_link_provider(pump->link);
    for (;;) {
        size_t used = 0;
        if (al_read_some(pump->stdin_end, pump->stdin_buffer, PUMP_BUFFER_SIZE, &used) != 0 ||
            used == 0 || !write_piece(pump, provider, used))
            break;
    }
    al_close(al_steal_fd(&pump->stdin_end));
    if (AL_HAS(provider->table, exec_close_stdin)) {
        alineo_error *failure = NULL; /* the command has ended, or it will never see the end */
        (void)provider->table->exec_close_stdin(provider->self, pump->link->handle, &failure);
        alineo_error_free(failure);
    }
    end_thread(pump);
    return NULL;
}

static void *run_waiter(void *argument) {
    al_exec_pump *pump = argument;
    const al_provider_binding *provider = al_exec_link_provider(pump->link);
    alineo_exec_status status = ALINEO_EXEC_STATUS_INIT;
    alineo_error *failure = NULL;
    alineo_code code;
    do {
        alineo_error_free(failure);
        failure = NULL;
        code = provider->table->exec_wait(provider->self, pump->link->handle, ALINEO_FOREVER,
                                          &status, &failure);
        code = al_from_plugin(code, provider->plugin, "exec_wait", &failure);
    } while (code == ALINEO_TIMEOUT);
    {
        al_autolock(&pump->lock);
        pump->status_code = code;
        pump->status = status;
        pump->status_error = failure;
    }
    al_close(al_steal_fd(&pump->status_end));
    end_thread(pump);
    return NULL;
}

/* --- starting --------------------------------------------------------------------------------- */

static int start_thread(al_exec_pump *pump, al_pump_thread *thread, void *(*run)(void *)) {
    {
        al_autolock(&pump->lock);
        pump->running++;
    }
    atomic_fetch_add(&pump->refs, 1);
    int rc = al_thread_start(run, pump, &thread->thread);
    thread->started = rc == 0;
    if (rc != 0)
        end_thread(pump);
    return rc;
}

static int start_reader(al_exec_pump *pump, alineo_exec_io *io) {
    pump->buffer = malloc(PUMP_BUFFER_SIZE);
    if (pump->buffer == NULL)
        return ENOMEM;
    int rc = al_pipe(&io->stdout_fd, &pump->stdout_end);
    if (rc == 0)
        rc = al_pipe(&io->stderr_fd, &pump->stderr_end);
    if (rc == 0)
        rc = start_thread(pump, &pump->reader, run_reader);
    pump->reads = rc == 0;
    return rc;
}

static int start_writer(al_exec_pump *pump, alineo_exec_io *io) {
    pump->stdin_buffer = malloc(PUMP_BUFFER_SIZE);
    if (pump->stdin_buffer == NULL)
        return ENOMEM;
    int rc = al_pipe(&pump->stdin_end, &io->stdin_fd);
    return rc == 0 ? start_thread(pump, &pump->writer, run_writer) : rc;
}

static int start_waiter(al_exec_pump *pump, alineo_exec_io *io) {
    int rc = al_pipe(&io->status_fd, &pump->status_end);
    if (rc == 0)
        rc = start_thread(pump, &pump->waiter, run_waiter);
    pump->waits = rc == 0;
    return rc;
}

static al_exec_pump *pump_new(al_exec_link *link) {
    al_exec_pump *pump = calloc(1, sizeof(*pump));
    if (pump == NULL)
        return NULL;
    if (pthread_mutex_init(&pump->lock, NULL) != 0) {
        free(pump);
        return NULL;
    }
    if (al_condition_init(&pump->ended) != 0) {
        (void)pthread_mutex_destroy(&pump->lock);
        free(pump);
        return NULL;
    }
    atomic_init(&pump->refs, 1);
    pump->link = al_exec_link_ref(link);
    pump->stdout_end = pump->stderr_end = pump->stdin_end = pump->status_end = -1;
    pump->status_code = ALINEO_TIMEOUT;
    pump->status = (alineo_exec_status)ALINEO_EXEC_STATUS_INIT;
    return pump;
}

static int start_threads(al_exec_pump *pump, alineo_exec_io *io, bool reads, bool writes) {
    int rc = reads ? start_reader(pump, io) : 0;
    if (rc == 0 && writes)
        rc = start_writer(pump, io);
    if (rc == 0 && io->status_fd < 0)
        rc = start_waiter(pump, io);
    return rc;
}

alineo_code al_exec_pump_start(al_exec_link *link, alineo_exec_io *io, bool want_stdin,
                               al_exec_pump **out, alineo_error **err) {
    const al_provider_binding *provider = al_exec_link_provider(link);
    bool no_output = io->stdout_fd < 0 && io->stderr_fd < 0 && io->pty_fd < 0;
    bool reads = no_output && AL_HAS(provider->table, exec_read);
    bool writes = want_stdin && io->stdin_fd < 0 && AL_HAS(provider->table, exec_write);
    if (!reads && !writes && io->status_fd >= 0)
        return ALINEO_OK;
    al_exec_pump *pump = pump_new(link);
    if (pump == NULL)
        return al_fail_memory(err);
    *out = pump;
    int rc = start_threads(pump, io, reads, writes);
    return rc == 0 ? ALINEO_OK
                   : al_fail_errno(err, ALINEO_IO, rc, "raise the limit of threads",
                                   "exec: start the threads that carry its streams");
}

/* --- for the exec ----------------------------------------------------------------------------- */

bool al_exec_pump_reads(const al_exec_pump *pump) {
    return pump != NULL && pump->reads;
}

bool al_exec_pump_waits(const al_exec_pump *pump) {
    return pump != NULL && pump->waits;
}

const char *al_exec_pump_failure(al_exec_pump *pump) {
    if (pump == NULL)
        return NULL;
    al_autolock(&pump->lock);
    if (!pump->has_failed)
        return NULL;
    return pump->failure != NULL ? pump->failure : "the output could not be read to its end";
}

alineo_code al_exec_pump_status(al_exec_pump *pump, alineo_exec_status *status,
                                alineo_error **err) {
    al_autolock(&pump->lock);
    *status = pump->status;
    pump->status.detail = NULL;
    if (pump->status_error != NULL)
        *err = AL_STEAL(pump->status_error);
    return pump->status_code;
}

static void wait_for_threads(al_exec_pump *pump, al_deadline deadline) {
    struct timespec at = {.tv_sec = deadline.at_ns / 1000000000,
                          .tv_nsec = deadline.at_ns % 1000000000};
    al_autolock(&pump->lock);
    while (pump->running > 0 && pthread_cond_timedwait(&pump->ended, &pump->lock, &at) != ETIMEDOUT)
        ;
}

/* A thread that still sits in the provider ends by itself, some time. */
static void leave(al_pump_thread *thread, bool has_ended) {
    if (!thread->started)
        return;
    if (has_ended)
        (void)pthread_join(thread->thread, NULL);
    else
        (void)pthread_detach(thread->thread);
}

void al_exec_pump_free(al_exec_pump *pump, int64_t timeout_ms) {
    if (pump == NULL)
        return;
    wait_for_threads(pump, al_deadline_after_ms(timeout_ms));
    bool have_ended;
    {
        al_autolock(&pump->lock);
        have_ended = pump->running == 0;
    }
    leave(&pump->reader, have_ended);
    leave(&pump->writer, have_ended);
    leave(&pump->waiter, have_ended);
    pump_drop(pump);
}

void al_exec_pump_forget(al_exec_pump *pump, bool with_link) {
    if (pump == NULL)
        return;
    if (with_link)
        al_exec_link_forget(pump->link);
    al_close(pump->stdout_end);
    al_close(pump->stderr_end);
    al_close(pump->stdin_end);
    al_close(pump->status_end);
    free(pump->buffer);
    free(pump->stdin_buffer);
    free(pump->failure);
    alineo_error_free(pump->status_error);
    free(pump);
}
