/* SPDX-License-Identifier: Apache-2.0 */
/* test: timeout=300 */
/* The life of sandboxes of the local provider: how they are made, found, changed and ended. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/clock.h"
#include "core/util/file.h"
#include "core/util/str.h"
#include "tests/support/folder.h"
#include "tests/support/local_fixture.h"
#include "tests/support/test.h"

static local_fixture f;

static int set_up(void **state) {
    (void)state;
    local_fixture_open(&f);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    if (f.self != NULL)
        local_fixture_close(&f);
    f.self = NULL;
    return 0;
}

static alineo_code create_code(const alineo_create_request *request, alineo_error **err);

/* What a sandbox looks like; strings are copies. */
struct seen {
    size_t count;
    alineo_sandbox_state state;
    char id[129];
    char name[256];
    char image[256];
    char reason[256];
    char metadata[512]; /* "k=v;" for each pair */
    int64_t created_at_ms;
    int64_t expires_at_ms;
};

static int32_t look(void *user, const alineo_sandbox_info *info) {
    struct seen *seen = user;
    seen->count++;
    seen->state = info->state;
    (void)al_str_copy(seen->id, sizeof(seen->id), info->id);
    (void)al_str_copy(seen->name, sizeof(seen->name), info->name != NULL ? info->name : "");
    (void)al_str_copy(seen->image, sizeof(seen->image), info->image);
    (void)al_str_copy(seen->reason, sizeof(seen->reason), info->reason != NULL ? info->reason : "");
    seen->metadata[0] = '\0';
    for (size_t i = 0; info->metadata != NULL && info->metadata[i] != NULL; i += 2) {
        size_t size = strlen(seen->metadata);
        (void)snprintf(seen->metadata + size, sizeof(seen->metadata) - size, "%s=%s;",
                       info->metadata[i], info->metadata[i + 1]);
    }
    seen->created_at_ms = info->created_at_ms;
    seen->expires_at_ms = info->expires_at_ms;
    return 0;
}

static alineo_code create_code(const alineo_create_request *request, alineo_error **err) {
    struct seen seen = {0};
    return f.table->create(f.self, request, NULL, look, &seen, err);
}

static void get(alineo_provider *self, const char *id, struct seen *seen) {
    alineo_error *err = NULL;
    memset(seen, 0, sizeof(*seen));
    local_assert_ok(f.table->get(self, id, NULL, look, seen, &err), &err);
    assert_int_equal(seen->count, 1);
}

static void destroy(alineo_provider *self, const char *id) {
    alineo_error *err = NULL;
    local_assert_ok(f.table->destroy(self, id, NULL, &err), &err);
}

static size_t list(alineo_provider *self, const char *const *metadata, struct seen *last) {
    alineo_list_request request = {.size = sizeof(request), .metadata = metadata};
    alineo_error *err = NULL;
    char *cursor = NULL;
    int32_t complete = 0;
    memset(last, 0, sizeof(*last));
    local_assert_ok(f.table->list(self, &request, NULL, look, last, &cursor, &complete, &err),
                    &err);
    assert_null(cursor);
    assert_int_equal(complete, 1);
    return last->count;
}

static bool is_not_there(void *user) {
    return !local_is_there(&f, user);
}

static void assert_goes_away(char *id) {
    assert_true(local_eventually(is_not_there, id));
}

/* --- found -------------------------------------------------------------------------------------*/

