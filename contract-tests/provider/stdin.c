/* SPDX-License-Identifier: Apache-2.0 */
/* What a command reads. */
#include "contract.h"

#include <stdlib.h>
#include <string.h>

static void without_stdin_a_read_ends_at_once(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    CHECK_PRINTS(c, sandbox, "cat; echo end", "end\n");
}

static void bytes_given_at_the_start_arrive(contract *c) {
    static const unsigned char odd[] = {0x00, 0x01, 0x02, 0xff, 0x0a};
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.stdin_kind = ALINEO_STDIN_BYTES;
    options.stdin_data = odd;
    options.stdin_size = sizeof(odd);
    contract_expect_output(c, sandbox, "cat", &options, odd, sizeof(odd));
    options.stdin_size = 0;
    contract_expect_output(c, sandbox, "cat | wc -c | tr -d ' '", &options, "0\n", 2);
}

static void two_mebibytes_go_in_and_come_back(contract *c) {
    enum {
        SIZE = 2 << 20
    };
    alineo_sandbox *sandbox = contract_sandbox(c);
    unsigned char *data = malloc(SIZE);
    CHECK(c, data != NULL);
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (unsigned char)(i * 2654435761u >> 24);
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    options.stdin_kind = ALINEO_STDIN_BYTES;
    options.stdin_data = data;
    options.stdin_size = SIZE;
    contract_expect_output(c, sandbox, "cat", &options, data, SIZE);
    free(data);
}

static void what_is_written_as_it_runs_arrives_before_the_end(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    alineo_output output = ALINEO_OUTPUT_INIT;
    options.stdin_kind = ALINEO_STDIN_PIPE;
    CHECK_OK(c, alineo_sandbox_exec(sandbox, "cat; sleep 0.2; echo tail", &options, &exec, &err),
             err);
    size_t written = 0;
    CHECK_OK(c, alineo_exec_write_stdin(exec, "x", 1, 10000, &written, &err), err);
    CHECK(c, written == 1);
    CHECK_OK(c, alineo_exec_close_stdin(exec, &err), err);
    CHECK_OK(c, alineo_exec_close_stdin(exec, &err), err);
    CHECK_OK(c, alineo_exec_output(exec, 0, &output, NULL, &err), err);
    CHECK(c, output.stdout_size == 6 && memcmp(output.stdout_data, "xtail\n", 6) == 0);
    alineo_output_clear(&output);
    alineo_exec_free(exec);
}

static void a_command_that_ends_with_stdin_open_is_ended(contract *c) {
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    options.stdin_kind = ALINEO_STDIN_PIPE;
    CHECK_OK(c, alineo_sandbox_exec(sandbox, "exit 0", &options, &exec, &err), err);
    CHECK_OK(c, alineo_exec_wait(exec, NULL, &err), err);
    alineo_exec_free(exec);
}

static void stdin_is_refused_before_the_command_where_it_is_denied(contract *c) {
    if (contract_has(c, ALINEO_CAP_STDIN))
        contract_skip(c, "the provider has stdin");
    alineo_sandbox *sandbox = contract_sandbox(c);
    alineo_exec_options options = ALINEO_EXEC_OPTIONS_INIT;
    alineo_exec *exec = NULL;
    alineo_error *err = NULL;
    options.stdin_kind = ALINEO_STDIN_BYTES;
    options.stdin_data = "x";
    options.stdin_size = 1;
    CHECK_CODE(c, ALINEO_CAPABILITY_UNSUPPORTED,
               alineo_sandbox_exec(sandbox, "cat", &options, &exec, &err), err);
}

const contract_case contract_stdin_cases[] = {
    {"stdin/without stdin a read ends at once", "", without_stdin_a_read_ends_at_once, 0},
    {"stdin/bytes given at the start arrive", "stdin bytes", bytes_given_at_the_start_arrive, 0},
    {"stdin/two mebibytes go in and come back", "stdin bytes", two_mebibytes_go_in_and_come_back,
     0},
    {"stdin/what is written as it runs arrives before the end", "stdin",
     what_is_written_as_it_runs_arrives_before_the_end, 0},
    {"stdin/a command that ends with stdin open is ended", "stdin",
     a_command_that_ends_with_stdin_open_is_ended, 0},
    {"stdin/it is refused before the command where it is denied", "",
     stdin_is_refused_before_the_command_where_it_is_denied, 0},
    {NULL, NULL, NULL, 0},
};
