/* SPDX-License-Identifier: Apache-2.0 */
/* Entries and states of local sandboxes: who holds one, and what a state file may be. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "plugins/providers/local/entry.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

static test_folder folder;

static int set_up(void **state) {
    (void)state;
    test_folder_make(&folder);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

static int open_parent(void) {
    int fd;
    assert_int_equal(local_folder_make(folder.path, "run/sandboxes", &fd), 0);
    return fd;
}

static void an_entry_is_held_as_long_as_its_maker_lives(void **state) {
    (void)state;
    al_autofd int parent = open_parent();
    int mine;
    bool is_held = false;
    al_autofd int seen = -1;
    al_autofd int seized = -1;
    assert_int_equal(local_entry_create(parent, "one", &mine), 0);
    assert_int_equal(local_entry_open(parent, "one", &seen, &is_held), 0);
    assert_true(is_held);
    assert_int_equal(local_entry_seize(parent, "one", &seized), EBUSY);
    assert_int_equal(local_entry_create(parent, "one", &seized), EEXIST);
    al_close(mine);
    al_close(seen);
    seen = -1;
    assert_int_equal(local_entry_open(parent, "one", &seen, &is_held), 0);
    assert_false(is_held);
    assert_int_equal(local_entry_seize(parent, "one", &seized), 0);
    assert_int_equal(local_entry_open(parent, "none", &seen, &is_held), ENOENT);
    assert_int_equal(local_entry_seize(parent, "none", &seized), ENOENT);
}

static void folders_are_made_for_nobody_else(void **state) {
    (void)state;
    struct stat status;
    al_autofd int parent = open_parent();
    assert_int_equal(stat(test_path(&folder, "run"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    al_autofd int entry = -1;
    assert_int_equal(local_entry_create(parent, "one", &entry), 0);
    assert_int_equal(fstat(entry, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    assert_int_equal(symlink("one", test_path(&folder, "run/sandboxes/link")), 0);
    bool is_held;
    al_autofd int seen = -1;
    assert_int_not_equal(local_entry_open(parent, "link", &seen, &is_held), 0);
}

static void a_socket_is_reached_however_long_its_path_is(void **state) {
    (void)state;
    al_autofd int parent = open_parent();
    char id[LOCAL_ID_MAX + 1];
    memset(id, 'x', sizeof(id));
    id[LOCAL_ID_MAX] = '\0';
    al_autofd int entry = -1;
    int listener;
    al_autofd int client = -1;
    assert_int_equal(local_entry_create(parent, id, &entry), 0);
    assert_int_equal(local_control_connect(entry, &client), ENOENT);
    assert_int_equal(local_control_listen(entry, &listener), 0);
    assert_int_equal(local_control_connect(entry, &client), 0);
    al_close(client);
    client = -1;
    al_close(listener);
    assert_int_equal(local_control_connect(entry, &client), ECONNREFUSED);
}

static const char *const pairs[] = {"k", "v", "empty", "", NULL};

static struct local_state make_state(void) {
    return (struct local_state){.id = "abc",
                                .name = NULL,
                                .image = "host",
                                .reason = "why",
                                .metadata = local_list_of(pairs),
                                .state = LOCAL_PAUSED,
                                .created_at_ms = 1700000000000,
                                .ends_boottime_ms = -1};
}

static void a_state_is_read_as_it_was_written(void **state) {
    (void)state;
    al_autofd int parent = open_parent();
    struct local_state written = make_state();
    assert_int_equal(local_state_write(parent, "state", &written), 0);
    written.state = LOCAL_RUNNING;
    assert_int_equal(local_state_write(parent, "state", &written), 0);
    al_auto(local_state_free) struct local_state_file file = {0};
    assert_int_equal(local_state_read(parent, "state", &file), 0);
    assert_string_equal(file.state.id, "abc");
    assert_null(file.state.name);
    assert_string_equal(file.state.reason, "why");
    assert_int_equal(file.state.state, LOCAL_RUNNING);
    assert_int_equal(file.state.metadata.count, 4);
    assert_string_equal(file.state.metadata.items[3], "");
    assert_int_equal(file.state.ends_boottime_ms, -1);
    struct stat status;
    assert_int_equal(fstatat(parent, "state", &status, 0), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
}

static void what_is_no_state_is_refused(void **state) {
    (void)state;
    al_autofd int parent = open_parent();
    struct local_state_file file;
    assert_int_equal(local_state_read(parent, "none", &file), ENOENT);
    test_write_file(test_path(&folder, "run/sandboxes/text"), "{\"id\": \"abc\"}", 0600);
    assert_int_equal(local_state_read(parent, "text", &file), EBADMSG);
    test_write_file(test_path(&folder, "run/sandboxes/empty"), "", 0600);
    assert_int_equal(local_state_read(parent, "empty", &file), EBADMSG);
    al_auto(al_buf_free) al_buf bytes = AL_BUF_INIT;
    struct local_state whole = make_state();
    struct local_state got;
    local_state_format(&bytes, &whole);
    assert_int_equal(bytes.error, 0);
    for (size_t size = 0; size < bytes.size; size++)
        assert_int_equal(local_state_parse(bytes.data, size, &got), EBADMSG);
    assert_int_equal(local_state_parse(bytes.data, bytes.size, &got), 0);
    local_clear(&local_state_schema, &got);

    static const char *const odd[] = {"k", NULL};
    al_buf_clear(&bytes);
    whole.metadata = local_list_of(odd);
    local_state_format(&bytes, &whole);
    assert_int_equal(local_state_parse(bytes.data, bytes.size, &got), EBADMSG);
    al_buf_clear(&bytes);
    whole = make_state();
    whole.id = "../abc";
    local_state_format(&bytes, &whole);
    assert_int_equal(local_state_parse(bytes.data, bytes.size, &got), EBADMSG);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(an_entry_is_held_as_long_as_its_maker_lives),
        TEST(folders_are_made_for_nobody_else),
        TEST(a_socket_is_reached_however_long_its_path_is),
        TEST(a_state_is_read_as_it_was_written),
        TEST(what_is_no_state_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
