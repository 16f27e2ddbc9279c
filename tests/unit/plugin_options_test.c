/* SPDX-License-Identifier: Apache-2.0 */
/* A section of a config against the options that a plugin declares. */
#include "core/plugin_options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/util/str.h"
#include "tests/support/environment.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/test.h"

#define SPEC(name, type, flags, value)                                                             \
    static const alineo_option_spec name##_spec = {                                                \
        sizeof(alineo_option_spec), #name, (type), (flags), (value), "What " #name " is."}

SPEC(text, ALINEO_OPTION_STRING, 0, "none");
SPEC(token, ALINEO_OPTION_STRING, ALINEO_OPTION_SECRET, NULL);
SPEC(count, ALINEO_OPTION_INTEGER, 0, "-3");
SPEC(pin, ALINEO_OPTION_INTEGER, ALINEO_OPTION_SECRET, NULL);
SPEC(fast, ALINEO_OPTION_BOOLEAN, 0, "true");
SPEC(wait, ALINEO_OPTION_DURATION, 0, "10s");
SPEC(room, ALINEO_OPTION_BYTES, 0, "1Mi");
SPEC(names, ALINEO_OPTION_STRINGS, 0, "[\"a\",\"b\"]");
SPEC(shape, ALINEO_OPTION_JSON, 0, "{\"k\":1}");
SPEC(file, ALINEO_OPTION_PATH, 0, "state/x");
SPEC(url, ALINEO_OPTION_STRING, ALINEO_OPTION_REQUIRED, NULL);

static const alineo_option_spec *const all_specs[] = {
    &text_spec, &token_spec, &count_spec, &pin_spec,  &fast_spec, &wait_spec,
    &room_spec, &names_spec, &shape_spec, &file_spec, NULL};
static const alineo_option_spec *const required_specs[] = {&url_spec, NULL};

/* Options of provider "p", whose section is `json`. */
static alineo_code options_of(const char *json, const alineo_option_spec *const *specs,
                              alineo_config **config, alineo_options **out, alineo_error **err) {
    al_autofree char *text = al_strf("{\"providers\": {\"p\": %s}}", json);
    assert_non_null(text);
    alineo_code code = alineo_config_parse(text, strlen(text), "c.json", config, err);
    if (code != ALINEO_OK)
        return code;
    al_auto(al_section_free) al_section section = {0};
    code = al_section_of(*config, AL_KIND_PROVIDER, "p", &section, err);
    return code == ALINEO_OK ? al_options_new(specs, &section, out, err) : code;
}

static void check_refused(const char *json, const char *says, const char *never) {
    alineo_config *config = NULL;
    alineo_options *options = NULL;
    alineo_error *error = NULL;
    assert_int_equal(options_of(json, all_specs, &config, &options, &error), ALINEO_CONFIG_INVALID);
    assert_null(options);
    const char *message = alineo_error_message(error);
    if (strstr(message, says) == NULL || strstr(message, "c.json:1:") == NULL)
        fail_msg("\"%s\" lacks \"%s\" or its place", message, says);
    if (never != NULL && strstr(message, never) != NULL)
        fail_msg("\"%s\" shows what it must not", message);
    alineo_error_free(error);
    alineo_config_free(config);
}

static void values_are_given_by_their_types(void **state) {
    (void)state;
    al_auto(alineo_config_free) alineo_config *config = NULL;
    al_auto(al_options_free) alineo_options *options = NULL;
    assert_int_equal(
        options_of(
            "{\"text\": \"t\", \"token\": \"k\", \"count\": 12, \"fast\": false, \"wait\": 5,"
            " \"room\": \"2Ki\", \"names\": [], \"shape\": [1, {\"a\": null}], \"file\": "
            "\"f\"}",
            all_specs, &config, &options, NULL),
        ALINEO_OK);
    const char *text = NULL;
    int64_t number = 0;
    int32_t yes = 7;
    const char *const *list = NULL;
    assert_true(al_options_string(options, "text", &text));
    assert_string_equal(text, "t");
    assert_true(al_options_string(options, "token", &text));
    assert_string_equal(text, "k");
    assert_true(al_options_integer(options, "count", &number));
    assert_int_equal(number, 12);
    assert_true(al_options_boolean(options, "fast", &yes));
    assert_int_equal(yes, 0);
    assert_true(al_options_integer(options, "wait", &number));
    assert_int_equal(number, 5);
    assert_true(al_options_integer(options, "room", &number));
    assert_int_equal(number, 2048);
    assert_true(al_options_strings(options, "names", &list));
    assert_null(list[0]);
    assert_true(al_options_string(options, "shape", &text));
    assert_string_equal(text, "[1,{\"a\":null}]");
    al_autofree char *here = getcwd(NULL, 0);
    al_autofree char *file = al_strf("%s/f", here);
    assert_true(al_options_string(options, "file", &text));
    assert_string_equal(text, file);
}

