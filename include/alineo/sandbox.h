/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_SANDBOX_H
#define ALINEO_SANDBOX_H

/**
 * Sandboxes. A sandbox handle may be used from several threads and run several execs at once.
 * `close` ends the sandbox, `free` only drops the handle: the sandbox runs on and can be connected
 * to again. A handle holds its client, and a slot of `maxConcurrency` until close or free.
 */

#include <alineo/base.h>
#include <alineo/call.h>
#include <alineo/client.h>
#include <alineo/error.h>
#include <alineo/exec.h>
#include <alineo/hooks.h>
#include <alineo/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Options of calls that need no more than a call object. */
typedef struct alineo_op_options {
    size_t size;
    alineo_call *call;
} alineo_op_options;
#define ALINEO_OP_OPTIONS_INIT                                                                     \
    { sizeof(alineo_op_options), NULL }
ALINEO_API void alineo_op_options_init(alineo_op_options *options);

typedef struct alineo_sandbox_options {
    size_t size;
    const char *image;          /* NULL = config defaults.image, else the provider's default */
    const char *image_username; /* for a private registry */
    const char *image_password;
    const char *name;   /* NULL = "sandbox-<8 characters of the id>" */
    const char *run_id; /* groups sessions; NULL = metadata "runId", else the sandbox id */
    const char *cpu;    /* "500m", "2"; NULL = config defaults.resources, else the provider's */
    const char *memory; /* "512Mi", "1Gi" */
    const char *disk;
    const char *gpu;
    int64_t pids;                  /* 0 = none asked for */
    const char *const *env;        /* pairs */
    const char *const *metadata;   /* pairs; names that begin with "alineo-" are the library's */
    const char *const *entrypoint; /* NULL-terminated */
    const char *shell;             /* absolute path, for all its commands; NULL = /bin/sh */
    const char *user;
    int64_t lifetime_ms; /* 0 = default, ALINEO_FOREVER = none */
    alineo_choice bound; /* yes: it ends with this process; default no */
    alineo_network network;
    const alineo_mount *const *mounts; /* only below the operator's allowMounts, else
                                          PERMISSION_DENIED */
    size_t mount_count;
    const char *provider_options; /* the provider's own keys, a JSON object; NULL = none */
    const char *const
        *require;              /* capabilities, NULL-terminated: "signals", "snapshot=filesystem" */
    const alineo_hooks *hooks; /* beside the client's; copied */
    alineo_call *call;
} alineo_sandbox_options;
#define ALINEO_SANDBOX_OPTIONS_INIT                                                                \
    {                                                                                              \
        sizeof(alineo_sandbox_options), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0,   \
            NULL, NULL, NULL, NULL, NULL, 0, ALINEO_DEFAULT, ALINEO_NETWORK_DEFAULT, NULL, 0,      \
            NULL, NULL, NULL, NULL                                                                 \
    }
ALINEO_API void alineo_sandbox_options_init(alineo_sandbox_options *options);
ALINEO_API void alineo_mount_init(alineo_mount *mount);

/**
 * Makes a sandbox; returns when it can run commands and its first event is stored. Waits for a slot
 * when maxConcurrency is reached. On failure nothing of it stays. `options` may be NULL.
 * INVALID_ARGUMENT, CAPABILITY_UNSUPPORTED (before anything exists), IMAGE_NOT_FOUND,
 * IMAGE_INVALID, SANDBOX_FAILED, NO_SPACE, STORAGE_UNAVAILABLE (the sandbox was destroyed again),
 * CANCELLED, TIMEOUT, and the provider's.
 */
ALINEO_API alineo_code alineo_sandbox_create(alineo_client *client,
                                             const alineo_sandbox_options *options,
                                             alineo_sandbox **out, alineo_error **err);

