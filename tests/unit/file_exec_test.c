/* SPDX-License-Identifier: Apache-2.0 */
/* Files by commands: a provider without functions for files, whose commands are real processes. */
/* test: tsan */
#include "tests/support/test.h"

#include <alineo/alineo.h>

#include "core/fail.h"
#include "core/util/file.h"
#include "core/util/path.h"
#include "core/util/random.h"
#include "tests/support/folder.h"
#include "tests/support/process_provider.h"
#include "tests/support/shared_storage.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct place {
    process_provider provider;
    shared_storage storage;
    alineo_client *client;
    alineo_sandbox *sandbox;
    char folder[64];
} place;

static void place_open(place *self, bool pumped) {
    memset(self, 0, sizeof(*self));
    process_provider_init(&self->provider);
    self->provider.behaviour.pumped = pumped;
    shared_storage_open(&self->storage);
    alineo_config *config = NULL;
    assert_int_equal(alineo_config_parse("{}", 2, "test", &config, NULL), ALINEO_OK);
    alineo_client_options options = ALINEO_CLIENT_OPTIONS_INIT;
    options.provider = &self->provider.own;
    options.storage = &self->storage.own;
    assert_int_equal(alineo_client_open(config, &options, &self->client, NULL), ALINEO_OK);
    alineo_config_free(config);
    assert_int_equal(alineo_sandbox_create(self->client, NULL, &self->sandbox, NULL), ALINEO_OK);
    (void)snprintf(self->folder, sizeof(self->folder), "%s/alineo-files-XXXXXX", test_temporary());
    assert_non_null(mkdtemp(self->folder));
}

static void place_close(place *self) {
    assert_int_equal(alineo_sandbox_close(self->sandbox, NULL, NULL), ALINEO_OK);
    alineo_sandbox_free(self->sandbox);
    alineo_client_free(self->client);
    process_provider_end(&self->provider);
    shared_storage_close(&self->storage);
    assert_int_equal(al_remove_tree(AT_FDCWD, self->folder), 0);
}

static char *below(const place *self, const char *name) {
    char *path = al_path_join(self->folder, name);
    assert_non_null(path);
    return path;
}

static alineo_code write_to(place *self, const char *name, const void *data, size_t size,
                            const alineo_file_options *options) {
    al_autofree char *path = below(self, name);
    alineo_error *error = NULL;
    alineo_code code = alineo_file_write(self->sandbox, path, data, size, options, &error);
    assert_int_equal(code, alineo_error_code(error));
    if (error != NULL)
        assert_non_null(strstr(alineo_error_message(error), path));
    alineo_error_free(error);
    return code;
}

static alineo_code read_from(place *self, const char *name, uint64_t offset, uint64_t max_bytes,
                             alineo_bytes *out) {
    al_autofree char *path = below(self, name);
    alineo_file_options options = ALINEO_FILE_OPTIONS_INIT;
    options.offset = offset;
    options.max_bytes = max_bytes;
    return alineo_file_read(self->sandbox, path, &options, out, NULL);
}

static void round_trip(bool pumped) {
    place self;
    place_open(&self, pumped);
    const size_t sizes[] = {0, 1, 100, 200 << 10, 5 << 20};
    char *data = malloc(5 << 20);
    assert_non_null(data);
    assert_int_equal(al_random_bytes(data, 5 << 20), 0);
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(write_to(&self, "new/deep/$x 'q'\n~", data, sizes[i], NULL), ALINEO_OK);
        assert_int_equal(read_from(&self, "new/deep/$x 'q'\n~", 0, 0, &bytes), ALINEO_OK);
        assert_int_equal(bytes.data_size, sizes[i]);
        assert_memory_equal(bytes.data, data, sizes[i]);
    }
    assert_int_equal(read_from(&self, "new/deep/$x 'q'\n~", (5 << 20) - 7, 7, &bytes), ALINEO_OK);
    assert_int_equal(bytes.data_size, 7);
    assert_memory_equal(bytes.data, data + (5 << 20) - 7, 7);
    assert_int_equal(read_from(&self, "new/deep/$x 'q'\n~", 0, 1 << 20, &bytes), ALINEO_TOO_LARGE);
    alineo_bytes_clear(&bytes);
    free(data);
    /* The ledger hears of commands that the caller ran, and of no others. */
    const char *id = alineo_sandbox_id(self.sandbox);
    assert_int_equal(shared_storage_count(&self.storage, id, "exec_start"), 0);
    assert_int_equal(shared_storage_count(&self.storage, id, NULL), 1);
    place_close(&self);
}

static void any_bytes_of_any_size_come_back_exactly(void **state) {
    (void)state;
    round_trip(false);
    round_trip(true);
}

static mode_t mode_of(const place *self, const char *name) {
    al_autofree char *path = below(self, name);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 07777;
}

