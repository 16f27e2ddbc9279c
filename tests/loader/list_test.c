/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins looked at without being loaded, and a config held against the plugins it names. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/util/str.h"
#include "tests/loader/plugins.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/test.h"

static int set_up(void **state) {
    plugin_folder *folder = calloc(1, sizeof(*folder));
    if (folder == NULL)
        return -1;
    plugin_folder_make(folder);
    *state = folder;
    return 0;
}

static int tear_down(void **state) {
    plugin_folder_remove(*state);
    free(*state);
    return 0;
}

typedef struct seen {
    size_t count;
    size_t stop_at;
    char lines[2048]; /* "kind/id version CODE problem" a line */
} seen;

static int32_t take(void *user, const alineo_plugin_info *info) {
    seen *s = user;
    s->count++;
    size_t used = strlen(s->lines);
    (void)snprintf(s->lines + used, sizeof(s->lines) - used, "%s/%s %s %s %s\n", info->kind,
                   info->id, info->version, alineo_code_name(info->usable),
                   info->problem != NULL ? info->problem : "-");
    return s->count == s->stop_at;
}

static void check_has(const char *text, const char *part) {
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", text, part);
}

/* --- inspect ---------------------------------------------------------------------------------- */

static void a_file_tells_its_identity_without_running(void **state) {
    plugin_folder *folder = *state;
    const char *path = put_plugin(folder, "good", "provider", "good");
    seen s = {0};
    assert_int_equal(alineo_plugin_inspect(path, take, &s, NULL), ALINEO_OK);
    assert_string_equal(s.lines, "provider/good 1.0.0 OK -\n");
    assert_int_equal(traces(folder), 0);
}

static void a_strangers_file_can_be_looked_at_and_would_not_be_loaded(void **state) {
    plugin_folder *folder = *state;
    const char *path = put_plugin(folder, "good", "provider", "good");
    assert_int_equal(chmod(path, 0777), 0);
    seen s = {0};
    assert_int_equal(alineo_plugin_inspect(path, take, &s, NULL), ALINEO_OK);
    check_has(s.lines, "provider/good 1.0.0 PLUGIN_UNTRUSTED ");
    check_has(s.lines, path);
    s = (seen){0};
    path = put_plugin(folder, "other-abi", "provider", "other-abi");
    assert_int_equal(alineo_plugin_inspect(path, take, &s, NULL), ALINEO_OK);
    check_has(s.lines, "PLUGIN_INCOMPATIBLE It is built for ABI 999.1");
    s = (seen){0};
    path = put_plugin(folder, "no-entry", "provider", "no-entry");
    assert_int_equal(alineo_plugin_inspect(path, take, &s, NULL), ALINEO_OK);
    check_has(s.lines, "PLUGIN_INCOMPATIBLE");
    check_has(s.lines, "no entry point");
    assert_int_equal(traces(folder), 0);
}

