/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_OBSERVE_H
#define ALINEO_OBSERVE_H

/** What a sandbox uses, and what its platform says of it. */

#include <alineo/sandbox.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One reading; takes some tenths of a second where a rate needs two. One call of found. Needs
 * `metrics`. `options` may be NULL. */
ALINEO_API alineo_code alineo_sandbox_metrics(alineo_sandbox *sandbox,
                                              const alineo_op_options *options,
                                              alineo_metrics_fn *found, void *user,
                                              alineo_error **err);

/**
 * A reading every interval_ms (at least 10), until found returns non-zero (ALINEO_OK), the call is
 * cancelled (CANCELLED), or the sandbox ends (SANDBOX_NOT_FOUND). Blocks as long. Needs `metrics`.
 */
ALINEO_API alineo_code alineo_sandbox_metrics_watch(alineo_sandbox *sandbox, int64_t interval_ms,
                                                    const alineo_op_options *options,
                                                    alineo_metrics_fn *found, void *user,
                                                    alineo_error **err);

/** Text in pieces: `what` is "logs" (of the sandbox's own program) or "events" (of the platform).
 * Needs `diagnostics`. */
ALINEO_API alineo_code alineo_sandbox_diagnostics(alineo_sandbox *sandbox, const char *what,
                                                  const alineo_op_options *options,
                                                  alineo_text_fn *found, void *user,
                                                  alineo_error **err);

#ifdef __cplusplus
}
#endif

#endif
