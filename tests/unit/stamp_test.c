/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include "core/stamp.h"

#include "core/pairs.h"
#include "core/util/num.h"
#include "core/util/str.h"
#include "tests/support/fail_alloc.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char ledger[] = "0123456789abcdef0123456789abcdef";
static const char create[] = "fedcba9876543210fedcba9876543210";

/* A stamp of this process. */
static void write_stamp(al_strv *out, const char *run_id, int bound) {
    al_stamp stamp = {.ledger_id = ledger, .run_id = run_id, .create_id = create, .bound = bound};
    assert_int_equal(al_stamp_write(&stamp, out, NULL), ALINEO_OK);
}

static const char *const *pairs_of(const al_strv *list) {
    return (const char *const *)list->items;
}

static void replace(al_strv *list, const char *key, const char *value) {
    for (size_t i = 0; i < list->count; i += 2)
        if (strcmp(list->items[i], key) == 0)
            assert_int_equal(al_str_replace(&list->items[i + 1], value), 0);
}

static al_owner owner_of(const al_strv *list) {
    const char *reason = NULL;
    al_owner owner = al_stamp_owner(pairs_of(list), &reason);
    assert_non_null(reason);
    return owner;
}

static void every_value_fits_a_label(void **state) {
    (void)state;
    al_auto(al_strv_free) al_strv list = AL_STRV_INIT;
    write_stamp(&list,
                "a run: with blanks, \xc3\xa4 and / much more than 63 bytes of text in it, really",
                1);
    assert_int_equal(list.count % 2, 0);
    for (size_t i = 0; i < list.count; i++) {
        size_t size = strspn(list.items[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789._-");
        assert_in_range(size, 1, 63);
        assert_int_equal(size, strlen(list.items[i]));
    }
    assert_string_equal(al_pairs_get(pairs_of(&list), "alineo-ledger"), ledger);
    assert_string_equal(al_pairs_get(pairs_of(&list), "alineo-create"), create);
    assert_string_equal(al_pairs_get(pairs_of(&list), "alineo-lifetime"), "bound");
}

static void a_run_id_that_is_a_label_stands_as_it_is(void **state) {
    (void)state;
    char value[AL_STAMP_VALUE_SIZE];
    assert_int_equal(al_stamp_run_value("ci-42_a.B", value, NULL), ALINEO_OK);
    assert_string_equal(value, "ci-42_a.B");
    char other[AL_STAMP_VALUE_SIZE];
    assert_int_equal(al_stamp_run_value("ci 42", value, NULL), ALINEO_OK);
    assert_int_equal(al_stamp_run_value("ci  42", other, NULL), ALINEO_OK);
    assert_true(al_str_starts(value, "sha256-"));
    assert_string_not_equal(value, other);
}

static void without_a_run_id_there_is_no_run_in_it(void **state) {
    (void)state;
    al_auto(al_strv_free) al_strv list = AL_STRV_INIT;
    write_stamp(&list, NULL, 0);
    assert_null(al_pairs_get(pairs_of(&list), "alineo-run"));
    assert_string_equal(al_pairs_get(pairs_of(&list), "alineo-lifetime"), "detached");
}

static void this_process_is_alive(void **state) {
    (void)state;
    al_auto(al_strv_free) al_strv list = AL_STRV_INIT;
    write_stamp(&list, NULL, 0);
    assert_int_equal(owner_of(&list), AL_OWNER_ALIVE);
}

static void a_process_that_ended_is_gone(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        /* The child stamps, and sends pid and start time. */
        al_strv list = AL_STRV_INIT;
        al_stamp stamp = {.ledger_id = ledger, .create_id = create};
        if (al_stamp_write(&stamp, &list, NULL) != ALINEO_OK)
            _exit(1);
        const char *start = al_pairs_get(pairs_of(&list), "alineo-start");
        _exit(write(ends[1], start, strlen(start) + 1) > 0 ? 0 : 1);
    }
    char start[32] = "";
    assert_true(read(ends[0], start, sizeof(start) - 1) > 0);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    (void)close(ends[0]);
    (void)close(ends[1]);

    al_auto(al_strv_free) al_strv list = AL_STRV_INIT;
    write_stamp(&list, NULL, 0);
    char pid[32];
    (void)snprintf(pid, sizeof(pid), "%ld", (long)child);
    replace(&list, "alineo-pid", pid);
    replace(&list, "alineo-start", start);
    assert_int_equal(owner_of(&list), AL_OWNER_GONE);
}

static void another_process_with_the_same_number_does_not_count(void **state) {
    (void)state;
    al_auto(al_strv_free) al_strv list = AL_STRV_INIT;
    write_stamp(&list, NULL, 0);
    replace(&list, "alineo-start", "1");
    assert_int_equal(owner_of(&list), AL_OWNER_GONE);
}

static void an_earlier_boot_of_this_machine_is_gone_and_of_another_is_not_known(void **state) {
    (void)state;
    al_auto(al_strv_free) al_strv list = AL_STRV_INIT;
    write_stamp(&list, NULL, 0);
    int known = strlen(al_pairs_get(pairs_of(&list), "alineo-host")) == 32;
    replace(&list, "alineo-boot", "00000000-0000-0000-0000-000000000000");
    assert_int_equal(owner_of(&list), known ? AL_OWNER_GONE : AL_OWNER_UNKNOWN);
    replace(&list, "alineo-host", "00000000000000000000000000000000");
    assert_int_equal(owner_of(&list), AL_OWNER_UNKNOWN);
    replace(&list, "alineo-host", "unknown");
    assert_int_equal(owner_of(&list), AL_OWNER_UNKNOWN);
}

static void another_pid_namespace_proves_nothing(void **state) {
    (void)state;
    al_auto(al_strv_free) al_strv list = AL_STRV_INIT;
    write_stamp(&list, NULL, 0);
    replace(&list, "alineo-pidns", "1");
    replace(&list, "alineo-start", "1");
    assert_int_equal(owner_of(&list), AL_OWNER_UNKNOWN);
}

static void a_damaged_or_cut_stamp_proves_nothing(void **state) {
    (void)state;
    const char *const odd[] = {"", "0", "-1", "x", "99999999999999999999", "1 "};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        al_auto(al_strv_free) al_strv list = AL_STRV_INIT;
        write_stamp(&list, NULL, 0);
        replace(&list, "alineo-pid", odd[i]);
        assert_int_equal(owner_of(&list), AL_OWNER_UNKNOWN);
    }
    const char *const keys[] = {"alineo-host", "alineo-boot", "alineo-pidns", "alineo-pid",
                                "alineo-start"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        al_auto(al_strv_free) al_strv list = AL_STRV_INIT;
        write_stamp(&list, NULL, 0);
        for (size_t k = 0; k < list.count; k += 2)
            if (strcmp(list.items[k], keys[i]) == 0)
                assert_int_equal(al_str_replace(&list.items[k], "other"), 0);
        assert_int_equal(owner_of(&list), AL_OWNER_UNKNOWN);
    }
    const char *reason = NULL;
    assert_int_equal(al_stamp_owner(NULL, &reason), AL_OWNER_UNKNOWN);
}

