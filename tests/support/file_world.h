/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_TESTS_SUPPORT_FILE_WORLD_H
#define ALINEO_TESTS_SUPPORT_FILE_WORLD_H

/* A sandbox whose files are real ones, in a folder that the test sees too, and which a provider
 * without file functions keeps: all that happens to them is done by commands. */

#include "support/exec_world.h"
#include "support/folder.h"

#include <sys/stat.h>

typedef struct file_world {
    exec_world exec;
    alineo_sandbox *sandbox;
    test_folder folder;
    test_folder programs;
    char program_path[128];
} file_world;

/* cmocka setup and teardown. With all programs of this machine; with descriptors or without; with
 * busybox and only what is promised to be enough. */
int file_world_setup(void **state);
int file_world_setup_pumped(void **state);
int file_world_setup_busybox(void **state);
int file_world_teardown(void **state);

#define FILE_TEST_ONCE(test)                                                                       \
    { #test, test, file_world_setup, file_world_teardown, NULL }
#define FILE_TEST(test)                                                                            \
    {#test, test, file_world_setup, file_world_teardown, NULL},                                    \
        {#test " (without descriptors)", test, file_world_setup_pumped, file_world_teardown,       \
         NULL},                                                                                    \
    {                                                                                              \
#test " (busybox)", test, file_world_setup_busybox, file_world_teardown, NULL              \
    }

/* The path of a name in the sandbox's folder; as test_path. */
const char *file_path(file_world *world, const char *name);

/* Straight on the disk. */
void file_put(file_world *world, const char *name, const void *data, size_t size, mode_t mode);
/* Asserts that it holds exactly that. */
void file_holds(file_world *world, const char *name, const void *data, size_t size);
bool file_is_there(file_world *world, const char *name); /* links are not followed */
mode_t file_mode(file_world *world, const char *name);   /* 07777 */
size_t file_count(file_world *world);                    /* entries of the folder */

/* Frees the error of a call that must fail with that code and name the path. */
void file_fails(alineo_code expected, alineo_code code, alineo_error **err);
#define FILE_FAILS(expected, call) file_fails(expected, call, &err)
#define FILE_OK(call) file_fails(ALINEO_OK, call, &err)

/* The file's bytes through the sandbox. */
void file_reads(file_world *world, const char *name, const void *data, size_t size);

#endif
