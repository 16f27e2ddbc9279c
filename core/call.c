/* SPDX-License-Identifier: Apache-2.0 */
#include <alineo/call.h>

#include "core/call_private.h"
#include "core/fail.h"
#include "core/struct.h"
#include "core/util/io.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

struct alineo_call {
    atomic_int cancelled; /* lock-free, so that a signal handler may set it */
    int fd;               /* an eventfd; -1 in a derived call, which has its parent's */
    al_deadline deadline;
    alineo_call *parent; /* of a derived call, else NULL */
    alineo_progress_fn *progress;
    void *progress_user;
};

_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "alineo_call_cancel() must work in a signal handler");

void alineo_call_options_init(alineo_call_options *options) {
    *options = (alineo_call_options)ALINEO_CALL_OPTIONS_INIT;
}

static alineo_call *call_alloc(al_deadline deadline, alineo_progress_fn *progress,
                               void *progress_user) {
    alineo_call *call = calloc(1, sizeof(*call));
    if (call == NULL)
        return NULL;
    atomic_init(&call->cancelled, 0);
    call->fd = -1;
    call->deadline = deadline;
    call->progress = progress;
    call->progress_user = progress_user;
    return call;
}

/* A call with an eventfd of its own. */
static alineo_code call_make(al_deadline deadline, alineo_progress_fn *progress,
                             void *progress_user, alineo_call **out, alineo_error **err) {
    alineo_call *call = call_alloc(deadline, progress, progress_user);
    if (call == NULL)
        return al_fail_memory(err);
    int rc = al_event_new(&call->fd);
    if (rc != 0) {
        free(call);
        return al_fail_errno(err, ALINEO_IO, rc, "raise the limit of open files (ulimit -n)",
                             "make a descriptor for a call");
    }
    *out = call;
    return ALINEO_OK;
}

alineo_code alineo_call_new(const alineo_call_options *options, alineo_call **out,
                            alineo_error **err) {
    alineo_call_options own;
    alineo_code code = AL_STRUCT_READ(&own, options, "alineo_call_options", err);
    if (code != ALINEO_OK)
        return code;
    if (own.timeout_ms < 0)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "use 0 for no timeout",
                       "make a call: timeout_ms is %lld, which is negative",
                       (long long)own.timeout_ms);
    al_deadline deadline =
        own.timeout_ms == 0 ? AL_DEADLINE_NONE : al_deadline_after_ms(own.timeout_ms);
    return call_make(deadline, own.progress, own.progress_user, out, err);
}

alineo_code al_call_derive(alineo_call *parent, int64_t timeout_ms, alineo_call **out,
                           alineo_error **err) {
    al_deadline deadline = al_deadline_after_ms(timeout_ms);
    if (parent == NULL)
        return call_make(deadline, NULL, NULL, out, err);
    alineo_call *call = call_alloc(al_deadline_earlier(deadline, parent->deadline),
                                   parent->progress, parent->progress_user);
    if (call == NULL)
        return al_fail_memory(err);
    call->parent = parent;
    *out = call;
    return ALINEO_OK;
}

static const alineo_call *root_of(const alineo_call *call) {
    while (call->parent != NULL)
        call = call->parent;
    return call;
}

/* Only what is allowed in a signal handler. */
void alineo_call_cancel(alineo_call *call) {
    while (call->parent != NULL)
        call = call->parent;
    int saved_errno = errno;
    if (atomic_exchange(&call->cancelled, 1) == 0)
        al_event_signal(call->fd);
    errno = saved_errno;
}

int32_t alineo_call_cancelled(const alineo_call *call) {
    return call != NULL ? atomic_load(&root_of(call)->cancelled) : 0;
}

int64_t alineo_call_remaining_ms(const alineo_call *call) {
    return al_deadline_left_ms(al_call_deadline(call));
}

int alineo_call_fd(const alineo_call *call) {
    return call != NULL ? root_of(call)->fd : -1;
}

void alineo_call_free(alineo_call *call) {
    if (call == NULL)
        return;
    al_close(call->fd);
    free(call);
}

al_deadline al_call_deadline(const alineo_call *call) {
    return call != NULL ? call->deadline : AL_DEADLINE_NONE;
}

alineo_code al_call_check(const alineo_call *call, const char *doing, alineo_error **err) {
    if (call == NULL)
        return ALINEO_OK;
    if (alineo_call_cancelled(call))
        return al_fail(err, ALINEO_CANCELLED, NULL, "%s: cancelled", doing);
    if (al_deadline_passed(call->deadline))
        return al_fail(err, ALINEO_TIMEOUT, "give the call a longer timeout_ms",
                       "%s: the call's time is over", doing);
    return ALINEO_OK;
}

void al_call_progress(const alineo_call *call, const char *stage, uint64_t done, uint64_t total,
                      const char *text) {
    if (call != NULL && call->progress != NULL)
        call->progress(call->progress_user, stage, done, total, text);
}

int al_call_wait_fd(const alineo_call *call, int fd, int64_t timeout_ms) {
    al_deadline own = al_deadline_after_ms(timeout_ms);
    al_deadline total = al_call_deadline(call);
    struct pollfd fds[2] = {{.fd = alineo_call_fd(call), .events = POLLIN},
                            {.fd = fd, .events = POLLIN}};
    for (;;) {
        int count = poll(fds, 2, al_deadline_poll_ms(al_deadline_earlier(own, total)));
        if (count < 0 && errno != EINTR && errno != EAGAIN)
            return errno;
        if (alineo_call_cancelled(call))
            return ECANCELED;
        if (count > 0 && fds[1].revents != 0)
            return 0;
        if (al_deadline_passed(total))
            return ETIME;
        if (al_deadline_passed(own))
            return ETIMEDOUT;
    }
}
