/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_BACKGROUND_H
#define ALINEO_BACKGROUND_H

/**
 * Background commands: they run on when whoever started them goes away, and any process can find
 * them by their id, read what they print, and end them. All of it needs the capability
 * `background`.
 *
 *  1. alineo_sandbox_exec with options.background; the exec is used like any other.
 *  2. alineo_exec_detach lets it run on. What it printed so far is in the ledger, and that it was
 *     detached; what comes later is kept by the provider, up to a size.
 *  3. alineo_background_attach, in any process: an exec that reads on, from any offset.
 */

#include <alineo/exec.h>
#include <alineo/sandbox.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Lets a background command run on, and the exec go: it can only be freed then (its outcome is
 * LOST, with the detail "detached"). Returns when that is stored. After its end: ALINEO_OK, and
 * nothing else is done. INVALID_ARGUMENT when it was not started with `background`;
 * STORAGE_UNAVAILABLE.
 */
ALINEO_API alineo_code alineo_exec_detach(alineo_exec *exec, alineo_error **err);

/** Each of them, also those that ended, as long as the provider remembers them. */
ALINEO_API alineo_code alineo_background_list(alineo_sandbox *sandbox,
                                              const alineo_op_options *options,
                                              alineo_background_info_fn *found, void *user,
                                              alineo_error **err);

typedef struct alineo_attach_options {
    size_t size;
    uint64_t stdout_offset; /* begin at this byte of the stream; 0 = its first */
    uint64_t stderr_offset;
    alineo_choice strict; /* as in alineo_exec_options */
    alineo_call *call;
} alineo_attach_options;
#define ALINEO_ATTACH_OPTIONS_INIT                                                                 \
    { sizeof(alineo_attach_options), 0, 0, ALINEO_DEFAULT, NULL }
ALINEO_API void alineo_attach_options_init(alineo_attach_options *options);

/**
 * An exec on a background command. What it reads is not put in the ledger; it has no stdin, and
 * alineo_exec_seq is 0. Cancelling ends the command; freeing lets it run on. *stdout_gap and
 * *stderr_gap (may be NULL): so many bytes behind the offset are not kept any more, and left out.
 * An offset beyond the end begins at the end. EXEC_NOT_FOUND. `options` may be NULL.
 */
ALINEO_API alineo_code alineo_background_attach(alineo_sandbox *sandbox, const char *exec_id,
                                                const alineo_attach_options *options,
                                                alineo_exec **out, uint64_t *stdout_gap,
                                                uint64_t *stderr_gap, alineo_error **err);

/** Ends it with all that it started; does not wait. One that has ended: ALINEO_OK. EXEC_NOT_FOUND.
 * */
ALINEO_API alineo_code alineo_background_kill(alineo_sandbox *sandbox, const char *exec_id,
                                              const alineo_op_options *options, alineo_error **err);

#ifdef __cplusplus
}
#endif

#endif
