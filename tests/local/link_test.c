/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of the local provider: what is sent arrives, and nothing else gets through. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/msg.h"
#include "plugins/providers/local/link.h"
#include "plugins/providers/local/protocol.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

enum {
    HEADER_SIZE = 24
};

static const al_deadline at_once = {0};

struct pair {
    int a;
    int b;
    struct local_message in;
};

static void open_pair(struct pair *pair) {
    memset(pair, 0, sizeof(*pair));
    assert_int_equal(al_msg_pair(&pair->a, &pair->b), 0);
}

static void close_pair(struct pair *pair) {
    al_close(pair->a);
    al_close(pair->b);
    local_message_free(&pair->in);
}

static int receive(struct pair *pair, const struct local_link_limits *limits) {
    return local_link_receive(pair->b, limits, &pair->in, at_once);
}

static struct local_exec make_exec(const char *const *argv, const char *const *env) {
    return (struct local_exec){.exec_id = "exec-1",
                               .cwd = "/tmp",
                               .argv = local_list_of(argv),
                               .env = local_list_of(env),
                               .timeout_ms = 1234,
                               .flags = LOCAL_EXEC_STDIN};
}

static void a_message_arrives_as_it_was_sent(void **state) {
    (void)state;
    struct pair pair;
    open_pair(&pair);
    const char *argv[] = {"sh", "-c", "", "a b\nc", NULL};
    const char *env[] = {"A", "", "B", "x=y", NULL};
    struct local_exec sent = make_exec(argv, env);
    assert_int_equal(local_link_send(pair.a, LOCAL_EXEC, 77, &sent, &pair.a, 1, at_once), 0);
    assert_int_equal(receive(&pair, &local_link_trusted), 0);
    assert_int_equal(pair.in.type, LOCAL_EXEC);
    assert_int_equal(pair.in.tag, 77);
    assert_int_equal(pair.in.fd_count, 1);
    struct local_exec got;
    assert_int_equal(local_message_decode(&pair.in, LOCAL_EXEC, &got), 0);
    assert_string_equal(got.exec_id, "exec-1");
    assert_string_equal(got.cwd, "/tmp");
    assert_null(got.user);
    assert_int_equal(got.argv.count, 4);
    assert_string_equal(got.argv.items[3], "a b\nc");
    assert_null(got.argv.items[4]);
    assert_int_equal(got.env.count, 4);
    assert_int_equal(got.timeout_ms, 1234);
    assert_int_equal(got.flags, LOCAL_EXEC_STDIN);
    local_clear(&local_exec_schema, &got);
    close_pair(&pair);
}

static void a_large_message_goes_by_memory_and_leaves_no_descriptor(void **state) {
    (void)state;
    struct pair pair;
    size_t before = test_count_fds();
    open_pair(&pair);
    size_t size = 5 * 1024 * 1024;
    char *text = malloc(size + 1);
    assert_non_null(text);
    memset(text, 'x', size);
    text[size] = '\0';
    const char *argv[] = {text, "end", NULL};
    struct local_exec sent = make_exec(argv, NULL);
    assert_int_equal(local_link_send(pair.a, LOCAL_EXEC, 1, &sent, &pair.a, 1, at_once), 0);
    assert_int_equal(receive(&pair, &local_link_trusted), 0);
    assert_int_equal(pair.in.fd_count, 1);
    struct local_exec got;
    assert_int_equal(local_message_decode(&pair.in, LOCAL_EXEC, &got), 0);
    assert_string_equal(got.argv.items[0], text);
    assert_string_equal(got.argv.items[1], "end");
    local_clear(&local_exec_schema, &got);
    /* Forwarded it is the same again. */
    assert_int_equal(local_link_forward(pair.a, &pair.in, 9, at_once), 0);
    struct local_message again = {0};
    assert_int_equal(local_link_receive(pair.b, &local_link_trusted, &again, at_once), 0);
    assert_int_equal(again.tag, 9);
    assert_int_equal(again.payload_size, pair.in.payload_size);
    assert_memory_equal(again.payload, pair.in.payload, again.payload_size);
    local_message_free(&again);
    /* From inside a sandbox nothing large is let in. */
    assert_int_equal(local_link_send(pair.a, LOCAL_EXEC, 1, &sent, NULL, 0, at_once), 0);
    assert_int_equal(receive(&pair, &local_link_untrusted), EBADMSG);
    free(text);
    close_pair(&pair);
    assert_int_equal(test_count_fds(), before);
}

