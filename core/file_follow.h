/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_FILE_FOLLOW_H
#define ALINEO_CORE_FILE_FOLLOW_H

/** What a path of a sandbox leads to. */

#include "core/file_private.h"

typedef struct al_file_followed {
    char *path; /* with no link at its end; those on the way are the sandbox's to follow */
    alineo_file_type type;
    uint32_t mode;
    uint64_t bytes;
} al_file_followed;
void al_file_followed_clear(al_file_followed *followed);
AL_CLEANUP_INSIDE(al_file_followed, al_file_followed_clear);

/** Follows the links at the end of the job's path; INVALID_ARGUMENT after 40 of them. */
alineo_code al_file_follow(const al_file_job *job, al_file_followed *out, alineo_error **err);

#endif
