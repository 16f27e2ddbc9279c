/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin hands over is checked once, at the door. */
#include "core/plugin_table.h"

#include <string.h>

#include "tests/support/test.h"

/* Presence is all that is looked at, so one function stands for all. */
static void any_function(void) {
}

static void set_function(void *table, size_t offset) {
    void (*function)(void) = any_function;
    memcpy((char *)table + offset, &function, sizeof(function));
}

static void clear_function(void *table, size_t offset) {
    memset((char *)table + offset, 0, sizeof(void (*)(void)));
}

/* All pointers behind `size`. */
static void fill_table(void *table, size_t size) {
    memset(table, 0, size);
    memcpy(table, &size, sizeof(size));
    for (size_t at = sizeof(size_t); at < size; at += sizeof(void (*)(void)))
        set_function(table, at);
}

#define AT(function) offsetof(alineo_provider_table, function)
#define AFTER(function) (AT(function) + sizeof(void (*)(void)))

static alineo_provider_table minimal_table(void) {
    alineo_provider_table table;
    memset(&table, 0, sizeof(table));
    table.size = AFTER(exec_free);
    for (size_t at = AT(open); at <= AT(exec_free); at += sizeof(void (*)(void)))
        set_function(&table, at);
    return table;
}

static const alineo_provider_descriptor plain_descriptor = {.size = sizeof(plain_descriptor),
                                                            .title = "T"};

static alineo_code check(const void *descriptor, const void *table, alineo_error **err) {
    return al_plugin_check(AL_KIND_PROVIDER, "provider/x", descriptor, table, err);
}

static void check_refused(const void *descriptor, const void *table, const char *says) {
    al_auto(alineo_error_free) alineo_error *error = NULL;
    assert_int_equal(check(descriptor, table, &error), ALINEO_PLUGIN_INCOMPATIBLE);
    const char *message = alineo_error_message(error);
    if (strstr(message, says) == NULL || strstr(message, "provider/x") == NULL)
        fail_msg("\"%s\" lacks \"%s\"", message, says);
}

static void a_table_that_ends_with_the_mandatory_functions_is_fine(void **state) {
    (void)state;
    alineo_provider_table table = minimal_table();
    assert_int_equal(check(&plain_descriptor, &table, NULL), ALINEO_OK);
}

static void a_full_or_longer_table_is_fine(void **state) {
    (void)state;
    struct {
        alineo_provider_table table;
        void (*newer)(void);
    } longer;
    fill_table(&longer.table, sizeof(longer.table));
    assert_int_equal(check(&plain_descriptor, &longer.table, NULL), ALINEO_OK);
    longer.table.size = sizeof(longer);
    longer.newer = any_function;
    assert_int_equal(check(&plain_descriptor, &longer.table, NULL), ALINEO_OK);
}

static void a_missing_mandatory_function_is_named(void **state) {
    (void)state;
    static const struct {
        size_t offset;
        const char *name;
    } rows[] = {{AT(open), " open,"},           {AT(close), " close,"},
                {AT(create), " create,"},       {AT(get), " get,"},
                {AT(destroy), " destroy,"},     {AT(exec_start), " exec_start,"},
                {AT(exec_wait), " exec_wait,"}, {AT(exec_cancel), " exec_cancel,"},
                {AT(exec_free), " exec_free,"}};
    for (size_t i = 0; i < AL_COUNT(rows); i++) {
        alineo_provider_table table = minimal_table();
        clear_function(&table, rows[i].offset);
        check_refused(&plain_descriptor, &table, rows[i].name);
    }
    alineo_provider_table table = minimal_table();
    table.size = AT(exec_free);
    check_refused(&plain_descriptor, &table, " exec_free,");
    table.size = 0;
    check_refused(&plain_descriptor, &table, " open,");
}

static void half_a_group_is_refused_by_both_names(void **state) {
    (void)state;
    alineo_provider_table table;
    static const struct {
        size_t offset;
        const char *says;
    } rows[] = {{AT(unpause), "has the function pause, but lacks unpause"},
                {AT(exec_close_stdin), "exec_write, but lacks exec_close_stdin"},
                {AT(shell_close), "shell_open, but lacks shell_close"},
                {AT(background_kill), "background_list, but lacks background_kill"},
                {AT(code_run), "but lacks code_run"},
                {AT(file_search), "but lacks file_search"},
                {AT(snapshot_delete), "but lacks snapshot_delete"},
                {AT(image_info), "but lacks image_info"},
                {AT(egress_delete), "but lacks egress_delete"},
                {AT(metrics_watch), "metrics, but lacks metrics_watch"}};
    for (size_t i = 0; i < AL_COUNT(rows); i++) {
        fill_table(&table, sizeof(table));
        clear_function(&table, rows[i].offset);
        check_refused(&plain_descriptor, &table, rows[i].says);
    }
}

static alineo_provider_descriptor with(const alineo_capability *const *capabilities) {
    alineo_provider_descriptor descriptor = plain_descriptor;
    descriptor.capabilities = capabilities;
    return descriptor;
}