static void defaults_stand_where_nothing_is_said(void **state) {
    (void)state;
    al_auto(alineo_config_free) alineo_config *config = NULL;
    al_auto(al_options_free) alineo_options *options = NULL;
    assert_int_equal(options_of("{}", all_specs, &config, &options, NULL), ALINEO_OK);
    const char *text = NULL;
    int64_t number = 0;
    int32_t yes = 0;
    const char *const *list = NULL;
    assert_true(al_options_string(options, "text", &text));
    assert_string_equal(text, "none");
    assert_true(al_options_integer(options, "count", &number));
    assert_int_equal(number, -3);
    assert_true(al_options_boolean(options, "fast", &yes));
    assert_int_equal(yes, 1);
    assert_true(al_options_integer(options, "wait", &number));
    assert_int_equal(number, 10000);
    assert_true(al_options_integer(options, "room", &number));
    assert_int_equal(number, 1 << 20);
    assert_true(al_options_strings(options, "names", &list));
    assert_string_equal(list[1], "b");
    assert_null(list[2]);
    assert_true(al_options_string(options, "shape", &text));
    assert_string_equal(text, "{\"k\":1}");
    al_autofree char *file = al_strf("%s/state/x", alineo_config_home(config));
    assert_true(al_options_string(options, "file", &text));
    assert_string_equal(text, file);
}

static void a_key_without_a_value_or_of_another_type_gives_nothing(void **state) {
    (void)state;
    al_auto(alineo_config_free) alineo_config *config = NULL;
    al_auto(al_options_free) alineo_options *options = NULL;
    assert_int_equal(options_of("{}", all_specs, &config, &options, NULL), ALINEO_OK);
    const char *text = "untouched";
    int64_t number = 4711;
    int32_t yes = 4711;
    const char *const *list = NULL;
    assert_false(al_options_string(options, "token", &text));
    assert_false(al_options_string(options, "count", &text));
    assert_false(al_options_string(options, "absent", &text));
    assert_false(al_options_string(options, NULL, &text));
    assert_false(al_options_string(NULL, "text", &text));
    assert_false(al_options_integer(options, "text", &number));
    assert_false(al_options_boolean(options, "count", &yes));
    assert_false(al_options_strings(options, "shape", &list));
    assert_string_equal(text, "untouched");
    assert_int_equal(number, 4711);
    assert_int_equal(yes, 4711);
    assert_null(list);
}

static void a_variable_may_stand_for_a_value_of_any_type(void **state) {
    (void)state;
    test_setenv("AL_TEST_N", "42");
    test_setenv("AL_TEST_B", "false");
    test_setenv("AL_TEST_L", "[\"x\"]");
    al_auto(alineo_config_free) alineo_config *config = NULL;
    al_auto(al_options_free) alineo_options *options = NULL;
    assert_int_equal(options_of("{\"count\": \"${AL_TEST_N}\", \"fast\": \"${AL_TEST_B}\","
                                " \"names\": \"${AL_TEST_L}\", \"wait\": \"${AL_TEST_N}s\"}",
                                all_specs, &config, &options, NULL),
                     ALINEO_OK);
    int64_t number = 0;
    int32_t yes = 7;
    const char *const *list = NULL;
    assert_true(al_options_integer(options, "count", &number));
    assert_int_equal(number, 42);
    assert_true(al_options_boolean(options, "fast", &yes));
    assert_int_equal(yes, 0);
    assert_true(al_options_strings(options, "names", &list));
    assert_string_equal(list[0], "x");
    assert_true(al_options_integer(options, "wait", &number));
    assert_int_equal(number, 42000);
}

