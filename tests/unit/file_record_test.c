/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include "core/file_record.h"
#include "core/util/strv.h"
#include "tests/support/fail_alloc.h"

#include <errno.h>
#include <string.h>

#define HEAD(mode, size)                                                                           \
    mode " " size " 1700000000 1600000000 7 8/me/UNKNOWN/2023-11-14 22:13:20.987654321 +0000/"

static int parse(const char *text, const char *name, al_file_record *record) {
    size_t used = 0;
    int rc = al_file_record_parse(text, strlen(text), name, record, &used);
    if (rc == 0)
        assert_int_equal(used, strlen(text));
    return rc;
}

static void a_record_tells_all(void **state) {
    (void)state;
    al_file_record record;
    assert_int_equal(parse(HEAD("89a4", "12") "/a b\n", "/a b", &record), 0);
    assert_string_equal(record.info.path, "/a b");
    assert_int_equal(record.info.type, ALINEO_FILE_REGULAR);
    assert_int_equal(record.info.mode, 04644);
    assert_int_equal(record.info.bytes, 12);
    assert_int_equal(record.info.modified_at_ms, 1700000000987);
    assert_int_equal(record.info.created_at_ms, 1600000000000);
    assert_string_equal(record.info.owner, "me");
    assert_string_equal(record.info.group, "8"); /* it has no name */
    assert_null(record.info.link_target);
    al_file_record_clear(&record);
}

static void what_busybox_leaves_out_is_not_known(void **state) {
    (void)state;
    al_file_record record;
    assert_int_equal(
        parse("41ed 0 -5 W 0 0/root/root/1969-12-31 23:59:55 +0000/'/d'\n", "/d", &record), 0);
    assert_int_equal(record.info.type, ALINEO_FILE_DIRECTORY);
    assert_int_equal(record.info.created_at_ms, 0);
    assert_int_equal(record.info.modified_at_ms, -5000);
    al_file_record_clear(&record);
}

static void links_are_told_with_their_text_in_both_dialects(void **state) {
    (void)state;
    static const struct {
        const char *text, *name, *target;
    } links[] = {
        {HEAD("a1ff", "3") "/l -> a\nb\n", "/l", "a\nb"},
        {HEAD("a1ff", "3") "'/l' -> 'a'b'\n", "/l", "a'b"},
        {HEAD("a1ff", "0") "/l -> pipe:[1]\n", "/l", "pipe:[1]"},
        {HEAD("a1ff", "0") "'/l' -> 'pipe:[1]'\n", "/l", "pipe:[1]"},
        {HEAD("a1ff", "1") "/l -> x -> y\n", "/l -> x", "y"},
    };
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        al_file_record record;
        assert_int_equal(parse(links[i].text, links[i].name, &record), 0);
        assert_int_equal(record.info.type, ALINEO_FILE_SYMLINK);
        assert_string_equal(record.info.link_target, links[i].target);
        al_file_record_clear(&record);
    }
}

static void a_record_that_is_not_whole_wants_more(void **state) {
    (void)state;
    const char *text = HEAD("a1ff", "3") "'/l' -> 'abc'\n";
    for (size_t size = 0; size < strlen(text); size++) {
        al_file_record record;
        size_t used = 0;
        assert_int_equal(al_file_record_parse(text, size, "/l", &record, &used), EAGAIN);
    }
}

static void what_is_no_record_is_told_from_that_of_another_file(void **state) {
    (void)state;
    al_file_record record;
    assert_int_equal(parse(HEAD("81a4", "1") "/other\n", "/a", &record), ESRCH);
    static const char *const bad[] = {
        "zz 1 1 1 1 1/a/a/a/x\n",
        "81a4 x 1 1 1 1/a/a/a/x\n",
        "81a4 -1 1 1 1 1/a/a/a/x\n",
        "81a4 99999999999999999999 1 1 1 1/a/a/a/x\n",
        "81a4 1 999999999999999999999 1 1 1/a/a/a/x\n",
        "81a4 1 1\n",
        "\n",
        "111111111111111111111111111111111111111111111111111111111111111111111",
        HEAD("a1ff", "99999999999") "/x -> y\n",
        HEAD("a1ff", "1") "/x -> yz\n",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int rc = parse(bad[i], "/x", &record);
        assert_true(rc == EBADMSG || rc == ESRCH);
    }
}

/* --- lists ------------------------------------------------------------------------------------ */

typedef struct heard {
    al_strv paths;
    size_t stop_at;
} heard;