static void what_is_out_of_bounds_is_not_even_sent(void **state) {
    (void)state;
    struct pair pair;
    open_pair(&pair);
    struct local_signal signal = {1, 65};
    assert_int_equal(local_link_send(pair.a, LOCAL_SIGNAL, 0, &signal, NULL, 0, at_once), E2BIG);
    struct local_renew renew = {-2};
    assert_int_equal(local_link_send(pair.a, LOCAL_RENEW, 0, &renew, NULL, 0, at_once), E2BIG);
    struct local_answer answer = {0, NULL, NULL};
    assert_int_equal(local_link_send(pair.a, LOCAL_ANSWER, 0, &answer, NULL, 0, at_once), E2BIG);
    close_pair(&pair);
}

static void the_end_and_silence_are_told_apart(void **state) {
    (void)state;
    struct pair pair;
    open_pair(&pair);
    assert_int_equal(receive(&pair, &local_link_trusted), ETIMEDOUT);
    assert_int_equal(local_link_send(pair.a, LOCAL_COMMIT, 0, NULL, NULL, 0, at_once), 0);
    /* What was said before the end is heard, also when the other end left without listening. */
    assert_int_equal(local_link_send(pair.b, LOCAL_COMMIT, 0, NULL, NULL, 0, at_once), 0);
    al_close(pair.a);
    pair.a = -1;
    assert_int_equal(receive(&pair, &local_link_trusted), 0);
    assert_int_equal(pair.in.type, LOCAL_COMMIT);
    assert_int_equal(receive(&pair, &local_link_trusted), ENOTCONN);
    close_pair(&pair);
}

/* A packet of a RENEW, changed at one place. */
static int receive_changed(size_t at, unsigned char value, size_t size) {
    struct pair pair;
    struct local_renew renew = {1000};
    al_auto(al_buf_free) al_buf packet = AL_BUF_INIT;
    assert_int_equal(local_link_write(&packet, LOCAL_RENEW, 0, &renew), 0);
    packet.data[at] = (char)value;
    open_pair(&pair);
    assert_int_equal(
        al_msg_send(pair.a, packet.data, size == 0 ? packet.size : size, NULL, 0, at_once), 0);
    int rc = receive(&pair, &local_link_trusted);
    if (rc == 0) {
        struct local_renew got;
        rc = local_message_decode(&pair.in, LOCAL_RENEW, &got);
    }
    close_pair(&pair);
    return rc;
}

static void a_header_that_does_not_fit_is_refused(void **state) {
    (void)state;
    assert_int_equal(receive_changed(HEADER_SIZE, 1, 0), 0);
    assert_int_equal(receive_changed(0, 'X', 0), EBADMSG);                /* another protocol */
    assert_int_equal(receive_changed(4, 9, 0), EBADMSG);                  /* another version */
    assert_int_equal(receive_changed(6, 200, 0), EBADMSG);                /* no such type */
    assert_int_equal(receive_changed(6, LOCAL_COMMIT, 0), EBADMSG);       /* has no payload */
    assert_int_equal(receive_changed(6, LOCAL_SIGNAL, 0), EBADMSG);       /* needs more */
    assert_int_equal(receive_changed(16, 7, 0), EBADMSG);                 /* payload size */
    assert_int_equal(receive_changed(20, 2, 0), EBADMSG);                 /* unknown flag */
    assert_int_equal(receive_changed(20, 1, 0), EBADMSG);                 /* no memory with it */
    assert_int_equal(receive_changed(HEADER_SIZE + 7, 0x80, 0), EBADMSG); /* below its bound */
    assert_int_equal(receive_changed(HEADER_SIZE + 7, 0x7f, 0), EBADMSG); /* above it */
    assert_int_equal(receive_changed(0, 'A', 10), EBADMSG);
    assert_int_equal(receive_changed(0, 'A', HEADER_SIZE), EBADMSG);
}

static void memory_that_lies_about_its_size_is_refused(void **state) {
    (void)state;
    struct pair pair;
    size_t before = test_count_fds();
    open_pair(&pair);
    al_auto(al_buf_free) al_buf packet = AL_BUF_INIT;
    assert_int_equal(local_link_write(&packet, LOCAL_METADATA, 0, &(struct local_metadata){0}), 0);
    uint32_t size = 100000;
    uint32_t flags = 1;
    memcpy(packet.data + 16, &size, sizeof(size));
    memcpy(packet.data + 20, &flags, sizeof(flags));
    al_autofd int memory = memfd_create("short", MFD_CLOEXEC);
    assert_int_equal(ftruncate(memory, 99999), 0);
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    const int fds[] = {memory, ends[0]};
    for (size_t i = 0; i < AL_COUNT(fds); i++) {
        assert_int_equal(al_msg_send(pair.a, packet.data, HEADER_SIZE, &fds[i], 1, at_once), 0);
        assert_int_equal(receive(&pair, &local_link_trusted), EBADMSG);
    }
    al_close(ends[0]);
    al_close(ends[1]);
    close_pair(&pair);
    assert_int_equal(test_count_fds() - 1, before); /* the memory itself */
}