static void a_claim_needs_its_function(void **state) {
    (void)state;
    static const struct {
        const char *name;
        const char *value;
        const char *function;
    } rows[] = {{"list", "yes", "list"},
                {"renew", "unverified", "renew"},
                {"pause", "processes", "pause"},
                {"signals", "yes", "exec_signal"},
                {"pty", "yes", "exec_resize"},
                {"files", "yes", "file_open_read"},
                {"snapshot", "memory", "snapshot_create"},
                {"endpoints", "yes", "endpoint"}};
    for (size_t i = 0; i < AL_COUNT(rows); i++) {
        alineo_capability claim = ALINEO_CAPABILITY_INIT;
        claim.name = rows[i].name;
        claim.value = rows[i].value;
        const alineo_capability *const list[] = {&claim, NULL};
        alineo_provider_descriptor descriptor = with(list);
        alineo_provider_table table = minimal_table();
        char says[128];
        (void)snprintf(says, sizeof(says), "claims the capability %s, but lacks the function %s",
                       rows[i].name, rows[i].function);
        check_refused(&descriptor, &table, says);
        claim.value = "no";
        assert_int_equal(check(&descriptor, &table, NULL), ALINEO_OK);
    }
}

static void a_capability_that_there_is_not_is_refused(void **state) {
    (void)state;
    alineo_provider_table table = minimal_table();
    alineo_capability one = ALINEO_CAPABILITY_INIT;
    alineo_capability two = ALINEO_CAPABILITY_INIT;
    const alineo_capability *const list[] = {&one, &two, NULL};
    alineo_provider_descriptor descriptor = with(list);
    two.name = "stdin";
    two.value = "yes";
    check_refused(&descriptor, &table, "no name or no value");
    one.name = "stdn";
    one.value = "yes";
    check_refused(&descriptor, &table, "\"stdn\"");
    one.name = "snapshot";
    check_refused(&descriptor, &table, "\"yes\" of \"snapshot\"");
    one.name = "stdin";
    check_refused(&descriptor, &table, "stdin twice");
    one.name = "x-teleport";
    one.value = "sometimes";
    assert_int_equal(check(&descriptor, &table, NULL), ALINEO_OK);
    one.size = 8;
    check_refused(&descriptor, &table, "no name or no value");
}

static void no_descriptor_no_table_or_a_short_one_is_refused(void **state) {
    (void)state;
    alineo_provider_table table = minimal_table();
    check_refused(NULL, &table, "no descriptor");
    check_refused(&plain_descriptor, NULL, "no table");
    alineo_provider_descriptor descriptor = plain_descriptor;
    descriptor.size = 16;
    check_refused(&descriptor, &table, "16 bytes");
}

static void options_are_checked_too(void **state) {
    (void)state;
    alineo_option_spec spec = {sizeof(spec), "k", 77, 0, NULL, NULL};
    const alineo_option_spec *const specs[] = {&spec, NULL};
    alineo_provider_descriptor descriptor = plain_descriptor;
    descriptor.options = specs;
    alineo_provider_table table = minimal_table();
    check_refused(&descriptor, &table, "\"k\"");
    assert_ptr_equal(al_plugin_specs(AL_KIND_PROVIDER, &descriptor), specs);
}

static void storage_may_lack_its_last_three_functions_only(void **state) {
    (void)state;
    const alineo_storage_descriptor descriptor = {.size = sizeof(descriptor), .title = "S"};
    alineo_storage_table table;
    for (size_t at = sizeof(size_t); at < sizeof(table); at += sizeof(void (*)(void))) {
        fill_table(&table, sizeof(table));
        clear_function(&table, at);
        alineo_code code = al_plugin_check(AL_KIND_STORAGE, "storage/x", &descriptor, &table, NULL);
        assert_int_equal(code, at >= offsetof(alineo_storage_table, follow)
                                   ? ALINEO_OK
                                   : ALINEO_PLUGIN_INCOMPATIBLE);
    }
}

static void a_broker_must_have_all_and_speak_something(void **state) {
    (void)state;
    static const char *const interfaces[] = {"vault/1", NULL};
    alineo_broker_descriptor descriptor = {.size = sizeof(descriptor), .title = "B"};
    alineo_broker_table table;
    fill_table(&table, sizeof(table));
    assert_int_equal(
        al_plugin_check(AL_KIND_CREDENTIALS, "credentials/x", &descriptor, &table, NULL),
        ALINEO_PLUGIN_INCOMPATIBLE);
    descriptor.interfaces = interfaces;
    assert_int_equal(
        al_plugin_check(AL_KIND_CREDENTIALS, "credentials/x", &descriptor, &table, NULL),
        ALINEO_OK);
    for (size_t at = sizeof(size_t); at < sizeof(table); at += sizeof(void (*)(void))) {
        fill_table(&table, sizeof(table));
        clear_function(&table, at);
        assert_int_equal(
            al_plugin_check(AL_KIND_CREDENTIALS, "credentials/x", &descriptor, &table, NULL),
            ALINEO_PLUGIN_INCOMPATIBLE);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_that_ends_with_the_mandatory_functions_is_fine),
        cmocka_unit_test(a_full_or_longer_table_is_fine),
        cmocka_unit_test(a_missing_mandatory_function_is_named),
        cmocka_unit_test(half_a_group_is_refused_by_both_names),
        cmocka_unit_test(a_claim_needs_its_function),
        cmocka_unit_test(a_capability_that_there_is_not_is_refused),
        cmocka_unit_test(no_descriptor_no_table_or_a_short_one_is_refused),
        cmocka_unit_test(options_are_checked_too),
        cmocka_unit_test(storage_may_lack_its_last_three_functions_only),
        cmocka_unit_test(a_broker_must_have_all_and_speak_something),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
