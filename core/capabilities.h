/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_CAPABILITIES_H
#define ALINEO_CORE_CAPABILITIES_H

/**
 * What a provider can do, as it holds here: the descriptor's word, lowered by the probe. Each
 * capability is probed at most once a client, on first need, only for what is asked.
 */

#include "core/binding.h"

typedef struct al_capabilities al_capabilities;

/** `binding` must outlive it. */
alineo_code al_capabilities_new(al_provider_binding *binding, al_capabilities **out,
                                alineo_error **err);
void al_capabilities_free(al_capabilities *capabilities);

/**
 * Checks needs, a NULL-terminated list of "name" (any value but "no") or "name=value". What is
 * missing is CAPABILITY_UNSUPPORTED naming capability, provider, reason and remedy. Any thread;
 * blocks while it probes. A name that is no capability is INVALID_ARGUMENT, save names that begin
 * with "x-".
 */
alineo_code al_capabilities_require(al_capabilities *capabilities, const char *const *needs,
                                    alineo_call *call, alineo_error **err);

/** Non-zero when `need` holds. For choices between two ways of doing a thing; a failing probe
 * counts as "no". */
int al_capabilities_have(al_capabilities *capabilities, const char *need, alineo_call *call);

/** Lists as alineo_client_capabilities does. */
alineo_code al_capabilities_list(al_capabilities *capabilities,
                                 const alineo_capabilities_options *options,
                                 alineo_capability_fn *found, void *user, alineo_error **err);

#endif
