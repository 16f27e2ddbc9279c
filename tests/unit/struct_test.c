/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include "core/struct.h"

#include <string.h>

/* Ours, an older one and a newer one of the same struct. */
typedef struct ours {
    size_t size;
    int64_t first;
    int64_t second;
} ours;
typedef struct older {
    size_t size;
    int64_t first;
} older;
typedef struct newer {
    size_t size;
    int64_t first;
    int64_t second;
    int64_t third;
} newer;

static alineo_code read_ours(ours *out, const void *given, alineo_error **err) {
    memset(out, 0xff, sizeof(*out));
    return al_struct_read(out, sizeof(*out), given, "ours", err);
}

static void no_struct_means_the_defaults(void **state) {
    (void)state;
    ours own;
    assert_int_equal(read_ours(&own, NULL, NULL), ALINEO_OK);
    assert_int_equal(own.size, sizeof(own));
    assert_int_equal(own.first, 0);
    assert_int_equal(own.second, 0);
}

static void what_an_older_caller_does_not_know_has_its_default(void **state) {
    (void)state;
    older given = {sizeof(given), 7};
    ours own;
    assert_int_equal(read_ours(&own, &given, NULL), ALINEO_OK);
    assert_int_equal(own.size, sizeof(own));
    assert_int_equal(own.first, 7);
    assert_int_equal(own.second, 0);
}

static void a_newer_caller_may_leave_its_new_fields_alone_only(void **state) {
    (void)state;
    newer given = {sizeof(given), 7, 8, 0};
    ours own;
    assert_int_equal(read_ours(&own, &given, NULL), ALINEO_OK);
    assert_int_equal(own.second, 8);
    given.third = 1;
    alineo_error *error = NULL;
    assert_int_equal(read_ours(&own, &given, &error), ALINEO_INVALID_ARGUMENT);
    assert_non_null(strstr(alineo_error_message(error), "ours"));
    alineo_error_free(error);
}

static void a_struct_that_was_never_initialised_is_refused(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, sizeof(size_t) - 1, 1u << 20, SIZE_MAX};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        ours given = {sizes[i], 1, 2};
        ours own;
        assert_int_equal(read_ours(&own, &given, NULL), ALINEO_INVALID_ARGUMENT);
    }
}

static void a_member_is_there_when_the_size_covers_all_of_it(void **state) {
    (void)state;
    ours own = {sizeof(own), 0, 0};
    assert_true(AL_STRUCT_HAS(&own, second));
    own.size--;
    assert_false(AL_STRUCT_HAS(&own, second));
    assert_true(AL_STRUCT_HAS(&own, first));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_struct_means_the_defaults),
        cmocka_unit_test(what_an_older_caller_does_not_know_has_its_default),
        cmocka_unit_test(a_newer_caller_may_leave_its_new_fields_alone_only),
        cmocka_unit_test(a_struct_that_was_never_initialised_is_refused),
        cmocka_unit_test(a_member_is_there_when_the_size_covers_all_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