static void mistakes_are_told_with_place_and_wanted_type(void **state) {
    (void)state;
    check_refused("{\"text\": 5}", "providers.p.text: is a number, it must be a string", NULL);
    check_refused("{\"count\": \"5\"}", "is a string, it must be an integer", NULL);
    check_refused("{\"count\": 1.5}", "must be an integer", NULL);
    check_refused("{\"count\": 9223372036854775808}", "must be an integer", NULL);
    check_refused("{\"fast\": 1}", "it must be true or false", NULL);
    check_refused("{\"wait\": -1}", "is negative", NULL);
    check_refused("{\"wait\": \"-1s\"}", "is \"-1s\"", NULL);
    check_refused("{\"wait\": \"soon\"}", "is \"soon\", it must be a duration", NULL);
    check_refused("{\"room\": \"5 MB\"}", "is \"5 MB\", it must be a size", NULL);
    check_refused("{\"room\": [5]}", "is an array", NULL);
    check_refused("{\"names\": \"a\"}", "it must be an array of strings", NULL);
    check_refused("{\"names\": [\"a\", 5]}", "providers.p.names[1]: is a number", NULL);
    check_refused("{\"file\": \"\"}", "it must be a path", NULL);
    check_refused("{\"txt\": \"5\"}", "has no option \"txt\"; did you mean \"text\"?", NULL);
    check_refused("{\"entirely\": \"5\"}", "has no option \"entirely\"", NULL);
}

static void a_secret_or_what_a_variable_held_is_never_shown(void **state) {
    (void)state;
    test_setenv("AL_TEST_SECRET", "hush");
    check_refused("{\"token\": 12345}", "must be a string", "12345");
    check_refused("{\"wait\": \"${AL_TEST_SECRET}\"}", "must be a duration", "hush");
    check_refused("{\"pin\": \"${AL_TEST_SECRET}\"}", "must be an integer", "hush");
    check_refused("{\"pin\": \"hush\"}", "must be an integer", "hush");
    check_refused("{\"tokn\": \"hush\"}", "did you mean \"token\"?", "hush");
}

static void a_word_with_a_colon_in_front_is_no_path(void **state) {
    (void)state;
    al_auto(alineo_config_free) alineo_config *config = NULL;
    al_auto(al_options_free) alineo_options *options = NULL;
    assert_int_equal(options_of("{\"file\": \":memory:\"}", all_specs, &config, &options, NULL),
                     ALINEO_OK);
    const char *text = NULL;
    assert_true(al_options_string(options, "file", &text));
    assert_string_equal(text, ":memory:");
}

static void a_required_option_that_is_missing_is_refused(void **state) {
    (void)state;
    alineo_config *config = NULL;
    alineo_options *options = NULL;
    al_auto(alineo_error_free) alineo_error *error = NULL;
    assert_int_equal(options_of("{}", required_specs, &config, &options, &error),
                     ALINEO_CONFIG_INVALID);
    assert_non_null(strstr(alineo_error_message(error),
                           "c.json:1:16: providers.p: the provider plugin \"p\" needs the option "
                           "\"url\""));
    assert_string_equal(alineo_error_hint(error), "What url is.");
    alineo_config_free(config);
}

static void a_plugin_without_options_takes_none(void **state) {
    (void)state;
    alineo_config *config = NULL;
    alineo_options *options = NULL;
    assert_int_equal(options_of("{}", NULL, &config, &options, NULL), ALINEO_OK);
    al_options_free(options);
    alineo_config_free(config);
    config = NULL;
    assert_int_equal(options_of("{\"a\": 1}", NULL, &config, &options, NULL),
                     ALINEO_CONFIG_INVALID);
    alineo_config_free(config);
    al_options_free(NULL);
}

/* --- what a plugin declares ------------------------------------------------------------------- */

