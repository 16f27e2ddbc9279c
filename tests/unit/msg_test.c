/* SPDX-License-Identifier: Apache-2.0 */
#include "core/util/msg.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/io.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

static int sender = -1;
static int receiver = -1;
static size_t fds_before;

static int set_up(void **state) {
    (void)state;
    fds_before = test_count_fds();
    assert_int_equal(al_msg_pair(&sender, &receiver), 0);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    al_close(al_steal_fd(&sender));
    al_close(al_steal_fd(&receiver));
    assert_int_equal(test_count_fds(), fds_before);
    return 0;
}

static int send_now(const void *data, size_t size, const int *fds, size_t count) {
    return al_msg_send(sender, data, size, fds, count, al_deadline_after_ms(0));
}

/* Past what al_msg_send allows, as a hostile peer would. */
static void send_raw(const void *data, size_t size, const int *fds, size_t count) {
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(253 * sizeof(int))];
    } control = {0};
    struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = size};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(header), fds, count * sizeof(int));
    assert_int_equal(sendmsg(sender, &message, 0), (ssize_t)size);
}

static void messages_keep_their_borders(void **state) {
    (void)state;
    char data[16];
    size_t size = 0;
    size_t count = 9;
    assert_int_equal(send_now("one", 3, NULL, 0), 0);
    assert_int_equal(send_now("two!", 4, NULL, 0), 0);
    assert_int_equal(
        al_msg_receive(receiver, data, sizeof(data), &size, NULL, 0, &count, AL_DEADLINE_NONE), 0);
    assert_int_equal(size, 3);
    assert_int_equal(count, 0);
    assert_memory_equal(data, "one", 3);
    assert_int_equal(
        al_msg_receive(receiver, data, sizeof(data), &size, NULL, 0, &count, AL_DEADLINE_NONE), 0);
    assert_int_equal(size, 4);
}

static void descriptors_arrive_close_on_exec(void **state) {
    (void)state;
    int fds[AL_MSG_FDS_MAX];
    for (size_t i = 0; i < AL_MSG_FDS_MAX; i++) {
        fds[i] = open(i % 2 == 0 ? "/dev/null" : "/dev/zero", O_RDONLY | O_CLOEXEC);
        assert_true(fds[i] >= 0);
    }
    assert_int_equal(send_now("x", 1, fds, AL_MSG_FDS_MAX), 0);
    for (size_t i = 0; i < AL_MSG_FDS_MAX; i++)
        al_close(fds[i]);
    int got[AL_MSG_FDS_MAX];
    char byte;
    size_t size = 0;
    size_t count = 0;
    assert_int_equal(
        al_msg_receive(receiver, &byte, 1, &size, got, AL_MSG_FDS_MAX, &count, AL_DEADLINE_NONE),
        0);
    assert_int_equal(count, AL_MSG_FDS_MAX);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(fcntl(got[i], F_GETFD), FD_CLOEXEC);
        al_close(got[i]);
    }
}

static void check_dropped(size_t size_limit, size_t capacity) {
    char data[64];
    int fds[4] = {-1, -1, -1, -1};
    size_t size = 77;
    size_t count = 77;
    size_t open_before = test_count_fds();
    assert_int_equal(
        al_msg_receive(receiver, data, size_limit, &size, fds, capacity, &count, AL_DEADLINE_NONE),
        EMSGSIZE);
    assert_int_equal(test_count_fds(), open_before);
    assert_true(size == 77 && count == 77 && fds[0] == -1);
    /* The next message is whole. */
    assert_int_equal(send_now("next", 4, NULL, 0), 0);
    assert_int_equal(
        al_msg_receive(receiver, data, sizeof(data), &size, NULL, 0, &count, AL_DEADLINE_NONE), 0);
    assert_int_equal(size, 4);
}

