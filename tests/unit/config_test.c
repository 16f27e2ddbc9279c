/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a config: its keys, their values, and every kind of mistake in it. */
#include "core/config_private.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/util/str.h"
#include "tests/support/environment.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/test.h"

static alineo_config *parse(const char *json) {
    alineo_config *config = NULL;
    alineo_error *error = NULL;
    if (alineo_config_parse(json, strlen(json), "c.json", &config, &error) != ALINEO_OK)
        fail_msg("%s", alineo_error_message(error));
    return config;
}

/* Asserts that the text is refused and that the message has all the parts (NULL-terminated). */
static void check_refused_n(const char *json, size_t size, alineo_code wanted,
                            const char *const *parts) {
    alineo_config *config = NULL;
    al_auto(alineo_error_free) alineo_error *error = NULL;
    alineo_code code = alineo_config_parse(json, size, "c.json", &config, &error);
    if (code != wanted)
        fail_msg("%s gave %s", json, alineo_code_name(code));
    assert_null(config);
    for (size_t i = 0; parts[i] != NULL; i++) {
        if (strstr(alineo_error_message(error), parts[i]) == NULL)
            fail_msg("\"%s\" lacks \"%s\"", alineo_error_message(error), parts[i]);
    }
}

#define CHECK_REFUSED(json, ...)                                                                   \
    check_refused_n((json), strlen(json), ALINEO_CONFIG_INVALID,                                   \
                    (const char *const[]){__VA_ARGS__, NULL})

static int set_up(void **state) {
    test_environment *environment = calloc(1, sizeof(*environment));
    if (environment == NULL)
        return -1;
    test_environment_make(environment);
    *state = environment;
    return 0;
}

static int tear_down(void **state) {
    test_environment_remove(*state);
    free(*state);
    return 0;
}

/* --- values ----------------------------------------------------------------------------------- */

static void an_empty_object_means_all_defaults(void **state) {
    (void)state;
    al_auto(alineo_config_free) alineo_config *config = parse("{}");
    assert_string_equal(alineo_config_provider(config), "local");
    assert_string_equal(alineo_config_storage(config), "sqlite");
    assert_string_equal(alineo_config_home(config), getenv("ALINEO_HOME"));
    assert_null(alineo_config_path(config));
    al_config_values values;
    al_config_values_of(config, &values);
    static const al_config_values none;
    assert_memory_equal(&values, &none, sizeof(values));
}

static void every_key_of_the_core_is_taken(void **state) {
    (void)state;
    al_auto(alineo_config_free) alineo_config *config =
        parse("{\"provider\": \"acme\", \"agentsDir\": \"./agents\","
              " \"defaults\": {\"image\": \"debian:12\", \"lifetimeMs\": 60000, \"resources\":"
              "   {\"cpu\": \"500m\", \"memory\": \"512Mi\", \"disk\": \"10Gi\", \"gpu\": \"1\","
              "    \"pids\": 100}},"
              " \"storage\": {\"adapter\": \"memory\"}, \"credentials\": {\"broker\": \"vault\"},"
              " \"pluginPath\": [\"/opt/a\", \"b\"], \"plugins\": {\"provider/acme\": \"x.so\"},"
              " \"maxConcurrency\": 4, \"require\": [\"signals\", \"snapshot=filesystem\"],"
              " \"ledger\": {\"patienceMs\": 500, \"queueBytes\": 2000000, \"onFailure\": \"gap\"},"
              " \"allowMounts\": [\"/data\", \"here\"]}");
    al_autofree char *here = getcwd(NULL, 0);
    al_autofree char *agents = al_strf("%s/agents", here);
    al_autofree char *folder = al_strf("%s/b", here);
    al_autofree char *file = al_strf("%s/x.so", here);
    al_autofree char *mount = al_strf("%s/here", here);
    assert_string_equal(alineo_config_provider(config), "acme");
    assert_string_equal(alineo_config_storage(config), "memory");
    assert_string_equal(config->broker, "vault");
    assert_string_equal(config->plugin_path.items[0], "/opt/a");
    assert_string_equal(config->plugin_path.items[1], folder);
    assert_string_equal(al_kv_get(&config->plugin_files, "provider/acme"), file);
    al_config_values values;
    al_config_values_of(config, &values);
    assert_string_equal(values.default_image, "debian:12");
    assert_string_equal(values.default_cpu, "500m");
    assert_string_equal(values.default_memory, "512Mi");
    assert_string_equal(values.default_disk, "10Gi");
    assert_string_equal(values.default_gpu, "1");
    assert_int_equal(values.default_pids, 100);
    assert_int_equal(values.default_lifetime_ms, 60000);
    assert_string_equal(values.agents_dir, agents);
    assert_string_equal(values.mounts[0], "/data");
    assert_string_equal(values.mounts[1], mount);
    assert_null(values.mounts[2]);
    assert_string_equal(values.require[0], "signals");
    assert_string_equal(values.require[1], "snapshot=filesystem");
    assert_null(values.require[2]);
    assert_int_equal(values.max_concurrency, 4);
    assert_int_equal(values.ledger_patience_ms, 500);
    assert_int_equal(values.ledger_queue_size, 2000000);
    assert_int_equal(values.ledger_failure, AL_ON_FAILURE_GAP);
}