static void a_sandbox_is_found_by_other_instances_as_it_was_made(void **state) {
    (void)state;
    const char *metadata[] = {"alineo-ledger", "l1", "who", "me", NULL};
    alineo_create_request request = {.size = sizeof(request),
                                     .name = "büro",
                                     .image = "host",
                                     .metadata = metadata,
                                     .lifetime_ms = 60000};
    char id[129];
    struct seen seen;
    int64_t before = al_clock_realtime_ms();
    local_fixture_create(&f, &request, id);
    alineo_provider *other = local_fixture_again(&f);
    get(other, id, &seen);
    assert_int_equal(seen.state, ALINEO_STATE_RUNNING);
    assert_string_equal(seen.id, id);
    assert_string_equal(seen.name, "büro");
    assert_string_equal(seen.image, "host");
    assert_string_equal(seen.metadata, "alineo-ledger=l1;who=me;");
    assert_in_range(seen.created_at_ms, before, al_clock_realtime_ms());
    assert_in_range(seen.expires_at_ms, before + 60000, al_clock_realtime_ms() + 60001);

    const char *mine[] = {"who", "me", NULL};
    const char *others[] = {"who", "you", NULL};
    assert_int_equal(list(other, NULL, &seen), 1);
    assert_int_equal(list(other, mine, &seen), 1);
    assert_int_equal(list(other, others, &seen), 0);

    destroy(other, id);
    assert_int_equal(list(f.self, NULL, &seen), 0);
    alineo_error *err = NULL;
    local_assert_code(f.table->get(f.self, id, NULL, look, &seen, &err), &err,
                      ALINEO_SANDBOX_NOT_FOUND);
    local_assert_code(f.table->destroy(f.self, id, NULL, &err), &err, ALINEO_SANDBOX_NOT_FOUND);
    f.table->close(other);
    assert_goes_away(id);
}

static void a_list_comes_in_pages_that_show_each_once(void **state) {
    (void)state;
    enum {
        COUNT = 5
    };
    char ids[COUNT][129];
    for (int i = 0; i < COUNT; i++)
        local_fixture_create(&f, NULL, ids[i]);
    alineo_list_request request = {.size = sizeof(request), .limit = 2};
    alineo_error *err = NULL;
    char *cursor = NULL;
    int pages = 0;
    size_t total = 0;
    do {
        struct seen seen = {0};
        char *next = NULL;
        int32_t complete = 0;
        request.cursor = cursor;
        local_assert_ok(f.table->list(f.self, &request, NULL, look, &seen, &next, &complete, &err),
                        &err);
        f.host.host.free(&f.host.host, cursor);
        cursor = next;
        total += seen.count;
        pages++;
    } while (cursor != NULL);
    assert_int_equal(total, COUNT);
    assert_int_equal(pages, 3);
}