static void what_is_too_long_or_carries_too_much_is_dropped_whole(void **state) {
    (void)state;
    al_autofd int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int many[253];
    for (size_t i = 0; i < AL_COUNT(many); i++)
        many[i] = fd;
    assert_int_equal(send_now("long message", 12, many, 2), 0);
    check_dropped(4, 4);
    assert_int_equal(send_now("x", 1, many, 3), 0);
    check_dropped(64, 2);
    assert_int_equal(send_now("x", 1, many, 1), 0);
    check_dropped(64, 0);
    send_raw("x", 1, many, 253);
    check_dropped(64, 4);
    send_raw("", 0, many, 2);
    check_dropped(64, 4);
    /* Credentials were not asked for. */
    int on = 1;
    assert_int_equal(setsockopt(receiver, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
    assert_int_equal(send_now("x", 1, many, 1), 0);
    char byte;
    size_t size;
    size_t count;
    int got;
    assert_int_equal(al_msg_receive(receiver, &byte, 1, &size, &got, 1, &count, AL_DEADLINE_NONE),
                     EMSGSIZE);
}

static void an_end_is_told_from_a_message(void **state) {
    (void)state;
    char data[8];
    size_t size = 7;
    size_t count = 7;
    assert_int_equal(send_now("", 0, NULL, 0), EINVAL);
    al_close(al_steal_fd(&sender));
    assert_int_equal(
        al_msg_receive(receiver, data, sizeof(data), &size, NULL, 0, &count, AL_DEADLINE_NONE), 0);
    assert_int_equal(size, 0);
    assert_int_equal(count, 0);
}

static void nobody_at_the_other_end_is_an_error_and_no_signal(void **state) {
    (void)state;
    assert_int_equal(signal(SIGPIPE, SIG_DFL) == SIG_ERR, 0);
    al_close(al_steal_fd(&receiver));
    assert_int_equal(send_now("x", 1, NULL, 0), EPIPE);
}

static void waiting_ends_at_the_deadline(void **state) {
    (void)state;
    char data[8];
    size_t size;
    size_t count;
    assert_int_equal(al_msg_receive(receiver, data, sizeof(data), &size, NULL, 0, &count,
                                    al_deadline_after_ms(5)),
                     ETIMEDOUT);
    int rc = 0;
    int sent = 0;
    while ((rc = send_now("x", 1, NULL, 0)) == 0)
        assert_true(++sent < 100000);
    assert_int_equal(rc, ETIMEDOUT);
    for (; sent > 0; sent--)
        assert_int_equal(al_msg_receive(receiver, data, sizeof(data), &size, NULL, 0, &count,
                                        al_deadline_after_ms(0)),
                         0);
}

static void what_no_socket_takes_is_refused(void **state) {
    (void)state;
    int fds[AL_MSG_FDS_MAX + 1] = {0};
    assert_int_equal(send_now("x", 1, fds, AL_COUNT(fds)), EINVAL);
    enum {
        HUGE_SIZE = 64 << 20
    };
    al_autofree char *data = calloc(1, HUGE_SIZE);
    assert_int_equal(send_now(data, HUGE_SIZE, NULL, 0), EMSGSIZE);
    const int closed = 1000000;
    assert_int_equal(send_now("x", 1, &closed, 1), EBADF);
}

static void the_peer_is_named(void **state) {
    (void)state;
    al_peer peer;
    assert_int_equal(al_msg_peer(receiver, &peer), 0);
    assert_int_equal(peer.pid, getpid());
    assert_int_equal(peer.uid, geteuid());
    assert_int_equal(peer.gid, getegid());
    assert_int_equal(al_msg_peer(1000000, &peer), EBADF);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(messages_keep_their_borders),
        TEST(descriptors_arrive_close_on_exec),
        TEST(what_is_too_long_or_carries_too_much_is_dropped_whole),
        TEST(an_end_is_told_from_a_message),
        TEST(nobody_at_the_other_end_is_an_error_and_no_signal),
        TEST(waiting_ends_at_the_deadline),
        TEST(what_no_socket_takes_is_refused),
        TEST(the_peer_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
