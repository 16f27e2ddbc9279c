/* SPDX-License-Identifier: Apache-2.0 */
#include "core/util/list.h"

#include "tests/support/test.h"

struct thing {
    int number;
    al_list link;
};

static void things_are_walked_in_the_order_they_were_appended(void **state) {
    (void)state;
    al_list list;
    al_list_init(&list);
    assert_true(al_list_empty(&list));
    assert_null(al_list_take_first(&list));
    struct thing things[4];
    for (int i = 0; i < 4; i++) {
        things[i].number = i;
        al_list_append(&list, &things[i].link);
    }
    al_list_remove(&things[1].link);
    al_list_remove(&things[1].link);
    int seen = 0;
    AL_LIST_FOREACH(link, &list) {
        seen = seen * 10 + AL_CONTAINER(link, struct thing, link)->number;
    }
    assert_int_equal(seen, 23);
    assert_ptr_equal(al_list_take_first(&list), &things[0].link);
    al_list_append(&list, &things[0].link);
    al_list_remove(&things[2].link);
    al_list_remove(&things[3].link);
    assert_ptr_equal(al_list_take_first(&list), &things[0].link);
    assert_true(al_list_empty(&list));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(things_are_walked_in_the_order_they_were_appended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
