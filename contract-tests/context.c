/* SPDX-License-Identifier: Apache-2.0 */
/* What a case has in hand: a client, sandboxes that are closed after it, commands, processes. */
#include "runner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void write_outcome(const contract *c, char status, const char *message) {
    size_t length = strlen(message);
    ssize_t written = write(c->result_fd, &status, 1);
    if (written == 1)
        written = write(c->result_fd, message, length);
    (void)written; /* the runner tells a case without outcome from its exit status */
}

void contract_clean_up(contract *c) {
    while (c->sandbox_count > 0) {
        alineo_sandbox *sandbox = c->sandboxes[--c->sandbox_count];
        (void)alineo_sandbox_close(sandbox, NULL, NULL);
        alineo_sandbox_free(sandbox);
    }
    alineo_client_free(c->client);
    c->client = NULL;
    contract_close_storage(c);
}

_Noreturn void contract_fail(contract *c, const char *file, int line, const char *format, ...) {
    char message[MESSAGE_SIZE];
    const char *slash = strrchr(file, '/');
    int used =
        snprintf(message, sizeof(message), "%s:%d: ", slash != NULL ? slash + 1 : file, line);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message + used, sizeof(message) - (size_t)used, format, arguments);
    va_end(arguments);
    write_outcome(c, 'F', message);
    contract_clean_up(c);
    _exit(1);
}

