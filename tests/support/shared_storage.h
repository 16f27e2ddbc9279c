/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_TESTS_SUPPORT_SHARED_STORAGE_H
#define ALINEO_TESTS_SUPPORT_SHARED_STORAGE_H

/*
 * The memory storage, outliving its clients and shared by them as a database is by processes, with
 * switches for what goes wrong. Give &storage->own to alineo_client_open.
 */

#include <alineo/client.h>

#include <stdatomic.h>

#include "tests/support/test_host.h"

typedef struct shared_storage {
    alineo_own_storage own;
    alineo_storage_table table;
    test_host host;                    /* of the memory storage */
    const alineo_storage_table *inner; /* of the memory storage */
    alineo_storage *memory;

    atomic_int append_failures; /* so many appends answer STORAGE_UNAVAILABLE; -1 = all of them */
    atomic_int append_unknowns; /* so many store the batch, and then say the same */
    atomic_int open_failures;
    atomic_int meta_failures;
    atomic_int opens, closes, appends;
} shared_storage;

void shared_storage_open(shared_storage *storage);
void shared_storage_close(shared_storage *storage);

/* How many entries of that (flat) event a session has; NULL event = all. */
size_t shared_storage_count(shared_storage *storage, const char *sandbox_id, const char *event);
/* The payload of the first such entry, "" without one; to be freed. */
char *shared_storage_payload(shared_storage *storage, const char *sandbox_id, const char *event);
/* Appends an entry behind everybody's back. */
void shared_storage_put(shared_storage *storage, const char *sandbox_id, const char *name,
                        const char *event, const char *payload);

#endif
