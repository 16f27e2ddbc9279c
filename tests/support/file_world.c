/* SPDX-License-Identifier: Apache-2.0 */
#include "support/file_world.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/util/buf.h"
#include "core/util/cleanup.h"
#include "core/util/file.h"
#include "core/util/io.h"

static const char busybox[] = "/usr/bin/busybox";

/* What a guest must have, and nothing else. */
static void link_programs(file_world *world) {
    static const char *const names[] = {"sh",   "cat",  "mkdir", "mv",    "rm", "rmdir",
                                        "stat", "find", "chmod", "chown", "ln"};
    test_folder_make(&world->programs);
    for (size_t i = 0; i < AL_COUNT(names); i++)
        assert_int_equal(symlink(busybox, test_path(&world->programs, names[i])), 0);
    (void)snprintf(world->program_path, sizeof(world->program_path), "%s", world->programs.path);
    world->exec.provider.behaviour.path = world->program_path;
}

static file_world *world_new(void) {
    file_world *world = calloc(1, sizeof(*world));
    assert_non_null(world);
    test_folder_make(&world->folder);
    return world;
}

static int world_open(file_world *world, void **state) {
    exec_world_open(&world->exec, NULL);
    world->sandbox = world->exec.sandbox;
    *state = world;
    return 0;
}

int file_world_setup(void **state) {
    return world_open(world_new(), state);
}

int file_world_setup_pumped(void **state) {
    file_world *world = world_new();
    world->exec.provider.behaviour.pumped = true;
    return world_open(world, state);
}

int file_world_setup_busybox(void **state) {
    file_world *world = world_new();
    if (access(busybox, X_OK) != 0) {
        test_folder_remove(&world->folder);
        free(world);
        skip();
    }
    link_programs(world);
    return world_open(world, state);
}

int file_world_teardown(void **state) {
    file_world *world = *state;
    exec_world_close(&world->exec);
    test_folder_remove(&world->folder);
    if (world->program_path[0] != '\0')
        test_folder_remove(&world->programs);
    free(world);
    return 0;
}

/* --- the disk --------------------------------------------------------------------------------- */

const char *file_path(file_world *world, const char *name) {
    return test_path(&world->folder, name);
}

void file_put(file_world *world, const char *name, const void *data, size_t size, mode_t mode) {
    al_autofd int fd = open(file_path(world, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(al_write_full(fd, data, size), 0);
    assert_int_equal(fchmod(fd, mode), 0);
}

void file_holds(file_world *world, const char *name, const void *data, size_t size) {
    al_auto(al_buf_free) al_buf bytes = AL_BUF_INIT;
    assert_int_equal(al_file_read(file_path(world, name), SIZE_MAX, &bytes), 0);
    assert_int_equal(bytes.size, size);
    if (size > 0)
        assert_memory_equal(bytes.data, data, size);
}

static struct stat look_at(file_world *world, const char *name) {
    struct stat status;
    assert_int_equal(lstat(file_path(world, name), &status), 0);
    return status;
}

bool file_is_there(file_world *world, const char *name) {
    struct stat status;
    return lstat(file_path(world, name), &status) == 0;
}

mode_t file_mode(file_world *world, const char *name) {
    return look_at(world, name).st_mode & 07777;
}

size_t file_count(file_world *world) {
    al_autodir DIR *folder = opendir(world->folder.path);
    size_t count = 0;
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    return count - 2;
}

/* --- calls ------------------------------------------------------------------------------------ */

void file_fails(alineo_code expected, alineo_code code, alineo_error **err) {
    if (code != expected)
        fail_msg("%s instead of %s: %s", alineo_code_name(code), alineo_code_name(expected),
                 code != ALINEO_OK ? alineo_error_message(*err) : "");
    if (code != ALINEO_OK)
        assert_int_equal(alineo_error_code(*err), code);
    else
        assert_null(*err);
    alineo_error_free(*err);
    *err = NULL;
}

void file_reads(file_world *world, const char *name, const void *data, size_t size) {
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    alineo_error *err = NULL;
    FILE_OK(alineo_file_read(world->sandbox, file_path(world, name), NULL, &bytes, &err));
    assert_int_equal(bytes.data_size, size);
    if (size > 0)
        assert_memory_equal(bytes.data, data, size);
    alineo_bytes_clear(&bytes);
}
