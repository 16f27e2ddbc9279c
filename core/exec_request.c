/* SPDX-License-Identifier: Apache-2.0 */
#include "core/exec_private.h"

#include "core/check.h"
#include "core/lossy_text.h"
#include "core/pairs.h"
#include "core/struct.h"
#include "core/util/strv.h"
#include "core/words.h"

#include <string.h>

/* In front of a script that is read from descriptor 9: its line numbers stay what they were. */
#define SCRIPT_PROLOGUE "exec 9<&-; "
#define SCRIPT_PATH "/dev/fd/9"

static alineo_code check_streams(const alineo_exec_options *options, alineo_error **err) {
    if (options->pty != 0 && options->background != 0)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "leave pty or background out",
                       "exec: a background command has no terminal");
    if (options->output_limit < 0)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "0 is the provider's own",
                       "exec: output_limit is %lld", (long long)options->output_limit);
    if (options->pty == 0 && (options->rows != 0 || options->columns != 0))
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "set pty",
                       "exec: rows and columns are set for a command without a terminal");
    if (options->stdin_kind < ALINEO_STDIN_NONE || options->stdin_kind > ALINEO_STDIN_PIPE)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "use one of ALINEO_STDIN_*",
                       "exec: stdin_kind is %d", (int)options->stdin_kind);
    if (options->stdin_kind == ALINEO_STDIN_BYTES && options->stdin_data == NULL &&
        options->stdin_size > 0)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, NULL,
                       "exec: stdin_data is NULL and stdin_size is %zu", options->stdin_size);
    if (options->stdin_kind != ALINEO_STDIN_BYTES && options->stdin_data != NULL)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "set stdin_kind to ALINEO_STDIN_BYTES",
                       "exec: stdin_data is set for another kind of stdin");
    return ALINEO_OK;
}

static alineo_code check_options(const alineo_exec_options *options, alineo_error **err) {
    if (options->timeout_ms < 0)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "0 is no timeout", "exec: timeout_ms is %lld",
                       (long long)options->timeout_ms);
    if (options->user != NULL && options->user[0] == '\0')
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "NULL is the sandbox's default",
                       "exec: user is empty");
    alineo_code code = al_choice_check("exec: strict", options->strict, err);
    if (code == ALINEO_OK && options->shell != NULL)
        code = al_path_check("exec: shell", options->shell, err);
    if (code == ALINEO_OK && options->cwd != NULL)
        code = al_path_check("exec: cwd", options->cwd, err);
    if (code == ALINEO_OK)
        code = check_streams(options, err);
    if (code == ALINEO_OK)
        code = al_env_check(options->env, err);
    if (code == ALINEO_OK && al_pairs_get(options->env, "ALINEO_EXEC_ID") != NULL)
        code = al_fail(err, ALINEO_INVALID_ARGUMENT, "choose another name",
                       "exec: ALINEO_EXEC_ID in env is the library's own");
    return code;
}

static alineo_code plan_argv(al_exec_plan *plan, alineo_error **err) {
    const char *const *argv = plan->options.argv;
    if (argv[0] == NULL || argv[0][0] == '\0')
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "name a program first",
                       "exec: argv names no program");
    if (plan->options.shell != NULL)
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "leave shell NULL, or pass a command",
                       "exec: argv runs without a shell, and one is named");
    for (size_t i = 0; argv[i] != NULL; i++)
        if (strlen(argv[i]) > AL_EXEC_ARGUMENT_MAX)
            return al_fail(err, ALINEO_TOO_LARGE, "pass it by stdin or in a file",
                           "exec: argument %zu has more than %d bytes", i, AL_EXEC_ARGUMENT_MAX);
    plan->argv = argv;
    return ALINEO_OK;
}