_Noreturn void contract_skip(contract *c, const char *format, ...) {
    char message[MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    write_outcome(c, 'S', message);
    contract_clean_up(c);
    _exit(0);
}

void contract_expect_code(contract *c, const char *file, int line, const char *call,
                          alineo_code expected, alineo_code code, alineo_error **err) {
    if (code != expected)
        contract_fail(c, file, line, "%s gave %s, not %s: %s", call, alineo_code_name(code),
                      alineo_code_name(expected),
                      *err != NULL ? alineo_error_message(*err) : "(no error)");
    if (*err == NULL || alineo_error_code(*err) != expected)
        contract_fail(c, file, line, "%s gave %s without an error that says so", call,
                      alineo_code_name(code));
    if (alineo_error_message(*err) == NULL || alineo_error_message(*err)[0] == '\0')
        contract_fail(c, file, line, "%s gave %s with an empty message", call,
                      alineo_code_name(code));
    alineo_error_free(*err);
    *err = NULL;
}

const alineo_config *contract_config(const contract *c) {
    return c->options->config;
}

alineo_client *contract_client(contract *c) {
    alineo_error *err = NULL;
    if (c->client == NULL)
        CHECK_OK(c, alineo_client_open(c->options->config, NULL, &c->client, &err), err);
    return c->client;
}

alineo_sandbox *contract_sandbox_with(contract *c, const alineo_sandbox_options *options) {
    alineo_error *err = NULL;
    alineo_sandbox *sandbox = NULL;
    if (c->sandbox_count == SANDBOXES_MAX)
        contract_fail(c, __FILE__, __LINE__, "a case may make at most %d sandboxes", SANDBOXES_MAX);
    CHECK_OK(c, alineo_sandbox_create(contract_client(c), options, &sandbox, &err), err);
    c->sandboxes[c->sandbox_count++] = sandbox;
    return sandbox;
}

alineo_sandbox *contract_sandbox(contract *c) {
    return contract_sandbox_with(c, NULL);
}

static int32_t note_value(void *user, const alineo_capability *capability) {
    *(bool *)user = strcmp(capability->value, "no") != 0;
    return 0;
}

static void ask(contract *c, const char *capability, alineo_capability_fn *found, void *user) {
    const char *const names[] = {capability, NULL};
    alineo_capabilities_options query = ALINEO_CAPABILITIES_OPTIONS_INIT;
    query.names = names;
    (void)alineo_client_capabilities(contract_client(c), &query, found, user, NULL);
}

bool contract_has(contract *c, const char *capability) {
    bool has = false;
    ask(c, capability, note_value, &has);
    return has;
}

typedef struct expected_value {
    const char *value;
    bool met;
} expected_value;

static int32_t compare_value(void *user, const alineo_capability *capability) {
    expected_value *expected = user;
    expected->met = strcmp(capability->value, expected->value) == 0;
    return 0;
}

bool contract_is(contract *c, const char *capability, const char *value) {
    expected_value expected = {value, false};
    ask(c, capability, compare_value, &expected);
    return expected.met;
}

void contract_in_process(contract *c, void (*function)(contract *c, void *argument),
                         void *argument) {
    CHECK_SAYING(c, c->client == NULL && c->storage == NULL,
                 "a case must start its processes before it opens a client");
    pid_t child = fork();
    CHECK_SAYING(c, child >= 0, "fork: %s", strerror(errno));
    if (child == 0) {
        function(c, argument);
        contract_clean_up(c);
        _exit(0);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        CHECK_SAYING(c, errno == EINTR, "waitpid: %s", strerror(errno));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        _exit(1); /* the child has told the runner why, or crashed */
}

void contract_unique(char out[9]) {
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[4] = {0};
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        memcpy(bytes, &(uint32_t){(uint32_t)contract_now_ms()}, sizeof(bytes));
    for (size_t i = 0; i < 4; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[8] = '\0';
}

int64_t contract_now_ms(void) {
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void contract_sleep_ms(int64_t ms) {
    struct timespec wait = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&wait, &wait) != 0 && errno == EINTR)
        ;
}

void contract_exec(contract *c, alineo_sandbox *sandbox, const char *command,
                   const alineo_exec_options *options, contract_run *run) {
    alineo_exec_options with = ALINEO_EXEC_OPTIONS_INIT;
    if (options != NULL)
        with = *options;
    if (with.strict == ALINEO_DEFAULT)
        with.strict = ALINEO_NO;
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    *run = (contract_run){ALINEO_OK, ALINEO_OUTPUT_INIT, ALINEO_EXEC_RESULT_INIT};
    CHECK_OK(c, alineo_sandbox_exec(sandbox, command, &with, &exec, &err), err);
    run->code = alineo_exec_output(exec, 64 << 20, &run->output, &run->result, &err);
    CHECK_SAYING(c, run->code != ALINEO_STORAGE_UNAVAILABLE && run->code != ALINEO_INTERNAL,
                 "alineo_exec_output gave %s: %s", alineo_code_name(run->code),
                 alineo_error_message(err));
    run->result.detail = NULL; /* lives with the exec */
    alineo_error_free(err);
    alineo_exec_free(exec);
}

void contract_run_clear(contract_run *run) {
    alineo_output_clear(&run->output);
}

void contract_expect_output(contract *c, alineo_sandbox *sandbox, const char *command,
                            const alineo_exec_options *options, const void *expected, size_t size) {
    contract_run run;
    contract_exec(c, sandbox, command, options, &run);
    CHECK_SAYING(c, run.result.outcome == ALINEO_OUTCOME_EXITED && run.result.exit_code == 0,
                 "'%.200s' ended with outcome %d, exit code %d; stderr: %.200s", command,
                 (int)run.result.outcome, (int)run.result.exit_code,
                 run.output.stderr_data != NULL ? run.output.stderr_data : "");
    CHECK_SAYING(c, run.output.stdout_size == size, "'%.200s' printed %zu bytes, not %zu: %.200s",
                 command, run.output.stdout_size, size,
                 run.output.stdout_data != NULL ? run.output.stdout_data : "");
    CHECK_SAYING(c, size == 0 || memcmp(run.output.stdout_data, expected, size) == 0,
                 "'%.200s' printed other bytes: %.200s", command, run.output.stdout_data);
    CHECK_SAYING(c, run.output.stderr_size == 0, "'%.200s' printed on stderr: %.200s", command,
                 run.output.stderr_data);
    contract_run_clear(&run);
}

char *contract_folder(contract *c, alineo_sandbox *sandbox) {
    contract_run run;
    contract_exec(c, sandbox, "mktemp -d", NULL, &run);
    CHECK_SAYING(c,
                 run.result.exit_code == 0 && run.output.stdout_size > 2 &&
                     run.output.stdout_data[0] == '/',
                 "mktemp -d in the sandbox gave '%.200s'",
                 run.output.stdout_data != NULL ? run.output.stdout_data : "");
    char *folder = strndup(run.output.stdout_data, run.output.stdout_size - 1);
    contract_run_clear(&run);
    CHECK(c, folder != NULL);
    return folder;
}

alineo_direct_storage *contract_storage(contract *c) {
    alineo_error *err = NULL;
    if (c->storage == NULL)
        CHECK_OK(c, alineo_direct_storage_open(c->options->config, NULL, &c->storage, &err), err);
    return c->storage;
}

void contract_close_storage(contract *c) {
    alineo_direct_storage_close(c->storage);
    c->storage = NULL;
}
