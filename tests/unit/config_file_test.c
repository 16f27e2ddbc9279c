/* SPDX-License-Identifier: Apache-2.0 */
/* Which file is the config, and what may be believed of it. */
#include "core/config_private.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/util/path.h"
#include "core/util/str.h"
#include "tests/support/environment.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/test.h"

static test_environment *here; /* of the test that runs */

static int set_up(void **state) {
    (void)state;
    here = calloc(1, sizeof(*here));
    if (here == NULL)
        return -1;
    test_environment_make(here);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    test_environment_remove(here);
    free(here);
    return 0;
}

static void write_project(const char *text) {
    test_write_file("alineo.config.json", text, 0600);
}

static alineo_config *load(const char *path) {
    alineo_config *config = NULL;
    alineo_error *error = NULL;
    if (alineo_config_load(path, &config, &error) != ALINEO_OK)
        fail_msg("%s", alineo_error_message(error));
    return config;
}

static void check_load(const char *path, alineo_code wanted, const char *says) {
    alineo_config *config = NULL;
    al_auto(alineo_error_free) alineo_error *error = NULL;
    alineo_code code = alineo_config_load(path, &config, &error);
    assert_int_equal(code, wanted);
    assert_null(config);
    if (strstr(alineo_error_message(error), says) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", alineo_error_message(error), says);
}

/* --- finding ---------------------------------------------------------------------------------- */

static void without_any_file_the_defaults_hold(void **state) {
    (void)state;
    al_auto(alineo_config_free) alineo_config *config = load(NULL);
    assert_null(alineo_config_path(config));
    assert_string_equal(alineo_config_provider(config), "local");
    assert_string_equal(alineo_config_storage(config), "sqlite");
    for (int kind = 0; kind < AL_KIND_COUNT; kind++) {
        al_auto(al_section_free) al_section section = {0};
        assert_int_equal(al_section_of(config, (al_kind)kind, "any", &section, NULL), ALINEO_OK);
        assert_int_equal(section.count, 0);
    }
}

static void files_are_looked_for_in_order(void **state) {
    (void)state;
    assert_int_equal(mkdir(test_path(&here->folder, "user/.config"), 0700), 0);
    assert_int_equal(mkdir(test_path(&here->folder, "user/.config/alineo"), 0700), 0);
    test_write_file(test_path(&here->folder, "user/.config/alineo/config.json"),
                    "{\"provider\": \"of-user\"}", 0600);
    al_auto(alineo_config_free) alineo_config *of_user = load(NULL);
    assert_string_equal(alineo_config_provider(of_user), "of-user");

    write_project("{\"provider\": \"of-project\"}");
    al_auto(alineo_config_free) alineo_config *of_project = load(NULL);
    assert_string_equal(alineo_config_provider(of_project), "of-project");
    assert_string_equal(alineo_config_path(of_project),
                        test_path(&here->folder, "work/alineo.config.json"));

    test_write_file("other.json", "{\"provider\": \"of-variable\"}", 0600);
    test_setenv("ALINEO_CONFIG", "./other.json");
    al_auto(alineo_config_free) alineo_config *of_variable = load(NULL);
    assert_string_equal(alineo_config_provider(of_variable), "of-variable");
    assert_string_equal(alineo_config_path(of_variable),
                        test_path(&here->folder, "work/other.json"));

    test_write_file("named.json", "{\"provider\": \"named\"}", 0600);
    al_auto(alineo_config_free) alineo_config *named = load("named.json");
    assert_string_equal(alineo_config_provider(named), "named");

    test_setenv("ALINEO_CONFIG", "");
    al_auto(alineo_config_free) alineo_config *unset = load(NULL);
    assert_string_equal(alineo_config_provider(unset), "of-project");
}

static void the_users_config_folder_can_be_moved(void **state) {
    (void)state;
    assert_int_equal(mkdir(test_path(&here->folder, "user/alineo"), 0700), 0);
    test_write_file(test_path(&here->folder, "user/alineo/config.json"),
                    "{\"provider\": \"moved\"}", 0600);
    test_setenv("XDG_CONFIG_HOME", test_path(&here->folder, "user"));
    al_auto(alineo_config_free) alineo_config *config = load(NULL);
    assert_string_equal(alineo_config_provider(config), "moved");
    /* A relative one counts as unset. */
    test_setenv("XDG_CONFIG_HOME", "user");
    al_auto(alineo_config_free) alineo_config *relative = load(NULL);
    assert_null(alineo_config_path(relative));
}

static void a_file_that_was_named_and_is_missing_is_a_mistake(void **state) {
    (void)state;
    check_load("absent.json", ALINEO_CONFIG_INVALID, "absent.json: there is no such file");
    check_load("", ALINEO_CONFIG_INVALID, "is empty");
    test_setenv("ALINEO_CONFIG", "/nowhere/at/all.json");
    check_load(NULL, ALINEO_CONFIG_INVALID, "/nowhere/at/all.json: there is no such file");
}

static void what_is_no_regular_file_is_refused_without_waiting(void **state) {
    (void)state;
    assert_int_equal(mkdir("folder.json", 0700), 0);
    check_load("folder.json", ALINEO_CONFIG_INVALID, "not a regular file");
    assert_int_equal(mkfifo("alineo.config.json", 0600), 0);
    check_load(NULL, ALINEO_CONFIG_INVALID, "not a regular file");
}

static void mistakes_in_a_file_are_told_with_its_absolute_path(void **state) {
    (void)state;
    write_project("{\n  \"provder\": \"local\"\n}");
    char says[128];
    (void)snprintf(says, sizeof(says),
                   "%s:2:3: provder: ", test_path(&here->folder, "work/alineo.config.json"));
    check_load(NULL, ALINEO_CONFIG_INVALID, says);
    write_project("");
    check_load(NULL, ALINEO_CONFIG_INVALID, "alineo.config.json:1:1: is empty");
}

static void a_file_that_is_too_large_is_refused(void **state) {
    (void)state;
    write_project("{}");
    assert_int_equal(truncate("alineo.config.json", (off_t)10 << 20), 0);
    check_load(NULL, ALINEO_CONFIG_INVALID, "larger than");
}

static void a_removed_working_directory_holds_no_config(void **state) {
    (void)state;
    assert_int_equal(mkdir("gone", 0700), 0);
    assert_int_equal(chdir("gone"), 0);
    assert_int_equal(rmdir(test_path(&here->folder, "work/gone")), 0);
    al_auto(alineo_config_free) alineo_config *config = load(NULL);
    assert_null(alineo_config_path(config));
    alineo_config *parsed = NULL;
    al_auto(alineo_error_free) alineo_error *error = NULL;
    const char *text = "{\"agentsDir\": \"x\"}";
    assert_int_equal(alineo_config_parse(text, strlen(text), NULL, &parsed, &error),
                     ALINEO_CONFIG_INVALID);
    assert_non_null(strstr(alineo_error_message(error), "agentsDir: is a relative path"));
}

static void relative_paths_are_taken_from_the_files_own_folder(void **state) {
    (void)state;
    assert_int_equal(mkdir("sub", 0700), 0);
    test_write_file("sub/alineo.config.json",
                    "{\"adapterPath\": \"./.alineo/ledger.db\", \"agentsDir\": \"../agents\"}",
                    0600);
    al_auto(alineo_config_free) alineo_config *config = load("sub/alineo.config.json");
    assert_string_equal(config->agents_dir, test_path(&here->folder, "work/agents"));
    al_auto(al_section_free) al_section section = {0};
    assert_int_equal(al_section_of(config, AL_KIND_STORAGE, "sqlite", &section, NULL), ALINEO_OK);
    assert_int_equal(section.count, 1);
    assert_string_equal(section.entries[0].key, "path");
    al_autofree char *path = NULL;
    assert_int_equal(al_config_resolve(config, NULL, "./.alineo/ledger.db", &path, NULL),
                     ALINEO_OK);
    assert_string_equal(path, test_path(&here->folder, "work/sub/.alineo/ledger.db"));
}

/* --- believing -------------------------------------------------------------------------------- */

static const char *const privileged[] = {
    "{\"pluginPath\": \"plugins\"}",
    "{\"plugins\": {\"provider/a\": \"a.so\"}}",
    "{\"allowMounts\": [\"/\"]}",
    "{\"defaults\": {\"image\": \"${HOME}\"}}",
    "{\"providers\": {\"unused\": {\"list\": [\"a${HOME}\"]}}}",
};

static void a_found_config_needs_trust_for_what_could_harm(void **state) {
    (void)state;
    for (size_t i = 0; i < AL_COUNT(privileged); i++) {
        write_project(privileged[i]);
        check_load(NULL, ALINEO_CONFIG_UNTRUSTED, "alineo.config.json:1:");
        /* Named, by whatever means, it is somebody's decision. */
        alineo_config_free(load("alineo.config.json"));
        test_setenv("ALINEO_CONFIG", "alineo.config.json");
        alineo_config_free(load(NULL));
        test_setenv("ALINEO_CONFIG", NULL);
    }
}

static void a_found_config_without_such_things_needs_no_trust(void **state) {
    (void)state;
    write_project("{\"provider\": \"local\", \"defaults\": {\"image\": \"a$${B}\"}}");
    al_auto(alineo_config_free) alineo_config *config = load(NULL);
    assert_string_equal(config->image, "a${B}");
}

static void trust_is_of_a_path_and_a_text(void **state) {
    (void)state;
    write_project(privileged[0]);
    assert_int_equal(alineo_config_trust(NULL, NULL), ALINEO_OK);
    alineo_config_free(load(NULL));
    /* Another text at the same path. */
    write_project(privileged[1]);
    check_load(NULL, ALINEO_CONFIG_UNTRUSTED, "it has changed since it was");
    assert_int_equal(alineo_config_trust("alineo.config.json", NULL), ALINEO_OK);
    alineo_config_free(load(NULL));
    /* The same text at another path. */
    assert_int_equal(mkdir("other", 0700), 0);
    assert_int_equal(chdir("other"), 0);
    write_project(privileged[1]);
    check_load(NULL, ALINEO_CONFIG_UNTRUSTED, "only once it is trusted");
}

static void the_hint_says_how_to_trust(void **state) {
    (void)state;
    write_project(privileged[0]);
    alineo_config *config = NULL;
    al_auto(alineo_error_free) alineo_error *error = NULL;
    assert_int_equal(alineo_config_load(NULL, &config, &error), ALINEO_CONFIG_UNTRUSTED);
    assert_non_null(strstr(alineo_error_hint(error), "alineo config trust "));
    assert_non_null(strstr(alineo_error_hint(error), "work/alineo.config.json"));
}

static void trust_records_are_for_their_user_alone(void **state) {
    (void)state;
    write_project(privileged[0]);
    assert_int_equal(alineo_config_trust(NULL, NULL), ALINEO_OK);
    struct stat status;
    assert_int_equal(stat(test_path(&here->folder, "home/trusted"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    /* A folder where all can write records holds no trust. */
    assert_int_equal(chmod(test_path(&here->folder, "home/trusted"), 0777), 0);
    check_load(NULL, ALINEO_CONFIG_UNTRUSTED, "record of trust");
}

static void somebody_elses_file_in_the_working_directory_is_refused(void **state) {
    (void)state;
    if (geteuid() != 0)
        skip();
    write_project("{}");
    assert_int_equal(chown("alineo.config.json", 4711, 4711), 0);
    check_load(NULL, ALINEO_CONFIG_UNTRUSTED, "alineo.config.json: ");
    assert_int_equal(alineo_config_trust(NULL, NULL), ALINEO_CONFIG_UNTRUSTED);
    alineo_config_free(load("alineo.config.json"));
}

static void a_found_file_that_all_can_write_is_refused(void **state) {
    (void)state;
    test_write_file("alineo.config.json", "{}", 0666);
    check_load(NULL, ALINEO_CONFIG_UNTRUSTED, "alineo.config.json: ");
}

static void what_cannot_be_trusted_is_said(void **state) {
    (void)state;
    assert_int_equal(alineo_config_trust(NULL, NULL), ALINEO_CONFIG_INVALID);
    assert_int_equal(alineo_config_trust("absent.json", NULL), ALINEO_CONFIG_INVALID);
    write_project("{\"provider\": }");
    assert_int_equal(alineo_config_trust(NULL, NULL), ALINEO_CONFIG_INVALID);
}

/* --- without memory --------------------------------------------------------------------------- */

static void load_and_trust(void *state) {
    (void)state;
    alineo_config *config = NULL;
    alineo_error *error = NULL;
    alineo_code code = alineo_config_trust(NULL, NULL);
    if (code == ALINEO_OK)
        code = alineo_config_load(NULL, &config, &error);
    if (code != ALINEO_OK) {
        assert_true(fail_alloc_happened());
        assert_true(code == ALINEO_NO_MEMORY || code == ALINEO_IO);
    }
    assert_int_equal(config == NULL, code != ALINEO_OK);
    alineo_config_free(config);
    alineo_error_free(error);
}

static void every_allocation_may_fail_while_a_file_is_loaded_or_trusted(void **state) {
    (void)state;
    write_project(privileged[3]);
    size_t fds = test_count_fds();
    assert_true(fail_alloc_each(load_and_trust, NULL) > 20);
    assert_int_equal(test_count_fds(), fds);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(without_any_file_the_defaults_hold),
        TEST(files_are_looked_for_in_order),
        TEST(the_users_config_folder_can_be_moved),
        TEST(a_file_that_was_named_and_is_missing_is_a_mistake),
        TEST(what_is_no_regular_file_is_refused_without_waiting),
        TEST(mistakes_in_a_file_are_told_with_its_absolute_path),
        TEST(a_file_that_is_too_large_is_refused),
        TEST(a_removed_working_directory_holds_no_config),
        TEST(relative_paths_are_taken_from_the_files_own_folder),
        TEST(a_found_config_needs_trust_for_what_could_harm),
        TEST(a_found_config_without_such_things_needs_no_trust),
        TEST(trust_is_of_a_path_and_a_text),
        TEST(the_hint_says_how_to_trust),
        TEST(trust_records_are_for_their_user_alone),
        TEST(somebody_elses_file_in_the_working_directory_is_refused),
        TEST(a_found_file_that_all_can_write_is_refused),
        TEST(what_cannot_be_trusted_is_said),
        TEST(every_allocation_may_fail_while_a_file_is_loaded_or_trusted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
