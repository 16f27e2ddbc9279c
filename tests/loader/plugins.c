/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/loader/plugins.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/plugin_load.h"
#include "core/util/file.h"
#include "core/util/io.h"
#include "core/util/str.h"
#include "tests/support/test.h"

#include <fcntl.h>

void write_bytes(const char *path, const void *data, size_t size, mode_t mode) {
    (void)unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(al_write_full(fd, data, size), 0);
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(close(fd), 0);
}

void plugin_folder_make(plugin_folder *folder) {
    test_environment_make(&folder->environment);
    (void)snprintf(folder->path, sizeof(folder->path), "%s",
                   test_path(&folder->environment.folder, "plugins"));
    assert_int_equal(mkdir(folder->path, 0755), 0);
    assert_int_equal(chmod(folder->path, 0755), 0);
    test_setenv("ALINEO_TEST_TRACE", test_path(&folder->environment.folder, "trace"));
    al_autofree char *json = al_strf("{\"pluginPath\": \"%s\"}", folder->path);
    assert_non_null(json);
    assert_int_equal(alineo_config_parse(json, strlen(json), "c.json", &folder->config, NULL),
                     ALINEO_OK);
}

void plugin_folder_remove(plugin_folder *folder) {
    alineo_config_free(folder->config);
    test_environment_remove(&folder->environment);
    test_setenv("ALINEO_TEST_TRACE", NULL);
}

void fixture_read(const char *fixture, al_buf *out) {
    char path[512];
    (void)snprintf(path, sizeof(path), ALINEO_TEST_BUILD_DIR "/tests/loader/fixtures/%s.so",
                   fixture);
    assert_int_equal(al_file_read(path, (size_t)4 << 20, out), 0);
}

const char *put_bytes(plugin_folder *folder, const void *data, size_t size, const char *kind,
                      const char *id) {
    static char path[512];
    (void)snprintf(path, sizeof(path), "%s/alineo-%s-%s.so", folder->path, kind, id);
    write_bytes(path, data, size, 0755);
    return path;
}

const char *put_plugin(plugin_folder *folder, const char *fixture, const char *kind,
                       const char *id) {
    al_auto(al_buf_free) al_buf bytes = AL_BUF_INIT;
    fixture_read(fixture, &bytes);
    return put_bytes(folder, bytes.data, bytes.size, kind, id);
}

size_t traces(const plugin_folder *folder) {
    struct stat status;
    const char *path = test_path(&folder->environment.folder, "trace");
    return stat(path, &status) == 0 ? (size_t)status.st_size : 0;
}

void check_not_loaded(plugin_folder *folder, const char *id, alineo_code code,
                      const char *const *parts) {
    size_t before = traces(folder);
    const al_plugin *plugin = NULL;
    al_auto(alineo_error_free) alineo_error *error = NULL;
    alineo_code given = al_plugin_load(folder->config, AL_KIND_PROVIDER, id, &plugin, &error);
    if (given != code)
        fail_msg("\"%s\" gave %s: %s", id, alineo_code_name(given), alineo_error_message(error));
    assert_null(plugin);
    assert_int_equal(alineo_error_code(error), code);
    for (size_t i = 0; parts[i] != NULL; i++) {
        if (strstr(alineo_error_message(error), parts[i]) == NULL)
            fail_msg("\"%s\" lacks \"%s\"", alineo_error_message(error), parts[i]);
    }
    assert_int_equal(traces(folder), before);
}
