/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_TESTS_LOADER_PLUGINS_H
#define ALINEO_TESTS_LOADER_PLUGINS_H

/* A folder of plugins for tests of the loader, filled with copies of the fixtures. */

#include "core/config_private.h"
#include "core/util/buf.h"
#include "tests/support/environment.h"

typedef struct plugin_folder {
    test_environment environment;
    char path[128]; /* the folder that `config` has as pluginPath */
    alineo_config *config;
} plugin_folder;

/* Also sets the variable by which fixtures leave traces. */
void plugin_folder_make(plugin_folder *folder);
void plugin_folder_remove(plugin_folder *folder);

/* The bytes of a fixture. */
void fixture_read(const char *fixture, al_buf *out);

/* A copy of a fixture, or any bytes, as alineo-KIND-ID.so in the folder. Gives the path, in a
 * buffer of the folder's own that the next call takes. */
const char *put_plugin(plugin_folder *folder, const char *fixture, const char *kind,
                       const char *id);
const char *put_bytes(plugin_folder *folder, const void *data, size_t size, const char *kind,
                      const char *id);

/* How many pieces of fixtures' code ran so far. */
size_t traces(const plugin_folder *folder);

/* Asserts that provider ID is refused with that code, that the message has all the parts
 * (NULL-terminated), and that no code of it ran. */
void check_not_loaded(plugin_folder *folder, const char *id, alineo_code code,
                      const char *const *parts);
#define CHECK_NOT_LOADED(folder, id, code, ...)                                                    \
    check_not_loaded((folder), (id), (code), (const char *const[]){__VA_ARGS__, NULL})

/* Writes a file with that mode, whatever the umask. */
void write_bytes(const char *path, const void *data, size_t size, mode_t mode);

#endif
