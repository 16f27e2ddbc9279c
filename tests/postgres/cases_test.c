/* SPDX-License-Identifier: Apache-2.0 */
/* test: tsan timeout=300 */
/* The cases of every storage adapter, on a real server. */
#include <stdlib.h>

#include "tests/support/postgres_server.h"

static int set_up(void **state) {
    postgres_ledger *ledger = calloc(1, sizeof(*ledger));
    assert_non_null(ledger);
    postgres_ledger_make(ledger, postgres_shared_url());
    postgres_ledger_open(ledger, "2");
    *state = ledger;
    return 0;
}

static int tear_down(void **state) {
    postgres_ledger *ledger = *state;
    storage_test_close(&ledger->test);
    postgres_ledger_remove(ledger);
    free(ledger);
    return 0;
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down),
    const struct CMUnitTest tests[] = {STORAGE_CASES(CASE)};
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
