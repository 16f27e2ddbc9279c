/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_ENDPOINT_H
#define ALINEO_ENDPOINT_H

/**
 * Reaching a server in a sandbox from here. It may listen already or later, on the sandbox's
 * loopback address or on all of its addresses.
 */

#include <alineo/base.h>
#include <alineo/call.h>
#include <alineo/error.h>
#include <alineo/plugin.h>
#include <alineo/sandbox.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct alineo_endpoint_options {
    size_t size;
    int64_t expires_at_ms; /* Unix time at which it is to end, where there are such; 0 = none */
    alineo_call *call;
} alineo_endpoint_options;
#define ALINEO_ENDPOINT_OPTIONS_INIT                                                               \
    { sizeof(alineo_endpoint_options), 0, NULL }
ALINEO_API void alineo_endpoint_options_init(alineo_endpoint_options *options);

/**
 * How to reach `port` (1-65535) of the sandbox: one call of found, with a URL and the headers that
 * every request must carry; its strings are valid during it. The endpoint lives as long as the
 * sandbox, whoever asked; asked again, also by another process, it is the same. `options` may be
 * NULL. Needs `endpoints`. INVALID_ARGUMENT, CAPABILITY_UNSUPPORTED, SANDBOX_CLOSED,
 * SANDBOX_NOT_FOUND, and the provider's.
 */
ALINEO_API alineo_code alineo_sandbox_endpoint(alineo_sandbox *sandbox, int32_t port,
                                               const alineo_endpoint_options *options,
                                               alineo_endpoint_fn *found, void *user,
                                               alineo_error **err);

#ifdef __cplusplus
}
#endif

#endif
