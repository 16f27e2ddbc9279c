/* SPDX-License-Identifier: Apache-2.0 */
/* test: timeout=300 */
/* Nonsense, floods and silence on every socket of a sandbox: it goes on answering, or says that it
 * does not. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/io.h"
#include "core/util/msg.h"
#include "core/util/random.h"
#include "core/util/str.h"
#include "plugins/providers/local/entry.h"
#include "plugins/providers/local/link.h"
#include "tests/support/local_fixture.h"
#include "tests/support/test.h"

enum {
    ROUNDS = 300
};

static local_fixture f;
static char id[129];

static int set_up(void **state) {
    (void)state;
    local_fixture_open(&f);
    local_fixture_create(&f, NULL, id);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    if (f.self != NULL)
        local_fixture_close(&f);
    f.self = NULL;
    return 0;
}

static int connect_to_supervisor(void) {
    al_autofd int entries = -1;
    al_autofd int entry = -1;
    bool is_held = false;
    int fd;
    assert_int_equal(local_folder_open(f.run_dir, LOCAL_SANDBOXES, &entries), 0);
    assert_int_equal(local_entry_open(entries, id, &entry, &is_held), 0);
    assert_true(is_held);
    assert_int_equal(local_control_connect(entry, &fd), 0);
    return fd;
}

static void assert_alive(void) {
    char *text = local_output(&f, id, "echo alive");
    assert_string_equal(text, "alive\n");
    free(text);
}

static uint32_t at_random(uint32_t below) {
    uint32_t value;
    assert_int_equal(al_random_bytes(&value, sizeof(value)), 0);
    return value % below;
}

/* A packet that begins like one of ours, with nonsense behind. */
static size_t make_nonsense(unsigned char packet[2048], bool has_header) {
    size_t size = 25 + at_random(2023);
    assert_int_equal(al_random_bytes(packet, 2048), 0);
    if (!has_header)
        return size;
    al_auto(al_buf_free) al_buf real = AL_BUF_INIT;
    assert_int_equal(local_link_write(&real, LOCAL_COMMIT, 0, NULL), 0);
    memcpy(packet, real.data, 24);
    uint16_t type = (uint16_t)at_random(64);
    uint32_t payload_size = (uint32_t)size - 24;
    uint32_t flags = at_random(8) == 0 ? at_random(4) : 0;
    memcpy(packet + 6, &type, sizeof(type));
    memcpy(packet + 16, &payload_size, sizeof(payload_size));
    memcpy(packet + 20, &flags, sizeof(flags));
    return size;
}

static void send_nonsense(int fd, bool has_header) {
    unsigned char packet[2048];
    size_t size = make_nonsense(packet, has_header);
    int fds[] = {fd, fd, fd};
    /* It may be closed to us by now: that is an answer. */
    int rc = al_msg_send(fd, packet, size, fds, at_random(4), al_deadline_after_ms(1000));
    if (rc != 0)
        assert_true(rc == EPIPE || rc == ECONNRESET);
}

static void nonsense_on_the_control_socket_ends_that_connection_and_no_more(void **state) {
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        al_autofd int fd = connect_to_supervisor();
        send_nonsense(fd, i % 2 == 0);
        send_nonsense(fd, true);
    }
    assert_alive();
}

static void messages_that_are_for_others_are_refused(void **state) {
    (void)state;
    const struct local_done done = {0};
    const struct {
        uint32_t type;
        const void *message;
    } cases[] = {{LOCAL_CANCEL, NULL}, {LOCAL_RELEASE, NULL}, {LOCAL_KILLED, &done}};
    for (size_t i = 0; i < AL_COUNT(cases); i++) {
        al_autofd int fd = connect_to_supervisor();
        char byte;
        assert_int_equal(local_link_send(fd, cases[i].type, 0, cases[i].message, NULL, 0,
                                         al_deadline_after_ms(1000)),
                         0);
        assert_int_equal(recv(fd, &byte, 1, 0), 0);
    }
    assert_alive();
}

static void many_connections_that_say_nothing_are_no_hindrance(void **state) {
    (void)state;
    enum {
        COUNT = 500
    };
    static int fds[COUNT];
    for (int i = 0; i < COUNT; i++)
        fds[i] = connect_to_supervisor();
    assert_alive();
    for (int i = 0; i < COUNT; i++)
        (void)close(fds[i]);
    assert_alive();
}

/* Starts a command by hand, to have its socket. */
static int start_by_hand(int fd, const char *command) {
    const char *argv[] = {"sh", "-c", command, NULL};
    struct local_exec exec = {.exec_id = "hand", .argv = {argv, 3}};
    al_auto(local_message_free) struct local_message in = {0};
    assert_int_equal(local_link_send(fd, LOCAL_EXEC, 0, &exec, NULL, 0, al_deadline_after_ms(5000)),
                     0);
    assert_int_equal(local_link_receive(fd, &local_link_trusted, &in, al_deadline_after_ms(5000)),
                     0);
    assert_int_equal(in.type, LOCAL_STARTED);
    return local_message_take_fd(&in, 0);
}

