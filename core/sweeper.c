/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sweeper.h"

#include "core/call_private.h"
#include "core/provider_calls.h"
#include "core/stamp.h"
#include "core/thread.h"
#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/list.h"
#include "core/util/str.h"
#include "core/util/strv.h"

#include <stdlib.h>
#include <time.h>

enum {
    LOOK_MS = 2000,
    DESTROY_MS = 5000
};

/* When the background looks again, after the failure. */
static const int64_t later_ms[] = {1000, 3000, 8000};

struct al_sweeper {
    al_provider_binding *provider;
    al_log log;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    al_list watches; /* guarded by lock; of watch.link */
    int stopping;    /* guarded by lock */
    int started;     /* guarded by lock; `thread` runs */
    pthread_t thread;
};

/* Something that is to be gone. */
typedef struct watch {
    al_list link;
    char *create_id;
    char *sandbox_id; /* NULL = not known, only the stamp */
    int64_t since_ms; /* monotonic */
    size_t round;     /* index of later_ms */
} watch;

static void watch_free(watch *self) {
    if (self == NULL)
        return;
    free(self->create_id);
    free(self->sandbox_id);
    free(self);
}

alineo_code al_sweeper_new(al_provider_binding *provider, al_log log, al_sweeper **out,
                           alineo_error **err) {
    al_sweeper *sweeper = calloc(1, sizeof(*sweeper));
    if (sweeper == NULL)
        return al_fail_memory(err);
    int rc = pthread_mutex_init(&sweeper->lock, NULL);
    if (rc == 0)
        rc = al_condition_init(&sweeper->changed);
    if (rc != 0) {
        free(sweeper);
        return al_fail_errno(err, ALINEO_INTERNAL, rc, NULL, "make a lock");
    }
    sweeper->provider = provider;
    sweeper->log = log;
    al_list_init(&sweeper->watches);
    *out = sweeper;
    return ALINEO_OK;
}

static void free_watches(al_sweeper *sweeper) {
    al_list *link;
    while ((link = al_list_take_first(&sweeper->watches)) != NULL)
        watch_free(AL_CONTAINER(link, watch, link));
}

void al_sweeper_forget(al_sweeper *sweeper) {
    if (sweeper == NULL)
        return;
    /* A thread of the parent may have been changing the list when it forked: then leave it be. */
    if (pthread_mutex_trylock(&sweeper->lock) == 0)
        free_watches(sweeper);
    free(sweeper);
}

/* --- looking ---------------------------------------------------------------------------------- */

static int32_t collect_id(void *user, const alineo_sandbox_info *info) {
    return al_strv_append(user, info->id) != 0;
}

/* Destroys one; a sandbox that is gone already is fine. */
static alineo_code destroy(al_sweeper *sweeper, const char *sandbox_id, alineo_call *call,
                           alineo_error **err) {
    alineo_error *failure = NULL;
    alineo_code code = al_provider_destroy(sweeper->provider, sandbox_id, call, &failure);
    if (code != ALINEO_SANDBOX_NOT_FOUND)
        return al_error_give(&failure, err);
    alineo_error_free(failure);
    return ALINEO_OK;
}

/* Destroys what carries the create id and is to be seen now; *count says how many were. */
static alineo_code sweep_once(al_sweeper *sweeper, const char *create_id, alineo_call *call,
                              size_t *count, alineo_error **err) {
    const char *const stamp[] = {AL_STAMP_CREATE, create_id, NULL};
    al_auto(al_strv_free) al_strv ids = AL_STRV_INIT;
    alineo_error *failure = NULL;
    alineo_code code =
        al_provider_list(sweeper->provider, stamp, call, collect_id, &ids, NULL, &failure);
    for (size_t i = 0; i < ids.count; i++) {
        alineo_code destroyed =
            destroy(sweeper, ids.items[i], call, code == ALINEO_OK ? &failure : NULL);
        if (destroyed == ALINEO_OK)
            al_log_line(&sweeper->log, ALINEO_LOG_INFO, "",
                        "destroyed sandbox %s, which a failed create left", ids.items[i]);
        else if (code == ALINEO_OK)
            code = destroyed;
    }
    *count = ids.count;
    (void)al_error_give(&failure, err);
    return code;
}

