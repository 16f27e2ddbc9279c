/* SPDX-License-Identifier: Apache-2.0 */
/* What may be asked for, and that it reaches the command as it was written. */
#include "support/exec_world.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/util/cleanup.h"
#include "core/util/json.h"
#include "core/util/str.h"

/* Refused with that code, and nothing was begun. */
static void refused(exec_world *world, const char *command, const alineo_exec_options *options,
                    alineo_code code) {
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    assert_int_equal(alineo_sandbox_exec(world->sandbox, command, options, &exec, &err), code);
    assert_null(exec);
    assert_int_equal(alineo_error_code(err), code);
    alineo_error_free(err);
    assert_int_equal(atomic_load(&world->provider.calls.starts), 0);
    assert_int_equal(exec_event_count(world, 1, "exec_start"), 0);
}

static void an_exec_that_was_not_started_is_refused_by_every_call(void **state) {
    (void)state;
    alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    alineo_output output = ALINEO_OUTPUT_INIT;
    size_t written = 1;
    const alineo_code codes[] = {
        alineo_exec_next(NULL, 0, &event, NULL),
        alineo_exec_wait(NULL, &result, NULL),
        alineo_exec_pipe(NULL, -1, -1, &result, NULL),
        alineo_exec_output(NULL, 0, &output, &result, NULL),
        alineo_exec_write_stdin(NULL, "x", 1, 0, &written, NULL),
        alineo_exec_close_stdin(NULL, NULL),
        alineo_exec_signal(NULL, 15, NULL),
        alineo_exec_resize(NULL, 24, 80, NULL),
        alineo_exec_cancel(NULL, NULL),
    };
    for (size_t i = 0; i < AL_COUNT(codes); i++)
        assert_int_equal(codes[i], ALINEO_INVALID_ARGUMENT);
    assert_int_equal(written, 0);
    alineo_exec_free(NULL);
}

static void what_makes_no_sense_is_refused_before_anything(void **state) {
    exec_world *world = *state;
    const char *none[] = {NULL};
    const char *empty[] = {"", NULL};
    const char *argv[] = {"true", NULL};
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    refused(world, NULL, NULL, ALINEO_INVALID_ARGUMENT);
    options.argv = none;
    refused(world, NULL, &options, ALINEO_INVALID_ARGUMENT);
    options.argv = empty;
    refused(world, NULL, &options, ALINEO_INVALID_ARGUMENT);
    options.argv = argv;
    refused(world, "true", &options, ALINEO_INVALID_ARGUMENT);
    options.shell = "/bin/sh";
    refused(world, NULL, &options, ALINEO_INVALID_ARGUMENT);
    options = (alineo_exec_options)ALINEO_EXEC_OPTIONS_INIT;
    options.timeout_ms = -1;
    refused(world, "true", &options, ALINEO_INVALID_ARGUMENT);
    options.timeout_ms = 0;
    options.strict = 7;
    refused(world, "true", &options, ALINEO_INVALID_ARGUMENT);
    options.strict = ALINEO_DEFAULT;
    options.stdin_kind = 4;
    refused(world, "true", &options, ALINEO_INVALID_ARGUMENT);
    options.stdin_kind = ALINEO_STDIN_BYTES;
    options.stdin_size = 1;
    refused(world, "true", &options, ALINEO_INVALID_ARGUMENT);
    options.stdin_kind = ALINEO_STDIN_NONE;
    options.stdin_data = "x";
    refused(world, "true", &options, ALINEO_INVALID_ARGUMENT);
    options = (alineo_exec_options)ALINEO_EXEC_OPTIONS_INIT;
    options.cwd = "relative";
    refused(world, "true", &options, ALINEO_INVALID_ARGUMENT);
    options.cwd = NULL;
    options.shell = "sh";
    refused(world, "true", &options, ALINEO_INVALID_ARGUMENT);
    options.shell = NULL;
    options.user = "";
    refused(world, "true", &options, ALINEO_INVALID_ARGUMENT);
    options.user = NULL;
    options.rows = 24;
    refused(world, "true", &options, ALINEO_INVALID_ARGUMENT);
    options.size = 3;
    refused(world, "true", &options, ALINEO_INVALID_ARGUMENT);
}

