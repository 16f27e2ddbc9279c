/* SPDX-License-Identifier: Apache-2.0 */
#include "core/create_job.h"

#include "core/call_private.h"
#include "core/check.h"
#include "core/provider_calls.h"
#include "core/sweeper.h"
#include "core/thread.h"
#include "core/util/io.h"
#include "core/util/str.h"

#include <stdlib.h>

enum {
    GRACE_MS = 2000 /* a provider comes back within a second of a cancel, on a quiet machine */
};

struct al_create_job {
    pthread_mutex_t lock;
    int refs;              /* guarded by lock; the caller's, and the thread's while it runs */
    alineo_client *client; /* a hold */
    al_sandbox_plan *plan;
    alineo_call *own_call;    /* what the provider is given: it outlives the caller's */
    alineo_call *caller_call; /* guarded by lock; for progress; NULL once the caller has left */
    pthread_t thread;
    int done_fd;   /* signalled when the provider came back */
    int abandoned; /* guarded by lock; the caller has left */
    /* Set by the thread before done_fd, or by the caller without one. */
    char id[AL_SANDBOX_ID_MAX + 1]; /* "" = none; needs no memory, so that it can be destroyed */
    alineo_code code;
    alineo_error *error;
};

static void job_free(al_create_job *job) {
    al_sandbox_plan_free(job->plan);
    alineo_call_free(job->own_call);
    al_close(job->done_fd);
    alineo_error_free(job->error);
    (void)pthread_mutex_destroy(&job->lock);
    al_client_unref(job->client);
    free(job);
}

void al_create_job_free(al_create_job *job) {
    if (job == NULL)
        return;
    int left;
    {
        al_autolock(&job->lock);
        left = --job->refs;
    }
    if (left == 0)
        job_free(job);
}

const al_sandbox_plan *al_create_job_plan(const al_create_job *job) {
    return job->plan;
}

const char *al_create_job_id(const al_create_job *job) {
    return job->id;
}

static al_create_job *job_new(alineo_client *client, al_sandbox_plan *plan) {
    al_create_job *job = calloc(1, sizeof(*job));
    if (job == NULL || pthread_mutex_init(&job->lock, NULL) != 0) {
        free(job);
        al_sandbox_plan_free(plan);
        return NULL;
    }
    job->refs = 1;
    job->done_fd = -1;
    job->plan = plan;
    job->client = client;
    al_client_ref(client);
    return job;
}

/* --- what the provider is asked --------------------------------------------------------------- */

static int32_t keep_id(void *user, const alineo_sandbox_info *info) {
    al_create_job *job = user;
    if (job->id[0] == '\0')
        (void)al_str_copy(job->id, sizeof(job->id), info->id);
    return 0;
}

static void ask_provider(al_create_job *job, alineo_call *call) {
    job->code = al_provider_create(job->client->provider, &job->plan->request, call, keep_id, job,
                                   &job->error);
}

/* Whether a create that failed so may have made a sandbox, or may make it yet. The other codes say
 * that the provider refused, or undid what it had begun. */
static int may_have_made(alineo_code code) {
    switch (code) {
    case ALINEO_CANCELLED:
    case ALINEO_TIMEOUT:
    case ALINEO_PROVIDER_UNAVAILABLE:
    case ALINEO_EXEC_NOT_READY:
    case ALINEO_IO:
    case ALINEO_NO_MEMORY:
    case ALINEO_INTERNAL:
        return 1;
    default:
        return 0;
    }
}

/* Nobody wants the result. */
static void undo(al_create_job *job) {
    if (job->id[0] != '\0')
        (void)al_sweeper_destroy(job->client->sweeper, job->plan->create_id, job->id, NULL);
    else if (job->code == ALINEO_OK || may_have_made(job->code))
        al_sweeper_sweep(job->client->sweeper, job->plan->create_id);
}

static void *run(void *argument) {
    al_create_job *job = argument;
    ask_provider(job, job->own_call);
    int abandoned;
    {
        al_autolock(&job->lock);
        abandoned = job->abandoned;
        al_event_signal(job->done_fd);
    }
    if (abandoned)
        undo(job);
    al_create_job_free(job);
    return NULL;
}

/* --- the caller's side ------------------------------------------------------------------------ */

/* Under the lock, so that the caller's function is not called once the caller has left. */
static void pass_progress(void *user, const char *stage, uint64_t done, uint64_t total,
                          const char *text) {
    al_create_job *job = user;
    al_autolock(&job->lock);
    al_call_progress(job->caller_call, stage, done, total, text);
}

static alineo_code start(al_create_job *job, alineo_call *call, alineo_error **err) {
    int64_t left_ms = alineo_call_remaining_ms(call);
    alineo_call_options options = {.size = sizeof(options),
                                   .timeout_ms = left_ms < 0    ? 0
                                                 : left_ms == 0 ? 1
                                                                : left_ms,
                                   .progress = pass_progress,
                                   .progress_user = job};
    alineo_code code = alineo_call_new(&options, &job->own_call, err);
    if (code != ALINEO_OK)
        return code;
    int rc = al_event_new(&job->done_fd);
    if (rc != 0)
        return al_fail_errno(err, ALINEO_IO, rc, "raise the limit of open files (ulimit -n)",
                             "make a descriptor");
    job->caller_call = call;
    job->refs++;
    rc = al_thread_start(run, job, &job->thread);
    if (rc == 0)
        return ALINEO_OK;
    job->refs--;
    return al_fail_errno(err, ALINEO_IO, rc, NULL, "start a thread");
}

/* True when the provider came back, and the thread has ended with all its holds; else it is on its
 * own from now on. */
static int wait_for_provider(al_create_job *job, alineo_call *call, int *reason) {
    *reason = al_call_wait_fd(call, job->done_fd, ALINEO_FOREVER);
    if (*reason != 0) {
        /* A deadline has passed for the provider too; it says so itself. */
        if (*reason != ETIME)
            alineo_call_cancel(job->own_call);
        (void)al_call_wait_fd(NULL, job->done_fd, GRACE_MS);
    }
    {
        al_autolock(&job->lock);
        if (al_call_wait_fd(NULL, job->done_fd, 0) != 0) {
            job->abandoned = 1;
            job->caller_call = NULL;
            alineo_call_cancel(job->own_call);
            (void)pthread_detach(job->thread);
            return 0;
        }
    }
    (void)pthread_join(job->thread, NULL);
    return 1;
}

static alineo_code left_alone(const al_create_job *job, int reason, alineo_error **err) {
    return al_fail(
        err, reason == ETIME ? ALINEO_TIMEOUT : ALINEO_CANCELLED, NULL,
        "create a sandbox: %s, and provider %s does not come back; what it makes late is "
        "destroyed",
        reason == ETIME ? "the call's time is over" : "cancelled", job->client->provider->id);
}

alineo_code al_create_job_run(alineo_client *client, al_sandbox_plan *plan, alineo_call *call,
                              al_create_job **out, alineo_error **err) {
    al_auto(al_create_job_free) al_create_job *job = job_new(client, plan);
    if (job == NULL)
        return al_fail_memory(err);
    if (call == NULL) {
        ask_provider(job, NULL);
    } else {
        int reason = 0;
        alineo_code code = start(job, call, err);
        if (code != ALINEO_OK)
            return code;
        if (!wait_for_provider(job, call, &reason))
            return left_alone(job, reason, err);
    }
    if (job->code != ALINEO_OK) {
        undo(job);
        return al_error_give(&job->error, err);
    }
    *out = AL_STEAL(job);
    return ALINEO_OK;
}
