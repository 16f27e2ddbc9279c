/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_SANDBOX_PLAN_H
#define ALINEO_CORE_SANDBOX_PLAN_H

/**
 * The plan of a create: the caller's options, checked, completed by the config's and the provider's
 * defaults, and copied, so that it outlives the caller's strings when a create runs late.
 */

#include "core/client_private.h"
#include "core/stamp.h"
#include "core/util/strv.h"

typedef struct al_sandbox_plan {
    alineo_create_request request; /* of strings below */
    char create_id[AL_CREATE_ID_SIZE + 1];
    const char *run_id; /* NULL = the sandbox id */
    const char *shell;  /* NULL = /bin/sh */
    const char *cpu;    /* as they were written, for the ledger; NULL = none */
    const char *memory;
    const char *disk;
    const char *gpu;
    al_strv needs; /* capabilities that the options ask for, and `require` */

    al_strv texts; /* owns every single string of the plan */
    al_strv env;
    al_strv metadata; /* the caller's and the stamp */
    al_strv entrypoint;
    char *password; /* wiped at the end */
    alineo_resources resources;
    alineo_mount *mounts;
    const alineo_mount **mount_list;
} al_sandbox_plan;

/**
 * Checks and completes. `options` has been read by AL_STRUCT_READ; nothing exists yet and nothing
 * is asked of the provider. INVALID_ARGUMENT, PERMISSION_DENIED, TOO_LARGE, IO, NO_MEMORY.
 */
alineo_code al_sandbox_plan_new(alineo_client *client, const alineo_sandbox_options *options,
                                al_sandbox_plan **out, alineo_error **err);
void al_sandbox_plan_free(al_sandbox_plan *plan);
AL_CLEANUP(al_sandbox_plan *, al_sandbox_plan_free);

#endif