static void names_that_no_variable_can_have_are_refused(void **state) {
    exec_world *world = *state;
    const char *names[] = {"A;touch p", "", "A=B", "A\nB", "1A", "ALINEO_EXEC_ID"};
    for (size_t i = 0; i < AL_COUNT(names); i++) {
        const char *env[] = {names[i], "x", NULL};
        alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
        options.env = env;
        refused(world, "true", &options, ALINEO_INVALID_ARGUMENT);
    }
    exec_gives(world, "ls", NULL, NULL, 0);
}

static void a_capability_that_is_missing_is_refused_before_anything(void **state) {
    exec_world *world = *state;
    const char *require[] = {"pty", NULL};
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.require = require;
    refused(world, "true", &options, ALINEO_CAPABILITY_UNSUPPORTED);
    options.require = NULL;
    options.user = "nobody";
    refused(world, "true", &options, ALINEO_CAPABILITY_UNSUPPORTED);
    options.user = NULL;
    options.pty = 1;
    refused(world, "true", &options, ALINEO_CAPABILITY_UNSUPPORTED);
}

static int setup_without_stdin(void **state) {
    exec_world *world = calloc(1, sizeof(*world));
    assert_non_null(world);
    world->provider.behaviour.has_no_stdin = true;
    exec_world_open(world, NULL);
    *state = world;
    return 0;
}

static void stdin_that_the_provider_lacks_is_refused_before_anything(void **state) {
    exec_world *world = *state;
    for (alineo_stdin_kind kind = ALINEO_STDIN_BYTES; kind <= ALINEO_STDIN_PIPE; kind++) {
        alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
        options.stdin_kind = kind;
        refused(world, "cat", &options, ALINEO_CAPABILITY_UNSUPPORTED);
    }
    exec_gives(world, "cat; echo x", NULL, "x\n", 2);
}

static char *repeated(const char *begin, char c, size_t size) {
    size_t begin_size = strlen(begin);
    char *text = malloc(size + 1);
    assert_non_null(text);
    memset(text, c, size);
    memcpy(text, begin, begin_size);
    text[size] = '\0';
    return text;
}

static void what_no_kernel_takes_is_too_large_before_anything(void **state) {
    exec_world *world = *state;
    al_autofree char *value = repeated("", 'v', 131072);
    al_autofree char *script = repeated("true #", 'x', 16 * 1024 * 1024 + 1);
    const char *argv[] = {"true", value, NULL};
    const char *env[] = {"A", value, NULL};
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.argv = argv;
    refused(world, NULL, &options, ALINEO_TOO_LARGE);
    options.argv = NULL;
    options.env = env;
    refused(world, "true", &options, ALINEO_TOO_LARGE);
    options.env = NULL;
    refused(world, script, NULL, ALINEO_TOO_LARGE);
}

static void the_largest_that_a_kernel_takes_goes_through(void **state) {
    exec_world *world = *state;
    al_autofree char *value = repeated("", 'v', 131071);
    const char *argv[] = {"printf", "%s", value, NULL};
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.argv = argv;
    exec_gives(world, NULL, &options, value, 131071);
    options.argv = NULL;
    const char *env[] = {"A", value + 2, NULL};
    options.env = env;
    exec_gives(world, "printf %s \"$A\"", &options, value + 2, 131069);
    al_autofree char *command = repeated("printf x #", 'y', 131071);
    exec_gives(world, command, NULL, "x", 1);
}

/* Longer ones are read from descriptor 9, which the commands in them do not see. */
static void a_long_script_runs_with_its_stdin_untouched(void **state) {
    exec_world *world = *state;
    size_t sizes[] = {131072, 140000, 16 * 1024 * 1024};
    for (size_t i = 0; i < AL_COUNT(sizes) && !(exec_is_slow() && i == 2); i++) {
        al_autofree char *script =
            repeated("cat; ls /proc/self/fd | tr '\\n' ' '\n", '#', sizes[i]);
        memcpy(script + sizes[i] - 9, "\necho end", 9);
        alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
        options.stdin_kind = ALINEO_STDIN_BYTES;
        options.stdin_data = "in\n";
        options.stdin_size = 3;
        alineo_output output = ALINEO_OUTPUT_INIT;
        assert_int_equal(exec_run(world, script, &options, &output, NULL), ALINEO_OK);
        assert_true(al_str_starts(output.stdout_data, "in\n0 1 2 "));
        assert_null(strstr(output.stdout_data, " 9 "));
        assert_true(al_str_ends(output.stdout_data, "end\n"));
        alineo_output_clear(&output);
        /* The ledger has all of it. */
        al_auto(al_json_free) al_json *start = exec_event(world, (int32_t)i + 1, "exec_start");
        const char *cmd = NULL;
        assert_true(al_json_get_str(al_json_member(al_json_root(start), "cmd"), &cmd));
        assert_string_equal(cmd, script);
    }
}