static void a_lifetime_may_be_for_ever(void **state) {
    (void)state;
    al_auto(alineo_config_free) alineo_config *config =
        parse("{\"defaults\": {\"lifetimeMs\": \"forever\"}}");
    al_config_values values;
    al_config_values_of(config, &values);
    assert_int_equal(values.default_lifetime_ms, ALINEO_FOREVER);
}

static void a_config_of_the_original_chooses_its_provider(void **state) {
    (void)state;
    static const char *const texts[] = {
        "{\"serverUrl\": \"http://127.0.0.1:8080\"}", "{\"apiKey\": \"\"}",
        "{\"useServerProxy\": true}",
        ("{\"serverUrl\": \"http://127.0.0.1:8080\", \"apiKey\": \"\", \"adapterPath\":"
         " \"./.alineo/ledger.db\", \"useServerProxy\": true, \"agentsDir\": \"./agents\","
         " \"defaults\": {\"resources\": {\"cpu\": \"1000m\", \"memory\": \"1Gi\"}}}")};
    for (size_t i = 0; i < AL_COUNT(texts); i++) {
        al_auto(alineo_config_free) alineo_config *config = parse(texts[i]);
        assert_string_equal(alineo_config_provider(config), "opensandbox");
        assert_string_equal(alineo_config_storage(config), "sqlite");
    }
    al_auto(alineo_config_free) alineo_config *named =
        parse("{\"provider\": \"local\", \"serverUrl\": \"http://x\"}");
    assert_string_equal(alineo_config_provider(named), "local");
    al_auto(alineo_config_free) alineo_config *path_only = parse("{\"adapterPath\": \"x.db\"}");
    assert_string_equal(alineo_config_provider(path_only), "local");
}

static void the_environment_goes_before_the_config_unless_it_is_empty(void **state) {
    (void)state;
    const char *text = "{\"provider\": \"acme\", \"storage\": {\"adapter\": \"memory\"}}";
    test_setenv("ALINEO_PROVIDER", "other");
    test_setenv("ALINEO_STORAGE", "postgres");
    al_auto(alineo_config_free) alineo_config *overridden = parse(text);
    assert_string_equal(alineo_config_provider(overridden), "other");
    assert_string_equal(alineo_config_storage(overridden), "postgres");
    test_setenv("ALINEO_PROVIDER", "");
    test_setenv("ALINEO_STORAGE", "");
    al_auto(alineo_config_free) alineo_config *plain = parse(text);
    assert_string_equal(alineo_config_provider(plain), "acme");
    assert_string_equal(alineo_config_storage(plain), "memory");
}

static void a_malformed_id_in_the_environment_is_an_argument_not_a_config(void **state) {
    (void)state;
    static const char *const ids[] = {"../evil/x",
                                      "a/b",
                                      ".",
                                      "/abs",
                                      "A",
                                      "-x",
                                      ("aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffff"
                                       "ffffg1234")};
    for (size_t i = 0; i < AL_COUNT(ids); i++) {
        test_setenv("ALINEO_PROVIDER", ids[i]);
        check_refused_n("{}", 2, ALINEO_INVALID_ARGUMENT,
                        (const char *const[]){"ALINEO_PROVIDER", NULL});
    }
    test_setenv("ALINEO_PROVIDER", NULL);
}