static void check_spec(alineo_option_spec spec, al_kind kind, const char *says) {
    const alineo_option_spec *const specs[] = {&text_spec, &spec, NULL};
    al_auto(alineo_error_free) alineo_error *error = NULL;
    assert_int_equal(al_option_spec_check(kind, specs, 1, &error), ALINEO_PLUGIN_INCOMPATIBLE);
    if (strstr(alineo_error_message(error), says) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", alineo_error_message(error), says);
}

static void a_declaration_that_makes_no_sense_is_refused(void **state) {
    (void)state;
    const alineo_option_spec good = {sizeof(good), "k", ALINEO_OPTION_INTEGER, 0, "1", NULL};
    const alineo_option_spec *const specs[] = {&good, NULL};
    assert_int_equal(al_option_spec_check(AL_KIND_PROVIDER, specs, 0, NULL), ALINEO_OK);
    alineo_option_spec bad = good;
    bad.size = 8;
    check_spec(bad, AL_KIND_PROVIDER, "wrong size");
    bad = good;
    bad.key = "";
    check_spec(bad, AL_KIND_PROVIDER, "no key");
    bad = good;
    bad.key = "text";
    check_spec(bad, AL_KIND_PROVIDER, "\"text\" twice");
    bad = good;
    bad.type = 99;
    check_spec(bad, AL_KIND_PROVIDER, "type 99");
    bad = good;
    bad.flags = 8;
    check_spec(bad, AL_KIND_PROVIDER, "flags 0x8");
    bad = good;
    bad.default_value = "many";
    check_spec(bad, AL_KIND_PROVIDER, "\"many\"");
    bad = good;
    bad.key = "adapter";
    check_spec(bad, AL_KIND_STORAGE, "core's own");
    bad.key = "broker";
    check_spec(bad, AL_KIND_CREDENTIALS, "core's own");
}

/* --- sections --------------------------------------------------------------------------------- */

static const char *entry_of(const char *json, al_kind kind, const char *id, const char *key,
                            char *out) {
    alineo_config *config = NULL;
    assert_int_equal(alineo_config_parse(json, strlen(json), "c.json", &config, NULL), ALINEO_OK);
    al_section section = {0};
    assert_int_equal(al_section_of(config, kind, id, &section, NULL), ALINEO_OK);
    const char *found = NULL;
    for (size_t i = 0; i < section.count; i++) {
        if (strcmp(section.entries[i].key, key) != 0)
            continue;
        const char *text = section.entries[i].text;
        if (text == NULL)
            assert_true(al_json_get_str(section.entries[i].node, &text));
        (void)al_str_copy(out, 256, text);
        found = out;
    }
    al_section_free(&section);
    alineo_config_free(config);
    return found;
}

static void a_section_is_for_the_plugin_it_names_alone(void **state) {
    (void)state;
    char value[256];
    const char *text = "{\"storage\": {\"adapter\": \"postgres\", \"url\": \"u\"},"
                       " \"credentials\": {\"broker\": \"vault\", \"at\": \"v\"},"
                       " \"providers\": {\"a\": {\"x\": \"1\"}, \"b\": {\"x\": \"2\"}}}";
    assert_string_equal(entry_of(text, AL_KIND_STORAGE, "postgres", "url", value), "u");
    assert_null(entry_of(text, AL_KIND_STORAGE, "postgres", "adapter", value));
    assert_null(entry_of(text, AL_KIND_STORAGE, "memory", "url", value));
    assert_string_equal(entry_of(text, AL_KIND_CREDENTIALS, "vault", "at", value), "v");
    assert_null(entry_of(text, AL_KIND_CREDENTIALS, "other", "at", value));
    assert_string_equal(entry_of(text, AL_KIND_PROVIDER, "b", "x", value), "2");
    assert_null(entry_of(text, AL_KIND_PROVIDER, "c", "x", value));
    const char *unnamed = "{\"credentials\": {\"at\": \"v\"}, \"storage\": {\"path\": \"p\"}}";
    assert_string_equal(entry_of(unnamed, AL_KIND_CREDENTIALS, "any", "at", value), "v");
    assert_string_equal(entry_of(unnamed, AL_KIND_STORAGE, "sqlite", "path", value), "p");
    assert_null(entry_of(unnamed, AL_KIND_STORAGE, "memory", "path", value));
}

static void keys_at_the_top_stand_for_options(void **state) {
    (void)state;
    char value[256];
    const char *text =
        "{\"serverUrl\": \"http://s\", \"apiKey\": \"k\", \"adapterPath\": \"l.db\"}";
    assert_string_equal(entry_of(text, AL_KIND_PROVIDER, "opensandbox", "serverUrl", value),
                        "http://s");
    assert_string_equal(entry_of(text, AL_KIND_PROVIDER, "opensandbox", "apiKey", value), "k");
    assert_null(entry_of(text, AL_KIND_PROVIDER, "local", "serverUrl", value));
    assert_string_equal(entry_of(text, AL_KIND_STORAGE, "sqlite", "path", value), "l.db");
}

static void a_key_at_the_top_and_its_option_together_are_refused(void **state) {
    (void)state;
    const char *text = "{\"adapterPath\": \"a.db\", \"storage\": {\"path\": \"b.db\"}}";
    al_auto(alineo_config_free) alineo_config *config = NULL;
    assert_int_equal(alineo_config_parse(text, strlen(text), "c.json", &config, NULL), ALINEO_OK);
    al_auto(al_section_free) al_section section = {0};
    al_auto(alineo_error_free) alineo_error *error = NULL;
    assert_int_equal(al_section_of(config, AL_KIND_STORAGE, "sqlite", &section, &error),
                     ALINEO_CONFIG_INVALID);
    assert_non_null(strstr(alineo_error_message(error), "c.json:1:2: adapterPath: is set, and so"));
}

static void the_ledgers_place_follows_from_where_the_config_is(void **state) {
    (void)state;
    char value[256];
    al_autofree char *in_home = al_strf("%s/ledger.db", getenv("ALINEO_HOME"));
    assert_string_equal(entry_of("{}", AL_KIND_STORAGE, "sqlite", "path", value), in_home);
    assert_null(entry_of("{}", AL_KIND_STORAGE, "memory", "path", value));
    test_write_file("alineo.config.json", "{}", 0600);
    al_auto(alineo_config_free) alineo_config *config = NULL;
    assert_int_equal(alineo_config_load(NULL, &config, NULL), ALINEO_OK);
    al_auto(al_section_free) al_section section = {0};
    assert_int_equal(al_section_of(config, AL_KIND_STORAGE, "sqlite", &section, NULL), ALINEO_OK);
    al_autofree char *here = getcwd(NULL, 0);
    al_autofree char *in_project = al_strf("%s/.alineo/ledger.db", here);
    assert_string_equal(section.entries[0].text, in_project);
}

/* --- without memory --------------------------------------------------------------------------- */

static void take_options(void *state) {
    (void)state;
    alineo_config *config = NULL;
    alineo_options *options = NULL;
    /* The text around it is made by the test itself, so only what follows may fail. */
    static const char text[] =
        "{\"providers\": {\"p\": {\"text\": \"t\", \"names\": [\"x\", \"y\"],"
        " \"shape\": {\"a\": [\"b\"]}, \"file\": \"f\"}}}";
    alineo_code code = alineo_config_parse(text, strlen(text), "c.json", &config, NULL);
    al_section section = {0};
    if (code == ALINEO_OK)
        code = al_section_of(config, AL_KIND_PROVIDER, "p", &section, NULL);
    if (code == ALINEO_OK)
        code = al_options_new(all_specs, &section, &options, NULL);
    assert_true(code == ALINEO_OK || code == ALINEO_NO_MEMORY);
    assert_true(code == ALINEO_OK || fail_alloc_happened());
    const char *const *list = NULL;
    if (code == ALINEO_OK)
        assert_true(al_options_strings(options, "names", &list) && list[2] == NULL);
    al_options_free(options);
    al_section_free(&section);
    alineo_config_free(config);
}

static void every_allocation_may_fail_while_options_are_taken(void **state) {
    (void)state;
    assert_true(fail_alloc_each(take_options, NULL) > 20);
}

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_given_by_their_types),
        cmocka_unit_test(defaults_stand_where_nothing_is_said),
        cmocka_unit_test(a_key_without_a_value_or_of_another_type_gives_nothing),
        cmocka_unit_test(a_variable_may_stand_for_a_value_of_any_type),
        cmocka_unit_test(mistakes_are_told_with_place_and_wanted_type),
        cmocka_unit_test(a_secret_or_what_a_variable_held_is_never_shown),
        cmocka_unit_test(a_word_with_a_colon_in_front_is_no_path),
        cmocka_unit_test(a_required_option_that_is_missing_is_refused),
        cmocka_unit_test(a_plugin_without_options_takes_none),
        cmocka_unit_test(a_declaration_that_makes_no_sense_is_refused),
        cmocka_unit_test(a_section_is_for_the_plugin_it_names_alone),
        cmocka_unit_test(keys_at_the_top_stand_for_options),
        cmocka_unit_test(a_key_at_the_top_and_its_option_together_are_refused),
        cmocka_unit_test(the_ledgers_place_follows_from_where_the_config_is),
        cmocka_unit_test(every_allocation_may_fail_while_options_are_taken),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
