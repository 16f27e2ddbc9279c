/* SPDX-License-Identifier: Apache-2.0 */
#include "core/util/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/str.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/test.h"

struct row {
    const char *a;
    const char *b;
    const char *result;
};

static void joined_paths_have_one_slash_between(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"a", "b", "a/b"},       {"a/", "b", "a/b"}, {"a//", "/b", "a/b"},    {"/", "b", "/b"},
        {"/", "/b", "/b"},       {"", "b", "b"},     {"a", "", "a"},          {"", "", ""},
        {"/a", "b/c", "/a/b/c"}, {"", "/b", "/b"},   {"/a", "/etc", "/a/etc"}};
    for (size_t i = 0; i < AL_COUNT(rows); i++) {
        al_autofree char *path = al_path_join(rows[i].a, rows[i].b);
        assert_string_equal(path, rows[i].result);
    }
    al_autofree char *absolute = al_path_resolve("/a", "/etc");
    al_autofree char *relative = al_path_resolve("/a", "etc");
    assert_string_equal(absolute, "/etc");
    assert_string_equal(relative, "/a/etc");
}

static void normal_paths_have_nothing_to_leave_out(void **state) {
    (void)state;
    static const char *const rows[][2] = {{"", "."},
                                          {".", "."},
                                          {"/", "/"},
                                          {"//", "/"},
                                          {"/..", "/"},
                                          {"/../../a", "/a"},
                                          {"a/..", "."},
                                          {"a/../..", ".."},
                                          {"../a", "../a"},
                                          {"../../a/..", "../.."},
                                          {"a/./b//c/", "a/b/c"},
                                          {"/a/b/../../c", "/c"},
                                          {"/tmp//a", "/tmp/a"},
                                          {"..", ".."},
                                          {"a/b/../../..", ".."},
                                          {"./../x", "../x"},
                                          {"/data/../etc/hostname", "/etc/hostname"},
                                          {"...", "..."},
                                          {"a/..b", "a/..b"},
                                          {"../..", "../.."},
                                          {"/.", "/"},
                                          {"a/../b", "b"}};
    for (size_t i = 0; i < AL_COUNT(rows); i++) {
        al_autofree char *path = al_path_normalise(rows[i][0]);
        assert_string_equal(path, rows[i][1]);
        al_autofree char *again = al_path_normalise(path);
        assert_string_equal(again, path);
    }
}

static void a_common_beginning_is_not_below(void **state) {
    (void)state;
    static const char *const below[][2] = {
        {"/data", "/data"}, {"/data", "/data/x"}, {"/data/", "/data//x/"},
        {"/", "/x"},        {"/", "/"},           {"/data", "/x/../data/y"},
        {"a", "a/b"},       {".", "a"},           {".", "."},
        {"..", "../a"},     {"../..", "../../x"}, {"", "a/b"}};
    for (size_t i = 0; i < AL_COUNT(below); i++) {
        if (!al_path_is_below(below[i][0], below[i][1]))
            fail_msg("%s should be below %s", below[i][1], below[i][0]);
    }
    static const char *const not_below[][2] = {{"/data", "/database"},
                                               {"/data", "/data/.."},
                                               {"/data", "/data/../etc"},
                                               {"/data", "data"},
                                               {"/data/x", "/data"},
                                               {"data", "/data"},
                                               {"/", "a"},
                                               {"a", "."},
                                               {".", ".."},
                                               {".", "../a"},
                                               {"..", "../.."},
                                               {"..", "../../a"},
                                               {"..", "a"},
                                               {"a", "a/../b"},
                                               {".", "a/../.."},
                                               {"a", "ab"}};
    for (size_t i = 0; i < AL_COUNT(not_below); i++) {
        if (al_path_is_below(not_below[i][0], not_below[i][1]))
            fail_msg("%s should not be below %s", not_below[i][1], not_below[i][0]);
    }
    fail_alloc_from(1);
    bool without_memory = al_path_is_below("/data", "/data/x");
    fail_alloc_at(0);
    assert_false(without_memory);
}

static void names_and_parents_come_apart(void **state) {
    (void)state;
    static const struct row rows[] = {{"/a/b", "b", "/a"}, {"/a", "a", "/"},    {"a", "a", "."},
                                      {"a/b", "b", "a"},   {"/", "", "/"},      {"", "", "."},
                                      {"a//b", "b", "a"},  {"/a/b/", "", "/a"}, {"//a", "a", "/"}};
    for (size_t i = 0; i < AL_COUNT(rows); i++) {
        assert_string_equal(al_path_name(rows[i].a), rows[i].b);
        al_autofree char *parent = al_path_parent(rows[i].a);
        assert_string_equal(parent, rows[i].result);
    }
}

static void the_running_program_and_its_objects_are_found(void **state) {
    (void)state;
    al_autofree char *program = NULL;
    assert_int_equal(al_path_of_program(&program), 0);
    assert_true(al_str_ends(program, "path_test"));
    assert_int_equal(access(program, X_OK), 0);
    al_autofree char *libc = NULL;
    assert_int_equal(al_path_of_object((const void *)(uintptr_t)getenv, &libc), 0);
    assert_non_null(strstr(libc, "libc"));
    char *none = NULL;
    assert_int_equal(al_path_of_object(NULL, &none), ENOENT);
    assert_null(none);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joined_paths_have_one_slash_between),
        cmocka_unit_test(normal_paths_have_nothing_to_leave_out),
        cmocka_unit_test(a_common_beginning_is_not_below),
        cmocka_unit_test(names_and_parents_come_apart),
        cmocka_unit_test(the_running_program_and_its_objects_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