typedef struct alineo_connect_options {
    size_t size;
    const char *name;   /* NULL = the ledger's */
    const char *run_id; /* overrides, as the next ones, what the ledger knows */
    const char *cpu;
    const char *memory;
    const char *shell;
    const alineo_hooks *hooks;
    alineo_call *call;
    int32_t paused_too; /* non-zero: one that is paused is fine: to unpause, renew or close it */
} alineo_connect_options;
#define ALINEO_CONNECT_OPTIONS_INIT                                                                \
    { sizeof(alineo_connect_options), NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0 }
ALINEO_API void alineo_connect_options_init(alineo_connect_options *options);

/**
 * A handle on a sandbox that runs, made by any process. `options` may be NULL.
 * SANDBOX_NOT_FOUND, SANDBOX_NOT_RUNNING (a paused one as well, unless paused_too is set);
 * PROVIDER_MISMATCH when the ledger says another provider made it.
 */
ALINEO_API alineo_code alineo_sandbox_connect(alineo_client *client, const char *id,
                                              const alineo_connect_options *options,
                                              alineo_sandbox **out, alineo_error **err);

/** These live as long as the handle. */
ALINEO_API const char *alineo_sandbox_id(const alineo_sandbox *sandbox);
ALINEO_API const char *alineo_sandbox_name(const alineo_sandbox *sandbox);
ALINEO_API const char *alineo_sandbox_run_id(const alineo_sandbox *sandbox);

/** What the provider says of it now; one call of found. `options` may be NULL. */
ALINEO_API alineo_code alineo_sandbox_inspect(alineo_client *client, const char *id,
                                              const alineo_op_options *options,
                                              alineo_sandbox_info_fn *found, void *user,
                                              alineo_error **err);

/** Sandboxes that the provider has, whoever made them; needs `list`. When the provider says that it
 * left some out: found is called for the others, then PROVIDER_UNAVAILABLE comes back. */
ALINEO_API alineo_code alineo_sandbox_list(alineo_client *client, const alineo_op_options *options,
                                           alineo_sandbox_info_fn *found, void *user,
                                           alineo_error **err);

/** Its end is lifetime_ms from now (0 = the provider's default, ALINEO_FOREVER = none). Needs
 * `renew`. *expires_at_ms (may be NULL): 0 = none. */
ALINEO_API alineo_code alineo_sandbox_renew(alineo_sandbox *sandbox, int64_t lifetime_ms,
                                            const alineo_op_options *options,
                                            int64_t *expires_at_ms, alineo_error **err);

/**
 * Stops all that runs in it, until it is unpaused: by any process, from its first to its last
 * instruction, children and commands being started included (capability `pause`, "processes"; with
 * "files" its files are kept and its processes end). Its lifetime runs on, and ends it; time limits
 * of commands stand still. Until then exec and file calls are SANDBOX_PAUSED. Returns when it is
 * so, and that is stored; of one that is paused already: ALINEO_OK, and no event. CONFLICT while it
 * is changing; STORAGE_UNAVAILABLE: it is paused, and the ledger does not say so yet.
 */
ALINEO_API alineo_code alineo_sandbox_pause(alineo_sandbox *sandbox,
                                            const alineo_op_options *options, alineo_error **err);
/** Lets it go on; as alineo_sandbox_pause. */
ALINEO_API alineo_code alineo_sandbox_unpause(alineo_sandbox *sandbox,
                                              const alineo_op_options *options, alineo_error **err);

/**
 * Ends the sandbox, for every process; execs on it end as CANCELLED. Idempotent. When it is gone
 * but that could not be stored: STORAGE_UNAVAILABLE, and alineo_reconcile mends it. The handle is
 * still to be freed.
 */
ALINEO_API alineo_code alineo_sandbox_close(alineo_sandbox *sandbox,
                                            const alineo_op_options *options, alineo_error **err);

/** Drops the handle; takes NULL. */
ALINEO_API void alineo_sandbox_free(alineo_sandbox *sandbox);

#ifdef __cplusplus
}
#endif

#endif
