/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/exec_driver.h"

#include "cli/interrupt.h"
#include "cli/report.h"
#include "cli/sandbox_options.h"
#include "cli/terminal.h"
#include "core/util/hex.h"
#include "core/util/num.h"
#include "core/util/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cli_exec_options_init(cli_exec_options *options, const cli_command *command) {
    memset(options, 0, sizeof(*options));
    options->command = command;
    alineo_exec_options_init(&options->options);
    options->options.strict = ALINEO_NO;
}

void cli_exec_options_free(cli_exec_options *options) {
    al_strv_free(&options->env);
}

int cli_exec_options_take(cli_exec_options *options, const cli_option *option, const char *value) {
    if (strcmp(option->name, "command") == 0)
        options->shell_command = true;
    else if (strcmp(option->name, "stdin") == 0) {
        options->options.stdin_kind = ALINEO_STDIN_FD;
        options->options.stdin_fd = STDIN_FILENO;
    } else if (strcmp(option->name, "tty") == 0)
        options->terminal = true;
    else if (strcmp(option->name, "cwd") == 0)
        options->options.cwd = value;
    else if (strcmp(option->name, "timeout") == 0) {
        if (al_parse_duration_ms(value, &options->options.timeout_ms) != 0 ||
            options->options.timeout_ms <= 0) {
            cli_usage_error(options->command,
                            "--timeout needs a time like 500ms, 30s or 5m, not '%s'", value);
            return -1;
        }
    } else
        return 0;
    return 1;
}

static void print_chunk(const alineo_exec_event *event) {
    cli_json_line line;
    cli_json_begin(&line);
    al_json_put_str(&line.writer, "event", event->type == ALINEO_EXEC_STDOUT ? "stdout" : "stderr");
    if (al_utf8_valid(event->data, event->data_size))
        al_json_put_str_n(&line.writer, "text", event->data, event->data_size);
    else {
        al_json_put_str(&line.writer, "encoding", "base64");
        al_json_write_key(&line.writer, "data");
        al_json_write_base64(&line.writer, event->data, event->data_size);
    }
    cli_json_end(&line, stdout);
}

static void put_digest(al_json_writer *writer, const char *key, const uint8_t digest[32]) {
    char hex[65];
    al_hex_encode(digest, 32, hex);
    al_json_put_str(writer, key, hex);
}

static void print_result(const alineo_exec_result *result) {
    cli_json_line line;
    cli_json_begin(&line);
    al_json_put_str(&line.writer, "event", "exit");
    al_json_put_str(&line.writer, "outcome", cli_outcome_name(result->outcome));
    al_json_put_int(&line.writer, "exitCode", result->exit_code);
    if (result->signal != 0)
        al_json_put_int(&line.writer, "signal", result->signal);
    if (result->oom != 0)
        al_json_put_bool(&line.writer, "oom", true);
    al_json_put_int(&line.writer, "seq", result->seq);
    al_json_put_int(&line.writer, "durationMs", result->duration_ms);
    al_json_put_uint(&line.writer, "stdoutBytes", result->stdout_bytes);
    al_json_put_uint(&line.writer, "stderrBytes", result->stderr_bytes);
    put_digest(&line.writer, "stdoutSha256", result->stdout_sha256);
    put_digest(&line.writer, "stderrSha256", result->stderr_sha256);
    if (result->detail != NULL)
        al_json_put_str(&line.writer, "detail", result->detail);
    cli_json_end(&line, stdout);
}

/* As JSON lines, piece by piece. */
static alineo_code drive_json(alineo_exec *exec, alineo_exec_result *result, alineo_error **err) {
    for (;;) {
        alineo_exec_event event = ALINEO_EXEC_EVENT_INIT;
        alineo_code code = alineo_exec_next(exec, ALINEO_FOREVER, &event, err);
        if (code != ALINEO_OK)
            return code;
        if (event.type == ALINEO_EXEC_STDOUT || event.type == ALINEO_EXEC_STDERR)
            print_chunk(&event);
        else if (event.type == ALINEO_EXEC_EXIT) {
            *result = *event.result;
            print_result(result);
            return result->outcome == ALINEO_OUTCOME_LOST ? alineo_exec_wait(exec, NULL, err)
                                                          : ALINEO_OK;
        }
    }
}

/* What the shell and people expect of an outcome. */
static int exit_code_of(const alineo_exec_result *result) {
    switch (result->outcome) {
    case ALINEO_OUTCOME_EXITED:
    case ALINEO_OUTCOME_SIGNALLED:
    case ALINEO_OUTCOME_TIMED_OUT:
        return result->exit_code;
    case ALINEO_OUTCOME_CANCELLED:
        return cli_interrupted() != 0 ? 128 + cli_interrupted() : CLI_EXIT_OURS;
    default:
        return CLI_EXIT_OURS;
    }
}