/* Sweeps until nothing more is to be seen: one that is just being ended is waited for. */
static alineo_code sweep_stamp(al_sweeper *sweeper, const char *create_id, alineo_call *call,
                               alineo_error **err) {
    if (!AL_HAS(sweeper->provider->table, list))
        return ALINEO_OK;
    for (int64_t pause_ms = 5;; pause_ms *= 2) {
        size_t count = 0;
        alineo_error *failure = NULL;
        (void)sweep_once(sweeper, create_id, call, &count, &failure);
        if (count == 0 || call == NULL || al_call_wait_fd(call, -1, pause_ms) != ETIMEDOUT)
            return al_error_give(&failure, err);
        alineo_error_free(failure);
    }
}

/* One look, bounded by a call of its own: the caller's may be what was cancelled. Where none can be
 * made (no memory, no descriptors) an unbounded look is better than none. */
static alineo_code look(al_sweeper *sweeper, const char *create_id, const char *sandbox_id,
                        int64_t timeout_ms, alineo_error **err) {
    al_auto(alineo_call_free) alineo_call *call = NULL;
    (void)al_call_derive(NULL, timeout_ms, &call, NULL);
    if (sandbox_id == NULL)
        return sweep_stamp(sweeper, create_id, call, err);
    return destroy(sweeper, sandbox_id, call, err);
}

/* True when nothing is left to be done for it. */
static int look_again(al_sweeper *sweeper, watch *self, int64_t timeout_ms) {
    al_auto(alineo_error_free) alineo_error *error = NULL;
    alineo_code code = look(sweeper, self->create_id, self->sandbox_id, timeout_ms, &error);
    self->round++;
    if (code == ALINEO_OK && self->sandbox_id != NULL)
        return 1;
    if (self->round < AL_COUNT(later_ms))
        return 0;
    if (code != ALINEO_OK)
        al_log_line(&sweeper->log, ALINEO_LOG_WARNING, "",
                    "a failed create may have left sandbox %s (create id %s): %s; "
                    "`alineo reconcile` finds it",
                    self->sandbox_id == NULL ? "of unknown id" : self->sandbox_id, self->create_id,
                    alineo_error_message(error));
    return 1;
}

/* --- the background --------------------------------------------------------------------------- */

static int64_t due_ms(const watch *self) {
    return self->since_ms + later_ms[self->round];
}

/* Takes out the watch that is to be looked at first, waiting until it is time. NULL: stopping. */
static watch *next_due(al_sweeper *sweeper) {
    al_autolock(&sweeper->lock);
    for (;;) {
        if (sweeper->stopping)
            return NULL;
        watch *first = NULL;
        AL_LIST_FOREACH(link, &sweeper->watches) {
            watch *each = AL_CONTAINER(link, watch, link);
            if (first == NULL || due_ms(each) < due_ms(first))
                first = each;
        }
        if (first == NULL) {
            (void)pthread_cond_wait(&sweeper->changed, &sweeper->lock);
            continue;
        }
        int64_t at_ms = due_ms(first);
        if (at_ms <= al_clock_monotonic_ms()) {
            al_list_remove(&first->link);
            return first;
        }
        struct timespec until = {.tv_sec = (time_t)(at_ms / 1000),
                                 .tv_nsec = (long)(at_ms % 1000) * 1000000};
        (void)pthread_cond_timedwait(&sweeper->changed, &sweeper->lock, &until);
    }
}

static void put_back(al_sweeper *sweeper, watch *self) {
    al_autolock(&sweeper->lock);
    al_list_append(&sweeper->watches, &self->link);
}