static void a_relative_home_is_made_absolute(void **state) {
    (void)state;
    test_setenv("ALINEO_HOME", "state/../here");
    al_auto(alineo_config_free) alineo_config *config = parse("{}");
    al_autofree char *here = getcwd(NULL, 0);
    al_autofree char *wanted = al_strf("%s/here", here);
    al_autofree char *run = al_strf("%s/here/run", here);
    assert_string_equal(alineo_config_home(config), wanted);
    assert_string_equal(config->run, run);
}

static void without_a_home_the_users_own_folders_are_taken(void **state) {
    (void)state;
    test_setenv("ALINEO_HOME", "");
    al_auto(alineo_config_free) alineo_config *config = parse("{}");
    if (geteuid() == 0) {
        assert_string_equal(alineo_config_home(config), "/var/lib/alineo");
        assert_string_equal(config->run, "/run/alineo");
    } else {
        assert_true(al_str_ends(alineo_config_home(config), "/.local/share/alineo"));
    }
}

static void a_held_config_outlives_its_first_owner(void **state) {
    (void)state;
    alineo_config *config = parse("{\"provider\": \"acme\"}");
    alineo_config *held = al_config_ref(config);
    alineo_config_free(config);
    assert_string_equal(alineo_config_provider(held), "acme");
    alineo_config_free(held);
    alineo_config_free(NULL);
}

/* --- mistakes --------------------------------------------------------------------------------- */

static void what_is_not_json_is_refused_with_line_and_column(void **state) {
    (void)state;
    CHECK_REFUSED("{\"provider\": \"local\",\n  // a comment\n}", "c.json:2:3: ");
    CHECK_REFUSED("{\"provider\": /* x */ \"local\"}", "c.json:1:14: ");
    CHECK_REFUSED("{\"provider\": \"local\",\n}", "c.json:1:21: a comma");
    CHECK_REFUSED("{\"require\": [\"signals\",]}", "c.json:1:23: ");
    CHECK_REFUSED("{\"provider\": \"loc", "c.json:1:");
    CHECK_REFUSED("{} {}", "c.json:1:4: ");
    CHECK_REFUSED("{'provider': 1}", "c.json:1:2: ");
}

static void a_repeated_key_is_refused_with_its_place(void **state) {
    (void)state;
    CHECK_REFUSED("{\"provider\": \"a\",\n \"provider\": \"b\"}", "c.json:2:2: ", "provider");
    CHECK_REFUSED("{\"provider\": \"a\", \"prov\\u0069der\": \"b\"}", "c.json:1:", "provider");
    CHECK_REFUSED("{\"providers\": {\"a\": {}, \"a\": {}}}", "c.json:1:25: ");
}

static void other_encodings_are_told_by_name(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *says;
    } rows[] = {{"\xef\xbb\xbf{}", 5, "byte order mark"},
                {"\xff\xfe{\0}\0", 6, "UTF-16"},
                {"\xfe\xff\0{\0}", 6, "UTF-16"},
                {"{\0}\0", 4, "UTF-16"},
                {"\0{\0}", 4, "UTF-16"},
                {"{\"provider\":\xef\xbb\xbf\"a\"}", 18, "c.json:1:13: "},
                {"", 0, "is empty"}};
    for (size_t i = 0; i < AL_COUNT(rows); i++)
        check_refused_n(rows[i].bytes, rows[i].size, ALINEO_CONFIG_INVALID,
                        (const char *const[]){"c.json:1:", rows[i].says, NULL});
}