/* The parent's own descriptors are not the command's. */
static void a_command_sees_three_descriptors(void **state) {
    exec_world *world = *state;
    assert_int_equal(dup2(1, 200), 200);
    exec_gives(world,
               "for i in $(seq 0 300); do [ -e /proc/$$/fd/$i ] && printf '%s ' $i; done; :", NULL,
               "0 1 2 ", 6);
    assert_int_equal(close(200), 0);
}

static void values_reach_the_command_to_the_byte(void **state) {
    exec_world *world = *state;
    const char *env[] = {"A", "x y", "B", "$(id)", "C", "it's \"q\"", "D", "two\nlines",
                         "E", "",    "F", "a=b=c", "G", "\xff\xfe",   NULL};
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.env = env;
    const char expected[] = "A=x y\0B=$(id)\0C=it's \"q\"\0D=two\nlines\0E=\0F=a=b=c\0G=\xff\xfe";
    exec_gives(world, "env -0 | grep -z '^[A-G]=' | sort -z", &options, expected, sizeof(expected));
}

static void a_folder_with_any_name_is_a_cwd(void **state) {
    exec_world *world = *state;
    alineo_output output = ALINEO_OUTPUT_INIT;
    assert_int_equal(exec_run(world, "mkdir \"a b'c\"; cd \"a b'c\"; pwd", NULL, &output, NULL),
                     ALINEO_OK);
    output.stdout_data[output.stdout_size - 1] = '\0';
    al_autofree char *cwd = al_strdup(output.stdout_data);
    al_autofree char *expected = al_strf("%s\n", cwd);
    alineo_output_clear(&output);
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.cwd = cwd;
    exec_gives(world, "pwd", &options, expected, strlen(expected));
}

static void path_and_home_stay_beside_what_is_added(void **state) {
    exec_world *world = *state;
    const char *env[] = {"A", "1", NULL};
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.env = env;
    exec_gives(world,
               "echo $A; test -n \"$PATH\" && test -n \"$HOME\" && ls / >/dev/null && echo ok",
               &options, "1\nok\n", 5);
}

static void arguments_need_no_quoting(void **state) {
    exec_world *world = *state;
    const char *argv[] = {"printf", "[%s]", "a b", "$HOME", "it's", "*", "", "\xff", NULL};
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.argv = argv;
    exec_gives(world, NULL, &options, "[a b][$HOME][it's][*][][\xff]", 26);
    al_auto(al_json_free) al_json *start = exec_event(world, 1, "exec_start");
    const char *cmd = NULL;
    assert_true(al_json_get_str(al_json_member(al_json_root(start), "cmd"), &cmd));
    assert_string_equal(cmd, "printf '[%s]' 'a b' '$HOME' 'it'\\''s' '*' '' '\xef\xbf\xbd'");
}

static void a_command_may_begin_with_a_dash(void **state) {
    exec_world *world = *state;
    exec_gives(world, "-x 2>/dev/null || echo ran", NULL, "ran\n", 4);
    exec_gives(world, "+x 2>/dev/null || echo ran", NULL, "ran\n", 4);
    exec_gives(world, "", NULL, NULL, 0);
}

static void a_script_of_many_lines_has_the_shells_meaning(void **state) {
    exec_world *world = *state;
    exec_gives(world,
               "set -e\nx=1\nf() {\n  echo \"f$x\"\n}\nf\ncat <<E\nhere $x\nE\nfalse\n"
               "echo no\n",
               &(alineo_exec_options){
                   .size = sizeof(alineo_exec_options), .strict = ALINEO_NO, .shell = "/bin/bash"},
               "f1\nhere 1\n", 10);
}