/* The last look at all that is left: nothing is added any more. */
static void finish(al_sweeper *sweeper) {
    al_deadline end = al_deadline_after_ms(LOOK_MS);
    AL_LIST_FOREACH(link, &sweeper->watches) {
        watch *each = AL_CONTAINER(link, watch, link);
        each->round = AL_COUNT(later_ms);
        (void)look_again(sweeper, each, al_deadline_left_ms(end));
    }
    free_watches(sweeper);
}

static void *run(void *argument) {
    al_sweeper *sweeper = argument;
    watch *due;
    while ((due = next_due(sweeper)) != NULL) {
        if (look_again(sweeper, due, LOOK_MS))
            watch_free(due);
        else
            put_back(sweeper, due);
    }
    finish(sweeper);
    return NULL;
}

static watch *watch_new(const char *create_id, const char *sandbox_id) {
    watch *self = calloc(1, sizeof(*self));
    if (self == NULL)
        return NULL;
    self->since_ms = al_clock_monotonic_ms();
    self->create_id = al_strdup(create_id);
    self->sandbox_id = al_strdup(sandbox_id);
    if (self->create_id == NULL || (sandbox_id != NULL && self->sandbox_id == NULL)) {
        watch_free(self);
        return NULL;
    }
    return self;
}

/* Has the background look again. */
static void add_watch(al_sweeper *sweeper, const char *create_id, const char *sandbox_id) {
    watch *self = watch_new(create_id, sandbox_id);
    int rc = self == NULL ? ENOMEM : 0;
    if (rc == 0) {
        al_autolock(&sweeper->lock);
        if (!sweeper->started)
            rc = al_thread_start(run, sweeper, &sweeper->thread);
        if (rc == 0) {
            sweeper->started = 1;
            al_list_append(&sweeper->watches, &self->link);
            (void)pthread_cond_signal(&sweeper->changed);
            return;
        }
    }
    watch_free(self);
    al_log_line(
        &sweeper->log, ALINEO_LOG_WARNING, "",
        "cannot go on looking for what create %s may leave: %s; `alineo reconcile` finds it",
        create_id, al_errno_text(rc));
}

void al_sweeper_free(al_sweeper *sweeper) {
    if (sweeper == NULL)
        return;
    int started;
    {
        al_autolock(&sweeper->lock);
        sweeper->stopping = 1;
        started = sweeper->started;
        (void)pthread_cond_signal(&sweeper->changed);
    }
    if (started)
        (void)pthread_join(sweeper->thread, NULL);
    free_watches(sweeper);
    (void)pthread_cond_destroy(&sweeper->changed);
    (void)pthread_mutex_destroy(&sweeper->lock);
    free(sweeper);
}

/* --- what callers ask ------------------------------------------------------------------------- */

void al_sweeper_sweep(al_sweeper *sweeper, const char *create_id) {
    if (!AL_HAS(sweeper->provider->table, list)) {
        al_log_line(&sweeper->log, ALINEO_LOG_WARNING, "",
                    "create %s failed, and provider %s cannot list what it may have left",
                    create_id, sweeper->provider->id);
        return;
    }
    al_auto(alineo_error_free) alineo_error *error = NULL;
    if (look(sweeper, create_id, NULL, LOOK_MS, &error) != ALINEO_OK)
        al_log_line(&sweeper->log, ALINEO_LOG_INFO, "", "look for what create %s left: %s",
                    create_id, alineo_error_message(error));
    add_watch(sweeper, create_id, NULL);
}

alineo_code al_sweeper_destroy(al_sweeper *sweeper, const char *create_id, const char *sandbox_id,
                               alineo_error **err) {
    alineo_error *failure = NULL;
    if (look(sweeper, create_id, sandbox_id, DESTROY_MS, &failure) != ALINEO_OK)
        add_watch(sweeper, create_id, sandbox_id);
    return al_error_give(&failure, err);
}