static void modes_are_set_and_a_file_that_was_there_keeps_its_own(void **state) {
    (void)state;
    place self;
    place_open(&self, false);
    assert_int_equal(write_to(&self, "x", "1", 1, NULL), ALINEO_OK);
    assert_int_equal(mode_of(&self, "x"), 0644);
    alineo_file_options options = ALINEO_FILE_OPTIONS_INIT;
    const uint32_t modes[] = {0600, 0755, 04755};
    for (size_t i = 0; i < 3; i++) {
        options.mode = modes[i];
        assert_int_equal(write_to(&self, "x", "22", 2, &options), ALINEO_OK);
        assert_int_equal(mode_of(&self, "x"), modes[i]);
    }
    assert_int_equal(write_to(&self, "n/e/w", "", 0, &options), ALINEO_OK);
    assert_int_equal(mode_of(&self, "n"), 0755);
    options.mode = 0600;
    assert_int_equal(write_to(&self, "y", "1", 1, &options), ALINEO_OK);
    assert_int_equal(write_to(&self, "y", "2", 1, NULL), ALINEO_OK);
    assert_int_equal(mode_of(&self, "y"), 0600);
    place_close(&self);
}

static void what_goes_wrong_has_the_code_that_a_provider_would_give(void **state) {
    (void)state;
    place self;
    place_open(&self, false);
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    alineo_file_options alone = ALINEO_FILE_OPTIONS_INIT;
    alone.parents = ALINEO_NO;
    assert_int_equal(read_from(&self, "nope", 0, 0, &bytes), ALINEO_FILE_NOT_FOUND);
    assert_int_equal(write_to(&self, "no/parents", "", 0, &alone), ALINEO_FILE_NOT_FOUND);
    assert_int_equal(write_to(&self, "folder/file", "", 0, NULL), ALINEO_OK);
    assert_int_equal(read_from(&self, "folder", 0, 0, &bytes), ALINEO_IS_A_DIRECTORY);
    assert_int_equal(write_to(&self, "folder", "", 0, NULL), ALINEO_IS_A_DIRECTORY);
    assert_int_equal(write_to(&self, "folder/file/below", "", 0, NULL), ALINEO_NOT_A_DIRECTORY);
    assert_int_equal(write_to(&self, "folder/file/below", "", 0, &alone), ALINEO_NOT_A_DIRECTORY);
    assert_int_equal(read_from(&self, "folder/file/below", 0, 0, &bytes), ALINEO_NOT_A_DIRECTORY);
    al_autofree char *fifo = below(&self, "fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(read_from(&self, "fifo", 0, 0, &bytes), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(write_to(&self, "fifo", "x", 1, NULL), ALINEO_INVALID_ARGUMENT);
    if (access("/dev/full", W_OK) == 0) {
        al_autofree char *full = below(&self, "full");
        assert_int_equal(symlink("/dev/full", full), 0);
        assert_int_equal(write_to(&self, "full", "x", 1, NULL), ALINEO_INVALID_ARGUMENT);
    }
    assert_null(bytes.data);
    place_close(&self);
}

static void a_command_that_cannot_start_is_told(void **state) {
    (void)state;
    place self;
    place_open(&self, false);
    self.provider.behaviour.start_failure = ALINEO_SANDBOX_PAUSED;
    assert_int_equal(write_to(&self, "x", "", 0, NULL), ALINEO_SANDBOX_PAUSED);
    self.provider.behaviour.start_failure = 0;
    place_close(&self);
}

static void a_call_whose_time_is_over_ends_the_command(void **state) {
    (void)state;
    place self;
    place_open(&self, true);
    char *data = calloc(1, 1 << 20);
    assert_non_null(data);
    assert_int_equal(write_to(&self, "x", data, 1 << 20, NULL), ALINEO_OK);
    free(data);
    self.provider.behaviour.read_delay_ms = 5;
    self.provider.behaviour.read_max = 1000;
    alineo_call_options timed = ALINEO_CALL_OPTIONS_INIT;
    timed.timeout_ms = 200;
    alineo_file_options options = ALINEO_FILE_OPTIONS_INIT;
    assert_int_equal(alineo_call_new(&timed, &options.call, NULL), ALINEO_OK);
    al_autofree char *path = below(&self, "x");
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    assert_int_equal(alineo_file_read(self.sandbox, path, &options, &bytes, NULL), ALINEO_TIMEOUT);
    assert_null(bytes.data);
    alineo_call_free(options.call);
    assert_true(atomic_load(&self.provider.calls.cancels) > 0);
    place_close(&self);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_bytes_of_any_size_come_back_exactly),
        cmocka_unit_test(modes_are_set_and_a_file_that_was_there_keeps_its_own),
        cmocka_unit_test(what_goes_wrong_has_the_code_that_a_provider_would_give),
        cmocka_unit_test(a_command_that_cannot_start_is_told),
        cmocka_unit_test(a_call_whose_time_is_over_ends_the_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
