/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_DIRECT_H
#define ALINEO_DIRECT_H

/**
 * A storage adapter without a client around it: its table, to be called by hand. For tools that
 * copy, check or measure ledgers, and for the contract tests. A host program has no need of it.
 * What the functions of the table promise stands in storage.h; errors they give are freed with
 * alineo_error_free, memory they hand out with alineo_direct_storage_release.
 */

#include <alineo/base.h>
#include <alineo/client.h>
#include <alineo/config.h>
#include <alineo/error.h>
#include <alineo/storage.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct alineo_direct_storage alineo_direct_storage;

/** Loads and opens the adapter that the config names, or `own`. Blocks as its open does. `config`
 * NULL: as alineo_config_load(NULL). */
ALINEO_API alineo_code alineo_direct_storage_open(const alineo_config *config,
                                                  const alineo_own_storage *own,
                                                  alineo_direct_storage **out, alineo_error **err);

/* These live as long as it. */
ALINEO_API const char *alineo_direct_storage_id(const alineo_direct_storage *storage);
ALINEO_API const alineo_storage_table *
alineo_direct_storage_table(const alineo_direct_storage *storage);
ALINEO_API const alineo_storage_descriptor *
alineo_direct_storage_descriptor(const alineo_direct_storage *storage);
/** The `self` of the table's functions. */
ALINEO_API alineo_storage *alineo_direct_storage_self(const alineo_direct_storage *storage);

/** Frees what a function of the table handed out (a cursor, a value). NULL is fine. */
ALINEO_API void alineo_direct_storage_release(const alineo_direct_storage *storage, void *memory);

/** Ends the instance; takes NULL. */
ALINEO_API void alineo_direct_storage_close(alineo_direct_storage *storage);

#ifdef __cplusplus
}
#endif

#endif