static int32_t hear(void *user, const alineo_file_info *info) {
    heard *self = user;
    assert_int_equal(al_strv_append(&self->paths, info->path), 0);
    return self->paths.count == self->stop_at;
}

#define LIST                                                                                       \
    "3\n/a\0/b\nb\0/c\0" HEAD("81a4", "1") "/a\n" HEAD(                                            \
        "81a4", "1") "/c\n.\n"                                                                     \
                     "1\n/d\0" HEAD("41ed", "1") "/d\n.\n0\n.\n"

static void a_list_comes_in_pieces_of_any_size(void **state) {
    (void)state;
    static const char text[] = LIST;
    for (size_t piece = 1; piece < sizeof(text); piece++) {
        heard got = {.stop_at = 0};
        al_file_listing listing = {.found = hear, .user = &got};
        for (size_t at = 0; at < sizeof(text) - 1; at += piece) {
            size_t left = sizeof(text) - 1 - at;
            assert_int_equal(al_file_listing_feed(&listing, text + at, left < piece ? left : piece),
                             0);
        }
        assert_true(al_file_listing_is_whole(&listing));
        assert_int_equal(got.paths.count, 3); /* that of "/b\nb" vanished */
        assert_string_equal(got.paths.items[1], "/c");
        assert_string_equal(got.paths.items[2], "/d");
        al_strv_free(&got.paths);
        al_file_listing_clear(&listing);
    }
}

static void a_list_ends_when_no_more_is_wanted(void **state) {
    (void)state;
    static const char text[] = LIST;
    heard got = {.stop_at = 2};
    al_file_listing listing = {.found = hear, .user = &got};
    assert_int_equal(al_file_listing_feed(&listing, text, sizeof(text) - 1), 0);
    assert_true(listing.stopped);
    assert_int_equal(got.paths.count, 2);
    al_strv_free(&got.paths);
    al_file_listing_clear(&listing);
}

static void odd_lists_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t size;
    } bad[] = {
#define BAD(text) {text, sizeof(text) - 1}
        BAD("x\n"),
        BAD("-1\n"),
        BAD("1\n/a\0" HEAD("81a4", "1") "/b\n"),
        BAD("1\n/a\0" HEAD("81a4", "1") "/a\n" HEAD("81a4", "1") "/a\n"),
        BAD("0\nx"),
#undef BAD
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        heard got = {.stop_at = 0};
        al_file_listing listing = {.found = hear, .user = &got};
        assert_int_equal(al_file_listing_feed(&listing, bad[i].text, bad[i].size), EBADMSG);
        al_strv_free(&got.paths);
        al_file_listing_clear(&listing);
    }
}

static void a_flood_of_names_is_refused(void **state) {
    (void)state;
    static const char flood[8192] = {'a'};
    heard got = {.stop_at = 0};
    al_file_listing listing = {.found = hear, .user = &got};
    int rc = al_file_listing_feed(&listing, "99999999999\n", 12);
    /* Each of them has a NUL behind at once, but for the first byte. */
    for (size_t i = 0; rc == 0 && i < 2048; i++)
        rc = al_file_listing_feed(&listing, flood, sizeof(flood));
    assert_int_equal(rc, EBADMSG);
    al_file_listing_clear(&listing);
}

static void list_without_memory(void *user) {
    (void)user;
    static const char text[] = LIST;
    al_file_listing listing = {.found = hear, .user = &(heard){.stop_at = 1}};
    int rc = al_file_listing_feed(&listing, text, 3);
    assert_true(rc == 0 || rc == ENOMEM);
    al_file_listing_clear(&listing);
}

static void without_memory_it_is_said_so(void **state) {
    (void)state;
    assert_true(fail_alloc_each(list_without_memory, NULL) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_tells_all),
        cmocka_unit_test(what_busybox_leaves_out_is_not_known),
        cmocka_unit_test(links_are_told_with_their_text_in_both_dialects),
        cmocka_unit_test(a_record_that_is_not_whole_wants_more),
        cmocka_unit_test(what_is_no_record_is_told_from_that_of_another_file),
        cmocka_unit_test(a_list_comes_in_pieces_of_any_size),
        cmocka_unit_test(a_list_ends_when_no_more_is_wanted),
        cmocka_unit_test(odd_lists_are_refused),
        cmocka_unit_test(a_flood_of_names_is_refused),
        cmocka_unit_test(without_memory_it_is_said_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