static void spoil(const char *path, const char *text) {
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void a_state_that_was_spoilt_is_written_anew(void **state) {
    (void)state;
    static const char *const texts[] = {"", "ALSS", "nonsense that is longer than any header is"};
    char id[129];
    struct seen seen;
    local_fixture_create(&f, NULL, id);
    al_autofree char *path = al_strf("%s/sandboxes/%s/state", f.run_dir, id);
    for (size_t i = 0; i < AL_COUNT(texts); i++) {
        spoil(path, texts[i]);
        assert_int_equal(list(f.self, NULL, &seen), 1);
        assert_string_equal(seen.id, id);
        spoil(path, texts[i]);
        get(f.self, id, &seen);
        assert_int_equal(seen.state, ALINEO_STATE_RUNNING);
    }
    destroy(f.self, id);
}

static void ids_that_never_were_are_not_found(void **state) {
    (void)state;
    static const char *const ids[] = {"never", "", ".", "..", "../../etc", "a/b", "x\ny"};
    for (size_t i = 0; i < AL_COUNT(ids); i++) {
        alineo_error *err = NULL;
        struct seen seen = {0};
        alineo_exec_io io = ALINEO_EXEC_IO_INIT;
        const char *argv[] = {"true", NULL};
        alineo_exec_request exec = {.size = sizeof(exec), .exec_id = "x", .argv = argv};
        local_assert_code(f.table->get(f.self, ids[i], NULL, look, &seen, &err), &err,
                          ALINEO_SANDBOX_NOT_FOUND);
        local_assert_code(f.table->destroy(f.self, ids[i], NULL, &err), &err,
                          ALINEO_SANDBOX_NOT_FOUND);
        local_assert_code(f.table->exec_start(f.self, ids[i], &exec, &io, &err), &err,
                          ALINEO_SANDBOX_NOT_FOUND);
    }
}

/* --- made --------------------------------------------------------------------------------------*/

static void what_cannot_be_made_is_refused_and_leaves_nothing(void **state) {
    (void)state;
    alineo_resources disk = ALINEO_RESOURCES_INIT;
    disk.disk_bytes = 1;
    alineo_egress_policy policy = ALINEO_EGRESS_POLICY_INIT;
    const struct {
        alineo_create_request request;
        alineo_code code;
    } cases[] = {
        {{.image = "no-such-image"}, ALINEO_IMAGE_NOT_FOUND},
        {{.image = "dir:/no/such/folder"}, ALINEO_IMAGE_NOT_FOUND},
        {{.image = "dir:relative"}, ALINEO_IMAGE_INVALID},
        {{.image = "dir:/etc/passwd"}, ALINEO_IMAGE_INVALID},
        {{.image = "host", .network = ALINEO_NETWORK_OUTBOUND}, ALINEO_CAPABILITY_UNSUPPORTED},
        {{.image = "host", .egress = &policy}, ALINEO_CAPABILITY_UNSUPPORTED},
        {{.image = "host", .resources = &disk}, ALINEO_CAPABILITY_UNSUPPORTED},
        {{.snapshot_id = "s"}, ALINEO_CAPABILITY_UNSUPPORTED},
        {{.image = "host", .lifetime_ms = -2}, ALINEO_INVALID_ARGUMENT},
        {{.image = "host", .lifetime_ms = INT64_MAX}, ALINEO_INVALID_ARGUMENT},
        {{.image = "host", .options_json = "{}"}, ALINEO_INVALID_ARGUMENT},
    };
    for (size_t i = 0; i < AL_COUNT(cases); i++) {
        alineo_error *err = NULL;
        alineo_create_request request = cases[i].request;
        request.size = sizeof(request);
        local_assert_code(create_code(&request, &err), &err, cases[i].code);
    }
    struct seen seen;
    assert_int_equal(list(f.self, NULL, &seen), 0);
}

static void a_folder_is_an_image(void **state) {
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    static const char *const folders[] = {"bin", "etc", "tmp"};
    for (size_t i = 0; i < AL_COUNT(folders); i++)
        assert_int_equal(mkdir(test_path(&folder, folders[i]), 0755), 0);
    test_write_file(test_path(&folder, "etc/marker"), "from the image", 0644);
    al_auto(al_buf_free) al_buf program = AL_BUF_INIT;
    al_autofree char *attacker = al_strf("%s/tests/local/attacker", ALINEO_TEST_BUILD_DIR);
    assert_int_equal(al_file_read(attacker, 64 << 20, &program), 0);
    assert_int_equal(
        al_file_write_atomic(test_path(&folder, "bin/program"), program.data, program.size, 0755),
        0);
    char image[128];
    (void)snprintf(image, sizeof(image), "dir:%s", folder.path);
    alineo_create_request request = {.size = sizeof(request), .image = image};
    char id[129];
    local_fixture_create(&f, &request, id);
    const char *argv[] = {"/bin/program", "chroot", NULL};
    alineo_exec_request exec = {.size = sizeof(exec), .exec_id = "x", .argv = argv};
    local_ran ran;
    local_run(&f, id, &exec, NULL, &ran);
    assert_string_equal(al_buf_str(&ran.out), "chroot ENOTDIR\n");
    local_ran_clear(&f, &ran);
    destroy(f.self, id);
    assert_goes_away(id);
    test_folder_remove(&folder);
}

static void environment_and_user_of_the_sandbox_are_every_commands(void **state) {
    (void)state;
    const char *env[] = {"A", "sandbox", "B", "sandbox", NULL};
    alineo_create_request request = {
        .size = sizeof(request), .image = "host", .env = env, .user = "nobody"};
    char id[129];
    local_fixture_create(&f, &request, id);
    const char *own[] = {"B", "command", NULL};
    const char *argv[] = {"sh", "-c", "echo $A $B $(id -un)", NULL};
    alineo_exec_request exec = {.size = sizeof(exec), .exec_id = "x", .argv = argv, .env = own};
    local_ran ran;
    local_run(&f, id, &exec, NULL, &ran);
    assert_string_equal(al_buf_str(&ran.out), "sandbox command nobody\n");
    local_ran_clear(&f, &ran);
}

static void a_sandbox_with_an_entrypoint_has_it_running(void **state) {
    (void)state;
    const char *entrypoint[] = {"sh", "-c", "echo started > /tmp/entry; exec sleep 1000", NULL};
    const char *missing[] = {"no-such-program", NULL};
    alineo_create_request request = {
        .size = sizeof(request), .image = "host", .entrypoint = entrypoint};
    char id[129];
    local_fixture_create(&f, &request, id);
    free(local_output(&f, id,
                      "for i in 1 2 3 4 5 6 7 8 9; do test -s /tmp/entry && break; "
                      "sleep 0.1; done; pgrep -f '[s]leep 1000'"));
    alineo_error *err = NULL;
    request.entrypoint = missing;
    local_assert_code(create_code(&request, &err), &err, ALINEO_SANDBOX_FAILED);
}

static void a_folder_of_the_host_can_be_mounted(void **state) {
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    test_write_file(test_path(&folder, "note"), "shared", 0644);
    alineo_mount readable = {sizeof(readable), folder.path, "/mnt/ro", ALINEO_DEFAULT};
    alineo_mount writable = {sizeof(writable), folder.path, "/mnt/rw", ALINEO_NO};
    const alineo_mount *mounts[] = {&readable, &writable};
    alineo_create_request request = {
        .size = sizeof(request), .image = "host", .mounts = mounts, .mount_count = 2};
    char id[129];
    local_fixture_create(&f, &request, id);
    char *text = local_output(&f, id,
                              "cat /mnt/ro/note; touch /mnt/ro/x 2>/dev/null && echo wrote; "
                              "echo new > /mnt/rw/made");
    assert_string_equal(text, "shared");
    free(text);
    destroy(f.self, id);
    assert_int_equal(access(test_path(&folder, "made"), F_OK), 0);
    assert_goes_away(id);

    alineo_error *err = NULL;
    assert_int_equal(symlink("/etc", test_path(&folder, "link")), 0);
    alineo_mount linked = {sizeof(linked), test_path(&folder, "link"), "/mnt/x", ALINEO_DEFAULT};
    mounts[0] = &linked;
    local_assert_code(create_code(&request, &err), &err, ALINEO_INVALID_ARGUMENT);
    test_folder_remove(&folder);
}

static void a_command_killed_for_memory_says_so(void **state) {
    (void)state;
    alineo_resources limits = ALINEO_RESOURCES_INIT;
    limits.memory_bytes = 32 << 20;
    alineo_create_request request = {
        .size = sizeof(request), .image = "host", .resources = &limits};
    char id[129];
    local_ran ran;
    local_fixture_create(&f, &request, id);
    local_sh(&f, id, "exec awk 'BEGIN { s = \"x\"; while (1) s = s s }'", &ran);
    assert_int_equal(ran.status.outcome, ALINEO_OUTCOME_SIGNALLED);
    assert_int_equal(ran.status.oom, 1);
    assert_non_null(ran.status.detail);
    local_ran_clear(&f, &ran);
    local_sh(&f, id, "kill -9 $$", &ran);
    assert_int_equal(ran.status.signal, 9);
    assert_int_equal(ran.status.oom, 0);
    local_ran_clear(&f, &ran);
}

/* Whether a new command finds room for one process more. */
static bool can_fork(const char *id) {
    const char *argv[] = {"sh", "-c", "(exit 0) && echo forked", NULL};
    alineo_exec_request exec = {.size = sizeof(exec), .exec_id = "x", .argv = argv};
    alineo_exec_io io = ALINEO_EXEC_IO_INIT;
    alineo_error *err = NULL;
    alineo_code code = f.table->exec_start(f.self, id, &exec, &io, &err);
    /* Where the kernel counts the command itself against the limit, it is not even started. */
    if (code != ALINEO_OK) {
        local_assert_code(code, &err, ALINEO_SANDBOX_FAILED);
        return false;
    }
    char text[16];
    ssize_t size = read(io.stdout_fd, text, sizeof(text));
    local_let_go(&f, &io);
    return size > 0;
}

static void at_the_limit_of_processes_nothing_more_starts_until_some_end(void **state) {
    (void)state;
    enum {
        LIMIT = 8
    };
    alineo_resources limits = ALINEO_RESOURCES_INIT;
    limits.pids = LIMIT;
    alineo_create_request request = {
        .size = sizeof(request), .image = "host", .resources = &limits};
    char id[129];
    alineo_exec_io ios[LIMIT];
    alineo_error *err = NULL;
    alineo_exec_status status = ALINEO_EXEC_STATUS_INIT;
    local_fixture_create(&f, &request, id);
    assert_true(can_fork(id));
    for (int i = 0; i < LIMIT; i++)
        local_start(&f, id, "exec sleep 1000", 0, &ios[i]);
    assert_false(can_fork(id));
    for (int i = 0; i < LIMIT; i++) {
        local_assert_ok(f.table->exec_cancel(f.self, ios[i].exec, &err), &err);
        local_assert_ok(f.table->exec_wait(f.self, ios[i].exec, 10000, &status, &err), &err);
        local_let_go(&f, &ios[i]);
    }
    assert_true(can_fork(id));
}

static void a_flood_of_processes_leaves_the_sandbox_answering(void **state) {
    (void)state;
    alineo_resources limits = ALINEO_RESOURCES_INIT;
    limits.pids = 64;
    alineo_create_request request = {
        .size = sizeof(request), .image = "host", .resources = &limits};
    char id[129];
    alineo_exec_io io;
    alineo_error *err = NULL;
    alineo_exec_status status = ALINEO_EXEC_STATUS_INIT;
    local_fixture_create(&f, &request, id);
    /* Orphans without end, all of which pid 1 has to bury. */
    local_start(&f, id, "while :; do (sh -c 'exit 3' & ) & done 2>/dev/null", 1000, &io);
    alineo_file_request file = {.size = sizeof(file), .path = "/tmp/there"};
    local_assert_ok(f.table->file_mkdir(f.self, id, &file, &err), &err);
    local_assert_ok(f.table->exec_wait(f.self, io.exec, 20000, &status, &err), &err);
    local_let_go(&f, &io);
    char *left = local_output(&f, id, "sleep 0.2; ls -d /proc/[0-9]* | wc -l; test -d /tmp/there");
    assert_in_range(strtol(left, NULL, 10), 1, 8);
    free(left);
}

static const char *name_file(int number) {
    static char path[128];
    (void)snprintf(path, sizeof(path), "%s/file-%d", f.state_dir, number);
    return path;
}

static bool make_file(int number) {
    int fd = open(name_file(number), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        assert_int_equal(errno, ENOSPC);
    al_close(fd);
    return fd >= 0;
}

static void a_full_disk_is_said_to_be_full_and_got_over(void **state) {
    (void)state;
    char id[129];
    assert_int_equal(mkdir(f.state_dir, 0700), 0);
    assert_int_equal(mount("tmpfs", f.state_dir, "tmpfs", 0, "size=4m,nr_inodes=500,mode=0700"), 0);
    local_fixture_create(&f, NULL, id);
    free(local_output(&f, id, "head -c 10000000 /dev/zero > /root/big 2>/dev/null; test $? != 0"));
    static char bytes[65536];
    alineo_error *err = NULL;
    alineo_file_io io = ALINEO_FILE_IO_INIT;
    alineo_file_request file = {.size = sizeof(file), .path = "/root/big2"};
    alineo_code code = f.table->file_open_write(f.self, id, &file, &io, &err);
    if (code == ALINEO_OK) {
        code = f.table->file_write(f.self, io.file, bytes, sizeof(bytes), &err);
        f.table->file_close(f.self, io.file);
    }
    local_assert_code(code, &err, ALINEO_NO_SPACE);
    free(local_output(&f, id, "rm /root/big && echo fits > /root/small"));

    /* No file more can be made: no sandbox either, and nothing of it is left. */
    alineo_create_request request = {.size = sizeof(request), .image = "host"};
    struct seen seen;
    int made = 0;
    while (make_file(made))
        made++;
    local_assert_code(create_code(&request, &err), &err, ALINEO_NO_SPACE);
    assert_int_equal(list(f.self, NULL, &seen), 1);
    while (made > 0)
        assert_int_equal(unlink(name_file(--made)), 0);
    destroy(f.self, id);
    assert_goes_away(id);
    assert_int_equal(umount2(f.state_dir, MNT_DETACH), 0);
}

/* --- changed -----------------------------------------------------------------------------------*/

static void metadata_is_merged(void **state) {
    (void)state;
    const char *metadata[] = {"a", "1", "b", "2", NULL};
    const char *patch[] = {"b", "", "c", "3", "a", "4", NULL};
    alineo_create_request request = {
        .size = sizeof(request), .image = "host", .metadata = metadata};
    char id[129];
    struct seen seen;
    alineo_error *err = NULL;
    local_fixture_create(&f, &request, id);
    local_assert_ok(f.table->patch_metadata(f.self, id, patch, NULL, &err), &err);
    get(f.self, id, &seen);
    assert_string_equal(seen.metadata, "c=3;a=4;");
}

static void a_lifetime_ends_the_sandbox_and_that_is_remembered(void **state) {
    (void)state;
    alineo_create_request request = {.size = sizeof(request), .image = "host", .lifetime_ms = 300};
    char id[129];
    struct seen seen;
    alineo_exec_io io;
    alineo_error *err = NULL;
    local_fixture_create(&f, &request, id);
    local_start(&f, id, "sleep 1000", 0, &io);
    alineo_exec_status status = ALINEO_EXEC_STATUS_INIT;
    local_assert_ok(f.table->exec_wait(f.self, io.exec, 10000, &status, &err), &err);
    assert_int_equal(status.outcome, ALINEO_OUTCOME_CANCELLED);
    assert_non_null(strstr(status.detail, "lifetime"));
    f.host.host.free(&f.host.host, status.detail);
    local_let_go(&f, &io);
    assert_goes_away(id);
    get(f.self, id, &seen);
    assert_int_equal(seen.state, ALINEO_STATE_TERMINATED);
    assert_non_null(strstr(seen.reason, "lifetime"));
    assert_int_equal(list(f.self, NULL, &seen), 0);
    const char *argv[] = {"true", NULL};
    alineo_exec_request exec = {.size = sizeof(exec), .exec_id = "x", .argv = argv};
    local_assert_code(f.table->exec_start(f.self, id, &exec, &io, &err), &err,
                      ALINEO_SANDBOX_NOT_FOUND);
    local_assert_code(f.table->destroy(f.self, id, NULL, &err), &err, ALINEO_SANDBOX_NOT_FOUND);
}

static void a_renewed_sandbox_lives_on_and_ends_at_its_new_time(void **state) {
    (void)state;
    alineo_create_request request = {.size = sizeof(request), .image = "host", .lifetime_ms = 400};
    char id[129];
    struct seen seen = {0};
    alineo_error *err = NULL;
    local_fixture_create(&f, &request, id);
    /* By another instance: the old end is known to the supervisor alone. */
    alineo_provider *other = local_fixture_again(&f);
    local_assert_ok(f.table->renew(other, id, 60000, NULL, look, &seen, &err), &err);
    assert_in_range(seen.expires_at_ms, al_clock_realtime_ms() + 55000,
                    al_clock_realtime_ms() + 60001);
    f.table->close(other);
    free(local_output(&f, id, "sleep 0.6"));
    local_assert_ok(f.table->renew(f.self, id, ALINEO_FOREVER, NULL, look, &seen, &err), &err);
    assert_int_equal(seen.expires_at_ms, 0);
    local_assert_code(f.table->renew(f.self, id, -7, NULL, look, &seen, &err), &err,
                      ALINEO_INVALID_ARGUMENT);
    local_assert_ok(f.table->renew(f.self, id, 100, NULL, look, &seen, &err), &err);
    assert_goes_away(id);
}

static void a_paused_sandbox_stands_still_and_its_time_limits_too(void **state) {
    (void)state;
    char id[129];
    struct seen seen;
    alineo_exec_io io;
    alineo_error *err = NULL;
    const char *argv[] = {"true", NULL};
    alineo_exec_request exec = {.size = sizeof(exec), .exec_id = "x", .argv = argv};
    alineo_file_request file = {.size = sizeof(file), .path = "/tmp/x"};
    alineo_exec_status status = ALINEO_EXEC_STATUS_INIT;
    local_fixture_create(&f, NULL, id);
    local_start(&f, id, "sleep 0.3; exit 6", 600, &io);
    local_assert_ok(f.table->pause(f.self, id, NULL, &err), &err);
    local_assert_ok(f.table->pause(f.self, id, NULL, &err), &err);
    get(f.self, id, &seen);
    assert_int_equal(seen.state, ALINEO_STATE_PAUSED);
    alineo_exec_io refused = ALINEO_EXEC_IO_INIT;
    local_assert_code(f.table->exec_start(f.self, id, &exec, &refused, &err), &err,
                      ALINEO_SANDBOX_PAUSED);
    local_assert_code(f.table->file_mkdir(f.self, id, &file, &err), &err, ALINEO_SANDBOX_PAUSED);
    local_assert_code(f.table->exec_wait(f.self, io.exec, 900, &status, &err), &err,
                      ALINEO_TIMEOUT);
    local_assert_ok(f.table->unpause(f.self, id, NULL, &err), &err);
    local_assert_ok(f.table->exec_wait(f.self, io.exec, 10000, &status, &err), &err);
    assert_int_equal(status.outcome, ALINEO_OUTCOME_EXITED);
    assert_int_equal(status.exit_code, 6);
    local_let_go(&f, &io);
    local_assert_ok(f.table->pause(f.self, id, NULL, &err), &err);
    destroy(f.self, id);
    assert_goes_away(id);
}

/* --- ended -------------------------------------------------------------------------------------*/

static void commands_of_a_sandbox_that_is_closed_end_as_cancelled(void **state) {
    (void)state;
    char id[129];
    alineo_exec_io io;
    alineo_error *err = NULL;
    alineo_exec_status status = ALINEO_EXEC_STATUS_INIT;
    local_fixture_create(&f, NULL, id);
    local_start(&f, id, "sleep 1000", 0, &io);
    destroy(f.self, id);
    local_assert_ok(f.table->exec_wait(f.self, io.exec, 10000, &status, &err), &err);
    assert_int_equal(status.outcome, ALINEO_OUTCOME_CANCELLED);
    assert_int_equal(status.may_still_run, ALINEO_NO);
    f.host.host.free(&f.host.host, status.detail);
    local_let_go(&f, &io);
    assert_goes_away(id);
}

struct ender {
    alineo_provider *self;
    const char *id;
    alineo_code code;
};

static void *end_it(void *user) {
    struct ender *ender = user;
    alineo_error *err = NULL;
    ender->code = f.table->destroy(ender->self, ender->id, NULL, &err);
    alineo_error_free(err);
    return NULL;
}

static void two_that_close_at_once_both_find_it_gone(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        char id[129];
        local_fixture_create(&f, NULL, id);
        struct ender enders[] = {{f.self, id, 0}, {local_fixture_again(&f), id, 0}};
        pthread_t threads[2];
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, end_it, &enders[i]), 0);
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        for (int i = 0; i < 2; i++)
            assert_true(enders[i].code == ALINEO_OK || enders[i].code == ALINEO_SANDBOX_NOT_FOUND);
        assert_true(enders[0].code == ALINEO_OK || enders[1].code == ALINEO_OK);
        f.table->close(enders[1].self);
    }
}

