/* SPDX-License-Identifier: Apache-2.0 */
#include "core/slots.h"

#include "core/call_private.h"
#include "core/fail.h"
#include "core/util/cleanup.h"
#include "core/util/io.h"
#include "core/util/list.h"

#include <stdlib.h>

struct al_slots {
    pthread_mutex_t lock;
    size_t limit;
    size_t in_use; /* guarded by lock; slots on their way to a waiter included */
    al_list queue; /* guarded by lock; of waiter.link, the longest waiting first */
};

typedef struct waiter {
    al_list link; /* in no list once it was granted */
    int granted;  /* guarded by lock */
    int fd;       /* signalled when it is granted */
} waiter;

alineo_code al_slots_new(size_t limit, al_slots **out, alineo_error **err) {
    al_slots *slots = calloc(1, sizeof(*slots));
    if (slots == NULL)
        return al_fail_memory(err);
    int rc = pthread_mutex_init(&slots->lock, NULL);
    if (rc != 0) {
        free(slots);
        return al_fail_errno(err, ALINEO_INTERNAL, rc, NULL, "make a lock");
    }
    slots->limit = limit;
    al_list_init(&slots->queue);
    *out = slots;
    return ALINEO_OK;
}

void al_slots_free(al_slots *slots) {
    if (slots == NULL)
        return;
    (void)pthread_mutex_destroy(&slots->lock);
    free(slots);
}

/* Takes a free slot, or stands in the queue. True: taken. */
static int take_or_queue(al_slots *slots, waiter *self) {
    al_autolock(&slots->lock);
    if (slots->in_use < slots->limit && al_list_empty(&slots->queue)) {
        slots->in_use++;
        return 1;
    }
    if (self != NULL)
        al_list_append(&slots->queue, &self->link);
    return 0;
}

/* Hands a slot to the longest waiting, or frees it. Under the lock. */
static void pass_on(al_slots *slots) {
    al_list *first = al_list_take_first(&slots->queue);
    if (first == NULL) {
        slots->in_use--;
        return;
    }
    waiter *next = AL_CONTAINER(first, waiter, link);
    next->granted = 1;
    /* Under the lock: the waiter closes its descriptor only after it had the lock itself. */
    al_event_signal(next->fd);
}

/* Leaves the queue after a wait that ended with `waited`. A slot that was granted meanwhile goes to
 * the next when we are not to have it. */
static int leave(al_slots *slots, waiter *self, int waited) {
    al_autolock(&slots->lock);
    al_list_remove(&self->link);
    if (!self->granted)
        return waited == 0 ? EINTR : waited;
    if (waited != 0)
        pass_on(slots);
    return waited;
}

static alineo_code wait_failed(const al_slots *slots, int reason, alineo_error **err) {
    static const char hint[] = "close a sandbox, or raise maxConcurrency in the config";
    if (reason == ECANCELED)
        return al_fail(err, ALINEO_CANCELLED, NULL, "wait for one of %zu slots: cancelled",
                       slots->limit);
    if (reason == ETIME)
        return al_fail(err, ALINEO_TIMEOUT, hint,
                       "wait for one of %zu slots: none came free in time", slots->limit);
    return al_fail_errno(err, ALINEO_IO, reason, NULL, "wait for one of %zu slots", slots->limit);
}

alineo_code al_slots_take(al_slots *slots, alineo_call *call, alineo_error **err) {
    if (slots->limit == 0)
        return ALINEO_OK;
    if (take_or_queue(slots, NULL))
        return ALINEO_OK;

    waiter self = {.fd = -1};
    al_list_init(&self.link);
    int rc = al_event_new(&self.fd);
    if (rc != 0)
        return wait_failed(slots, rc, err);
    if (!take_or_queue(slots, &self)) {
        al_call_progress(call, "slot", 0, slots->limit, "waiting until a sandbox is closed");
        rc = leave(slots, &self, al_call_wait_fd(call, self.fd, ALINEO_FOREVER));
    }
    al_close(self.fd);
    return rc == 0 ? ALINEO_OK : wait_failed(slots, rc, err);
}

void al_slots_give(al_slots *slots) {
    if (slots->limit == 0)
        return;
    al_autolock(&slots->lock);
    pass_on(slots);
}
