/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_BENCH_ADAPTER_H
#define ALINEO_BENCH_ADAPTER_H

/* A storage adapter called by its table, without the core in between: for measuring appends in batches of a given
 * size, beside a bare loop of the same batches. */

#include <alineo/storage.h>

#include <stdbool.h>

typedef struct bench_adapter {
    const alineo_storage_table *table;
    alineo_storage *self;
    alineo_host host;
    const char *path; /* of the ledger, for the option "path" */
} bench_adapter;

/* Loads the adapter `id` from the plugin path; `path` is its ledger. The adapter must not move. False after a message. */
bool bench_adapter_open(bench_adapter *adapter, const char *id, const char *path);
void bench_adapter_close(bench_adapter *adapter);

#endif
