/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

#include <alineo/alineo.h>

#include <string.h>

/* Both start from zero, since neither has to write what lies between the fields. */
#define SAME(type, initialiser)                                                                    \
    do {                                                                                           \
        type by_macro;                                                                             \
        type by_function;                                                                          \
        memset(&by_macro, 0, sizeof(by_macro));                                                    \
        memset(&by_function, 0, sizeof(by_function));                                              \
        by_macro = (type)initialiser;                                                              \
        type##_init(&by_function);                                                                 \
        assert_int_equal(by_function.size, sizeof(type));                                          \
        assert_memory_equal(&by_macro, &by_function, sizeof(type));                                \
    } while (0)

static void function_and_macro_make_the_same_of_each_struct(void **state) {
    (void)state;
    SAME(alineo_bytes, ALINEO_BYTES_INIT);
    SAME(alineo_call_options, ALINEO_CALL_OPTIONS_INIT);
    SAME(alineo_capabilities_options, ALINEO_CAPABILITIES_OPTIONS_INIT);
    SAME(alineo_client_options, ALINEO_CLIENT_OPTIONS_INIT);
    SAME(alineo_connect_options, ALINEO_CONNECT_OPTIONS_INIT);
    SAME(alineo_endpoint_options, ALINEO_ENDPOINT_OPTIONS_INIT);
    SAME(alineo_event_options, ALINEO_EVENT_OPTIONS_INIT);
    SAME(alineo_exec_event, ALINEO_EXEC_EVENT_INIT);
    SAME(alineo_exec_options, ALINEO_EXEC_OPTIONS_INIT);
    SAME(alineo_exec_result, ALINEO_EXEC_RESULT_INIT);
    SAME(alineo_file_change_options, ALINEO_FILE_CHANGE_OPTIONS_INIT);
    SAME(alineo_file_copy_options, ALINEO_FILE_COPY_OPTIONS_INIT);
    SAME(alineo_file_copy_result, ALINEO_FILE_COPY_RESULT_INIT);
    SAME(alineo_file_list_options, ALINEO_FILE_LIST_OPTIONS_INIT);
    SAME(alineo_file_options, ALINEO_FILE_OPTIONS_INIT);
    SAME(alineo_hooks, ALINEO_HOOKS_INIT);
    SAME(alineo_ledger_record, ALINEO_LEDGER_RECORD_INIT);
    SAME(alineo_mount, ALINEO_MOUNT_INIT);
    SAME(alineo_op_options, ALINEO_OP_OPTIONS_INIT);
    SAME(alineo_output, ALINEO_OUTPUT_INIT);
    SAME(alineo_reconcile_options, ALINEO_RECONCILE_OPTIONS_INIT);
    SAME(alineo_sandbox_options, ALINEO_SANDBOX_OPTIONS_INIT);
    SAME(alineo_session_list_options, ALINEO_SESSION_LIST_OPTIONS_INIT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(function_and_macro_make_the_same_of_each_struct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