static void what_has_no_identity_cannot_be_inspected(void **state) {
    plugin_folder *folder = *state;
    seen s = {0};
    const char *path = put_plugin(folder, "no-note", "provider", "no-note");
    assert_int_equal(alineo_plugin_inspect(path, take, &s, NULL), ALINEO_PLUGIN_INCOMPATIBLE);
    assert_int_equal(alineo_plugin_inspect("/dev/zero", take, &s, NULL),
                     ALINEO_PLUGIN_INCOMPATIBLE);
    assert_int_equal(alineo_plugin_inspect(folder->path, take, &s, NULL),
                     ALINEO_PLUGIN_INCOMPATIBLE);
    assert_int_equal(alineo_plugin_inspect("absent.so", take, &s, NULL), ALINEO_PLUGIN_NOT_FOUND);
    assert_int_equal(alineo_plugin_inspect("", take, &s, NULL), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(alineo_plugin_inspect(path, NULL, NULL, NULL), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(s.count, 0);
    assert_int_equal(traces(folder), 0);
}

/* --- list ------------------------------------------------------------------------------------- */

static void a_list_goes_by_folder_and_name_and_says_what_is_wrong(void **state) {
    plugin_folder *folder = *state;
    put_plugin(folder, "twin", "provider", "twin");
    put_plugin(folder, "good", "provider", "good");
    put_plugin(folder, "other-kind", "storage", "other-kind");
    put_plugin(folder, "good", "provider", "renamed");
    put_bytes(folder, "text", 4, "credentials", "script");
    char other[256];
    (void)snprintf(other, sizeof(other), "%s/README.so", folder->path);
    write_bytes(other, "x", 1, 0644);
    seen s = {0};
    assert_int_equal(alineo_plugin_list(folder->config, take, &s, NULL), ALINEO_OK);
    const char *script = strstr(s.lines, "credentials/script  PLUGIN_INCOMPATIBLE");
    const char *good = strstr(s.lines, "provider/good 1.0.0 OK -\n");
    const char *renamed = strstr(s.lines, "provider/renamed 1.0.0 PLUGIN_INCOMPATIBLE Its id is");
    const char *twin = strstr(s.lines, "provider/twin 1.0.0 OK -\n");
    const char *storage = strstr(s.lines, "storage/other-kind 1.0.0 ");
    assert_true(script != NULL && script < good && good < renamed && renamed < twin);
    assert_true(storage != NULL && twin < storage);
    assert_null(strstr(s.lines, "README"));
    assert_int_equal(traces(folder), 0);
}

static void what_an_earlier_folder_hides_is_said(void **state) {
    plugin_folder *folder = *state;
    assert_int_equal(mkdir("more", 0755), 0);
    al_auto(al_buf_free) al_buf good = AL_BUF_INIT;
    fixture_read("good", &good);
    write_bytes("more/alineo-provider-good.so", good.data, good.size, 0755);
    const char *first = put_plugin(folder, "good", "provider", "good");
    test_setenv("ALINEO_PLUGIN_PATH", test_path(&folder->environment.folder, "work/more"));
    seen s = {0};
    assert_int_equal(alineo_plugin_list(folder->config, take, &s, NULL), ALINEO_OK);
    al_autofree char *hidden = al_strf("provider/good  CONFLICT %s comes first\n", first);
    check_has(s.lines, "provider/good 1.0.0 OK -\n");
    check_has(s.lines, hidden);
    s = (seen){.stop_at = 1};
    assert_int_equal(alineo_plugin_list(folder->config, take, &s, NULL), ALINEO_OK);
    assert_int_equal(s.count, 1);
    test_setenv("ALINEO_PLUGIN_PATH", NULL);
}

static void without_a_config_the_built_in_folder_is_listed(void **state) {
    (void)state;
    seen s = {0};
    assert_int_equal(alineo_plugin_list(NULL, take, &s, NULL), ALINEO_OK);
    assert_int_equal(alineo_plugin_list(NULL, NULL, NULL, NULL), ALINEO_INVALID_ARGUMENT);
}

static void list_all(void *state) {
    plugin_folder *folder = state;
    seen s = {0};
    alineo_code code = alineo_plugin_list(folder->config, take, &s, NULL);
    assert_true(code == ALINEO_OK || code == ALINEO_NO_MEMORY);
    assert_true(code == ALINEO_OK || fail_alloc_happened());
    if (code == ALINEO_OK)
        check_has(s.lines, "provider/good 1.0.0 OK -\n");
}

static void every_allocation_may_fail_while_plugins_are_listed(void **state) {
    plugin_folder *folder = *state;
    put_plugin(folder, "good", "provider", "good");
    put_bytes(folder, "text", 4, "provider", "script");
    assert_true(fail_alloc_each(list_all, folder) > 10);
}

/* --- config check ----------------------------------------------------------------------------- */

static alineo_code check(plugin_folder *folder, const char *rest, alineo_error **err) {
    al_autofree char *json = al_strf("{\"pluginPath\": \"%s\"%s}", folder->path, rest);
    al_auto(alineo_config_free) alineo_config *config = NULL;
    alineo_code code = alineo_config_parse(json, strlen(json), "c.json", &config, err);
    return code == ALINEO_OK ? alineo_config_check(config, err) : code;
}

static void check_refused(plugin_folder *folder, const char *rest, alineo_code code,
                          const char *says) {
    al_auto(alineo_error_free) alineo_error *error = NULL;
    assert_int_equal(check(folder, rest, &error), code);
    check_has(alineo_error_message(error), "c.json:1:");
    check_has(alineo_error_message(error), says);
}

/* A storage that a config can name, so that only what a test is about is wrong. */
#define STORAGE ", \"storage\": {\"adapter\": \"kept\"}, \"provider\": \"good\""

static void a_check_holds_every_section_against_its_plugin(void **state) {
    plugin_folder *folder = *state;
    put_plugin(folder, "good", "provider", "good");
    put_plugin(folder, "twin", "provider", "twin");
    put_plugin(folder, "kept", "storage", "kept");
    assert_int_equal(
        check(folder, STORAGE ", \"providers\": {\"twin\": {\"region\": \"x\"}}", NULL), ALINEO_OK);
    check_refused(folder, STORAGE ", \"providers\": {\"twin\": {\"regoin\": \"x\"}}",
                  ALINEO_CONFIG_INVALID, "providers.twin.regoin: ");
    check_refused(folder, STORAGE ", \"providers\": {\"absent\": {}}", ALINEO_INVALID_ARGUMENT,
                  "providers.absent: there is no provider plugin \"absent\"");
    check_refused(folder, ", \"provider\": \"goood\"", ALINEO_INVALID_ARGUMENT,
                  "provider: there is no provider plugin \"goood\"; did you mean \"good\"?");
    check_refused(folder, ", \"provider\": \"good\", \"storage\": {\"adapter\": \"kpt\"}",
                  ALINEO_INVALID_ARGUMENT, "storage.adapter: there is no storage plugin \"kpt\"");
    check_refused(folder, STORAGE ", \"credentials\": {\"broker\": \"nobody\"}",
                  ALINEO_INVALID_ARGUMENT,
                  "credentials.broker: there is no credentials plugin \"nobody\"");
}

static void a_check_expands_what_is_not_in_use(void **state) {
    plugin_folder *folder = *state;
    put_plugin(folder, "good", "provider", "good");
    put_plugin(folder, "twin", "provider", "twin");
    put_plugin(folder, "kept", "storage", "kept");
    test_setenv("AL_TEST_UNSET", NULL);
    const char *rest = STORAGE ", \"providers\": {\"twin\": {\"region\": \"${AL_TEST_UNSET}\"}}";
    check_refused(folder, rest, ALINEO_CONFIG_INVALID,
                  "providers.twin.region: uses ${AL_TEST_UNSET}, which is not set");
    test_setenv("AL_TEST_UNSET", "here");
    assert_int_equal(check(folder, rest, NULL), ALINEO_OK);
    test_setenv("AL_TEST_UNSET", NULL);
}

static void a_check_looks_at_files_that_are_named_without_running_them(void **state) {
    plugin_folder *folder = *state;
    put_plugin(folder, "good", "provider", "good");
    put_plugin(folder, "kept", "storage", "kept");
    const char *rest = STORAGE ", \"plugins\": {\"provider/no-note\": \"no-note.so\"}";
    check_refused(folder, rest, ALINEO_PLUGIN_NOT_FOUND, "plugins[\"provider/no-note\"]: ");
    al_auto(al_buf_free) al_buf bytes = AL_BUF_INIT;
    fixture_read("no-note", &bytes);
    write_bytes("no-note.so", bytes.data, bytes.size, 0755);
    check_refused(folder, rest, ALINEO_PLUGIN_INCOMPATIBLE, "no alineo plugin");
    al_buf_clear(&bytes);
    fixture_read("good", &bytes);
    write_bytes("good.so", bytes.data, bytes.size, 0777);
    check_refused(folder, STORAGE ", \"plugins\": {\"provider/good\": \"good.so\"}",
                  ALINEO_PLUGIN_UNTRUSTED, "good.so");
    assert_int_equal(traces(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_file_tells_its_identity_without_running),
        TEST(a_strangers_file_can_be_looked_at_and_would_not_be_loaded),
        TEST(what_has_no_identity_cannot_be_inspected),
        TEST(a_list_goes_by_folder_and_name_and_says_what_is_wrong),
        TEST(what_an_earlier_folder_hides_is_said),
        TEST(without_a_config_the_built_in_folder_is_listed),
        TEST(every_allocation_may_fail_while_plugins_are_listed),
        TEST(a_check_holds_every_section_against_its_plugin),
        TEST(a_check_expands_what_is_not_in_use),
        TEST(a_check_looks_at_files_that_are_named_without_running_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
