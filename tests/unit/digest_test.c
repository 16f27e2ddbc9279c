/* SPDX-License-Identifier: Apache-2.0 */
#include "core/util/digest.h"

#include <string.h>

#include "core/util/io.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/test.h"

static const char of_nothing[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
static const char of_abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

static void the_published_digests_come_out(void **state) {
    (void)state;
    char hex[AL_SHA256_HEX_SIZE];
    assert_int_equal(al_sha256_hex_of("", 0, hex), 0);
    assert_string_equal(hex, of_nothing);
    assert_int_equal(al_sha256_hex_of("abc", 3, hex), 0);
    assert_string_equal(hex, of_abc);
    uint8_t bytes[AL_SHA256_SIZE];
    assert_int_equal(al_sha256_of("abc", 3, bytes), 0);
    assert_int_equal(bytes[0], 0xba);
    assert_int_equal(bytes[31], 0xad);
}

static void pieces_give_the_digest_of_the_whole_and_finish_starts_afresh(void **state) {
    (void)state;
    al_auto(al_sha256_free) al_sha256 *digest = NULL;
    char hex[AL_SHA256_HEX_SIZE];
    assert_int_equal(al_sha256_new(&digest), 0);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(al_sha256_update(digest, "a", 1), 0);
        assert_int_equal(al_sha256_update(digest, "", 0), 0);
        assert_int_equal(al_sha256_update(digest, "bc", 2), 0);
        assert_int_equal(al_sha256_finish_hex(digest, hex), 0);
        assert_string_equal(hex, of_abc);
    }
    assert_int_equal(al_sha256_finish_hex(digest, hex), 0);
    assert_string_equal(hex, of_nothing);
    al_sha256_free(NULL);
}

static void a_descriptor_is_read_to_its_end(void **state) {
    (void)state;
    char hex[AL_SHA256_HEX_SIZE];
    al_autofd int read_fd = -1;
    al_autofd int write_fd = -1;
    assert_int_equal(al_pipe(&read_fd, &write_fd), 0);
    assert_int_equal(al_write_full(write_fd, "abc", 3), 0);
    al_close(al_steal_fd(&write_fd));
    assert_int_equal(al_sha256_hex_of_fd(read_fd, hex), 0);
    assert_string_equal(hex, of_abc);
    assert_int_equal(al_sha256_hex_of_fd(-1, hex), EBADF);
    assert_string_equal(hex, of_abc);
}

static void a_lack_of_memory_is_an_error(void **state) {
    (void)state;
    al_sha256 *digest = NULL;
    fail_alloc_at(1);
    assert_int_equal(al_sha256_new(&digest), ENOMEM);
    fail_alloc_at(0);
    assert_null(digest);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_digests_come_out),
        cmocka_unit_test(pieces_give_the_digest_of_the_whole_and_finish_starts_afresh),
        cmocka_unit_test(a_descriptor_is_read_to_its_end),
        cmocka_unit_test(a_lack_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
