/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_CREATE_JOB_H
#define ALINEO_CORE_CREATE_JOB_H

/**
 * One create of a provider, which may be cancelled although the provider hangs. With a call object
 * it runs on a thread of its own; a provider that does not come back within two seconds of a cancel
 * is left to itself, and what it makes later is destroyed.
 */

#include "core/client_private.h"
#include "core/sandbox_plan.h"

typedef struct al_create_job al_create_job;

/**
 * Runs it. The plan is the job's from the call on; what remains of it is reached by
 * al_create_job_plan. Success: *out is to be dropped with al_create_job_free and has the id of the
 * sandbox. Failure: nothing of it stays, as far as can be known now, and the sweeper looks for the
 * rest.
 */
alineo_code al_create_job_run(alineo_client *client, al_sandbox_plan *plan, alineo_call *call,
                              al_create_job **out, alineo_error **err);

const al_sandbox_plan *al_create_job_plan(const al_create_job *job);
const char *al_create_job_id(const al_create_job *job);

void al_create_job_free(al_create_job *job);
AL_CLEANUP(al_create_job *, al_create_job_free);

#endif
