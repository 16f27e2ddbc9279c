/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CALL_H
#define ALINEO_CALL_H

/**
 * A call: the deadline, the cancel switch and the progress reports of calls that may block longer
 * than a local file operation. Pass one in the `call` field of a function's options; NULL there
 * means no deadline, no cancelling. One call object may serve several calls, one after another or
 * at once: the deadline is total, counted from alineo_call_new().
 *
 * What a cancelled or late call had begun is undone: a create leaves nothing, what arrives late is
 * destroyed. The call answers ALINEO_CANCELLED or ALINEO_TIMEOUT.
 */

#include <alineo/base.h>
#include <alineo/error.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct alineo_call alineo_call;

/**
 * Tells how far a call is. `stage` is a short word ("slot", "probe", "create", "pull", ...), `done`
 * of `total` in the stage's own unit (total 0: unknown), `text` a sentence for people or NULL. Runs
 * on the thread that makes the call, or on one of the plugin's; must not block and must not call
 * back into the library with the same client.
 */
typedef void alineo_progress_fn(void *user, const char *stage, uint64_t done, uint64_t total,
                                const char *text);

typedef struct alineo_call_options {
    size_t size;
    int64_t timeout_ms; /* total for everything done under the call; 0 = none */
    alineo_progress_fn *progress;
    void *progress_user;
} alineo_call_options;
#define ALINEO_CALL_OPTIONS_INIT                                                                   \
    { sizeof(alineo_call_options), 0, NULL, NULL }
ALINEO_API void alineo_call_options_init(alineo_call_options *options);

/** `options` may be NULL. Fails with INVALID_ARGUMENT (negative timeout), IO (no descriptor),
 * NO_MEMORY. */
ALINEO_API alineo_code alineo_call_new(const alineo_call_options *options, alineo_call **out,
                                       alineo_error **err);

/** Cancels from any thread, or from a signal handler. Idempotent. */
ALINEO_API void alineo_call_cancel(alineo_call *call);

/** Non-zero once cancelled. Any thread. */
ALINEO_API int32_t alineo_call_cancelled(const alineo_call *call);

/** Milliseconds left: ALINEO_FOREVER without a deadline, 0 when it has passed. Any thread. */
ALINEO_API int64_t alineo_call_remaining_ms(const alineo_call *call);

/** A descriptor that is readable once the call is cancelled; owned by the call, never read it. */
ALINEO_API int alineo_call_fd(const alineo_call *call);

/** Drops the caller's hold. Must not be called while a function that was given it still runs. */
ALINEO_API void alineo_call_free(alineo_call *call);

#ifdef __cplusplus
}
#endif

#endif