/* A word to people on what the exit code does not say. */
static void explain(const cli_context *context, const alineo_exec_result *result) {
    if (context->json)
        return;
    if (result->outcome == ALINEO_OUTCOME_EXITED && result->detail != NULL &&
        result->exit_code != 0)
        fprintf(stderr, "alineo: %s\n", result->detail);
    else if (result->outcome == ALINEO_OUTCOME_SIGNALLED && result->oom != 0)
        fputs("alineo: the command was killed: the sandbox ran out of memory\n", stderr);
    else if (result->outcome == ALINEO_OUTCOME_TIMED_OUT)
        fputs("alineo: the command was ended by --timeout\n", stderr);
    else if (result->outcome == ALINEO_OUTCOME_CANCELLED && cli_interrupted() == 0)
        fprintf(stderr, "alineo: the command was ended with its sandbox%s%s\n",
                result->detail != NULL ? ": " : "", result->detail != NULL ? result->detail : "");
}

static bool is_outcome(alineo_code code) {
    return code == ALINEO_OK || code == ALINEO_TIMEOUT || code == ALINEO_CANCELLED;
}

/* The terminal inside is like ours, as far as there is one. */
static int prepare_terminal(cli_exec_options *options) {
    alineo_exec_options *exec = &options->options;
    if (!options->terminal)
        return 0;
    exec->pty = 1;
    cli_terminal_size(&exec->rows, &exec->columns);
    if (isatty(STDIN_FILENO)) {
        exec->stdin_kind = ALINEO_STDIN_FD;
        exec->stdin_fd = STDIN_FILENO;
    }
    const char *term = getenv("TERM");
    if (term == NULL || term[0] == '\0')
        return 0;
    for (size_t i = 0; i < options->env.count; i += 2)
        if (strcmp(options->env.items[i], "TERM") == 0)
            return 0;
    int rc = al_strv_append(&options->env, "TERM");
    return rc == 0 ? al_strv_append(&options->env, term) : rc;
}

static alineo_code drive(const cli_context *context, alineo_exec *exec, alineo_exec_result *result,
                         alineo_error **err) {
    if (context->json)
        return drive_json(exec, result, err);
    return alineo_exec_pipe(exec, STDOUT_FILENO, STDERR_FILENO, result, err);
}

static int detach(const cli_context *context, alineo_exec *exec) {
    alineo_error *err = NULL;
    int exit_code = CLI_EXIT_OK;
    if (alineo_exec_detach(exec, &err) != ALINEO_OK)
        exit_code = cli_report_error(context, err, CLI_EXIT_OURS);
    else if (context->json) {
        cli_json_line line;
        cli_json_begin(&line);
        al_json_put_str(&line.writer, "execId", alineo_exec_id(exec));
        cli_json_end(&line, stdout);
    } else
        puts(alineo_exec_id(exec));
    alineo_exec_free(exec);
    return exit_code;
}

int cli_exec_show(const cli_context *context, alineo_exec *exec) {
    alineo_exec_result result = ALINEO_EXEC_RESULT_INIT;
    alineo_error *err = NULL;
    alineo_code code = drive(context, exec, &result, &err);
    int exit_code = exit_code_of(&result);
    explain(context, &result);
    if (!is_outcome(code))
        return cli_report_error(context, err, CLI_EXIT_OURS);
    alineo_error_free(err);
    return exit_code;
}

int cli_exec_drive(const cli_context *context, alineo_sandbox *sandbox, cli_exec_options *options,
                   alineo_call *call, int argc, char **argv) {
    if (options->shell_command && argc != 1)
        return cli_usage_error(options->command, "with -c the command is one argument, in quotes");
    if (prepare_terminal(options) != 0) {
        fputs("alineo: out of memory\n", stderr);
        return CLI_EXIT_OURS;
    }
    options->options.background = options->detach;
    options->options.call = call;
    options->options.env = (const char *const *)options->env.items;
    const char *text = options->shell_command ? argv[0] : NULL;
    if (text == NULL)
        options->options.argv = (const char *const *)argv;
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    if (alineo_sandbox_exec(sandbox, text, &options->options, &exec, &err) != ALINEO_OK)
        return cli_report_error(context, err, CLI_EXIT_OURS);
    if (options->detach)
        return detach(context, exec);
    if (options->terminal && options->options.stdin_kind == ALINEO_STDIN_FD)
        cli_terminal_begin();
    cli_interrupt_watch(exec);
    int exit_code = cli_exec_show(context, exec);
    cli_interrupt_watch(NULL);
    cli_terminal_end();
    alineo_exec_free(exec);
    return exit_code;
}
