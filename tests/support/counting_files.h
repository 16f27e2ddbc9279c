/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_TESTS_SUPPORT_COUNTING_FILES_H
#define ALINEO_TESTS_SUPPORT_COUNTING_FILES_H

/* The files of the counting provider: bytes by path, the same in every sandbox. Paths are as they
 * were given, and a link is followed at the end of one only. */

#include "tests/support/counting_provider.h"

void counting_add_files(alineo_provider_table *table);
void counting_free_files(counting_provider *provider);

/* The file of that path; NULL = none. Not to be used while calls run. */
const counting_file *counting_file_at(counting_provider *provider, const char *path);

/* Puts something there; takes no lock. `data` of a link is its text. */
void counting_put(counting_provider *provider, const char *path, alineo_file_type type,
                  const void *data, size_t size, uint32_t mode);

/* --- for counting_files.c and counting_tree.c ------------------------------------------------- */

void counting_add_tree(alineo_provider_table *table);
counting_file *counting_find(counting_provider *provider, const char *path);
/* The same with a link at its end followed; NULL = it leads nowhere. */
counting_file *counting_follow(counting_provider *provider, const char *path);
void counting_forget(counting_provider *provider, counting_file *file);
/* Fails with FILE_NOT_FOUND or NOT_A_DIRECTORY unless there is a folder above; `make` makes it. */
alineo_code counting_above(counting_provider *provider, const char *path, int make,
                           alineo_error **err);
alineo_code counting_fail(counting_provider *provider, alineo_code code, const char *path,
                          alineo_error **err);

#endif
