/* SPDX-License-Identifier: Apache-2.0 */
/* The plugins of this tree, loaded by name from the folder they are built in. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/binding.h"
#include "core/config_private.h"
#include "core/util/str.h"
#include "tests/support/environment.h"
#include "tests/support/test.h"

static int set_up(void **state) {
    test_environment *environment = calloc(1, sizeof(*environment));
    if (environment == NULL)
        return -1;
    test_environment_make(environment);
    test_setenv("ALINEO_PLUGIN_PATH", ALINEO_TEST_PLUGIN_DIR);
    *state = environment;
    return 0;
}

static int tear_down(void **state) {
    test_environment_remove(*state);
    free(*state);
    return 0;
}

static const al_log no_log = {NULL, NULL};

/* Opens the storage that the config in the working directory means, and says where it keeps things.
 * */
static void check_ledger_at(const char *path) {
    al_auto(alineo_config_free) alineo_config *config = NULL;
    alineo_error *error = NULL;
    al_storage_binding *storage = NULL;
    if (alineo_config_load(NULL, &config, &error) != ALINEO_OK ||
        al_storage_open(config, NULL, no_log, &storage, &error) != ALINEO_OK)
        fail_msg("%s", alineo_error_message(error));
    assert_string_equal(storage->id, "sqlite");
    assert_string_equal(storage->plugin, "storage/sqlite");
    al_storage_close(storage);
    struct stat status;
    if (stat(path, &status) != 0)
        fail_msg("there is no ledger at %s", path);
}

static void a_project_has_its_ledger_beside_its_config(void **state) {
    test_environment *here = *state;
    test_write_file("alineo.config.json", "{}", 0600);
    check_ledger_at(test_path(&here->folder, "work/.alineo/ledger.db"));
}

static void without_a_project_the_ledger_is_at_home(void **state) {
    test_environment *here = *state;
    check_ledger_at(test_path(&here->folder, "home/ledger.db"));
}

static void a_named_ledger_is_taken_from_the_configs_folder(void **state) {
    test_environment *here = *state;
    test_write_file("alineo.config.json", "{\"adapterPath\": \"./kept/l.db\"}", 0600);
    check_ledger_at(test_path(&here->folder, "work/kept/l.db"));
    test_write_file("alineo.config.json", "{\"storage\": {\"path\": \"other/l.db\"}}", 0600);
    check_ledger_at(test_path(&here->folder, "work/other/l.db"));
}

static int32_t must_be_usable(void *user, const alineo_plugin_info *info) {
    ++*(size_t *)user;
    if (info->usable != ALINEO_OK)
        fail_msg("%s: %s", info->path, info->problem);
    return 0;
}

static void every_plugin_of_the_tree_can_be_used(void **state) {
    (void)state;
    size_t count = 0;
    assert_int_equal(alineo_plugin_list(NULL, must_be_usable, &count, NULL), ALINEO_OK);
    assert_true(count >= 3);
}

static void the_default_config_is_found_good(void **state) {
    (void)state;
    al_auto(alineo_config_free) alineo_config *config = NULL;
    alineo_error *error = NULL;
    assert_int_equal(alineo_config_load(NULL, &config, NULL), ALINEO_OK);
    if (alineo_config_check(config, &error) != ALINEO_OK)
        fail_msg("%s", alineo_error_message(error));
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_project_has_its_ledger_beside_its_config),
        TEST(without_a_project_the_ledger_is_at_home),
        TEST(a_named_ledger_is_taken_from_the_configs_folder),
        TEST(every_plugin_of_the_tree_can_be_used),
        TEST(the_default_config_is_found_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