/* A command in bytes that are no text: it runs, and the ledger has it exactly. */
static void a_command_may_be_any_bytes(void **state) {
    exec_world *world = *state;
    exec_gives(world, "printf '\xff\xc3'", NULL, "\xff\xc3", 2);
    al_auto(al_json_free) al_json *start = exec_event(world, 1, "exec_start");
    const char *text = NULL;
    assert_true(al_json_get_str(al_json_member(al_json_root(start), "cmd"), &text));
    assert_string_equal(text, "printf '\xef\xbf\xbd\xef\xbf\xbd'");
    assert_true(al_json_get_str(al_json_member(al_json_root(start), "cmdBase64"), &text));
    assert_string_equal(text, "cHJpbnRmICf/wyc=");
}

static void the_command_knows_its_id_and_the_ledger_the_names_alone(void **state) {
    exec_world *world = *state;
    const char *env[] = {"TOKEN", "s3cr3t-value", NULL};
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.env = env;
    alineo_exec *exec = exec_start(world, "echo $ALINEO_EXEC_ID", &options);
    alineo_output output = ALINEO_OUTPUT_INIT;
    assert_int_equal(alineo_exec_output(exec, 0, &output, NULL, NULL), ALINEO_OK);
    assert_int_equal(output.stdout_size, 33);
    assert_memory_equal(output.stdout_data, alineo_exec_id(exec), 32);
    alineo_output_clear(&output);
    alineo_exec_free(exec);
    al_auto(al_json_free) al_json *start = exec_event(world, 1, "exec_start");
    const char *name = NULL;
    assert_true(
        al_json_get_str(al_json_item(al_json_member(al_json_root(start), "env"), 0), &name));
    assert_string_equal(name, "TOKEN");
    al_autolock(&world->storage.lock);
    for (size_t i = 0; i < world->storage.row_count; i++)
        if (world->storage.rows[i].payload != NULL)
            assert_null(strstr(world->storage.rows[i].payload, "s3cr3t"));
}

static void options_of_an_older_caller_are_taken(void **state) {
    exec_world *world = *state;
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.size = offsetof(alineo_exec_options, env);
    options.env = (const char *const *)(uintptr_t)1; /* beyond what the caller knew: not read */
    exec_gives(world, "echo x", &options, "x\n", 2);
    alineo_exec *exec = exec_start(world, "exit 3", NULL);
    alineo_exec_result result;
    memset(&result, 0x5a, sizeof(result));
    result.size = offsetof(alineo_exec_result, signal);
    assert_int_equal(alineo_exec_wait(exec, &result, NULL), ALINEO_COMMAND_FAILED);
    assert_int_equal(result.exit_code, 3);
    assert_int_equal(result.signal, 0x5a5a5a5a);
    alineo_exec_free(exec);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        EXEC_TEST(an_exec_that_was_not_started_is_refused_by_every_call),
        EXEC_TEST(what_makes_no_sense_is_refused_before_anything),
        EXEC_TEST(names_that_no_variable_can_have_are_refused),
        EXEC_TEST(a_capability_that_is_missing_is_refused_before_anything),
        {"stdin_that_the_provider_lacks_is_refused_before_anything",
         stdin_that_the_provider_lacks_is_refused_before_anything, setup_without_stdin,
         exec_world_teardown, NULL},
        EXEC_TEST(what_no_kernel_takes_is_too_large_before_anything),
        EXEC_TEST(the_largest_that_a_kernel_takes_goes_through),
        EXEC_TEST_BOTH(a_long_script_runs_with_its_stdin_untouched),
        EXEC_TEST_BOTH(a_command_sees_three_descriptors),
        EXEC_TEST(values_reach_the_command_to_the_byte),
        EXEC_TEST(a_folder_with_any_name_is_a_cwd),
        EXEC_TEST(path_and_home_stay_beside_what_is_added),
        EXEC_TEST(arguments_need_no_quoting),
        EXEC_TEST(a_command_may_begin_with_a_dash),
        EXEC_TEST(a_script_of_many_lines_has_the_shells_meaning),
        EXEC_TEST(a_command_may_be_any_bytes),
        EXEC_TEST(the_command_knows_its_id_and_the_ledger_the_names_alone),
        EXEC_TEST(options_of_an_older_caller_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
