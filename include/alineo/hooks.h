/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_HOOKS_H
#define ALINEO_HOOKS_H

/**
 * Hooks: callbacks at the events of a sandbox's life, for tracing and metrics. They run on the
 * thread that makes the call, after the event was queued for the ledger, and cannot change the
 * result. They must not call back into the same sandbox. Several may be set; each is called, in
 * order. Strings are valid during the call. Every member may be NULL.
 */

#include <alineo/base.h>
#include <alineo/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct alineo_exec_result;

typedef struct alineo_hooks {
    size_t size;
    void *user;
    void (*sandbox_created)(void *user, const char *sandbox_id, const char *name);
    void (*exec_start)(void *user, const char *sandbox_id, int32_t seq, const char *command);
    void (*exec_complete)(void *user, const char *sandbox_id, int32_t seq,
                          const struct alineo_exec_result *result);
    void (*checkpoint)(void *user, const char *sandbox_id, const char *snapshot_id,
                       const char *name);
    void (*sandbox_closed)(void *user, const char *sandbox_id);
    /** sandbox_id is NULL when it failed before there was one. */
    void (*sandbox_failed)(void *user, const char *sandbox_id, const alineo_error *error);
    void (*sandbox_paused)(void *user, const char *sandbox_id);
    void (*sandbox_resumed)(void *user, const char *sandbox_id);
} alineo_hooks;
#define ALINEO_HOOKS_INIT                                                                          \
    { sizeof(alineo_hooks), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL }
ALINEO_API void alineo_hooks_init(alineo_hooks *hooks);

#ifdef __cplusplus
}
#endif

#endif