static void nonsense_on_an_execs_socket_ends_that_exec_and_no_more(void **state) {
    (void)state;
    al_autofd int fd = connect_to_supervisor();
    for (int i = 0; i < 30; i++) {
        al_autofd int control = start_by_hand(fd, "sleep 54321");
        send_nonsense(control, i % 2 == 0);
    }
    free(local_output(&f, id,
                      "for i in 1 2 3 4 5 6 7 8 9; do pgrep -f '[s]leep 54321' || exit 0; "
                      "sleep 0.1; done; exit 1"));
}

static void a_reader_that_never_reads_its_answers_is_cut_off(void **state) {
    (void)state;
    al_autofd int fd = connect_to_supervisor();
    struct local_renew renew = {-1};
    int rc = 0;
    /* Sent without end, never read: sooner or later there is no room for its answers. */
    for (int i = 0; i < 100000 && rc == 0; i++)
        rc = local_link_send(fd, LOCAL_RENEW, 0, &renew, NULL, 0, al_deadline_after_ms(5000));
    assert_true(rc == EPIPE || rc == ECONNRESET);
    assert_alive();
}

static void strangers_are_not_answered(void **state) {
    (void)state;
    al_autofree char *entry = al_strf("%s/sandboxes/%s", f.run_dir, id);
    al_autofree char *sandboxes = al_strf("%s/sandboxes", f.run_dir);
    al_autofree char *control = al_strf("%s/control", entry);
    /* Nobody but us can get there; even if somebody opened all doors. */
    assert_int_equal(chmod(f.home, 0755), 0);
    assert_int_equal(chmod(f.run_dir, 0755), 0);
    assert_int_equal(chmod(sandboxes, 0755), 0);
    assert_int_equal(chmod(entry, 0755), 0);
    assert_int_equal(chmod(control, 0777), 0);
    al_autofd int entry_fd = open(entry, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(entry_fd >= 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)
            _exit(2);
        int fd = -1;
        char byte;
        if (local_control_connect(entry_fd, &fd) != 0)
            _exit(0);
        int rc = local_link_send(fd, LOCAL_DESTROY, 0, NULL, NULL, 0, al_deadline_after_ms(1000));
        ssize_t size = recv(fd, &byte, 1, 0);
        _exit((rc == 0 || rc == EPIPE) && size <= 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_alive();
}

static void a_start_that_was_given_up_is_not_made_later(void **state) {
    (void)state;
    int pid = local_supervisor_pid(&f, id);
    assert_true(pid > 1);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    alineo_error *err = NULL;
    alineo_call *call = NULL;
    alineo_call_options options = ALINEO_CALL_OPTIONS_INIT;
    options.timeout_ms = 200;
    assert_int_equal(alineo_call_new(&options, &call, &err), ALINEO_OK);
    const char *argv[] = {"touch", "/tmp/late", NULL};
    alineo_exec_request request = {
        .size = sizeof(request), .exec_id = "late", .argv = argv, .call = call};
    alineo_exec_io io = ALINEO_EXEC_IO_INIT;
    local_assert_code(f.table->exec_start(f.self, id, &request, &io, &err), &err, ALINEO_TIMEOUT);
    alineo_call_free(call);
    assert_int_equal(kill(pid, SIGCONT), 0);
    free(local_output(&f, id, "sleep 0.3; test ! -e /tmp/late"));
}

static void hundreds_of_commands_that_left_something_running_are_no_hindrance(void **state) {
    (void)state;
    enum {
        COUNT = 700
    };
    for (int i = 0; i < COUNT; i++)
        free(local_output(&f, id, "sleep 4444 & true"));
    assert_alive();
    char *count = local_output(&f, id, "pgrep -fc '[s]leep 4444'; pkill -f '[s]leep 4444'");
    assert_string_equal(count, "700\n");
    free(count);
    assert_alive();
}

struct starter {
    pthread_t thread;
    const char *text;
    bool is_fine;
};

static void *start_some(void *user) {
    struct starter *starter = user;
    const char *env[] = {"TEXT", starter->text, NULL};
    const char *argv[] = {"sh", "-c", "echo ${#TEXT}", NULL};
    alineo_exec_request request = {
        .size = sizeof(request), .exec_id = "many", .argv = argv, .env = env};
    starter->is_fine = true;
    for (int i = 0; i < 5; i++) {
        alineo_exec_io io = ALINEO_EXEC_IO_INIT;
        alineo_exec_status status = ALINEO_EXEC_STATUS_INIT;
        alineo_error *err = NULL;
        char text[16] = "";
        if (f.table->exec_start(f.self, id, &request, &io, &err) != ALINEO_OK ||
            f.table->exec_wait(f.self, io.exec, 60000, &status, &err) != ALINEO_OK ||
            status.exit_code != 0 || read(io.stdout_fd, text, sizeof(text) - 1) < 0 ||
            strcmp(text, "30000\n") != 0)
            starter->is_fine = false;
        alineo_error_free(err);
        if (io.exec != NULL)
            local_let_go(&f, &io);
    }
    return NULL;
}

static void many_threads_start_large_commands_at_once(void **state) {
    (void)state;
    static struct starter starters[64];
    static char text[30001];
    memset(text, 'x', sizeof(text) - 1);
    for (size_t i = 0; i < AL_COUNT(starters); i++) {
        starters[i].text = text;
        assert_int_equal(pthread_create(&starters[i].thread, NULL, start_some, &starters[i]), 0);
    }
    for (size_t i = 0; i < AL_COUNT(starters); i++) {
        assert_int_equal(pthread_join(starters[i].thread, NULL), 0);
        assert_true(starters[i].is_fine);
    }
}

static int32_t count_entry(void *user, const alineo_file_info *info) {
    (void)info;
    (*(size_t *)user)++;
    return 0;
}

static void a_guest_that_kills_everything_it_can_only_hurts_itself(void **state) {
    (void)state;
    alineo_exec_io io;
    alineo_error *err = NULL;
    local_start(&f, id, "while :; do kill -9 -1; done", 2000, &io);
    for (int i = 0; i < 100; i++) {
        size_t count = 0;
        alineo_file_request request = {.size = sizeof(request), .path = "/usr/bin"};
        alineo_code code = f.table->file_list(f.self, id, &request, count_entry, &count, &err);
        /* Whole, or said not to be. */
        if (code == ALINEO_OK)
            assert_true(count > 50);
        else
            local_assert_code(code, &err, ALINEO_IO);
    }
    local_assert_ok(f.table->exec_cancel(f.self, io.exec, &err), &err);
    alineo_exec_status status = ALINEO_EXEC_STATUS_INIT;
    local_assert_ok(f.table->exec_wait(f.self, io.exec, 10000, &status, &err), &err);
    local_let_go(&f, &io);
    assert_alive();
}

static void what_guests_make_of_their_user_database_hurts_nobody_else(void **state) {
    (void)state;
    static const char *const deeds[] = {
        "rm -f /etc/passwd /etc/group",
        "rm -f /etc/passwd; mkfifo /etc/passwd",
        "rm -f /etc/passwd; ln -s /dev/zero /etc/passwd",
        "rm -f /etc/passwd; head -c 3000000 /dev/zero > /etc/passwd",
        "rm -f /etc/passwd; head -c 300000 /dev/urandom > /etc/passwd",
        "rm -f /etc/passwd; yes : | head -c 500000 > /etc/passwd",
    };
    const char *argv[] = {"true", NULL};
    for (size_t i = 0; i < AL_COUNT(deeds); i++) {
        alineo_error *err = NULL;
        alineo_exec_io io = ALINEO_EXEC_IO_INIT;
        alineo_exec_request request = {
            .size = sizeof(request), .exec_id = "user", .argv = argv, .user = "nobody"};
        free(local_output(&f, id, deeds[i]));
        local_assert_code(f.table->exec_start(f.self, id, &request, &io, &err), &err,
                          ALINEO_INVALID_ARGUMENT);
        size_t count = 0;
        alineo_file_request file = {.size = sizeof(file), .path = "/etc"};
        local_assert_ok(f.table->file_stat(f.self, id, &file, count_entry, &count, &err), &err);
        assert_int_equal(count, 1);
    }
}

static void guests_find_no_socket_of_ours(void **state) {
    (void)state;
    char *seen = local_output(&f, id,
                              "cat /proc/net/unix | wc -l; ls -l /proc/1/fd 2>&1 | wc -l; "
                              "cat /proc/1/environ 2>/dev/null | wc -c; "
                              "ls -A /run /var/lib 2>/dev/null | grep -c alineo; true");
    assert_string_equal(seen, "1\n1\n0\n0\n");
    free(seen);
    /* And can neither stop nor kill the first process. */
    free(local_output(&f, id, "kill -STOP 1; kill -KILL 1; kill -TERM 1; kill -CHLD 1; true"));
    assert_alive();
}

int main(void) {
#define TEST(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        TEST(nonsense_on_the_control_socket_ends_that_connection_and_no_more),
        TEST(messages_that_are_for_others_are_refused),
        TEST(many_connections_that_say_nothing_are_no_hindrance),
        TEST(nonsense_on_an_execs_socket_ends_that_exec_and_no_more),
        TEST(a_reader_that_never_reads_its_answers_is_cut_off),
        TEST(strangers_are_not_answered),
        TEST(a_start_that_was_given_up_is_not_made_later),
        TEST(guests_find_no_socket_of_ours),
        TEST(many_threads_start_large_commands_at_once),
        TEST(hundreds_of_commands_that_left_something_running_are_no_hindrance),
        TEST(a_guest_that_kills_everything_it_can_only_hurts_itself),
        TEST(what_guests_make_of_their_user_database_hurts_nobody_else),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