static void more_descriptors_than_allowed_are_refused_and_closed(void **state) {
    (void)state;
    struct pair pair;
    open_pair(&pair);
    size_t before = test_count_fds();
    int fds[16];
    for (size_t i = 0; i < AL_COUNT(fds); i++)
        fds[i] = pair.a;
    assert_int_equal(local_link_send(pair.a, LOCAL_COMMIT, 0, NULL, fds, 2, at_once), 0);
    assert_int_equal(receive(&pair, &local_link_untrusted), EBADMSG);
    assert_int_equal(local_link_send(pair.a, LOCAL_COMMIT, 0, NULL, fds, 16, at_once), 0);
    assert_int_equal(receive(&pair, &local_link_trusted), EBADMSG);
    assert_int_equal(test_count_fds(), before);
    close_pair(&pair);
}

static int decode_list(const void *bytes, size_t size) {
    struct local_metadata got;
    int rc = local_decode(&local_metadata_schema, bytes, size, &got);
    if (rc == 0)
        local_clear(&local_metadata_schema, &got);
    return rc;
}

static void lists_and_strings_are_bounded_by_what_was_sent(void **state) {
    (void)state;
    static const unsigned char good[] = {1, 0, 0, 0, 1, 0, 0, 0, 'x', 0};
    assert_int_equal(decode_list(good, sizeof(good)), 0);
    for (size_t size = 0; size < sizeof(good); size++)
        assert_int_equal(decode_list(good, size), EBADMSG);
    static const unsigned char huge_count[] = {0xff, 0xff, 0, 0, 1, 0, 0, 0, 'x', 0};
    static const unsigned char huge_size[] = {1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 'x', 0};
    static const unsigned char null_in_list[] = {1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 'x', 0};
    static const unsigned char no_end[] = {1, 0, 0, 0, 1, 0, 0, 0, 'x', 'y'};
    static const unsigned char early_end[] = {1, 0, 0, 0, 2, 0, 0, 0, 0, 'x', 0};
    static const unsigned char left_over[] = {0, 0, 0, 0, 0};
    assert_int_equal(decode_list(huge_count, sizeof(huge_count)), EBADMSG);
    assert_int_equal(decode_list(huge_size, sizeof(huge_size)), EBADMSG);
    assert_int_equal(decode_list(null_in_list, sizeof(null_in_list)), EBADMSG);
    assert_int_equal(decode_list(no_end, sizeof(no_end)), EBADMSG);
    assert_int_equal(decode_list(early_end, sizeof(early_end)), EBADMSG);
    assert_int_equal(decode_list(left_over, sizeof(left_over)), EBADMSG);
}

static void an_id_is_one_name_in_a_folder(void **state) {
    (void)state;
    char longest[LOCAL_ID_MAX + 2];
    memset(longest, 'a', sizeof(longest));
    longest[LOCAL_ID_MAX] = '\0';
    assert_true(local_id_is_valid("a"));
    assert_true(local_id_is_valid("A-z_0.9"));
    assert_true(local_id_is_valid(longest));
    longest[LOCAL_ID_MAX] = 'a';
    longest[LOCAL_ID_MAX + 1] = '\0';
    static const char *const bad[] = {"", ".", "..", "a/b", "a b", "\n", "\303\244"};
    assert_false(local_id_is_valid(longest));
    for (size_t i = 0; i < AL_COUNT(bad); i++)
        assert_false(local_id_is_valid(bad[i]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_arrives_as_it_was_sent),
        cmocka_unit_test(a_large_message_goes_by_memory_and_leaves_no_descriptor),
        cmocka_unit_test(what_is_out_of_bounds_is_not_even_sent),
        cmocka_unit_test(the_end_and_silence_are_told_apart),
        cmocka_unit_test(a_header_that_does_not_fit_is_refused),
        cmocka_unit_test(memory_that_lies_about_its_size_is_refused),
        cmocka_unit_test(more_descriptors_than_allowed_are_refused_and_closed),
        cmocka_unit_test(lists_and_strings_are_bounded_by_what_was_sent),
        cmocka_unit_test(an_id_is_one_name_in_a_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