static void a_value_of_the_wrong_type_is_refused_with_its_key(void **state) {
    (void)state;
    CHECK_REFUSED("[]", "c.json:1:1: ", "an array", "an object");
    CHECK_REFUSED("{\"provider\": 7}", "c.json:1:2: provider: is a number", "a string");
    CHECK_REFUSED("{\"providers\": {\"a\": []}}", "providers.a: is an array");
    CHECK_REFUSED("{\"storage\": \"sqlite\"}", "storage: is a string, it must be an object");
    CHECK_REFUSED("{\"storage\": {\"adapter\": 1}}", "storage.adapter: is a number");
    CHECK_REFUSED("{\"useServerProxy\": \"yes\"}", "useServerProxy: is a string");
    CHECK_REFUSED("{\"maxConcurrency\": 1.5}", "maxConcurrency: must be an integer");
    CHECK_REFUSED("{\"maxConcurrency\": 0}", "maxConcurrency: must be an integer of at least 1");
    CHECK_REFUSED("{\"maxConcurrency\": 9223372036854775808}",
                  "maxConcurrency: must be an integer");
    CHECK_REFUSED("{\"require\": [1]}", "require[0]: is a number");
    CHECK_REFUSED("{\"pluginPath\": 3}", "pluginPath: is a number");
    CHECK_REFUSED("{\"pluginPath\": [3]}", "pluginPath[0]: is a number");
    CHECK_REFUSED("{\"plugins\": {\"provider/a\": 3}}", "is a number");
    CHECK_REFUSED("{\"defaults\": {\"lifetimeMs\": true}}", "defaults.lifetimeMs: is a bool");
    CHECK_REFUSED("{\"defaults\": {\"resources\": {\"cpu\": 1}}}", "defaults.resources.cpu: is ");
}

static void a_value_that_cannot_be_is_refused(void **state) {
    (void)state;
    CHECK_REFUSED("{\"defaults\": {\"resources\": {\"cpu\": \"lots\"}}}", "\"lots\"");
    CHECK_REFUSED("{\"defaults\": {\"resources\": {\"cpu\": \"0\"}}}", "defaults.resources.cpu");
    CHECK_REFUSED("{\"defaults\": {\"resources\": {\"memory\": \"1GiB\"}}}", "\"1GiB\" is no size");
    CHECK_REFUSED("{\"defaults\": {\"resources\": {\"pids\": 0}}}", "defaults.resources.pids");
    CHECK_REFUSED("{\"defaults\": {\"lifetimeMs\": 0}}", "defaults.lifetimeMs");
    CHECK_REFUSED("{\"defaults\": {\"lifetimeMs\": \"10s\"}}", "defaults.lifetimeMs");
    CHECK_REFUSED("{\"defaults\": {\"image\": \"\"}}", "defaults.image: is empty");
    CHECK_REFUSED("{\"ledger\": {\"onFailure\": \"drop\"}}", "\"hold\" or \"gap\"");
    CHECK_REFUSED("{\"ledger\": {\"queueBytes\": 10}}", "ledger.queueBytes");
    CHECK_REFUSED("{\"require\": [\"signal\"]}", "require[0]: ", "did you mean \"signals\"?");
    CHECK_REFUSED("{\"require\": [\"snapshot=tape\"]}", "\"tape\"");
}

static void an_unknown_key_suggests_the_nearest(void **state) {
    (void)state;
    CHECK_REFUSED("{\"provder\": \"local\"}",
                  "c.json:1:2: provder: ", "did you mean \"provider\"?");
    CHECK_REFUSED("{\"defaults\": {\"imgae\": \"x\"}}", "defaults.imgae", "\"image\"?");
    CHECK_REFUSED("{\"defaults\": {\"resources\": {\"mem\": \"1Gi\"}}}", "defaults.resources.mem");
    CHECK_REFUSED("{\"ledger\": {\"patienceMS\": 1}}", "did you mean \"patienceMs\"?");
    CHECK_REFUSED("{\"somethingElse\": 1}", "somethingElse: there is no such key");
}

static void a_malformed_plugin_name_is_refused_where_it_stands(void **state) {
    (void)state;
    CHECK_REFUSED("{\"provider\": \"../evil/x\"}", "provider: \"../evil/x\" is no plugin's id");
    CHECK_REFUSED("{\"provider\": \"\"}", "provider: is empty");
    CHECK_REFUSED("{\"provider\": \"/abs\"}", "provider: ");
    CHECK_REFUSED("{\"providers\": {\"A\": {}}}", "providers.A: is no provider's id");
    CHECK_REFUSED("{\"storage\": {\"adapter\": \".\"}}", "storage.adapter: ");
    CHECK_REFUSED("{\"credentials\": {\"broker\": \"a b\"}}", "credentials.broker: ");
    CHECK_REFUSED("{\"plugins\": {\"acme\": \"x\"}}", "is no plugin's name");
    CHECK_REFUSED("{\"plugins\": {\"provider/\": \"x\"}}", "is no plugin's name");
    CHECK_REFUSED("{\"plugins\": {\"runtime/a\": \"x\"}}", "is no plugin's name");
}

