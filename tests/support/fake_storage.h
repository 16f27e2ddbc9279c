/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_TESTS_SUPPORT_FAKE_STORAGE_H
#define ALINEO_TESTS_SUPPORT_FAKE_STORAGE_H

/* A storage that keeps the rows it is given and fails as it is told, for tests of what the core
 * makes of that. It can append and nothing else. */

#include <alineo/storage.h>

#include <pthread.h>
#include <stdbool.h>

#include "core/binding.h"
#include "core/util/buf.h"

typedef struct fake_row {
    uint64_t number; /* among all entries of the writer */
    char *sandbox_id;
    char *event;
    char *payload; /* a NUL behind it; NULL = none */
    size_t payload_size;
    char *error;
    int32_t step_idx;
    int64_t ts_ms;
} fake_row;

typedef struct fake_storage {
    al_storage_binding binding; /* to be given to the journal */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    fake_row *rows; /* what is stored */
    size_t row_count;
    size_t append_count;  /* calls of append */
    size_t largest_count; /* entries in one batch */
    uint64_t last_number;

    /* How it behaves. Set it with the lock held, or before anybody appends. */
    size_t failures;      /* so many calls fail with `failure` */
    alineo_code failure;  /* STORAGE_UNAVAILABLE unless it is set */
    size_t unknowns;      /* so many calls store the batch and then say UNAVAILABLE */
    bool hangs;           /* calls do not come back while it is set */
    const char *rejected; /* payloads that contain this are rejected */
    bool rejects_markers; /* and so is what stands in their place */
    int32_t taken_step;   /* a claim of this step is a CONFLICT; 0 = none */
    bool names_nobody;    /* refusals leave the index as it is */
    int64_t append_ns;    /* each call takes that long */
} fake_storage;

void fake_storage_open(fake_storage *fake);
void fake_storage_close(fake_storage *fake);
/* Lets calls that hang come back, or new ones hang. */
void fake_storage_hang(fake_storage *fake, bool hangs);
/* Waits until append was called so many times in all. */
void fake_storage_wait_calls(fake_storage *fake, size_t count);
/* All that the stored chunks of a step and type hold, in order, decoded. */
void fake_storage_output(fake_storage *fake, int32_t step_idx, const char *type, al_buf *out);

#endif