static void stamp_without_memory(void *state) {
    (void)state;
    al_auto(al_strv_free) al_strv list = AL_STRV_INIT;
    al_stamp stamp = {.ledger_id = ledger, .run_id = "r", .create_id = create};
    alineo_error *error = NULL;
    alineo_code code = al_stamp_write(&stamp, &list, &error);
    assert_true(code == ALINEO_OK || fail_alloc_happened());
    assert_int_equal(code, alineo_error_code(error));
    alineo_error_free(error);
}

static void without_memory_there_is_an_error_and_no_leak(void **state) {
    (void)state;
    assert_true(fail_alloc_each(stamp_without_memory, NULL) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_fits_a_label),
        cmocka_unit_test(a_run_id_that_is_a_label_stands_as_it_is),
        cmocka_unit_test(without_a_run_id_there_is_no_run_in_it),
        cmocka_unit_test(this_process_is_alive),
        cmocka_unit_test(a_process_that_ended_is_gone),
        cmocka_unit_test(another_process_with_the_same_number_does_not_count),
        cmocka_unit_test(an_earlier_boot_of_this_machine_is_gone_and_of_another_is_not_known),
        cmocka_unit_test(another_pid_namespace_proves_nothing),
        cmocka_unit_test(a_damaged_or_cut_stamp_proves_nothing),
        cmocka_unit_test(without_memory_there_is_an_error_and_no_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
