/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CONTRACT_H
#define ALINEO_CONTRACT_H

/**
 * The contract suites: what every provider, storage adapter and broker must keep to, as cases on
 * the public API. One set of cases serves all plugins of a kind; a plugin brings a config file and
 * nothing else.
 *
 * Each case runs in a process of its own, under a time limit: a plugin that hangs or crashes is
 * reported and the runner lives. A case names the capabilities that it needs; where the plugin
 * denies one, the case does not run, and another case checks that what is denied is refused.
 */

#include <alineo/alineo.h>
#include <alineo/direct.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A running case. */
typedef struct contract contract;

typedef struct contract_case {
    const char *name;  /* "group/a sentence about what must hold" */
    const char *needs; /* capabilities, separated by blanks; "" = none */
    void (*run)(contract *c);
    int32_t timeout_ms; /* 0 = the runner's */
} contract_case;

/** A suite: cases, ended by one without a name. */
extern const contract_case contract_lifecycle_cases[];
extern const contract_case contract_exec_cases[];
extern const contract_case contract_stdin_cases[];
extern const contract_case contract_ending_cases[];
extern const contract_case contract_file_cases[];
extern const contract_case contract_file_part_cases[];
extern const contract_case contract_file_name_cases[];
extern const contract_case contract_pty_cases[];
extern const contract_case contract_pause_cases[];
extern const contract_case contract_endpoint_cases[];
extern const contract_case contract_background_cases[];
extern const contract_case contract_metrics_cases[];
extern const contract_case contract_leak_cases[];
extern const contract_case contract_order_cases[];
extern const contract_case contract_batch_cases[];
extern const contract_case contract_bytes_cases[];
extern const contract_case contract_session_cases[];
extern const contract_case contract_upkeep_cases[];
extern const contract_case contract_concurrency_cases[];

/* --- inside a case ---------------------------------------------------------------------------- */

/** Ends the case as failed; sandboxes that it made are closed. */
_Noreturn void contract_fail(contract *c, const char *file, int line, const char *format, ...)
    ALINEO_PRINTF(4, 5);
/** Ends the case as not applicable here, with a reason. */
_Noreturn void contract_skip(contract *c, const char *format, ...) ALINEO_PRINTF(2, 3);

#define CHECK(c, condition)                                                                        \
    do {                                                                                           \
        if (!(condition))                                                                          \
            contract_fail(c, __FILE__, __LINE__, "does not hold: %s", #condition);                 \
    } while (0)
#define CHECK_SAYING(c, condition, ...)                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            contract_fail(c, __FILE__, __LINE__, __VA_ARGS__);                                     \
    } while (0)
/** The call must succeed; its error is told. `err` is the case's own variable, NULL before. */
#define CHECK_OK(c, call, err)                                                                     \
    do {                                                                                           \
        alineo_code code_ = (call);                                                                \
        if (code_ != ALINEO_OK)                                                                    \
            contract_fail(c, __FILE__, __LINE__, "%s gave %s: %s", #call, alineo_code_name(code_), \
                          (err) != NULL ? alineo_error_message(err) : "(no error)");               \
    } while (0)
/** The call must fail with that code, and with an error that says so; the error is freed. */
#define CHECK_CODE(c, expected, call, err)                                                         \
    do {                                                                                           \
        alineo_code code_ = (call);                                                                \
        contract_expect_code(c, __FILE__, __LINE__, #call, expected, code_, &(err));               \
    } while (0)
void contract_expect_code(contract *c, const char *file, int line, const char *call,
                          alineo_code expected, alineo_code code, alineo_error **err);

/** The config that the suite runs on. */
const alineo_config *contract_config(const contract *c);

/** The case's client, opened on first use. */
alineo_client *contract_client(contract *c);

/** A sandbox on the config's defaults, closed at the end of the case. */
alineo_sandbox *contract_sandbox(contract *c);
/** The same with options. */
alineo_sandbox *contract_sandbox_with(contract *c, const alineo_sandbox_options *options);

/** Whether the provider says "yes" (or a word) to a capability. */
bool contract_has(contract *c, const char *capability);

/** Whether its value is that word. */
bool contract_is(contract *c, const char *capability, const char *value);

/** Runs `function` in a process of its own, before this one opened a client, and waits: it must end
 * with 0. */
void contract_in_process(contract *c, void (*function)(contract *c, void *argument),
                         void *argument);

/** A text that differs at each call; 8 characters of [0-9a-f]. */
void contract_unique(char out[9]);

/** Milliseconds on the monotonic clock. */
int64_t contract_now_ms(void);
void contract_sleep_ms(int64_t ms);

/* --- commands in cases ------------------------------------------------------------------------ */

/** What a command gave. */
typedef struct contract_run {
    alineo_code code;
    alineo_output output;
    alineo_exec_result result;
} contract_run;

/** Runs a shell command and collects it; the exec itself must work. `options` NULL = none. strict
 * is off. */
void contract_exec(contract *c, alineo_sandbox *sandbox, const char *command,
                   const alineo_exec_options *options, contract_run *run);
void contract_run_clear(contract_run *run);
/** It must exit with 0 and print exactly that, and nothing on stderr. */
void contract_expect_output(contract *c, alineo_sandbox *sandbox, const char *command,
                            const alineo_exec_options *options, const void *expected, size_t size);
#define CHECK_PRINTS(c, sandbox, command, text)                                                    \
    contract_expect_output(c, sandbox, command, NULL, text, sizeof(text) - 1)

/** A folder of the case's own inside the sandbox; absolute; free it. */
char *contract_folder(contract *c, alineo_sandbox *sandbox);

/* --- storage in cases ------------------------------------------------------------------------- */

/** The adapter under test, opened on first use. */
alineo_direct_storage *contract_storage(contract *c);
/** Closes it; the next use opens it again. */
void contract_close_storage(contract *c);

/* --- the runner ------------------------------------------------------------------------------- */

typedef enum contract_format {
    CONTRACT_TABLE,
    CONTRACT_TAP,
    CONTRACT_JSON
} contract_format;

typedef struct contract_options {
    const alineo_config *config;
    const char *filter; /* glob on names; NULL = all */
    contract_format format;
    int32_t timeout_ms; /* of a case; 0 = 60,000 */
    bool list_only;
} contract_options;

/** Run a suite; gives 0 when every case passed or did not apply, else 1. */
int contract_run_provider(const contract_options *options);
int contract_run_storage(const contract_options *options);

#endif
