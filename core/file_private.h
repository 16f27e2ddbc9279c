/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_FILE_PRIVATE_H
#define ALINEO_CORE_FILE_PRIVATE_H

/** Whole files, by the provider's own functions or by commands. The caller (file.c) has checked all
 * arguments and chosen the way. */

#include "core/sandbox_private.h"
#include "core/util/buf.h"

typedef struct al_file_job {
    alineo_sandbox *sandbox;
    const char *path;
    uint32_t mode;      /* writing: 0 = 0644, for a new file alone */
    int parents;        /* writing: make missing folders */
    uint64_t offset;    /* reading: begin here */
    uint64_t max_bytes; /* reading: more is TOO_LARGE */
    alineo_call *call;
} al_file_job;

/* By the group `files` of the provider. */
alineo_code al_file_provider_write(const al_file_job *job, const void *data, size_t size,
                                   alineo_error **err);
alineo_code al_file_provider_read(const al_file_job *job, al_buf *out, alineo_error **err);

/* By commands in the sandbox, of which the ledger hears nothing: sh, cat, chmod, mkdir, stat. */
alineo_code al_file_exec_write(const al_file_job *job, const void *data, size_t size,
                               alineo_error **err);
alineo_code al_file_exec_read(const al_file_job *job, al_buf *out, alineo_error **err);

/** More than max_bytes were there. */
alineo_code al_file_too_large(const al_file_job *job, alineo_error **err);

#endif
