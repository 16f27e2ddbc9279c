/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CREDENTIALS_H
#define ALINEO_CREDENTIALS_H

/**
 * The broker table: what injects secrets into a sandbox's outbound requests, outside the guest.
 * Read plugin.h first: its life cycle and rules hold here.
 *
 * A broker reaches the provider's side by host->endpoint(). Which it can serve is a matter of
 * strings: a provider's descriptor lists the interfaces it offers ("opensandbox-vault/1"), a
 * broker's which it speaks; without a match credentials are CAPABILITY_UNSUPPORTED.
 *
 * A value goes in and never comes out: not by list, not in an error, a log or a core file. The core
 * holds a value no longer than set() or patch() runs and wipes it after; a broker wipes its own
 * copies.
 *
 * Mandatory: open, close, set, patch, remove, list. Errors every function may give:
 * SANDBOX_NOT_FOUND, CAPABILITY_UNSUPPORTED, PROVIDER_AUTH, PROVIDER_RATE_LIMITED,
 * PROVIDER_UNAVAILABLE, CANCELLED, TIMEOUT, IO, NO_MEMORY, INTERNAL.
 */

#include <alineo/base.h>
#include <alineo/call.h>
#include <alineo/error.h>
#include <alineo/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct alineo_broker alineo_broker;

typedef int32_t alineo_injection;
#define ALINEO_INJECT_HEADER ((alineo_injection)1)       /* adds a request header */
#define ALINEO_INJECT_SUBSTITUTION ((alineo_injection)2) /* replaces a placeholder, verbatim */

/* Where a substitution looks. */
#define ALINEO_SURFACE_PATH 1u
#define ALINEO_SURFACE_QUERY 2u
#define ALINEO_SURFACE_HEADER 4u
#define ALINEO_SURFACE_BODY 8u

/** Where a credential applies and how it goes in. */
typedef struct alineo_credential_binding {
    size_t size;
    const char *host;        /* domain name, exact */
    const char *path_prefix; /* NULL = all paths */
    alineo_injection injection;
    uint32_t surfaces;       /* of a substitution: ALINEO_SURFACE_* */
    const char *header;      /* of a header injection */
    const char *placeholder; /* of a substitution */
} alineo_credential_binding;
#define ALINEO_CREDENTIAL_BINDING_INIT                                                             \
    { sizeof(alineo_credential_binding), NULL, NULL, ALINEO_INJECT_HEADER, 0, NULL, NULL }

/** A secret's bytes, without a terminating NUL that counts. */
typedef struct alineo_secret {
    size_t size;
    const void *data;
    size_t data_size;
} alineo_secret;

/** Gets a binding (`lossy` non-zero: the other side does not tell all of it). Non-zero ends the
 * list. */
typedef int32_t alineo_credential_fn(void *user, const char *name,
                                     const alineo_credential_binding *binding, int32_t lossy);

typedef struct alineo_broker_descriptor {
    size_t size;
    const char *title;
    const char *summary;
    const alineo_option_spec *const *options; /* NULL-terminated; NULL = none */
    const char *const *interfaces;            /* which it speaks, NULL-terminated */
} alineo_broker_descriptor;

typedef struct alineo_broker_table {
    size_t size;
    alineo_code (*open)(const alineo_host *host, const alineo_options *options,
                        alineo_broker **self, alineo_error **err);
    void (*close)(alineo_broker *self);

    /** Registers or replaces a credential; in force when it returns. `interface` is the one that
     * matched. */
    alineo_code (*set)(alineo_broker *self, const char *interface_name, const char *sandbox_id,
                       const char *name, const alineo_secret *value,
                       const alineo_credential_binding *binding, alineo_call *call,
                       alineo_error **err);
    /** Changes value (NULL = leave) and binding (NULL = leave) in one step.
     * CREDENTIAL_NOT_FOUND. */
    alineo_code (*patch)(alineo_broker *self, const char *interface_name, const char *sandbox_id,
                         const char *name, const alineo_secret *value,
                         const alineo_credential_binding *binding, alineo_call *call,
                         alineo_error **err);
    /** CREDENTIAL_NOT_FOUND when it was not there. */
    alineo_code (*remove)(alineo_broker *self, const char *interface_name, const char *sandbox_id,
                          const char *name, alineo_call *call, alineo_error **err);
    alineo_code (*list)(alineo_broker *self, const char *interface_name, const char *sandbox_id,
                        alineo_call *call, alineo_credential_fn *found, void *user,
                        alineo_error **err);
} alineo_broker_table;

#ifdef __cplusplus
}
#endif

#endif
