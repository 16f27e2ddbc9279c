/* SPDX-License-Identifier: Apache-2.0 */
/* test: tsan */
/* Links that break and guests that lack things, under files by commands. */
#include "support/file_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static alineo_file_options appending(void) {
    alineo_file_options options = ALINEO_FILE_OPTIONS_INIT;
    options.append = ALINEO_YES;
    return options;
}

static void a_read_whose_link_breaks_fails_and_is_no_shorter_file(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    char *data = calloc(1, 1 << 20);
    assert_non_null(data);
    file_put(world, "x", data, 1 << 20, 0600);
    free(data);
    world->exec.provider.behaviour.lose_after = 300000;
    FILE_FAILS(ALINEO_PROVIDER_UNAVAILABLE,
               alineo_file_read(world->sandbox, file_path(world, "x"), NULL, &bytes, &err));
    assert_null(bytes.data);
    FILE_FAILS(ALINEO_PROVIDER_UNAVAILABLE,
               alineo_file_download(world->sandbox, file_path(world, "x"), file_path(world, "y"),
                                    NULL, NULL, &err));
    assert_int_equal(file_count(world), 1);
    world->exec.provider.behaviour.lose_after = 0;
}

static void a_failed_append_leaves_what_was_there(void **state) {
    file_world *world = *state;
    static const alineo_code failures[] = {ALINEO_PROVIDER_UNAVAILABLE, ALINEO_PROVIDER_AUTH,
                                           ALINEO_SANDBOX_PAUSED};
    alineo_error *err = NULL;
    alineo_file_options options = appending();
    file_put(world, "x", "old", 3, 0600);
    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
        world->exec.provider.behaviour.start_failure = failures[i];
        FILE_FAILS(failures[i], alineo_file_write(world->sandbox, file_path(world, "x"), "new", 3,
                                                  &options, &err));
    }
    world->exec.provider.behaviour.start_failure = ALINEO_OK;
    file_holds(world, "x", "old", 3);
    FILE_OK(alineo_file_write(world->sandbox, file_path(world, "x"), "new", 3, &options, &err));
    file_holds(world, "x", "oldnew", 6);
}

static void a_start_that_got_lost_may_have_happened(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    world->exec.provider.behaviour.start_failure = ALINEO_EXEC_LOST;
    alineo_code code = alineo_file_mkdir(world->sandbox, file_path(world, "d"), NULL, &err);
    assert_int_equal(code, ALINEO_PROVIDER_UNAVAILABLE);
    assert_non_null(strstr(alineo_error_message(err), "may have happened"));
    alineo_error_free(err);
    world->exec.provider.behaviour.start_failure = ALINEO_OK;
}

static void a_replacement_that_breaks_leaves_the_file_and_nothing_beside_it(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    uint64_t count = 0;
    char *data = calloc(1, 1 << 20);
    assert_non_null(data);
    file_put(world, "x", data, 1 << 20, 0600);
    world->exec.provider.behaviour.lose_after = 300000;
    FILE_FAILS(ALINEO_PROVIDER_UNAVAILABLE,
               alineo_file_replace(world->sandbox, file_path(world, "x"), "\0", 1, "x", 1, NULL,
                                   &count, &err));
    world->exec.provider.behaviour.lose_after = 0;
    file_holds(world, "x", data, 1 << 20);
    assert_int_equal(file_count(world), 1);
    free(data);
}

static void what_a_guest_lacks_is_said_so(void **state) {
    file_world *world = *state;
    alineo_error *err = NULL;
    assert_int_equal(unlink(test_path(&world->programs, "mkdir")), 0);
    FILE_FAILS(ALINEO_CAPABILITY_UNSUPPORTED,
               alineo_file_mkdir(world->sandbox, file_path(world, "d"), NULL, &err));
    assert_int_equal(unlink(test_path(&world->programs, "sh")), 0);
    alineo_bytes bytes = ALINEO_BYTES_INIT;
    alineo_code code = alineo_file_read(world->sandbox, file_path(world, "x"), NULL, &bytes, &err);
    assert_int_equal(code, ALINEO_CAPABILITY_UNSUPPORTED);
    assert_non_null(strstr(alineo_error_hint(err), "find"));
    alineo_error_free(err);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        {"a_read_whose_link_breaks_fails_and_is_no_shorter_file",
         a_read_whose_link_breaks_fails_and_is_no_shorter_file, file_world_setup_pumped,
         file_world_teardown, NULL},
        FILE_TEST(a_failed_append_leaves_what_was_there),
        FILE_TEST(a_start_that_got_lost_may_have_happened),
        {"a_replacement_that_breaks_leaves_the_file_and_nothing_beside_it",
         a_replacement_that_breaks_leaves_the_file_and_nothing_beside_it, file_world_setup_pumped,
         file_world_teardown, NULL},
        {"what_a_guest_lacks_is_said_so", what_a_guest_lacks_is_said_so, file_world_setup_busybox,
         file_world_teardown, NULL},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
