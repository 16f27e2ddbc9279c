/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_PROVIDER_CALLS_H
#define ALINEO_CORE_PROVIDER_CALLS_H

/** Calls of a provider's functions with what the core adds to each: errors that fit, ids that are
 * ids, pages followed to their end. */

#include "core/binding.h"

/** Makes a sandbox; found is called once on success, and perhaps on a failure that came late. */
alineo_code al_provider_create(al_provider_binding *provider, const alineo_create_request *request,
                               alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                               alineo_error **err);

/** Ends a sandbox. SANDBOX_NOT_FOUND when it is gone already, and the provider's. */
alineo_code al_provider_destroy(al_provider_binding *provider, const char *id, alineo_call *call,
                                alineo_error **err);

/** One sandbox: found is called once. SANDBOX_NOT_FOUND, and the provider's. */
alineo_code al_provider_get(al_provider_binding *provider, const char *id, alineo_call *call,
                            alineo_sandbox_info_fn *found, void *user, alineo_error **err);

/** Sets its end; found is called once, with the state after. The function must be there. */
alineo_code al_provider_renew(al_provider_binding *provider, const char *id, int64_t lifetime_ms,
                              alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                              alineo_error **err);

/**
 * All sandboxes that match the metadata (pairs; NULL = all), page by page, until found returns
 * non-zero. *complete (may be NULL) 0: the provider said that it may have left some out. The
 * function must be there. What found does with the provider, it may do.
 */
alineo_code al_provider_list(al_provider_binding *provider, const char *const *metadata,
                             alineo_call *call, alineo_sandbox_info_fn *found, void *user,
                             int *complete, alineo_error **err);

/** "running", "paused", ...; static storage. */
const char *al_state_name(alineo_sandbox_state state);

#endif