static alineo_code plan_command(al_exec_plan *plan, alineo_error **err) {
    size_t size = strlen(plan->command);
    if (size > AL_EXEC_SCRIPT_MAX)
        return al_fail(err, ALINEO_TOO_LARGE, "write it to a file in the sandbox and run that",
                       "exec: the command has %zu bytes, above the %d that a script may have", size,
                       AL_EXEC_SCRIPT_MAX);
    size_t count = 0;
    plan->own_argv[count++] = plan->shell;
    if (size > AL_EXEC_ARGUMENT_MAX) {
        plan->own_argv[count++] = SCRIPT_PATH;
        al_buf_append_str(&plan->script, SCRIPT_PROLOGUE);
        al_buf_append(&plan->script, plan->command, size);
        if (plan->script.error != 0)
            return al_fail(err, ALINEO_NO_MEMORY, NULL, "exec: copy the script: out of memory");
    } else {
        plan->own_argv[count++] = "-c";
        if (plan->command[0] == '-' || plan->command[0] == '+')
            plan->own_argv[count++] = "--"; /* else it would be taken for an option */
        plan->own_argv[count++] = plan->command;
    }
    plan->own_argv[count] = NULL;
    plan->argv = plan->own_argv;
    return ALINEO_OK;
}

alineo_code al_exec_plan_make(const alineo_sandbox *sandbox, const char *command,
                              const alineo_exec_options *given, al_exec_plan *plan,
                              alineo_error **err) {
    *plan = (al_exec_plan){.command = command};
    alineo_code code = AL_STRUCT_READ(&plan->options, given, "exec options", err);
    if (code != ALINEO_OK)
        return code;
    if ((command == NULL) == (plan->options.argv == NULL))
        return al_fail(err, ALINEO_INVALID_ARGUMENT, "pass a command, or NULL and options.argv",
                       "exec: there is %s",
                       command == NULL ? "neither a command nor an argv"
                                       : "a command and an argv too");
    code = check_options(&plan->options, err);
    if (code != ALINEO_OK)
        return code;
    plan->shell = plan->options.shell != NULL ? plan->options.shell : sandbox->shell;
    return command == NULL ? plan_argv(plan, err) : plan_command(plan, err);
}

void al_exec_plan_clear(al_exec_plan *plan) {
    al_buf_free(&plan->script);
}

alineo_code al_exec_plan_require(alineo_sandbox *sandbox, const al_exec_plan *plan,
                                 alineo_error **err) {
    const alineo_exec_options *options = &plan->options;
    al_auto(al_strv_free) al_strv needs = AL_STRV_INIT;
    int rc = 0;
    if (options->pty != 0)
        rc = al_strv_append(&needs, ALINEO_CAP_PTY);
    else if (options->stdin_kind != ALINEO_STDIN_NONE)
        rc = al_strv_append(&needs, ALINEO_CAP_STDIN);
    if (rc == 0 && options->background != 0)
        rc = al_strv_append(&needs, ALINEO_CAP_BACKGROUND);
    if (rc == 0 && options->user != NULL)
        rc = al_strv_append(&needs, ALINEO_CAP_USER);
    if (rc == 0)
        rc = al_strv_append_all(&needs, options->require);
    if (rc != 0)
        return al_fail(err, ALINEO_NO_MEMORY, NULL, "exec: out of memory");
    if (needs.count == 0)
        return ALINEO_OK;
    return al_capabilities_require(sandbox->client->capabilities, (const char *const *)needs.items,
                                   options->call, err);
}

char *al_exec_plan_shown(const al_exec_plan *plan) {
    al_auto(al_buf_free) al_buf words = AL_BUF_INIT;
    al_auto(al_buf_free) al_buf shown = AL_BUF_INIT;
    const char *text = plan->command;
    if (text == NULL) {
        al_words_append(&words, plan->argv);
        text = al_buf_str(&words);
    }
    al_lossy_append(&shown, text, strlen(text), AL_EXEC_COMMAND_SHOWN_MAX);
    return words.error != 0 ? NULL : al_buf_steal(&shown, NULL);
}