static void many_sandboxes_at_once_leave_no_descriptor(void **state) {
    (void)state;
    size_t before = test_count_fds();
    for (int i = 0; i < 10; i++) {
        char id[129];
        local_fixture_create(&f, NULL, id);
        free(local_output(&f, id, "true"));
        destroy(f.self, id);
    }
    assert_int_equal(test_count_fds(), before);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_sandbox_is_found_by_other_instances_as_it_was_made),
        TEST(a_list_comes_in_pages_that_show_each_once),
        TEST(a_state_that_was_spoilt_is_written_anew),
        TEST(ids_that_never_were_are_not_found),
        TEST(what_cannot_be_made_is_refused_and_leaves_nothing),
        TEST(a_folder_is_an_image),
        TEST(environment_and_user_of_the_sandbox_are_every_commands),
        TEST(a_sandbox_with_an_entrypoint_has_it_running),
        TEST(a_folder_of_the_host_can_be_mounted),
        TEST(a_command_killed_for_memory_says_so),
        TEST(at_the_limit_of_processes_nothing_more_starts_until_some_end),
        TEST(a_flood_of_processes_leaves_the_sandbox_answering),
        TEST(a_full_disk_is_said_to_be_full_and_got_over),
        TEST(metadata_is_merged),
        TEST(a_lifetime_ends_the_sandbox_and_that_is_remembered),
        TEST(a_renewed_sandbox_lives_on_and_ends_at_its_new_time),
        TEST(a_paused_sandbox_stands_still_and_its_time_limits_too),
        TEST(commands_of_a_sandbox_that_is_closed_end_as_cancelled),
        TEST(two_that_close_at_once_both_find_it_gone),
        TEST(many_sandboxes_at_once_leave_no_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