static void a_text_that_is_too_large_is_refused(void **state) {
    (void)state;
    size_t size = (size_t)10 << 20;
    al_autofree char *text = malloc(size);
    assert_non_null(text);
    memset(text, ' ', size);
    text[0] = '{';
    text[size - 1] = '}';
    check_refused_n(text, size, ALINEO_CONFIG_INVALID,
                    (const char *const[]){"c.json", "larger than", NULL});
}

/* 10,000 levels on a thread with little stack. */
static void *parse_deep(void *text) {
    check_refused_n(text, strlen(text), ALINEO_CONFIG_INVALID,
                    (const char *const[]){"c.json:1:", NULL});
    return NULL;
}

static void deep_nesting_is_refused_without_much_stack(void **state) {
    (void)state;
    static char text[20001];
    memset(text, '[', 10000);
    memset(text + 10000, ']', 10000);
    pthread_attr_t attributes;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, (size_t)256 << 10), 0);
    assert_int_equal(pthread_create(&thread, &attributes, parse_deep, text), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)pthread_attr_destroy(&attributes);
}

static void no_text_at_all_is_an_argument_error(void **state) {
    (void)state;
    alineo_config *config = NULL;
    assert_int_equal(alineo_config_parse(NULL, 5, NULL, &config, NULL), ALINEO_INVALID_ARGUMENT);
    assert_int_equal(alineo_config_parse(NULL, 0, NULL, &config, NULL), ALINEO_CONFIG_INVALID);
}

/* --- without memory --------------------------------------------------------------------------- */

static void parse_all_keys(void *state) {
    (void)state;
    static const char text[] =
        "{\"provider\": \"acme\", \"agentsDir\": \"./agents\", \"providers\": {\"acme\": {}},"
        " \"defaults\": {\"image\": \"debian:${KIND}\", \"resources\": {\"cpu\": \"500m\"}},"
        " \"storage\": {\"adapter\": \"memory\"}, \"credentials\": {\"broker\": \"vault\"},"
        " \"pluginPath\": [\"/opt/a\"], \"plugins\": {\"provider/acme\": \"x.so\"},"
        " \"require\": [\"signals\"], \"allowMounts\": [\"/data\"]}";
    alineo_config *config = NULL;
    alineo_error *error = NULL;
    alineo_code code = alineo_config_parse(text, strlen(text), "c.json", &config, &error);
    if (!fail_alloc_happened() || code == ALINEO_OK) {
        assert_int_equal(code, ALINEO_OK);
        assert_string_equal(config->image, "debian:12");
        alineo_config_free(config);
        return;
    }
    assert_int_equal(code, ALINEO_NO_MEMORY);
    assert_int_equal(alineo_error_code(error), ALINEO_NO_MEMORY);
    assert_null(config);
    alineo_error_free(error);
}

static void every_allocation_may_fail_while_a_config_is_read(void **state) {
    (void)state;
    test_setenv("KIND", "12");
    assert_true(fail_alloc_each(parse_all_keys, NULL) > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(an_empty_object_means_all_defaults),
        TEST(every_key_of_the_core_is_taken),
        TEST(a_lifetime_may_be_for_ever),
        TEST(a_config_of_the_original_chooses_its_provider),
        TEST(the_environment_goes_before_the_config_unless_it_is_empty),
        TEST(a_malformed_id_in_the_environment_is_an_argument_not_a_config),
        TEST(a_relative_home_is_made_absolute),
        TEST(without_a_home_the_users_own_folders_are_taken),
        TEST(a_held_config_outlives_its_first_owner),
        TEST(what_is_not_json_is_refused_with_line_and_column),
        TEST(a_repeated_key_is_refused_with_its_place),
        TEST(other_encodings_are_told_by_name),
        TEST(a_value_of_the_wrong_type_is_refused_with_its_key),
        TEST(a_value_that_cannot_be_is_refused),
        TEST(an_unknown_key_suggests_the_nearest),
        TEST(a_malformed_plugin_name_is_refused_where_it_stands),
        TEST(a_text_that_is_too_large_is_refused),
        TEST(deep_nesting_is_refused_without_much_stack),
        TEST(no_text_at_all_is_an_argument_error),
        TEST(every_allocation_may_fail_while_a_config_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
