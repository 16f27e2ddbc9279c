/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_TESTS_SUPPORT_COUNTING_FILES_H
#define ALINEO_TESTS_SUPPORT_COUNTING_FILES_H

/* The files of the counting provider: bytes by path, the same in every sandbox. */

#include "tests/support/counting_provider.h"

void counting_add_files(alineo_provider_table *table);
void counting_free_files(counting_provider *provider);

/* The file of that path; NULL = none. Not to be used while calls run. */
const counting_file *counting_file_at(counting_provider *provider, const char *path);

#endif
